#!/usr/bin/env bash
# Power that goes, and a disk that fails: one machine loses its power while its firmware boots from the network, while
# it is loaded, while it becomes a machine of its own, and when it is done; another one has a disk with a sector that
# cannot be written, and gets a new disk.  In the end both start from their disks.
. "$(dirname "$0")/lib.sh"
vm_accel
vm_lan
A=52:54:00:00:00:0a B=52:54:00:00:00:0b
GROUP=239.192.7.11 PORT=5011
MB=160	# of the disk
vm_log_more() { tail -n 30 "$LOGS/server.log"; cat /srv/netboot/reports; }

vm_bootable
# A sector that the image has, in the middle of it.
SECTOR=$(python3 - "$D/disk" << 'PY'
import sys
f = open(sys.argv[1], "rb"); used = []
while b := f.read(65536):
    if b.count(0) < 1000: used.append(f.tell() // 512 - 64)
print(used[len(used) // 2])
PY
)
vm_server --own-network
# So slowly that there is a middle.
"$BIN/frisbeed" -i lan0 -m $GROUP -p $PORT -W 5M -T 0 -q "$D/disk.ndz" > "$LOGS/frisbeed.log" 2>&1 &
PIDS+=($!)
truncate -s ${MB}M "$T/a" "$T/bad" "$T/b"
vm_tap tapa; vm_tap tapb
WORDS="frisbee.action=load frisbee.group=$GROUP frisbee.port=$PORT frisbee.server=10.9.0.1 frisbee.image=disk.ndz"
vm_order $A $WORDS frisbee.hostname=cut-often
vm_order $B $WORDS
order_of() { /srv/netboot/order | grep -q "${1//:/-}"; }
on() {	# NAME MAC DISK-OPTIONS...
	local name=$1 mac=$2; shift 2
	vm_start "$name" -machine pc,graphics=off -netdev tap,id=n,ifname=tap"$name",script=no,downscript=no \
	    -device virtio-net-pci,netdev=n,mac="$mac",bootindex=1 "$@" -device virtio-blk-pci,drive=d,bootindex=2
}
good() {	# NAME MAC QEMU-OPTIONS...
	local name=$1 mac=$2; shift 2
	on "$name" "$mac" -drive file="$T/$name",format=raw,if=none,id=d,cache=unsafe "$@"
}
# The kernel and the order as the network gives them, without the time that fetching takes.
fetched() {	# MAC: options of QEMU, one a line
	printf '%s\n' -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" -append \
	    "$KERNEL_WORDS console=ttyS0,115200 quiet frisbee.report=10.9.0.1 $(sed -n 's/^set order //p' "/srv/netboot/boot/orders/${1//:/-}.ipxe")"
}
power_goes() { kill -9 "${VM_PID[$1]}"; wait "${VM_PID[$1]}" 2> /dev/null; unset "VM_PID[$1]"; }	# NAME

echo "== b: sector $SECTOR of its disk cannot be written"
mapfile -t FETCHED_A < <(fetched $A)
mapfile -t FETCHED_B < <(fetched $B)
on b $B "${FETCHED_B[@]}" -blockdev driver=file,node-name=f,filename="$T/bad" \
    -blockdev driver=blkdebug,node-name=d,image=f,inject-error.0.event=none,inject-error.0.iotype=write,inject-error.0.sector="$SECTOR",inject-error.0.errno=5
echo "== a: the power goes while it boots from the network"
good a $A
vm_sees a 300 'initrd.img'
power_goes a
echo "== a: while it is loaded"
good a $A "${FETCHED_A[@]}"
vm_sees a 400 'frisbee: loading: [0-9]+ %'
power_goes a
check "the disk is not whole" eval '! cmp -s "$D/disk" "$T/a"'
check "and does not look so" eval '! sfdisk -l "$T/a" 2> /dev/null | grep -q "^$T/a1"'
echo "== b has failed"
vm_sees b 400 'frisbee: FAILED: vda is not loaded: frisbee.s exit status is [0-9]+'
check "the server knows it" vm_soon 60 grep -q "${B//:/-} failed vda is not loaded" /srv/netboot/reports
check "its order stays" order_of $B
check "its disk does not look whole" eval '! sfdisk -l "$T/bad" 2> /dev/null | grep -q "^$T/bad1"'
power_goes b
echo "== b gets a new disk"
good b $B
echo "== a: while it becomes a machine of its own"
good a $A "${FETCHED_A[@]}"
vm_sees a 500 'making the system on vda a machine of its own'
power_goes a
check "its order is there" order_of $A
echo "== a: at the very end"
good a $A
vm_sees a 500 'frisbee: DONE: vda is loaded'
power_goes a
echo "== both start from their disks"
good a $A
vm_sees a 700 'cut-often login:'
vm_sees b 500 'node login:'
check "no order is left" [ -z "$(/srv/netboot/order)" ]
check "the server knows that both are done" eval 'vm_reported $A done "vda is loaded" && vm_reported $B done "vda is loaded"'
for m in a b; do
	vm_types $m root; vm_sees $m 60 '# '; vm_types $m poweroff
	vm_ends $m 120
	check "$m: its filesystem is whole" quietly e2fsck -fn "$T/$m?offset=1048576"
done
echo "all of it took $SECONDS s"
finish
