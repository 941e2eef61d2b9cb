#!/usr/bin/env bash
# frisbee --doctor: what is wrong with the machine that asks, or with its place in the network.
. "$(dirname "$0")/doctor_lib.sh"
doctor_up 12
serve "$T/disk.ndz"
# With servers of their own, so that each is answered in full.
for i in 8 9 10; do another s server$i -m $GROUP -p $((5000 + 10 * i)) "$T/disk.ndz"; done

echo "== nothing leaves or comes: cable, interface, address, route"
no_carrier() { on "$1" ip link show eth0 | grep -q NO-CARRIER; }	# NODE: the system knows it, a moment later
ip link set p1 down; soon no_carrier 1; examine 1 -i eth0
ip link set p11 down; soon no_carrier 11; examine 11
on 2 ip link set eth0 down; examine 2 -i eth0
on 3 ip link set eth0 down; examine 3
on 4 ip addr flush dev eth0; on 4 ip route flush table main; examine 4
examine 12 -i eth7
on 5 ip route flush table main; examine 5
told 1 1; says "not ok" interface "eth0 has no carrier: is the cable in"; summed "no carrier"; never IGMP
told 1 11; summed "eth0 has no carrier"; never IGMP
told 1 2; says "not ok" interface "eth0 is down"; summed "ip link set eth0 up"; never IGMP
told 1 3; says "not ok" interface "eth0 is down"
told 1 4; says "not ok" interface "eth0 has no IPv4 address"; never "no route"
doctor 1 4 -i eth0; summed "eth0 has no IPv4 address"
told 1 12
told 1 5; says "not ok" interface "no route to $GROUP.*-i eth0"

echo "== a wrong subnet; another machine has this one's address; this one's firewall, IGMP first"
on 8 ip addr flush dev eth0; on 8 ip addr add 10.8.0.18/24 dev eth0; on 8 ip route add 224.0.0.0/4 dev eth0
on 9 ip addr add 10.9.0.20/32 dev eth0
examine 8 -p 5080
examine 10 -p 5100
rules 6 <<< 'table ip f { chain o { type filter hook output priority 0; ip protocol igmp drop; }; }'
examine 6
told 1 8
says "not ok" subnet "packets of 10.9.0.1 arrive, although it is not in the network 10.8.0.18/24 of eth0"
says ok multicast arrive
never firewall
told 1 10; says "not ok" address "another machine, .*, has the address 10.9.0.20, too"; summed "has the address 10.9.0.20"
on 9 ip addr del 10.9.0.20/32 dev eth0
told 1 6
says "not ok" membership "no IGMP report leaves this machine"
says "not ok" multicast "the switch does not know"

echo "== this machine's firewall; MTU; wrong interface"
rules 6 <<< 'flush ruleset
table ip f { chain i { type filter hook input priority 0; udp dport 5007-5008 drop; }; }'
examine 6
rules 7 <<< 'table ip f { chain o { type filter hook output priority 0; udp dport 5007-5008 drop; }; }'
examine 7
rules 8 <<< 'table ip f { chain i { type filter hook input priority 0; udp dport 5081 drop; }; }'
examine 8 -p 5080
on 9 ip link set eth0 mtu 900; examine 9 -p 5090
on 10 sh -c 'ip link add eth1 type veth peer name nobody; ip link set nobody up; ip addr add 10.77.0.1/24 dev eth1; ip link set eth1 up
	ip route replace 224.0.0.0/4 dev eth1'
examine 10 -p 5100
told 1 6; says "not ok" multicast "arrive at eth0, but a firewall of this machine"
told 1 7; says "not ok" sending "does not let packets to the group out"
told 1 8; says "not ok" "second port" "port 5081"
told 1 9; says "not ok" mtu "the MTU of eth0 is 900"
told 1 10; says "not ok" interface "the server answers on eth0, not on eth1: use -i eth0"
examine 10 -p 5100 -i eth0
on 9 ip link set eth0 mtu 1500
on 9 sh -c 'ip link add eth1 type veth peer name nobody; ip link set nobody up; ip addr add 10.77.0.1/24 dev eth1; ip link set eth1 up
	ip route add 10.9.0.1/32 dev eth1; for i in all eth0; do echo 1 > /proc/sys/net/ipv4/conf/$i/rp_filter; done'
examine 9 -p 5090 -i eth0
told 0 10
told 1 9; says "not ok" multicast "rp_filter drops what arrives at eth0"
finish
