#!/usr/bin/env bash
# A store in a bucket: put and gc killed at any of their requests, and a bit flipped in what a machine keeps of it.  Nothing wrong
# is served, and nothing that is of use leaves the bucket.  FLIPS=N of the index.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3
hostile_server
python3 - "$T" << 'PY'
import random, sys
r = random.Random(1)
data = bytearray(r.randbytes(1200000 // 512 * 512) + bytes(1 << 20))
open(sys.argv[1] + "/a", "wb").write(data)
data[300000:301000] = r.randbytes(1000)
open(sys.argv[1] + "/b", "wb").write(data)
open(sys.argv[1] + "/c", "wb").write(r.randbytes(1 << 19))
PY
zip_all a b c

echo "== put and gc killed at any request"
export EMUSTORE=s3://bucket/killed
es init --pack-size 300k --grace 60 && es -q put a "$T/a.ndz" && es -q put b "$T/b.ndz" || fail "a store"
ends_at() {	# N COMMAND...: killed when it sends its Nth request; 1: it did not come to that
	local rc
	echo "hold / $1" > "$T/s/fault"; : > "$T/s/paused"
	"${@:2}" > /dev/null 2>&1 & local pid=$!
	begins $pid [ -s "$T/s/paused" ]
	kill -9 $pid 2> /dev/null; : > "$T/s/fault"; wait $pid 2> /dev/null; rc=$?
	[ $rc = 137 ]
}
es rm a; old; killed=0
for n in 1 2 4 5 6 7 8 9 10 11 12 13 14 16; do
	ends_at $n "$BIN/emustore" -q put new "$T/a.ndz" && killed=$((killed + 1))
	old; ends_at $n "$BIN/emustore" -q gc --all
	gets b "$T/b.ndz" || fail "killed at request $n: b"
	for v in $(versions new); do gets new:$v "$T/a.ndz" || fail "killed at request $n: new:$v"; done
done
check "killed $killed times" [ $killed -gt 8 ]
check "and the next put goes on" es -q put new "$T/a.ndz"
check "get" gets new "$T/a.ndz"
check "verify --data" es -q verify --data

echo "== a claim for an image whose name begins like the key of another one"
es init --store s3://bucket/alike --pack-size 300k --grace 60 || fail "a store"
f=$(basename "$(find "$T/s/objects" -name '*alike%2Fformat')")
printf 'claim\n' > "$T/s/objects/${f%format}claims%2Flab%2F0000000001%2F0000000001%2Fsomebody"
check "put lab:1" es --store s3://bucket/alike -q put lab:1 "$T/c.ndz"
check "its claim is gone, and the other one is not" [ "$(find "$T/s/objects" -name '*alike%2Fclaims*' | wc -l)" = 1 ]
printf 'claim\n' > "$T/s/objects/${f%format}claims%2Fweb%2F0000000001%2Fsomebody"
status 1 es --store s3://bucket/alike -q put web:1 "$T/c.ndz"
check "what somebody has claimed is not said to be there" grep -q "claimed by a put" "$T/stderr"
check "the next version is free" es --store s3://bucket/alike -q put web "$T/c.ndz"
check "it is web:2" [ "$(EMUSTORE=s3://bucket/alike versions web)" = 2 ]

echo "== an image that another machine removes while gc and verify read it"
es init --store s3://bucket/beside --pack-size 300k --grace 60 && export EMUSTORE=s3://bucket/beside && es -q put b "$T/b.ndz" || fail "a store"
for c in "gc --all" verify; do
	for n in 1 2; do	# the first time the image is asked for, and when what it needs is looked at
		es -q put x "$T/c.ndz" || fail "put x"
		echo "hold /images/x/ $n" > "$T/s/fault"; : > "$T/s/paused"
		# shellcheck disable=SC2086
		"$BIN/emustore" -q --cache "$T/other" $c 2> "$T/stderr" & pid=$!
		begins $pid [ -s "$T/s/paused" ] || fail "$c has not asked for x $n times"
		check "rm" es -q rm x --all
		: > "$T/s/fault"
		check "$c, which had asked $n times" wait $pid; cat "$T/stderr"
	done
done
check "b is there" gets b "$T/b.ndz"
check "verify --data" es -q verify --data

echo "== images that the server lists, and says it does not have"
es init --store s3://bucket/denied --pack-size 300k --grace 60 && export EMUSTORE=s3://bucket/denied && es -q put a "$T/a.ndz" && es -q put c "$T/c.ndz" || fail "a store"
for f in "nokey /images/a/" "nokey /images/a/ +2"; do	# never, and no more when what it needs is looked at
	: > "$T/s/fault"; rm -rf "$T/cache"; old
	for c in list verify; do
		echo "$f" > "$T/s/fault"
		[ "$f" != "nokey /images/a/" ] || status 3 es -q $c
	done
	for i in 1 2 3; do es -q gc --all 2> "$T/stderr" && fail "gc, $f"; old; done
done
: > "$T/s/fault"; rm -rf "$T/cache"
check "none of it was removed" gets a "$T/a.ndz"
check "verify --data" es -q verify --data

echo "== a list of changes that has another key, which is short"
cp "$T/s/objects/%2Fbucket%2Fdenied%2Fformat" "$T/s/objects/%2Fbucket%2Fdenied%2Fchanges%2Fx"
echo "stub prefix=denied%2Fchanges" > "$T/s/fault"
check "put" es -q put short "$T/b.ndz"
: > "$T/s/fault"; rm "$T/s/objects/%2Fbucket%2Fdenied%2Fchanges%2Fx"
check "get" gets short "$T/b.ndz"

echo "== what takes longer than the grace allows: a server that does not answer for three seconds"
export EMUSTORE=s3://bucket/long
es init --pack-size 1M --grace 60 && es -q put a "$T/a.ndz" && es -q put b "$T/b.ndz" && es rm a || fail "a store"
grace() { sed -i "s/^grace-seconds .*/grace-seconds $1/" "$T/s/objects/%2Fbucket%2Flong%2Fformat"; }
keys() { find "$T/s/objects" -name "*long%2F$1%2F*" | wc -l; }
old; grace 4
echo "pause /packs/ 1" > "$T/s/fault"; status 1 es -q gc --all
check "says why" grep -q "half the store's grace period" "$T/stderr"
check "nothing is condemned" [ "$(keys condemned)" = 0 ]
: > "$T/s/fault"; grace 60; old; check "gc" es -q gc --all; check "condemns" [ "$(keys condemned)" -gt 0 ]
grace 4; tables=$(keys tables)
echo "pause /packs/ 1" > "$T/s/fault"; status 1 es -q put c "$T/c.ndz"
check "a pack that took long gets no table" [ "$(keys tables)" = "$tables" ]
grace 60; : > "$T/s/fault"; check "put c" es -q put c "$T/c.ndz"
grace 5; printf 'pause /images/late/ 1\npause /images/late 1\n' > "$T/s/fault"
status 1 es -q put late "$T/c.ndz"
: > "$T/s/fault"; grace 60
for i in b c; do check "get $i" gets $i "$T/$i.ndz"; done
check "verify --data" es -q verify --data

echo "== a damaged cache"
export EMUSTORE=s3://bucket/cache
es init --pack-size 300k --grace 60 && es -q put a "$T/a.ndz" && es -q put c "$T/c.ndz" && es -q put b "$T/b.ndz" && es rm a || fail "a store"
old; es -q gc; old; es -q gc || fail "gc"
rm -rf "$T/cache"; gets b "$T/b.ndz"; gets c "$T/c.ndz"; es -q verify; cp -r "$T/cache" "$T/whole"; cp -r "$T/s/objects" "$T/objects"
python3 - "$T/whole" "${FLIPS:-24}" > "$T/flips" << 'PY'
import os, random, sys
r = random.Random(6)
for folder, _, names in sorted(os.walk(sys.argv[1])):
    for n in sorted(names):
        path = os.path.join(folder, n); data = open(path, "rb").read()
        used = [i for i, b in enumerate(data) if b or i % 4096 < 40]
        for _ in range(0 if not used or "index.db-" in n else int(sys.argv[2]) if n == "index.db" else 1):
            print(os.path.relpath(path, sys.argv[1]), r.choice(used), 1 << r.randrange(8))
PY
right=0 refused=0
while read -r f at bit; do
	rm -rf "$T/cache" "$T/s/objects"; cp -r "$T/whole" "$T/cache"; cp -r "$T/objects" "$T/s/objects"
	spoil_byte "$T/cache/$f" "$at" "$bit"
	for n in b c; do
		rm -f "$T/out"
		if es -q get $n "$T/out" 2> /dev/null; then
			cmp -s "$T/out" "$T/$n.ndz" || fail "$f byte $at, $bit: wrong bytes of $n"
			right=$((right + 1))
		else
			[ ! -e "$T/out" ] || fail "half an image is left"
			refused=$((refused + 1))
		fi
	done
	es -q put a "$T/a.ndz" 2> /dev/null; a=$?
	for i in 1 2 3; do old; es -q gc --all > /dev/null 2>&1; done
	rm -rf "$T/cache"
	for n in b c; do gets $n "$T/$n.ndz" 2> "$T/stderr" || fail "$f byte $at, $bit: $n is not whole in the bucket: $(cat "$T/stderr")"; done
	[ $a != 0 ] || gets a "$T/a.ndz" || fail "$f byte $at, $bit: what was put is not whole"
done < "$T/flips"
check "$(wc -l < "$T/flips") flips: $right right, $refused refused" [ $right -gt 0 ]
finish
