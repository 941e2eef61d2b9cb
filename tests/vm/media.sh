#!/usr/bin/env bash
# Images on disks and on a web server.  Machines without a network: the disc loads an image from a USB disk with NTFS,
# and is asked for it; by words a disk is captured onto USB disks with FAT and NTFS, and is not onto itself, nor onto FAT
# if it could have 4 GiB; two disks are captured onto one with exFAT as a set, and two others are loaded from it.
. "$(dirname "$0")/lib.sh"
requires xorriso mformat mkfs.exfat mkntfs ntfscp ntfscat nginx
vm_accel
drive() { echo "-drive file=$1,format=raw,if=none,id=${1##*/},cache=unsafe -device $2,drive=${1##*/}"; }	# FILE DEVICE
# DISK[=SERIAL]...: USB disks that count as fixed ones, as most do, and are copies for this machine, or disks of its own.
machine() {	# NAME WORDS DISK...
	local name=$1 words=$2 d parts=; shift 2
	for d; do
		case $d in
		*=*) parts="$parts $(drive "${d%=*}" virtio-blk-pci),serial=${d#*=}" ;;
		*) [ -e "$d.$name" ] || cp --sparse=always "$d" "$d.$name"; parts="$parts $(drive "$d.$name" usb-storage),serial=${d##*/},removable=off" ;;
		esac
	done
	vm_start "$name" -machine pc -cpu max -no-reboot -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" "${NIC[@]}" \
	    -append "$KERNEL_WORDS console=ttyS0 quiet frisbee.after=poweroff frisbee.onfail=poweroff $words" -device qemu-xhci $parts
}
NIC=(-nic none)
# Disks that are captured, the image of one of them, and USB disks: FROM has it and NTFS, TO has FAT, EX has exFAT.
mkdir "$T/inner.d" "$T/www"; random_bytes 3000000 1 > "$T/inner.d/file"
truncate -s 24M "$T/disk"; echo 'start=2048,type=83' | sfdisk -q "$T/disk"
mke2fs -q -F -L OWN -E offset=1048576 -d "$T/inner.d" "$T/disk" 22m 2> /dev/null || fail mke2fs
truncate -s 16M "$T/data"; mke2fs -q -F -L DATA -d "$T/inner.d" "$T/data" 2> /dev/null || fail mke2fs
"$BIN/imagezip" -q -U "" "$T/disk" "$T/www/lab.ndz" || fail imagezip
usb_disk() {	# NAME TYPE: its partition is $T/fs
	truncate -s 64M "$T/$1"; echo "start=2048,type=$2" | sfdisk -q "$T/$1"
	dd if="$T/fs" of="$T/$1" bs=1M seek=1 conv=notrunc,sparse status=none; rm "$T/fs"
}
truncate -s 62M "$T/fs"; quietly mkntfs -q -F -Q -L IMAGES "$T/fs" || fail mkntfs
for f in lab.ndz lab.ndz.sig; do quietly ntfscp -f "$T/fs" "$T/www/$f" "$f" || fail ntfscp; done
usb_disk from 7
truncate -s 62M "$T/fs"; mformat -i "$T/fs" -T 126976 -v BACKUP :: || fail mformat; usb_disk to 83
truncate -s 62M "$T/fs"; quietly mkfs.exfat -L PAIRS "$T/fs" || fail mkfs.exfat; usb_disk ex 7
truncate -s 24M "$T/target" "$T/fetched" "$T/first"; truncate -s 16M "$T/second"
truncate -s 6G "$T/large"; printf 'label: gpt\ntype=L\n' | sfdisk -q "$T/large"; cp "$T/disk" "$T/own"
"$TOP/netboot/iso" $KERNEL_WORDS frisbee.after=poweroff console=tty0 console=ttyS0,115200
case $? in
0) ;;
77) skip "the signed boot loaders cannot be fetched" ;;
*) fail "netboot/iso"; finish ;;
esac
ip link set lo up
cat > "$T/nginx.conf" << CONF
worker_processes 1; pid $T/nginx.pid; error_log stderr; user root; daemon off;
events { }
http { access_log $T/access.log; client_body_temp_path $T/b; proxy_temp_path $T/p; fastcgi_temp_path $T/f; uwsgi_temp_path $T/u; scgi_temp_path $T/s;
	server { listen 127.0.0.1:8080; root $T/www; } }
CONF
nginx -c "$T/nginx.conf" 2> "$LOGS/nginx.log" & PIDS+=($!)

# The machines work beside each other; the menu of the disc waits for nobody.
echo "== a disk is captured by words; itself and a FAT that is too small for it are refused"
machine capture "frisbee.action=capture frisbee.disk=serial:inner frisbee.image=disk:BACKUP/new.ndz" "$T/from" "$T/to" "$T/own=inner"
machine itself "frisbee.action=capture frisbee.disk=vda frisbee.image=disk:OWN/new.ndz" "$T/disk=inner"
machine large "frisbee.action=capture frisbee.disk=serial:inner frisbee.image=disk:BACKUP/large.ndz" "$T/to" "$T/large=inner"
vm_start disc -machine pc,graphics=off -nic none -drive file="$NETBOOT/frisbee.iso",format=raw,if=none,id=cd,readonly=on,media=cdrom \
    -device ide-cd,drive=cd,bootindex=1 -no-reboot -device qemu-xhci $(drive "$T/from" usb-storage),removable=off $(drive "$T/to" usb-storage),removable=off \
    $(drive "$T/target" virtio-blk-pci)
vm_sees disc 300 'Load a disk of this machine'
vm_presses disc 120 '\r' 'Reading the system'
vm_sees capture 300 'frisbee: DONE: vda is captured: [0-9]* bytes in disk:BACKUP/new.ndz, read back and compared'
vm_ends capture 60
vm_sees itself 300 'frisbee: FAILED: vda1 is on vda itself: the image has to be on another disk'
vm_ends itself 60
is_the_disk() {	# IMAGE SIGNATURE
	check "with its signature, which is that of the disk" "$BIN/imagehash" -q "$2" "$T/disk"
	rm -f "$T/again"
	check "it is installed" "$BIN/imageunzip" -q "$1" "$T/again"
	check "and has the disk's data" "$BIN/imagehash" -q "$2" "$T/again"
}
check "the image is on the FAT" mcopy -i "$T/to.capture@@1M" ::new.ndz ::new.ndz.sig "$T"
is_the_disk "$T/new.ndz" "$T/new.ndz.sig"
check "the captured disk is as it was" cmp "$T/disk" "$T/own"
vm_sees large 300 'MiB would be stored, the limit is 4000 MiB'
vm_sees large 30 'frisbee: FAILED: vda is not captured: .*FAT has no files of 4 GiB; use a disk with exFAT, NTFS, ext4 or XFS'
vm_ends large 60
check "nothing is on the FAT" [ -z "$(mdir -b -i "$T/to.large@@1M" ::)" ]

echo "== two disks are captured as a set, onto exFAT; one onto NTFS; one is loaded from a web server"
machine pair "frisbee.action=capture frisbee.set=disk:PAIRS/a.ndz@serial:one+disk:PAIRS/b.ndz@serial:two" "$T/ex" "$T/own=one" "$T/data=two"
machine ntfs "frisbee.action=capture frisbee.image=disk:IMAGES/new.ndz" "$T/from" "$T/disk=inner"
NIC=(-nic user,model=virtio-net-pci)
machine web "frisbee.action=load frisbee.image=http://10.0.2.2:8080/lab.ndz" "$T/fetched=inner"
vm_sees pair 300 'frisbee: DONE: vda is captured: [0-9]* bytes in disk:PAIRS/a.ndz, read back and compared, vdb is captured: [0-9]* bytes in disk:PAIRS/b.ndz, read back and compared'
vm_ends pair 60
mv "$T/ex.pair" "$T/ex.load"; NIC=(-nic none)
machine load "frisbee.action=load frisbee.set=disk:PAIRS/a.ndz@size:25165824+disk:PAIRS/b.ndz@size:smallest" "$T/ex" "$T/first=one" "$T/second=two"
vm_sees ntfs 300 'frisbee: DONE: vda is captured: [0-9]* bytes in disk:IMAGES/new.ndz, read back and compared'
vm_ends ntfs 60
dd if="$T/from.ntfs" of="$T/fs" bs=1M skip=1 status=none
for f in new.ndz new.ndz.sig; do ntfscat "$T/fs" "$f" > "$T/$f" || fail "ntfscat $f"; done
is_the_disk "$T/new.ndz" "$T/new.ndz.sig"
vm_sees web 300 'frisbee: DONE: vda is loaded'
vm_ends web 60
check "from the web server" cmp "$T/disk" "$T/fetched"
vm_sees load 300 'frisbee: DONE: vda is loaded, vdb is loaded'
vm_ends load 60
check "each disk has its image" eval 'cmp "$T/disk" "$T/first" && cmp "$T/data" "$T/second"'

echo "== the disc is asked for an image on a USB disk"
vm_sees disc 600 'disk     a USB disk, or another disk of this machine'
vm_sees disc 30 'Which of these'
vm_types disc disk
vm_sees disc 120 'Which disk \(sda sdb vda\)'
vm_types disc vda
vm_sees disc 60 '1  lab.ndz: [0-9]* MB, with its signature, on sd[ab]1 \(ntfs "IMAGES"\)'
vm_sees disc 60 'Which image'
vm_types disc 1
vm_sees disc 10 'Everything on vda is lost .*Type yes to go on'
vm_types disc yes
vm_sees disc 120 'frisbee: DONE: vda is loaded'
vm_ends disc 60
check "the disk is loaded" cmp "$T/disk" "$T/target"
finish
