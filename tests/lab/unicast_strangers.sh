#!/usr/bin/env bash
# frisbeed --unicast sends little to an address that has not shown that it receives, ends the stream
# of a machine where nobody listens any more, keeps places free for other addresses, and hears
# only the networks of --allow.  Clients of this suite and of the base protocol load all the same.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 3
take random:4M disk disk.ndz

serve_each() {	# OPTIONS...
	: > "$T/server.log"
	FRISBEE_TEST_TIMES=$TIMES ip netns exec "${LAB}s" "$BIN/frisbeed" -d --unicast -m 10.9.0.1 \
	    -p $PORT -T 0 --stats "$T/stats" "$@" "$T/disk.ndz" 2> "$T/server.log" > "$T/server.json" &
	SERVER=$!; PIDS+=($SERVER)
	begins $SERVER grep -q serving "$T/server.log" || fail "frisbeed did not start: $(cat "$T/server.log")"
}
each() { local n=$1; shift; on "$n" timeout 240 "$BIN/frisbee" -q --unicast -m 10.9.0.1 -p $PORT "$@"; }
says() { soon grep -q "$1" "$T/server.log"; }
packets() { on s awk '/^Udp: [0-9]/ { print $5 }' /proc/net/snmp; }	# that left the server

echo "== requests in the name of a machine that never answers"
serve_each -W 400M
before=$(packets)
on 1 python3 - << 'PY' || fail "cannot forge packets"
import socket, struct, time
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
victim, server = socket.inet_aton("10.9.0.12"), socket.inet_aton("10.9.0.1")
def send(payload, port):
    udp = struct.pack(">HHHH", port, 5007, 8 + len(payload), 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, 17, 0, victim, server)
    raw.sendto(ip + udp, ("10.9.0.1", 0))
def header(subtype, n):
    return struct.pack("<iiI", 1, subtype, n) + victim
for i in range(300):		# REQUESTs of whole chunks, and guesses of what came
    send(header(4, 12) + struct.pack("<iii", i % 4, 0, 1024), 53)
    send(header(6, 136) + struct.pack("<ii", i % 4, 1) + b"\xf0" + b"\xff" * 127, 53)
    time.sleep(0.003)
PY
sent=$(($(packets) - before))
echo "$sent packets went to it for 600"
check "few packets" [ "$sent" -le 90 ]	# three times the bytes that came
check "no stream" [ "$(grep -c "serving.*10.9.0.12" "$T/server.log")" = 0 ]

echo "== a client of this suite and one of the base protocol"
each 2 "$T/d2" || fail "the client failed: $?"
check "the disk is right" cmp "$T/disk" "$T/d2"
each 3 --base "$T/d3" || fail "the base client failed: $?"
check "the disk is right" cmp "$T/disk" "$T/d3"

echo "== one machine with many sockets leaves room for others"
kill $SERVER; wait $SERVER
serve_each -W 400M --unicast-clients 8
ip netns exec "${LAB}1" "$PYTHON" -E -S - << 'PY' &
import select, socket, struct, time
me = socket.inet_aton("10.9.0.11")
socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(32)]
until = time.monotonic() + 300	# it is ended before
def join(cookie):
    return struct.pack("<iiI", 1, 1, 4) + me + struct.pack("<i", 7) + b"FBXC" + struct.pack("<Q", cookie)
for s in socks:
    s.connect(("10.9.0.1", 5007))
    s.send(join(0))
while time.monotonic() < until:
    for s in select.select(socks, [], [], 0.2)[0]:
        p = s.recv(2048)
        if p[-12:-8] == b"FBXC":
            s.send(join(struct.unpack("<Q", p[-8:])[0]))
PY
HOG=$!; PIDS+=($HOG)
check "the greedy machine gets no more than its part" says "its address has as many as one may have"
each 2 "$T/d4" || fail "the other client failed: $?"
check "the other one has its disk" cmp "$T/disk" "$T/d4"
kill $HOG; wait $HOG 2> /dev/null

echo "== a stream ends when nobody listens there"
kill $SERVER; wait $SERVER
serve_each -W 4M
ip netns exec "${LAB}2" "$BIN/frisbee" -q --unicast -m 10.9.0.1 -p $PORT "$T/d5" & CLIENT=$!
says "client joined" || fail "nobody joined"
streams() { json "$T/stats" clients_now 2> /dev/null; }
has_begun() { [ "$(streams)" = 1 ]; }
begins $CLIENT has_begun || fail "there is no stream"
kill -9 $CLIENT; wait $CLIENT 2> /dev/null
ends() { [ "$(streams)" = 0 ]; }
check "the stream is gone" soon ends

echo "== --allow"
kill $SERVER; wait $SERVER
serve_each -W 400M --allow 10.9.0.12 --allow 10.9.0.64/26
each 2 "$T/d6" || fail "the client failed: $?"
check "an allowed address loads" cmp "$T/disk" "$T/d6"
each 3 -T 2 "$T/d7" 2> /dev/null
check "another one hears nothing" [ $? = 110 ]
kill $SERVER; wait $SERVER
finish
