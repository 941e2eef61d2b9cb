#!/usr/bin/env bash
# Every server under connections that say nothing, or a byte a second, from one address and from six: an honest
# request is answered soon, the log stays short, and memory and descriptors are given back.
. "$(dirname "$0")/lib.sh"
requires python3 ip
own_network "$@"
[ -n "${NETWORK_INSIDE:-}" ] || skip "needs root, for a network of its own"
ulimit -n "$(ulimit -Hn)"
# An honest request is to be answered within a second; other tests run beside this one, and instrumented programs are slow.
LIMIT_MS=3000; instrumented && LIMIT_MS=15000
CALLERS=()
CLEANUP+=('kill "${CALLERS[@]}" $PID 2> /dev/null; wait 2> /dev/null')
SIX=(127.0.0.{2..7})

callers() {	# PORT COUNT BYTES ADDRESS...: they are there from now on
	rm -f "$T/callers"
	"$PYTHON" -E -S "$TOP/tests/helpers/callers.py" "$@" > "$T/callers" & CALLERS+=($!)
	begins $! grep -q here "$T/callers" || fail "nobody calls"
}
nobody_calls() { kill "${CALLERS[@]}"; wait "${CALLERS[@]}" 2> /dev/null; CALLERS=(); }
descriptors() { ls "/proc/$1/fd" | wc -l; }
kilobytes() { awk '/^VmRSS/ { print $2 }' "/proc/$1/status"; }
# answered WHAT ARGUMENTS...: five honest requests, as $T/ask.py makes one, each within the time
answered() {
	local what=$1 worst; shift
	worst=$(timeout 120 "$PYTHON" -E -S "$T/five.py" "$@" 2> "$T/answer") ||
		{ fail "$what: an honest request: $(tail -n 1 "$T/answer")"; return; }
	check "$what: honest requests are answered, the slowest after $worst ms" [ "$worst" -lt $LIMIT_MS ]
}
cat > "$T/five.py" << 'PY'
import os, sys, time
sys.path.insert(0, os.path.dirname(sys.argv[0]))
from ask import ask
worst = 0
for i in range(5):
    began = time.monotonic()
    ask(*sys.argv[1:])
    worst = max(worst, time.monotonic() - began)
print(int(worst * 1000))
PY
# under PID PORT BYTES ARGUMENTS...: the server is called by silent and slow ones, and answers honest requests
under() {
	local pid=$1 port=$2 bytes=$3 fds kb; shift 3
	answered "alone" "$@"
	fds=$(descriptors $pid) kb=$(kilobytes $pid)
	callers "$port" 1500 '' 127.0.0.8
	answered "1,500 silent ones" "$@"
	nobody_calls
	callers "$port" 200 "$bytes" "${SIX[@]}"
	answered "200 slow ones from each of six" "$@"
	check "memory is bounded" [ $(($(kilobytes $pid) - kb)) -lt 60000 ]
	nobody_calls
	given_back() { [ "$(descriptors $pid)" -le $((fds + 1)) ]; }
	SOON=30 check "descriptors are given back: $(descriptors $pid) of $fds" soon given_back
}

echo "== mfrisbeed"
mkdir "$T/images" "$T/state"
take random:3000000 disk disk.ndz=images/a.ndz
cat > "$T/conf" << CONF
images $T/images
group 239.77.1.1
interface 127.0.0.1
allow 127.0.0.1 all
state $T/state
CONF
"$BIN/mfrisbeed" -d -p 6400 -c "$T/conf" 2> "$T/log" & PID=$!
begins $PID grep -q listens "$T/log" || fail "mfrisbeed: $(cat "$T/log")"
cat > "$T/ask.py" << 'PY'
import socket, struct
def ask(home, error):
    s = socket.create_connection(("127.0.0.1", 6400), 50, source_address=(home, 0)); s.settimeout(50)
    s.sendall(b"V01\0" + struct.pack(">I4xBBH", 1, 7, 1, 5) + b"a.ndz".ljust(256, b"\0")); r = b""
    while len(r) < 288:
        d = s.recv(288)
        assert d, "it was closed"
        r += d
    s.close()
    assert struct.unpack(">H", r[10:12])[0] == int(error), r[:16]
PY
under $PID 6400 "V01$(printf '%.0s\001' {1..40})" 127.0.0.1 0
before=$(grep -c . "$T/log")
check "a stranger asks 1,000 times" "$PYTHON" -E -S -c "
import sys; sys.path.insert(0, sys.argv[1])
from ask import ask
for i in range(1000): ask('127.0.0.9', 4)" "$T"
lines=$(($(grep -c . "$T/log") - before))
check "the log has $lines lines about it" [ $lines -ge 1 -a $lines -lt 40 ]
said_so() { grep -q "lines were left out" "$T/log"; }
check "and says that there were more" soon said_so
kill $PID; wait $PID; check "SIGTERM ends it with 0" [ $? = 0 ]

echo "== controllerd's reports"
NET=$T/netboot; mkdir -p "$NET/boot/orders" "$NET/images"
echo "node node1 52:54:00:00:00:01" > "$NET/nodes"
"$BIN/controllerd" --listen=127.0.0.1:8484 -i 127.0.0.1 --power=/bin/true "$NET" > "$T/log" 2>&1 & PID=$!
port_of_reports() { PORT=$(ss -Hltnp | awk -v p="pid=$PID," 'index($0, p) && !/:8484/ { sub(/.*:/, "", $4); print $4; exit }'); [ -n "$PORT" ]; }
begins $PID port_of_reports || fail "controllerd: $(cat "$T/log")"
cat > "$T/ask.py" << 'PY'
import socket
def ask(port):
    s = socket.create_connection(("127.0.0.1", int(port)), 50); s.settimeout(50)
    s.sendall(b"report 52-54-00-00-00-01 - up x\n")
    assert s.recv(100)[:3] in (b"ok ", b"fai")
PY
under $PID "$PORT" "report 52-54-00-00-00-01 - up and more of it" "$PORT"
echo "== controllerd's web server"
cat > "$T/ask.py" << 'PY'
import socket
def ask():
    s = socket.create_connection(("127.0.0.1", 8484), 50); s.settimeout(50)
    s.sendall(b"GET /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert s.recv(100).startswith(b"HTTP/1.1 200"), "it was closed"
PY
under $PID 8484 "GET /api/v1/sessions HTTP/1.1 and more of it"
kill $PID; wait $PID; check "SIGTERM ends it with 0" [ $? = 0 ]

echo "== dolly serve"
"$BIN/dolly" serve --raw --wait 100 -p 6401 "$T/disk" 2> "$T/log" & PID=$!
begins $PID grep -q serving "$T/log" || fail "dolly: $(cat "$T/log")"
cat > "$T/ask.py" << 'PY'
import socket, struct
def ask():
    s = socket.create_connection(("127.0.0.1", 6401), 50); s.settimeout(50)
    join = b"doly" + struct.pack("<HHHB", 3, 3, 1, 1) + b"n"
    s.sendall(struct.pack("<IB", len(join), 1) + join)
    assert s.recv(100), "it was closed"
PY
under $PID 6401 "$(printf '\x0d\x01doly')$(printf 'x%.0s' {1..40})"
kill $PID; wait $PID 2> /dev/null

echo "== streamdisk --export"
# nbdkit runs no plugin that is instrumented.
if ! instrumented && [ -n "$(find /usr/lib -name nbdkit-nbd-plugin.so -print -quit)" ]; then
	truncate -s 8M "$T/target"
	# With as many descriptors as a program usually has.
	(ulimit -Sn 1024; exec "$BIN/streamdisk" --table=memory --socket="$T/sock" \
		--export=127.0.0.1:6402 "$T/images/a.ndz" "$T/target") 2> "$T/log" & PID=$!
	begins $PID grep -q "until Ctrl-C" "$T/log" || fail "streamdisk: $(cat "$T/log")"
	cat > "$T/ask.py" << 'PY'
import socket, struct
def ask():
    s = socket.create_connection(("127.0.0.1", 6402), 50); s.settimeout(50)
    def take(n):
        r = b""
        while len(r) < n:
            d = s.recv(n - len(r))
            assert d, "it was closed"
            r += d
        return r
    assert take(18)[:16] == b"NBDMAGICIHAVEOPT"
    s.sendall(struct.pack(">I", 3) + b"IHAVEOPT" + struct.pack(">II", 1, 0))
    assert take(10)
    s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, 7, 0, 4096))
    assert len(take(16 + 4096)) == 4112
PY
	under $PID 6402 "$(printf 'x%.0s' {1..40})"
	kill $PID; wait $PID; check "SIGTERM ends it with 0" [ $? = 0 ]
fi
finish
