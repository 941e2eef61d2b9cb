#!/usr/bin/env bash
# The kernel caches a disk apart from its partitions.  What was written to a partition is in an image of the disk,
# although the kernel has cached what the disk had there before.
. "$(dirname "$0")/lib.sh"
requires sfdisk losetup partx
[ "$(id -u)" = 0 ] || skip "needs root"
truncate -s 16M "$T/disk"
printf 'start=2048,size=8192,type=83\nstart=10240,size=16384,type=83\n' | sfdisk -q "$T/disk" || fail sfdisk
loop=$(losetup --show -f "$T/disk") || skip "no loop devices here"
CLEANUP+=('partx -d "$loop" 2> /dev/null; losetup -d "$loop" 2> /dev/null')
partx -a "$loop" 2> /dev/null
for n in 1 2; do	# the kernel's number is enough: not every machine makes the names
	number=$(cat "/sys/block/${loop##*/}/${loop##*/}p$n/dev" 2> /dev/null) || skip "no partitions of loop devices here"
	mknod "$T/p$n" b "${number%:*}" "${number#*:}" || fail mknod
done
second() { dd bs=512 skip=10240 count=200 status=none "$@"; }	# the beginning of the second partition

# While a partition is open, the kernel forgets nothing of the disk.
exec {held}< "$T/p1"
cat "$loop" > /dev/null
head -c 102400 /dev/urandom > "$T/new"
dd if="$T/new" of="$T/p2" bs=512 conv=notrunc,fsync status=none
second if="$loop" | cmp -s - "$T/new" && echo "(this kernel has not cached the disk)"
check "captured" quietly "$BIN/imagezip" -q -R 1 -R 2 "$loop" "$T/disk.ndz"
check "installed" quietly "$BIN/imageunzip" -q "$T/disk.ndz" "$T/out"
check "the image has what was written to the partition" cmp <(second if="$T/out") "$T/new"

# imagehash sees it, too.
cat "$loop" > /dev/null
head -c 102400 /dev/urandom > "$T/newer"
dd if="$T/newer" of="$T/p2" bs=512 conv=notrunc,fsync status=none
"$BIN/imagehash" -q "$T/disk.ndz" "$loop"
check "imagehash says that the disk differs" [ $? = 4 ]
exec {held}<&-
finish
