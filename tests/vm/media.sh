#!/usr/bin/env bash
# Images on disks, of machines without a network: the disc loads one from a USB disk, and is asked for it; by
# words a disk is captured onto another USB disk, and is not onto itself, nor onto FAT if it could have 4 GiB.
. "$(dirname "$0")/lib.sh"
requires xorriso mformat
vm_accel
usb() {	# FILE...: USB disks that count as fixed ones, as most do
	local f
	USB=(-device qemu-xhci)
	for f; do USB+=(-drive "file=$f,format=raw,if=none,id=${f##*/},cache=unsafe" -device "usb-storage,drive=${f##*/},serial=${f##*/},removable=off"); done
}
inner() { echo "-drive file=$1,format=raw,if=none,id=inner,cache=unsafe -device virtio-blk-pci,drive=inner,serial=inner"; }	# FILE
machine() {	# NAME DISK WORDS: with both USB disks and a disk of its own
	cp --sparse=always "$T/from" "$T/$1.from"; cp --sparse=always "$T/to" "$T/$1.to"
	usb "$T/$1.from" "$T/$1.to"
	vm_start "$1" -machine pc -cpu max -no-reboot -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" -nic none \
	    -append "$KERNEL_WORDS console=ttyS0 quiet frisbee.after=poweroff frisbee.onfail=poweroff $3" "${USB[@]}" $(inner "$2")
}
# The disk of the machine, its image on the first USB disk, and the second one, which has FAT.
mkdir "$T/tree" "$T/inner.d"; random_bytes 3000000 1 > "$T/inner.d/file"
truncate -s 24M "$T/disk"; echo 'start=2048,type=83' | sfdisk -q "$T/disk"
mke2fs -q -F -L OWN -E offset=1048576 -d "$T/inner.d" "$T/disk" 22m 2> /dev/null || fail mke2fs
"$BIN/imagezip" -q -U "" "$T/disk" "$T/tree/lab.ndz" || fail imagezip
truncate -s 64M "$T/from" "$T/to"
for f in from to; do echo 'start=2048,type=83' | sfdisk -q "$T/$f"; done
mke2fs -q -F -L IMAGES -E offset=1048576 -d "$T/tree" "$T/from" 62m 2> /dev/null || fail mke2fs
mformat -i "$T/to@@1M" -T 129024 -v BACKUP :: || fail mformat
truncate -s 24M "$T/target"; truncate -s 6G "$T/large"; printf 'label: gpt\ntype=L\n' | sfdisk -q "$T/large"; cp "$T/disk" "$T/own"
"$TOP/netboot/iso" $KERNEL_WORDS frisbee.after=poweroff console=tty0 console=ttyS0,115200
case $? in
0) ;;
77) skip "the signed boot loaders cannot be fetched" ;;
*) fail "netboot/iso"; finish ;;
esac

# The machines work beside each other; the menu of the disc waits for nobody.
echo "== a disk is captured by words; itself and a FAT that is too small for it are refused"
machine capture "$T/own" "frisbee.action=capture frisbee.disk=serial:inner frisbee.image=disk:BACKUP/new.ndz"
machine itself "$T/disk" "frisbee.action=capture frisbee.disk=vda frisbee.image=disk:OWN/new.ndz"
machine large "$T/large" "frisbee.action=capture frisbee.disk=serial:inner frisbee.image=disk:BACKUP/large.ndz"
usb "$T/from" "$T/to"
vm_start disc -machine pc,graphics=off -nic none -drive file="$NETBOOT/frisbee.iso",format=raw,if=none,id=cd,readonly=on,media=cdrom \
    -device ide-cd,drive=cd,bootindex=1 -no-reboot "${USB[@]}" $(inner "$T/target")
vm_sees disc 300 'Load a disk of this machine'
vm_presses disc 120 '\r' 'Reading the system'
vm_sees capture 300 'frisbee: DONE: vda is captured: [0-9]* bytes in disk:BACKUP/new.ndz, read back and compared'
vm_ends capture 60
vm_sees itself 300 'frisbee: FAILED: vda1 is on vda itself: the image has to be on another disk'
vm_ends itself 60
check "the image is on the FAT" mcopy -i "$T/capture.to@@1M" ::new.ndz "$T/new.ndz"
check "with its signature" mcopy -i "$T/capture.to@@1M" ::new.ndz.sig "$T/new.sig"
check "which is that of the disk" "$BIN/imagehash" -q "$T/new.sig" "$T/disk"
check "it is installed" "$BIN/imageunzip" -q "$T/new.ndz" "$T/again"
check "and has the disk's data" "$BIN/imagehash" -q "$T/new.sig" "$T/again"
check "the captured disk is as it was" cmp "$T/disk" "$T/own"
vm_sees large 300 'MiB would be stored, the limit is 4000 MiB'
vm_sees large 30 'frisbee: FAILED: vda is not captured: .*FAT has no files of 4 GiB; use a disk with exFAT, ext4 or XFS'
vm_ends large 60
check "nothing is on the FAT" [ -z "$(mdir -b -i "$T/large.to@@1M" ::)" ]

echo "== the disc is asked for an image on a USB disk"
vm_sees disc 600 'disk     a USB disk, or another disk of this machine'
vm_sees disc 30 'Which of these'
vm_types disc disk
vm_sees disc 120 'Which disk \(sda sdb vda\)'
vm_types disc vda
vm_sees disc 60 '1  lab.ndz: [0-9]* MB, with its signature, on sd[ab]1 \(ext2 "IMAGES"\)'
vm_sees disc 60 'Which image'
vm_types disc 1
vm_sees disc 10 'Everything on vda is lost .*Type yes to go on'
vm_types disc yes
vm_sees disc 120 'frisbee: DONE: vda is loaded'
vm_ends disc 60
check "the disk is loaded" cmp "$T/disk" "$T/target"
finish
