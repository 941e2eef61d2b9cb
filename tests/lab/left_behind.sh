#!/usr/bin/env bash
# A client of the base protocol behind 50 Mbit/s, as original ones are, stays when three
# others behind 1 Gbit/s have left.  What suited these must not stay the rate: it takes at
# most 1.15 times as long as alone.  A short image ends before the rate has been found, so
# this takes two minutes: it is a part of tests/long, with LONG=1.
. "$(dirname "$0")/lib.sh"
[ -n "${LONG:-}" ] || skip "takes two minutes: tests/long left_behind"
requires tc
lab_up 4
on s ip link set eth0 gso_max_segs 1 || skip "cannot limit segmentation"
on s tc qdisc add dev eth0 root tbf rate 1gbit burst 64k limit 512k 2> /dev/null ||
	skip "no tbf here"
tc qdisc add dev p1 root tbf rate 50mbit burst 1600 limit 60k
for i in 2 3 4; do tc qdisc add dev p$i root tbf rate 1gbit burst 64k limit 128k; done
take random:192M disk disk.ndz
image=$(($(stat -c %s "$T/disk.ndz") / 1024))

# How long client 1 takes, and what is sent until it is done.
slow_one() {	# KINDS OF THE OTHERS...
	local start i=1 kind
	load 1 --base "$T/d1"
	# shellcheck disable=SC2086
	for kind; do load $((++i)) $kind "$T/d$i"; done
	for ((i = 1; i <= $# + 1; i++)); do waiting "$i"; done
	serve -T -1 "$T/disk.ndz"
	start=$(date +%s%N)
	for ((i = $# + 1; i > 0; i--)); do loaded "$i"; done
	took=$((($(date +%s%N) - start) / 1000000))
	wait "$SERVER"
	for ((i = 1; i <= $# + 1; i++)); do check "client $i" cmp "$T/disk" "$T/d$i"; done
	sent=$(($(stat_of "$T/server.json" blocks_sent) + \
	    $(stat_of "$T/server.json" parity_sent)))
	echo "$*: $took ms; $sent blocks were sent, the image has $image"
}
slow_one; alone=$took
slow_one -q -q -q
check "no more than six images are sent" [ "$sent" -le $((6 * image)) ]
check "at most 1.15 times as long as alone" [ $((100 * took)) -le $((115 * alone)) ]
finish
