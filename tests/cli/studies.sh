#!/usr/bin/env bash
# The small programs behind "make bench" and "make paper-store": what they count is so, what
# they make is what they say.
. "$(dirname "$0")/lib.sh"
requires python3
study=${B:-$TOP/build/plain}/bench
[ -x "$study/dedup" ] || fail "no $study/dedup"
es() { "$BIN/emustore" -q --store "$T/S" "$@"; }
field() { json - "$1"; }

# Two disks of 16 MiB that share most of their blocks; the second one has 3 blocks of 4 KiB changed.
python3 - "$T" << 'PY'
import random, sys
r = random.Random(7)
block = [bytes(r.choices(range(64), k=4096)) for _ in range(500)]
disk = bytearray(b"".join(block[r.randrange(500)] for _ in range(4096)))
open(sys.argv[1] + "/a", "wb").write(disk)
for at in (0, 1000, 4095): disk[at * 4096 + 17] ^= 255
open(sys.argv[1] + "/b", "wb").write(disk)
PY
for d in a b; do "$BIN/imagezip" -q -r "$T/$d" "$T/$d.ndz" || fail "imagezip $d"; done

echo "== dedup counts what a plain program counts"
for size in 4096 16384 65536; do
	"$study/dedup" $size "$T/a.ndz" -- "$T/b.ndz" > "$T/json" || fail "dedup $size"
	python3 - "$T" $size > "$T/want" << 'PY'
import sys
n = int(sys.argv[2])
a, b = ({d[i:i + n] for i in range(0, len(d), n)} for d in (open(f"{sys.argv[1]}/{f}", "rb").read() for f in "ab"))
print(len(a), len(b), len(a | b), n * len(a | b))
PY
	got="$(field base.unique_blocks < "$T/json") $(field user.unique_blocks < "$T/json") $(field all.unique_blocks < "$T/json") $(field all.unique_bytes < "$T/json")"
	check "blocks of $size: $got" [ "$got" = "$(cat "$T/want")" ]
	check "all of them: $size" [ "$(field all.blocks < "$T/json")" = $((2 * 16777216 / size)) ]
done
"$study/dedup" 1000 "$T/a.ndz" 2> /dev/null; check "blocks must be sectors" [ $? = 2 ]
head -c 1500000 "$T/a.ndz" > "$T/short.ndz"
"$study/dedup" 4096 "$T/short.ndz" > /dev/null 2>&1 && fail "dedup takes half an image"

echo "== similar finds what is alike, and no more"
python3 - "$T" << 'PY'
import random, sys
r = random.Random(8)
disk = bytearray(r.choices(range(64), k=4 << 20))
open(sys.argv[1] + "/whole", "wb").write(disk)
for at in range(30000, 4 << 20, 60000): disk[at] ^= 255
open(sys.argv[1] + "/alike", "wb").write(disk)
open(sys.argv[1] + "/other", "wb").write(bytes(r.choices(range(64), k=4 << 20)))
PY
for d in whole alike other; do "$BIN/imagezip" -q -r --windows=store "$T/$d" "$T/$d.ndz" || fail "imagezip $d"; done
"$study/similar" 65536 odess 3 "$T/a.ndz" -- "$T/b.ndz" > "$T/json" || fail "similar, blocks"
"$study/dedup" 65536 "$T/a.ndz" "$T/b.ndz" > "$T/want"
check "different blocks are those of dedup" [ \
    "$(field second.fragments < "$T/json") $(field second.packed_bytes < "$T/json")" = \
    "$(($(field all.unique_blocks < "$T/want") - $(field first.fragments < "$T/json"))) $(($(field all.packed_bytes < "$T/want") - $(field first.packed_bytes < "$T/json")))" ]
for of_ten in finesse=6 odess=7 palantir=9; do
	features=${of_ten%=*}
	"$study/similar" 0 $features 3 "$T/whole.ndz" "$T/other.ndz" -- "$T/alike.ndz" > "$T/json" || fail "similar $features"
	n=$(field second.fragments < "$T/json") alike=$(field second.differences < "$T/json")
	check "$features: nothing is alike by chance" [ "$(field first.differences < "$T/json")" = 0 ]
	check "$features: $alike of $n fragments are alike" [ $((10 * alike)) -ge $((${of_ten#*=} * n)) -a "$n" -gt 40 ]
	packed=$(field second.packed_bytes < "$T/json") kept=$(field second.kept_bytes < "$T/json")
	check "$features: differences are small" [ $((10 * n * (packed - kept))) -gt $((9 * alike * packed)) ]
	check "$features: they were made whole again" [ "$(field again_raw_bytes < "$T/json")" -gt 0 ]
done
"$study/similar" 0 simhash 3 "$T/whole.ndz" 2> /dev/null; check "features have a name" [ $? = 2 ]

echo "== as the original programs write it"
"$BIN/imagezip" -q -r -z 1 --windows=aligned "$T/a" "$T/a1.ndz"
check as_original "$study/as_original" "$T/a1.ndz" "$T/o.ndz"
"$BIN/imageunzip" -q "$T/o.ndz" "$T/o" && cmp "$T/o" "$T/a" || fail "its data is another"
es init
es put --json o "$T/o.ndz" > "$T/json"
check "the store finds out how every chunk was made" [ "$(field recompressed_chunks < "$T/json")" = "$(field chunks < "$T/json")" ]
[ "$(field chunks < "$T/json")" -gt 1 ] || fail "too few chunks to tell"

echo "== what a chunk costs"
es put a "$T/a.ndz"
"$study/chunks" "$T/S" a "$T/a.ndz" > "$T/json" || fail "chunks"
check "all chunks" [ "$(field chunks < "$T/json")" = $(($(stat -c %s "$T/a.ndz") >> 20)) ]
status 3 "$study/chunks" "$T/S" o "$T/a1.ndz"
"$study/reconstruct" "$T/o.ndz" 8192 > "$T/json" || fail "reconstruct"
check "every chunk is made again" [ "$(field chunks < "$T/json")/$(field chunks_too_long < "$T/json")" = "$(($(stat -c %s "$T/o.ndz") >> 20))/0" ]

echo "== a large image of a small one"
python3 -c 'import os,sys; sys.stdout.buffer.write(os.urandom(70 << 20))' > "$T/c"
"$BIN/imagezip" -q -r "$T/c" "$T/c.ndz" && es put c "$T/c.ndz"
check fill_large "$study/fill_large" "$T/S" c large 1000
check "it has as many chunks" [ "$(es info --json large | field chunks)" = 1024 ]
check "which are those of the small one" bash -c '"$1" -q --store "$2" get large - --chunk 515 | cmp - <(tail -c +$((3 * 1048576 + 1)) "$3" | head -c 1048576)' - "$BIN/emustore" "$T/S" "$T/c.ndz"
status 2 "$study/fill_large" "$T/S" a large 1000

echo "== a history is replayed"
# Three images in turn, of which two have room: LRU never has the next one; who knows the future has every second one.
"$PYTHON" - "$T/history.db" << 'PY' || fail "a history"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
db.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, kind TEXT, outcome TEXT, image TEXT, host TEXT, at INTEGER, seconds REAL, bytes INTEGER)")
db.executemany("INSERT INTO event (kind, image, at, bytes) VALUES (?, ?, ?, 1000)", [("session", "abc"[i % 3], 1e9 + i * 100) for i in range(30)] + [("load", "x", 1e9)])
db.commit()
PY
sed 's/^CACHES = .*/CACHES = (0.7,)/' "$TOP/bench/cached" > "$T/cached" && cp "$TOP/bench/document.py" "$TOP/bench/measure.py" "$T"
check "bench/cached" "$PYTHON" "$T/cached" "$T/history.db"
"$PYTHON" "$T/cached" "$T/history.db" > "$T/json"
ways() { "$PYTHON" -c 'import json, sys; w = json.load(open(sys.argv[1]))[0]["ways"]; sys.exit(not eval(sys.argv[2], w))' "$T/json" "$1"; }
check "LRU has none of them" ways 'LRU["hits"] == 0 and LRU["fetched"] == 1'
sed -i 's/the future/future/' "$T/json"
check "what knows the future has half" ways '0.4 < future["hits"] <= 0.5'

echo "== plots are XML"
python3 -B - "$TOP/bench" "$T" << 'PY' || fail "plots"
import sys, xml.dom.minidom
sys.path.insert(0, sys.argv[1])
import plot
for v in ([1, 2, None], [0, 0, 0], [0.001, 3e9, 7]):
    plot.lines(sys.argv[2] + "/l.svg", "a < b & c", "x", "y", "pqr", dict(one=v, two=[3, 2, 1]))
    plot.bars(sys.argv[2] + "/b.svg", "a < b & c", "x", "y", "pqr", dict(one=[n or 0 for n in v]))
    for f in ("l", "b"): xml.dom.minidom.parse(f"{sys.argv[2]}/{f}.svg")
PY
[ $bad -eq 0 ]
