#!/usr/bin/env bash
# dolly in three racks, each behind one uplink: nodes that join in any order are served so that each
# uplink carries the image once, by a description of the network or a file of racks.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 9	# the server and 1, 2, 3 are one rack; 4, 5, 6 and 7, 8, 9 are others
take random:12M disk disk.ndz
size=$(without_padding "$T/disk.ndz")
for rack in 1 2; do	# a switch of its own, and an uplink that counts what passes
	ip link add "br$rack" type bridge forward_delay 0 && ip link set "br$rack" up
	ip link add "up$rack" type veth peer name "down$rack"
	ip link set "up$rack" master br0 up && ip link set "down$rack" master "br$rack" up
	for n in 1 2 3; do ip link set "p$((3 * rack + n))" master "br$rack"; done
done

cat > "$T/lab.net" << 'NET'
switch top,s1,s2
host 10.9.0.[1,11-19]
link 10.9.0.[1,11-13],s1,s2 top rate=1Gbit
link 10.9.0.[14-16] s1 rate=1Gbit
link 10.9.0.[17-19] s2 rate=1Gbit
server 10.9.0.1
NET
cat > "$T/racks" << 'RACKS'
rack one 10.9.0.[1,11-13]
rack two 10.9.0.[14-16]
rack three 10.9.0.[17-19]
RACKS

counted() { awk -v n="$1:" -v f="$([ "$2" = rx ] && echo 2 || echo 10)" '$1 == n { print $f }' /proc/net/dev; }
crossed() {	# WHICH...: images that have crossed the uplinks since the last call, into and out of the racks
	local rack way now
	for rack in 1 2; do for way in tx rx; do
		now=$(counted up$rack $way)
		echo "uplink $rack: $way $(((now - ${SEEN[$rack$way]:-0}) * 100 / size)) % of the image"
		[ "${1:-}" = begin ] || check "not more than once" [ $((now - SEEN[$rack$way])) -lt $((size * 3 / 2)) ]
		[ "${1:-}" = begin ] || [ $way = rx ] || check "and once" [ $((now - SEEN[$rack$way])) -ge "$size" ]
		SEEN[$rack$way]=$now
	done; done
}
declare -A SEEN
run() {	# OPTIONS...: nodes join one behind the other, from rack to rack
	echo "== $*"
	: > "$T/serve.log"	# or what the last one said would be taken for this one's
	ip netns exec "${LAB}s" timeout 400 "$BIN/dolly" serve --linger 0 "$@" "$T/disk.ndz" > "$T/table" 2> "$T/serve.log" &
	local server=$! n; PIDS+=("$server")
	begins "$server" grep -q serving "$T/serve.log"
	for n in 4 7 1 5 8 2 9 6 3; do
		ip netns exec "$LAB$n" timeout 400 "$BIN/dolly" join -q 10.9.0.1 "$T/d$n" 2> "$T/join$n.log" &
		LOADS[$n]=$!
		begins "${LOADS[$n]}" grep -q "(10.9.0.$((10 + n)),.*joined" "$T/serve.log"
	done
	for n in 1 2 3 4 5 6 7 8 9; do
		wait "${LOADS[$n]}" || { fail "node $n: $(cat "$T/join$n.log")"; continue; }
		check "node $n has the disk" cmp "$T/disk" "$T/d$n"; rm -f "$T/d$n"
	done
	wait "$server" || fail "the server: $(cat "$T/serve.log")"
	crossed
}
crossed begin
run --wait 9 --network "$T/lab.net"
run --wait 9 --tree=2 --network "$T/lab.net"
run --wait 9 --tree=3 --rack-file "$T/racks"
run --nodes "10.9.0.[19,11,14,12,17,15,18,13,16]" --auto --rack-file "$T/racks"
run --wait 9 --auto --network "$T/lab.net"
check "what is chosen is said" grep -q "is the fastest way" "$T/serve.log"
check "what was predicted is said" grep -q "^predicted .* MB/s  .*limited by" "$T/table"
check "and what came of it" grep -qE "^actual  *[0-9.]+ s  *[0-9.]+ MB/s" "$T/table"

echo "== a node in none of the server's networks has to be named, or to have the key"
ip -n "${LAB}1" addr add 10.77.0.5/32 dev eth0
ip -n "${LAB}1" route replace 10.9.0.1/32 dev eth0 src 10.77.0.5
ip -n "${LAB}s" route add 10.77.0.5/32 dev eth0
"$BIN/imagekey" --group-key "$T/group" || fail "the key"
echo "rack far 10.77.0.5" > "$T/far"
far() {	# STATUS KEY... -- OPTIONS...
	local want=$1 key=(); shift
	while [ "$1" != -- ]; do key+=("$1"); shift; done
	shift; : > "$T/serve.log"
	ip netns exec "${LAB}s" timeout 100 "$BIN/dolly" serve --linger 0 --start-after 4 "${key[@]}" "$@" "$T/disk.ndz" \
	    > "$T/table" 2> "$T/serve.log" &
	local server=$!; PIDS+=("$server")
	begins "$server" grep -q serving "$T/serve.log"
	status "$want" ip netns exec "${LAB}1" timeout 240 "$BIN/dolly" join -q --force --patience 2 "${key[@]}" 10.9.0.1 "$T/d1"
	wait "$server"
}
far 1 -- --wait 1
check "why is said" grep -q "in none of the server's networks" "$T/stderr"
far 0 -- --nodes 10.77.0.5
far 0 -- --wait 1 --rack-file "$T/far"
far 0 --key "$T/group" -- --wait 1

echo "== what is wrong with them is said"
status 3 "$BIN/dolly" serve --wait 1 --rack-file "$T/lab.net" "$T/disk.ndz"
check "with its line" grep -q "line 1" "$T/stderr"
status 1 "$BIN/dolly" serve --wait 1 --rack-file "$T/none" "$T/disk.ndz"
finish
