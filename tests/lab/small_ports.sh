#!/usr/bin/env bash
# Clients behind ports of 50 Mbit/s that hold 4 to 16 KB, and a server on a faster link: its
# bursts fit into them.  Shares of what was sent and lost, no times.
. "$(dirname "$0")/lib.sh"
requires tc
lab_up 2
on s ip link set eth0 gso_max_segs 1 || skip "cannot limit segmentation"
head -c 8M /dev/urandom > "$T/disk"
"$BIN/imagezip" -q -r --fast "$T/disk" "$T/disk.ndz" || fail "imagezip"
image=$(($(stat -c %s "$T/disk.ndz") / 1024))

ports_hold() {	# BYTES: a bucket of one packet, which is all that passes at once
	local i
	for i in 1 2; do
		tc qdisc del dev p$i root 2> /dev/null
		tc qdisc add dev p$i root tbf rate 50mbit burst 1600 limit "$1" 2> /dev/null ||
		    skip "no tbf here"
	done
}
dropped() { tc -s qdisc show dev "p$1" | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'; }
all_load() {	# OPTIONS OF THE SERVER...
	local i
	for i in 1 2; do load $i "$T/d$i"; done
	waiting 1 2
	serve -T -1 "$@" "$T/disk.ndz"
	renice -n -15 -p $(ls "/proc/$SERVER/task") > /dev/null || skip "cannot give the server a higher priority"
	for i in 1 2; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
	wait "$SERVER"
	sent=$(($(stat_of "$T/server.json" blocks_sent) + \
	    $(stat_of "$T/server.json" parity_sent)))
	lost=$(dropped 1)
	echo "$image blocks; $sent sent, $lost of them lost at a port"
}

# On a busy machine the server would wake late, and send at once more than 4 KB hold: this is
# about its bursts, so it has a higher priority than what runs beside it.
for ports in 4096:25 8192:10 16384:10; do
	bytes=${ports%:*} most=${ports#*:}
	echo "== ports of $bytes bytes, 45 Mbit/s"
	ports_hold $bytes
	all_load -W 45M
	check "at most an eighth is sent in addition" [ $((8 * sent)) -le $((9 * image)) ]
	check "at most $most % are lost" [ $((100 * lost)) -le $((most * sent)) ]
done

echo "== ports of 16384 bytes, and the rate is found"
ports_hold 16384
all_load
check "at most three quarters are sent in addition" [ $((4 * sent)) -le $((7 * image)) ]
finish
