#!/usr/bin/env bash
# The disc of netboot/iso: as a USB stick of a BIOS machine that is asked what to do, and as a CD
# of a machine with UEFI and Secure Boot.
. "$(dirname "$0")/lib.sh"
requires xorriso mformat
SECURE=/usr/share/OVMF/OVMF_CODE_4M.ms.fd
vm_accel
vm_lan
GROUP=239.192.7.10 PORT=5010
vm_log_more() { tail -n 30 "$LOGS/server.log"; }

poison "$T/disk" 16000000
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail imagezip
# The last console= is the one that asks.
"$TOP/netboot/iso" $KERNEL_WORDS console=tty0 console=ttyS0,115200
case $? in
0) ;;
77) skip "the signed boot loaders cannot be fetched" ;;
*) fail "netboot/iso"; finish ;;
esac
cp "$NETBOOT/frisbee.iso" "$T/stick"
vm_server --own-network
"$BIN/frisbeed" -i lan0 -m $GROUP -p $PORT -W 60M -T 0 -q "$T/disk.ndz" > "$LOGS/frisbeed.log" 2>&1 &
PIDS+=($!)
truncate -s 16000000 "$T/a"; truncate -s 8M "$T/other"
vm_tap tapa

echo "== a stick, BIOS"
vm_start stick -machine pc,graphics=off -netdev tap,id=n,ifname=tapa,script=no,downscript=no -device virtio-net-pci,romfile=,netdev=n \
    -device qemu-xhci -drive file="$T/stick",format=raw,if=none,id=s,readonly=on -device usb-storage,drive=s,bootindex=1,removable=on \
    -drive file="$T/other",format=raw,if=none,id=o,cache=unsafe -device virtio-blk-pci,drive=o,serial=other \
    -drive file="$T/a",format=raw,if=none,id=d,cache=unsafe -device virtio-blk-pci,drive=d,serial=right
vm_sees stick 300 'Load a disk of this machine'
vm_presses stick 120 '\r' 'Reading the system'
vm_sees stick 600 'Which of these'
vm_types stick server
vm_sees stick 30 'The multicast group of frisbeed'
vm_types stick $GROUP
vm_sees stick 30 'The port of frisbeed'
vm_types stick $PORT
vm_sees stick 120 'vdb: 16 MB, no model, serial right'
vm_sees stick 10 'Which disk \(vda vdb\)'
vm_types stick vdb
vm_sees stick 10 'Everything on vdb is lost .*Type yes to go on'
vm_types stick yes
vm_sees stick 120 'frisbee: DONE: vdb is loaded'
check "the disk is loaded" cmp "$T/disk" "$T/a"
check "the other one is as it was" cmp -n 8388608 "$T/other" /dev/zero
kill "${VM_PID[stick]}"; wait "${VM_PID[stick]}" 2> /dev/null

if [ -e $SECURE ]; then
	echo "== a CD, UEFI with Secure Boot"
	cp ${SECURE/CODE/VARS} "$T/vars"
	vm_start cd -machine q35,smm=on -global driver=cfi.pflash01,property=secure,value=on \
	    -drive if=pflash,format=raw,readonly=on,file=$SECURE -drive if=pflash,format=raw,file="$T/vars" \
	    -drive file="$T/stick",format=raw,if=none,id=s,readonly=on,media=cdrom -device ide-cd,drive=s,bootindex=1
	vm_sees cd 600 'Load a disk of this machine'
	vm_presses cd 120 '\033[B' '\*A shell'	# the last entry
	vm_presses cd 120 '\r' 'Reading the system'
	vm_sees cd 600 'a shell; leaving it reboots'
	vm_types cd 'dmesg | grep -i "secureboot: Secure boot"'
	vm_sees cd 30 'Secure boot enabled'
fi
finish
