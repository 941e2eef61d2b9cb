#!/usr/bin/env bash
# What comes over the network is changed, doubled, late and missing: a session that is loaded, or
# read as a disk, from a server that lies; dolly's chain, its relay, and the measuring of a link.  No
# wrong byte is taken, nothing crashes or hangs, and who is honest is served.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 4	# 1 loads, 2 is in the middle, or a neighbour, 3 and 4 are honest
take random:6M disk disk.ndz
HELPERS=$TOP/tests/helpers
SEEDS=${SEEDS:-1 2 3}
middle() {	# NODE ARGUMENT...: mutate.py there
	rm -f "$T/middle"
	ip netns exec "$LAB$1" "$PYTHON" -E -S "$HELPERS/mutate.py" "${@:2}" > "$T/middle" 2>&1 &
	MIDDLE=$!; PIDS+=($!)
	begins $MIDDLE grep -q here "$T/middle" || fail "nobody is there: $(cat "$T/middle")"
}
gone() { kill "$@" 2> /dev/null; wait "$@" 2> /dev/null; }
# It ended by itself, with a sentence where it failed, or when it was told to.
no_crash() {	# WHAT STATUS LOG
	case $2 in
	0) ;;
	1 | 3 | 110) check "$1: why: $(tail -n 1 "$3" | cut -c 1-150)" [ -s "$3" ] ;;
	*) fail "$1: exit $2: $(tail -n 3 "$3")" ;;
	esac
	! grep -E "runtime error|Sanitizer|Assertion" "$3" || fail "$1: a fault of the program"
}

echo "== a server that lies, to one who loads"
# Node 1 is in a network of its own with node 2, which passes on what the server says.
ip link add br1 type bridge forward_delay 0 mcast_snooping 0 && ip link set br1 up &&
    ip link set p1 master br1
ip link add q2 type veth peer name eth1 netns "${LAB}2" && ip link set q2 master br1 up
ip -n "${LAB}2" addr add 10.8.0.1/24 dev eth1 && ip -n "${LAB}2" link set eth1 up
ip -n "${LAB}1" addr flush dev eth0 && ip -n "${LAB}1" addr add 10.8.0.11/24 dev eth0 &&
    ip -n "${LAB}1" route add 224.0.0.0/4 dev eth0
serve -T 0 -W 30M "$T/disk.ndz"
# Of a chunk some four blocks are wrong each time.  A load is whole, or says why not, in a tenth of
# this time.
for seed in ${LOAD_SEEDS:-1 2}; do
	since=$SECONDS
	middle 2 session $GROUP $PORT 10.9.0.12 10.8.0.1 4 $seed
	on 1 timeout 90 "$BIN/frisbee" -q -T 5 -m $GROUP -p $PORT "$T/d1" 2> "$T/log1"; rc=$?
	check "seed $seed: it ended after $((SECONDS - since)) s" [ $rc != 124 ]
	no_crash "seed $seed" $rc "$T/log1"
	[ $rc != 0 ] || check "seed $seed: nothing wrong was installed" cmp "$T/disk" "$T/d1"
	gone $MIDDLE; rm -f "$T/d1"
done
echo "== ... to one who reads it as a disk"
if instrumented; then
	echo "nbdkit cannot run a plugin that is instrumented"
else
	. "$TOP/tests/cli/nbd_lib.sh"
	mkdir "$T/work"
	other=239.192.7.8 first=$SERVER middles=()
	GROUP=$other serve -T 0 -W 30M "$T/disk.ndz"
	reads() {	# WHAT HOW SOURCE...: as nbd_reads.py says it
		rm -f "$T/pid" "$T/sock"
		STREAM_SESSION_SECONDS=3 ip netns exec "${LAB}1" nbdkit -f -U "$T/sock" -P "$T/pid" \
		    "$PLUGIN" "${@:3}" work="$T/work" 2> "$T/nbd.log" & NBDKIT=$!; PIDS+=($!)
		local since=$SECONDS
		if begins $NBDKIT [ -s "$T/pid" ]; then
			check "$1" timeout 100 "$PYTHON" "$HELPERS/nbd_reads.py" "$2" "$T/sock" \
			    "$T/disk" 40
			echo "which took $((SECONDS - since)) s"
			kill $NBDKIT
		fi
		wait $NBDKIT; no_crash "$1" $? "$T/nbd.log"
		gone "${middles[@]}"; middles=()
	}
	lies() {	# GROUP PERMILLE SEED
		middle 2 session $1 $PORT 10.9.0.12 10.8.0.1 $2 $3; middles+=($MIDDLE)
	}
	one=image=frisbee://$GROUP:$PORT two=image=frisbee://$other:$PORT
	lies $GROUP 4 1; reads "nothing wrong is read" right $one
	lies $GROUP 4 2; lies $other 4 3; reads "nor from two who lie" right $one $two
	lies $GROUP 4 3; lies $other 0 1
	reads "all is read right from one who lies and one who does not" random $one $two
	check "what was kept is gone" [ -z "$(ls -A "$T/work")" ]
	gone $SERVER; SERVER=$first
fi
load 3 "$T/d3"; loaded 3; check "the server serves others" cmp "$T/disk" "$T/d3"
gone $SERVER

# Packets that nobody needs, from two neighbours.  An honest node, which has this address, is
# answered soon; memory and descriptors are bounded; the log stays short.
descriptors() { ls "/proc/$1/fd" | wc -l; }
kilobytes() { awk -v w="$2:" '$1 == w { print $2 }' "/proc/$1/status"; }
among_packets() {	# PID LOG NODE ADDRESS
	local fds kb n worst a
	fds=$(descriptors $1) kb=$(kilobytes $1 VmRSS) n=$(wc -l < "$2")
	for a in 2 4; do
		on $a python3 "$HELPERS/strangers.py" 10.9.0.1$a $GROUP $PORT 9000 3000 $a > /dev/null &
		PIDS+=($!); STRANGERS+=($!)
	done
	worst=$(on $3 timeout 100 python3 "$HELPERS/honest.py" 5 session $GROUP $PORT $4) ||
		worst=999999
	check "an honest node was answered after $worst ms" [ "$worst" -lt $LIMIT_MS ]
	wait "${STRANGERS[@]}"; STRANGERS=()
	kb=$(($(kilobytes $1 VmHWM) - kb)) n=$(($(wc -l < "$2") - n))
	check "memory is bounded: $kb KiB more" [ $kb -lt $LIMIT_KB ]
	check "descriptors, too: $(descriptors $1) of $fds" [ "$(descriptors $1)" -le $((fds + 1)) ]
	check "the log has $n lines about it" [ $n -lt 400 ]
}
STRANGERS=()
LIMIT_MS=3000 LIMIT_KB=60000; instrumented && LIMIT_MS=15000 LIMIT_KB=500000

echo "== packets that nobody needs"
serve -T 0 -W 60M "$T/disk.ndz"
among_packets $SERVER "$T/server.log" 3 10.9.0.13
gone $SERVER

dolly_serves() {
	: > "$T/serve.log"
	ip netns exec "${LAB}s" timeout 200 "$BIN/dolly" serve --linger 0 --wait 1 "$T/disk.ndz" \
	    > /dev/null 2> "$T/serve.log" &
	SERVER=$!; PIDS+=($!)
	begins $SERVER grep -q serving "$T/serve.log" || fail "dolly: $(cat "$T/serve.log")"
}
echo "== dolly's chain"
for seed in $SEEDS; do
	rm -f "$T/d3"
	dolly_serves
	middle s tcp 7000 9998 $seed $seed
	on 3 timeout 60 "$BIN/dolly" join -q --patience 2 10.9.0.1:7000 "$T/d3" 2> "$T/log3"; rc=$?
	no_crash "seed $seed" $rc "$T/log3"
	[ $rc != 0 ] || check "seed $seed: nothing wrong was installed" cmp "$T/disk" "$T/d3"
	server_is_well() { [ -e /proc/$SERVER ] || { wait $SERVER; [ $? -le 1 ]; }; }
	check "seed $seed: the server is there, or has ended" server_is_well
	no_crash "the server" 0 "$T/serve.log"
	gone $SERVER $MIDDLE
done

relay() {
	rm -f "$T/d3" "$T/d4"; : > "$T/log3"
	dolly_serves
	ip netns exec "${LAB}3" timeout 120 "$BIN/dolly" join --patience 8 \
	    --relay $GROUP:$PORT 10.9.0.1 "$T/d3" > /dev/null 2> "$T/log3" &
	NODE=$!; PIDS+=($!)
	begins $NODE grep -q "serving file" "$T/log3" || fail "no relay: $(cat "$T/log3")"
}
echo "== dolly's relay, and a neighbour who sends again what passes, and not as it was"
# A relay that hears no client for the time of --patience ends: what comes again must not make a client silent.
for as in own server; do
	relay
	ip netns exec "${LAB}2" "$PYTHON" -E -S "$HELPERS/hostile.py" 10.9.0.12 $GROUP $PORT 60 - \
	    $as again changed changed changed > "$T/liar" 2>&1 &
	LIAR=$!; PIDS+=($!)
	begins $LIAR grep -q lies "$T/liar" || fail "nobody lies: $(cat "$T/liar")"
	load 4 "$T/d4"; loaded 4
	check "as $as: who loads from it has the disk" cmp "$T/disk" "$T/d4"
	kill $LIAR; wait $LIAR
	check "there were lies: $(tail -n 1 "$T/liar")" grep -q "^sent [1-9]" "$T/liar"
	wait $NODE; rc=$?; check "the node: $(tail -n 1 "$T/log3")" [ $rc = 0 ]
	check "and has the disk" cmp "$T/disk" "$T/d3"
	no_crash "the node" 0 "$T/log3"
	wait $SERVER; check "the server" [ $? = 0 ]
done

echo "== its relay, and packets that nobody needs"
relay
among_packets "$(cat /proc/$NODE/task/$NODE/children)" "$T/log3" s 10.9.0.1
since=$SECONDS
load 4 "$T/d4"; loaded 4
check "who loads from it then has the disk" cmp "$T/disk" "$T/d4"
# The strangers have joined, and never leave: the node waits for them, beside what is next here.
RELAYS=$NODE

echo "== the measuring of a link"
ip netns exec "${LAB}3" "$BIN/dolly" calibrate --listen --patience 300 -p 7002 2> "$T/listen.log" &
LISTENS=$!; PIDS+=($!)
begins $LISTENS grep -q waiting "$T/listen.log" || fail "dolly: $(cat "$T/listen.log")"
middle 3 tcp 7001 7002 300 1
for i in 1 2 3 4 5 6 7 8 9 10; do
	on 4 python3 -c 'import socket, sys
s = socket.create_connection(("10.9.0.13", 7001), 20)
try:
    s.sendall(sys.argv[1].encode() + b"\n" + b"x" * 100000)
    s.settimeout(0.2)
    s.recv(100000)
except OSError:
    pass' "dolly-$([ $((i % 2)) = 0 ] && echo s || echo t)"
done
gone $MIDDLE
check "the listener answers who is honest" on 4 timeout 60 "$PYTHON" -c 'import socket
s = socket.create_connection(("10.9.0.13", 7002), 20)
s.sendall(b"dolly-s\n")
assert s.recv(1000)'
no_crash "the listener" 0 "$T/listen.log"
kill $LISTENS; wait $LISTENS 2> /dev/null
echo "== the relay ends without a word of the strangers"
wait $RELAYS; rc=$?; check "the node: $(tail -n 1 "$T/log3")" [ $rc = 0 ]
check "after $((SECONDS - since)) s" [ $((SECONDS - since)) -lt 60 ]
check "and has the disk" cmp "$T/disk" "$T/d3"
no_crash "the node" 0 "$T/log3"
wait $SERVER; check "the server" [ $? = 0 ]
finish
