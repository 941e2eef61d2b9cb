#!/usr/bin/env bash
# What the people at both ends see of a load: a client that hears nothing says so and names the
# doctor; progress has a total and an end; the log has times.
. "$(dirname "$0")/lib.sh"
lab_up 2
take random:6M disk disk.ndz

echo "== nobody serves yet"
FRISBEE_TEST_TIMES=unheard=2,statistics=0.2 load 1 --progress 1 --stats "$T/stats1" "$T/d1"
check "it says that nothing is heard, and names the doctor" \
	soon grep -q "nothing was heard from $GROUP:$PORT for 2 s; frisbee --doctor" "$T/client1.log"
on 2 "$BIN/frisbee" -m 10.9.0.1 -p $PORT -T 1 "$T/none" 2> "$T/stderr"; check "nobody is there" [ $? = 110 ]
check "the address of a host without --unicast" grep -q "10.9.0.1 is no multicast group: --unicast asks a server" "$T/stderr"
FRISBEE_TEST_TIMES=unheard=1 on 2 "$BIN/frisbee" --unicast -m 10.9.0.1 -p $PORT -T 3 "$T/none" 2> "$T/stderr"
check "with it no doctor is named, who could not help" grep -q "nothing was heard from 10.9.0.1:$PORT for [12] s$" "$T/stderr"
check "its statistics say that it waits" grep -q '"state": "waiting"' "$T/stats1"

echo "== a load, seen from both ends"
serve -T 0 -W 6M "$T/disk.ndz"
chunks=$(($(stat -c %s "$T/disk.ndz") >> 20))
check "in the middle it is loading" soon grep -q '"state": "loading"' "$T/stats1"
loaded 1
check "the disk is right" cmp "$T/disk" "$T/d1"
check "then it is done" grep -q '"state": "done"' "$T/stats1"
check "the progress has a total" grep -q "^[0-9]* $((chunks << 20))$" "$T/client1.json"
check "and reaches it" grep -q "^$((chunks << 20)) $((chunks << 20))$" "$T/client1.json"
check "it was said once only" [ "$(grep -c "nothing was heard" "$T/client1.log")" = 1 ]
clients() { json -1 "$T/stats" 'sessions[0].clients[*].state' 2> /dev/null; }
is_done() { [ "$(clients)" = done ]; }
check "the server knows that it is done" soon is_done
check "and counts it" grep -q '"clients_done": 1' "$T/stats"
check "lines of the log have a time" grep -qE '^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8} frisbeed: client joined' "$T/server.log"
kill "$SERVER"; wait "$SERVER"

echo "== a load that is ended before its time"
serve -T 0 -W 2M "$T/disk.ndz"
load 1 /run/d2	# in memory: a busy disk could make it end without a word
is_loading() { [ "$(clients)" = loading ] && grep -q '"progress": 0.[1-9]' "$T/stats"; }
check "the server knows how far it is" soon is_loading
kill "${LOADS[1]}"; wait "${LOADS[1]}"	# timeout says it to frisbee twice at once, which is no second signal
is_failed() { [ "$(clients)" = failed ]; }
check "and that it was ended before its time" soon is_failed
kill "$SERVER"; wait "$SERVER"
check "the log names who has not finished" grep -q 'client unfinished addr=10.9.0.11 .*state="failed"' "$T/server.log"
check "and counts" grep -q 'done .*clients=1 clients_done=0 ' "$T/server.log"

echo "== it waits for two, and ends when both are done"
serve -T 0 --wait 2 --until 2 "$T/disk.ndz"
load 1 "$T/d3"
soon grep -q "client joined addr=10.9.0.11" "$T/server.log"
nothing_for 0.6 "the statistics are written each fifth of a second"
check "nothing is sent to one" [ "$(stat_of "$T/stats" blocks_sent)" = 0 ]
load 2 "$T/d4"
loaded 1; loaded 2
check "the disks are right" cmp "$T/disk" "$T/d3"
check "both" cmp "$T/disk" "$T/d4"
wait "$SERVER"
check "the server ends by itself" [ $? = 0 ]
check "the log says that both are done" grep -q 'done .*clients=2 clients_done=2 ' "$T/server.log"
check "and nobody is missing" eval '! grep -q "client unfinished" "$T/server.log"'
check "it counted both" [ "$(stat_of "$T/server.json" joins)" -ge 2 ]
finish
