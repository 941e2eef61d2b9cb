#!/usr/bin/env bash
# Root filesystems that the kernel mounts for streamdisk bootimage: what netboot/node/roots finds on a disk,
# and the kernel and modules that are taken out of it.
. "$(dirname "$0")/lib.sh"
. "$TOP/tests/cli/boot_lib.sh"
[ -n "${MOUNTS_ARE_OWN:-}" ] || skip "needs root"
requires mkfs.xfs xfs_io mkfs.btrfs btrfs mke2fs mkswap blkid lvm losetup cpio sfdisk
for f in xfs btrfs; do
	modprobe -q $f 2> /dev/null
	grep -q -w $f /proc/filesystems || skip "the kernel here does not mount $f"
done
sh=sh; command -v busybox > /dev/null && sh="busybox sh"
export SYS=$T/sys PROC=$T/proc RUN=$T/run LIB=$TOP/netboot/node
mkdir -p "$SYS/class/block" "$PROC" "$RUN" "$T/system" "$T/mnt" "$T/lvm"
export LVM_SYSTEM_DIR=$T/lvm LVM_SUPPRESS_FD_WARNINGS=1
cat > "$T/lvm/lvm.conf" << CONF
devices { use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none" }
global { activation=0 locking_dir="$T/lvm/lock" }
CONF
LOOPS=()
CLEANUP+=('umount -q "$T/system/boot" "$T/system/usr" "$T/system" "$T/mnt"; for l in "${LOOPS[@]}"; do losetup -d "$l"; done')

# partition MIB MKFS...: sets $part to the name of a device, which counts as the next partition
partition() {
	local n=$((${#LOOPS[@]} + 1)) size=$1; shift
	truncate -s "${size}M" "$T/part$n"
	"$@" "$T/part$n" > "$T/mkfs" 2>&1 || fail "$*: $(cat "$T/mkfs")"
	LOOPS+=("$(losetup --show -f "$T/part$n")")
	part=$(basename "${LOOPS[-1]}")
	mkdir -p "$SYS/class/block/$part"; echo "$n" > "$SYS/class/block/$part/partition"
}
fill() { mount "/dev/$1" "$T/mnt" && cp -a "$2/." "$T/mnt" && umount "$T/mnt" || fail "filling $1"; }	# DEVICE FOLDER
# As the memory root does: roots PARTS CODE
roots() { $sh -c '. "$1"; say() { :; }; fail() { echo "fail $*"; exit 1; }; parts=$2; eval "$3"' sh "$TOP/netboot/init" "$@"; }
found() { roots "$1" 'find_system "'"$T/system"'" && echo "$root_words" || echo "none: $why"'; }	# PARTS
left() { roots "" "leave_system '$T/system'" 2> /dev/null; }
says() { check "$1" [ "$3" = "$2" ] || echo "got: $3"; }	# WHAT WANTED GOT

version 6.1.0-10-amd64
own=$T/root/lib/modules/6.1.0-10-amd64
for m in xfs/xfs btrfs/btrfs; do module 6.1.0-10-amd64 kernel/fs/$m.ko; echo "kernel/fs/$m.ko:" >> "$own/modules.dep"; done
: > "$T/root/etc/passwd"
mkdir -p "$T/root/boot/grub"; echo "linux /boot/vmlinuz-6.1.0-10-amd64 root=UUID=1 ro quiet" > "$T/root/boot/grub/grub.cfg"

echo "== btrfs"
echo "UUID=1 / btrfs defaults,subvol=/@root 0 0" > "$T/root/etc/fstab"
partition 128 mkfs.btrfs -q; B=$part
mount "/dev/$B" "$T/mnt" && for s in a @root z; do quietly btrfs subvolume create "$T/mnt/$s" && cp -a "$T/root/." "$T/mnt/$s" || fail "subvolume"; done
echo "of the snapshot" > "$T/mnt/a/boot/vmlinuz-6.1.0-10-amd64"; umount "$T/mnt"
says "the subvolume that its own fstab names" "frisbee.root=1 rootflags=subvol=@root" "$(found "$B")"
check "its files" boot --drivers=virtio_net "$T/system"
check "the kernel" cmp "$T/out/vmlinuz" "$T/root/boot/vmlinuz-6.1.0-10-amd64"
says "the module that reads its root, and no other one" "btrfs.ko dm-mod.ko nbd.ko net_failover.ko virtio_net.ko " "$(in_ramdisk)"
says "the words of its GRUB, without a partition" "root=UUID=1 ro quiet nohibernate" "$(cat "$T/out/cmdline")"
check "a report without a partition" json <("$SD" --json bootimage "$T/system" "$T/out") kernel=6.1.0-10-amd64 'root_partition!?'
left

echo "== XFS, with a /usr and a /boot of their own"
partition 64 mke2fs -q -F -t ext4 -U 11111111-2222-3333-4444-000000000001; U=$part
partition 64 mke2fs -q -F -t ext4 -U 11111111-2222-3333-4444-000000000002; K=$part
partition 300 mkfs.xfs -q; X=$part
mkdir -p "$T/usr" "$T/boot" "$T/xfs"/{usr,boot}
mv "$T/root/lib" "$T/usr"; mv "$T/root/boot"/* "$T/boot"; cp -a "$T/root/etc" "$T/xfs"; ln -s usr/lib "$T/xfs/lib"
printf '%s\n' "/dev/x / xfs defaults 0 0" "UUID=11111111-2222-3333-4444-000000000001 /usr ext4 defaults 0 0" \
    "UUID=11111111-2222-3333-4444-000000000002 /boot ext4 defaults 0 0" > "$T/xfs/etc/fstab"
fill "$U" "$T/usr"; fill "$K" "$T/boot"; fill "$X" "$T/xfs"
# Its journal was open when the image was made, and the image cannot be written.
mount "/dev/$X" "$T/mnt"; : > "$T/mnt/made"; quietly xfs_io -x -c "shutdown -f" "$T/mnt" || fail "shutdown"; umount "$T/mnt"
CLEANUP=("blockdev --setrw '/dev/$X'" "${CLEANUP[@]}")	# or the device stays so for whoever has it next
blockdev --setro "/dev/$X"
says "the system, not its /usr" "frisbee.root=4" "$(found "$U $K $X")"
check "its files" boot --drivers=virtio_net "$T/system"
check "the kernel of its /boot" cmp "$T/out/vmlinuz" "$T/boot/vmlinuz-6.1.0-10-amd64"
says "what reads its root, and its /usr" "dm-mod.ko ext4.ko jbd2.ko nbd.ko net_failover.ko virtio_net.ko xfs.ko " "$(in_ramdisk)"
left
says "a /usr that is elsewhere" "none: its /usr, UUID=11111111-2222-3333-4444-000000000001, cannot be mounted with its root" "$(found "$K $X")"
left
mount "/dev/$U" "$T/mnt"; sed -i /ext4/d "$T/mnt/lib/modules/6.1.0-10-amd64/modules.dep"; umount "$T/mnt"
found "$U $K $X" > "$T/said"
status 4 "$SD" bootimage "$T/system" "$T/out"
check "a kernel that cannot read its /usr" grep -q "has no module ext4" "$T/stderr"
left
# What is not in a system is not taken from the machine here.
mkdir -p "$T/links/etc"; ln -s "$T/usr/lib" "$T/links/lib"
status 4 "$SD" bootimage "$T/links" "$T/out"
check "a link does not lead out of the system" grep -q "has no modules of a kernel" "$T/stderr"

echo "== LVM"
partition 32 true; P=$part
partition 32 true; Q=$part
pvs() { lvm "$1" --devices "/dev/$P,/dev/$Q" "${@:2}" > "$T/said" 2>&1 < /dev/null || fail "lvm $*: $(cat "$T/said")"; }
pvs vgcreate frisbeetest "/dev/$P" "/dev/$Q"
pvs lvcreate -y -an -Zn -Wn -L 4M -n root frisbeetest "/dev/$P"
groups_of() { roots "$1" 'plain_groups; [ -z "$why" ] || echo "why: $why"'; }	# PARTS
says "a group that is linear" "frisbeetest" "$(groups_of "$P $Q")"
says "one on two disks" "why: the group frisbeetest has physical volumes on other disks" "$(groups_of "$P")"
pvs lvcreate -y -an -Zn -Wn -i 2 -L 8M -n fast frisbeetest
says "one with a volume that is not linear" "why: the volume frisbeetest/fast is not linear" "$(groups_of "$P $Q")"
says "no system is found there, and why" "none: the volume frisbeetest/fast is not linear" "$(found "$P $Q")"

echo "== a volume that grows with its physical volume"
mib_of() { lvm "$1" --devices "/dev/$P,/dev/$Q" --noheadings --nosuffix --units m -o "${@:2}" 2> /dev/null; }
grown() { echo $(mib_of lvs lv_size,vg_free,vg_tags frisbee.grows/root) $(mib_of pvs pv_size "/dev/$Q"); }	# of root, free, tags; the other physical volume
grow_root() { roots "$P $Q" 'grow_volume frisbee.grows/root' > "$T/said" 2>&1 || fail "grow_volume: $(cat "$T/said" "$RUN/lvm-said")"; }
mkdir -p "$PROC/1/root/run/lock/lvm"
partition 33 true; P=$part
partition 33 true; Q=$part
pvs vgcreate frisbee.grows "/dev/$P"
pvs vgcreate frisbeeXgrows "/dev/$Q"
pvs lvcreate -y -an -Zn -Wn -L 8M -n root frisbee.grows
for n in $((${#LOOPS[@]} - 1)) ${#LOOPS[@]}; do truncate -s +16M "$T/part$n"; losetup -c "${LOOPS[n - 1]}"; done
says "before" "8.00 24.00 32.00" "$(grown)"
grow_root
says "it gets what the physical volume gains, and no other group is touched" "24.00 24.00 32.00" "$(grown)"
grow_root
says "once" "24.00 24.00 32.00" "$(grown)"
pvs vgchange --addtag growfs/root/4 frisbee.grows
grow_root
says "where a machine was reset amid it, what is to stay free is known" "32.00 16.00 32.00" "$(grown)"
# What a growth has to keep free is believed no longer than that growth takes.
no_lvextend='lvm() { case $1 in lvextend) echo "  refused" >&2; return 5 ;; esac; command lvm "$@"; }'
pvs vgchange --addtag growfs/root/2 frisbee.grows
says "a growth that fails says why" "none:   refused" "$(roots "$P $Q" "$no_lvextend; "'grow_volume frisbee.grows/root > "$RUN/quiet" || echo "none: $why"')"
grow_root
says "and leaves no tag: what is free later stays so" "32.00 16.00 32.00" "$(grown)"

echo "== a system that has hibernated in a volume of LVM"
mkdir "$T/whole"; cp -a "$T/usr/lib" "$T/root/etc" "$T/boot" "$T/whole"
truncate -s 64M "$T/sda"; printf 'start=2048,size=49152,type=83\nstart=51200,size=65536,type=8e\n' | sfdisk -q "$T/sda" || fail sfdisk
truncate -s 24M "$T/fs"; mke2fs -q -F -t ext4 -d "$T/whole" "$T/fs" && lay "$T/fs" "$T/sda" $((1 << 20)) || fail "a root"
LOOPS+=("$(losetup --show -f -o $((25 << 20)) --sizelimit $((32 << 20)) "$T/sda")"); P=$(basename "${LOOPS[-1]}") Q=$P
pvs vgcreate frisbeesleeps "/dev/$P"
pvs lvcreate -y -an -Zn -Wn -L 4M -n swap frisbeesleeps
truncate -s 4M "$T/swap"; quietly mkswap "$T/swap" && lay "$T/swap" "/dev/$P" $((1 << 20)) || fail "swap space"
boots() { sync "/dev/$P"; "$BIN/imagezip" -q "$T/sda" "$T/sda.ndz" 2> "$T/said" || fail "imagezip: $(cat "$T/said")"; rm -rf "$T/out"; }
boots; check "what is only swap space" boot "$T/sda.ndz"
printf S1SUSPEND | dd of="/dev/$P" bs=1 seek=$(((1 << 20) + 4086)) conv=notrunc status=none
boots; status 5 "$SD" bootimage "$T/sda.ndz" "$T/out"
check "is not started by another system: $(cat "$T/stderr")" grep -q "sda.ndz: a system is suspended in partition 2" "$T/stderr"
dd if=/dev/zero of="/dev/$P" bs=512 seek=8 count=8 conv=notrunc status=none
boots; status 5 "$SD" bootimage "$T/sda.ndz" "$T/out"
check "nor where LVM does not tell: $(cat "$T/stderr")" grep -q "sda.ndz: partition 2 may hold a suspended system: " "$T/stderr"
check "nothing is made" [ ! -e "$T/out" ]

truncate -s 72M "$T/sda"; printf 'start=2048,size=49152,type=83\nstart=51200,size=32768,type=8e\nstart=83968,size=32768,type=8e\n' | sfdisk -q "$T/sda" || fail sfdisk
for at in 25 41; do LOOPS+=("$(losetup --show -f -o $((at << 20)) --sizelimit $((16 << 20)) "$T/sda")"); wipefs -q -a "${LOOPS[-1]}"; done
P=$(basename "${LOOPS[-2]}") Q=$(basename "${LOOPS[-1]}")
pvs vgcreate frisbeespans "/dev/$P" "/dev/$Q"
pvs lvcreate -y -an -Zn -Wn -L 20M -n swap frisbeespans "/dev/$P" "/dev/$Q"
lay "$T/swap" "/dev/$P" $((1 << 20)) || fail "swap space"; sync "/dev/$Q"
boots; check "swap space on two physical volumes" boot "$T/sda.ndz"
printf S1SUSPEND | dd of="/dev/$P" bs=1 seek=$(((1 << 20) + 4086)) conv=notrunc status=none
boots; status 5 "$SD" bootimage "$T/sda.ndz" "$T/out"
check "a system that is suspended on two: $(cat "$T/stderr")" grep -q "sda.ndz: a system is suspended in partition 2" "$T/stderr"

echo "== what other devices have, too"
name() { echo "partition ${1##*[!0-9]}"; }	# DEVICE
partition 128 true; A=$part
partition 128 true; C=$part
mkfs.btrfs -q -d single -m raid1 "/dev/$A" "/dev/$C" > "$T/mkfs" 2>&1 || fail "mkfs.btrfs: $(cat "$T/mkfs")"
fill "$A" "$T/xfs"	# the kernel here knows both
says "a btrfs on two devices" "none: the btrfs of $(name "$A") is on 2 devices" "$(found "$A")"
partition 16 mke2fs -q -F -t ext4 -d "$T/xfs"; R=$part
endings make "/dev/$R" md1 0 $((16 << 20))
says "a member of a mirror" "none: $(name "$R") is a member of a RAID" "$(found "$R")"
partition 16 true; L=$part
printf 'LUKS\272\276\0\1' > "/dev/$L"
says "what is encrypted" "none: $(name "$L") is encrypted with LUKS" "$(found "$L")"
says "and a system beside them" "frisbee.root=4" "$(found "$A $R $L $U $K $X")"
left
finish
