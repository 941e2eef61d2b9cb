#!/usr/bin/env bash
# A disk whose loader is in its vendor's folder alone, as Debian installs it, starts after a load: on firmware that has no
# entry, with Secure Boot, and by the entry that frisbee.bootentry=yes makes, of which ten loads leave one, behind those
# of networks.
. "$(dirname "$0")/lib.sh"
requires mformat mmd mcopy mdeltree
SECURE=/usr/share/OVMF/OVMF_CODE_4M.ms.fd SIGNED=$NETBOOT/signed
[ -e $SECURE ] && [ -e "$OVMF" ] || skip "needs the package ovmf"
[ -e "$SIGNED/gcdx64.efi" ] || skip "the signed boot loaders cannot be fetched"
vm_accel
vm_lan
GROUP=239.192.7.11 PORT=5011
EFI=$SIGNED/gcdx64.efi "$TOP/tests/vm/make-disk" "$NETBOOT/kernel" $PAYLOAD "$T/disk" "$T/files" || { fail make-disk; finish; }
ESP=$T/disk@@1M
mcopy -i "$ESP" ::EFI/BOOT/grub.cfg "$T/grub.cfg" && mdeltree -i "$ESP" ::EFI/BOOT && mmd -i "$ESP" ::EFI/debian &&
	mcopy -i "$ESP" "$SIGNED/gcdx64.efi" ::EFI/debian/grubx64.efi && mcopy -i "$ESP" "$SIGNED"/{shimx64,mmx64}.efi "$T/grub.cfg" ::EFI/debian ||
	{ fail "the vendor's folder"; finish; }
"$BIN/imagezip" -q "$T/disk" "$T/disk.ndz" || { fail imagezip; finish; }
"$BIN/frisbeed" -i lan0 -m $GROUP -p $PORT -W 60M -T 0 -q "$T/disk.ndz" > "$LOGS/frisbeed.log" 2>&1 &
PIDS+=($!)
truncate -s "$(stat -c %s "$T/disk")" "$T/a"; truncate -s 20000000 "$T/b"
firmware() { echo "-drive if=pflash,format=raw,readonly=on,file=$1 -drive if=pflash,format=raw,file=$2"; }
disk() { echo "-drive file=$T/$1,format=raw,if=none,id=$1,cache=unsafe -device virtio-blk-pci,drive=$1"; }
card() { echo "-netdev tap,id=n,ifname=tapa,script=no,downscript=no -device virtio-net-pci,romfile=,netdev=n,mac=52:54:00:00:00:0a"; }
vm_tap tapa
cp "${OVMF/CODE/VARS}" "$T/vars"
loads() {	# NAME
	vm_start "$1" -machine q35 -cpu max -no-reboot $(firmware "$OVMF" "$T/vars") $(card) $(disk a) $(disk b) -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" \
	    -append "$KERNEL_WORDS console=ttyS0,115200 quiet frisbee.action=load frisbee.address=10.9.0.10/24,10.9.0.1 frisbee.group=$GROUP frisbee.port=$PORT frisbee.disk=vda frisbee.bootentry=yes frisbee.after=shell"
}
begins_and_ends() {	# NAME
	vm_sees "$1" 600 'node login:'
	vm_types "$1" root; vm_sees "$1" 200 '# '; vm_types "$1" 'poweroff'
	vm_ends "$1" 100
}
boots() {	# NAME MACHINE CODE VARS
	vm_start "$1" -machine $2 -cpu max -no-reboot $(firmware "$3" "$4") $(disk a)
	begins_and_ends "$1"
}

# The list of the firmware, with the entry of a network and that of another disk.
printf 'label: gpt\nstart=2048, type=uefi\n' | sfdisk -q "$T/b" || fail sfdisk
in_shell() {	# NAME COMMAND PATTERN
	vm_types "$1" "$2; echo it is \"over\""; vm_sees "$1" 60 "$3"; vm_sees "$1" 60 'it is over'
}

echo "== a load on firmware that has seen nothing"
loads first
vm_sees first 400 'the loader of EFI/debian is at EFI/BOOT, too'
vm_sees first 60 'the firmware has the entry 0001 for EFI/debian of vda'
vm_sees first 60 'frisbee: DONE: vda is loaded'
vm_sees first 30 'a shell; leaving it reboots'
in_shell first 'efibootmgr' 'BootOrder: 0001,0000'
in_shell first 'efibootmgr -q -b 0001 -B; efibootmgr -q -c -L other -d /dev/vdb -p 1 -l "\EFI\x.efi"; efibootmgr -c -L net -i eth0' 'BootOrder: 0002,0001,0000'
in_shell first 'efibootmgr -q -n 0001; efibootmgr -o 0001,0002,0000' 'BootNext: 0001'

echo "== ten times more, as after loads: one entry, behind that of the network"
vm_types first '. /init; disk=vda; say() { echo "says $*"; }'
in_shell first 'for i in 1 2 3 4 5 6 7 8 9 10; do note_partitions; make_it_start; done' 'says the firmware has the entry 0003 for EFI/debian of vda'
in_shell first 'efibootmgr | grep Boot' 'BootNext: 0001'
check "one entry, and the order of the others stays" grep -q -a 'BootOrder: 0001,0002,0003,0000' "$LOGS/first.log"
check "said once" [ "$(grep -a -c '^says the firmware has' "$LOGS/first.log")" = 1 ]

echo "== a network that is first stays first"
in_shell first 'efibootmgr -q -b 0003 -B; efibootmgr -q -o 0002,0001,0000; make_it_start' 'says the firmware has the entry 0003 for EFI/debian of vda'
in_shell first 'efibootmgr' 'BootOrder: 0002,0003,0001,0000'

echo "== the entry of a partition that was on the disk goes with it"
vm_types first 'disk=vdb; note_partitions; head -c 20000000 /dev/zero > /dev/vdb; blockdev --rereadpt /dev/vdb'
in_shell first 'make_it_start' "says the firmware's entry 0001 is removed: its partition was on vdb"
in_shell first 'efibootmgr' 'BootOrder: 0002,0003,0000'
vm_types first 'sync; poweroff -f'; vm_ends first 60

echo "== it starts without an entry, with Secure Boot, and by its entry alone"
cp "${OVMF/CODE/VARS}" "$T/empty"; cp "${SECURE/CODE/VARS}" "$T/secure"
boots fresh q35 "$OVMF" "$T/empty"
boots secure "q35,smm=on -global driver=cfi.pflash01,property=secure,value=on" $SECURE "$T/secure"
mdeltree -i "$T/a@@1M" ::EFI/BOOT
boots entry q35 "$OVMF" "$T/vars"
finish
