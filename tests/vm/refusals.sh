#!/usr/bin/env bash
# The environment does not guess: two disks and no word which, no server, an
# unknown action.  Started from kernel and ramdisk, without network boot.
. "$(dirname "$0")/lib.sh"
vm_accel
refuses() {	# NAME WORDS QEMU-OPTIONS...
	local name=$1 words=$2; shift 2
	vm_start "$name" -machine pc -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" \
	    -append "$KERNEL_WORDS console=tty0 console=ttyS0,115200 quiet $words" -netdev user,id=n,restrict=on -device virtio-net-pci,netdev=n "$@"
}
disk() { echo -drive file="$T/$1",format=raw,if=none,id="$1",cache=unsafe -device virtio-blk-pci,drive="$1",serial="serial$1"; }
poison "$T/one" 8000000; poison "$T/two" 16000000; poison "$T/three" 8000000
sha256sum "$T"/{one,two,three} > "$T/before"
LOAD="frisbee.action=load frisbee.group=239.192.7.7 frisbee.port=5007"
refuses twodisks "$LOAD" $(disk one) $(disk two)
refuses noserver "$LOAD frisbee.disk=/dev/vda frisbee.options=-T,3,-q" $(disk three)
vm_sees twodisks 240 'vda: 8 MB, no model, serial serialone'
vm_sees twodisks 10 'vdb: 16 MB, no model, serial serialtwo'
vm_sees twodisks 10 'FAILED: 2 disks: say which with frisbee.disk='
vm_sees noserver 240 'FAILED: vda is not loaded: frisbee.s exit status is 110'
vm_types twodisks 'imageunzip --version; echo status $?'	# a shell, with the programs
vm_sees twodisks 30 'status 0'
check "no disk was touched" quietly sha256sum -c "$T/before"
finish
