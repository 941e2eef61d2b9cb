#!/usr/bin/env bash
# FAT and exFAT in partitions of every type, without a partition table, and boot
# sectors that are somebody else's.
. "$(dirname "$0")/lib.sh"
requires mkfs.fat fsck.fat mcopy mkfs.exfat fsck.exfat python3 sfdisk
export MTOOLS_SKIP_CHECK=1 MTOOLSRC=/dev/null
make_files "$T/files" 3 40; rm "$T/files/large" "$T/files/deep/er/still/large"

make_fat() {	# DISK FIRST-SECTOR KIB MKFS-OPTIONS...
	local disk=$1 at=$2 kib=$3; shift 3
	mkfs.fat --offset="$at" "$@" "$disk" "$kib" > "$T/mkfs" 2>&1 || fail "mkfs.fat: $(cat "$T/mkfs")"
	mcopy -s -Q -i "$disk@@$((at * 512))" "$T/files"/* ::
}
make_exfat() {	# DISK FIRST-SECTOR KIB
	rm -f "$T/exfat"; truncate -s "${3}K" "$T/exfat"; mkfs.exfat "$T/exfat" > /dev/null
	python3 "$TOP/tests/helpers/exfat.py" put "$T/exfat" "$T/files"
	dd if="$T/exfat" of="$1" bs=512 seek="$2" conv=notrunc status=none
}
cut_out() { dd if="$1" of="$4" bs=64K iflag=skip_bytes,count_bytes skip=$(($2 * 512)) count=$(($3 * 512)) status=none; }	# DISK FIRST SECTORS OUT

# Every partition of $T/target, which was installed from DISK: is its filesystem
# whole and has it all files?
check_partitions() {	# WHAT DISK
	local n start sectors fs skipped
	"$BIN/imagezip" -q -i --json "$2" | json - "partitions[*].number,first_sector,sectors,filesystem,skipped_sectors" | tr : ' ' > "$T/partitions"
	while read -r n start sectors fs skipped; do
		cut_out "$T/target" "$start" "$sectors" "$T/part"
		check "$1, partition $n ($fs): half of it is skipped" [ "$skipped" -gt $((sectors / 2)) ]
		rm -rf "$T/got"; mkdir "$T/got"
		if [ "$fs" = fat ]; then
			check "$1, partition $n: fsck.fat" quietly fsck.fat -n "$T/part"
			mcopy -s -n -Q -i "$T/part" '::*' "$T/got"
		else
			check "$1, partition $n: fsck.exfat" quietly fsck.exfat -n "$T/part"
			python3 "$TOP/tests/helpers/exfat.py" get "$T/part" "$T/got"
		fi
		check "$1, partition $n: every file" diff -r "$T/files" "$T/got"
	done < "$T/partitions"
}

# All the types that FAT has had in a master boot record.
disk=$T/mbr; truncate -s 150M "$disk"
cat > "$T/table" << 'END'
label: dos
start=2048, size=8192, type=1
start=10240, size=16384, type=4
start=26624, size=20480, type=6
start=47104, size=258048, type=5
start=49152, size=69632, type=b
start=120832, size=69632, type=c
start=192512, size=16384, type=e
start=210944, size=69632, type=ef
start=282624, size=16384, type=7
END
sfdisk -q --no-tell-kernel "$disk" < "$T/table" > "$T/sfdisk" 2>&1 || fail "sfdisk: $(cat "$T/sfdisk")"
make_fat "$disk" 2048 4096 -F 12
make_fat "$disk" 10240 8192 -F 16 -s 2
make_fat "$disk" 26624 10240 -F 16 -s 1
make_fat "$disk" 49152 34816 -F 32
make_fat "$disk" 120832 34816 -F 32 -f 1
make_fat "$disk" 192512 8192 -F 16 -s 2
make_fat "$disk" 210944 34816 -F 32
make_exfat "$disk" 282624 8192
check "MBR: captured" capture_install "MBR" "$disk"
check_partitions "MBR" "$disk"
check "MBR: types 1, 4, 6, b, c, e, ef and 7" [ "$(cut -d' ' -f4 "$T/partitions" | tr '\n' ' ')" = "fat fat fat fat fat fat fat exfat " ]
row fat "in an MBR's partitions" "all recognised"

disk=$T/gpt; truncate -s 64M "$disk"
printf 'label: gpt\nstart=2048, size=69632, type=U\nstart=71680, size=32768, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7\n' |
	sfdisk -q --no-tell-kernel "$disk" > "$T/sfdisk" 2>&1 || fail "sfdisk: $(cat "$T/sfdisk")"
make_fat "$disk" 2048 34816 -F 32
make_exfat "$disk" 71680 16384
check "GPT: captured" capture_install "GPT" "$disk"
check_partitions "GPT" "$disk"
check "GPT: EFI system and basic data" [ "$(cut -d' ' -f4 "$T/partitions" | tr '\n' ' ')" = "fat exfat " ]
row fat "in an EFI system partition" "recognised"

# Without any table; with one that mkfs.fat writes into the boot sector.
for option in --mbr=n --mbr=y; do
	rm -f "$T/whole"; truncate -s 35M "$T/whole"; make_fat "$T/whole" 0 35840 -F 32 $option
	check "$option: captured" capture_install "no table, $option" "$T/whole"
	check_partitions "no table, $option" "$T/whole"
	check "$option: one filesystem" grep -q '^0 0 71680 fat ' "$T/partitions"
done
row fat "without a partition table" "recognised"

# What is somebody else's, or half of it: FAT is not seen there.
no_fat() {	# WHAT
	check "$1: no FAT" [ "$(said_of filesystem "$T/other")" != fat ]
	check "$1: stored completely" said_zero "$T/other"
}
other() { truncate -s 0 "$T/other"; truncate -s 4M "$T/other"; mkfs.fat -F 12 "$@" "$T/other" > /dev/null; }
put() { printf '%b' "$2" | dd of="$T/other" bs=1 seek="$1" conv=notrunc status=none; }
for name in 'NTFS    ' 'EXFAT   ' '-FVE-FS-'; do other; put 3 "$name"; no_fat "\"$name\""; done
other; put 510 '\0\0'; no_fat "no signature"
other; put 0 '\x33\xc0'; no_fat "boot code instead of a jump"
other; put 14 '\0\0'; put 16 '\0'; no_fat "no reserved sectors, no tables (NTFS has none)"
other; dd if=/dev/zero of="$T/other" bs=512 seek=1 count=100 conv=notrunc status=none; no_fat "a boot sector alone"

# A disk whose master boot record has kept the parameters of a FAT that was there.
other -a; printf 'label: dos\nstart=2048, size=4096, type=83\n' | sfdisk -q --no-tell-kernel --wipe never "$T/other" > /dev/null 2>&1
status 1 "$BIN/imagezip" "$T/other" "$T/x.ndz"
check "a table and a FAT: --disk settles it" [ "$("$BIN/imagezip" --disk -q -i --json "$T/other" 2> /dev/null | grep -c '"filesystem": "fat"')" = 0 ]
dd if=/dev/zero of="$T/other" bs=512 seek=1 count=100 conv=notrunc status=none
check "a table, and only a FAT's parameters: a disk" [ "$(said_of number "$T/other")" = 1 ]
finish
