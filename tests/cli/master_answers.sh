#!/usr/bin/env bash
# A master server whose answers name addresses that nobody has: frisbee and imagezip say so at once, and go nowhere.
. "$(dirname "$0")/lib.sh"
requires python3
cat > "$T/master.py" << 'PY'
import socket, struct, sys
here = socket.inet_aton("127.0.0.1")
s = socket.create_server(("127.0.0.1", 0)); u = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1] + "/port.new", "w").write(str(s.getsockname()[1]))
import os; os.rename(sys.argv[1] + "/port.new", sys.argv[1] + "/port")
while True:
    c, _ = s.accept()
    kind = struct.unpack(">I", c.recv(300)[4:8])[0]
    server, group = (socket.inet_aton(x) for x in open(sys.argv[1] + "/says").read().split())
    if kind == 1: c.sendall(b"V01\0" + struct.pack(">IBBH", 2, 2, 1, 0) + server + group + struct.pack(">HH256xII", 5000, 0, 0, 1 << 20))
    else: c.sendall(b"V01\0" + struct.pack(">IH", 4, 0) + server + struct.pack(">HBH256xIIII", u.getsockname()[1], 0, 0, 0, 0, 1, 0))
    c.close()
PY
python3 "$T/master.py" "$T" 2> "$T/python.log" & pid=$!
CLEANUP+=("kill $pid 2> /dev/null")
begins $pid [ -s "$T/port" ] || fail "no master: $(cat "$T/python.log")"
at=127.0.0.1:$(cat "$T/port")
head -c 100000 /dev/urandom > "$T/disk"; truncate -s 1M "$T/disk"

says() {	# SERVER GROUP SENTENCE
	echo "$1 $2" > "$T/says"; rm -f "$T/out"
	status 3 timeout 100 "$BIN/frisbee" -q -i 127.0.0.1 -T 5 -S "$at" -F web "$T/out"
	check "$1 $2: $3" grep -q "answer of master server $at: $3" "$T/stderr"
	check "no target is made" [ ! -e "$T/out" ]
}
says 0.0.0.0 239.192.1.1 "it names a server at 0.0.0.0"
says 239.192.1.2 239.192.1.1 "it names a server at 239.192.1.2"
says 127.0.0.1 0.0.0.0 "it names 0.0.0.0, which is no group"
says 127.0.0.1 127.0.0.1 "it names 127.0.0.1, which is no group"
echo "== an upload goes to no other than the server, although 0.0.0.0 leads to this machine"
echo "0.0.0.0 0.0.0.0" > "$T/says"
status 3 timeout 100 "$BIN/imagezip" -q -r --to "frisbee://$at/web" "$T/disk"
check "says so" grep -q "it names a server at 0.0.0.0" "$T/stderr"
finish
