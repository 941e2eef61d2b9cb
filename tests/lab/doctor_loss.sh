#!/usr/bin/env bash
# frisbee --doctor: packets that get lost, at random, by their number, or by their size; and a load that must not notice.
. "$(dirname "$0")/doctor_lib.sh"
doctor_up 8
# Each in a group of its own, so that nothing else comes to its port.
for i in 1 2 3 4; do another s server$i -m 239.192.8.$i -p $((5000 + 10 * i)) "$T/disk.ndz"; done
# Each packet by itself, as on a wire.
for i in s 1 2 3 4 5 6 7 8; do on $i ip link set eth0 gso_max_segs 1 || skip "cannot limit segmentation"; done
loses() {	# NODE WHICH: of all that comes, as nft numbers packets
	rules "$1" <<< "table netdev f { chain i {
		type filter hook ingress device \"eth0\" priority 0; ip protocol udp numgen $2 drop;
	}; }"
}

echo "== 10 and 48 of 100 are lost; storm control; a link of 1 Mbit/s"
# Each tenth: by lot 20 of 100 would be lost now and then, of which other words are said.
loses 1 "inc mod 10 == 9"; loses 2 "random mod 1000 < 480"
switch << 'NFT'
table netdev storm {
	chain port {
		type filter hook egress device "p3" priority 0;
		udp dport 5030-5031 limit rate over 300/second burst 25 packets drop
	}
}
NFT
tc qdisc add dev p4 root tbf rate 1mbit burst 4k latency 50ms || skip "no tbf here"
for i in 1 2 3 4; do examine $i -m 239.192.8.$i -p $((5000 + 10 * i)); done
told 1 1; says "not ok" loss "0 % of [0-9]* packets to the server are lost, [0-9]* % of [0-9]* from it: loads work"
told 1 2; says "not ok" loss "times as many packets"; never "loads work"
limits() {	# NODE CAUSE: nothing is lost one by one, but in bursts
	told_burst "$1" -m "239.192.8.$1" -p $((5000 + 10 * $1)) || return
	says ok loss "0 % of 100 packets"
	says "not ok" burst "packets as large as blocks.*are lost"
	summed "$2"
}
limits 3 "storm control"; limits 4 "a slow link"
no_more "${SERVERS[@]}"

echo "== a port of 20 Mbit/s while a load of 60 Mbit/s runs: beside it nobody notices"
head -c 64M /dev/urandom > "$T/big"; "$BIN/imagezip" -q -r "$T/big" "$T/big.ndz" || fail "imagezip"
tc qdisc add dev p5 root tbf rate 20mbit burst 16k latency 20ms || skip "no tbf here"
serve -W 60M -T -1 "$T/big.ndz"
load 6 "$T/d6"; begun 1
doctor 1 5
says ok loss "0 % of 100 packets"
says "not ok" session "of the blocks that a session sends just now.*get lost.*about [12][0-9].* Mbit/s pass"
summed "of the blocks that a session sends"
loaded 6; check "the disk is right" cmp "$T/big" "$T/d6"
wait "$SERVER"; check "one client" [ "$(stat_of "$T/server.json" clients_max)" = 1 ]
finish
