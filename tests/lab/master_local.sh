#!/usr/bin/env bash
# Programs of the master's host say what it serves, by a Unix socket: what they say reaches the session, each ends
# only what it holds, all see everything; another version and other users are refused; a restart keeps it.
. "$(dirname "$0")/master_lib.sh"
lab_up 2
chmod 755 "$T"
mkdir "$T/images"
take random:3000000 disk disk.ndz=images/web.ndz
cp "$T/images/web.ndz" "$T/images/other name.ndz"
"$BIN/imagekey" -q --group-key "$T/lab.group" || fail imagekey
cat > "$T/conf" << CONF
images $T/images
group 239.192.50.1
allow 10.9.0.0/24
state $T/state
interface eth0
idle 8
CONF
cat > "$T/talk.py" << 'PY'
# LINES...: send them, and print each answer; "until WORDS": wait for a line that has them all.
import socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[1]); f = s.makefile("rw")
for line in sys.argv[2:]:
    if line.startswith("until "):
        while True:
            said = f.readline()
            if not said: sys.exit("it has hung up")
            if all(w in said for w in line[6:].split("|")): print(said, end=""); break
        continue
    f.write(line + "\n"); f.flush()
    said = f.readline()
    if not said: sys.exit("it has hung up")
    print(said, end="", flush=True)
PY
SOCK=$T/sock
talk() { timeout 240 python3 "$T/talk.py" "$SOCK" "$@"; }
tell() { talk "version 1" "$@" | tail -n 1; }	# LINE: its answer alone
see() { talk "version 1" watch "until $1" | tail -n 1; }	# WORDS|WORDS...: the first line of a watch that has them
ok='{"ok": true}'
master --local "$T/sock"

echo "== who is heard"
check "nobody else may reach it" [ "$(stat -c %a "$T/sock")" = 700 ]
check "another version" grep -q "understands requests of version 1, not 2" <(talk "version 2")
check "no version" grep -q 'version 1.* comes first' <(talk watch)
check "what is no request" grep -q '"ok": false' <(tell "begin")
check "a line that never ends" [ "$(talk "version 1" "$(head -c 5000 /dev/zero | tr '\0' x)" 2>&1 | tail -n 1)" != "$ok" ]
check "an image that is not there" grep -q "none.ndz" <(tell "begin none.ndz holder=a")

echo "== begin, watch, end"
check "nothing is served" grep -q '"sessions": \[\]' <(see sessions)
check "a session with options" [ "$(tell "begin web.ndz holder=a rate=60M wait=2")" = "$ok" ]
see '"state": "serving"' > "$T/seen"
check "who watches sees it" grep -q '"name": "web.ndz".*"holders": \["a"\]' "$T/seen"
pid=$(grep -o "is served name=web.ndz .*" "$T/master.log" | sed 's/.*pid=//')
has_word() { tr '\0' '\n' < "/proc/$pid/cmdline" | grep -qx -e "$1"; }
for word in --bandwidth=60000000 --dynamic --wait=2 --timeout=0; do check "its frisbeed is told $word" has_word "$word"; done
check "with other options it is refused to its holder" grep -q "a has it with other options" <(tell "begin web.ndz holder=a rate=50M wait=2")
check "another one gets a session of its own" [ "$(tell "begin web.ndz holder=c rate=50M wait=2")" = "$ok" ]
check "beside it" grep -q '"holders": \["a"\].*"holders": \["c"\]' <(see '"c"')
check "which ends alone" [ "$(tell "end web.ndz holder=c")" = "$ok" ]
quietly see '"sessions": [{"name": "web.ndz","state": "serving"'
check "another one may hold it, too" [ "$(tell "begin web.ndz holder=b rate=60M wait=2")" = "$ok" ]
check "both are seen" grep -q '"holders": \["a","b"\]' <(see '"a","b"')
get 1 web.ndz "$T/out1" & a=$!; get 2 web.ndz "$T/out2" & b=$!
check "clients that ask for its name join it" wait $a; wait $b || fail "the other one"
check "the data" cmp "$T/disk" "$T/out1"
check "who watches sees them" grep -q '"clients_done": 2' <(see '"clients_done": 2')
check "a stranger ends nothing" grep -q "c holds no session of it" <(tell "end web.ndz holder=c")
check "one of two ends it" [ "$(tell "end web.ndz holder=a")" = "$ok" ]
check "and the other one has it" grep -q '"state": "serving".*"holders": \["b"\]' <(see '"holders": ["b"]')
check "the same process" [ -e "/proc/$pid" ]
check "the last one ends it" [ "$(tell "end web.ndz holder=b")" = "$ok" ]
check "it is gone" quietly see '"sessions": []'

check "the images" grep -q '{"ok": true,"images": \[{"name": "other name.ndz","bytes": [0-9]*,"modified": [0-9]*,"version": "[0-9]*"},{"name": "web.ndz",.*}\],"more": false}' <(tell images)

note='{"holder": "cafe-7","image": "web.ndz","capture": false,"began": 1000,"seconds": 60,"node": {"name": "n1","phase": "failed","try": 2,"last_words": "no disk"}}'
check "what has become of a node is noted" [ "$(tell "note $note")" = "$ok" ]
check "as often as it is told" [ "$(tell "note $note")" = "$ok" ]
check "once" [ "$(tell "members holder=cafe-7")" = "{\"ok\": true,\"members\": [$note]}" ]
check "of others there is nothing" [ "$(tell "members holder=cafe-8")" = '{"ok": true,"members": []}' ]
check "what nobody can be is refused" grep -q "phase.*is not done" <(tell "note ${note/failed/lost}")
check "who has failed is in the report" grep -q "load of web.ndz, node n1: failed after 60.0 s: no disk" <("$BIN/mfrisbeed" --report -c "$T/conf")
cat > "$T/deaf.py" << 'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[1]); s.sendall(b"version 1\n")
try:
    while True: s.sendall(100 * b"images\n")
except (BrokenPipeError, ConnectionResetError): print("hung up")
PY
check "who asks and never reads is hung up on" [ "$(timeout 100 python3 "$T/deaf.py" "$T/sock")" = "hung up" ]

echo "== a key, and a name with a blank"
name=other%20name.ndz
check "a session with a key" [ "$(tell "begin $name holder=a wait=1 group-key=${T//\//%2f}%2flab.group")" = "$ok" ]
see '"state": "serving"' > "$T/seen"
group=$(json "$T/seen" 'sessions[0].group') port=$(json "$T/seen" 'sessions[0].port')
check "its statistics are named" [ -f "$(json "$T/seen" 'sessions[0].statistics')" ]
check "who has the key loads it" on 1 timeout 240 "$BIN/frisbee" -q --group-key "$T/lab.group" -m "$group" -p "$port" "$T/out1"
check "the data" cmp "$T/disk" "$T/out1"
check "who asks for its name gets a session without a key" get 2 "other name.ndz" "$T/out2"
check "the data" cmp "$T/disk" "$T/out2"
check "both are there" grep -q '"holders": \["a"\].*"holders": \[\]' <(see sessions)

echo "== a restart keeps what is held"
check "one without options" [ "$(tell "begin web.ndz holder=a")" = "$ok" ]
quietly see '"web.ndz","state": "serving"'
check "a client asks for it by its name" get 2 web.ndz "$T/out2"
kill -9 $MASTER; wait $MASTER 2> /dev/null; master --local "$T/sock"
see '"web.ndz","state": "serving"|"other name.ndz","state": "serving"' > "$T/seen"
check "where it was, with its key: $group $port" grep -q "\"group\": \"$group\",\"port\": $port,.*\"holders\": \[\"a\"\]" "$T/seen"
pid=$(grep -o "is served name=other name.ndz group=$group port=$port .*" "$T/master.log" | tail -n 1 | sed "s/.*pid=//")
check "what has sent something does not wait for clients again" eval 'has_word --group-key="$T/lab.group" && ! has_word --wait=1'
check "for who has it" on 1 timeout 240 "$BIN/frisbee" -q --group-key "$T/lab.group" -m "$group" -p "$port" "$T/out1"
check "the end" [ "$(tell "end $name holder=a")" = "$ok" ]
check "of one without options" [ "$(tell "end web.ndz holder=a")" = "$ok" ]
check "lets clients go on until it is idle" quietly see '"web.ndz","state": "serving"|"holders": []'
check "and then it is gone" quietly see '"sessions": []'

echo "== an image that only the parent has"
mkdir "$T/kept"
cat > "$T/conf1" << CONF
parent 10.9.0.1 $T/kept interface=eth0
group 239.192.60.1
allow 10.9.0.0/24
state $T/state1
interface eth0
CONF
BOSS=$MASTER; master_at 1 --local "$T/sock1"; SOCK=$T/sock1
check "it begins, and is answered before what comes behind it" [ "$(tell $'begin web.ndz holder=a rate=60M\nbegin')" = "$ok" ]
check "it is fetched and served" quietly see '"web.ndz","state": "serving"'
FROM=10.9.0.11 check "for clients" get 2 web.ndz "$T/out2"; check "the data" cmp "$T/disk" "$T/out2"
check "what the parent has not is an error" grep -q "none.ndz: the parent 10.9.0.1 has no such image" <(tell "begin none.ndz holder=a")
kill $BOSS; wait $BOSS
check "and so is a parent that is away" grep -q "master server 10.9.0.1: .*cannot connect" <(tell "begin other.ndz holder=a")
SOCK=$T/sock; master --local "$T/sock"

echo "== another user"
if [ "$(stat -c %u /etc)" = 0 ] && [ "$(awk 'NR == 1 { print $3 }' /proc/self/uid_map)" != 1 ]; then
	chmod 777 "$T/sock"
	check "is not heard" grep -q "hung up\|reset\|Broken" <(setpriv --reuid=65534 --clear-groups timeout 60 python3 "$T/talk.py" "$T/sock" "version 1" 2>&1)
	check "root is" [ "$(talk "version 1")" = "$ok" ]
fi
finish
