#!/usr/bin/env bash
# A machine with UEFI firmware whose root filesystem is XFS works while its disk arrives, and
# starts from it afterwards.
. "$(dirname "$0")/stream_lib.sh"
needs_uefi; needs_mount xfs
requires mkfs.xfs xfs_repair
FS=xfs
uefi_disk 32
streams xfs "frisbee.stream=$SLOWLY"
logged_in xfs /dev/mapper/frisbee2
vm_types xfs 'grep " / " /proc/mounts'
vm_sees xfs 60 '/dev/mapper/frisbee2 / xfs'
becomes_whole xfs
mounted_tree_of "$T/a" "$T/tree" xfs_repair -n
for d in boot etc lib; do check "/$d is as it was" diff -r --no-dereference "$T/files/$d" "$T/tree/$d"; done
starts_from_disk
finish
