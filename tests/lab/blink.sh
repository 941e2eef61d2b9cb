#!/usr/bin/env bash
# A network that goes away and comes back in the middle of a load ends neither the server nor a
# client: the address is taken away, the interface is set down, a firewall refuses what is sent,
# the address is another one afterwards.  And one group and port serve two interfaces of a host.
. "$(dirname "$0")/lib.sh"
requires nft
lab_up 4
take random:12M disk disk.ndz

address() {	# NODE add|del ADDRESS
	ip -n "$LAB$1" addr "$2" "$3/24" brd + dev eth0 2> /dev/null
	[ "$2" = del ] || ip -n "$LAB$1" route replace 224.0.0.0/4 dev eth0
}
link() { ip -n "$LAB$1" link set eth0 "$2"; [ "$2" = down ] || ip -n "$LAB$1" route replace 224.0.0.0/4 dev eth0; }
firewall() {	# NODE on|off: nothing of ours leaves
	if [ "$2" = on ]; then
		on "$1" nft -f - << 'NFT' || skip "nft rules are not allowed here"
table ip wall {
	chain out {
		type filter hook output priority 0;
		udp dport 5007-5071 drop
	}
}
NFT
	else on "$1" nft delete table ip wall; fi
}
said() { [ "$(grep -c "$2" "$1")" -ge "$3" ]; }	# FILE WORDS TIMES
says() { soon said "$@"; }
gone_and_back() {	# TIMES HOW-IT-COMES-BACK: the server says that the network went and came back
	check "the server says that the network is away, time $1" says "$T/server.log" "the network is away" "$1"
	$2
	check "the server says that it is back, time $1" says "$T/server.log" "the network is back" "$1"
}

echo "== in the middle of a load"
serve -T 0 -W 12M "$T/disk.ndz"
for i in 1 2 3 4; do load $i -T 200 "$T/d$i"; done
begun 4
address s del 10.9.0.1
link 1 down			# meanwhile clients have troubles of their own
firewall 2 on
address 3 del 10.9.0.13
check "client 3 says that its network went away" says "$T/client3.log" "the network is away" 1
address 3 add 10.9.0.33		# another lease
link 1 up
firewall 2 off
gone_and_back 1 "address s add 10.9.0.1"
firewall s on
gone_and_back 2 "firewall s off"
link s down
gone_and_back 3 "link s up"
address s del 10.9.0.1
gone_and_back 4 "address s add 10.9.0.2"
for i in 1 2 3 4; do
	loaded $i
	check "disk $i is right" cmp "$T/disk" "$T/d$i"
done
check "client 3 says its new address" grep -q "the network is back.*10.9.0.33" "$T/client3.log"
check "the server says its new address" grep -q "the network is back.*10.9.0.2)" "$T/server.log"
check "the server goes on" kill -0 "$SERVER"
kill "$SERVER"; wait "$SERVER"
check "and ends without an error" [ $? = 0 ]

echo "== one group and port on two interfaces of a host"
ip link add p9 type veth peer name eth1 netns "${LAB}s"
ip netns add "${LAB}9"; NODES+=(9)
ip link set p9 netns "${LAB}9"
for at in "9 p9 10.8.0.2" "s eth1 10.8.0.1"; do
	read -r n dev addr <<< "$at"
	ip -n "$LAB$n" addr add "$addr/24" brd + dev "$dev"
	ip -n "$LAB$n" link set "$dev" up
done
head -c 3M "$T/disk" > "$T/small"; "$BIN/imagezip" -q -r "$T/small" "$T/small.ndz"
serve -T 0 -i eth0 "$T/disk.ndz"
FIRST=$SERVER
serve -T 0 -i eth1 "$T/small.ndz"
load 1 "$T/d1"; load 9 -i p9 "$T/d9"
loaded 1; loaded 9
check "the load by the first interface is right" cmp "$T/disk" "$T/d1"
check "the load by the second one is right" cmp "$T/small" "$T/d9"
on s timeout 240 "$BIN/frisbeed" -i eth1 -m $GROUP -p $PORT "$T/small.ndz" > /dev/null 2> "$T/third.log"
check "a third session on an interface that has one is refused" [ $? = 98 ]
kill "$FIRST" "$SERVER"
finish
