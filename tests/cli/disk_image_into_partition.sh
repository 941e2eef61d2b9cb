#!/usr/bin/env bash
# What was surely not meant is refused before anything is written: a whole disk's image into
# a partition, a partition's onto a disk that has a partition table.  --force does it.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires sfdisk mke2fs python3
. "$(dirname "$0")/unicast_lib.sh"
refused() {	# WHY TARGET COMMAND...
	local why=$1 target=$2; shift 2
	cp --sparse=always "$target" "$T/untouched"
	status 1 "$@"
	check "  because: $why" grep -q -e "$why" "$T/stderr"
	check "  nothing was written" cmp "$T/untouched" "$target"
}
# A disk with two partitions; images of all of it, of partition 2, and of a bare filesystem.
truncate -s 20M "$T/disk"; printf 'label: gpt\nsize=4MiB\nsize=12MiB\n' | sfdisk -q "$T/disk"
mke2fs -q -F -t ext4 -E offset=$((5 << 20)),nodiscard "$T/disk" 12m 2> /dev/null
head -c 300000 /dev/urandom | dd of="$T/disk" bs=512 seek=2100 conv=notrunc status=none
truncate -s 8M "$T/fs"; mke2fs -q -F -t ext4 "$T/fs"
"$BIN/imagezip" -q "$T/disk" "$T/disk.ndz" || fail imagezip
"$BIN/imagezip" -q -s 2 "$T/disk" "$T/part.ndz" || fail imagezip
"$BIN/imagezip" -q "$T/fs" "$T/fs.ndz" || fail imagezip
truncate -s 64M "$T/big"; printf 'label: gpt\nsize=8MiB\nsize=40MiB\n' | sfdisk -q "$T/big"
truncate -s 64M "$T/mbr"; printf 'label: dos\nsize=8MiB\nsize=40MiB\n' | sfdisk -q "$T/mbr"

echo "== a whole disk's image into a partition"
for t in big mbr; do
	refused "image is of a whole disk.*leave out -s.*--only 2" "$T/$t" "$BIN/imageunzip" -q -s 2 "$T/disk.ndz" "$T/$t"
	refused "image is of a whole disk" "$T/$t" "$BIN/imageunzip" -q -s 2 --in-place --skip-same "$T/disk.ndz" "$T/$t"
done
refused "image is of a whole disk" "$T/big" sh -c "'$BIN/imageunzip' -q -s 2 - '$T/big' < '$T/disk.ndz'"
refused "image is of a whole disk" "$T/big" "$BIN/imageunzip" -q -s 2 --state "$T/st" "$T/disk.ndz" "$T/big"
check "no state is left" [ ! -s "$T/st" ]
# Partition 1 is too small as well: what is meant is said all the same.
refused "image is of a whole disk" "$T/big" "$BIN/imageunzip" -q -s 1 "$T/disk.ndz" "$T/big"
"$BIN/emustore" -q --store "$T/store" init > "$T/out" 2>&1 || fail "emustore: $(cat "$T/out")"
"$BIN/emustore" -q --store "$T/store" put disk "$T/disk.ndz" > "$T/out" 2>&1 || fail "emustore: $(cat "$T/out")"
refused "image is of a whole disk" "$T/big" "$BIN/imageunzip" -q --store "$T/store" -s 2 disk "$T/big"
cp "$T/big" "$T/t"
check "--force" "$BIN/imageunzip" -q --force -s 2 "$T/disk.ndz" "$T/t"
check "a partition's image goes into one" "$BIN/imageunzip" -q -s 2 "$T/part.ndz" "$T/t"
check "a filesystem's, too" "$BIN/imageunzip" -q -s 1 "$T/fs.ndz" "$T/t"

echo "== a partition's image onto a disk with a partition table"
for t in big mbr; do
	for i in part fs; do
		refused "partition table.*-s N installs it" "$T/$t" "$BIN/imageunzip" -q --in-place "$T/$i.ndz" "$T/$t"
	done
done
cp "$T/big" "$T/t"; check "--force" "$BIN/imageunzip" -q --force --in-place "$T/part.ndz" "$T/t"
cp "$T/big" "$T/t"; check "the whole disk's goes onto a disk" "$BIN/imageunzip" -q --in-place "$T/disk.ndz" "$T/t"
cp "$T/fs" "$T/t"; check "a filesystem's onto an old filesystem" "$BIN/imageunzip" -q --in-place "$T/fs.ndz" "$T/t"
poison "$T/t" $((20 << 20)); check "a filesystem's onto a disk with no table" "$BIN/imageunzip" -q --in-place "$T/fs.ndz" "$T/t"
cp "$T/big" "$T/t"; check "a file is made anew" "$BIN/imageunzip" -q "$T/fs.ndz" "$T/t"
check "with just that in it" [ "$(stat -c %s "$T/t")" = $((8 << 20)) ]
# Other programs do not say what their images are of: as before.
if command -v zstd > /dev/null; then
	zstd -q -d -c "$GOLDEN/img/ext2.ndz.zst" > "$T/foreign.ndz"
	cp "$T/big" "$T/t"; check "an image of another program" "$BIN/imageunzip" -q --in-place "$T/foreign.ndz" "$T/t"
fi

echo "== frisbee"
serve "$T/disk.ndz"
refused "image is of a whole disk" "$T/big" frisbee -s 2 "$T/big"
refused "image is of a whole disk" "$T/big" frisbee -s 1 "$T/big"
cp "$T/big" "$T/t"; check "--force" frisbee --force -s 2 "$T/t"
cp "$T/big" "$T/t"; check "onto a disk" frisbee --in-place "$T/t"
served
serve "$T/part.ndz"
refused "partition table.*-s N installs it" "$T/big" frisbee --in-place "$T/big"
cp "$T/big" "$T/t"; check "into a partition" frisbee -s 2 "$T/t"
served

echo "== a partition's device"
# The kernel's number for it is enough: not every machine here makes the names.
part=
if [ "$(id -u)" = 0 ] && command -v partx > /dev/null && dev=$(losetup -f --show "$T/big" 2> /dev/null); then
	CLEANUP+=("partx -d '$dev' 2> /dev/null; losetup -d '$dev' 2> /dev/null")
	partx -a "$dev" 2> /dev/null
	number=$(cat "/sys/block/${dev##*/}/${dev##*/}p2/dev" 2> /dev/null) && mknod "$T/part" b "${number%:*}" "${number#*:}" && part=$T/part
fi
if [ -z "$part" ]; then echo "no loop device with partitions: left out"; finish; fi
refused "is a partition, and the image is of a whole disk" "$T/big" "$BIN/imageunzip" -q "$T/disk.ndz" "$part"
refused "partition table.*-s N installs it" "$T/big" "$BIN/imageunzip" -q "$T/part.ndz" "$dev"
check "a partition's image onto its device" "$BIN/imageunzip" -q "$T/part.ndz" "$part"
check "once more, over a filesystem" "$BIN/imageunzip" -q "$T/fs.ndz" "$part"
check "--force" "$BIN/imageunzip" -q --force "$T/disk.ndz" "$part"
finish
