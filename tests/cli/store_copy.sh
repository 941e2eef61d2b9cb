#!/usr/bin/env bash
# emustore copy: images from store to store, folder and bucket, only what lacks; emustore forget: versions that no rule keeps.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3 zstd
hostile_server
related_images
export EMUSTORE=$T/S
B=s3://bucket/copy
es init && es --store "$T/U" init --pack-size 1M && es --store $B init --pack-size 1M || fail init
es -q put a "$T/a.ndz"; es -q put a "$T/b.ndz"; es -q put lab/c "$T/c.ndz" --label os=none --parent a
g=$(ls "$GOLDEN"/img/*.ndz.zst | head -n 1); zstd -dqfc "$g" > "$T/g.ndz"; es -q put golden "$T/g.ndz" || fail "put golden"
new() { json - "[*].new_fragments" | awk '{ n += $1 } END { print n + 0 }'; }
same() { diff <(es list --json) <(es --store "$1" list --json) > "$T/diff"; }

echo "== from a folder to a bucket, and on to a folder"
for to in "$B" "$T/U"; do
	from=$EMUSTORE
	check "copy" es --store "$from" -q copy lab/c golden --to "$to"
	check "a:1 alone" es --store "$from" -q copy a:1 --to "$to"
	n=$(es --store "$from" copy --json a --all --to "$to" | new)
	check "of a:2 only what a:1 has not: $n" [ "$n" -ge 1 -a "$n" -le 8 ]
	check "again nothing" [ "$(es --store "$from" copy --json a lab/c golden --all --to "$to" | new)" = 0 ]
	check "the same list, times and digests" same "$to"
	export EMUSTORE=$to
	for i in a:1:a a:2:b lab/c:1:c golden:1:g; do check "get ${i%:*}" gets "${i%:*}" "$T/${i##*:}.ndz"; done
	check "labels and parent" bash -c '"$0" info lab/c | grep -q os=none && "$0" info lab/c | grep -q "derived from a:2"' "$BIN/emustore"
	check "verify --data" es -q verify --data
done
export EMUSTORE=$T/S

echo "== gc replaces the packs of which an image is copied"
es --store "$T/W" init && es --store "$T/W" -q put a "$T/a.ndz" && es --store "$T/W" -q put a "$T/b.ndz" && es --store "$T/W" -q rm a:1 && es --store s3://bucket/late init || fail "a store"
ls "$T/W/packs" > "$T/before"
echo "hold / 1" > "$T/s/fault"; : > "$T/s/paused"
"$BIN/emustore" --store "$T/W" -q copy a --all --to s3://bucket/late 2> "$T/stderr" & pid=$!
begins $pid [ -s "$T/s/paused" ] || fail "copy has not asked the other store"
check "gc" es --store "$T/W" -q gc --all
: > "$T/s/fault"
check "has replaced them" [ -z "$(ls "$T/W/packs" | grep -xFf "$T/before")" ]
check "copy goes on" wait $pid; cat "$T/stderr"
check "what was copied is right" bash -c '"$0" --store s3://bucket/late -q get a:2 - | cmp - "$1"' "$BIN/emustore" "$T/b.ndz"

echo "== refused"
status 1 es -q copy nobody --to "$T/U"
status 1 es -q copy a:9 --to "$T/U"
es --store "$T/U" -q put a "$T/c.ndz"; es -q put a "$T/a.ndz"
status 1 es -q copy a --to "$T/U"
check "another image has that version" grep -q "a:3: the other store has another image" "$T/stderr"
check "it stays" bash -c '"$0" --store "$1" -q get a:3 - | cmp - "$2"' "$BIN/emustore" "$T/U" "$T/c.ndz"

echo "== a damaged fragment is not copied"
rm -rf "$T/V"; es --store "$T/V" init
f=$(ls -S "$T"/S/packs/*.pack | head -n 1); cp "$f" "$T/pack"
printf 'XXXXXXXX' | dd of="$f" bs=1 seek=1000000 conv=notrunc status=none
status 3 es -q copy a:1 --to "$T/V"
check "nothing of it is there" [ -z "$(es --store "$T/V" list -q)" ]
check "nor in packs" [ -z "$(ls "$T/V/packs" 2> /dev/null)" ]
cp "$T/pack" "$f"

# A store whose first fragment has a head that lies.
lie() {	# HOW: "digest", the digest of other data; "none", nothing of its data
	rm -rf "$T/L"; es --store "$T/L" init && es --store "$T/L" -q put c "$T/c.ndz" || fail "a store that lies"
	python3 - "$TOP/tests/helpers" "$T/L" "$1" << 'PY'
import glob, hashlib, os, struct, sys
sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True
from store_read import crc32c
(toc,), (pack,) = glob.glob(sys.argv[2] + "/tables/*.toc"), glob.glob(sys.argv[2] + "/packs/*.pack")
t, p = bytearray(open(toc, "rb").read()), bytearray(open(pack, "rb").read())
blocks, = struct.unpack_from("<I", t, 32)
entry = 40 + 32 * blocks	# of the first fragment: its head, where its record is, its length
record, = struct.unpack_from("<Q", t, entry + 56)
for b, head in (t, entry), (p, record + 32):
    if sys.argv[3] == "none": b[head + 32:head + 56] = bytes(24)
    else: b[head + 32] ^= 1
size, = struct.unpack_from("<I", p, record + 16)	# then all that proves it
struct.pack_into("<I", p, record + 20, crc32c(p[record + 32:record + 32 + size]))
struct.pack_into("<I", p, record + 28, crc32c(p[record:record + 28]))
for i in range(blocks): t[40 + 32 * i:72 + 32 * i] = hashlib.sha256(p[i << 20:(i + 1) << 20]).digest()
name = hashlib.sha256(t).hexdigest()
os.unlink(toc); os.unlink(pack)
open(f"{sys.argv[2]}/packs/{name}.pack", "wb").write(p); open(f"{sys.argv[2]}/tables/{name}.toc", "wb").write(t)
PY
	check "nobody sees it by a SHA-256" es --store "$T/L" -q verify
}
refuses_lie() {	# HOW SENTENCE
	lie "$1"
	status 3 es --store "$T/L" -q copy c --to "$T/V"
	check "says what is wrong" grep -q "$2" "$T/stderr"
	check "nothing of it is there" [ -z "$(es --store "$T/V" list -q)" ]
	check "nor in packs" [ -z "$(ls "$T/V/packs" 2> /dev/null)" ]
}
echo "== nor a fragment whose head says that it has other data"
refuses_lie digest "does not have the data that it says"
echo "== nor one whose head says nothing of its data, which no later put would accept"
refuses_lie none "does not say how much data it has"
check "put of the same data" es --store "$T/V" -q put c "$T/c.ndz"

echo "== forget"
status 2 es forget a:1 --keep-last 1
status 1 es forget nobody --keep-last 1
check "--dry-run tells" [ "$(es forget --dry-run a --keep-last 1 2> "$T/stderr" | grep -c "^remove ")" = 2 ]
check "that it is one, and what frees the room" grep -q "a dry run: nothing was removed; .*: 2, and gc then frees" "$T/stderr"
check "and removes nothing" [ "$(versions a)" = "1 2 3" ]
check "JSON" [ "$(es forget --json --dry-run --keep-last 2 | json -1 - "[*].name,version,kept")" = "a:1:false a:2:true a:3:true golden:1:true lab/c:1:true" ]
check "the oldest stays as long as there is room" [ "$(es forget --dry-run a --keep-yearly 9 | awk '{ print $1 }' | tr '\n' ' ')" = "keep remove keep " ]
rm "$T/S/images/a/0000000001"	# by hand, of which no mark tells
check "forget" es -q forget a --keep-last 1
check "others are not touched, and the index knows" [ "$(all_names)" = "a:3 golden:1 lab/c:1" ]
check "gc" es -q gc --all
check "what is kept is whole" gets a "$T/a.ndz"
check "in a bucket" es --store $B -q forget --keep-last 1
check "there, too" [ "$(es --store $B list --json | json - '[#]')" = 3 ]
finish
