#!/usr/bin/env bash
# Chaos among twelve nodes of dolly, in a chain and in a tree by turns: of nodes that the seed
# chooses one is killed, one is killed and joins again, one stops for ever and one for a while,
# one sends slowly and one has a full disk; and the server is killed and started again.  Each
# healthy node is whole, and each status is right.  A round takes half a minute, so this is a
# part of tests/long, which runs ten: ROUNDS=10, with SEED of the first.
. "$(dirname "$0")/lib.sh"
[ -n "${ROUNDS:-}" ] || skip "takes long: tests/long chaos"
requires tc
NODES_N=12 RATE=24mbit SLOW_RATE=2mbit
lab_up $NODES_N
take random:24M disk disk.ndz
size=$(stat -c %s "$T/disk.ndz")
on s tc qdisc replace dev eth0 root tbf rate $RATE burst 128kb latency 50ms || skip "cannot limit rates here"

server() {	# OPTIONS...
	: > "$T/serve.log"
	ip netns exec "${LAB}s" timeout 400 "$BIN/dolly" serve --json --linger 1 --deadline 10 --slow 500K \
	    --nodes "10.9.0.[11-$((10 + NODES_N))]" "$@" "$T/disk.ndz" > "$T/table" 2> "$T/serve.log" &
	SERVER=$!; PIDS+=($!)
	begins $SERVER grep -q serving "$T/serve.log" || fail "dolly serve did not start: $(cat "$T/serve.log")"
}
join() {	# NODE: onto ${TARGET[NODE]}, in the background; the process itself, so that a signal meets it
	local n=$1
	ip netns exec "$LAB$n" "$BIN/dolly" join --json --force --patience 60 10.9.0.1 "${TARGET[$n]}" \
	    > "$T/join$n.json" 2> "$T/join$n.log" &
	LOADS[$n]=$!; PIDS+=($!)
}
received() { on "$1" cat /sys/class/net/eth0/statistics/rx_bytes; }
has_received() { [ $(($(received "$1") - before[$1])) -gt "$2" ]; }	# NODE BYTES
# Until the node that watches has got so many percent of the image.
until_between() {	# FROM TO
	begins "${LOADS[$WATCH]}" has_received "$WATCH" $((size * ($1 + RANDOM % ($2 - $1)) / 100)) ||
		fail "node $WATCH has ended"
}
ends() {	# NODE STATUS WHAT...
	local n=$1 want=$2 rc; shift 2
	wait "${LOADS[$n]}" 2> /dev/null; rc=$?
	[ "$rc" = "$want" ] || tail -n 3 "$T/join$n.log"
	check "node $n, $*, ends with $want" [ "$rc" = "$want" ]
}
# Who was whole before the server was killed does not come to the next one.
knows_both() { grep -q "the server went away" "$T/join$1.log"; }	# NODE
state() {	# NODE: whole, or what the last of its entries says
	paste -d ' ' <(json "$T/table" 'nodes[*].address') <(json "$T/table" 'nodes[*].state') |
		sed -n "s/^10\.9\.0\.$((10 + $1)) //p" | sort | tail -n 1
}

chaos() {	# SEED WAY
	local n healthy order drawn=()
	RANDOM=$1	# of this shell: those that it starts draw others
	echo "== seed $1, $2"
	for ((n = 1; n <= NODES_N; n++)); do drawn+=("$RANDOM $n"); done
	mapfile -t order < <(printf '%s\n' "${drawn[@]}" | sort -n | sed 's/.* //')
	local killed=${order[0]} again=${order[1]} stopped=${order[2]} paused=${order[3]} slow=${order[4]} full=${order[5]}
	healthy=("${order[@]:6}") WATCH=${order[6]}
	echo "killed $killed, again $again, stopped $stopped, paused $paused, slow $slow, full $full, healthy ${healthy[*]}"
	rm -f "$T"/d[0-9]*
	for ((n = 1; n <= NODES_N; n++)); do
		TARGET[n]=$T/d$n before[n]=$(received $n)
		on $n tc qdisc replace dev eth0 root tbf rate $([ $n = "$slow" ] && echo $SLOW_RATE || echo $RATE) \
		    burst 128kb latency 50ms
	done
	mkdir -p "$T/small" && mount -t tmpfs -o size=8m none "$T/small" || skip "cannot mount"
	TARGET[full]=$T/small/disk
	server "$2"
	for ((n = 1; n <= NODES_N; n++)); do join $n; done
	until_between 5 15; kill -STOP "${LOADS[$paused]}"
	begins $SERVER grep -q "silent: the nodes behind it" "$T/serve.log"; kill -CONT "${LOADS[$paused]}"
	until_between 15 25; kill -KILL "${LOADS[$killed]}"; ends "$killed" 137 "which is killed"
	until_between 25 35; kill -STOP "${LOADS[$stopped]}"
	until_between 35 45; kill -KILL "${LOADS[$again]}"; ends "$again" 137 "which is killed once"
	join "$again"
	until_between 50 65
	# It is timeout's child that has the connections.
	kill -KILL $(cat /proc/$SERVER/task/$SERVER/children) 2> /dev/null; wait $SERVER 2> /dev/null
	server "$2" --start-after 12
	for n in "${healthy[@]}"; do ends "$n" 0 healthy; done
	ends "$again" 0 "which came back"
	ends "$paused" 0 "which stopped for a while"
	ends "$slow" 0 "which is slow"
	ends "$full" 1 "whose disk is full"
	check "why is said" grep -q "No space left" "$T/join$full.json" "$T/join$full.log"
	wait $SERVER; check "the server's status" [ $? = 1 ]
	kill -KILL "${LOADS[$stopped]}"; ends "$stopped" 137 "which stopped for ever"
	for n in "${healthy[@]}" "$again" "$paused" "$slow"; do
		check "node $n has the disk" cmp "$T/disk" "$T/d$n"
		! knows_both "$n" || check "node $n is whole: $(state "$n")" [ "$(state "$n")" = whole ]
	done
	for n in "$killed" "$stopped" "$full"; do check "node $n is not: $(state "$n")" [ "$(state "$n")" != whole ]; done
	umount "$T/small"
}
WAYS=(--chain --tree=3)
for ((round = 0; round < ROUNDS; round++)); do
	seed=$((${SEED:-1} + round))
	chaos $seed "${WAYS[seed % 2]}"
done
finish
