#!/usr/bin/env bash
# Nobody else sees a disk while it is being streamed: no partition of it, no filesystem by its UUID, and it cannot be mounted.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs losetup addpart blkid strace
[ "$(id -u)" = 0 ] && [ -n "$(losetup -f 2> /dev/null)" ] || skip "needs root and loop devices"
a_disk sda
U=$TOP/tests/helpers/nbd_stream.py ID=5eed5eed-1111-4222-8333-$(printf %012x $OWN_NUMBER)
tune2fs -U "$ID" "$T/sda.fs" > /dev/null 2>&1 || skip "no tune2fs"
dd if="$T/sda.fs" of="$T/sda" bs=1M seek=5 conv=notrunc status=none
"$BIN/imagezip" -q "$T/sda" "$T/sda.ndz" && "$BIN/imageunzip" -q "$T/sda.ndz" "$T/sda.out" || fail "imagezip"
new_target memory
# The disk has the same filesystem from an earlier installation, and the kernel knows its partition.
cp "$T/sda.out" "$T/disk"; truncate -s $DISK_BYTES "$T/disk"; cp "$T/disk" "$T/model"
loop=$(losetup -f --show "$T/disk") || skip "no loop device"
CLEANUP+=("losetup -d $loop 2> /dev/null")
addpart "$loop" 2 10240 32768 2> /dev/null && [ -e "${loop}p2" ] || skip "no partitions on loop devices here"
found() { blkid -c /dev/null -t UUID="$ID" -o device 2> /dev/null | grep -q "^$loop"; }
check "before: the filesystem is found by its UUID" found
mkdir "$T/mnt"
mount "${loop}p2" "$T/mnt"; DISK_AT=$loop begin_to_serve memory fill=no && fail "a disk in use was taken"
check "in use: $(tail -n 1 "$T/nbd.log")" grep -q "in use\|mounted" "$T/nbd.log"
umount "$T/mnt"; [ -e "${loop}p2" ] || addpart "$loop" 2 10240 32768
DISK_AT=$loop serve memory fill=no status="$T/status"
python3 "$U" write "$T/sock" 1500000 "something that is present"
printf "something that is present" | dd of="$T/model" bs=1 seek=1500000 conv=notrunc status=none
check "its partition is gone" [ ! -e "${loop}p2" ]
if found; then fail "the filesystem is found by its UUID"; else echo "ok: nothing is found by its UUID"; fi
for what in "UUID=$ID" "$loop"; do
	if mount -t ext4 "$what" "$T/mnt" 2> "$T/stderr"; then umount "$T/mnt"; fail "$what was mounted"; else echo "ok: mount $what: $(tail -n 1 "$T/stderr")"; fi
done
if mount -o loop,offset=$((5 << 20)) "$loop" "$T/mnt" 2> /dev/null; then umount "$T/mnt"; echo "note: a loop device over it is no bar"; fi
check "all is read" python3 "$U" same "$T/sock" "$T/model"
stop
check "the disk is whole" cmp "$T/disk" "$T/model"
[ -e "${loop}p2" ] || addpart "$loop" 2 10240 32768
check "after the end: the filesystem is found by its UUID" found
check "and is mounted" mount -t ext4 "UUID=$ID" "$T/mnt"
check "with its files" diff -r "$T/files" "$T/mnt" -x lost+found
umount "$T/mnt"
delpart "$loop" 2 2> /dev/null; losetup -d "$loop"
# A disk that is refused has its partitions afterwards, as before.  Not every kernel knows partition tables, but each can
# be seen to be told to read this one.
truncate -s 8192 "$T/small"
loop=$(losetup -P -f --show "$T/disk") && CLEANUP+=("losetup -d $loop 2> /dev/null")
small=$(losetup -f --show "$T/small") && CLEANUP+=("losetup -d $small 2> /dev/null")
# What the kernel knows is in /sys at once, and a node in /dev a moment later.
if [ -e "/sys/class/block/${loop##*/}p2" ]; then known=1; else known=0; addpart "$loop" 2 10240 32768; fi
strace -f -qq -o "$T/trace" -e trace=ioctl nbdkit -f -U - "$PLUGIN" "$T/sda.ndz" disk="$loop" table="$small" anew=yes --run true 2> "$T/nbd.log" &&
	fail "a device that is too small took the table"
check "refused: $(tail -n 1 "$T/nbd.log")" grep -q "has no room for the sector table" "$T/nbd.log"
check "its partitions were taken away" grep -q "BLKPG_DEL_PARTITION" "$T/trace"
check "and the kernel read its partition table afterwards" eval 'grep "BLKPG_DEL\|BLKRRPART" "$T/trace" | tail -n 1 | grep -q "BLKRRPART) *= 0"'
[ $known = 0 ] || check "its partitions are there" soon [ -e "${loop}p2" ]
losetup -d "$loop"; losetup -d "$small"
finish
