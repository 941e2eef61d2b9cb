#!/usr/bin/env bash
# A clone with new identities (frisbee.newids=yes): a Debian with an EFI system partition, swap space and an ext4 root.  Its
# power goes when some of its filesystems have theirs; the next boot goes on with the list, and the clone starts: its own
# tools have made its initramfs, and it mounts all that fstab names.
. "$(dirname "$0")/fit_lib.sh"
EFI=$NETBOOT/signed/gcdx64.efi
[ -e "$OVMF" ] || skip "needs the package ovmf"
[ -e "$EFI" ] || skip "the signed boot loaders cannot be fetched"
ROOT=448 SWAP=32	# MiB
VERSION=$(basename "$NETBOOT"/kernel/lib/modules/*)

golden() {
	local root=$T/golden.files
	SEARCH[golden]=$ROOT_UUID
	debian_files golden "root=UUID=$ROOT_UUID ro resume=UUID=$SWAP_UUID" <<- I
		UUID=$ROOT_UUID / ext4 errors=remount-ro 0 1
		UUID=$SWAP_UUID none swap sw 0 0
		UUID=$ESP_UUID /boot/efi vfat umask=0077 0 1
	I
	# As Debian calls it; the new one has another sum.
	mv "$root/boot/initrd.img" "$root/boot/initrd.img-$VERSION"; ln -s "initrd.img-$VERSION" "$root/boot/initrd.img"
	sed -i '\,boot/initrd.img,d' "$root/srv/sums"
	truncate -s $((ROOT + SWAP + 26))M "$T/golden"
	sfdisk -q "$T/golden" <<- I || fail sfdisk
		label: gpt
		start=1MiB, size=24MiB, type=U
		start=25MiB, size=${ROOT}MiB
		start=$((ROOT + 25))MiB, size=${SWAP}MiB, type=S
	I
	esp_at "$T/golden" 1 24 golden /boot
	fs_at "$T/golden" 25 $ROOT -U $ROOT_UUID -d "$root"
	swap_at "$T/golden" $((ROOT + 25)) $SWAP $SWAP_UUID
	rm -rf "$root"
	image golden
}
load() {	# NAME RAMDISK
	vm_start "$1" -machine pc,graphics=off -netdev tap,id=n,ifname=tapa,script=no,downscript=no \
	    -device virtio-net-pci,netdev=n,mac=52:54:00:00:00:0a,romfile= -kernel "$NETBOOT/vmlinuz" \
	    -initrd "$2" -drive file="$T/golden.disk",format=raw,if=virtio,cache=unsafe \
	    -append "$KERNEL_WORDS console=ttyS0,115200 quiet frisbee.action=load frisbee.server=10.9.0.1 frisbee.order=7-7 \
frisbee.image=golden frisbee.newids=yes frisbee.after=poweroff frisbee.onfail=poweroff"
}
id_of() { blkid -p -o value -s UUID -O $(($1 << 20)) "$T/golden.disk"; }	# MIB

golden
served
truncate -s $((ROOT + SWAP + 26))M "$T/golden.disk"
# A ramdisk in which the change of the swap space does not end.
mkdir -p "$T/slow/bin"; printf '#!/bin/sh\nsleep 9999\n' > "$T/slow/bin/swaplabel"; chmod 755 "$T/slow/bin/swaplabel"
(cd "$T/slow" && find bin | cpio --quiet -o -H newc -R 0:0 | zstd -q) > "$T/slow.zst"
cat "$NETBOOT/initrd.img" "$T/slow.zst" > "$T/initrd.slow"
echo "== the power goes when the root has a new UUID, at $SECONDS s"
load cut "$T/initrd.slow"
vm_sees cut 500 'frisbee: (vda2 has the identity|FAILED: .*)'
kill -9 "${VM_PID[cut]}"; wait "${VM_PID[cut]}" 2> /dev/null
check "the root has a new UUID, and the swap space the old one" [ "$(id_of 25)" != $ROOT_UUID -a "$(id_of $((ROOT + 25)))" = $SWAP_UUID ]
half=$(id_of 25)
echo "== the next boot goes on, at $SECONDS s"
load on "$NETBOOT/initrd.img"
vm_sees on 300 'frisbee: (vda is loaded; going on with the new identities|FAILED: .*)'
vm_sees on 200 'frisbee: (DONE: vda is loaded|FAILED: .*)'
vm_ends on 60
check "with the list of the first one" [ "$(id_of 25)" = "$half" ]
check "nothing was loaded again" eval '! grep -q -a "frisbee: loading golden" "$LOGS/on.log"'
check "all are new" eval '[ "$(id_of 1)" != $ESP_UUID ] && [ "$(id_of $((ROOT + 25)))" != $SWAP_UUID ]'
check "the root is whole" quietly e2fsck -f -n "$T/golden.disk?offset=$((25 << 20))"
fstab() { debugfs -R 'cat /etc/fstab' "$T/golden.disk?offset=$((25 << 20))" 2> /dev/null; }
check "fstab names them" eval '[ "$(fstab | cut -d " " -f 1 | tr "\n" " ")" = "UUID=$(id_of 25) UUID=$(id_of $((ROOT + 25))) UUID=$(id_of 1) " ]'
echo "== the clone starts, at $SECONDS s"
uefi
started golden -machine q35 "${UEFI[@]}"
echo "all of it took $SECONDS s"
finish
