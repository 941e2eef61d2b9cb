#!/usr/bin/env bash
# Machines whose image is made for a smaller disk: a Debian with BIOS and an MBR, whose swap space is a
# logical partition, and one with UEFI and a GPT.  With frisbee.fit=yes the swap space moves and the
# root grows; then they start, and mount all.  Before that, a disk with a filesystem of each kind that
# the memory root grows without LVM.
. "$(dirname "$0")/fit_lib.sh"
requires mkfs.xfs xfs_repair mkfs.btrfs btrfs mkfs.ntfs ntfsresize
EFI=$NETBOOT/signed/gcdx64.efi
[ -e "$OVMF" ] || skip "needs the package ovmf"
[ -e "$EFI" ] || skip "the signed boot loaders cannot be fetched"
ROOT=384 SWAP=32	# MiB

one_of_each() {	# 321 to 448: btrfs; 449 to 544: ext4; 545 to 608: NTFS; then swap space
	local d=$T/each
	truncate -s 626M "$d"
	sfdisk -q "$d" <<- 'I' || fail sfdisk
		label: gpt
		start=1MiB, size=320MiB
		start=321MiB, size=128MiB
		start=449MiB, size=96MiB
		start=545MiB, size=64MiB, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7
		start=609MiB, size=16MiB, type=S
	I
	at() { rm -f "$T/fs"; truncate -s "${2}M" "$T/fs"; quietly "${@:3}" "$T/fs" || fail "$3"
		dd if="$T/fs" of="$d" bs=1M seek="$1" conv=notrunc,sparse status=none; }
	at 1 320 mkfs.xfs -q
	at 321 128 mkfs.btrfs -q
	at 449 96 mke2fs -q -F -t ext4
	at 545 64 mkfs.ntfs -q -F -Q -p $((545 * 2048)) -H 255 -S 63
	swap_at "$d" 609 16 $SWAP_UUID
	image each
}
each_has_grown() {
	local i
	for i in 0 1 2 3; do
		dd if="$T/each.disk" of="$T/part$i" bs=1M skip="$(part each.disk $i start)" \
		    count="$(part each.disk $i size)" conv=sparse status=none
	done
	check "XFS is whole" quietly xfs_repair -n "$T/part0"
	check "btrfs is whole" quietly btrfs check --readonly "$T/part1"
	check "ext4 is whole" quietly e2fsck -f -n "$T/part2"
	check "NTFS is whole" quietly ntfsresize -f -i "$T/part3"
	rm "$T"/part[0-3]
	"$BIN/growfs" --dry-run --json "$T/each.disk" > "$T/report"
	for i in 0 1 2 3; do check "partition $((i + 1)) is filled" json "$T/report" "partitions[$i].became=fills"; done
	check "each has a share, $(part each.disk 3 size) MiB the least" [ "$(part each.disk 3 size)" -gt 90 ]
}

debian_bios() {
	SEARCH[bios]=$ROOT_UUID
	debian_files bios "root=UUID=$ROOT_UUID ro" <<- I
		UUID=$ROOT_UUID / ext4 errors=remount-ro 0 1
		UUID=$SWAP_UUID none swap sw 0 0
	I
	truncate -s $((ROOT + SWAP + 3))M "$T/bios"
	sfdisk -q "$T/bios" <<- I || fail sfdisk
		label: dos
		start=1MiB, size=${ROOT}MiB, type=83, bootable
		start=$((ROOT + 1))MiB, type=5
		start=$((ROOT + 2))MiB, size=${SWAP}MiB, type=82
	I
	fs_at "$T/bios" 1 $ROOT -U $ROOT_UUID -d "$T/bios.files"
	swap_at "$T/bios" $((ROOT + 2)) $SWAP $SWAP_UUID
	grub_bios "$T/bios" bios
	image bios
}
# The same Debian, with another fstab and name.
debian_uefi() {
	SEARCH[uefi]=$ROOT_UUID ROOT_WORDS[uefi]=${ROOT_WORDS[bios]}
	mv "$T/bios.files" "$T/uefi.files"
	echo "UUID=$ESP_UUID /boot/efi vfat umask=0077 0 1" >> "$T/uefi.files/etc/fstab"
	echo uefi > "$T/uefi.files/etc/hostname"
	truncate -s $((ROOT + SWAP + 26))M "$T/uefi"
	sfdisk -q "$T/uefi" <<- I || fail sfdisk
		label: gpt
		start=1MiB, size=24MiB, type=U
		start=25MiB, size=${ROOT}MiB
		start=$((ROOT + 25))MiB, size=${SWAP}MiB, type=S
	I
	esp_at "$T/uefi" 1 24 uefi /boot
	fs_at "$T/uefi" 25 $ROOT -U $ROOT_UUID -d "$T/uefi.files"
	swap_at "$T/uefi" $((ROOT + 25)) $SWAP $SWAP_UUID
	rm -rf "$T/uefi.files"
	image uefi
}
# The place of a partition, and how long it is, in MiB.
is_at() {	# DISK INDEX FIRST LENGTH
	check "$1: partition $(($2 + 1)) has $4 MiB from $3 on" \
	    [ "$(part "$1.disk" "$2" start) $(part "$1.disk" "$2" size)" = "$3 $4" ]
}
root_is_whole() {	# DISK MIB
	check "$1: the root is whole" quietly e2fsck -f -n "$T/$1.disk?offset=$(($2 << 20))"
	check "$1: what it wrote is there" sh -c "debugfs -R 'stat /srv/written' '$T/$1.disk?offset=$(($2 << 20))' \
	    2> /dev/null | grep -q regular"
}

echo "== the images"
one_of_each; debian_bios; debian_uefi
served
echo "== one of each, onto 1400 MiB, at $SECONDS s"
loaded each 1400
each_has_grown
echo "== BIOS, onto 700 MiB, at $SECONDS s"
loaded bios 700
is_at bios 0 1 666; is_at bios 2 668 $SWAP
started bios -machine pc,graphics=off
check "df shows the room: $(size_of bios /) MiB" [ "$(size_of bios /)" -gt 600 ]
root_is_whole bios 1
echo "== UEFI, onto 800 MiB, at $SECONDS s"
loaded uefi 800
is_at uefi 0 1 24; is_at uefi 1 25 742; is_at uefi 2 767 $SWAP
uefi
started uefi -machine q35 "${UEFI[@]}"
check "df shows the room: $(size_of uefi /) MiB" [ "$(size_of uefi /)" -gt 680 ]
root_is_whole uefi 25
echo "all of it took $SECONDS s"
finish
