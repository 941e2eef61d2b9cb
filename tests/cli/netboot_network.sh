#!/usr/bin/env bash
# The network of the memory-root environment, with the busybox that is in the ramdisk, in network
# namespaces: DHCP that comes late, a lease that is renewed, given up and got again, several
# cards, no link, two DHCP servers on one wire, a wrong one, a report to the server.
. "$(dirname "$0")/lib.sh"
requires busybox ip
own_network
[ -n "${NETWORK_INSIDE:-}" ] || skip "needs root and namespaces"
mount -t tmpfs none /run && mkdir -p /run/netns || skip "no mounts here"
CLEANUP+=('for p in "$T"/run/udhcpc.*; do [ -s "$p" ] && builtin kill "$(cat "$p")"; done 2> /dev/null; jobs -p | while read -r p; do kill "$p"; done; umount -l "$T/sys" /run')
mkdir "$T/sys" "$T/run" "$T/bin" "$T/proc"
mount -t sysfs none "$T/sys" || skip "no sysfs of a namespace here"
busybox --install -s "$T/bin"
cp /proc/uptime "$T/proc/uptime"; : > "$T/proc/cmdline"
mount --bind /proc/uptime "$T/proc/uptime"; CLEANUP+=('umount "$T/proc/uptime"')

# A card of the machine, and at its other end a host.
card() {	# NAME ADDRESS-OF-THE-HOST
	ip netns add "host-$1"
	ip link add "$1" type veth peer name far netns "host-$1" || skip "no veth here"
	ip -n "host-$1" addr add "$2" dev far
	ip -n "host-$1" link set far up
}
dhcp() {	# CARD FIRST LAST LEASE-SECONDS: sets $DHCP
	cat > "$T/udhcpd.$1" <<- I
		start $2
		end $3
		interface far
		max_leases 2
		min_lease 2
		lease_file $T/leases.$1
		pidfile $T/udhcpd.$1.pid
		option subnet 255.255.255.0
		option lease $4
		option hostname node7
	I
	: > "$T/leases.$1"
	ip netns exec "host-$1" busybox udhcpd -f "$T/udhcpd.$1" > "$T/udhcpd.$1.log" 2>&1 & DHCP=$!
}
node() {	# CODE: a piece of the environment; say and fail print
	SYS=$T/sys PROC=$T/proc RUN=$T/run LIB=$TOP/netboot/node LEASE=$TOP/netboot/lease RESOLV=$T/resolv.conf PATH=$T/bin \
	    busybox sh -c '. "$1"; say() { echo "say $*"; }; fail() { echo "fail $*"; exit 1; }
		load_drivers() { :; }; dmesg() { :; }; eval "$2"' sh "$TOP/netboot/init" "$1"
}
words() { echo "$*" > "$T/proc/cmdline"; }
has() { ip -4 -o addr show dev "$1" | grep -q "inet $2"; }
multicast_by() { ip route show 224.0.0.0/4 | grep -q "dev $1 "; }
[ "$(busybox ls "$T/sys/class/net" | tr '\n' ' ')" = "lo " ] || skip "the namespace has other cards"
ip route del 224.0.0.0/4 dev lo

echo "== nothing there"
words frisbee.retry=3s
check "no card" grep -qx "fail there is no network card, or no driver for it" <(node network)
card eth0 10.9.0.1/24
ip -n host-eth0 link set far down
check "no link" grep -qx "fail no link on: eth0" <(node network)
words frisbee.retry=3s frisbee.nic=eth5
check "not the card that is named" grep -qx "fail there is no network card eth5, or no driver for it" <(node network)

echo "== DHCP comes late"
words frisbee.retry=5m
ip -n host-eth0 link set far up
node network > "$T/said" & node=$!
begins $node grep -q "trying again in" "$T/said"; dhcp eth0 10.9.0.50 10.9.0.59 8
check "the network comes all the same" soon grep -q 'say eth0 has 10.9.0.5[0-9]/24' "$T/said"
wait $node
check "it said what was missing" grep -q '^say no address by DHCP on: eth0; trying again in' "$T/said"
check "multicast goes there" multicast_by eth0
check "the name that DHCP gives is kept" grep -qx node7 "$T/run/hostname.eth0"

echo "== the lease is renewed, given up, and got again"
was=$(ip -4 -o addr show dev eth0 | awk '{ print $4 }')
renewed() { [ "$(grep -c 'sending ACK' "$T/udhcpd.eth0.log")" -ge 4 ]; }
check "three times renewed" soon renewed
check "the address is the same" has eth0 "$was"
check "and multicast still goes there" multicast_by eth0
kill $DHCP; wait $DHCP 2> /dev/null
gone() { ! has eth0 10.9.0.; }
check "without a server the lease ends, and so the address" soon gone
dhcp eth0 10.9.0.55 10.9.0.59 600
check "another address" soon has eth0 10.9.0.5
check "and multicast goes there again" soon multicast_by eth0

echo "== two cards, the server behind the second"
node 'release eth0' > /dev/null
card eth1 10.9.9.1/24
kill $DHCP; wait $DHCP 2> /dev/null
dhcp eth0 10.9.0.50 10.9.0.59 600
dhcp eth1 10.9.9.50 10.9.9.59 600
words frisbee.server=10.9.9.1
node network > "$T/said"
check "the one where the server answers" grep -q 'say eth1 has 10.9.9.5[0-9]/24' "$T/said"
check "multicast goes there" multicast_by eth1
check "the other one has no address" eval '! has eth0 10'
check "and its lease is not renewed" [ ! -e "$T/run/udhcpc.eth0" ]
words frisbee.nic=eth0 frisbee.server=10.9.9.1
check "the one that is named" grep -q 'say eth0 has 10.9.0.5[0-9]/24' <(node network)
node 'release eth0' > /dev/null
words "BOOTIF=01-$(tr : - < "$T/sys/class/net/eth0/address") frisbee.server=10.9.9.1"
check "the one that was booted from" grep -q 'say eth0 has 10.9.0.5[0-9]/24' <(node network)

echo "== an address without DHCP"
node 'release eth0' > /dev/null
words frisbee.nic=eth0 frisbee.server=10.9.0.1 frisbee.address=10.9.0.77/24,10.9.0.1,10.9.0.2
check "the one that is named" grep -qx 'say eth0 has 10.9.0.77/24' <(node network)
check "multicast goes there" multicast_by eth0
check "others by the gateway" eval 'ip route show default | grep -q "via 10.9.0.1 dev eth0"'
check "names are asked for" grep -qx 'nameserver 10.9.0.2' "$T/resolv.conf"
check "no DHCP client runs" [ ! -e "$T/run/udhcpc.eth0" ]
node 'release eth0' > /dev/null
for a in 10.9.0.77 10.9.0.77/x 10.9.0.77/240 dhcp 10.9.0.77/24,,10.9.0.2; do
	words frisbee.nic=eth0 frisbee.retry=0 "frisbee.address=$a"
	check "$a is refused" grep -qx "fail frisbee.address=$a: an address is ADDRESS/PREFIX, with ,GATEWAY and ,DNS behind it" <(node network)
done
words frisbee.nic=eth0 frisbee.retry=0 frisbee.address=10.9.0.777/24
check "one that is none: $(node network)" grep -qx "fail eth0 does not take the address 10.9.0.777/24" <(node network)
words frisbee.nic=eth0
check "without the word by DHCP" grep -q 'say eth0 has 10.9.0.5[0-9]/24' <(node network)

echo "== two DHCP servers on one wire, of one network, and of another one"
ip netns add switch
ip -n switch link add br0 type bridge; ip -n switch link set br0 up
ip link add eth2 type veth peer name p0 netns switch
wired() {	# HOST ADDRESS: on the wire of eth2
	ip netns add "host-$1"
	ip -n "host-$1" link add far type veth peer name "p$1" netns switch
	ip -n "host-$1" addr add "$2" dev far; ip -n "host-$1" link set far up
	ip -n switch link set "p$1" master br0 up
}
wired one 10.9.2.1/24; wired two 10.9.2.2/24; wired wrong 10.66.0.1/24
ip -n switch link set p0 master br0 up
RECEIVE_FROM="10.9.2.*" ip netns exec host-one busybox nc -ll -p 5100 -e "$TOP/netboot/receive" "$T" "$T" "$T/reports2" 2> /dev/null &
begins $! eval 'ip netns exec host-one ss -Hltn | grep -q ":5100 "'
dhcp one 10.9.2.50 10.9.2.59 600; FIRST=$DHCP
dhcp two 10.9.2.60 10.9.2.69 600; SECOND=$DHCP
words frisbee.nic=eth2 frisbee.server=10.9.2.1 frisbee.report=10.9.2.1
node network > "$T/said"
check "one of the two gives the address" grep -q 'say eth2 has 10.9.2.[56][0-9]/24' "$T/said"
check "there is one address" [ "$(ip -4 -o addr show dev eth2 | wc -l)" = 1 ]
check "multicast goes there" multicast_by eth2
node 'netif=eth2; report loading "an image"'
# Whoever receives it may write it down after the machine has sent it.
check "a report arrives" soon grep -q ' loading an image$' "$T/reports2"
node 'release eth2' > /dev/null
kill $FIRST $SECOND; wait $FIRST $SECOND 2> /dev/null
dhcp wrong 10.66.0.50 10.66.0.59 600; WRONG=$DHCP
node network > "$T/said" & node=$!
check "the address of a wrong server does not lead to ours, and that is said" soon grep -q 'say eth2 has an address, but the server does not answer there' "$T/said"
kill $WRONG; wait $WRONG 2> /dev/null; dhcp one 10.9.2.50 10.9.2.59 600
wait $node
check "DHCP is asked again, and ours is heard" grep -q 'say eth2 has 10.9.2.5[0-9]/24' "$T/said"
node 'release eth2' > /dev/null

echo "== a report"
mkdir "$T/orders" "$T/images"
mac=$(tr : - < "$T/sys/class/net/eth0/address")
RECEIVE_FROM="10.8.* 10.9.0.*" ip netns exec host-eth0 busybox nc -ll -p 5100 -e "$TOP/netboot/receive" "$T/images" "$T/orders" "$T/reports" 2> /dev/null &
begins $! eval 'ip netns exec host-eth0 ss -Hltn | grep -q ":5100 "'
touch "$T/orders/$mac.ipxe" "$T/reports"
words frisbee.report=10.9.0.1
node 'netif=eth0; report loading "an image"'
check "arrives" soon grep -q " $mac loading an image$" "$T/reports"
check "the last one" node "netif=eth0; report_done \"sda is loaded\""
check "puts the order away" soon [ ! -e "$T/orders/$mac.ipxe" ]
words frisbee.report=10.9.0.1:5199 frisbee.retry=8s
check "without a server it is tried again" grep -q '^say 10.9.0.1:5199 does not take the report; trying again' <(node 'netif=eth0; report_done x')
check "and nothing is stopped" grep -qx 'say here' <(node 'netif=eth0; report failed x; say here')
echo "== a machine without a clock"
says() { local got; got=$(node "$1"); check "$2" [ "$got" = "$3" ]; }
says 'date() { if [ "$1" = +%s ]; then echo 100; else echo "$@" > "$RUN/clock"; fi; }; set_clock 1795333223; cat "$RUN/clock"' "takes the time of the server" "-s @1795333223"
says 'date() { if [ "$1" = +%s ]; then echo 1795333223; else echo "$@" > "$RUN/clock"; fi; }; : > "$RUN/clock"; set_clock 1795333000; set_clock x; set_clock 99; cat "$RUN/clock"' "a clock that is right is left alone" ""
finish
