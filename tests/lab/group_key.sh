#!/usr/bin/env bash
# Sessions with --group-key: who has the key loads, whatever neighbours send; who has not, or
# another one, takes no part and is told why.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 4	# three clients; the fourth one lies

take random:8M disk disk.ndz
for k in key other; do "$BIN/imagekey" -q --group-key "$T/$k" || fail "imagekey"; done
KEY="--group-key $T/key"

said() { grep -q "$1" "$2"; }
until_said() { soon said "$@"; }	# TEXT FILE
ends() {	# the server must end well
	[ $# = 0 ] || kill "$SERVER"
	wait "$SERVER"; check "the server ends well" [ $? = 0 ]
}

echo "== two at once, one late"
serve -T -1 -W 40M $KEY "$T/disk.ndz"
load 1 $KEY "$T/d1"; load 2 $KEY "$T/d2"; begun 1; load 3 $KEY "$T/d3"
for i in 1 2 3; do loaded $i; check "client $i has the disk" cmp "$T/disk" "$T/d$i"; done
check "with the extension" [ "$(stat_of "$T/client1.json" extension)" = true ]
ends

echo "== with losses, through the base protocol, and --only what differs"
lab_loss 2 50
serve $KEY -T -1 "$T/disk.ndz"
load 1 --base $KEY "$T/d1"; load 2 $KEY "$T/d2"; loaded 1; loaded 2
check "an old protocol, authenticated" cmp "$T/disk" "$T/d1"
check "in spite of loss" cmp "$T/disk" "$T/d2"
ends
serve $KEY "$T/disk.ndz"
spoil_byte "$T/d1" 900000
load 1 $KEY --skip-same "$T/d1"; loaded 1
check "only what differs" cmp "$T/disk" "$T/d1"
ends now

echo "== unicast, broadcast, to one machine, both on one host"
GROUP=10.9.0.1 serve --unicast $KEY -T -1 "$T/disk.ndz"
for i in 1 2 3; do GROUP=10.9.0.1 load $i --unicast $KEY "$T/d$i"; done
for i in 1 2 3; do loaded $i; check "unicast, client $i" cmp "$T/disk" "$T/d$i"; done
ends
GROUP=10.9.0.255 serve_one -b $KEY "$T/disk.ndz"
GROUP=10.9.0.255 load 1 -b $KEY "$T/d1"; loaded 1; check "broadcast" cmp "$T/disk" "$T/d1"; ends
GROUP=10.9.0.11 serve_one $KEY "$T/disk.ndz"
GROUP=10.9.0.1 load 1 $KEY "$T/d1"; loaded 1; check "one machine" cmp "$T/disk" "$T/d1"; ends
serve_one --loopback $KEY "$T/disk.ndz"
on s "$BIN/frisbee" -q --loopback $KEY -m $GROUP -p $PORT "$T/d1" || fail "loopback client"
check "loopback" cmp "$T/disk" "$T/d1"; ends
head -c 333333 "$T/disk" > "$T/file"
serve_one $KEY "$T/file"
load 1 -N $KEY "$T/copy"; loaded 1; check "any file" cmp "$T/file" "$T/copy"; ends

echo "== the server is started anew while clients load"
serve -W 30M $KEY "$T/disk.ndz"
load 1 $KEY "$T/d1"; load 3 --base $KEY "$T/d3"; begun 2
kill -9 "$SERVER"; wait "$SERVER" 2> /dev/null
serve -W 30M $KEY "$T/disk.ndz"
for i in 1 3; do loaded $i; check "client $i in spite of it" cmp "$T/disk" "$T/d$i"; done
ends now

echo "== who has not the key takes no part, and is told why"
gives_up() {	# NODE SENTENCE: it is said while it waits, and at the end
	wait "${LOADS[$1]}"; local rc=$?
	check "client $1: exit $rc" [ $rc = 110 ]
	check "client $1 says while it waits: $2" said "frisbee: warning: .*$2" "$T/client$1.log"
	check "and at the end" said "the time of -T; $2" "$T/client$1.log"
	check "and has written nothing" [ ! -e "$T/none$1" ]
}
serve $KEY "$T/disk.ndz"
load 1 -T 8 "$T/none1"; load 2 -T 8 --group-key "$T/other" "$T/none2"
gives_up 1 "the session there needs its --group-key"
gives_up 2 "the --group-key is not the one of the session there"
check "the server says who has no key" until_said "packets without authentication were ignored, the first from 10.9.0.11" "$T/server.log"
check "and who has another" until_said "packets of another --group-key were ignored, the first from 10.9.0.12" "$T/server.log"
check "once" [ "$(grep -c "were ignored" "$T/server.log")" = 2 ]
check "nothing was sent for them" [ "$(stat_of "$T/stats" blocks_sent)" = 0 ]
load 1 -T 8 "$T/none1"; load 3 $KEY "$T/d3"; loaded 3; check "who has it loads meanwhile" cmp "$T/disk" "$T/d3"
gives_up 1 "the session there needs its --group-key"
ends now
serve "$T/disk.ndz"
load 1 -T 8 $KEY "$T/none1"
gives_up 1 "no session that is heard here has a --group-key"
check "the server says so, too" until_said "authenticated packets were ignored, the first from 10.9.0.11" "$T/server.log"
ends now
GROUP=10.9.0.1 serve --unicast $KEY "$T/disk.ndz"
GROUP=10.9.0.1 load 1 -T 8 --unicast "$T/none1"
GROUP=10.9.0.1 load 2 -T 8 --unicast --group-key "$T/other" "$T/none2"
gives_up 1 "the session there needs its --group-key"
gives_up 2 "the --group-key is not the one of the session there"
ends now

echo "== the doctor"
doctor() {	# NODE EXIT WORDS OPTIONS...
	local node=$1 want=$2 words=$3 rc; shift 3
	on "$node" timeout 240 "$BIN/frisbee" --doctor -m $GROUP -p $PORT "$@" > "$T/doctor" 2>&1; rc=$?
	check "exit $rc, and it says: $words: $(tail -n 1 "$T/doctor")" said "$words" "$T/doctor" && [ $rc = "$want" ] || fail "exit $rc, not $want"
}
serve -W 93600k $KEY "$T/disk.ndz"
check "the rate has room for the headers" said "rate=89760000" "$T/server.log"
doctor 1 0 "^ok *authentication *every packet is authenticated" $KEY
check "packets with blocks pass" said "^ok *mtu *packets of 1132 bytes pass" "$T/doctor"
check "and come directly" said "^ok *unicast" "$T/doctor"
check "few are lost: $(grep "^.* loss " "$T/doctor")" said "^ok *loss" "$T/doctor"
doctor 1 1 "^packets were ignored; the session there needs its --group-key"
doctor 1 1 "^packets were ignored; the --group-key is not the one" --group-key "$T/other"
check "nobody joined" [ "$(stat_of "$T/stats" joins)" = 0 ]
ends now

echo "== a second server is found out"
serve $KEY "$T/disk.ndz"
for k in "$KEY" ""; do	# not by one with another key: to that one, this is a stranger
	# shellcheck disable=SC2086
	status 98 on 3 timeout 240 "$BIN/frisbeed" -m $GROUP -p $PORT $k "$T/disk.ndz"
	check "it says so" said "another frisbeed at 10.9.0.1 serves" "$T/stderr"
done
ends now

echo "== keys"
status 1 "$BIN/frisbee" -m $GROUP -p $PORT --group-key "$T/none" "$T/x"
"$BIN/imagekey" -q --encrypt-key "$T/encryption"
status 3 "$BIN/frisbee" -m $GROUP -p $PORT --group-key "$T/encryption" "$T/x"
check "it is of another kind" said "is a key for encryption, but a group's key is needed" "$T/stderr"
cp "$T/key" "$T/open"; chmod 644 "$T/open"
status 1 "$BIN/frisbeed" -m $GROUP -p $PORT --group-key "$T/open" "$T/disk.ndz"
check "others may read it" said "chmod 600" "$T/stderr"

on 4 python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)" 2> /dev/null ||
	{ echo "raw sockets are not allowed here: forged addresses are left out"; finish; exit; }

echo "== a neighbour that forges the server's address: nothing of it counts"
liar() {	# LIE...: in the background, until it is ended
	ip netns exec "${LAB}4" python3 "$TOP/tests/helpers/hostile.py" 10.9.0.14 $GROUP $PORT 400 "$T/disk.ndz" server "$@" > "$T/liar" 2>&1 & LIAR=$!; PIDS+=($LIAR)
}
lied_to() {	# LIE...
	serve -W 60M $KEY "$T/disk.ndz"
	liar "$@"; begins $LIAR on 4 grep -q 0707C0EF /proc/net/igmp
	load 1 $KEY "$T/d1"; load 3 $KEY "$T/d3"
	for i in 1 3; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
	check "nothing was damaged" [ "$(stat_of "$T/client1.json" blocks_damaged)$(stat_of "$T/client3.json" blocks_damaged)" = 00 ]
	kill $LIAR; wait $LIAR; check "there were lies: $(tail -n 1 "$T/liar")" said "^sent [1-9]" "$T/liar"
	ends now
	sent=$(stat_of "$T/server.json" blocks_sent)
	echo "$sent blocks"
	check "little was sent twice" [ "$sent" -lt $((3 * $(stat_of "$T/client1.json" chunks) * 1024)) ]
}
lied_to stale other-image other-size other-session wrong-block wrong-parity wrong-end encrypted no-extension
lied_to sealed-again sealed-again sealed-block sealed-stale sealed-hello sealed-stranger
check "forged ones were counted" said "packets that are forged or damaged were ignored" "$T/client1.log"

echo "== a recorded session means nothing to who comes later"
RECORDING="python3 $TOP/tests/helpers/recording.py 10.9.0.14 $GROUP $PORT"
replay() { on 4 $RECORDING replay "$T/recording" > "$T/replayed"; }
ip netns exec "${LAB}4" $RECORDING record "$T/recording" & RECORDER=$!; PIDS+=($RECORDER)
begins $RECORDER listens_to_group 4
serve_one -W 60M $KEY "$T/disk.ndz"; load 1 $KEY "$T/d1"; loaded 1; ends
kill $RECORDER; wait $RECORDER
load 2 -T 12 $KEY "$T/none2"; waiting 2
replay
check "all of it was sent again: $(cat "$T/replayed")" [ "$(sed 's/sent //' "$T/replayed")" -gt 2000 ]
wait "${LOADS[2]}"; rc=$?
check "a client loads nothing of it: exit $rc" [ $rc = 110 ]
check "and writes nothing" [ ! -e "$T/none2" ]
serve $KEY "$T/disk.ndz"
replay
nothing_for 0.6 "the statistics are written each fifth of a second"
check "a server sends nothing for it" [ "$(stat_of "$T/stats" blocks_sent)$(stat_of "$T/stats" joins)" = 00 ]
load 3 $KEY "$T/d3"; replay
loaded 3; check "and a load is not disturbed" cmp "$T/disk" "$T/d3"
ends now
finish
