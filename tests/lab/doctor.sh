#!/usr/bin/env bash
# frisbee --doctor: each ailment is built, and the right sentence must come.
. "$(dirname "$0")/lib.sh"
requires python3 nft
lab_up 3
# As in tests/lab/silence.sh: it snoops at once.
ip link set br0 type bridge mcast_querier 0 mcast_query_response_interval 100 mcast_query_interval 300
ip link set br0 type bridge mcast_querier 1 || skip "no querier here"
head -c 2M /dev/urandom > "$T/disk"
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail "imagezip"
sleep 1.5

doctor() {	# EXIT NODE OPTIONS...
	local want=$1 node=$2 got; shift 2
	timeout 60 ip netns exec "$LAB$node" "$BIN/frisbee" -m $GROUP -p $PORT --doctor "$@" > "$T/says" 2> "$T/stderr"; got=$?
	[ $got = "$want" ] && echo "ok: exit $want" || { fail "exit $got, not $want"; cat "$T/says" "$T/stderr"; }
}
says() {	# STATUS CHECK WORDS
	if grep -q "^$1 *$2  *.*$3" "$T/says"; then echo "ok: $1 $2: $3"
	else fail "not said: $1 $2 $3"; cat "$T/says"; fi
}
summed() { if tail -n 1 "$T/says" | grep -q "$1"; then echo "ok: at the end: $1"; else fail "at the end not: $1"; cat "$T/says"; fi; }
rules() { on "$1" nft -f - || skip "nft rules are not allowed here"; }
norules() { on "$1" nft flush ruleset; }

echo "== a server that is not running"
doctor 1 1
says "not ok" server "nothing answers"
doctor 1 1 -S 10.9.0.1
says "not ok" server "10.9.0.1 can be reached, but no frisbeed listens"

echo "== all is well"
serve "$T/disk.ndz"
doctor 0 1
for c in interface sending membership server source multicast unicast "second port" querier mtu ttl loss; do says ok "$c" .; done
summed "all is well: multicast arrives from 10.9.0.1"
says ok loss "0 % of 100 packets to the server are lost, 0 % of 100 from"
timeout 60 ip netns exec "${LAB}1" "$BIN/frisbee" -m $GROUP -p $PORT --doctor --json > "$T/json"
check "as JSON" python3 -c 'import json,sys; d=json.load(open(sys.argv[1])); assert d["well"] and d["server"]=="10.9.0.1" and d["echoes_heard"]==100 and len(d["checks"])==12' "$T/json"
check "it was no client" [ "$(grep -c "joined" "$T/server.log")" = 0 ]

echo "== no querier"
ip link set br0 type bridge mcast_querier 0
doctor 0 1
says unknown querier "no querier on the segment"
ip link set br0 type bridge mcast_querier 1; sleep 1.5

echo "== IGMP does not leave the node"
rules 1 <<< 'table ip f { chain o { type filter hook output priority 0; ip protocol igmp drop; }; }'
doctor 1 1
says "not ok" membership "no IGMP report leaves this machine"
says "not ok" multicast "the switch does not know"
norules 1

echo "== the switch does not take the reports"
nft -f - << 'NFT' || skip "nft rules are not allowed here"
table bridge f { chain p { type filter hook prerouting priority -400; iifname "p1" ip protocol igmp drop; }; }
NFT
doctor 1 1
says ok membership "reports by IGMP"
says "not ok" multicast "unicast works, multicast does not: the switch does not forward"
nft flush ruleset

echo "== the node's firewall"
rules 1 <<< 'table ip f { chain i { type filter hook input priority 0; udp dport 5007-5008 drop; }; }'
doctor 1 1
says "not ok" multicast "arrive at eth0, but a firewall of this machine"
norules 1
rules 1 <<< 'table ip f { chain o { type filter hook output priority 0; udp dport 5007-5008 drop; }; }'
doctor 1 1
says "not ok" sending "does not let packets to the group out"
norules 1
rules 1 <<< 'table ip f { chain i { type filter hook input priority 0; udp dport 5008 drop; }; }'
doctor 1 1
says "not ok" "second port" "port 5008"
norules 1

echo "== a small MTU on the way, and here"
ip link set p2 mtu 1000
doctor 1 2
says "not ok" mtu "have 1076 bytes, and such do not pass, only those of up to 1000"
ip link set p2 mtu 1500
on 2 ip link set eth0 mtu 900
doctor 1 2
says "not ok" mtu "the MTU of eth0 is 900"
on 2 ip link set eth0 mtu 1500

echo "== the wrong interface"
on 3 ip link add eth1 type veth peer name nobody
on 3 ip link set nobody up
on 3 ip addr add 10.77.0.1/24 dev eth1
on 3 ip link set eth1 up
on 3 ip route replace 224.0.0.0/4 dev eth1
doctor 1 3
says "not ok" interface "the server answers on eth0, not on eth1: use -i eth0"
doctor 0 3 -i eth0

echo "== rp_filter"
on 3 ip route add 10.9.0.1/32 dev eth1
on 3 sh -c 'for i in all eth0; do echo 1 > /proc/sys/net/ipv4/conf/$i/rp_filter; done'
doctor 1 3 -i eth0
says "not ok" multicast "rp_filter drops what arrives at eth0"
on 3 sh -c 'for i in all eth0; do echo 0 > /proc/sys/net/ipv4/conf/$i/rp_filter; done'
on 3 ip route del 10.9.0.1/32

echo "== loss"
rules 2 <<< 'table netdev f { chain i { type filter hook ingress device "eth0" priority 0; udp dport 5007-5008 numgen random mod 1000 < 100 drop; }; }'
doctor 1 2
says "not ok" loss "0 % of [0-9]* packets to the server are lost, [0-9]* % of [0-9]* from it: loads work"
norules 2

echo "== address translation"
rules s <<< 'table ip f { chain o { type filter hook output priority -150; udp sport 5007 udp sport set 40007; }; }'
doctor 1 1
says "not ok" source "come from port 40007 instead of 5007"
norules s
rules s <<< 'table ip f { chain o { type filter hook output priority -150; udp sport 5007 ip saddr set 10.9.0.99; }; }'
doctor 1 1
says "not ok" source "come from 10.9.0.99 but say that they are from 10.9.0.1"
norules s

echo "== routers: too many, and one that does not route the group"
nft -f - << 'NFT' || skip "nft rules are not allowed here"
table bridge f { chain p { type filter hook forward priority 0; oifname "p1" ip saddr 10.9.0.1 ip daddr 224.0.0.0/4 drop; }; }
NFT
rules 1 <<< 'table netdev f { chain i { type filter hook ingress device "eth0" priority 0; ip saddr 10.9.0.1 ip ttl set 57; }; }'
doctor 1 1 -S 10.9.0.1
says "not ok" multicast "7 routers are between, and the packets' TTL of 5 ends before"
norules 1
rules 1 <<< 'table netdev f { chain i { type filter hook ingress device "eth0" priority 0; ip saddr 10.9.0.1 ip ttl set 63; }; }'
doctor 1 1 -S 10.9.0.1
says "not ok" multicast "1 router between does not route this group"
norules 1
nft flush ruleset

echo "== an ordinary user"
if on 1 setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all true 2> /dev/null; then
	cp "$BIN/frisbee" "$T/frisbee"; chmod 755 "$T" "$T/frisbee"
	timeout 60 ip netns exec "${LAB}1" setpriv --reuid 65534 --regid 65534 --clear-groups "$T/frisbee" -m $GROUP -p $PORT --doctor > "$T/says"
	check "all is well, too" [ $? = 0 ]
	says unknown membership "only root can see"
	says unknown querier "only root can see"
fi
kill "$SERVER"; wait "$SERVER"

echo "== old servers"
serve --base "$T/disk.ndz"
doctor 0 1
says ok multicast arrive
says unknown loss "not measured"
check "it said that it left" grep -q "left" "$T/server.log"
kill "$SERVER"; wait "$SERVER"

echo "== a load beside it does not notice"
serve -T -1 -W 20M "$T/disk.ndz"
load 2 "$T/d2"; doctor 0 1
loaded 2; check "the disk is right" cmp "$T/disk" "$T/d2"
wait "$SERVER"; check "one client" [ "$(stat_of "$T/server.json" clients_at_once)" = 1 ]

status 2 "$BIN/frisbee" -m 10.9.0.1 -p 5007 --doctor
status 2 "$BIN/frisbee" -m $GROUP -p 5007 --doctor "$T/d2"
finish
