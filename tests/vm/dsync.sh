#!/usr/bin/env bash
# dmextract and dmmerge in a machine whose kernel has dm-era and dm-thin: dsync_guest says what is done there.
. "$(dirname "$0")/lib.sh"
requires dmsetup era_invalidate thin_delta lvm e2fsck
vm_accel
vm_ramdisk "$TOP/tests/vm/dsync_guest" "$BIN"/{dmextract,dmmerge,dsync} dmsetup lvm e2fsck era_invalidate thin_delta <<- 'I'
	drivers/md/dm-era.ko
	drivers/md/dm-thin-pool.ko
	drivers/md/dm-snapshot.ko
	drivers/block/virtio_blk.ko
	drivers/virtio
	fs/ext4
	crypto/crc32c_generic.ko
I
truncate -s 64M "$T/a"; mke2fs -q -F -t ext4 -d "$NETBOOT/kernel/boot" "$T/a" || fail "mke2fs"
truncate -s 16M "$T/b" "$T/e"; truncate -s 64M "$T/c"; truncate -s 256M "$T/d"
for d in a b c d e; do vm_drive "$T/$d"; done
# The kernel gives words that it does not know to init, as variables.
vm_guest dsync "ROUNDS=${ROUNDS:-10} MOMENTS=${MOMENTS:-3}" -m 1024
vm_guest_is_good dsync "${VM_SECONDS:-800}" DSYNC
finish
