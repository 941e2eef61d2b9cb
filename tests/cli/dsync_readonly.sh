#!/usr/bin/env bash
# A device that is called read-only is consistent only if nothing writes what it shows.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
requires losetup mkfs.ext4 blockdev
# losetup of anybody who looks for a free device opens each of them for a moment, for
# writing.
x() {
	SOON=60 soon "$BIN/dmextract" -q --since=scan:"$T/state" \
	    --require-consistent "$1" > /dev/null 2> "$T/stderr" ||
		{ tail -n 1 "$T/stderr"; return 1; }
}
refused() { "$BIN/dmextract" --require-consistent --since=scan:"$T/state" "$1" > /dev/null 2> "$T/stderr"; [ $? = 1 ] && grep -q "$2" "$T/stderr"; }

truncate -s 8M "$T/f"
dev=$(losetup -r -f --show "$T/f" 2> /dev/null) || skip "there are no loop devices here"
CLEANUP+=("losetup -d '$dev' 2> /dev/null")
check "nobody writes the file behind it" x "$dev"
exec 7>> "$T/f"
check "a process has the file open for writing" refused "$dev" "open for writing"
exec 7>&-
losetup -d "$dev"

# A filesystem goes on writing to a device that becomes read-only.
mkfs.ext4 -q -O ^has_journal "$T/f"
dev=$(losetup -f --show "$T/f") || fail "losetup"
# The device stays read-only when another file is behind it.
CLEANUP+=("umount '$T/mnt' 2> /dev/null; blockdev --setrw '$dev'; losetup -d '$dev' 2> /dev/null")
blockdev --setrw "$dev"
mkdir "$T/mnt"
if mount "$dev" "$T/mnt"; then
	blockdev --setro "$dev"
	check "it is mounted" refused "$dev" "mounted"
	umount "$T/mnt"
	check "it is not" x "$dev"
	mount -o ro "$dev" "$T/mnt" && check "it is mounted read-only" x "$dev"
else
	echo "filesystems cannot be mounted here"
fi
finish
