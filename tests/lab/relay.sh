#!/usr/bin/env bash
# A relay, a session whose source is a session: chunks go on as soon as they have come, whoever
# comes late gets all of them, and the end of the first server is told.
. "$(dirname "$0")/lib.sh"
lab_up 4	# client 1 is the relay
FAR=239.192.7.8 FAR_PORT=5107

take random:16M disk disk.ndz
BLOCKS=$(($(stat -c %s "$T/disk.ndz") / 1024))

relay() {
	: > "$T/relay.out"
	ip netns exec "${LAB}1" "$B/tests/helpers/relay" $GROUP $PORT $FAR $FAR_PORT "$T/kept" > "$T/relay.out" 2> "$T/relay.log" &
	RELAY=$!; PIDS+=($RELAY)
}
far_load() { local n=$1; shift; GROUP=$FAR PORT=$FAR_PORT load "$n" "$@"; }
taken() { stat_of "$T/far.stats" chunks_complete 2> /dev/null || echo 0; }

echo "== chunks go on while the others still come"
serve -T 0 -W 12M "$T/disk.ndz"
relay
far_load 2 --stats "$T/far.stats" "$T/d2"; far_load 3 "$T/d3"
has_chunks() { [ "$(taken)" -ge 2 ]; }
check "a client of the relay has chunks" soon has_chunks
sent=$(stat_of "$T/stats" blocks_sent)
check "the server has sent $sent of $BLOCKS blocks by then" [ "$sent" -lt "$BLOCKS" ]
for i in 2 3; do loaded $i; check "client $i has the disk" cmp "$T/disk" "$T/d$i"; done
echo "== who comes when the server is gone gets all of it from the relay"
kill "$SERVER"; wait "$SERVER"
far_load 4 "$T/d4"; loaded 4
check "client 4 has the disk" cmp "$T/disk" "$T/d4"
kill "$RELAY"; wait "$RELAY"; check "the relay ends well" [ $? = 0 ]
check "what it kept is gone" [ ! -e "$T/kept" ]
finish
