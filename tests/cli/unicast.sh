#!/usr/bin/env bash
# Unicast on this host alone, the statistics of both ends, and the table on a terminal.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires python3
SERVER=
CLEANUP+=('[ -z "$SERVER" ] || kill $SERVER 2> /dev/null')
python3 - "$T/disk" << 'PY'
import random, sys
r = random.Random(5)
with open(sys.argv[1], "wb") as f:
    for i in range(32):
        f.write(r.randbytes(128 * 1024) + bytes([i]) * (128 * 1024))
PY
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail imagezip
serve() {	# OPTIONS... IMAGE; $PORT is where it is
	rm -f "$T/where"
	"$BIN/frisbeed" -d --unicast -m 127.0.0.1 -p 0 -A "$T/where" "$@" > "$T/server.json" 2> "$T/server.log" &
	SERVER=$!
	begins $SERVER [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/server.log")"
	PORT=$(tr -d '\0' < "$T/where" | sed 's/.*://')
}
load() { timeout 240 "$BIN/frisbee" --unicast -m 127.0.0.1 -p "$PORT" "$@"; }

echo "== four at once; the statistics are whole whenever they are read"
serve -T -1 -W 100M --json --stats "$T/server.stats" "$T/disk.ndz"
begins $SERVER [ -s "$T/server.stats" ] || fail "no statistics"
python3 - "$T/server.stats" "$T/stop" << 'PY' & READER=$!
import json, os, sys, time
n = 0
while not os.path.exists(sys.argv[2]):
    json.load(open(sys.argv[1]))	# fails when it is half there
    n += 1
    time.sleep(0.002)
print("read", n, "times")
PY
for i in 1 2 3 4; do load -q --stats "$T/client$i.stats" "$T/d$i" & pids[i]=$!; done
for i in 1 2 3 4; do wait ${pids[$i]} || fail "client $i"; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER || fail "server: $(tail -n 1 "$T/server.log")"; SERVER=
touch "$T/stop"; wait $READER; check "always whole" [ $? = 0 ]
chunks=$(($(stat -c %s "$T/disk.ndz") >> 20))
check "blocks" [ "$(json "$T/server.json" blocks_sent)" -ge $((4 * 1024 * chunks)) ]
check "four came" [ "$(json "$T/server.json" joins)" -ge 4 ]
check "nothing else is left beside them" [ "$(find "$T" -name '*.stats.*' | wc -l)" = 0 ]
for i in 1 2 3 4; do
	check "client $i: chunks" [ "$(json "$T/client$i.stats" chunks_complete)" = "$chunks" ]
	check "client $i: packets" [ "$(json "$T/client$i.stats" packets_received)" -ge $((1024 * chunks)) ]
done
row='sessions[0].clients[*]'
check "rows of the clients" json "$T/server.json" "sessions[#]=1" "sessions[0].state=ended" "sessions[0].clients[#]=4" "$row.address=127.0.0.1" \
    "$row.port>0" "$row.progress=1" "$row.has_left=true" "$row.bytes_written=$((8 << 20))" "$row.share_lost>=0" "$row.share_lost<=1"

echo "== any file; one that is cut under it"
head -c 333333 /dev/urandom > "$T/file"
serve -T -1 "$T/file"
load -q -N "$T/copy"; check "a file" cmp "$T/file" "$T/copy"
wait $SERVER; check "the server's exit status" [ $? = 0 ]; SERVER=
cp "$T/disk.ndz" "$T/cut.ndz"
serve -W 5M "$T/cut.ndz"
load -q -T 2 "$T/d5" 2> "$T/client.log" & CLIENT=$!
through_lo() { awk '/lo:/ { print $2 }' /proc/net/dev; }
before=$(through_lo); has_moved() { [ $(($(through_lo) - before)) -gt "$1" ]; }
begins $CLIENT has_moved 300000 || fail "it does not begin: $(cat "$T/client.log")"	# of the first chunk
truncate -s 1M "$T/cut.ndz"
wait $SERVER; check "the server notices" [ $? != 0 ]; SERVER=
check "and says so" grep -q "cut.ndz" "$T/server.log"
wait $CLIENT; check "its client fails" [ $? != 0 ]

echo "== what goes wrong is said"
status 1 "$BIN/frisbeed" --unicast -m 127.0.0.1 -p 0 --stats "$T/no/such/folder" "$T/disk.ndz"
check "it names the file" grep -q "no/such/folder" "$T/stderr"

echo "== an address of one machine, without --unicast"
alone() {	# OPTIONS...: a frisbeed begins to serve, and is ended
	rm -f "$T/where"
	"$BIN/frisbeed" -q -p 5099 -A "$T/where" "$@" "$T/disk.ndz" > "$T/stdout" 2> "$T/stderr" & SERVER=$!
	check "it serves" begins $SERVER [ -s "$T/where" ]
	kill $SERVER; wait $SERVER; SERVER=
}
alone -m 127.0.0.2
check "only one client would be served, and it says so" grep -q "127.0.0.2 is the address of one machine: .*--unicast" "$T/stderr"
alone -m 239.192.7.9 --loopback -i 127.0.0.1
check "of a group it says nothing" [ ! -s "$T/stderr" ]

echo "== a table on a terminal"
python3 - "$BIN" "$T" << 'PY' && echo "ok: the table" || fail "the table: $(tail -c 600 "$T/terminal" | cat -v)"
import fcntl, os, pty, select, struct, subprocess, sys, termios, time
binaries, t = sys.argv[1:]
os.symlink(t + "/disk.ndz", t + "/na\033[31mme.ndz")
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 25, 200, 0, 0))	# room for the folder's name
    os.execv(binaries + "/frisbeed", ["frisbeed", "--unicast", "-m", "127.0.0.1", "-p", "0", "-A", t + "/where2",
        "-W", "20M", "-T", "-1", t + "/na\033[31mme.ndz"])
seen, client, until = b"", None, time.monotonic() + 240
with open(t + "/terminal", "wb") as out:
    while time.monotonic() < until:
        if client is None and os.path.exists(t + "/where2") and os.path.getsize(t + "/where2"):
            port = open(t + "/where2").read().strip("\0\n").rsplit(":", 1)[1]
            client = subprocess.Popen([binaries + "/frisbee", "-q", "--unicast", "-m", "127.0.0.1", "-p", port, t + "/d9"])
        if not select.select([fd], [], [], 0.2)[0]:
            continue
        try:
            piece = os.read(fd, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
        out.write(piece)
        out.flush()
status = os.waitpid(pid, 0)[1]
ok = client is not None and client.wait() == 0 and status == 0
ok &= b"Mbit/s  clients 1" in seen and b"127.0.0.1:" in seen and b"loss" in seen and b"%" in seen
ok &= b"\033[J" in seen			# drawn anew in its place
ok &= b"\033[31m" not in seen		# nor is what a name holds obeyed
sys.exit(not ok)
PY
check "and the disk" cmp "$T/disk" "$T/d9"
finish
