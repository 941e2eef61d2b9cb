#!/usr/bin/env bash
# What a master refuses, and that it goes on: uploads that lie about their length or find no room, another master at
# its port or with its state, a clock that jumps, a state that is none.
. "$(dirname "$0")/master_lib.sh"
jump=${B:-$TOP/build/plain}/tests/preload/clockjump.so
lab_up 2
mkdir "$T/images" "$T/uploads" "$T/state"
take random:3000000 disk disk.ndz=images/web.ndz
mount -t tmpfs -o size=2M none "$T/uploads" || skip "cannot mount in a namespace"
empty_uploads() { kill $MASTER 2> /dev/null; wait $MASTER 2> /dev/null; umount "$T/uploads"; }
CLEANUP+=(empty_uploads)
cat > "$T/conf" << CONF
images $T/images
uploads $T/uploads max=64M
group 239.192.50.1
allow 10.9.0.0/24 all
state $T/state
interface eth0
idle 600
CONF
master
cat > "$T/put.py" << 'PY'
import socket, struct, sys
name, data, claim, cut = sys.argv[1].encode(), open(sys.argv[2], "rb").read(), int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else ""
s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100)
s.sendall(b"V01\0" + struct.pack(">I4xBH", 3, 0, len(name)) + name.ljust(256, b"\0") + struct.pack(">QII", claim, 0, 2)); r = s.recv(291)
error = struct.unpack(">H", r[8:10])[0]
if error: print("error", error); sys.exit()
u = socket.create_connection((socket.inet_ntoa(r[10:14]), struct.unpack(">H", r[14:16])[0]), 60); u.settimeout(100)
try:
    u.sendall(data)
    if cut != "wait": u.shutdown(1)
    v = u.recv(512); print("taken" if v[4] else v[5:].split(b"\0")[0].decode())
except OSError as e: print("broken off")
PY
put() { on 1 timeout 240 python3 "$T/put.py" "$@"; }
head -c 1048576 "$T/images/web.ndz" > "$T/one"
disk_and_image 400000 "$T/small" "$T/small.ndz"; n=$(stat -c %s "$T/small.ndz")

echo "== uploads"
check "one that is as long as it says" [ "$(put good "$T/small.ndz" $n)" = taken ]
check "longer than it said" grep -q "$n bytes came, 1000 were announced" <(put good "$T/small.ndz" 1000)
check "shorter than it said" grep -q "$n bytes came, 2000000 were announced" <(put good "$T/small.ndz" 2000000)
check "larger than is allowed, as it says" [ "$(put good "$T/small.ndz" 70000000)" = "error 8" ]
check "the greatest number" [ "$(put good "$T/small.ndz" 18446744073709551615)" = "error 8" ]
check "chunks that are missing" grep -q . <(put cut "$T/one" 1048576 | grep -v taken)
check "silence" grep -q "nothing arrived for 2 seconds" <(put good "$T/small.ndz" $n wait)
cat > "$T/ask.py" << 'PY'
import socket, struct
s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100)
s.sendall(b"V01\0" + struct.pack(">I4xBH", 3, 0, 4) + b"held".ljust(256, b"\0") + struct.pack(">QII", 0, 0, 2)); r = s.recv(291)
print(struct.unpack(">H", r[14:16])[0])
PY
port=$(on 1 python3 "$T/ask.py")
cat > "$T/knock.py" << 'PY'
import socket, sys, time
while True:
    try: socket.create_connection(("10.9.0.1", int(sys.argv[1])), 60).close()
    except OSError: pass	# it is over
    time.sleep(0.3)
PY
ip netns exec "${LAB}2" "$PYTHON" -E -S "$T/knock.py" "$port" & KNOCKS=$!; PIDS+=($KNOCKS)
check "another host at its port does not keep it waiting" settled "upload failed name=held: nothing arrived for 2 seconds"
kill $KNOCKS; wait $KNOCKS 2> /dev/null
put big "$T/images/web.ndz" 0 > "$T/said"
check "no room" settled "upload failed name=big: .*No space left"
check "what is there is what was whole" [ "$(ls "$T/uploads")" = good ]
check "and it is as it was" cmp "$T/small.ndz" "$T/uploads/good"
cat > "$T/many.py" << 'PY'
import socket, struct
for i in range(17):
    name = b"many%d" % i; s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100)
    s.sendall(b"V01\0" + struct.pack(">I4xBH", 3, 0, len(name)) + name.ljust(256, b"\0") + struct.pack(">QII", 0, 0, 600))
    print(struct.unpack(">H", s.recv(291)[8:10])[0], end=" ")
PY
check "more uploads at once than it takes: the next one is awaited" [ "$(on 1 python3 "$T/many.py")" = "$(printf '0 %.0s' {1..17})" ]
check "and the oldest of which nothing came gives way" settled "upload failed name=many0: it had to give way to another upload"
check "idle ones keep no other host out" [ "$(on 2 timeout 240 python3 "$T/put.py" other "$T/small.ndz" $n)" = taken ]
rm "$T/uploads/other"	# there is room for one only
check "one more of them ends for it" settled "upload failed name=many1: it had to give way"
check "meanwhile images are served" get 2 web.ndz "$T/out"; check "its data" cmp "$T/disk" "$T/out"

# refused STATUS OPTIONS...: the master does not start; what an instrumented one says of its rights does not count.
refused() {
	local want=$1 rc; shift
	on s timeout 60 "$BIN/mfrisbeed" "$@" > /dev/null 2> "$T/all"; rc=$?
	grep -v "an instrumented program" "$T/all" > "$T/said"
	status "$want" sh -c "cat '$T/said' >&2; exit $rc"
}
echo "== two masters"
refused 1 -c "$T/conf"; check "at one port" grep -q "TCP port 64494 is taken by another program; -p chooses another one" "$T/stderr"
refused 1 -p 0 -c "$T/conf"; check "with one state" grep -q "state: another mfrisbeed uses this folder" "$T/stderr"
check "the first one goes on" get 2 web.ndz "$T/out"

echo "== a state that is none"
kill $MASTER; wait $MASTER
long=$(printf 'x%.0s' {1..257})
for line in "session x" "session x 239.1.1.1 99999" "session x 239.1.1.1 5 nonsense" "session x 239.1.1.1 5 holder=a/b" "session %zz 239.1.1.1 5" "session $long 239.1.1.1 5" "nonsense"; do
	echo "$line" > "$T/state/sessions"
	refused 3 -c "$T/conf"; check "it is said" grep -q "state/sessions: line 1" "$T/stderr"
done
printf 'session gone.ndz 239.192.50.9 5000\nsession web.ndz 239.192.50.7 5001\n' > "$T/state/sessions"
master; check "an image that is gone is left out" settled "is not served any more name=gone.ndz"
settled "is served name=web.ndz group=239.192.50.7"; check "the other one is served where it was" grep -q "^session web.ndz 239.192.50.7 5001" "$T/state/sessions"

echo "== a clock that jumps"
if [ -e "$jump" ]; then
	kill $MASTER; wait $MASTER; rm "$T/state/history.db"
	LD_PRELOAD=$jump CLOCKJUMP=mfrisbeed master
	check "a load" get 1 web.ndz "$T/out"; check "its data" cmp "$T/disk" "$T/out"
	check "an upload" [ "$(put good "$T/small.ndz" $n)" = taken ]
	has_two() { "$BIN/mfrisbeed" --report --json -c "$T/conf" > "$T/report.json" 2> /dev/null && [ "$(grep -o '"kind"' "$T/report.json" | wc -l)" -ge 2 ]; }
	check "both are in the history" soon has_two
	check "how long it took is right" python3 -c "
import json, sys, time
v = [x for x in json.load(open(sys.argv[1]))['events']]; assert len(v) == 2, v
assert all(0 <= x['seconds'] < 1800 for x in v) and all(abs(x['begun_at'] - time.time()) > 86400 for x in v), v" "$T/report.json"
fi
finish
