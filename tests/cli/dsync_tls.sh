#!/usr/bin/env bash
# dsync to a server with a key: copies are kept as by ssh, a line that is cut does no harm, and who has another key, none, or
# only a port scanner gets nothing and hinders nobody.
. "$(dirname "$0")/lib.sh"
requires python3
own_network "$@"
PORT=$((20000 + OWN_NUMBER % 12000))
COPY="$T/a copy's file"
"$BIN/imagekey" --group-key "$T/key" > "$T/quiet" && "$BIN/imagekey" --group-key "$T/other" > "$T/quiet" || fail "imagekey"
serve() {	# OPTIONS...
	: > "$T/log"
	"$BIN/dsync" serve --key="$T/key" --listen=127.0.0.1:$PORT --dmmerge="$BIN/dmmerge" --state-dir="$T/var" "$@" "$COPY" 2> "$T/log" & SERVER=$!
	begins $SERVER grep -q "serving port=$PORT targets=1" "$T/log"
}
CLEANUP+=('kill $SERVER 2> /dev/null')
TO=tls://127.0.0.1:$PORT
d() { local c=$1; shift; "$BIN/dsync" --key="$T/key" --since=scan:"$T/state" "$@" "$c" "$T/dev" "$TO$COPY"; }
change() { dd if=/dev/urandom of="$T/dev" bs=4096 seek="$1" count="$2" conv=notrunc status=none; }
serve
head -c 9000000 /dev/urandom > "$T/dev"
check "init" quietly d init --zstd
check "equal" cmp "$T/dev" "$COPY"
change 100 3
d once --json > "$T/json" || fail "once"
check "only what has changed" json "$T/json" changed_bytes=12288
check "equal" cmp "$T/dev" "$COPY"
check "status" grep -q "^condition consistent" <(d status)
check "verify" quietly d verify
spoil_byte "$COPY" 3050000
d verify > "$T/found" 2> "$T/quiet"; check "verify finds a difference" [ $? = 4 ]
check "and where" [ "$(cat "$T/found")" = "4096 2048" ]
change 200 1; check "an option of dmmerge" quietly d init --dmmerge-options="--in-place --no-verify"
check "equal" cmp "$T/dev" "$COPY"

# What the server does not allow, and what dmmerge refuses: its sentence arrives, and the log has it.
status 2 d once --dmmerge-options=--journal=/etc/passwd
status 1 "$BIN/dsync" --key="$T/key" --since=scan:"$T/state2" init "$T/dev" "$TO$T/elsewhere"
check "another target is refused" grep -q "is not one of the targets of this server" "$T/stderr"
check "and not made" [ ! -e "$T/elsewhere" ]
for other in "$COPY.more" "${COPY%?}"; do
	status 1 "$BIN/dsync" --key="$T/key" --since=scan:"$T/state2" init "$T/dev" "$TO$other"
	check "one whose name begins alike is refused" grep -q "is not one of the targets" "$T/stderr"
	check "and not made" [ ! -e "$other" ]
done
status 1 "$BIN/dsync" --key="$T/key" --since=scan:"$T/state2" init "$T/dev" "$TO$COPY"
check "dmmerge's own sentence" grep -q "the copy of another source" "$T/stderr"
check "in the log, too" grep -q "merge: dmmerge: .*another source.* from=127.0.0.1" "$T/log"
status 1 "$BIN/dsync" serve --key="$T/key" --listen=127.0.0.1:$PORT "$COPY"

# Another key, none, a scanner: nothing is told them, and nothing changes.
cp "$COPY" "$T/before"
status 1 "$BIN/dsync" --key="$T/other" --since=scan:"$T/state" once "$T/dev" "$TO$COPY"
check "another key" grep -q "another --key, or none" "$T/stderr"
cat > "$T/strangers.py" << 'PY'
import random, socket, sys, time
r, held = random.Random(1), []
for i in range(300):                                # more than the server keeps
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    s.sendall([b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + r.randbytes(600), r.randbytes(2000), b"", b"\x16\x03\x01"][i % 5])
    held.append(s) if i % 2 else s.close()
print("here", flush=True)
sys.stdin.read()
got = 0
for s in held:
    s.settimeout(0.05)
    try:
        got += sum(1 for b in s.recv(4096) if b not in b"\x15\x03\x01\x02") > 8     # more than an alert
    except OSError:
        pass
print(got)
PY
mkfifo "$T/stop"; python3 "$T/strangers.py" $PORT < "$T/stop" > "$T/got" & strangers=$!
exec 8> "$T/stop"
begins $strangers grep -q here "$T/got"
change 300 2
check "a sync while 150 strangers hold on" quietly d once
check "equal" cmp "$T/dev" "$COPY"
exec 8>&-; wait $strangers
check "strangers were told nothing" [ "$(tail -n 1 "$T/got")" = 0 ]
check "the server has no more than its places open" [ "$(find "/proc/$SERVER/fd" -type l | wc -l)" -lt 90 ]
memory=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$SERVER/status")
instrumented || check "and little memory: $memory kB" [ "$memory" -lt 40000 ]
if command -v openssl > /dev/null; then
	hex=$(tail -n 1 "$T/other" | grep -oE '[0-9a-f]{64}' | tail -n 1)
	timeout 10 openssl s_client -connect 127.0.0.1:$PORT -psk_identity dsync -psk "$hex" -tls1_3 < /dev/null > "$T/quiet" 2>&1
	check "nor has a client of another kind with another key" [ "$(grep -c "Cipher is TLS" "$T/quiet")" = 0 ]
fi

is_amid() { [ "$(stat -c %s "$COPY.dsync")" -gt 200000 ]; }
# The server is killed in the middle: nothing of the copy has changed, and the next sync brings it all.
cp "$COPY" "$T/before"
head -c 2000000 /dev/urandom | dd of="$T/dev" bs=1M seek=1 conv=notrunc status=none
d once --bwlimit=200k > "$T/out" 2> "$T/stderr" & pid=$!
begins $pid is_amid
builtin kill -9 $SERVER; wait $SERVER 2> /dev/null
wait $pid; check "a line that is cut" [ $? = 1 ]
check "its reason" grep -q "the connection" "$T/stderr"
soon flock -n "$COPY.dsync" true
check "the copy is as it was" cmp "$T/before" "$COPY"
status 1 d once; check "nobody is there" grep -q "cannot connect" "$T/stderr"
serve
check "the next sync" quietly d once
check "equal" cmp "$T/dev" "$COPY"
# The client is killed in the middle.
cp "$COPY" "$T/before"
head -c 2000000 /dev/urandom | dd of="$T/dev" bs=1M seek=3 conv=notrunc status=none
"$BIN/dsync" --key="$T/key" --since=scan:"$T/state" --bwlimit=200k once "$T/dev" "$TO$COPY" 2> "$T/stderr" & pid=$!
begins $pid is_amid
builtin kill -9 $pid; wait $pid 2> /dev/null
check "the server says so" soon grep -q "merge: .*before the end from=" "$T/log"
check "the copy is as it was" cmp "$T/before" "$COPY"
check "the next sync" quietly d once
check "equal" cmp "$T/dev" "$COPY"
kill $SERVER; wait $SERVER; check "the server ends by a signal" [ $? = 0 ]
chmod 644 "$T/other"; status 1 "$BIN/dsync" serve --key="$T/other" "$COPY"
finish
