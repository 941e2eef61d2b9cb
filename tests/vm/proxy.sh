#!/usr/bin/env bash
# Beside a DHCP server that knows nothing of network boot: dnsmasq tells machines what to boot
# (proxy DHCP), and the other server gives the addresses.  A machine with BIOS and one with UEFI
# firmware load a small disk.
. "$(dirname "$0")/lib.sh"
busybox --list | grep -qx udhcpd || skip "needs the udhcpd of busybox"
vm_accel
vm_lan
A=52:54:00:00:00:0a B=52:54:00:00:00:0b
GROUP=239.192.7.8 PORT=5008

# On a host of its own, as the one of a company: 10.9.0.254, addresses from .50 to .59.
other_server() {
	ip netns add other
	ip link add otherp type veth peer name eth0 netns other
	ip link set otherp master lan0 up
	ip -n other addr add 10.9.0.254/24 dev eth0; ip -n other link set eth0 up
	cat > "$T/udhcpd.conf" <<- I
		start 10.9.0.50
		end 10.9.0.59
		interface eth0
		max_leases 10
		lease_file $T/other.leases
		pidfile $T/other.pid
		option subnet 255.255.255.0
		option router 10.9.0.254
		option lease 600
	I
	: > "$T/other.leases"
	ip netns exec other busybox udhcpd -f "$T/udhcpd.conf" > "$LOGS/other.log" 2>&1 &
	PIDS+=($!)
}
vm_log_more() { tail -n 30 "$LOGS/server.log" "$LOGS/other.log"; cat /srv/netboot/reports; }

mount -t tmpfs none /run; mkdir -p /run/netns
poison "$T/disk" 16000000
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail imagezip
other_server
vm_server
check "a server without --own-network gives no addresses" eval '! grep -q "^dhcp-range=[^,]*,[0-9]" /srv/netboot/dnsmasq.conf'
"$BIN/frisbeed" -i lan0 -m $GROUP -p $PORT -W 60M -T 0 -q "$T/disk.ndz" > "$LOGS/frisbeed.log" 2>&1 &
PIDS+=($!)
# A host that takes syslog: one datagram a line.
python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("10.9.0.1", 514))
while True: print(s.recv(2000).decode("utf-8", "replace"), flush=True)' > "$T/syslog" &
PIDS+=($!)
truncate -s 16000000 "$T/a" "$T/b"
vm_tap tapa; vm_tap tapb
MACS=$A; [ ! -e $OVMF ] || MACS=$A,$B
vm_order $MACS frisbee.action=load frisbee.group=$GROUP frisbee.port=$PORT frisbee.syslog=10.9.0.1 frisbee.after=poweroff
vm_start a -machine pc,graphics=off -netdev tap,id=n,ifname=tapa,script=no,downscript=no \
    -device virtio-net-pci,netdev=n,mac=$A,bootindex=1 \
    -drive file="$T/a",format=raw,if=none,id=d,cache=unsafe -device virtio-blk-pci,drive=d
if [ -e $OVMF ]; then	# its own network boot, without an iPXE in the card
	cp "${OVMF/CODE/VARS}" "$T/vars"
	vm_start b -machine q35 -drive if=pflash,format=raw,readonly=on,file=$OVMF -drive if=pflash,format=raw,file="$T/vars" \
	    -netdev tap,id=n,ifname=tapb,script=no,downscript=no -device virtio-net-pci,romfile=,netdev=n,mac=$B,bootindex=1 \
	    -drive file="$T/b",format=raw,if=none,id=d,cache=unsafe -device virtio-blk-pci,drive=d
else
	echo "no UEFI firmware here: one machine"
fi
for m in "${!VM_PID[@]}"; do
	vm_sees $m 400 'has 10.9.0.5[0-9]/24'
	vm_sees $m 200 'frisbee: DONE: vda is loaded'
	vm_ends $m 60
	check "$m has the disk" cmp "$T/disk" "$T/$m"
done
check "syslog has what they said, also from before there was a network" eval 'grep -q "frisbee: DONE: vda is loaded" "$T/syslog" && grep -q "frisbee: eth0 has 10.9.0.5" "$T/syslog"'
check "all orders are put away" [ -z "$(/srv/netboot/order)" ]
finish
