#!/usr/bin/env bash
# One client behind a slow port, and one stranger that reports and complains all the time:
# every disk is right, and the server does not send much more for them.  Counts, not times.
. "$(dirname "$0")/lib.sh"
requires python3 tc
lab_up 7
on s ip link set eth0 gso_max_segs 1 || skip "cannot limit segmentation"
head -c 24M /dev/urandom > "$T/disk"
"$BIN/imagezip" -q -r --fast "$T/disk" "$T/disk.ndz" || fail "imagezip"
image=$(($(stat -c %s "$T/disk.ndz") / 1024))
clean=(1 2 3 4 5)

all_load() { local i; for i; do load "$i" "$T/d$i"; done; }
all_right() { local i; for i; do loaded "$i"; check "client $i" cmp "$T/disk" "$T/d$i"; done; }
sent() { echo $(($(stat_of "$1" blocks_sent) + $(stat_of "$1" parity_sent))); }
stranger() {	# REPORTS_A_SECOND report|load
	ip netns exec "${LAB}7" python3 tests/helpers/complainer.py 10.9.0.17 $GROUP $PORT "$@" & STRANGER=$!; PIDS+=($STRANGER)
	begins $STRANGER listens_to_group 7 || fail "there is no stranger"	# it has to join before the others are done
}
stop_stranger() { kill $STRANGER; wait $STRANGER 2> /dev/null; }

echo "== a port that carries half of what is sent"
tc qdisc add dev p6 root tbf rate 30mbit burst 64k latency 50ms 2> /dev/null || skip "no tbf here"
all_load "${clean[@]}" 6; waiting "${clean[@]}" 6; excused "${clean[@]}"
serve -T -1 -W 60M "$T/disk.ndz"
for i in "${clean[@]}"; do loaded "$i"; done
parity=$(stat_of "$T/stats" parity_sent) blocks=$(stat_of "$T/stats" blocks_sent)	# a second ago, at most
for i in "${clean[@]}"; do check "client $i" cmp "$T/disk" "$T/d$i"; done
all_right 6; wait $SERVER
excused "${clean[@]}"
echo "$image blocks; $blocks sent and $parity of parity when the others were done"
check "the others did not wait for parity that one needs" [ "$parity" -lt $((image / 4 + EXCUSED)) ]
check "no more than three images were sent" [ "$(sent "$T/server.json")" -lt $((3 * image + EXCUSED)) ]
tc qdisc del dev p6 root

echo "== a stranger that reports everything, all the time"
all_load "${clean[@]}"; waiting "${clean[@]}"; excused "${clean[@]}"
stranger 20 report
serve -W 60M "$T/disk.ndz"
all_right "${clean[@]}"
kill $SERVER; wait $SERVER; stop_stranger
excused "${clean[@]}"
echo "$(stat_of "$T/server.json" nacks) reports, $(sent "$T/server.json") blocks and parity"
check "reports were heard" [ "$(stat_of "$T/server.json" nacks)" -ge 10 ]
check "no more than two images were sent" [ "$(sent "$T/server.json")" -lt $((2 * image + EXCUSED)) ]

echo "== ... and one that complains about the rate"
all_load "${clean[@]}"; waiting "${clean[@]}"
stranger 40 load
serve -W 20M -D "$T/disk.ndz"	# it complains while blocks are sent: ten seconds, on a busy machine, too
# The statistics, while they load, and until it has left.
of_stranger() { json "$T/stats" "sessions[0].clients[address=10.9.0.17].$1" 2> /dev/null; }
shown() { [ "$(of_stranger state)" = "set aside" ]; }
check "the statistics show that it is set aside" soon shown
check "and what it gets: $(of_stranger share_received)" of_stranger "share_received>=0" && of_stranger "share_received<0.9"
all_right "${clean[@]}"
check "nobody else is" [ "$(grep -c '"state": "set aside"' "$T/stats")" = 1 ]
kill $SERVER; wait $SERVER; stop_stranger
loads=$(stat_of "$T/server.json" congestions) reductions=$(stat_of "$T/server.json" rate_reductions)
echo "$loads complaints, rate reduced $reductions times"
check "it complained" [ "$loads" -ge 40 ]
check "its complaints did not count" [ $((3 * reductions)) -lt "$loads" ]
check "the log names it" grep -q "10.9.0.17 alone reports losses: it gets" "$T/server.log"

echo "== ... which a terminal shows"
all_load "${clean[@]}"; waiting "${clean[@]}"
stranger 40 load
python3 tests/helpers/harmless.py run "$T/table" "set aside" \
	ip netns exec "${LAB}s" "$BIN/frisbeed" -m $GROUP -p $PORT -W 8M -D "$T/disk.ndz" & SERVER=$!; PIDS+=($SERVER)
wait $SERVER; stop_stranger
check "in its row" grep -qE "^    10.9.0.17 +set aside .* gets +[0-9.]+ %" "$T/table"
kill "${LOADS[@]}" 2> /dev/null
finish
