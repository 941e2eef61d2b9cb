#!/usr/bin/env bash
# A store in a bucket whose server lies: answers that are cut, too long, of another range, altered, endless, no XML,
# redirects.  Each is found and named, nothing wrong is served; what passes by itself is tried again.
#	FAULTS=all tests/cli/storehostile.sh	every fault everywhere, not only one of a kind
. "$(dirname "$0")/lib.sh"
own_network "$@"
. "$(dirname "$0")/store_lib.sh"
requires python3 zstd
hostile_server
export EMUSTORE=s3://bucket/x EMUSTORE_S3_SECONDS=20	# less where it cannot work
all() { [ "${FAULTS:-}" != all ] || echo "$@"; }
python3 - "$T" << 'PY'
import random, sys
r = random.Random(1)
open(sys.argv[1] + "/a", "wb").write(r.randbytes(2500000 // 512 * 512) + bytes(3 << 20))
open(sys.argv[1] + "/b", "wb").write(r.randbytes(1 << 20))
PY
zip_all a b

echo "== put and get"
check "init" es init --pack-size 1M
status 1 es init
check "put" es -q put a "$T/a.ndz"
check "put" es -q put b "$T/b.ndz"
for i in a b; do check "get $i" gets $i "$T/$i.ndz"; done
four_writers same "$T/a.ndz" "$T/b.ndz"
check "verify --data" es -q verify --data

echo "== images of other programs are made again"
zstd -dqfc "$GOLDEN/img/mbr.ndz.zst" > "$T/mbr.ndz"
es --json put mbr "$T/mbr.ndz" > "$T/json" || fail "put mbr"
check "every chunk" [ "$(field recompressed_chunks < "$T/json")" = "$(field chunks < "$T/json")" ]
check "get" gets mbr "$T/mbr.ndz"
EMUSTORE_CACHE=$T/w1 check "get elsewhere" gets mbr "$T/mbr.ndz"
EMUSTORE_CACHE=$T/w1 check "nothing is new the second time" [ "$(es --json put mbr -j 1 "$T/mbr.ndz" | field new_bytes)" = 0 ]
es --json put --exact exact "$T/mbr.ndz" > "$T/json" || fail "put --exact"
check "--exact: none" [ "$(field recompressed_chunks < "$T/json")" = 0 ]
check "get" gets exact "$T/mbr.ndz"
"$BIN/imageunzip" -q "$T/mbr.ndz" "$T/disk" && "$BIN/imagezip" -q --windows=store -r "$T/disk" "$T/own.ndz" || fail "imagezip"
new=$(es put --json own "$T/own.ndz" | field new_fragments) of=$(es info --json own | field fragments)
check "our image of the same disk: $new of $of fragments are new" [ "$((new * 4))" -lt "$of" ]
check "verify --data" [ "$(es verify --data --json | field chunks_equivalent)" = 0 ]

# wrong WHAT FAULT PART: get fails, or what it gets is right; with a new cache, so that all is asked for.
wrong() {
	echo "$1 $2" > "$T/s/fault"; rm -rf "$T/cache" "$T/out"
	EMUSTORE_S3_SECONDS=2 timeout 240 "$BIN/emustore" -q get a "$T/out" 2> "$T/stderr"; local rc=$?
	if [ $rc = 0 ] || [ $rc -gt 3 ]; then fail "exit $rc: $1 of $2"
	elif [ -e "$T/out" ]; then fail "half an image is left: $1 of $2"
	elif [ "$(grep -cv '^usage:' "$T/stderr")" != 1 ]; then fail "not one sentence: $1 of $2: $(cat "$T/stderr")"
	else echo "ok: exit $rc: $1 of $2: $(head -n 1 "$T/stderr")"; fi
	: > "$T/s/fault"
}
echo "== answers that are wrong"
for f in digest norange otherrange badrange less lessrange more endless html empty headers redirect 403 500 slow close $(all short hang 503); do wrong $f /packs/; done
for f in digest otherrange $(all short less endless redirect close); do wrong $f /tables/; done
for f in slow 500; do wrong $f /tables/; wrong $f /images/a/; wrong $f /format; wrong $f "prefix=x%2Fimages"; done
for f in digest empty $(all short endless html redirect); do wrong $f /images/a/; done
for f in endless html empty headers redirect 403 $(all short 503 close); do wrong $f /format; done
for f in loop cut entities foreign size bigsize notoken deep html empty endless redirect $(all 503 close); do wrong $f "prefix=x%2Ftables"; done
for f in loop cut entities foreign names nul rawnul long deep html; do wrong $f "prefix=x%2Fimages"; done

echo "== what passes by itself"
for f in "503 / 3" "close / 2" "short /packs/ 1" "digest /packs/ 1" "digest /tables/ 1" "digest /images/a/ 1" "otherrange /packs/ 1" "late /"; do
	echo "$f" > "$T/s/fault"; rm -rf "$T/cache"
	EMUSTORE_S3_SECONDS=20 check "$f" gets a "$T/a.ndz"
done
: > "$T/s/fault"
echo "crawl /packs/" > "$T/s/fault"; rm -rf "$T/cache"
started=$SECONDS
EMUSTORE_S3_SECONDS=2 check "a slow line takes as long as bytes move" gets b "$T/b.ndz"
check "which was longer than the time without: $((SECONDS - started)) s" [ $((SECONDS - started)) -gt 2 ]
: > "$T/s/fault"
for f in "503 / 3" "lost /packs/ 1" "lost /images/ 1" "lost /tables/ 1"; do
	echo "$f" > "$T/s/fault"; name=put/$((n = ${n:-0} + 1))
	EMUSTORE_S3_SECONDS=20 check "put: $f" es -q put $name "$T/b.ndz"
	: > "$T/s/fault"; check "get it" gets $name "$T/b.ndz"
	check "once only" [ "$(versions $name)" = 1 ]
done

echo "== puts and gc that fail leave nothing half"
before=$(es list --json)
for f in "503 /packs/" "403 /tables/" "redirect /images/"; do
	echo "$f" > "$T/s/fault"; python3 -c 'import random; open("'"$T/n"'", "wb").write(random.Random("'"$f"'").randbytes(1 << 20))'
	"$BIN/imagezip" -q -r "$T/n" "$T/n.ndz"; EMUSTORE_S3_SECONDS=2 status 1 es -q put new "$T/n.ndz"
done
: > "$T/s/fault"
check "the same images" [ "$before" = "$(es list --json)" ]
echo "digest /images/a/" > "$T/s/fault"; rm -rf "$T/cache"; status 3 es -q gc
: > "$T/s/fault"
check "verify --data" es -q verify --data
for i in a b; do check "get $i" gets $i "$T/$i.ndz"; done

echo "== a server that does not answer what is only read ahead"
python3 -c 'import random, sys; open(sys.argv[1], "wb").write(random.Random(8).randbytes(6 << 20))' "$T/far"
zip_all far
es --store s3://bucket/far init && es --store s3://bucket/far -q put far "$T/far.ndz" || fail "put far"
echo "far /packs/" > "$T/s/fault"
EMUSTORE_S3_SECONDS=1000 "$BIN/emustore" -q --store s3://bucket/far --cache "$T/cache-far" get --chunk 0 far "$T/one" & pid=$!
check "get ends when it has what it was to get" soon has_ended $pid
: > "$T/s/fault"; check "it succeeds" wait $pid
check "and is right" cmp -n 1048576 "$T/one" "$T/far.ndz"

echo "== a reader that takes longer than the grace"
# y is x changed in places, so that each pack of x has something that goes with x: gc copies the rest, and takes
# away the packs that readers of y have begun with.
python3 - "$T" << 'PY'
import random, sys
data = bytearray(random.Random(4).randbytes(36 << 20))
open(sys.argv[1] + "/x", "wb").write(data)
for at in range(0, len(data), 1 << 20): data[at + 9] ^= 1
open(sys.argv[1] + "/y", "wb").write(data)
PY
for i in x y; do "$BIN/imagezip" -q -r -z 1 "$T/$i" "$T/$i.ndz" || fail "imagezip $i"; done
slow() {	# FILE-DESCRIPTOR NAME COMMAND...: run it, and read 1 MiB of its output
	mkfifo "$T/$2"
	EMUSTORE_CACHE=$T/cache-$2 EMUSTORE_CACHE_SIZE=1M "${@:3}" > "$T/$2" 2> "$T/$2.err" & pids[$1]=$!
	eval "exec $1< \"\$T/$2\""
	head -c 1048576 <&"$1" > "$T/$2.out"
}
ends() {	# FILE-DESCRIPTOR NAME: its exit status
	cat <&"$1" >> "$T/$2.out"; eval "exec $1<&-"; wait "${pids[$1]}"
}
export EMUSTORE=s3://bucket/slow
es init --pack-size 4M --grace 1000; es -q put x "$T/x.ndz" || fail "put x"; es -q put y "$T/y.ndz" || fail "put y"
slow 5 get "$BIN/emustore" -q get y -
slow 6 unzip "$BIN/imageunzip" -q --store "$EMUSTORE" y -
old; check "rm" es rm x; check "gc condemns" [ "$(es gc --all --json | field bytes_condemned)" -gt 30000000 ]
old; check "gc takes away" [ "$(es gc --all --json | field packs_replaced)" -gt 5 ]
check "get goes on" ends 5 get
check "and is right" cmp "$T/get.out" "$T/y.ndz"
check "imageunzip goes on" ends 6 unzip
check "and is right" cmp "$T/unzip.out" "$T/y"
slow 7 gone "$BIN/emustore" -q get y -
check "rm" es rm y; rm -f "$T"/s/objects/*slow%2Fpacks*
ends 7 gone; check "what is no more there ends in an error" [ $? = 1 ]
check "in one sentence: $(cat "$T/gone.err")" [ "$(grep -c "does not exist any more" "$T/gone.err")$(wc -l < "$T/gone.err")" = 11 ]
check "until then all was right" cmp -n "$(stat -c %s "$T/gone.out")" "$T/gone.out" "$T/y.ndz"
export EMUSTORE=s3://bucket/x

echo "== names and keys"
printf 'emustore-s3 1\npack-bytes 1000\ngrace-seconds 60\nwriters other\n' > "$T/s/objects/%2Fbucket%2Fother%2Fformat"
status 1 es --store s3://bucket/other list
printf 'emustore-s3 2\npack-bytes 1000\n' > "$T/s/objects/%2Fbucket%2Fother%2Fformat"
status 1 es --store s3://bucket/other list
mkdir "$T/.aws"; printf '[default]\naws_access_key_id = id\naws_secret_access_key = secret\n[profile other]\nregion=eu\n' > "$T/.aws/credentials"
check "keys of ~/.aws/credentials" env -u AWS_ACCESS_KEY_ID -u AWS_SECRET_ACCESS_KEY "$BIN/emustore" -q list
AWS_ENDPOINT_URL=http://127.0.0.1:1 EMUSTORE_S3_SECONDS=2 status 1 es list

[ -n "${NETWORK_INSIDE:-}" ] || { echo "not root: IPv6 is left out"; finish; }
echo "== a server that has an address of IPv6 alone"
only_six s3.six || finish
mv "$T/s" "$T/before"; hostile_server ::1; port=$(cat "$T/s/port")
for host in '[::1]' s3.six; do
	export AWS_ENDPOINT_URL=http://$host:$port EMUSTORE=s3://bucket/${host//[^a-z]/}6
	check "$host: init" es init
	check "$host: put" es -q put b "$T/b.ndz"
	rm -rf "$T/cache"; check "$host: get" gets b "$T/b.ndz"
done
finish
