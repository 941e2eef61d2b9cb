#!/usr/bin/env bash
# A delta is refused on a disk that was used since its base was installed, wherever a
# block differs that the delta replaces, and nothing of it is written: also when the disk
# happens to hold some of the delta's data.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires python3 mke2fs debugfs
. "$(dirname "$0")/unicast_lib.sh"
zip() { "$BIN/imagezip" -q "$@" 2> "$T/zip" || fail "imagezip $*: $(cat "$T/zip")"; }
unzip() { "$BIN/imageunzip" -q --in-place "$@"; }
onto() { cp --sparse=always "$1" "$T/t"; }
# refused WHAT COMMAND...: as one that does not hold the base, and $T/t stays what it was.
refused() {
	local what=$1 rc; shift
	cp --sparse=always "$T/t" "$T/untouched"
	"$@" 2> "$T/stderr"; rc=$?
	check "$what: refused" [ $rc = 1 ]
	check "  as one that does not hold the base" grep -q "does not hold the base" "$T/stderr"
	check "  nothing was written" cmp "$T/untouched" "$T/t"
}
# replaced BASE DELTA N: bytes of the disk that the base stores and the delta replaces: of
# both sides of each border of a chunk, of N ends of pieces, and of N other places.
replaced() {
	"$BIN/imagedump" --json -dd "$1" > "$T/base.json" &&
	"$BIN/imagedump" --json -dd "$2" > "$T/delta.json" &&
	python3 - "$T" "$3" << 'PY'
import json, random, sys
def regions(name):
    chunks = json.load(open(f"{sys.argv[1]}/{name}.json"))[0]["chunk_list"]
    all = [r for c in chunks for r in c["regions"]]
    return chunks, [(r["first_sector"], r["first_sector"] + r["sectors"]) for r in all]
_, base = regions("base")
chunks, delta = regions("delta")
both = [(max(a, c), min(b, d)) for a, b in base for c, d in delta]
both = [(a, b) for a, b in both if a < b]
edges = {c["first_sector"] for c in chunks}
want = {s for a, b in both for e in edges if a < e < b for s in (e - 1, e)}
n, r = int(sys.argv[2]), random.Random(5)
pieces = [s for piece in both for s in (piece[0], piece[1] - 1)]
others = [s for a, b in both for s in range(a, b, 8)]
want |= set(r.sample(pieces, min(n, len(pieces))))
want |= set(r.sample(others, min(n, len(others))))
print(*[s * 512 + s % 512 for s in sorted(want)])
PY
}
# each_is_compared DISK BASE DELTA N: whichever byte differs that is replaced, the delta
# is refused.  The byte is put right again, so that in the end the target shows whether
# anything else was written.
each_is_compared() {
	local at places taken=
	places=$(replaced "$2" "$3" "$4")
	onto "$1"
	for at in $places; do
		spoil_byte "$T/t" "$at"
		unzip "$3" "$T/t" 2> "$T/stderr" && { taken+=" $at"; onto "$1"; continue; }
		grep -q "does not hold the base" "$T/stderr" ||
			taken+=" $at($(cat "$T/stderr"))"
		spoil_byte "$T/t" "$at"
	done
	check "${3##*/}: $(wc -w <<< "$places") places, none is taken:$taken" [ -z "$taken" ]
	check "  there were some" [ "$(wc -w <<< "$places")" -ge "$4" ]
	check "  nothing was written" cmp "$1" "$T/t"
}

# installs BASE NEW DELTA [OPTIONS]: a disk that holds BASE then holds NEW.
installs() {
	local base=$1 new=$2 d=$3; shift 3
	onto "$T/$base"
	check "${d##*/} $* goes onto $base" unzip "$@" "$d" "$T/t"
	check "  it is there" cmp "$T/$new" "$T/t"
}

# Two days of a disk of noise: places of 4 KiB; "far": more changes than a chunk holds.
python3 - "$T" << 'PY'
import random, sys
r = random.Random(7)
a = bytearray(r.randbytes(6 << 20)); near = bytearray(a)
for at in (96, 700, 1300):
    near[at << 12:(at + 1) << 12] = r.randbytes(4096)
far = bytearray(near)
for at in range(2 << 20, 5 << 20, 96 << 10):
    for place in at, at + 24576:
        far[place:place + 4096] = r.randbytes(4096)
far[3 << 20:(3 << 20) + 2000000] = r.randbytes(2000000)
for name, x in ("a", a), ("near", near), ("far", far):
    open(f"{sys.argv[1]}/{name}", "wb").write(x)
PY
zip -r -U "$T/a.sig" "$T/a" "$T/a.ndz"
for x in near far; do
	zip -r "$T/$x" "$T/$x.ndz"
	zip -r -H "$T/a.sig" "$T/$x" "$T/$x-H.ndz"
	"$BIN/imagedelta" -q "$T/a.ndz" "$T/$x.ndz" "$T/$x-d.ndz" || fail imagedelta
done

echo "== a disk that holds some of the delta's data, and differs elsewhere"
for d in near-H near-d; do
	onto "$T/a"
	dd if="$T/near" of="$T/t" bs=4096 skip=96 seek=96 count=1 conv=notrunc status=none
	spoil_byte "$T/t" $((1300 * 4096 + 77))
	refused "$d" unzip "$T/$d.ndz" "$T/t"
	refused "$d from a pipe" sh -c "'$BIN/imageunzip' -q --in-place - '$T/t' < '$T/$d.ndz'"
	refused "$d, with a state" unzip --state "$T/st" "$T/$d.ndz" "$T/t"
	installs a near "$T/$d.ndz"
	check "  and again" unzip "$T/$d.ndz" "$T/t"; check "  it is there" cmp "$T/near" "$T/t"
	spoil_byte "$T/t" $((1300 * 4096 + 77))
	refused "$d on its own disk, which was used" unzip "$T/$d.ndz" "$T/t"
done
onto "$T/a"
dd if="$T/near" of="$T/t" bs=4096 skip=96 seek=96 count=1 conv=notrunc status=none
spoil_byte "$T/t" $((1300 * 4096 + 77))
serve "$T/near-H.ndz"
refused "frisbee" frisbee --in-place "$T/t"
refused "frisbee --skip-same" frisbee --in-place --skip-same "$T/t"
served

echo "== each block that is replaced, of many chunks"
for d in far-H far-d; do
	check "$d has some chunks" [ "$(stat -c %s "$T/$d.ndz")" -ge $((3 << 20)) ]
	each_is_compared "$T/a" "$T/a.ndz" "$T/$d.ndz" 14
	installs a far "$T/$d.ndz"
	"$BIN/imagerezip" -q --codec=zstd --windows=aligned "$T/$d.ndz" "$T/$d-re.ndz" ||
		fail imagerezip
	each_is_compared "$T/a" "$T/a.ndz" "$T/$d-re.ndz" 6
	installs a far "$T/$d-re.ndz"
done
serve "$T/far-d.ndz"
for at in $(replaced "$T/a.ndz" "$T/far-d.ndz" 2); do
	onto "$T/a"; spoil_byte "$T/t" "$at"
	frisbee --in-place "$T/t" 2> "$T/stderr" && fail "frisbee takes what differs at $at"
	check "frisbee refuses what differs at $at" grep -q "not hold the base" "$T/stderr"
done
onto "$T/a"; check "frisbee on the base" frisbee --in-place "$T/t"
check "  it is there" cmp "$T/far" "$T/t"
served

echo "== --check-base: what the delta says nothing of"
for x in a near; do { cat "$T/$x"; head -c 1M /dev/zero; } > "$T/z-$x"; done
zip -r -U "$T/z.sig" "$T/z-a" "$T/z.ndz"; zip -r "$T/z-near" "$T/zn.ndz"
zip -r -H "$T/z.sig" "$T/z-near" "$T/z-H.ndz"
"$BIN/imagedelta" -q "$T/z.ndz" "$T/zn.ndz" "$T/z-d.ndz" || fail imagedelta
cp "$T/z-a" "$T/spoiled"; spoil_byte "$T/spoiled" 6600000
# differs WHY DISK COMMAND...: refused with a sentence that has WHY, and untouched.
differs() {
	local why=$1 disk=$2; shift 2
	onto "$disk"; status 1 "$@"
	check "  because: $why" grep -q "$why" "$T/stderr"
	check "  nothing was written" cmp "$disk" "$T/t"
}
all() { unzip --check-base "$@" "$T/t"; }
for d in z-H z-d; do
	differs "does not hold all of .*z.ndz: some" "$T/spoiled" all "$T/z.ndz" "$T/$d.ndz"
	differs "does not hold all of .*z.ndz: some" "$T/spoiled" \
	    eval "all '$T/z.ndz' - < '$T/$d.ndz'"
	check "$d without it" unzip "$T/$d.ndz" "$T/t"
	differs "zn.ndz: is .*, and the base of" "$T/z-a" all "$T/zn.ndz" "$T/$d.ndz"
	installs z-a z-near "$T/$d.ndz" --check-base "$T/z.ndz"
done
installs z-a z-near "$T/z-H.ndz" --check-base "$T/z.sig"
differs "does not hold all of .*z.sig" "$T/spoiled" all "$T/z.sig" "$T/z-H.ndz"
differs "is for deltas" "$T/spoiled" all "$T/z.ndz" "$T/zn.ndz"
# A delta alone knows nothing of what stays.
for d in z-H z-d; do
	onto "$T/spoiled"; status 2 all all "$T/$d.ndz"
	check "$d says what is missing" \
	    grep -q "=all: the delta has .*-base=FILE reads .*image of the base, .*, or its" \
	    "$T/stderr"
	check "  and changes nothing" cmp "$T/spoiled" "$T/t"
done
cp "$T/z.ndz" "$T/all"; onto "$T/z-a"
check "a file of that name" eval 'cd "$T" && all ./all z-d.ndz && cd "$OLDPWD"'
check "  it is there" cmp "$T/z-near" "$T/t"

echo "== blocks that are replaced in part: files made and removed"
mkdir "$T/files"
for i in 1 2 3 4 5 6; do
	head -c $((i * 13000)) "$T/a" | tail -c 13000 > "$T/files/$i"
done
truncate -s 4M "$T/e"
mke2fs -q -F -t ext2 -b 1024 -E nodiscard -d "$T/files" "$T/e" 2> /dev/null
cp "$T/e" "$T/f"
freed=$(debugfs -R "blocks /3" "$T/f" 2> /dev/null | wc -w)
at=$(debugfs -R "blocks /3" "$T/f" 2> /dev/null | awk '{print $2}')
printf 'rm 3\nrm 5\nwrite %s new\n' "$T/files/6" | debugfs -w -f - "$T/f" > /dev/null 2>&1
# What was free in between does not hold the old data any more.
at2=$(debugfs -R "ffb 1" "$T/f" 2> /dev/null | awk '{print $NF}')
dd if="$T/near" of="$T/f" bs=1024 skip=9 seek="$at2" count=1 conv=notrunc status=none
check "there are blocks that are free now ($freed, from $at; $at2)" [ "$freed" -gt 10 ]
zip -F 1 -U "$T/e.sig" "$T/e" "$T/e.ndz"; zip -F 1 "$T/f" "$T/f.ndz"
zip -F 1 -H "$T/e.sig" "$T/f" "$T/f-H.ndz"
"$BIN/imagedelta" -q "$T/e.ndz" "$T/f.ndz" "$T/f-d.ndz" || fail imagedelta
for d in f-H f-d; do
	each_is_compared "$T/e" "$T/e.ndz" "$T/$d.ndz" 12
	onto "$T/e"; check "$d onto its base" unzip "$T/$d.ndz" "$T/t"
	check "  it is there" quietly "$BIN/imagehash" "$T/f.ndz" "$T/t"
	cp "$T/t" "$T/once"
	check "$d again" unzip "$T/$d.ndz" "$T/t"; check "the same" cmp "$T/once" "$T/t"
done
finish
