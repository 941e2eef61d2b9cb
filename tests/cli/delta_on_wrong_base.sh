#!/usr/bin/env bash
# A delta knows its base: it is refused on a disk that does not hold that, before anything
# is written; and goes onto one that does, also twice, in a chain, into a partition, and
# when it was interrupted.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires python3 mke2fs debugfs sfdisk
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
. "$(dirname "$0")/unicast_lib.sh"
zip() { "$BIN/imagezip" -q "$@" 2> "$T/zip" || fail "imagezip $*: $(cat "$T/zip")"; }
unzip() { "$BIN/imageunzip" -q "$@"; }
# refused WHY TARGET COMMAND...: exit 1 with a sentence that has WHY in it, and TARGET is what it was.
refused() {
	local why=$1 target=$2; shift 2
	cp --sparse=always "$target" "$T/untouched"
	status 1 "$@"
	check "  because: $why" grep -q -e "$why" "$T/stderr"
	check "  nothing was written" cmp "$T/untouched" "$target"
}
onto() { cp --sparse=always "$1" "$T/t"; }	# a target that holds this
holds() { cmp "$1" "$T/t"; }

# A disk with one ext4; then two days of changes.
python3 - "$T" << 'PY'
import random, sys
r = random.Random(11)
for name, n in ("one", 2600000), ("two", 700000), ("three", 300000), ("four", 900000):
    open(f"{sys.argv[1]}/{name}", "wb").write(r.randbytes(n))
PY
mkdir "$T/files"; cp "$T/one" "$T/two" "$T/files"
truncate -s 34M "$T/a"
printf 'label: dos\nstart=2048,size=65536,type=83\n' | sfdisk -q "$T/a" 2> "$T/sfdisk" || fail "sfdisk: $(cat "$T/sfdisk")"
mke2fs -q -F -t ext4 -E offset=1048576,nodiscard -d "$T/files" "$T/a" 32m 2> /dev/null
change() { local disk=$1; shift; for c; do echo "$c"; done | debugfs -w -f - "$disk?offset=1048576" > "$T/debugfs" 2>&1 || fail "debugfs: $(cat "$T/debugfs")"; }
cp --sparse=always "$T/a" "$T/b"; change "$T/b" "write $T/three three"
cp --sparse=always "$T/b" "$T/c"; change "$T/c" "write $T/four four" "rm two"
for x in a b c; do zip -U "$T/$x.sig" "$T/$x" "$T/$x.ndz"; done
zip -H "$T/a.sig" "$T/b" "$T/ab.ndz"; zip -H "$T/b.sig" "$T/c" "$T/bc.ndz"
"$BIN/imagedelta" -q "$T/a.ndz" "$T/b.ndz" "$T/ab2.ndz" || fail imagedelta
"$BIN/imagedelta" -q "$T/b.ndz" "$T/c.ndz" "$T/bc2.ndz" || fail imagedelta
# What is free keeps its old bytes, so that installed disks can be compared to the byte.
onto "$T/a"; unzip --in-place "$T/ab.ndz" "$T/t"; cp --sparse=always "$T/t" "$T/on-b"
onto "$T/on-b"; unzip --in-place "$T/bc.ndz" "$T/t"; cp --sparse=always "$T/t" "$T/on-c"
check "the base's disk with the delta is the new one" quietly "$BIN/imagehash" "$T/b.ndz" "$T/on-b"
check "and with the next one the next" quietly "$BIN/imagehash" "$T/c.ndz" "$T/on-c"

truncate -s 34M "$T/empty"
cp --sparse=always "$T/a" "$T/removed"; change "$T/removed" "rm two"
poison "$T/poison" $((34 << 20))
for d in ab ab2; do
	echo "== $d"
	refused "does not hold the base" "$T/empty" "$BIN/imageunzip" -q "$T/$d.ndz" "$T/empty"
	check "  it says where, and what to do" grep -q "sector [0-9]* differs; install the base first.*--force" "$T/stderr"
	refused "does not hold the base" "$T/removed" "$BIN/imageunzip" -q "$T/$d.ndz" "$T/removed"
	refused "does not hold the base" "$T/poison" "$BIN/imageunzip" -q --skip-same "$T/$d.ndz" "$T/poison"
	refused "does not hold the base" "$T/empty" sh -c "'$BIN/imageunzip' -q - '$T/empty' < '$T/$d.ndz'"
	refused "does not hold the base" "$T/removed" "$BIN/imageunzip" -q --state "$T/st" "$T/$d.ndz" "$T/removed"
	check "  no state is left" [ ! -s "$T/st" ]
	onto "$T/a"
	check "onto its base" unzip "$T/$d.ndz" "$T/t"; check "it is there" quietly "$BIN/imagehash" "$T/b.ndz" "$T/t"
	cp "$T/t" "$T/once"
	check "twice" unzip "$T/$d.ndz" "$T/t"; check "the same" holds "$T/once"
	check "twice, --skip-same" unzip --skip-same "$T/$d.ndz" "$T/t"; check "the same" holds "$T/once"
	"$BIN/imagerezip" -q -z 9 "$T/$d.ndz" "$T/re.ndz"
	refused "does not hold the base" "$T/removed" "$BIN/imageunzip" -q "$T/re.ndz" "$T/removed"
	onto "$T/a"; check "written again it goes onto the base" unzip "$T/re.ndz" "$T/t"; check "the same" holds "$T/once"
	onto "$T/empty"; check "--force writes it" unzip --force "$T/$d.ndz" "$T/t"
	status 1 "$BIN/imageunzip" -q "$T/$d.ndz" "$T/missing"
	check "that a base is needed is said" grep -q "missing: is not there, and the image is a delta" "$T/stderr"
	check "nothing is made" [ ! -e "$T/missing" ]
done

echo "== a chain"
for d in bc bc2; do
	refused "does not hold the base" "$T/a" "$BIN/imageunzip" -q "$T/$d.ndz" "$T/a"
	onto "$T/a"; check "one by one ($d)" unzip "$T/ab.ndz" "$T/t"
	check "the second" unzip "$T/$d.ndz" "$T/t"; check "all is there" quietly "$BIN/imagehash" "$T/c.ndz" "$T/t"
done

echo "== into a partition"
zip -s 1 -U "$T/p.sig" "$T/a" "$T/p.ndz"; zip -s 1 -H "$T/p.sig" "$T/b" "$T/pq.ndz"; zip -s 1 "$T/b" "$T/q.ndz"
truncate -s 84M "$T/big"; printf 'label: gpt\nsize=40MiB\nsize=40MiB\n' | sfdisk -q "$T/big"
refused "does not hold the base" "$T/big" "$BIN/imageunzip" -q -s 2 "$T/pq.ndz" "$T/big"
check "its base" unzip -s 2 "$T/p.ndz" "$T/big"
refused "does not hold the base" "$T/big" "$BIN/imageunzip" -q -s 1 --in-place "$T/pq.ndz" "$T/big"
check "the delta" unzip -s 2 "$T/pq.ndz" "$T/big"; check "it is there" quietly "$BIN/imagehash" -s 2 "$T/q.ndz" "$T/big"

echo "== a delta that does not say what its base held"
python3 - "$T/ab.ndz" "$T/old.ndz" << 'PY'
import struct, sys, zlib
b = bytearray(open(sys.argv[1], "rb").read())
for at in range(0, len(b), 1 << 20):	# record 11 becomes one of a type that nobody knows
    area = at + (4096 + struct.unpack_from("<I", b, at + 4)[0] + 7) // 8 * 8
    total, r, found = struct.unpack_from("<I", b, area + 8)[0], area + 16, 0
    while r < area + total:
        kind, _, n = struct.unpack_from("<HHI", b, r)
        if kind == 11: struct.pack_into("<H", b, r, 60000); found += 1
        r += 8 + (n + 7) // 8 * 8
    assert found == 1
    struct.pack_into("<I", b, area + 12, zlib.crc32(b[area + 16:area + total]))
open(sys.argv[2], "wb").write(b)
PY
refused "does not say what its base held" "$T/a" "$BIN/imageunzip" -q "$T/old.ndz" "$T/a"
onto "$T/a"; check "--force" unzip --force "$T/old.ndz" "$T/t"; check "it is there" quietly "$BIN/imagehash" "$T/b.ndz" "$T/t"

echo "== many chunks: what one of them replaces is not the base's"
python3 - "$T/m1" "$T/m2" "$T/m3" << 'PY'
import random, sys
r = random.Random(3)
a = bytearray(r.randbytes(24 << 20)); b = bytearray(a)
for i in range(2 << 20, 20 << 20, 128 << 10): b[i:i + (64 << 10)] = r.randbytes(64 << 10)
c = bytearray(a); c[(19 << 20) + (256 << 10) + 7] ^= 1	# the delta replaces this
for path, x in zip(sys.argv[1:], (a, b, c)): open(path, "wb").write(x)
PY
zip -r -U "$T/m1.sig" "$T/m1" "$T/m1.ndz"; zip -r "$T/m2" "$T/m2.ndz"
zip -r -H "$T/m1.sig" "$T/m2" "$T/ms.ndz"; "$BIN/imagedelta" -q "$T/m1.ndz" "$T/m2.ndz" "$T/md.ndz" || fail imagedelta
for d in ms md; do
	chunks=$(($(stat -c %s "$T/$d.ndz") >> 20))
	check "$d: $chunks chunks" [ "$chunks" -gt 8 ]
	check "it says what its base held" [ "$("$BIN/imagedump" --json "$T/$d.ndz" | json - '[0].base_samples')" -gt 256 ]
	onto "$T/m3"; status 1 "$BIN/imageunzip" -q "$T/$d.ndz" "$T/t"
	check "the chunk is named" grep -q "chunk [1-9][0-9]*: .*does not hold the base" "$T/stderr"
	onto "$T/m1"; check "onto its base" unzip "$T/$d.ndz" "$T/t"; check "it is there" holds "$T/m2"
done

echo "== an interrupted installation goes on"
case $BIN in *thread*) echo "another library cannot come before the thread sanitizer's: left out" ;; *)
die() {	# FAULT COMMAND...
	rm -f "$T/fired"
	FAULT="$1:$T/t" FAULT_FIRED=$T/fired FAULT_SEED=5 LD_PRELOAD=$shim ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 \
	    "${@:2}" 2> /dev/null
	check "it died: $1" [ -e "$T/fired" ]
}
for fault in pwrite:60:kill pwrite:100:power pwrite:31:torn; do
	for d in ms md; do
		onto "$T/m1"; die $fault "$BIN/imageunzip" -q "$T/$d.ndz" "$T/t"
		check "$d goes on" unzip "$T/$d.ndz" "$T/t"; check "it is there" holds "$T/m2"
	done
done
onto "$T/m1"; die pwrite:100:kill "$BIN/imageunzip" -q --in-place --state "$T/st" --state-interval 0 "$T/ms.ndz" "$T/t"
check "with a state" unzip --in-place --state "$T/st" "$T/ms.ndz" "$T/t"; check "it is there" holds "$T/m2" ;;
esac

echo "== frisbee"
serve "$T/ms.ndz"
truncate -s 24M "$T/empty"
refused "does not hold the base" "$T/empty" frisbee --in-place "$T/empty"
refused "does not hold the base" "$T/empty" frisbee --in-place -C 1 "$T/empty"
refused "does not hold the base" "$T/empty" frisbee --in-place --skip-same "$T/empty"
for o in "" "-C 1" "-C 2" "--skip-same" "--base" "--state=$T/st"; do
	onto "$T/m1"
	# shellcheck disable=SC2086
	check "onto its base $o" frisbee --in-place $o "$T/t"; check "it is there" holds "$T/m2"
done
check "twice" frisbee --in-place "$T/t"; check "it is there" holds "$T/m2"
served
serve "$T/old.ndz"
refused "does not say what its base held" "$T/a" frisbee --in-place "$T/a"
served

echo "== signatures of nothing"
python3 - "$T/none.sig" << 'PY'
import struct, sys
open(sys.argv[1], "wb").write(b".ndzsig\0" + struct.pack("<IIII", 0x20140618, 2, 0, 128) + bytes(8))
PY
for o in "" -q --json; do
	# shellcheck disable=SC2086
	"$BIN/imagehash" $o "$T/none.sig" "$T/a" > "$T/out" 2> "$T/stderr"; rc=$?
	check "imagehash $o compares nothing: exit $rc, $(cat "$T/stderr")" [ $rc = 1 ]
	check "  and says so" grep -q "nothing was compared" "$T/stderr" "$T/out"
done
status 1 "$BIN/imagezip" -q -H "$T/none.sig" "$T/a" "$T/x.ndz"
check "no image" [ ! -e "$T/x.ndz" ]
finish
