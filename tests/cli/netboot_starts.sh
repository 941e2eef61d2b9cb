#!/usr/bin/env bash
# A loaded disk starts by itself (netboot/node/starts): the loader at the fallback path, all of it or nothing, and the order of
# the firmware's entries, as efibootmgr prints them.  vm/starts has a real FAT, firmware and efibootmgr.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root, for a filesystem that is full"
requires busybox
export SYS=$T/sys PROC=$T/proc RUN=$T/run LIB=$TOP/netboot/node
mkdir -p "$SYS/class" "$PROC" "$RUN" "$T/at"
init() { busybox sh -c '. "$1"; say() { echo "$*"; }; disk=sda; eval "$2"' sh "$TOP/netboot/init" "$1"; }
unmount() { umount "$T/at" 2> /dev/null; }
CLEANUP+=(unmount)
esp() {	# KIB FOLDER: a filesystem of this size with EFI/FOLDER, in which there is a whole set of 100 KiB each
	unmount
	mount -t tmpfs -o "size=$1k" none "$T/at" || skip "no tmpfs here"
	vendor "$2"
}
vendor() {
	local f
	mkdir -p "$T/at/EFI/$1"
	for f in shimx64.efi grubx64.efi mmx64.efi fbx64.efi; do { echo "$1 $f"; head -c 100000 /dev/zero; } > "$T/at/EFI/$1/$f"; done
	echo "$1 cfg" > "$T/at/EFI/$1/grub.cfg"
}
says() {	# WHAT WANTED
	local got
	got=$(init "give_fallback $T/at")
	check "$1" [ "$got" = "$2" ] || echo "got: $got"
}
has() { [ "$(ls "$T/at/EFI/BOOT" 2> /dev/null | tr '\n' ' ')" = "$1" ]; }
first_line() { [ "$(head -n 1 "$T/at/EFI/BOOT/$1" | tr -d '\0')" = "$2" ]; }

echo "== the loader at the fallback path"
esp 4000 debian
says "a whole set" "the loader of EFI/debian is at EFI/BOOT, too, where UEFI finds it by itself"
check "shim under its name there, and what it needs" has "BOOTX64.EFI grub.cfg grubx64.efi mmx64.efi "
check "shim" first_line BOOTX64.EFI "debian shimx64.efi"
echo mine > "$T/at/EFI/BOOT/BOOTX64.EFI"
says "nothing more is said" ""
check "an existing one is never replaced" first_line BOOTX64.EFI mine
esp 4000 debian; rm "$T"/at/EFI/debian/{shimx64,mmx64}.efi
says "GRUB without shim" "the loader of EFI/debian is at EFI/BOOT, too, where UEFI finds it by itself"
check "is the loader" first_line BOOTX64.EFI "debian grubx64.efi"
esp 4000 debian; vendor ubuntu
says "two systems" "sda has no EFI/BOOT/BOOTX64.EFI, and several systems (debian ubuntu): none is chosen for it"
esp 4000 Microsoft
says "Windows brings its own" "sda has no loader that UEFI finds by itself"
esp 4000 debian; mkdir "$T/at/EFI/BOOT"; echo other > "$T/at/EFI/BOOT/grubx64.efi"
says "a folder with another GRUB" "the loader of EFI/debian is not put at EFI/BOOT: EFI/BOOT has another grubx64.efi"
check "stays as it is" has "grubx64.efi "
esp 560 debian
says "no room" "the loader of EFI/debian is not put at EFI/BOOT: the EFI system partition is full, or cannot be written"
check "nothing is left" [ ! -e "$T/at/EFI/BOOT" ]

echo "== the order of the entries"
cat > "$RUN/entries" << 'E'
BootCurrent: 0005
Timeout: 0 seconds
BootOrder: 0004,0005,0001,0000,0009
Boot0000* UiApp	FvVol(7cb8bdc9-f8eb-4f34-aaea-3ee4af6516a1)/FvFile(462caa21-7614-4503-836e-8ab6f4662331)
Boot0001* UEFI HTTPv4	PciRoot(0x0)/Pci(0x3,0x0)/MAC(525400000001,1)/IPv4(0.0.0.00.0.0.0,0,0)/Uri()N.....YM....R,Y.
Boot0004* other	HD(1,GPT,11111111-f8eb-4f34-aaea-3ee4af6516a1,0x800,0xc000)/File(\EFI\other\shimx64.efi)
Boot0005* UEFI PXEv4	PciRoot(0x0)/Pci(0x3,0x0)/MAC(525400000001,1)/IPv4(0.0.0.00.0.0.0,0,0)N.....YM....R,Y.
Boot000A* other	HD(1,MBR,0x12abcd,0x800,0xc000)/File(\EFI\debian\grubx64.efi)
Boot0009  debian	HD(1,GPT,22222222-f8eb-4f34-aaea-3ee4af6516a1,0x800,0xc000)/\EFI\debian\shimx64.efi
E
order() { [ "$(init "order_with $1")" = "$2" ]; }
check "behind the last network" order 0007 0004,0005,0001,0007,0000,0009
check "one that is there already" order 0009 0004,0005,0001,0009,0000
of() { [ "$(init "entry_numbers \"\$(named $1).*\\\\\\\\EFI\"" | tr '\n' ' ')" = "$2" ]; }
check "entries of a partition" of 22222222-f8eb-4f34-aaea-3ee4af6516a1 "0009 "
check "of none" of 33333333-f8eb-4f34-aaea-3ee4af6516a1 ""
check "of an MBR" of 0012abcd-01 "000A "
check "and of another one of it" of 0012abcd-02 ""
sed -i '/PXEv4\|HTTPv4/d; s/0005,0001,//' "$RUN/entries"
check "without a network it is the first" order 0007 0007,0004,0000,0009
finish
