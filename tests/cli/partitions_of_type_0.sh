#!/usr/bin/env bash
# An entry of an MBR that has type 0 and a length is a partition, as for the kernel: what
# lies in it comes back, or it is said that it was left out, and which option keeps it.
. "$(dirname "$0")/lib.sh"
requires python3 mke2fs e2fsck mkfs.fat
SIZE=$((80 << 20))

# table FILE TYPE:FIRST:COUNT...: a boot record of these entries; EBR@SECTOR begins
# another one there.
table() {
	python3 - "$@" << 'PY'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    at, rec, i = 0, bytearray(512), 0
    def put():
        rec[510:512] = b"\x55\xaa"; f.seek(at); f.write(rec)
    for a in sys.argv[2:]:
        if a.startswith("EBR@"):
            put(); at, rec, i = int(a[4:]) * 512, bytearray(512), 0
            continue
        t, first, n = (int(x, 16 if k == 0 else 10) for k, x in enumerate(a.split(":")))
        entry = struct.pack("<B3sB3sII", 0, b"", t, b"", first, n)
        rec[446 + 16 * i:462 + 16 * i] = entry
        i += 1
    put()
PY
}
disk() { rm -f "$T/disk"; truncate -s $SIZE "$T/disk"; table "$T/disk" "$@"; }
put() { dd if="$1" of="$T/disk" bs=512 seek="$2" conv=notrunc status=none; }
ext4_at() { mke2fs -q -F -t ext4 -E offset=$(($1 * 512)) "$T/disk" $2 2> "$T/quiet"; }
capture() {
	"$BIN/imagezip" "$@" "$T/disk" "$T/i.ndz" 2> "$T/said" ||
	    fail "imagezip: $(cat "$T/said")"
}
# info FACT... -- OPTION...: the facts hold of imagezip -i with these options.
info() {
	local facts=()
	while [ "$1" != -- ]; do facts+=("$1"); shift; done
	json <("$BIN/imagezip" -i -q --json "${@:2}" "$T/disk") "${facts[@]}"
}
onto_poison() {
	poison "$T/target" $SIZE
	"$BIN/imageunzip" -q --in-place "$T/i.ndz" "$T/target" || fail imageunzip
}
back() {	# SECTOR: the data is there on a target that held something else
	onto_poison; cmp -s -n 6291456 -i $(($1 * 512)) "$T/disk" "$T/target"
}
whole() {	# SECTOR: the ext4 there is clean
	tail -c +$(($1 * 512 + 1)) "$T/target" | head -c 40M > "$T/fs"; e2fsck -fn "$T/fs"
}
says() { check "it says: $1" grep -q "$1" "$T/said"; }
head -c 6M /dev/urandom > "$T/data"

echo "== the stick of an installer: all from sector 0 on in one, another partition inside"
mkfs.fat -F 12 -C "$T/fat" 2880 > "$T/quiet" || fail mkfs.fat
disk 0:0:140000 ef:324:5760; put "$T/data" 60000; put "$T/fat" 324
capture; says "warning: partition 1 (0x00 Empty): .* every sector is stored"
back 60000; check "all of it is there" [ $? = 0 ]
check "with the free space of the one inside" \
    cmp -s -n $((140000 * 512)) "$T/disk" "$T/target"
check "-I of both leaves out all but the table" info "stored_sectors<100" -- -I 1 -I 2
check "-I 1 keeps the other one" \
    info "partitions[1].used_sectors>20" "stored_sectors<5800" -- -I 1
capture -I 1
poison "$T/target" $SIZE; cp "$T/target" "$T/old"
"$BIN/imageunzip" -z --in-place "$T/i.ndz" "$T/target" 2> "$T/said" || fail "-z"
check "-z leaves it as it was, in front of the other one" \
    cmp -i 512 -n $((323 * 512)) "$T/old" "$T/target"
check "and behind it" cmp -i $((6084 * 512)) -n $((133916 * 512)) "$T/old" "$T/target"
says "$((140000 - 1 - 5760)) sectors keep their old bytes, .* partitions: 1"
check "the other one comes back, and its free space is filled" \
    cmp -i $((324 * 512)) -n $((5760 * 512)) "$T/disk" "$T/target"
"$BIN/imageunzip" -q --zero-all --in-place "$T/i.ndz" "$T/target" || fail --zero-all
check "--zero-all fills it" \
    cmp -s -i $((6084 * 512)):0 -n $((133916 * 512)) "$T/target" /dev/zero
capture
check "-s stores it" info stored_sectors=140000 -- -s 1
cp "$T/disk" "$T/target"
status 1 "$BIN/imageunzip" -q --only 1 "$T/i.ndz" "$T/target"
check "the table is not overwritten" grep -q "has the partition table in it" "$T/stderr"
status 1 "$BIN/imageunzip" -q --in-place --grow "$T/i.ndz" "$T/target"
check "nothing is grown into it" \
    grep -q "partition 1 shares sectors with the last one" "$T/stderr"

echo "== behind another one: by its filesystem, if it has one"
disk 83:2048:2048 0:40960:81920; ext4_at 40960 40m || fail mke2fs
capture
check "by the filesystem" \
    info "partitions[1].filesystem=ext4" "partitions[1].used_sectors<40000" --
onto_poison; check "which is whole" whole 40960
poison "$T/target" $SIZE
dd if="$T/disk" of="$T/target" bs=512 count=1 conv=notrunc status=none
check "--only 2" "$BIN/imageunzip" -q --in-place --only 2 "$T/i.ndz" "$T/target"
check "puts it there" whole 40960

echo "== unknown data"
disk 83:2048:2048 0:40960:81920; put "$T/data" 50000
capture
says "warning: partition 2 (0x00 Empty): its type is 0, and it has no known filesystem"
says "it is left out (-R 2 stores it)"
back 50000; check "it is left out" [ $? != 0 ]
capture -R 2; back 50000; check "-R 2 stores it" [ $? = 0 ]
check "-s 2, too" info stored_sectors=81920 -- -s 2

echo "== a logical one"
disk 83:2048:2048 0f:40960:102400 EBR@40960 0:2048:81920; put "$T/data" 50000
capture; says "warning: partition 5 (0x00 Empty): .* it is left out (-R 5 stores it)"
capture -R 5; back 50000; check "-R 5 stores it" [ $? = 0 ]

echo "== a partition in front of it does not grow over it, and a smaller disk keeps it"
disk 83:2048:40960 0:100000:20000; put "$T/data" 100000; ext4_at 2048 20m
"$BIN/growfs" --dry-run --json "$T/disk" > "$T/json" 2> "$T/quiet"
check "the last one is that of type 0" json "$T/json" partition=2 "left_alone~."
check "--shrink ends behind it" info "sectors>=120000" -- --shrink -R 2
finish
