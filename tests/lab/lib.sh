# lib.sh: nodes in network namespaces on a bridge that snoops like a switch.
# Works as root, or as an ordinary user where "unshare -Urnm" is allowed.
#	lab_up N	a server "s" and clients 1..N
#	on WHO CMD...	run there
# Everything is named after this process and goes away at the end.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
requires ip bridge
in_chroot_hint() {	# a new namespace makes the mount at / its own, which a chroot into a plain folder has not
	grep -q '^[^ ]* [^ ]* [^ ]* [^ ]* / ' /proc/self/mountinfo && return
	echo "; / is no mount point here, as after chroot FOLDER: leave, run \`mount --bind FOLDER FOLDER', and enter again"
}
if [ "$(id -u)" != 0 ]; then
	unshare -Urnm true 2> /dev/null || skip "needs root, or unshare -Urnm as a user"
	rmdir "$T"
	exec unshare -Urnm bash "$0" "$@"
fi
if [ -z "${LAB_INSIDE:-}" ]; then	# own mounts and network: nothing of the host is touched
	why=$(unshare -nm true 2>&1) || skip "network namespaces are not allowed here: $why$(in_chroot_hint)"
	rmdir "$T"	# the next start makes its own
	LAB_INSIDE=1 exec unshare -nm bash "$0" "$@"
fi
mount -t tmpfs none /run 2> /dev/null || skip "cannot mount in a namespace"
mkdir -p /run/netns
LAB=lab$OWN_NUMBER
GROUP=239.192.7.7 PORT=5007
# Times of ours that are short (common/base/test_times.c): a server that `serve` starts has no other one beside it.
TIMES=neighbour=0.05,statistics=0.2
PIDS=()
lab_end() { local p; for p in "${PIDS[@]}"; do kill "$p" 2> /dev/null; done; wait 2> /dev/null
	local n; for n in s "${NODES[@]}"; do ip netns del "$LAB$n" 2> /dev/null; done; }
NODES=()
CLEANUP+=(lab_end)

lab_node() {	# NAME ADDRESS
	ip netns add "$LAB$1" || skip "cannot make network namespaces"
	ip link add "p$1" type veth peer name eth0 netns "$LAB$1"
	ip link set "p$1" master br0 up
	ip -n "$LAB$1" addr add "$2/24" brd + dev eth0
	ip -n "$LAB$1" link set lo up
	ip -n "$LAB$1" link set eth0 up
	ip -n "$LAB$1" route add 224.0.0.0/4 dev eth0
}
lab_up() {
	local i
	ip link add br0 type bridge forward_delay 0 mcast_snooping 1 mcast_querier 1 mcast_query_interval 500 \
	    mcast_startup_query_interval 50 mcast_igmp_version 3 2> /dev/null || ip link add br0 type bridge || skip "no bridges here"
	ip link set br0 up
	# A switch has no packet filter.
	echo 0 2> /dev/null > /proc/sys/net/bridge/bridge-nf-call-iptables || true
	lab_node s 10.9.0.1
	for ((i = 1; i <= $1; i++)); do NODES+=("$i"); lab_node "$i" 10.9.0.$((10 + i)); done
}
# The switch asks who is a member of what, at this interval (hundredths of a second), and snoops.  A
# bridge that becomes the querier sends groups everywhere at first, for as long as answers may take:
# a second here.
lab_querier() {
	ip link set br0 type bridge mcast_querier 0 mcast_query_response_interval 100 \
	    mcast_query_interval "$1"
	ip link set br0 type bridge mcast_querier 1 || skip "no querier here"
	soon snoops || fail "the switch does not snoop"
}
snoops() {	# what is sent to a group without members does not come to node 1
	local before
	before=$(to_node_1)
	on s bash -c 'echo > /dev/udp/239.192.99.99/9'
	[ "$(to_node_1)" = "$before" ]
}
to_node_1() { awk '$1 == "p1:" { print $11 }' /proc/net/dev; }	# packets
on() { local who=$1; shift; ip netns exec "$LAB$who" "$@"; }
# Packets of so many bytes on a node's link, at most.
lab_mtu() {	# NODE BYTES
	ip link set "p$1" mtu "$2" && ip -n "$LAB$1" link set eth0 mtu "$2" || skip "cannot set an MTU here"
}
# Drop PERMILLE of what comes to our ports at a node (or MATCH, as nft says it): each packet
# by itself, as on a wire, so the server's kernel may not carry many of them as one.
lab_loss() {	# NODE PERMILLE [MATCH]
	command -v nft > /dev/null || skip "needs nft"
	on s ip link set eth0 gso_max_segs 1 || skip "cannot limit segmentation"
	nft -f - << NFT || skip "nft rules are not allowed here"
table netdev loss$1 {
	chain port {
		type filter hook egress device "p$1" priority 0;
		${3:-udp dport $PORT-$((PORT + 64))} numgen random mod 1000 < $2 drop
	}
}
NFT
}
serve() {	# OPTIONS... IMAGE: a frisbeed at s, its statistics in $T/server.json
	: > "$T/server.log"; rm -f "$T/stats"	# or what the last one said would be taken for this one's
	FRISBEE_TEST_TIMES=$TIMES ip netns exec "${LAB}s" "$BIN/frisbeed" -d -m $GROUP -p $PORT \
	    --json --stats "$T/stats" "$@" > "$T/server.json" 2> "$T/server.log" &
	SERVER=$!; PIDS+=($SERVER)
	begins $SERVER grep -q serving "$T/server.log" || fail "frisbeed did not start: $(cat "$T/server.log")"
}
# For one client alone: it ends soon after that one.  Where several come, one may be late on a busy
# machine.
serve_one() { TIMES=$TIMES,linger=0.2 serve -T -1 "$@"; }
load() {	# NODE OPTIONS... TARGET: in the background
	local n=$1; shift
	ip netns exec "$LAB$n" timeout 240 "$BIN/frisbee" -m $GROUP -p $PORT --json "$@" > "$T/client$n.json" 2> "$T/client$n.log" &
	LOADS[$n]=$!; PIDS+=($!)
}
LOADS=()
waiting() {	# NODE...: loads that were started before the server are there, so that all begin with its first answer
	local n
	for n; do begins "${LOADS[$n]:-$$}" listens_to_group "$n"; done
}
# Node and switch know that the node is a member: what is sent to the group waits in its socket.
listens_to_group() { on "$1" grep -q 0707C0EF /proc/net/igmp && is_member "$1"; }
is_member() { bridge mdb show dev br0 | grep -q "port p$1 grp $GROUP"; }	# NODE: as the switch knows it
begun() {	# CLIENTS: wait until so many have come and something was sent to them
	soon begun_by_now "$1" || fail "$1 clients have not begun"
}
begun_by_now() { [ "$(grep -c "client joined" "$T/server.log")" -ge "$1" ] && [ "$(stat_of "$T/stats" blocks_sent 2> /dev/null)" -gt 100 ]; } 2> /dev/null
# On a busy machine nodes lose packets because nobody reads their sockets in time, or the kernel does not come to take
# them from the link: what is then sent again is no fault of the programs.  $EXCUSED: twice as many as were lost so since
# the last call: NODE...
excused() {
	local n drops
	EXCUSED=0
	for n; do
		drops=$(on "$n" awk '/^Udp: [0-9]/ { print $6 }' /proc/net/snmp)	# RcvbufErrors
		drops=$((drops + $(awk -v n="p$n:" '$1 == n { print $13 }' /proc/net/dev)))	# not taken from the link
		EXCUSED=$((EXCUSED + 2 * (drops - ${DROPS[n]:-0}))) DROPS[n]=$drops
	done
	[ $EXCUSED = 0 ] || echo "$EXCUSED blocks more are excused"
}
DROPS=()
loaded() {	# NODE: wait for it, it must succeed
	wait "${LOADS[$1]}"; local rc=$?
	[ $rc = 0 ] || fail "client $1: exit $rc: $(cat "$T/client$1.log")"
}
# Bytes of an image's chunks without the zeros at the end of each, which dolly does not send.
without_padding() {	# IMAGE
	python3 -c 'import sys; b = open(sys.argv[1], "rb").read(); print(sum(len(b[i:i + (1 << 20)].rstrip(b"\0")) for i in range(0, len(b), 1 << 20)))' "$1"
}
stat_of() { json "$1" "$2"; }
