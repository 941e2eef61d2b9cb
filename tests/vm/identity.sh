#!/usr/bin/env bash
# Who a machine is: iPXE finds its order by the UUID and by the serial number that SMBIOS has, and by
# the MAC address of a card that it shares with others; a machine with two orders obeys neither.  The
# machines have no system in memory here: iPXE says which order it would obey.  GRUB finds its order by
# UUID in vm/secureboot, and cli/netboot_server plays the rest of its file.
. "$(dirname "$0")/lib.sh"
vm_accel
vm_lan
CARD=52:54:00:00:00:0a
A=4c4c4544-0042-3510-8054-b4c04f4a3132 B=4c4c4544-0042-3510-8054-b4c04f4a3133
vm_log_more() { tail -n 30 "$LOGS/server.log"; }
vm_server --own-network
printf '#!ipxe\necho OBEYS ${order}\n:wait\nsleep 1\ngoto wait\n' > /srv/netboot/boot/environment.ipxe
vm_tap tapa
turn=0
boots() {	# UUID SERIAL WANTED: a machine with this card
	turn=$((turn + 1))
	vm_start "m$turn" -machine pc,graphics=off -smbios "type=1,uuid=$1,serial=$2" \
	    -netdev tap,id=n,ifname=tapa,script=no,downscript=no -device virtio-net-pci,netdev=n,mac=$CARD,bootindex=1
	vm_sees "m$turn" 120 "$3"
	kill "${VM_PID[m$turn]}"; wait "${VM_PID[m$turn]}" 2> /dev/null
}
vm_order $A frisbee.action=load frisbee.image=a
vm_order serial:B7 frisbee.action=load frisbee.image=b
boots $A A7 "OBEYS frisbee.order=.* frisbee.image=a"
boots $B B7 "OBEYS frisbee.order=.* frisbee.image=b"
vm_order serial:A7 frisbee.action=load frisbee.image=d
boots $A A7 "Two orders for this machine, one of them by its serial number A7"
vm_order serial:A7 cancel
vm_order $CARD frisbee.action=load frisbee.image=c
boots $B C7 "OBEYS frisbee.order=.* frisbee.image=c"
boots $A A7 "Two orders for this machine, one of them by its MAC address"
vm_order $CARD cancel
boots $A A7 "OBEYS frisbee.order=.* frisbee.image=a"
finish
