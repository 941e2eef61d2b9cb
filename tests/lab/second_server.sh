#!/usr/bin/env bash
# Two servers on one group and port, by mistake, by force, and one after the other; and a
# file that is touched, or changed, while it is served.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 3	# two clients; the third one serves, too

python3 - "$T/disk" "$T/disk2" << 'PY'
import random, sys
for seed, name in ((5, sys.argv[1]), (6, sys.argv[2])):
    with open(name, "wb") as f:
        f.write(random.Random(seed).randbytes(18 << 20))
PY
for d in disk disk2; do "$BIN/imagezip" -q -r "$T/$d" "$T/$d.ndz" || fail "imagezip"; done
cp "$T/disk.ndz" "$T/copy.ndz"

second() {	# OPTIONS... IMAGE: another frisbeed, at the third node
	: > "$T/second.log"
	ip netns exec "${LAB}3" "$BIN/frisbeed" -d -m $GROUP -p $PORT "$@" 2> "$T/second.log" & SECOND=$!; PIDS+=($SECOND)
	begins $SECOND grep -q serving "$T/second.log" || fail "the second frisbeed did not start: $(cat "$T/second.log")"
}
both_loaded() {	# WHAT
	for i in 1 2; do loaded $i; check "$1: client $i" cmp "$T/disk" "$T/d$i"; done
}
end() { kill "$@" 2> /dev/null; wait "$@" 2> /dev/null; }

echo "== a second one does not begin"
serve -W 80M "$T/disk.ndz"
load 1 "$T/d1"; load 2 --base "$T/d2"; begun 2
status 98 on 3 timeout 240 "$BIN/frisbeed" -m $GROUP -p $PORT "$T/disk2.ndz"
check "it says who serves" grep -q "another frisbeed at 10.9.0.1 serves $GROUP:$PORT already" "$T/stderr"
both_loaded "undisturbed"
check "nobody was taken for a client" [ "$(grep -c "client joined addr=10.9.0.13" "$T/server.log")" = 0 ]
end $SERVER
for kind in "--base $T/disk.ndz" "$T/disk2"; do
	# shellcheck disable=SC2086
	serve_one $kind
	status 98 on 3 timeout 240 "$BIN/frisbeed" -m $GROUP -p $PORT "$T/disk2.ndz"
	nothing_for 0.6 "it would end after a fifth of a second"
	check "the first one goes on" kill -0 $SERVER
	end $SERVER
done

echo "== by force: each client keeps to the server that it began with"
serve -W 6M "$T/disk.ndz"
load 1 "$T/d1"; load 2 --base "$T/d2"; begun 2
# At this rate the loads last far longer than a busy machine needs to start a server.
second --force -W 6M "$T/disk2.ndz"
both_loaded "kept"
for l in server:10.9.0.13 second:10.9.0.1; do
	soon grep -q "another frisbeed at ${l#*:} serves this group and port" "$T/${l%:*}.log"
	check "${l%:*} names the other, once" [ "$(grep -c "another frisbeed at ${l#*:} serves this group and port" "$T/${l%:*}.log")" = 1 ]
done
check "client 1 says that there are two" grep -q \
    "10.9.0.13 serves another image to this group than 10.9.0.1, whose.*-S.*--verify-key" \
    "$T/client1.log"
check "and once" [ "$(grep -c "serves another image" "$T/client1.log")" = 1 ]
check "in --json, too" json "$T/client1.json" other_server=10.9.0.13
check "the server names -S and --verify-key" \
    grep -q "another frisbeed.*-S 10.9.0.1).*--verify-key" "$T/server.log"
end $SERVER $SECOND

echo "== one is killed, another one with a copy takes over, without force"
serve -W 60M "$T/disk.ndz"
load 1 "$T/d1"; load 2 --base "$T/d2"; begun 2
kill -9 $SERVER; wait $SERVER 2> /dev/null
second -W 60M "$T/copy.ndz"
both_loaded "taken over"
end $SECOND

echo "== the file is touched: nothing ends"
cp "$T/disk.ndz" "$T/file.ndz"
serve -W 40M "$T/file.ndz"
load 1 "$T/d1"; load 2 --base "$T/d2"; begun 2
touch "$T/file.ndz"
both_loaded "touched"
check "the server has looked" soon grep -q "was touched, but its content is the same" "$T/server.log"

echo "== ... one byte is another one: everybody is told"
joined() { grep -c "client joined addr=10.9.0.11" "$T/server.log"; }
before=$(joined)
load 1 "$T/d1"
comes_again() { [ "$(joined)" -gt "$before" ]; }
soon comes_again || fail "client 1 does not join again"
spoil_byte "$T/file.ndz" $((15 * 1048576 + 70000))
wait "${LOADS[1]}"; rc=$?
check "client 1 ends with 3: $rc" [ $rc = 3 ]
check "and says why" grep -q "10.9.0.1 says that its image file was changed" "$T/client1.log" || cat "$T/client1.log"
wait $SERVER; check "the server ends with 1" [ $? = 1 ]
check "and says why" grep -q "was changed" "$T/server.log"

echo "== the address of one machine"
ip netns exec "${LAB}s" "$BIN/frisbeed" -q -m 10.9.0.1 -p $PORT -A "$T/where" "$T/disk.ndz" 2> "$T/stderr" & SERVER=$!; PIDS+=($SERVER)
check "it serves" begins $SERVER [ -s "$T/where" ]
end $SERVER
check "one line of warning" grep -q "10.9.0.1 is the address of one machine.*--unicast" "$T/stderr"
check "and no more" [ "$(wc -l < "$T/stderr")" = 1 ]
finish
