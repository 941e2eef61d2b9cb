#!/usr/bin/env bash
# What lies outside of all partitions is looked at: a filesystem that begins there is
# stored, and of the rest a sample is read; data in it is a warning.
. "$(dirname "$0")/lib.sh"
requires sfdisk mke2fs e2fsck python3
new() {	# SIZE SECTORS: a disk with one partition, of so many sectors
	rm -f "$T/disk"; truncate -s "$1" "$T/disk"
	printf '%s\n' "label: dos" "start=2048,size=$2" | sfdisk -q "$T/disk" ||
	    fail sfdisk
}
capture() {
	"$BIN/imagezip" --json "$@" "$T/disk" "$T/i.ndz" > "$T/json" 2> "$T/said" ||
	    fail "imagezip $*: $(cat "$T/said")"
}
says() { check "it says: $1" grep -q "$1" "$T/said"; }
noise() {	# BYTES SECTOR
	head -c "$1" /dev/urandom |
	    dd of="$T/disk" bs=512 seek=$2 conv=notrunc status=none
}
found="warning: outside of partitions, this was recognised, and"

for at in 43008 45056; do	# where the space begins, and at a multiple of 1 MiB in it
	echo "== the filesystem of a partition that was removed, at sector $at"
	new 120M $((at == 43008 ? 40960 : 42000))
	mke2fs -q -F -t ext4 -d "$TOP/docs" -E offset=$((at * 512)) "$T/disk" 60m \
	    2> "$T/quiet" || fail mke2fs
	capture; says "$found is stored: ext2/3/4 filesystem at sector $at"
	check "only what it uses" json "$T/json" "data_bytes<45000000" \
	    "outside_recognised_sectors>1000" "outside_recognised~ext"
	poison "$T/target" $((130 << 20))
	"$BIN/imageunzip" -q --in-place "$T/i.ndz" "$T/target" || fail imageunzip
	tail -c +$((at * 512 + 1)) "$T/target" | head -c 60M > "$T/fs"
	check "it is whole, on a larger disk, too" e2fsck -fn "$T/fs"
	capture --outside=skip; says "$found is left out"
	check "--outside=skip: it is left out" \
	    json "$T/json" outside_recognised_sectors=0 \
	    "outside_unexamined_sectors>100000"
done

echo "== what no module knows, all of the space"
new 150M 40960; noise 100000 48008
printf 'JFS1' | dd of="$T/disk" bs=512 seek=43072 conv=notrunc status=none
capture; says "is stored: a JFS filesystem at sector 43008"
check "all of it" json "$T/json" outside_unexamined_sectors=0 "data_bytes>$((128 << 20))"

echo "== an ISO 9660 volume from the disk's beginning"
new 150M 40960
python3 - "$T/disk" << 'PY'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    f.seek(32768); f.write(b"\1CD001\1")
    f.seek(32768 + 80); f.write(struct.pack("<I", (100 << 20) // 2048))
    f.seek(90 << 20); f.write(b"the end of the volume")
PY
capture; says "is stored: an ISO 9660 volume at sector 0"
"$BIN/imageunzip" -q "$T/i.ndz" "$T/new" || fail imageunzip
check "all of it" cmp -s -n $((100 << 20)) "$T/disk" "$T/new"

echo "== data that nothing recognises: a sample is read"
sampled() {	# WHAT BLOCKS BLOCKS-WITH-DATA
	check "$1" \
	    json "$T/json" outside_sampled_blocks=$2 outside_sampled_data_blocks=$3
}
new 1G 40960; capture
sampled "a hole of a file is not read" 0 0
check "and is no warning" eval '! grep -q "warning: data lies outside" "$T/said"'
noise 8192 1310720	# at a multiple of 64 MiB
capture
says "warning: data lies outside of partitions, and is left out: .* at sector 1310720;"
says "this was a sample"
sampled "one block" 1 1
if [ "$(id -u)" = 0 ] && dev=$(losetup -f --show -r "$T/disk" 2> /dev/null); then
	CLEANUP+=("losetup -d '$dev' 2> /dev/null")
	"$BIN/imagezip" --json "$dev" "$T/i.ndz" > "$T/json" 2> "$T/said"
	check "a device" [ $? = 0 ]
	sampled "a block in each 64 MiB of it" 16 1
	losetup -d "$dev"
fi
capture --outside=store; sampled "--outside=store: nothing to look for" 0 0
finish
