#!/usr/bin/env bash
# streamswitch in a machine of its own: a disk is held, and a mounted filesystem with a full
# journal goes back and forth between the disk and the same disk over NBD while fio writes and
# checks.  streamswitch_guest says what is done there.
. "$(dirname "$0")/lib.sh"
requires nbd-client nbdkit fio
vm_accel
PORT=10809
root=$T/root
mkdir -p "$root"/{bin,sbin,dev,proc,sys,lib} "$T/tools"/{dev,proc,sys,tmp,work}
printf '%s\n' drivers/md/dm-mod.ko drivers/block/nbd.ko drivers/block/virtio_blk.ko drivers/net/virtio_net.ko \
    drivers/virtio fs/ext4 crypto/crc32c_generic.ko > "$T/modules"
"$TOP/netboot/copy-modules" "$NETBOOT/kernel" "$root" < "$T/modules" || fail "modules"
for p in "$BIN/streamswitch" "$(command -v nbd-client)" "$(command -v blkid)" "$(command -v busybox)"; do vm_program "$root" "$p"; done
vm_program "$T/tools" "$(command -v fio)"
install -m 755 "$(dirname "$0")/streamswitch_guest" "$root/init"
(cd "$root" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0) > "$T/initrd" || fail "cpio"
# fio's libraries are larger than a ramdisk should be.
truncate -s 160M "$T/fio"; mke2fs -q -F -t ext4 -O ^has_journal -d "$T/tools" "$T/fio" || fail "mke2fs"
# The smallest journal that there is, so that it is always full.
truncate -s 128M "$T/disk"
printf 'label: gpt\nstart=2048, size=112M\nsize=8M\n' | sfdisk -q "$T/disk"
mke2fs -q -F -t ext4 -b 1024 -J size=1 -U 11111111-2222-3333-4444-555555555555 -E offset=$((2048 * 512)) "$T/disk" 112m || fail "mke2fs"
ip link set lo up
# The machine's disk and what nbdkit serves are one file, and both use its pages in this machine's memory.
nbdkit --foreground --port $PORT --ipaddr 127.0.0.1 file "$T/disk" > "$LOGS/streamswitch-nbdkit.log" 2>&1 &
PIDS+=($!)
vm_start streamswitch -machine pc -cpu max -m 768 -no-reboot -kernel "$NETBOOT/vmlinuz" -initrd "$T/initrd" \
    -append "no_timer_check console=ttyS0 quiet panic=-1 hung_task_panic=1" -netdev user,id=n -device virtio-net-pci,netdev=n,romfile= \
    -drive "file=$T/disk,format=raw,if=virtio,cache=unsafe" -drive "file=$T/fio,format=raw,if=virtio,cache=unsafe"
vm_sees streamswitch 600 'SWITCH: [0-9]* failures'
vm_ends streamswitch 60
sed 's/\r$//' "$LOGS/streamswitch.log" | grep -a -E '^(ok|FAIL|note): '
check "no failure in the machine" grep -q -a '^SWITCH: 0 failures' "$LOGS/streamswitch.log"
check "the filesystem is in order" quietly e2fsck -fn "$T/disk?offset=$((2048 * 512))"
finish
