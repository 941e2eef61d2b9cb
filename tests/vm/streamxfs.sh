#!/usr/bin/env bash
# A machine with BIOS firmware whose disk has an MBR works while its disk arrives: / is an XFS, and it has a /boot, a /usr and a
# /var of their own, of which two are in logical partitions.  It starts from its disk afterwards, by a ramdisk of dracut.
vm_prepare() { "$TOP/tests/vm/make-debian" || skip "a Debian, for dracut, cannot be made here"; }
. "$(dirname "$0")/stream_lib.sh"
needs_mount xfs
requires mkfs.xfs xfs_repair
export SEPARATE=yes DRACUT; DRACUT=$("$TOP/tests/vm/make-debian" name)
FS=xfs
made_disk 32
first_mb() { echo $(($(sfdisk -J "$T/disk" | json - "partitiontable.partitions[$1].start") / 2048)); }	# INDEX of the partition
streams xfs "frisbee.stream=$SLOWLY"
logged_in xfs /dev/mapper/frisbee2
vm_types xfs 'grep -E " (/|/boot|/usr|/var) " /proc/mounts | sort -k 2 | tr "\n" " "; echo written while it streams > /var/made-here; sync'
vm_sees xfs 60 '/dev/mapper/frisbee2 / xfs .* /boot ext4 .*/dev/mapper/frisbee5 /usr ext4 .* /var ext4 '
becomes_whole xfs
OFFSET=$(($(first_mb 1) << 20)); mounted_tree_of "$T/a" "$T/tree" xfs_repair -n
OFFSET=$(($(first_mb 0) << 20)); tree_of "$T/a" "$T/boot"
OFFSET=$(($(first_mb 3) << 20)); tree_of "$T/a" "$T/usr"
OFFSET=$(($(first_mb 4) << 20)); tree_of "$T/a" "$T/var"
for d in etc srv; do check "/$d is as it was" diff -r --no-dereference "$T/files/$d" "$T/tree/$d"; done
check "/boot is as it was" diff -r --no-dereference -x lost+found "$T/files/boot" "$T/boot"
check "/usr/lib is as it was" diff -r --no-dereference "$T/files/usr/lib" "$T/usr/lib"
check "what was written to /var" grep -qx "written while it streams" "$T/var/made-here"
starts_from_disk
finish
