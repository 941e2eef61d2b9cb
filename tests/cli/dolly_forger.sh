#!/usr/bin/env bash
# dolly --raw with a node that changes a chunk that it passes on, and the digest in it: the node behind it asks
# for the chunk again, from another one, and has the right data.  A source that is changed while it is served.
. "$(dirname "$0")/lib.sh"
requires python3
own_network "$@"
PORT=$((20000 + OWN_NUMBER % 12000))
python3 - "$T/data" << 'PY'
import random, sys
open(sys.argv[1], "wb").write(random.Random(7).randbytes(10 << 20) + b"the end")
PY
cat > "$T/forger.py" << 'PY'
"""A node that speaks one version of the protocol, and has one child, which gets chunk 1 changed."""
import hashlib, select, socket, struct, sys, time
version, port = int(sys.argv[1]), int(sys.argv[2])
PIECE = 65536
def frame(kind, body): return struct.pack("<IB", len(body), kind) + body
def text(s): return bytes([len(s)]) + s.encode()
def frames(s):
    head = s.recv(5, socket.MSG_WAITALL)
    if len(head) < 5: raise OSError("the end")
    return head[4], s.recv(struct.unpack("<I", head[:4])[0], socket.MSG_WAITALL)
l = socket.create_server(("127.0.0.1", 0))
server = socket.create_connection(("127.0.0.1", port))
server.sendall(frame(1, b"doly" + struct.pack("<HHH", 3, version, l.getsockname()[1]) + text("forger")))
kind, body = frames(server)
assert kind == 2 and struct.unpack("<H", body[:2])[0] == version, body
number, key = struct.unpack("<I", body[2:6])[0], body[6:22]
chunks = struct.unpack("<I", body[39:43])[0]
print("joined", flush=True)
parent = child = None
have, came, whole, said, digests = {}, b"", False, 0, 0
def tell(kind, body):
    try:
        server.sendall(frame(kind, body))
    except OSError:  # it has ended; what it said last is still to be read
        pass
def send(chunk):
    sent = bytearray(have[chunk])
    if chunk == 1:
        sent[1000] ^= 0xff
        sent[:32] = hashlib.sha256(sent[32:]).digest()
    for at in range(0, len(sent), PIECE):
        child.sendall(frame(13, struct.pack("<III", chunk, at, len(sent)) + sent[at:at + PIECE]))
wanted = set()
def serve():
    global child
    if child is None:
        return
    try:
        for chunk in sorted(wanted & have.keys()):
            wanted.discard(chunk)
            send(chunk)
    except OSError:
        child = None
while True:
    ready, _, _ = select.select([l, server] + [s for s in (parent, child) if s], [], [], 0.1)
    if time.monotonic() - said > 0.1:
        said = time.monotonic()
        tell(7, struct.pack("<III", len(have), 0, 0))
    if l in ready:
        child, _ = l.accept()
        kind, body = frames(child)
        assert kind == 11 and body[8:] == key
    elif child in ready:
        try:
            kind, body = frames(child)
        except OSError:
            child, wanted = None, set()
            continue
        for i in range(struct.unpack("<H", body[:2])[0]):
            first, count = struct.unpack("<II", body[2 + 8 * i:10 + 8 * i])
            wanted |= set(range(first, first + count))
        serve()
    elif parent in ready:
        try:
            kind, body = frames(parent)
        except OSError:
            parent = None
            if len(have) < chunks:
                tell(8, struct.pack("<I", 0) + text("the connection has ended"))
            continue
        chunk, at, length = struct.unpack("<III", body[:12])
        came = (came if at else b"") + body[12:]
        if len(came) < length:
            continue
        have[chunk] = came
        serve()
        if len(have) == chunks and not whole:
            whole = True
            tell(9, b"")
    elif server in ready:
        kind, body = frames(server)
        digests += kind == 16
        if kind == 6:
            print("digests", digests, flush=True)
            sys.exit()
        if kind == 4 and len(have) < chunks:
            if parent:
                parent.close()
            parent = socket.create_connection(("127.0.0.1", port))
            parent.sendall(frame(11, b"doly" + struct.pack("<I", number) + body[10:26]))
            parent.sendall(frame(12, struct.pack("<HII", 1, 0, chunks)))
PY
serve() {	# OPTIONS... FILE
	: > "$T/serve.log"
	"$BIN/dolly" serve --json -p $PORT "$@" > "$T/table" 2> "$T/serve.log" &
	SERVER=$!
	begins $SERVER grep -q serving "$T/serve.log"
}
for version in 4 5; do
	echo "== a forger that speaks version $version"
	rm -f "$T/got"
	serve --wait 2 --linger 0 --deadline 60 --raw "$T/data"	# the forger is slow on a busy machine
	: > "$T/forger"	# or what the last one said would be taken for this one's
	timeout 240 python3 "$T/forger.py" $version $PORT > "$T/forger" 2>&1 & forger=$!
	begins $forger grep -q joined "$T/forger"
	timeout 240 "$BIN/dolly" join --json 127.0.0.1:$PORT "$T/got" > "$T/joined" 2> "$T/log"
	check "the node behind it is whole" [ $? = 0 ]
	check "... and has the right data" cmp "$T/data" "$T/got"
	check "a chunk was damaged" [ "$(json "$T/joined" chunks_damaged)" -ge 1 ]
	check "it had two parents" [ "$(json "$T/joined" parents)" -ge 2 ]
	wait $SERVER; check "the server: $(cat "$T/serve.log")" [ $? = 0 ]
	check "the server names the forger" grep -q "dolly: forger .*chunks that it has sent to .* were damaged" "$T/serve.log"
	wait $forger; check "digests are said to who speaks version 5: $(tail -n 1 "$T/forger")" grep -q digests "$T/forger"; check "... alone" [ "$(grep -c "digests 0" "$T/forger")" = $((version < 5)) ]
done

echo "== a source that is changed while it is served"
truncate -s 40M "$T/source"	# more than the server keeps in memory
serve --star --wait 1 --linger 600 --raw "$T/source"
check "a node before" quietly timeout 240 "$BIN/dolly" join 127.0.0.1:$PORT /dev/null
printf x | dd of="$T/source" bs=1 seek=100 conv=notrunc status=none
status 1 timeout 240 "$BIN/dolly" join --patience 0 127.0.0.1:$PORT "$T/late"
check "a node that comes later is told" grep -q "what is served was changed meanwhile" "$T/stderr"
wait $SERVER; check "the server ends with status 1" [ $? = 1 ]
check "and says why" grep -q "chunk 0 was read again, and is not what it was: what is served was changed meanwhile" "$T/table" "$T/serve.log"
finish
