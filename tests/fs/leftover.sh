#!/usr/bin/env bash
# What a former filesystem left in a member of an array or pool calls free what holds
# data now: stored completely.  Where there is no such member, the same is skipped.
. "$(dirname "$0")/lib.sh"
requires mke2fs mkswap mkfs.vfat mkfs.btrfs python3 sfdisk
leftover() { python3 "$TOP/tests/helpers/leftover.py" "$@"; }
mkdir "$T/was"
truncate -s 24M "$T/was/ext" "$T/was/swap"; truncate -s 48M "$T/was/fat"
mke2fs -q -F -t ext4 -b 1024 "$T/was/ext"
mkswap -q "$T/was/swap" 2> /dev/null
mkfs.vfat -F 32 "$T/was/fat" > /dev/null
truncate -s 128M "$T/was/btrfs"; mkfs.btrfs -q "$T/was/btrfs"
for fs in ext swap fat btrfs; do check "$fs alone: skipped" [ "$(said_of skipped_sectors "$T/was/$fs")" -gt 30000 ]; done

kept_for() {	# KIND WHAT FS...
	local kind=$1 what=$2 fs said; shift 2
	for fs; do
		cp --sparse=always "$T/was/$fs" "$T/fs"; leftover "$kind" "$T/fs"
		kept_whole "$fs, then $kind" "$T/fs" "$what"
		row "$kind" "on what was $fs" "$said"
	done
}
kept_for md1.2 "and a member of a Linux RAID" ext swap fat
kept_for md1.0 "and a member of a Linux RAID" ext swap
kept_for md1.1 "and a member of a Linux RAID" ext swap
kept_for md0.90 "and a member of a Linux RAID" ext
kept_for md0.90-big "and a member of a Linux RAID" ext
kept_for zfs "and a member of a ZFS pool" ext swap
kept_for zfs-big "and a member of a ZFS pool" ext
kept_for bcache "and a bcache device" swap fat
kept_for bcachefs "and a bcachefs filesystem" swap
kept_for integrity "and a dm-integrity device" ext
kept_for jfs "and a JFS filesystem" swap
kept_for udf "and a UDF filesystem" ext swap
kept_for reiserfs "and a ReiserFS filesystem" swap
kept_for reiser4 "and a Reiser4 filesystem" swap
kept_for refs "and a ReFS filesystem" ext swap
kept_for bitlocker "and a BitLocker volume" ext
kept_for apfs "and an APFS container" swap fat
kept_for hfs+ "and an HFS+ filesystem" fat
kept_for hfsx "and an HFSX filesystem" fat
kept_for nilfs2 "and a NILFS2 filesystem" swap
kept_for gfs2 "and a GFS2 filesystem" ext swap
kept_for ocfs2 "and an OCFS2 filesystem" ext
kept_for vmfs "and a VMFS volume" ext
kept_for hammer2 "and a HAMMER2 filesystem" swap
kept_for bluestore "and a Ceph BlueStore device" ext
kept_for asm "and an Oracle ASM disk" ext
kept_for stratis "and a Stratis pool's device" ext
kept_for geom "and a member of a GEOM stripe" ext swap
kept_for geom-4096 "and a GELI volume" swap
for kind in md1.0-mirror md0.90-mirror geom-mirror; do
	cp --sparse=always "$T/was/ext" "$T/fs"; leftover $kind "$T/fs"
	check "$kind: begins with the filesystem" [ "$(said_of skipped_sectors "$T/fs")" -gt 30000 ]
done

# Swap of a partition that was smaller: what is behind its last page is not its own.
cp --sparse=always "$T/was/swap" "$T/fs"; truncate -s 40M "$T/fs"
check "swap, then a larger partition" [ "$(said_of skipped_sectors,warning "$T/fs")" = "$((24 * 2048 - 64)) " ]
row swap "in a larger partition" "only its own pages are skipped"
truncate -s 20M "$T/fs"; kept_whole "swap, cut short" "$T/fs" "more than the partition"
cp --sparse=always "$T/was/swap" "$T/fs"; printf '\2' | dd of="$T/fs" bs=1 seek=1024 conv=notrunc status=none
kept_whole "swap of another version" "$T/fs" "unknown version 2"
python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(1024); b = f.read(8); f.seek(1024); f.write(b"\0\0\0\1" + b[7:3:-1])' "$T/fs"
check "swap in the other byte order" [ "$(said_of skipped_sectors "$T/fs")" = $((24 * 2048 - 64)) ]

# Swap that became a slice with a disklabel whose partitions do not begin with it.
python3 "$TOP/tests/helpers/bsdlabel_make.py" "$T/fs" 49152 0 freebsd a:7:16:40000 c:0:0:49152
dd if="$T/was/swap" of="$T/fs" bs=1 skip=4086 seek=4086 count=10 conv=notrunc status=none
kept_whole "swap, then a disklabel" "$T/fs" "and BSD disklabel"
row bsdlabel "on what was swap" "$said"

# The same below a partition table, and of a table that is itself left over.
{ head -c 1M /dev/zero; cp --sparse=always "$T/was/swap" "$T/fs"; leftover md1.2 "$T/fs"; cat "$T/fs"; } > "$T/disk"
echo '2048,,82' | sfdisk -q "$T/disk" > /dev/null 2>&1
kept_whole "swap, then md1.2, in a partition" "$T/disk" "a member of a Linux RAID"
# A partition that was given to a virtual machine as its disk.
given_away() {	# FS LABEL
	cp --sparse=always "$T/was/$1" "$T/fs"; printf 'label: %s\n2048,\n' "$2" | sfdisk -q --wipe never "$T/fs" > /dev/null 2>&1
	rm -f "$T/disk"; truncate -s 1M "$T/disk"; cat "$T/fs" >> "$T/disk"; echo '2048,,83' | sfdisk -q --wipe never "$T/disk" > /dev/null 2>&1
}
for how in "ext dos" "swap dos" "btrfs gpt"; do
	given_away $how
	kept_whole "$how, in a partition" "$T/disk" "and a partition table"
	row "table" "in a partition, on what was ${how% *}" "$said"
done
given_away ext dos
dd if=/dev/zero of="$T/disk" bs=1 seek=$((1048576 + 446)) count=64 conv=notrunc status=none
check "a boot sector without entries is no table" [ "$(said_of skipped_sectors "$T/disk")" -gt 30000 ]
{ head -c 1M /dev/zero; cat "$T/was/swap"; } > "$T/disk"
echo '2048,,82' | sfdisk -q "$T/disk" > /dev/null 2>&1
check "a disk with swap" [ "$(said_of skipped_sectors "$T/disk")" -gt 30000 ]
for kind in md1.2 zfs; do
	cp "$T/disk" "$T/disk2"; leftover $kind "$T/disk2"
	status 1 "$BIN/imagezip" -q "$T/disk2" "$T/x.ndz"
	check "$kind: says both" grep -q "has a partition table and is a member of" "$T/stderr"
	check "$kind: --disk believes the table" "$BIN/imagezip" -q --disk "$T/disk2" "$T/x.ndz"
done
finish
