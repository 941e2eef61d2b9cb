#!/usr/bin/env bash
# Stores in a bucket of a real S3 server: what comes out is what went in; several machines (caches of their own)
# at once; gc while puts are under way; objects that are damaged or missing; a cache that is.
. "$(dirname "$0")/../cli/lib.sh"
requires python3 zstd swift-proxy-server
if [ "$(/usr/bin/python3 -c 'import sys; print(sys.version_info[0])' 2> /dev/null)" != 3 ]; then skip "needs /usr/bin/python3"; fi
helpers=$TOP/tests/helpers port=$((20000 + $$ % 20000))
mkdir "$T/server"
env=$("$helpers/swift_server.sh" start "$T/server" $port) || skip "the S3 server does not start here: $(tail -qn 1 "$T"/server/*.log | tail -n 1)"
CLEANUP+=("'$helpers/swift_server.sh' stop '$T/server'")
eval "$env"
request() { /usr/bin/python3 -W ignore "$helpers/s3_request.py" "$@"; }
request PUT /images > /dev/null || fail "no bucket"
export EMUSTORE=s3://images/lab/one EMUSTORE_CACHE=$T/cache1
GRACE=30	# a put may take half of it, also on a busy machine
es() { "$BIN/emustore" "$@"; }
other() { EMUSTORE_CACHE=$T/cache2 "$BIN/emustore" "$@"; }	# another machine
field() { python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
gets() { es -q get "$1" - | cmp - "$2"; }
keys() { request GET "/images?list-type=2&prefix=lab%2Fone%2F$1" | grep -o '<Key>[^<]*' | cut -c 14-; }

python3 - "$T" << 'PY'
import random, sys
r = random.Random(1)
data = bytearray(r.randbytes(6 << 20)) + bytes(5 << 20) + bytes(str(list(range(700000))), "ascii") + bytes(3 << 20)
data += bytes(-len(data) % 512)
open(sys.argv[1] + "/a", "wb").write(data)
for at in (100000, 2500000, 12000000): data[at:at + 3000] = r.randbytes(3000)
open(sys.argv[1] + "/b", "wb").write(data)
open(sys.argv[1] + "/c", "wb").write(r.randbytes(3 << 20))
open(sys.argv[1] + "/d", "wb").write(r.randbytes(2 << 20))
PY
for i in a b c d; do "$BIN/imagezip" -q -r "$T/$i" "$T/$i.ndz" || fail "imagezip $i"; done
zstd -dqfc "$GOLDEN/img/mbr.ndz.zst" > "$T/old.ndz"	# of the original program

echo "== put and get"
status 2 es list
check "init" es init --pack-size 1M --grace $GRACE
status 1 es init
check "put a" es -q put a "$T/a.ndz"
new=$(other put --json b - < "$T/b.ndz" | field new_fragments)
check "few fragments of b, from another machine, are new: $new" [ "$new" -le 8 ]
check "put c, with a label and a parent" es -q put lab/c+1 "$T/c.ndz" -l os=none -p b
made=$(es put --json old "$T/old.ndz" | field made_chunks)
check "put old: $made chunks are made again" [ "$made" -gt 0 ]
for i in old:old a:a a:1:a b:b lab/c+1:c; do check "get ${i%:*}" gets "${i%:*}" "$T/${i##*:}.ndz"; done
check "on another machine" bash -c '"$0" -q --cache "$1" get lab/c+1 - | cmp - "$2"' "$BIN/emustore" "$T/cache3" "$T/c.ndz"
check "info" bash -c '"$0" info lab/c+1 | grep -q "derived from b:1" && "$0" info lab/c+1 | grep -q os=none' "$BIN/emustore"
check "list" [ "$(es list --json | python3 -c 'import json,sys; print(" ".join("%s:%d" % (i["name"], i["version"]) for i in json.load(sys.stdin)))')" = "a:1 b:1 lab/c+1:1 old:1" ]
check "several packs" [ "$(es stats --json | field packs)" -gt 4 ]
check "nothing is new the second time" [ "$(es put --json a "$T/a.ndz" | field new_bytes)" = 0 ]
status 1 es put a:1 "$T/c.ndz"
status 2 es get nobody "$T/out"
check "one chunk" es -q get b --chunk 4 "$T/out"
check "verify" es -q verify
check "verify --data" es -q verify --data
started=$SECONDS

echo "== installed and served from the bucket"
check "imageunzip --store" "$BIN/imageunzip" -q --store "$EMUSTORE" b "$T/out"
check "the disk is right" cmp "$T/b" "$T/out"
"$BIN/frisbeed" -q --loopback -i 127.0.0.1 -m 239.192.7.9 -p $((port + 10)) -A "$T/where" -T -1 -W 400M --store "$EMUSTORE" b 2> "$T/server.log" & server=$!
CLEANUP+=("kill $server 2> /dev/null")
for ((i = 0; i < 200; i++)); do [ -s "$T/where" ] && break; sleep 0.05; done
check "frisbee from frisbeed --store" "$BIN/frisbee" -q --loopback -i 127.0.0.1 -m 239.192.7.9 -p $((port + 10)) -T 10 "$T/node"
check "its disk is right" cmp "$T/b" "$T/node"
wait $server || fail "frisbeed: $(cat "$T/server.log")"

echo "== writers at once"
for i in 1 2 3 4; do EMUSTORE_CACHE=$T/w$i es -q put same "$T/$([ $((i % 2)) = 0 ] && echo c || echo d).ndz" & pids[i]=$!; done
for i in 1 2 3 4; do wait ${pids[i]} || fail "writer $i"; done
check "four versions" [ "$(es list --json | python3 -c 'import json,sys; print(sum(i["name"] == "same" for i in json.load(sys.stdin)))')" = 4 ]
c=0; d=0
for v in $(es list --json | python3 -c 'import json,sys; print(*[i["version"] for i in json.load(sys.stdin) if i["name"] == "same"])'); do
	es -q get same:$v "$T/out"; cmp -s "$T/out" "$T/c.ndz" && c=$((c + 1)); cmp -s "$T/out" "$T/d.ndz" && d=$((d + 1))
done
check "two of each" [ $c$d = 22 ]
check "no claim is left" [ -z "$(keys claims)" ]

echo "== the cache"
for f in "$T"/cache1/*/blocks/*; do printf 'XXXXXXXX' | dd of="$f" bs=1 seek=1000 conv=notrunc status=none; done
check "a damaged block is fetched again" gets b "$T/b.ndz"
printf 'XXXXXXXXXXXXXXXXXXXX' | dd of="$(echo "$T"/cache1/*/index.db)" bs=1 seek=10 conv=notrunc status=none
check "a damaged index is made again" gets b "$T/b.ndz"
check "repair --index" es -q repair --index
EMUSTORE_CACHE=$T/cache4 check "a small cache" es -q --cache-size 3M get b "$T/out"
check "right" cmp "$T/out" "$T/b.ndz"
check "and small" [ "$(du -sk "$T"/cache4/*/blocks | cut -f 1)" -le 3100 ]

echo "== a put that takes too long is refused"
mkfifo "$T/slow"
es -s s3://images/lab/two init --grace 4
es -s s3://images/lab/two -q put slow - < "$T/slow" 2> "$T/stderr" & writer=$!
exec 9> "$T/slow"; head -c 1048576 "$T/d.ndz" >&9; sleep 3; tail -c +1048577 "$T/d.ndz" >&9; exec 9>&-
wait $writer && fail "a slow put was taken"
check "says why" grep -q grace "$T/stderr"
status 2 es -s s3://images/lab/two get slow "$T/out"

echo "== gc, and a put that is under way meanwhile"
while [ $((SECONDS - started)) -le $GRACE ]; do sleep 0.5; done
check "rm" es rm a --all
check "rm" es rm b
before=$(keys packs)
EMUSTORE_CACHE=$T/cache5 es -q put again - < "$T/slow" & writer=$!
exec 9> "$T/slow"; head -c 3145728 "$T/a.ndz" >&9; sleep 2	# by now it counts on packs of a
check "gc" es -q gc
tail -c +3145729 "$T/a.ndz" >&9; exec 9>&-
condemned=$(keys condemned | wc -l)
check "packs are condemned: $condemned" [ "$condemned" -gt 2 ]
wait $writer || fail "the put under way"
check "what was put meanwhile" gets again "$T/a.ndz"
check "gc removes nothing yet" [ "$(es gc --json | field packs_replaced)" = 0 ]
sleep $((GRACE + 1))
check "gc again: what is needed is copied" es -q gc
check "what was put meanwhile is there" gets again "$T/a.ndz"
check "gc again" es -q gc
gone=0; now=$(keys packs); for k in $before; do grep -q "$k" <<< "$now" || gone=$((gone + 1)); done
check "some packs are gone: $gone" [ $gone -gt 0 ]
for i in again:a lab/c+1:c old:old; do check "${i%:*} is there" gets "${i%:*}" "$T/${i#*:}.ndz"; done
check "on a machine that had not looked since" bash -c '"$0" -q --cache "$1" get again - | cmp - "$2"' "$BIN/emustore" "$T/cache2" "$T/a.ndz"
check "verify --data" es -q verify --data

echo "== objects that are damaged or missing"
for key in $before; do	# what lab/c+1 needs is in these
	keys packs | grep -q "$key" || continue
	request GET "/images/lab/one/$key" > "$T/pack"
	printf 'XXXXXXXX' | dd of="$T/pack" bs=1 seek=5000 conv=notrunc status=none
	request PUT "/images/lab/one/$key" "$T/pack"
done
status 3 es -q verify --data
served=0; rm -f "$T/out"
for i in again:a lab/c+1:c same:c; do
	if EMUSTORE_CACHE=$T/cache6 quietly es -q get "${i%:*}" "$T/out" 2> /dev/null; then
		cmp -s "$T/out" "$T/${i#*:}.ndz" || [ "${i%:*}" = same ] || fail "a wrong image was served"
	else [ ! -e "$T/out" ] || fail "half an image is left"; served=1; fi
	rm -f "$T/out"
done
check "one was refused" [ $served = 1 ]
check "repair" es -q repair
for i in a c d old; do es -q put back/$i "$T/$i.ndz" || fail "put $i"; done
for i in back/a:a back/c:c back/d:d back/old:old old:old again:a lab/c+1:c; do check "${i%:*} is whole" gets "${i%:*}" "$T/${i#*:}.ndz"; done
check "verify" es -q verify
request DELETE "/images/lab/one/$(keys packs | tail -n 1)"
key=$(keys tables | head -n 1); request DELETE "/images/lab/one/$key"
status 3 es -q verify
key=$(keys images | head -n 1); printf 'x' > "$T/x"; request PUT "/images/lab/one/$key" "$T/x"
status 3 es -q gc
status 3 es -q verify
finish
