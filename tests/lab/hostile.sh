#!/usr/bin/env bash
# Neighbours that lie about a session, from their own address and with the server's: the
# loads go on, and the disks are right.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 3	# two clients; the third one lies

take random:8M disk disk.ndz=plain.ndz
"$BIN/imagekey" -q --sign-key "$T/sign" && "$BIN/imagekey" -q --encrypt-key "$T/secret" || fail "imagekey"
"$BIN/imagezip" -q -r --sign "$T/sign.key" "$T/disk" "$T/signed.ndz" || fail "imagezip --sign"
"$BIN/imagezip" -q -r --codec=zstd --encrypt "$T/secret" --sign "$T/sign.key" "$T/disk" "$T/secret.ndz" || fail "imagezip --encrypt"

liar() {	# SECONDS IMAGE AS LIE...: in the background
	on 3 python3 "$TOP/tests/helpers/hostile.py" 10.9.0.13 $GROUP $PORT "$@" > "$T/liar" 2>&1 & LIAR=$!; PIDS+=($LIAR)
}
both_joined() { [ "$(grep -c "client joined addr=10.9.0.1[12]" "$T/server.log")" -ge 2 ]; }
# WHAT IMAGE "OPTIONS OF THE CLIENTS" SECONDS AS LIE...: the clients load while somebody lies
lied_to() {
	local what=$1 image=$2 options=$3 seconds=$4; shift 4
	# So slowly that lies fall into the load, also when whoever lies is slow to start.
	serve -W ${RATE:-30M} "$T/$image"
	# shellcheck disable=SC2086
	load 1 $options "$T/d1"
	# shellcheck disable=SC2086
	load 2 $options "$T/d2"
	soon both_joined || fail "$what: the clients do not join"
	liar "$seconds" "$T/$image" "$@"
	for i in 1 2; do loaded $i; check "$what: client $i" cmp "$T/disk" "$T/d$i"; done
	wait $LIAR; check "$what: there were lies: $(tail -n 1 "$T/liar")" grep -q "^sent [1-9]" "$T/liar"
	kill $SERVER; wait $SERVER; check "$what: the server ends well" [ $? = 0 ]
	sent=$(stat_of "$T/server.json" blocks_sent)
	echo "$sent blocks, $(stat_of "$T/server.json" parity_sent) of parity"
}

echo "== with its own address: nothing of it counts"
lied_to stranger plain.ndz "" 2 own stale other-image other-size other-session wrong-block wrong-parity wrong-end encrypted
check "nothing was damaged" [ "$(stat_of "$T/client1.json" blocks_damaged)$(stat_of "$T/client2.json" blocks_damaged)" = 00 ]
echo "== ... to an old client, too"
lied_to stranger plain.ndz --base 2 own other-size wrong-block encrypted
check "nothing was damaged" [ "$(stat_of "$T/client1.json" blocks_damaged)$(stat_of "$T/client2.json" blocks_damaged)" = 00 ]

if on 3 python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)" 2> /dev/null; then
echo "== with the server's address: it is not believed"
lied_to ends plain.ndz "" 2 server stale other-image other-size
lied_to ends signed.ndz "--verify-key $T/sign.pub" 2 server stale other-image other-size other-session
echo "== ... and what it spoils comes again, when it ends"
# A lie behind the block itself spoils nothing; that comes after two thirds of the load.
RATE=12M lied_to spoils plain.ndz "" 2 server wrong-block
check "something was damaged" [ "$(stat_of "$T/client1.json" blocks_damaged)" -gt 0 ]
check "it was not asked for all the time: $sent" [ "$sent" -lt 25000 ]
lied_to spoils plain.ndz "" 1.2 server no-extension wrong-end wrong-parity
lied_to spoils signed.ndz "--verify-key $T/sign.pub" 1.2 server encrypted no-extension
lied_to spoils secret.ndz "--verify-key $T/sign.pub --decrypt $T/secret" 1.2 server wrong-block
echo "== ... into a pipe, where those behind it wait"
serve -W 60M "$T/plain.ndz"
liar 1.2 "$T/plain.ndz" server wrong-block
on 1 timeout 240 "$BIN/frisbee" -q -m $GROUP -p $PORT - 2> "$T/stderr" | cat > "$T/d1"
check "the pipe: $(cat "$T/stderr")" [ "${PIPESTATUS[0]}" = 0 ]
check "what came out of it" cmp "$T/d1" "$T/disk"
wait $LIAR; kill $SERVER; wait $SERVER
else
	echo "raw sockets are not allowed here: forged addresses are left out"
fi

echo "== -T -1: who only joins and leaves was not the last client"
serve_one "$T/plain.ndz"
on 3 python3 "$TOP/tests/helpers/hostile.py" 10.9.0.13 $GROUP $PORT 0 - own join || fail "joining"
soon grep -q "client left" "$T/server.log" || fail "nobody left"
nothing_for 0.6 "it would end after a fifth of a second"
check "the server is there" kill -0 $SERVER
load 1 "$T/d1"; loaded 1; check "client 1" cmp "$T/disk" "$T/d1"
wait $SERVER; check "then it ends" [ $? = 0 ]

echo "== a file is told from an image"
head -c 300000 "$T/disk" > "$T/file"; head -c 2097152 "$T/disk" > "$T/whole"
for f in file whole; do
	serve "$T/$f"
	for o in "" --base; do
		# shellcheck disable=SC2086
		status 3 on 1 timeout 240 "$BIN/frisbee" $o -m $GROUP -p $PORT "$T/none"
		check "$f: it says so" grep -q "10.9.0.1 serves a file, not an image: use -N" "$T/stderr"
	done
	load 1 -N "$T/copy"; loaded 1; check "$f: with -N" cmp "$T/$f" "$T/copy"
	kill $SERVER; wait $SERVER
done
serve "$T/file"
on 1 "$BIN/frisbee" --doctor -m $GROUP -p $PORT > "$T/doctor" 2>&1
check "the doctor says so" grep -q "10.9.0.1.* serves a file, not an image: use -N" "$T/doctor"
kill $SERVER; wait $SERVER
finish
