#!/usr/bin/env bash
# What goes wrong with dolly, on one host: each has its sentence, and the other nodes are unharmed.
. "$(dirname "$0")/lib.sh"
requires python3
own_network "$@"
PORT=$((20000 + OWN_NUMBER % 12000))
# Large ones hold more than the server, a node and the network between them keep in memory.
python3 - "$T" << 'PY'
import random, sys
for seed, (name, mib) in enumerate((("disk", 12), ("other", 12), ("large", 80), ("large2", 80))):
    with open(f"{sys.argv[1]}/{name}", "wb") as f:
        f.write(random.Random(seed).randbytes(mib << 20))
PY
for d in disk other large large2; do "$BIN/imagezip" -q -r "$T/$d" "$T/$d.ndz" || fail "imagezip"; done

serve() {	# OPTIONS... IMAGE
	: > "$T/serve.log"
	timeout 400 "$BIN/dolly" serve --json --linger 0 -p $PORT "$@" > "$T/table" 2> "$T/serve.log" &
	SERVER=$!
	begins $SERVER grep -q serving "$T/serve.log"
}
declare -A JOINS
join() {	# NAME OPTIONS...: onto $T/NAME
	local n=$1; shift
	timeout 400 "$BIN/dolly" join "$@" 127.0.0.1:$PORT "$T/$n" > "$T/$n.out" 2> "$T/$n.log" & JOINS[$n]=$!
}
DISK=disk
whole() {	# NAME...
	local n
	for n; do
		wait "${JOINS[$n]}" || { fail "$n: $(cat "$T/$n.log")"; continue; }
		check "$n is whole" cmp "$T/$DISK" "$T/$n"; rm -f "$T/$n"
	done
}
failed() {	# NAME WORDS [STATUS]
	wait "${JOINS[$1]}"; local rc=$?
	check "$1 failed: $(tail -n 1 "$T/$1.log")" [ $rc = "${3:-1}" ]
	check "it says why" grep -q "$2" "$T/$1.log"
}
served() {	# STATUS [WORDS in the table]
	wait $SERVER; check "the server's status is $1" [ $? = "$1" ]
	[ -z "${2:-}" ] || check "its table says why" grep -q "$2" "$T/table"
}
mkdir "$T/full"

echo "== a disk that is full"
if mount -t tmpfs -o size=4m none "$T/full" 2> /dev/null; then
	CLEANUP+=("umount $T/full")
	serve --wait 4 "$T/disk.ndz"
	join one; join full/disk; join two; join three
	whole one two three; failed full/disk "No space left on device"
	served 1 "No space left on device"
fi

echo "== a disk that another program has locked"
cp "$T/disk" "$T/held"; flock -F "$T/held" sleep 1000 & holder=$!
begins $holder eval '! flock -n "$T/held" true'
serve --wait 2 "$T/disk.ndz"
join one; begins "${JOINS[one]}" grep -q joined "$T/serve.log"	# or the server would wait for another
FRISBEE_TEST_TIMES=hold=0.1 join held --in-place
whole one; failed held "sleep (process $holder) has locked it"; served 1 "has locked it"
kill $holder; wait $holder 2> /dev/null; rm "$T/held"

echo "== a node that is slow, and holds others up"
mkfifo "$T/slow"
serve --wait 4 --deadline 5 --slow 4M "$T/large.ndz"
python3 -c "
import os, sys, time
with open(sys.argv[1], 'rb') as f:
    while f.read(100000): os.path.exists(sys.argv[2]) or time.sleep(0.4)" "$T/slow" "$T/done" & reader=$!	# at most 2 Mbit/s
join slow -W 1; join one; join two; join three
DISK=large; whole one two three; DISK=disk
failed slow "the server says: as a leaf it has taken too little from each of its parents"; touch "$T/done"
served 1 "as a leaf it has taken too little"
wait $reader

echo "== another image in the file when half of it was sent"
cp "$T/large.ndz" "$T/changing.ndz"
mkfifo "$T/paced"
serve --wait 1 "$T/changing.ndz"
python3 -c "
import sys, time
with open(sys.argv[1], 'rb') as f, open(sys.argv[2], 'rb') as other, open(sys.argv[3], 'r+b') as image:
    f.read(2 << 20)
    image.write(other.read())
    image.flush()
    while f.read(1 << 20): pass" "$T/paced" "$T/large2.ndz" "$T/changing.ndz" & reader=$!
join paced -W 1
failed paced "belongs to another image" 3
served 1 "belongs to another image"
wait $reader

echo "== two servers"
serve --wait 1 "$T/disk.ndz"
status 1 "$BIN/dolly" serve --wait 1 -p $PORT "$T/disk.ndz"; check "the port is named" grep -q "TCP port $PORT is taken by another program; -p chooses another one" "$T/stderr"
first=$SERVER; PORT=$((PORT + 1)); serve --wait 1 "$T/other.ndz"
join two; wait "${JOINS[two]}"; check "each node has the image of its server" cmp "$T/other" "$T/two"; rm -f "$T/two"; served 0
PORT=$((PORT - 1)) SERVER=$first; join one; whole one; served 0

echo "== lists"
status 1 "$BIN/dolly" serve -p $PORT --nodes "no-such-name.invalid" "$T/disk.ndz"; check "an unknown one" grep -q "no-such-name.invalid" "$T/stderr"

echo "== a file for a relay that is none"
mkfifo "$T/kept"
serve --wait 1 "$T/disk.ndz"
status 1 timeout 240 "$BIN/dolly" join --relay 239.192.9.9:5999 --relay-file "$T/kept" 127.0.0.1:$PORT "$T/new"
check "it is named" grep -q "kept is not a file" "$T/stderr"
check "it stays" [ -p "$T/kept" ]; served 1 "is not a file"

cat > "$T/peer.py" << 'PY'
import socket, struct, sys, time
what, port = sys.argv[1], int(sys.argv[2])
def frame(kind, body): return struct.pack("<IB", len(body), kind) + body
def text(s): return bytes([len(s)]) + s.encode()
def receive(s):
    head = s.recv(5, socket.MSG_WAITALL)
    return head[4:], s.recv(struct.unpack("<I", head[:4])[0], socket.MSG_WAITALL)
if what == "old":       # a node of another version
    s = socket.create_connection(("127.0.0.1", port), timeout=100)
    s.sendall(frame(1, b"doly" + struct.pack("<HHH", 7, 9, 1) + text("new")))
    print(receive(s)[1][1:].decode())
    sys.exit()
if what == "scan":      # connects, and says nothing
    for p in list(range(port - 30, port + 30)) * 2 + list(range(9990, 10010)):
        for keep in range(2):
            try:
                socket.create_connection(("127.0.0.1", p), timeout=5).close()
            except OSError:
                pass
    sys.exit()
l = socket.create_server(("127.0.0.1", port))
print("listens", flush=True)
def welcome_of(version, number, key, bytes_=3 << 20):
    return frame(2, struct.pack("<HI", version, number) + key + b"\0" + bytes(16) + struct.pack("<IQIQ", 3, bytes_, 1000, 0))
if what == "circle":    # three nodes, each the parent of the next one
    nodes = []
    for number in range(1, 4):
        s, _ = l.accept()
        kind, body = receive(s)
        assert kind == b"\1" and body[:4] == b"doly"
        nodes.append((s, struct.unpack("<H", body[8:10])[0]))
        s.sendall(welcome_of(3, number, b"%016d" % number))
    for number in range(1, 4):
        parent = number % 3 + 1
        nodes[number - 1][0].sendall(frame(4, struct.pack("<I4sH", parent, bytes([127, 0, 0, 1]), nodes[parent - 1][1]) + b"%016d" % parent))
    end = time.monotonic() + 2
    said = [0, 0, 0]
    while time.monotonic() < end or min(said) < 4:
        for i, (s, _) in enumerate(nodes):
            s.settimeout(60)
            kind, body = receive(s)         # ten times a second: it is there
            said[i] += kind == b"\7"
    print("heard", max(said) < 60, said, flush=True)
    for s, _ in nodes:
        s.sendall(frame(3, text("they are in a circle")))
    sys.exit()
s, _ = l.accept()
receive(s)
version, key = (9 if what == "version" else 3), b"k" * 16
welcome = struct.pack("<HI", version, 1) + key + b"\0" + bytes(16) + struct.pack("<IQIQ", 3, 3 << 20, 1000, 0)
if what == "size":
    welcome = welcome[:-20] + struct.pack("<QIQ", 1 << 50, 1000, 0)
if what == "chunks":    # so many that 32 bits do not hold their number
    welcome = welcome[:-20] + struct.pack("<QIQ", (1 << 52) + (3 << 20), 1000, 0)
s.sendall(frame(2, welcome))
if what == "loop":      # the node is its own parent
    s.sendall(frame(4, struct.pack("<I4sH", 1, bytes([127, 0, 0, 1]), 9998) + key))
if what == "long":
    s.sendall(struct.pack("<IB", 1 << 30, 4))
try:
    while s.recv(65536): pass
except OSError:
    pass
PY
echo "== other versions, and servers that are none"
serve --wait 1 "$T/disk.ndz"
python3 "$T/peer.py" old $PORT > "$T/said"; check "a node of another version is told so" grep -q "speaks versions 3 to 5 of the protocol" "$T/said"
join one; python3 "$T/peer.py" scan $PORT; whole one; served 0
rogue() {	# WHAT WORDS
	: > "$T/rogue"	# or what the last one said would be taken for this one's
	python3 "$T/peer.py" "$1" $PORT > "$T/rogue" & local pid=$!
	begins $pid grep -q listens "$T/rogue"
	rm -f "$T/new"; status 3 timeout 240 "$BIN/dolly" join --patience 0 127.0.0.1:$PORT "$T/new"
	check "$1" grep -q "$2" "$T/stderr"
	wait $pid
}
rogue version "the server speaks version 9 of the protocol"
rogue loop "its own parent"
rogue size "a size that does not fit its number of chunks"
rogue chunks "a size that does not fit its number of chunks"
rogue long "bytes"

echo "== circles"
: > "$T/rogue"; python3 "$T/peer.py" circle $PORT > "$T/rogue" & rogue=$!
begins $rogue grep -q listens "$T/rogue"
for n in a b c; do join $n --patience 0; done
for n in a b c; do failed $n "the server says: they are in a circle"; done
wait $rogue; check "they were there, and not busy: $(cat "$T/rogue")" grep -q "heard True" "$T/rogue"
serve --wait 2 "$T/disk.ndz"
join one -p $((PORT + 1)); soon grep -q joined "$T/serve.log"
rm -f "$T/new"; status 1 timeout 240 "$BIN/dolly" join 127.0.0.1:$((PORT + 1)) "$T/new"
check "a node is no server, and says so" grep -q "the server says: this is a node, and no server" "$T/stderr"
status 1 timeout 240 "$BIN/dolly" join -p $((PORT + 2)) 127.0.0.1:$((PORT + 2)) "$T/new"
check "not even its own" grep -q "the server says: this is a node, and no server" "$T/stderr"
join two; whole one two; served 0
finish
