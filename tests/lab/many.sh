#!/usr/bin/env bash
# Several images from one server, several unicast clients, and strangers.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 6

take striped:128.5 disk=a disk.ndz=a.ndz; take striped:128.6 disk=b disk.ndz=b.ndz; take striped:24.7 disk=c disk.ndz=c.ndz
A=239.192.7.7 B2=239.192.7.8 C=239.192.7.9
# session N KEY: of the statistics of the session number N
session() { json "${STATS:-$T/server.json}" "sessions[$1].$2"; }
within() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ]; }	# N LEAST MOST
many() {	# OPTIONS... IMAGES: like serve, of which each names its place
	: > "$T/server.log"; rm -f "$T/where" "$T/stats"
	FRISBEE_TEST_TIMES=$TIMES ip netns exec "${LAB}s" "$BIN/frisbeed" -d -p $PORT --json \
	    -A "$T/where" --stats "$T/stats" "$@" > "$T/server.json" 2> "$T/server.log" &
	SERVER=$!; PIDS+=($SERVER)
	begins $SERVER eval '[ -s "$T/where" ] && [ -s "$T/stats" ] && grep -q serving "$T/server.log"' || fail "frisbeed did not start: $(cat "$T/server.log")"
}
rss() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }	# kB

echo "== three images at once, old clients and new ones"
many -m $A+ -T -1 -W 200M "$T/a.ndz" "$T/b.ndz" "$T/c.ndz@$C:$((PORT + 20))"
check "the addresses are listed" diff "$T/where" - << END
$A:$PORT $T/a.ndz
$B2:$PORT $T/b.ndz
$C:$((PORT + 20)) $T/c.ndz
END
GROUP=$A load 1 "$T/d1"; GROUP=$A load 2 --base "$T/d2"
GROUP=$B2 load 3 "$T/d3"; GROUP=$B2 load 4 --base "$T/d4"
GROUP=$C PORT=$((PORT + 20)) load 5 "$T/d5"
for i in 1 2; do loaded $i; check "client $i" cmp "$T/a" "$T/d$i"; done
for i in 3 4; do loaded $i; check "client $i" cmp "$T/b" "$T/d$i"; done
loaded 5; check "client 5" cmp "$T/c" "$T/d5"
wait $SERVER; check "all ended with their clients: 0" [ $? = 0 ]
for n in 0 1 2; do check "session $n is in the statistics" [ "$(session $n state) $(session $n leaves)" != "ended 0" ]; done
check "the file says the same at the end" diff <(STATS=$T/stats session 0 blocks_sent) <(session 0 blocks_sent)
check "the sum is that of the sessions" [ "$(stat_of "$T/server.json" blocks_sent)" = $(($(session 0 blocks_sent) + $(session 1 blocks_sent) + $(session 2 blocks_sent))) ]

echo "== one rate for both: half each, then all for who is left"
many -T -1 -W 60M "$T/a.ndz@$A" "$T/b.ndz@$B2"
GROUP=$A load 1 "$T/d1"; GROUP=$B2 load 3 "$T/d3"
python3 - "$T/stats" > "$T/halves" << 'PY' &
import json, sys, time
# While both are loading: what each has sent from the first look to the last.
looks, end = [], time.monotonic() + 240
while time.monotonic() < end:
    s = json.load(open(sys.argv[1]))["sessions"]
    if any(x["leaves"] for x in s):
        break
    n = [x["blocks_sent"] + x["parity_sent"] for x in s]
    if all(n) and (not looks or n != looks[-1]):
        looks.append(n)
    time.sleep(0.05)
print(*(b - a for a, b in zip(looks[0], looks[-1])))
PY
looking=$!
for i in 1 3; do loaded $i; done; wait $looking
check "client 1" cmp "$T/a" "$T/d1"; check "client 3" cmp "$T/b" "$T/d3"
wait $SERVER
read -r first second < "$T/halves"
echo "blocks meanwhile: $first $second"
check "each sends its half, about" [ $((first * 3)) -ge $second ] && check "of it" [ $((second * 3)) -ge $first ]
rate=$(json "$T/server.json" mean_rate_bits_per_s); rate=${rate%.*}
check "not faster than allowed: $rate" [ "$rate" -le 63000000 ]

echo "== a session that sends nothing leaves its part to the other"
many -T -1 -W 80M "$T/a.ndz@$A" "$T/b.ndz@$B2"
GROUP=$A load 1 "$T/d1"
may_send_more() { most=$(STATS=$T/stats session 0 limit_bits_per_s); [ "$most" -ge 60000000 ]; }	# half is 40 M
begins $SERVER may_send_more
check "it may send more than half: $most" within "$most" 60000000 80000000
loaded 1; check "client 1" cmp "$T/a" "$T/d1"
kill $SERVER; wait $SERVER

echo "== one image is cut short, one was bad from the start; the third is served on"
cp "$T/b.ndz" "$T/cut.ndz"; head -c 1500000 "$T/c.ndz" > "$T/bad.ndz"
many -T -1 -W 60M "$T/cut.ndz@$B2" "$T/bad.ndz@$C" "$T/a.ndz@$A"
GROUP=$A load 1 "$T/d1"; GROUP=$A load 2 --base "$T/d2"; GROUP=$B2 load 3 -T 3 "$T/d3"
begun 1; truncate -s 2M "$T/cut.ndz"
for i in 1 2; do loaded $i; check "client $i" cmp "$T/a" "$T/d$i"; done
wait "${LOADS[3]}"; check "the client of the one that was cut fails" [ $? != 0 ]
wait $SERVER; rc=$?
check "the exit status is the first failure's: $rc" [ $rc = 1 -o $rc = 3 ]
check "the bad one is named" grep -q "session failed file=$T/bad.ndz.*truncated" "$T/server.log"
check "and the one that was cut" grep -q "session failed file=$T/cut.ndz" "$T/server.log"
check "states" [ "$(session 0 state) $(session 1 state) $(session 2 state)" = "failed failed ended" ]

echo "== unicast: many clients at once, from any port and from the server's own, with loss"
lab_loss 3 30
many --unicast -m 10.9.0.1 -T -1 -W 300M "$T/a.ndz"
for i in 1 2 3; do GROUP=10.9.0.1 load $i --unicast "$T/d$i"; done
GROUP=10.9.0.1 load 4 "$T/d4"; GROUP=10.9.0.1 load 5 --base "$T/d5"
on 6 timeout 240 "$BIN/frisbee" -q --unicast -m 10.9.0.1 -p $PORT -O "$T/d6" & six=$!
on 6 timeout 240 "$BIN/frisbee" -q --unicast -m 10.9.0.1 -p $PORT "$T/d7" & seven=$!
for i in 1 2 3 4 5; do loaded $i; check "client $i" cmp "$T/a" "$T/d$i"; done
wait $six && wait $seven || fail "two on one host"
for i in 6 7; do check "one of two on a host" cmp "$T/a" "$T/d$i"; done
wait $SERVER; check "ended with the last client" [ $? = 0 ]
check "each was sent what it asked" [ "$(stat_of "$T/server.json" blocks_sent)" -ge $((7 * $(stat -c %s "$T/a.ndz") / 1024)) ]
check "seven rows" [ "$(session 0 clients_known)" = 7 ]

echo "== unicast: no room for more; a client is killed; the server starts anew"
many --unicast -m 10.9.0.1 --unicast-clients 2 -W 100M "$T/a.ndz"
for i in 1 2 4; do GROUP=10.9.0.1 load $i --unicast "$T/d$i"; done
begun 1; kill $SERVER; wait $SERVER
many --unicast -m 10.9.0.1 --unicast-clients 2 -W 100M "$T/a.ndz"
for i in 1 2 4; do loaded $i; check "client $i" cmp "$T/a" "$T/d$i"; done
check "it says so" grep -q "no room for more clients" "$T/server.log"
status 98 on s timeout 240 "$BIN/frisbeed" --unicast -m 10.9.0.1 -p $PORT "$T/a.ndz"
kill $SERVER; wait $SERVER; check "SIGTERM: 0" [ $? = 0 ]

echo "== strangers"
STRANGERS=${STRANGERS:-60000}
many -T 0 -W 30M "$T/a.ndz@$A" "$T/b.ndz@$B2"
GROUP=$A load 1 "$T/d1"; GROUP=$A load 2 --base "$T/d2"; begun 1
before=$(rss $SERVER)
# 30 Mbit/s are 3342 blocks a second.
on 4 python3 "$TOP/tests/helpers/strangers.py" 10.9.0.14 $A $PORT $STRANGERS 33000 1 & flood=$!
on 5 python3 "$TOP/tests/helpers/strangers.py" 10.9.0.15 $B2 $PORT $((STRANGERS / 4)) 33000 2 & flood2=$!
wait $flood; wait $flood2; after=$(rss $SERVER)
for i in 1 2; do loaded $i; check "client $i in spite of them" cmp "$T/a" "$T/d$i"; done
kill $SERVER; wait $SERVER
echo "memory before $before kB, after $after kB; $(session 0 bad_packets) bad packets; joins $(session 0 joins)"
check "the server has not grown: $before kB, $after kB" [ "$after" -lt $((before + 16384)) ]
check "it has heard them" [ "$(session 0 bad_packets)" -gt 1000 ]
check "the log was not filled" [ "$(wc -l < "$T/server.log")" -lt 2000 ]
check "few blocks again" within "$(session 0 blocks_resent)" 0 $((3 * $(stat -c %s "$T/a.ndz") / 1024))

echo "== joins and leaves from ever other addresses"
ip -n "${LAB}s" route add 10.0.0.0/8 dev eth0	# or their packets would seem to come the wrong way
many -T 0 -W 30M "$T/a.ndz@$A"
GROUP=$A load 1 "$T/d1"; GROUP=$A load 2 --base "$T/d2"; begun 1
before=$(rss $SERVER)
on 4 python3 "$TOP/tests/helpers/strangers.py" 10.9.0.14 $A $PORT $STRANGERS 33000 3 many & flood=$!
joins() { STATS=$T/stats session 0 joins; }
floods() { [ "$(joins)" -gt 100 ]; } 2> /dev/null
begins $flood floods; GROUP=$A load 3 "$T/d3"	# in the middle of it
wait $flood || fail "the flood"
# A machine that is short of time hears only some of it: again, until it was enough.
has_written() { [ "$T/stats" -nt "$T/mark" ]; }
for ((k = 0; k < 20; k++)); do
	touch "$T/mark"; soon has_written; [ "$(joins)" -le 10000 ] || break
	on 4 python3 "$TOP/tests/helpers/strangers.py" 10.9.0.14 $A $PORT $STRANGERS 33000 $((4 + k)) many
done
after=$(rss $SERVER)
for i in 1 2 3; do loaded $i; check "client $i in spite of them" cmp "$T/a" "$T/d$i"; done
kill $SERVER; wait $SERVER
echo "memory before $before kB, after $after kB; joins $(session 0 joins), at once $(session 0 clients_max)"
check "it has heard them" [ "$(session 0 joins)" -gt 10000 ]
check "so many clients are not believed" [ "$(session 0 clients_max)" -le 16384 ]
[ "${VARIANT:-plain}" = plain ] && most=24576 || most=49152	# KB: of 16384 clients, and their statistics; a sanitizer keeps what was freed for a while
check "the server has not grown" [ "$after" -lt $((before + most)) ]
check "the log was not filled" [ "$(wc -l < "$T/server.log")" -lt 1000 ]
for n in 11:true 12:false 13:true; do
	row="sessions[0].clients[address=10.9.0.${n%:*}]"
	check "who loaded is among the clients: ${n%:*}" json "$T/server.json" "$row.has_left=true" "$row.extension=${n#*:}" "$row.bytes_written>0"
done
check "few blocks again" within "$(session 0 blocks_resent)" 0 $((3 * $(stat -c %s "$T/a.ndz") / 1024))
finish
