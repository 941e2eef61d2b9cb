#!/usr/bin/env bash
# What a master notes: loads that were done, left, failed or gone, uploads, images that cannot be served; and what
# mfrisbeed --report says of it while the master runs.
. "$(dirname "$0")/master_lib.sh"
lab_up 4
mkdir "$T/images" "$T/uploads"
take random:3000000 disk disk.ndz=images/web.ndz
take random:30000000 disk=bigdisk disk.ndz=images/big.ndz
head -c 1500000 "$T/images/web.ndz" > "$T/images/cut.ndz"
cat > "$T/conf" << CONF
images $T/images
uploads $T/uploads
group 239.192.50.1
allow 10.9.0.0/24 all
state $T/state
interface eth0
idle 4
rate 60M
CONF
reports_nothing() { [ "$("$BIN/mfrisbeed" --report -c "$T/conf" 2> "$T/said")" = "nothing was loaded yet" ]; }
mkdir "$T/state"; : > "$T/state/history.db"	# as a master makes it, before it says what is in it
reports_nothing && fail "a history that is being made has a report"
check "a history that is being made is called new" grep -q "history.db: the history: nothing was noted yet" "$T/said"
master
check "nothing was loaded yet" soon reports_nothing

echo "== what happens"
told() {	# EVENTS: the history has so many; the master looks for them once a second
	[ "$("$BIN/mfrisbeed" --report --json -c "$T/conf" 2> /dev/null | json - 'events[#]' 2> /dev/null || echo 0)" -ge "$1" ]
}
check "a load" get 1 web.ndz "$T/out1"
check "is in the history" soon told 1
check "and another one there" get 1 web.ndz "$T/out1"
check "a load in the base protocol" get 2 web.ndz "$T/out2" --base
mkdir "$T/little"; mount -t tmpfs -o size=1M none "$T/little" || skip "cannot mount in a namespace"
status 1 get 3 web.ndz "$T/little/out"; umount "$T/little"
ip netns exec "${LAB}4" "$BIN/frisbee" -q -S 10.9.0.1 -F big.ndz "$T/out4" & p=$!
check "a client that vanishes has come" settled "client joined addr=10.9.0.14"; kill -9 $p; wait $p 2> /dev/null
status 1 get 1 cut.ndz "$T/out1"
check "an upload" on 2 "$BIN/imagezip" -q -r --to=frisbee://10.9.0.1/up "$T/disk"
printf garbage > "$T/garbage"
cat > "$T/put.py" << 'PY'
import socket, struct, sys
n = b"bad"; s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100)
s.sendall(b"V01\0" + struct.pack(">I4xBH", 3, 0, len(n)) + n.ljust(256, b"\0") + struct.pack(">QII", 7, 0, 5)); r = s.recv(291)
u = socket.create_connection((socket.inet_ntoa(r[10:14]), struct.unpack(">H", r[14:16])[0]), 60); u.sendall(b"garbage"); u.close()
PY
check "an upload that is no image" on 2 python3 "$T/put.py"
settled "upload failed name=bad"
settled "session has ended name=big.ndz"; settled "session has ended name=web.ndz"
check "all of it is in the history" soon told 8

echo "== what is told"
"$BIN/mfrisbeed" --report --json -c "$T/conf" > "$T/report.json" || fail "--report --json"
cat > "$T/look.py" << 'PY'
import json, sys, time
r = json.load(open(sys.argv[1])); seen = sorted((v["kind"], v["image"], v["host"], v["outcome"]) for v in r["events"])
want = sorted([("load", "web.ndz", "10.9.0.11", "done"), ("load", "web.ndz", "10.9.0.11", "done"), ("load", "web.ndz", "10.9.0.12", "left"),
    ("load", "web.ndz", "10.9.0.13", "failed"), ("load", "big.ndz", "10.9.0.14", "gone"), ("session", "cut.ndz", "", "failed"),
    ("upload", "up", "10.9.0.12", "done"), ("upload", "bad", "10.9.0.12", "failed")])
assert seen == want, seen
for v in r["events"]:
    assert abs(v["begun_at"] - time.time()) < 3600 and 0 <= v["seconds"] < 1800, v
    if v["outcome"] == "failed" and v["kind"] != "load": assert v["reason"], v
    if v["kind"] == "load" and v["outcome"] == "done": assert v["bytes"] >= 3000000, v
web = [i for i in r["images"] if i["name"] == "web.ndz"][0]
assert (web["loads"], web["loads_done"], web["loads_failed"], web["loads_left"], web["loads_gone"]) == (4, 2, 1, 1, 0), web
print("as it was")
PY
check "all of it as JSON" [ "$(python3 "$T/look.py" "$T/report.json")" = "as it was" ]
"$BIN/mfrisbeed" --report -c "$T/conf" > "$T/report" || fail "--report"
cat "$T/report"
check "a line for each image" grep -q "^web.ndz  *4  *2  *1  *1  *0 " "$T/report"
check "what did not end well" grep -q "UTC  upload of bad, host 10.9.0.12: failed after .* s: " "$T/report"
check "and what can't be served" grep -q "session of cut.ndz: failed after 0.0 s: .*truncated" "$T/report"

echo "== a history that cannot be written"
kill $MASTER; wait $MASTER; echo garbage > "$T/state/history.db"; master
check "the log says so" settled "no history is kept"
check "images are served all the same" get 1 web.ndz "$T/out1"
status 3 "$BIN/mfrisbeed" --report -c "$T/conf"
finish
