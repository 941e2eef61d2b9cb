#!/usr/bin/env bash
# Servers and clients with and without the extension, which stand for the original ones:
# late, killed, by unicast and broadcast, and servers that are replaced by the other kind,
# at the same address and at another one, while both kinds of clients load.
. "$(dirname "$0")/lib.sh"
lab_up 4	# three clients; the fourth node serves, too

take random:8M disk disk.ndz

at_four() {	# OPTIONS...: a frisbeed at the fourth node
	: > "$T/server.log"
	FRISBEE_TEST_TIMES=$TIMES ip netns exec "${LAB}4" "$BIN/frisbeed" -d -m $GROUP -p $PORT \
	    --stats "$T/stats" "$@" 2> "$T/server.log" & SERVER=$!; PIDS+=($SERVER)
	begins $SERVER grep -q serving "$T/server.log" || fail "frisbeed did not start: $(cat "$T/server.log")"
}
kind() { [ "$1" = O ] || echo --base; }
# FIRST NEXT SIGNAL START: O or B, how the first one ends, where the next one begins
replaced() {
	local since took
	# shellcheck disable=SC2046
	serve $(kind "$1") -W 40M "$T/disk.ndz"
	load 1 "$T/d1"; load 2 --base "$T/d2"; begun 2
	kill "-$3" $SERVER; wait $SERVER 2> /dev/null
	# shellcheck disable=SC2046
	$4 $(kind "$2") -W 40M "$T/disk.ndz"
	since=$(date +%s%N)
	for i in 1 2; do loaded $i; check "$*: client $i" cmp "$T/disk" "$T/d$i"; done
	took=$((($(date +%s%N) - since) / 1000000))
	check "$*: the clients did not wait for long: $took ms" [ $took -lt 30000 ]
	kill $SERVER; wait $SERVER
}
echo "== a server is replaced"
for how in "O B TERM" "B O KILL"; do replaced $how serve; done
for how in "O O KILL" "B B TERM" "O B KILL" "B O TERM"; do replaced $how at_four; done

echo "== late and killed clients"
for s in O B; do
	# shellcheck disable=SC2046
	serve $(kind $s) -W 60M "$T/disk.ndz"
	load 1 "$T/d1"; load 2 --base "$T/d2"; begun 2
	kill -9 $(pgrep -P "${LOADS[1]}") "${LOADS[1]}"; { wait "${LOADS[1]}"; } 2> /dev/null
	load 3 --base "$T/d3"; soon grep -q "joined addr=10.9.0.13" "$T/server.log"
	load 1 "$T/d1"
	for i in 1 2 3; do loaded $i; check "$s: client $i" cmp "$T/disk" "$T/d$i"; done
	kill $SERVER; wait $SERVER
done

echo "== unicast and broadcast"
for s in O B; do for c in O B; do
	# shellcheck disable=SC2046
	{ GROUP=10.9.0.11 serve $(kind $s) "$T/disk.ndz"; GROUP=10.9.0.1 load 1 $(kind $c) "$T/d1"; }
	loaded 1; check "unicast, $s to $c" cmp "$T/disk" "$T/d1"
	kill $SERVER; wait $SERVER
	# shellcheck disable=SC2046
	{ GROUP=10.9.0.255 serve $(kind $s) -b "$T/disk.ndz"; GROUP=10.9.0.255 load 1 $(kind $c) -b "$T/d1"; }
	loaded 1; check "broadcast, $s to $c" cmp "$T/disk" "$T/d1"
	kill $SERVER; wait $SERVER
done; done

echo "== any file, from the base protocol's server"
head -c 333333 "$T/disk" > "$T/file"
serve --base "$T/file"; load 1 -N "$T/copy"; loaded 1; check "a file" cmp "$T/file" "$T/copy"
kill $SERVER; wait $SERVER
finish
