#!/usr/bin/env bash
# dolly, eight nodes: chains, trees and stars; nodes that are killed or hang at a moment that the seed
# says; strangers; a disk that is too small; a node that comes late.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 8
LINGER=1
python3 - "$T/disk" << 'PY'
import random, sys
r = random.Random(11)
with open(sys.argv[1], "wb") as f:
    for i in range(200):
        f.write(r.randbytes(128 * 1024) + bytes([i % 251]) * (128 * 1024))
    f.truncate(66 << 20)
PY
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail "imagezip"

server() {	# OPTIONS...
	: > "$T/serve.log"	# or what the last one said would be taken for this one's
	ip netns exec "${LAB}s" timeout 400 "$BIN/dolly" serve --json --linger $LINGER "$@" "$T/disk.ndz" > "$T/table" 2> "$T/serve.log" &
	SERVER=$!; PIDS+=($!)
	begins $SERVER grep -q serving "$T/serve.log" || fail "dolly serve did not start: $(cat "$T/serve.log")"
}
join() {	# NODE OPTIONS...: onto $T/dNODE, in the background
	local n=$1; shift
	rm -f "$T/d$n"
	# The process itself, so that a signal meets it.
	ip netns exec "$LAB$n" "$BIN/dolly" join --json "$@" 10.9.0.1 "$T/d$n" > "$T/join$n.json" 2> "$T/join$n.log" &
	LOADS[$n]=$!; PIDS+=($!)
}
join_all() { local n; for n in 1 2 3 4 5 6 7 8; do join $n; done; }
whole() {	# NODE...
	local n
	for n; do
		wait "${LOADS[$n]}"; local rc=$?
		check "node $n is whole" [ $rc = 0 ]
		[ $rc = 0 ] || tail -n 3 "$T/join$n.log"
		check "node $n has the disk" cmp "$T/disk" "$T/d$n"
	done
}
served() {	# STATUS
	wait $SERVER; local rc=$?
	[ $rc = "$1" ] || cat "$T/table" "$T/serve.log"
	check "the server's status is $1" [ $rc = "$1" ]
}
states() {	# of which so many nodes are: STATE
	json "$T/table" 'nodes[*].state' | grep -cxF "$1"
}
slowly() {	# MBIT: of each node's link and the server's
	local n
	for n in s 1 2 3 4 5 6 7 8; do
		on $n tc qdisc replace dev eth0 root tbf rate "$1mbit" burst 128kb latency 50ms || skip "cannot limit rates here"
	done
}
sent() { stat_of "$T/table" bytes_sent; }
have_joined() { [ "$(grep -c joined "$T/serve.log")" -ge "$1" ]; }	# NODES
size=$(without_padding "$T/disk.ndz")
check "the image has padding" [ "$size" -lt $(($(stat -c %s "$T/disk.ndz") - 26 * 1000)) ]

for way in --chain --tree=3 --star; do
	echo "== $way"
	server --wait 8 $way
	join_all
	whole 1 2 3 4 5 6 7 8; served 0
	check "all are in the table" [ "$(states whole)" = 8 ]
	case $way in --chain) copies=1 ;; --tree=3) copies=3 ;; *) copies=8 ;; esac
	check "the server sent $copies" [ "$(sent)" -lt $((copies * size + 4000000)) ] && check "... and not fewer" [ "$(sent)" -gt $((copies * size)) ]
done

slowly 80	# 26 MB take two and a half seconds
came_to() {	# NODE: so many bytes, in $CAME; read here, since another process takes time
	local name rest
	while read -r name rest; do
		[ "$name" != "p$1:" ] || { rest=($rest); CAME=${rest[8]}; return; }	# what its port of the switch has sent
	done < /proc/net/dev
}
has_come() { came_to "$1"; [ "$CAME" -ge "$2" ]; }	# NODE BYTES
# Kills nodes when as much of the image as the seed says has come to the first of them: half of it at most.
deaths() {	# SEED WAY SIGNAL NODE...
	local seed=$1 way=$2 signal=$3 n; shift 3
	local part; part=$(python3 -c "import random; print(int($size * random.Random($seed).uniform(0.02, 0.5)))")
	echo "== $way, $signal to $*, seed $seed: after $part bytes"
	came_to "$1"; local from=$CAME
	server --nodes "10.9.0.[11-18]" $way --deadline 5
	join_all
	begins "${LOADS[$1]}" has_come "$1" $((from + part)) || fail "node $1 ended before"
	for n; do kill -"$signal" "${LOADS[$n]}"; done
	local rest=" 1 2 3 4 5 6 7 8 "
	for n; do rest=${rest/ $n / }; done
	whole $rest
	served 1
	check "$# are not whole" [ "$(states "not whole")" = $# ]
	{ for n; do kill -KILL "${LOADS[$n]}"; wait "${LOADS[$n]}"; done; } 2> /dev/null
	echo "sent $(sent) of $size"
}
deaths 1 --chain KILL 1
deaths 2 --chain KILL 8
deaths 3 --chain KILL 4 5
deaths 4 --chain STOP 3
deaths 5 --tree=2 KILL 1 3
slowly 200; deaths 6 --star KILL 2; slowly 80
deaths 7 --chain KILL 1 2 3 4 5 6 7

echo "== one comes late, and one comes back"
server --wait 7
for n in 1 2 3 4 5 6 7; do join $n; done
begins $SERVER have_joined 7
came_to 2; begins "${LOADS[2]}" has_come 2 $((CAME + size / 8))
join 8; kill -KILL "${LOADS[2]}"; wait "${LOADS[2]}" 2> /dev/null
has_gone() { [ "$(grep -c "(10.9.0.12," "$T/serve.log")" -ge 2 ]; }
begins $SERVER has_gone	# what it says of node 2 after that it has joined
join 2
whole 1 2 3 4 5 6 7 8; served 0
check "it came back" [ "$(states "came back")" = 1 ]

echo "== strangers"
server --nodes "10.9.0.[11-13]"
join 8; wait "${LOADS[8]}"
check "who is not meant is told so" grep -q "not one of --nodes" "$T/join8.log" "$T/join8.json"
cat > "$T/strange.py" << 'PY'
import random, socket, struct, sys
r, held = random.Random(5), []
for host, port in ((sys.argv[1], 9998), (sys.argv[2], 9998)):
    for i in range(60):
        try:
            s = socket.create_connection((host, port), timeout=60)
        except OSError:         # whoever was there is done
            continue
        held.append(s)
        join = b"doly" + struct.pack("<HHHB", 2, 2, 9998, 1) + b"x"
        hello = b"doly" + struct.pack("<I", 1 + i % 8) + r.randbytes(16)
        say = [b"GET / HTTP/1.0\r\n\r\n", r.randbytes(3000), struct.pack("<IB", 0xffffffff, 13), b"",
               struct.pack("<IB", len(hello), 11) + hello, (struct.pack("<IB", len(join), 1) + join)[:i % 15]][i % 6]
        try:
            s.sendall(say)
            if i % 2:
                s.close()
        except OSError:
            pass
print(len(held))
PY
for n in 1 2; do join $n; done
begins $SERVER have_joined 2
check "they talk to a server and a node that wait" [ "$(on 7 python3 "$T/strange.py" 10.9.0.1 10.9.0.11)" = 120 ]
came_to 2; join 3; begins "${LOADS[2]}" has_come 2 $((CAME + size / 8))
on 7 python3 "$T/strange.py" 10.9.0.1 10.9.0.12 > "$T/quiet"	# during the load
whole 1 2 3; served 0

echo "== a smaller disk"
server --wait 4
for n in 1 3 4; do join $n; done
truncate -s 8M "$T/d2"
ip netns exec "${LAB}2" "$BIN/dolly" join --in-place 10.9.0.1 "$T/d2" > "$T/join2.json" 2> "$T/join2.log" &
LOADS[2]=$!
whole 1 3 4; served 1
wait "${LOADS[2]}"; check "it failed" [ $? = 1 ]
cat "$T/join2.log"
check "with a sentence" grep -q "sectors\|larger\|fit" "$T/join2.log"
check "and the server knows why" grep -q "reason" "$T/table"

echo "== no server; a server that ends"
status 1 on 1 timeout 240 "$BIN/dolly" join -q --patience 2 10.9.0.1 "$T/d1"; check "said" grep -q "^dolly: 10.9.0.1: the server: .*, for 2 seconds" "$T/stderr"
join 1; begins "${LOADS[1]}" grep -q "10.9.0.1: the server does not answer yet; this node waits for it" "$T/join1.log"
server --wait 1; whole 1; served 0
server --wait 2
join 1; begins $SERVER have_joined 1
kill $SERVER; wait $SERVER
wait "${LOADS[1]}"; check "its node ends, too" [ $? = 1 ]
finish
