#!/usr/bin/env bash
# A loaded disk starts by itself (netboot/node/starts): the loader at the fallback path, all of it or nothing, and the order of
# the firmware's entries, as efibootmgr prints them; and the active partition of an MBR.  vm/starts has a real FAT, firmware
# and efibootmgr.
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

echo "== an entry, by a firmware that refuses: the load goes on"
export NVRAM=$T/nvram DEV=$T/dev
mkdir -p "$SYS/class/block/sda1" "$SYS/firmware/efi" "$DEV"; echo 1 > "$SYS/class/block/sda1/partition"
echo "efivarfs $SYS/firmware/efi/efivars efivarfs rw 0 0" > "$PROC/mounts"
printf 'BootOrder: 0005\nBoot0005* net\tPciRoot(0x0)/MAC(525400000001,1)/IPv4(0.0.0.0)\n' > "$NVRAM"
esp 4000 debian
firmware() {	# WHAT WANTED [REFUSED]: efibootmgr refuses an option
	local got
	got=$(REFUSED=${3:-none} init 'partitions() { echo sda1; }; tag_of() { echo 22222222-f8eb-4f34-aaea-3ee4af6516a1; }
		efibootmgr() {
			case " $* " in *" $REFUSED "*) echo "refused" >&2; return 5 ;; esac
			case $* in
			-v) cat "$NVRAM" ;;
			"-q -C -d $DEV/sda -p 1 -L debian -l "*) printf "Boot0000* debian\tHD(1,GPT,22222222-f8eb-4f34-aaea-3ee4af6516a1,0x800,0xc000)/%s\n" "${10}" >> "$NVRAM" ;;
			"-q -o "*) sed -i "s/^BootOrder: .*/BootOrder: $3/" "$NVRAM" ;;
			*) echo "efibootmgr $*" ;;
			esac
		}
		note_partitions; give_entry sda1 '"$T/at; echo goes on")
	check "$1" [ "$got" = "$2
goes on" ] || echo "got: $got"
}
entries() { [ "$(sed -n 's/^BootOrder: //p' "$NVRAM") $(grep -c debian "$NVRAM")" = "$1" ]; }
refused="the firmware takes no entry for sda, or not in its order; the disk is started by its place there"
firmware "one that cannot be read" "the firmware's list of what starts cannot be read or changed" -v
firmware "one that is full" "$refused" -C
check "has none" entries "0005 0"
firmware "one that changes no order" "$refused" -o
check "has an entry that it does not start" entries "0005 1"
firmware "at the next load, too" "$refused" -o
firmware "it starts at the first load that may say so" "the firmware has the entry 0000 for EFI/debian of sda"
check "it is the same entry" entries "0005,0000 1"
got=$(cat "$NVRAM")
vendor ubuntu
firmware "of two systems" "sda has several systems (debian ubuntu): none is chosen for an entry of the firmware"
check "nothing is changed" [ "$(cat "$NVRAM")" = "$got" ]

echo "== the active partition of an MBR"
table() {	# TYPE LINE...: a disk with a loader and these partitions
	rm -f "$DEV/sda"; truncate -s 40M "$DEV/sda"
	{ echo "label: $1"; shift; printf '%s\n' "$@"; } | quietly sfdisk "$DEV/sda" || fail sfdisk
	printf %0440d 7 | dd of="$DEV/sda" conv=notrunc status=none
}
active() {	# WHAT BYTE...: those that differ then, as cmp -l has it
	local what=$1; shift
	cp "$DEV/sda" "$T/before"
	got=$(init 'say() { :; }; partitions() { sfdisk -d "$DEV/sda" | sed -n "s|^$DEV/\(sda[0-9]*\) .*|\1|p"; }
		tag_of() {
			case $2 in
			PART_ENTRY_NUMBER) echo "${1#sda}" ;;
			PART_ENTRY_FLAGS) ! sfdisk -d "$DEV/sda" | grep "^$DEV/$1 " | grep -q bootable || echo 0x80 ;;
			esac
		}; activate'; cmp -l "$T/before" "$DEV/sda" | sed 's|^ *||; s|  *| |g')
	check "$what" [ "$got" = "${*:-}" ] || echo "got: $got"
}
one=start=2048,size=8192,type=83 two=start=10240,size=8192,type=7
table dos "$one" "$two"; active "none is: the first, and nothing else is written" "447 0 200"
active "and no other one after the next load"
table dos "$one" "$two,bootable"; active "another one is"
table dos "$one,bootable" "$two,bootable"; active "two are"
table dos "2: $two"; active "the first is the second of the table" "463 0 200"
table dos "$one"; dd if=/dev/zero of="$DEV/sda" bs=440 count=1 conv=notrunc status=none; active "a disk without a loader starts nothing"
table gpt start=2048,size=8192; active "a GPT's protective MBR"
finish
