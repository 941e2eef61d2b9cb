#!/usr/bin/env bash
# streamswitch in a machine of its own: a disk is held, and a mounted filesystem with a full
# journal goes back and forth between the disk and the same disk over NBD while fio writes and
# checks.  streamswitch_guest says what is done there.
. "$(dirname "$0")/lib.sh"
requires nbd-client nbdkit fio
vm_accel
PORT=10809
vm_ramdisk "$TOP/tests/vm/streamswitch_guest" "$BIN/streamswitch" nbd-client blkid <<- 'I'
	drivers/md/dm-mod.ko
	drivers/block/nbd.ko
	drivers/block/virtio_blk.ko
	drivers/net/virtio_net.ko
	drivers/virtio
	fs/ext4
	crypto/crc32c_generic.ko
I
vm_fio "$T/fio"
# The smallest journal that there is, so that it is always full.
truncate -s 128M "$T/disk"
printf 'label: gpt\nstart=2048, size=112M\nsize=8M\n' | sfdisk -q "$T/disk"
mke2fs -q -F -t ext4 -b 1024 -J size=1 -U 11111111-2222-3333-4444-555555555555 -E offset=$((2048 * 512)) "$T/disk" 112m || fail "mke2fs"
ip link set lo up
# The machine's disk and what nbdkit serves are one file, and both use its pages in this machine's memory.
nbdkit --foreground --port $PORT --ipaddr 127.0.0.1 file "$T/disk" > "$LOGS/nbdkit.log" 2>&1 &
PIDS+=($!)
for d in disk fio; do vm_drive "$T/$d"; done
vm_guest streamswitch "hung_task_panic=1 ROUNDS=${ROUNDS:-20}" -m 768 -netdev user,id=n -device virtio-net-pci,netdev=n,romfile=
vm_guest_is_good streamswitch 600 SWITCH
check "the filesystem is in order" quietly e2fsck -fn "$T/disk?offset=$((2048 * 512))"
finish
