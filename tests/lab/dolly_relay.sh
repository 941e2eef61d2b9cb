#!/usr/bin/env bash
# Three sites of eight machines: one of each site gets the image along a chain of dolly and feeds a Frisbee session
# in the site's own network, from which the other seven load.  One command each; the long way is taken once a site.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 24	# 1 to 8, 9 to 16, 17 to 24 are the sites; the first of each has a second card on the long way
take random:6M disk disk.ndz
size=$(stat -c %s "$T/disk.ndz")
ip -n "${LAB}s" addr add 10.8.0.1/24 dev eth0
for site in 1 2 3; do
	ip link add "site$site" type bridge forward_delay 0 mcast_snooping 0 && ip link set "site$site" up
	for ((n = 8 * site - 7; n <= 8 * site; n++)); do ip link set "p$n" master "site$site"; done
	head=$((8 * site - 7))
	ip link add "w$site" type veth peer name eth1 netns "$LAB$head" && ip link set "w$site" master br0 up
	ip -n "$LAB$head" addr add "10.8.0.$((10 + site))/24" dev eth1 && ip -n "$LAB$head" link set eth1 up
done
ip netns exec "${LAB}s" timeout 400 "$BIN/dolly" serve --json --linger 0 --wait 3 "$T/disk.ndz" > "$T/table" 2> "$T/serve.log" &
SERVER=$!; PIDS+=($SERVER)
begins $SERVER grep -q serving "$T/serve.log"
for site in 1 2 3; do
	head=$((8 * site - 7))
	ip netns exec "$LAB$head" timeout 400 "$BIN/dolly" join --relay $GROUP:$PORT --relay-file "$T/kept$site" 10.8.0.1 "$T/d$head" \
	    > "$T/client$head.json" 2> "$T/client$head.log" &
	LOADS[$head]=$!; PIDS+=("${LOADS[$head]}")
	for ((n = head + 1; n <= 8 * site; n++)); do load $n "$T/d$n"; done
done
for ((n = 1; n <= 24; n++)); do
	loaded $n
	check "machine $n has the disk" cmp "$T/disk" "$T/d$n"
done
wait $SERVER; check "the server" [ $? = 0 ]
for site in 1 2 3; do
	got=$(awk -v n="w$site:" '$1 == n { print $10 }' /proc/net/dev)
	check "the image came to site $site once: $got bytes of $size" [ "$got" -lt $((size * 3 / 2)) ]
	check "and is not kept" [ ! -e "$T/kept$site" ]
	check "who has loaded is said" grep -q "relayed to 7 clients" "$T/client$((8 * site - 7)).log"
done
echo "== a client that comes and asks for nothing does not keep the node"
ip netns exec "${LAB}s" timeout 400 "$BIN/dolly" serve --linger 0 --wait 1 "$T/disk.ndz" 2> "$T/serve2.log" &
SERVER=$!; PIDS+=($SERVER)
begins $SERVER grep -qs serving "$T/serve2.log"
ip netns exec "${LAB}2" timeout 400 python3 - $GROUP $PORT << 'PY' &
import socket, struct, sys
group, port, me = socket.inet_aton(sys.argv[1]), int(sys.argv[2]), socket.inet_aton("10.9.0.12")
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("", port))
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, me)
s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group + me)
s.settimeout(0.2)
def say(subtype, *body):
    s.sendto(struct.pack("<iiI", 1, subtype, 4 * len(body)) + me + struct.pack("<%di" % len(body), *body), (sys.argv[1], port))
while True:
    say(1, 7)	# JOIN, until the answer comes
    try:
        if s.recv(2000)[0] == 2:
            break
    except socket.timeout:
        pass
say(2, 7, 0)	# LEAVE
PY
CALLER=$!; PIDS+=($CALLER)
status 0 ip netns exec "${LAB}1" timeout 400 "$BIN/dolly" join --patience 8 --relay $GROUP:$PORT 10.8.0.1 "$T/alone"
wait $CALLER; check "the client was answered" [ $? = 0 ]
wait $SERVER; check "the server" [ $? = 0 ]
check "the node has the disk" cmp "$T/disk" "$T/alone"
instrumented && { echo "reads are made to fail beside the plain build"; finish; }
echo "== a session that fails"
ip netns exec "${LAB}s" timeout 400 "$BIN/dolly" serve --linger 0 --wait 1 "$T/disk.ndz" 2> "$T/serve3.log" &
SERVER=$!; PIDS+=($SERVER)
begins $SERVER grep -qs serving "$T/serve3.log"
load 2 "$T/unserved"
ip netns exec "${LAB}1" env FAULT=pread:1:dead:"$T/kept" \
    LD_PRELOAD="$B/tests/preload/faulty.so" timeout 400 "$BIN/dolly" join --patience 8 \
    --relay $GROUP:$PORT --relay-file "$T/kept" 10.8.0.1 "$T/served" 2> "$T/stderr"
check "is the node's error" [ $? = 1 ]
check "which is said: $(tail -n 1 "$T/stderr")" grep -q -e "--relay: " "$T/stderr"
check "the node has the disk" cmp "$T/disk" "$T/served"
kill "${LOADS[2]}"; wait "${LOADS[2]}" 2> /dev/null; wait $SERVER
finish
