#!/usr/bin/env bash
# Neighbours of a session that is read while it comes: one who waits for everything costs the others half of the rate
# at most, and a bit that flips is never given to a reader.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../cli/nbd_lib.sh"
requires python3
lab_up 4	# 1 reads, 2 and 3 load, 4 does harm
take random:16M disk disk.ndz
READS=$TOP/tests/helpers/nbd_reads.py
mkdir "$T/work"
attach() {	# an nbdkit at node 1 that takes part in the session
	rm -f "$T/pid" "$T/sock"
	ip netns exec "${LAB}1" nbdkit -f -U "$T/sock" -P "$T/pid" "$PLUGIN" image="frisbee://$GROUP:$PORT" work="$T/work" 2> "$T/nbd.log" & NBDKIT=$!; PIDS+=($!)
	begins $NBDKIT [ -s "$T/pid" ] || fail "nbdkit does not start: $(cat "$T/nbd.log")"
}
harm() {	# SECONDS AS LIE...
	on 4 python3 "$TOP/tests/helpers/hostile.py" 10.9.0.14 $GROUP $PORT "$1" "$T/disk.ndz" "${@:2}" > "$T/liar" 2>&1 & LIAR=$!; PIDS+=($LIAR)
}
# Everybody gets what is right while there is harm: SECONDS AS LIE...
all_is_right() {
	load 2 "$T/d2"; load 3 "$T/d3"; begun 2
	harm "$@"
	attach
	check "reads of any place and size" python3 "$READS" random "$T/sock" "$T/disk" 60
	for i in 2 3; do loaded $i; check "client $i has the disk" cmp "$T/disk" "$T/d$i"; done
}
ended() {
	wait $LIAR; check "there was harm: $(tail -n 1 "$T/liar")" grep -q "^sent [1-9]" "$T/liar"
	check "all of it is right" cmp "$T/disk" <(nbdcopy "nbd+unix:///?socket=$T/sock" -)
	kill $NBDKIT; wait $NBDKIT
	check "no complaint: $(cat "$T/nbd.log")" [ ! -s "$T/nbd.log" ]
	kill "$SERVER"; wait "$SERVER"
}

echo "== somebody waits for everything"
serve -T 0 -W 40M "$T/disk.ndz"
all_is_right 3 own asks-all
# They are from within the last second: others waited to be sent then.
urgent=$(stat_of "$T/stats" urgent_sent) others=$(($(stat_of "$T/stats" blocks_sent) + $(stat_of "$T/stats" parity_sent)))
check "$urgent blocks were sent since somebody waited for them" [ "$urgent" -gt 2000 ]
check "$others others were sent meanwhile" [ "$urgent" -le $((others + 256)) ]
ended

if on 4 python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)" 2> /dev/null; then
echo "== bits flip in what readers wait for"
serve -T 0 -W 40M "$T/disk.ndz"
all_is_right 4 server flipped flipped flipped
ended
else
	echo "raw sockets are not allowed here: forged addresses are left out"
fi
finish
