#!/usr/bin/env bash
# netboot/node/grow lets filesystems grow while a system uses them: each is mounted elsewhere, for writing, on a device that is
# longer, and has all of it afterwards, with its files.
. "$(dirname "$0")/lib.sh"
[ -n "${MOUNTS_ARE_OWN:-}" ] || skip "needs root"
requires mkfs.ext4 mkfs.xfs xfs_growfs mkfs.btrfs btrfs resize2fs blkid losetup
sh=sh; command -v busybox > /dev/null && sh="busybox sh"
export SYS=/sys PROC=$T/proc RUN=$T/run DEV=$T/dev GROW_WAIT_S=1
mkdir -p "$PROC/1" "$RUN" "$DEV/mapper" "$T/used"
CLEANUP+=('umount -q "$RUN/grow" "$T/used"; [ -z "${loop:-}" ] || losetup -d "$loop"')
# grow: what the daemon does for a disk with one partition, whose system is this shell
grow() {
	cp /proc/self/mountinfo "$PROC/1/mountinfo"
	(cd / && $sh -c ". $TOP/netboot/node/grow; awaited_kb() { echo 0; }; grow_mounted frisbee") > "$T/said" 2>&1
}
# The kernel lets an ext4 grow for those alone who have the right to use what is reserved.
grows_ext4() { [ $((0x$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status) >> 24 & 1)) = 1 ]; }
for kind in ext4:100:"mkfs.ext4 -q -F" xfs:320:"mkfs.xfs -q" btrfs:160:"mkfs.btrfs -q"; do
	IFS=: read -r fs mb mkfs <<< "$kind"
	modprobe -q $fs 2> /dev/null
	grep -q -w $fs /proc/filesystems || { echo "the kernel here does not mount $fs"; continue; }
	[ $fs != ext4 ] || grows_ext4 || { echo "no CAP_SYS_RESOURCE here, so no ext4 grows"; continue; }
	rm -f "$T/part" "$DEV/mapper/frisbee1"; truncate -s ${mb}M "$T/part"; $mkfs "$T/part" > "$T/log" 2>&1 || fail "$mkfs: $(cat "$T/log")"
	truncate -s $((2 * mb))M "$T/part"
	loop=$(losetup --show -f "$T/part") && ln -s "$loop" "$DEV/mapper/frisbee1" || fail losetup
	mount -t $fs -o ro "$loop" "$T/used" || { fail "mount"; continue; }
	grow; check "$fs: while it is read alone, it keeps its length: $(cat "$T/said")" grep -q "keeps its length, since the system does not write there" "$T/said"
	mount -o remount,rw "$T/used"; cp -r "$TOP/docs" "$T/used/docs"
	grow; check "$fs: grown: $(cat "$T/said")" grep -q "the $fs of frisbee1 has the room of its partition" "$T/said"
	has=$(df -m --output=size "$T/used" | tail -n 1)
	check "$fs: it has $has MB of $((2 * mb))" [ "$has" -gt $((2 * mb * 7 / 10)) ]
	check "$fs: its files are as they were" diff -r "$TOP/docs" "$T/used/docs"
	grow; check "$fs: a second time, nothing is left to do: $(cat "$T/said")" grep -q "the $fs of frisbee1 has the room of its partition" "$T/said"
	umount "$T/used"; losetup -d "$loop"; loop=
done
finish
