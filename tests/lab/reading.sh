#!/usr/bin/env bash
# A running session as a disk: what is read while it comes is right and comes first, all others load as
# ever, and the end of the session is told.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../cli/nbd_lib.sh"
requires python3
lab_up 4
take random:24M disk disk.ndz
READS=$TOP/tests/helpers/nbd_reads.py
mkdir "$T/work"
attach() {	# NODE SOCKET [OPTION...]: an nbdkit that takes part in the session
	rm -f "$T/$2.pid"
	ip netns exec "$LAB$1" nbdkit "${@:3}" -f -U "$T/$2" -P "$T/$2.pid" "$PLUGIN" image="frisbee://$GROUP:$PORT" work="$T/work" 2> "$T/$2.log" &
	NBDKIT=$!; PIDS+=($NBDKIT)
	begins $NBDKIT [ -s "$T/$2.pid" ] || fail "nbdkit does not start: $(cat "$T/$2.log")"
}

echo "== reads while it comes"
serve -T 0 -W 18M "$T/disk.ndz"
load 2 "$T/d2"; load 3 "$T/d3"; begun 2
attach 1 one
sent=$(stat_of "$T/stats" blocks_sent)
check "it can be read when $sent of 24600 blocks were sent" [ "$sent" -lt 20000 ]
check "reads of any place and size" python3 "$READS" random "$T/one" "$T/disk" 60
for i in 2 3; do loaded $i; check "client $i has the disk" cmp "$T/disk" "$T/d$i"; done
was_urgent() { [ "$(stat_of "$T/stats" urgent_sent)" -gt 100 ]; } 2> /dev/null
check "blocks were sent since somebody waited for them" soon was_urgent
check "all of it is right" cmp "$T/disk" <(nbdcopy "nbd+unix:///?socket=$T/one" -)
echo "== when the session has ended"
kill "$SERVER"; wait "$SERVER"
check "what has come is still there" python3 "$READS" random "$T/one" "$T/disk" 60
kill $NBDKIT; wait $NBDKIT
check "no complaint: $(cat "$T/one.log")" [ ! -s "$T/one.log" ]
check "what it kept is gone" [ -z "$(ls -A "$T/work")" ]

echo "== what the chunks say comes in the background"
serve -T 0 -W 8M "$T/disk.ndz"
attach 1 tables -D ndz.tables=1
check "reads meanwhile" python3 "$READS" random "$T/tables" "$T/disk" 5
chunks=$(($(stat -c %s "$T/disk.ndz") >> 20))
check "the tables come" \
    soon grep -q "the fragment tables of $chunks chunks came in [0-9.]* s" "$T/tables.log"
sent=$(stat_of "$T/stats" blocks_sent)
check "long before the image: $sent of 24600 blocks were sent" [ "$sent" -lt 15000 ]
kill $NBDKIT; wait $NBDKIT
kill "$SERVER"; wait "$SERVER"

echo "== a session that is killed in the middle"
serve -T 0 -W 8M "$T/disk.ndz"
attach 1 two
kill -9 "$SERVER"; wait "$SERVER" 2> /dev/null
timeout 400 nbdcopy "nbd+unix:///?socket=$T/two" /dev/null 2> /dev/null & reader=$!
of_nbdcopy() { read -r nbdcopy < "/proc/$reader/task/$reader/children"; echo "$nbdcopy"; }
has_socket() { ls -l "/proc/$(of_nbdcopy)/fd" | grep -q socket:; } 2> /dev/null
begins $reader has_socket || fail "nobody reads"
nothing_for 0.3 "it connects, and what it waits for does not come"
kill $NBDKIT
has_ended() { ! builtin kill -0 "$1" 2> /dev/null; }
check "nbdkit ends when it is told to, though a reader waits" soon has_ended $NBDKIT
wait $NBDKIT; wait $reader
check "nothing is left" [ -z "$(ls -A "$T/work")" ]
echo "== a session that falls silent"
serve -T 0 -W 8M "$T/disk.ndz"
export STREAM_SESSION_SECONDS=2
attach 1 silent
# nbdkit answers nobody before the source is open.
check "it is open" eval 'nbdinfo --size "nbd+unix:///?socket=$T/silent" > /dev/null'
kill -9 "$SERVER"; wait "$SERVER" 2> /dev/null
if timeout 240 nbdcopy "nbd+unix:///?socket=$T/silent" /dev/null 2> /dev/null; then fail "all of it was read"; fi
check "who reads is told: $(tail -n 1 "$T/silent.log")" grep -q "nothing was heard" "$T/silent.log"
check "nbdkit goes on" builtin kill -0 $NBDKIT
serve -T 0 -W 8M "$T/disk.ndz"
check "when the session is there again, it can be read" soon python3 "$READS" random "$T/silent" "$T/disk" 5
kill $NBDKIT; wait $NBDKIT
kill "$SERVER"; wait "$SERVER"
unset STREAM_SESSION_SECONDS
echo "== one client alone, by unicast"
ip netns exec "${LAB}s" "$BIN/frisbeed" -d --unicast -m 10.9.0.1 -p $PORT -W 25M "$T/disk.ndz" > /dev/null 2> "$T/unicast.log" & PIDS+=($!); UNICAST=$!
begins $UNICAST grep -q serving "$T/unicast.log" || fail "frisbeed did not start: $(cat "$T/unicast.log")"
GROUP=10.9.0.1; attach 4 three
check "reads of any place and size" python3 "$READS" random "$T/three" "$T/disk" 60
kill $NBDKIT; wait $NBDKIT; kill $UNICAST; wait $UNICAST
finish
