#!/usr/bin/env bash
# frisbee --doctor: what switches and routers between do to the group.
. "$(dirname "$0")/doctor_lib.sh"
doctor_up 9
ports() { local i; for i; do another s server"$i" -m $GROUP -p $((5000 + 10 * i)) "$T/disk.ndz"; done; }
ports 1 2 3 4 5 6 7 8
# The second server's machine: its membership gets lost from the start.
switch << 'NFT'
table bridge deaf { chain p { type filter hook prerouting priority -400; iifname "p9" ip protocol igmp drop; }; }
NFT
another 9 deaf -m 239.192.9.9 -p 5090 "$T/disk.ndz"
# A client that was there before: the server says STATE on its second port from then on.
on 5 timeout 240 "$BIN/frisbee" -q -m $GROUP -p 5050 "$T/d5" || fail "the load before"

echo "== reports are not taken; no multicast from a port; the server's reports are lost; wrong port and group; MTU; routers"
switch << 'NFT'
table bridge f {
	chain p { type filter hook prerouting priority -400; iifname "p1" ip protocol igmp drop; }
	chain r { type filter hook forward priority 0
		iifname { "p4", "p5" } ip daddr 239.0.0.0/8 drop
		oifname { "p6", "p7" } ip saddr 10.9.0.1 ip daddr 224.0.0.0/4 drop
	}
}
NFT
ip link set p3 mtu 1000
rules 6 <<< 'table netdev f { chain i { type filter hook ingress device "eth0" priority 0; ip saddr 10.9.0.1 ip ttl set 57; }; }'
rules 7 <<< 'table netdev f { chain i { type filter hook ingress device "eth0" priority 0; ip saddr 10.9.0.1 ip ttl set 63; }; }'
examine 1 -p 5010; examine 2 -m 239.192.9.9 -p 5090 -S 10.9.0.19; examine 3 -p 5030; examine 4 -p 5040 -S 10.9.0.1
examine 5 -p 5050 -S 10.9.0.1; examine 6 -p 5060 -S 10.9.0.1; examine 7 -p 5070 -S 10.9.0.1
examine 8 -p 6080; examine 9 -m 239.192.7.9 -p 5080; examine s -m 239.192.7.9 -p 5090 -S 10.9.0.19
told 1 1
says ok membership "reports by IGMP"
says "not ok" multicast "unicast works, multicast does not: the switch does not forward the group to this port"
told 1 2
says ok multicast arrive
says "not ok" "to server" "the switch does not forward the group to the server's port"
summed "what this machine sends to the group does not reach 10.9.0.19"
told 1 3; says "not ok" mtu "have 1076 bytes, but only packets of up to 1000 bytes pass"
for i in 4 5; do
	told 1 $i
	says "not ok" "to server" "does not accept multicast from this machine"
	summed "what this machine sends to the group does not reach 10.9.0.1"
	never firewall; never "no frisbeed"
done
told 1 6; says "not ok" multicast "7 routers are on the way, and packets with a TTL of 5 do not get so far"
told 1 7; says "not ok" multicast "1 router on the way does not route this group"
for i in 8 9; do told 1 $i; says "not ok" server "nothing answers: no frisbeed serves this group and port"; done
told 1 s; summed "10.9.0.19 serves the group 239.192.9.9 at port 5090: is that the session"

echo "== nobody asks for members: still known, and forgotten"
ip link set br0 type bridge mcast_querier 0
switch << 'NFT'
table bridge g { chain r { type filter hook forward priority 0; oifname "p8" ip daddr 239.0.0.0/8 drop; iifname "p8" ip daddr 239.0.0.0/8 drop; }; }
NFT
examine 2 -p 5020; examine 8 -p 5080
told 0 2; says unknown querier "no querier on the segment"
told 1 8; says "not ok" querier "no querier on the segment"; says "not ok" server "nothing answers"
finish
