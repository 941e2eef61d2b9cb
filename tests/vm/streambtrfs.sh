#!/usr/bin/env bash
# A machine with UEFI firmware whose root filesystem is a subvolume of a btrfs works while its disk arrives, and starts from it
# afterwards.  It has the kernel of Debian 13, whose modules are compressed by zstd, and the memory root that of this release.
vm_prepare() {
	[ -e "$KERNEL" ] || "$TOP/scripts/deps" unpack-kernel "$KERNEL" trixie || skip "the kernel of Debian 13 cannot be fetched"
}
KERNEL=$(realpath "$(dirname "$0")/../../build")/kernel-trixie
. "$(dirname "$0")/stream_lib.sh"
needs_uefi; needs_mount btrfs
requires mkfs.btrfs btrfs
FS=btrfs SUBVOLUME=system
export PACKED=yes
uefi_disk 32
streams btrfs "frisbee.stream=$SLOWLY"
logged_in btrfs /dev/mapper/frisbee2
vm_types btrfs 'grep " / " /proc/mounts; echo $(uname -r; ls /lib/modules/*/kernel/fs/btrfs)'
vm_sees btrfs 60 '/dev/mapper/frisbee2 / btrfs.*subvol=/system'
version=$(basename "$KERNEL"/lib/modules/*)
vm_sees btrfs 60 "^${version//+/.} btrfs.ko.zst"
becomes_whole btrfs
mounted_tree_of "$T/a" "$T/tree" btrfs check --readonly
for d in boot etc lib; do check "/$d is as it was" diff -r --no-dereference "$T/files/$d" "$T/tree/$d"; done
starts_from_disk
finish
