#!/usr/bin/env bash
# A server of dolly that is killed and started again: eight nodes keep what they have, and go on without being
# started again; a server that comes back with another image is refused; one that does not come back is given up.
. "$(dirname "$0")/lib.sh"
requires tc
lab_up 8
take random:32M disk disk.ndz
size=$(stat -c %s "$T/disk.ndz")
on s tc qdisc replace dev eth0 root tbf rate 80mbit burst 128kb latency 50ms || skip "cannot limit rates here"

server() {	# OPTIONS... IMAGE
	: > "$T/serve.log"
	ip netns exec "${LAB}s" timeout 400 "$BIN/dolly" serve --json --linger 0 "$@" > "$T/table" 2> "$T/serve.log" &
	SERVER=$!; PIDS+=($!)
	begins $SERVER grep -q serving "$T/serve.log"
}
join() {	# NODE OPTIONS...
	local n=$1; shift
	rm -f "$T/d$n"
	ip netns exec "$LAB$n" "$BIN/dolly" join --json "$@" 10.9.0.1 "$T/d$n" > "$T/join$n.json" 2> "$T/join$n.log" &
	LOADS[$n]=$!; PIDS+=($!)
}
received() { on "$1" cat /sys/class/net/eth0/statistics/rx_bytes; }
until_received() {	# NODE BYTES
	begins "${LOADS[$1]}" has_received "$@" || fail "node $1 has ended: $(cat "$T/join$1.log")"
}
has_received() { [ "$(received "$1")" -gt "$2" ]; }
killed() {	# it is timeout's child that has the connections
	kill -KILL $(cat /proc/$SERVER/task/$SERVER/children) 2> /dev/null; wait $SERVER 2> /dev/null
}

for way in --chain --tree=2; do
	echo "== $way: the server is killed, and comes back"
	for n in 1 2 3 4 5 6 7 8; do before[n]=$(received $n); done
	server --wait 8 $way "$T/disk.ndz"
	for n in 1 2 3 4 5 6 7 8; do join $n; done
	until_received 1 $((before[1] + size / 3))
	killed
	check "node 1 was not whole then" [ $(($(received 1) - before[1])) -lt "$size" ]
	for n in 1 8; do begins "${LOADS[$n]}" grep -q "the server went away" "$T/join$n.log"; done
	# It begins when all eight are back, or after a minute with those that are.
	server --wait 8 $way --start-after 60 "$T/disk.ndz"
	for n in 1 2 3 4 5 6 7 8; do
		wait "${LOADS[$n]}"; check "node $n is whole" [ $? = 0 ]
		check "node $n has the disk" cmp "$T/disk" "$T/d$n"
		grep -q "the server is back" "$T/join$n.log" || fail "node $n: $(cat "$T/join$n.log")"
		check "node $n got little twice" [ $(($(received $n) - before[n])) -lt $((size * 14 / 10)) ]
	done
	wait $SERVER; check "the second server" [ $? = 0 ]
	check "it sent what was missing" [ "$(stat_of "$T/table" bytes_sent)" -lt $((${way: -1} == 2 ? size * 19 / 10 : size * 95 / 100)) ]
done

echo "== a node has died with the server, which comes back without --start-after"
first=$(received 2)
server --wait 2 "$T/disk.ndz"
join 1; join 2
until_received 2 $((first + size / 4))
kill -KILL "${LOADS[1]}"; wait "${LOADS[1]}" 2> /dev/null
killed
server --wait 2 --deadline 2 "$T/disk.ndz"
wait "${LOADS[2]}"; check "node 2 is whole" [ $? = 0 ]
check "node 2 has the disk" cmp "$T/disk" "$T/d2"
wait $SERVER; check "the server ends" [ $? = 0 ]

echo "== one that comes back with another image"
cp "$T/disk" "$T/other"; spoil_byte "$T/other" 5000
"$BIN/imagezip" -q -r "$T/other" "$T/other.ndz" || fail "imagezip"
first=$(received 2)
server --wait 2 "$T/disk.ndz"
join 1; join 2
until_received 2 $((first + size / 4))
killed
server --wait 2 "$T/other.ndz"
for n in 1 2; do
	wait "${LOADS[$n]}"; check "node $n ends" [ $? = 1 ]
	check "and says why" grep -q "serves another image" "$T/join$n.json" "$T/join$n.log"
done
kill $SERVER; wait $SERVER

echo "== one that does not come back"
first=$(received 2)
server --wait 2 "$T/disk.ndz"
join 1 --patience 2; join 2 --patience 0
until_received 2 $((first + size / 4))
killed
wait "${LOADS[2]}"; check "node 2 had no patience" [ $? = 1 ]
wait "${LOADS[1]}"; check "node 1 ends" [ $? = 1 ]
check "and says why" grep -q "did not come back for 2 seconds" "$T/join1.json" "$T/join1.log"
finish
