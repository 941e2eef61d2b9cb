#!/usr/bin/env bash
# What sends a controller's images is mfrisbeed: one that the controller starts, or one that others use, too.  Each
# process of the chain is killed while nodes load; another version, and what mfrisbeed refuses; two controllers at one.
. "$(dirname "$0")/controller_lib.sh"
controller_lab 3 24
disk_is_loaded() { cmp -s "$T/disk" "$T/machines/$1/disk"; }
master_pid() { ip netns pids "${LAB}s" | while read -r p; do [ "$(cat "/proc/$p/comm" 2> /dev/null)" = mfrisbeed ] && echo "$p"; done; }
place() { grep -oh 'frisbee.group=[0-9.]* frisbee.port=[0-9]*' "$NET"/boot/orders/*.ipxe; }
begin() {	# NODES: a session, whose number is in $id; returns when the last of them has loaded a part
	rm -f "$T"/machines/*/disk
	api POST /api/v1/sessions "{\"nodes\": \"$1\", \"image\": \"lab.ndz\"}" > "$T/first"; id=$(field id < "$T/first")
	soon [ -s "$T/machines/node2/disk" ] || fail "node2 does not begin"
}
ends() { soon eval '[ "$(api GET "/api/v1/sessions/$id" | field state)" = done ]'; }
tries() { api GET "/api/v1/nodes/$1" | field try; }
all_went_on() { ends && disk_is_loaded node1 && disk_is_loaded node2 && [ "$(tries node1)$(tries node2)" = 11 ]; }

echo "== a process that sends is killed"
random_bytes 2M 9 > "$T/stored"; "$BIN/imagezip" -q -r "$T/stored" "$T/stored.ndz" || fail imagezip
"$BIN/emustore" -q --store "$T/mystore" init && "$BIN/emustore" -q --store "$T/mystore" put lab/web "$T/stored.ndz" || fail emustore
controller_up -i 10.9.0.1 -W 20M --patience=60 --store="$T/mystore"
begin 'node[1-2]'; at=$(place)
check "group and port are those of the first session: $at" grep -q "frisbee.group=239.192.77.1 frisbee.port=7701" <<< "$at"
before=$(servers)
check "its mfrisbeed opens no TCP port" eval '[ -n "$(master_pid)" ] && ! on s ss -ltnp | grep mfrisbeed'
check "frisbeed" kill -9 "$before"
check "another one takes its place" soon eval '[ -n "$(servers)" -a "$(servers)" != "$before" ]'
check "and the nodes go on" all_went_on
check "it ends then" soon eval '[ -z "$(servers)" ]'

echo "== images of a store"
images() { api GET /api/v1/images > "$T/out"; json -1 "$T/out" "$@"; }
check "are listed, with their versions" images 'images[#]=3' 'images[name=store:lab/web].store=lab/web' 'images[name=store:lab/web:1].store=lab/web:1'
swapin node3 store:lab/web > "$T/out" 2> "$T/err"; rc=$?
check "the latest is loaded" eval '[ $rc = 0 ] && cmp -s "$T/stored" "$T/machines/node3/disk"'
"$BIN/emustore" -q --store "$T/mystore" put lab/web "$NET/images/lab.ndz" || fail emustore
check "another version is there at once" images 'images[#]=4' 'images[name=store:lab/web:2].store=lab/web:2'
swapin node3 store:lab/web:3 > "$T/out" 2> "$T/err"; check "one that is not there: 1" [ $? = 1 ]
rm "$T/machines/node3/disk"; swapin node3 store:lab/web:1 > "$T/out" 2> "$T/err"; rc=$?
check "an old one is loaded" eval '[ $rc = 0 ] && cmp -s "$T/stored" "$T/machines/node3/disk"'
mv "$T/mystore" "$T/gone"
check "a store that is gone: what it had is listed still, and why" images 'images[#]=4' 'away~mystore'
mv "$T/gone" "$T/mystore"
check "until it is there" eval 'images "images[#]=4" && ! grep -q away "$T/out"'

echo "== mfrisbeed is killed"
begin 'node[1-2]'; at=$(place); before=$(master_pid)
check "one runs, and goes on to" [ "$(wc -w <<< "$before")" = 1 ]
kill -9 "$before"
check "the log says so" soon grep -q "mfrisbeed at .*: it has hung up" "$T/controller.log"
check "another one is started" soon eval '[ -n "$(master_pid)" -a "$(master_pid)" != "$before" ]'
check "it sends where the nodes wait" [ "$(place)" = "$at" ]
check "and they go on" all_went_on
check "no order is left" soon no_orders

echo "== mfrisbeed is killed when all nodes are done, before it is told"
runs() { api GET "/api/v1/sessions/$id" | field server.running; }
begin 'node[1-2]'; before=$(master_pid)
kill -STOP "$before"
check "nodes go on without it" all_went_on
kill -9 "$before"
check "another one is started, and told" soon eval '[ "$(runs)" = false ]'
check "nothing is served" soon eval '[ -z "$(servers)" ]'

echo "== who has loaded what is in mfrisbeed's history, once"
told() { "$BIN/mfrisbeed" --report --json -c "$STATE/mfrisbeed.conf"; }
has() { [ "$(told | grep -c "$1")" = "$2" ]; }	# TEXT COUNT
check "each node of three sessions" soon eval 'has "\"node\": \"node1\"" 3 && has "\"node\": \"node2\"" 3'
check "as one load each" has '"kind": "load"' 8
check "with the bytes that the session of its image has counted" [ "$(told | grep -c '"bytes": 2[0-9]\{7\}')" -ge 2 ]
whole() { api GET "/api/v1/sessions/1" > "$T/out"; json -1 "$T/out" 'members[#]=2' 'members[name=node1].phase=done' 'members[name=node1].session=1' 'members[1].phases.loading>0'; }
check "a session has its nodes, although they were in others since" whole
before=$(master_pid); kill -STOP "$before"
check "mfrisbeed hangs: they are missing, which is said" eval 'api GET /api/v1/sessions/1 > "$T/out"; json -1 "$T/out" state=done "members[#]=0" "away~what has become of the nodes: it does not answer"'
check "the last one has them" eval 'api GET "/api/v1/sessions/$id" > "$T/out"; json -1 "$T/out" "members[#]=2" && ! grep -q away "$T/out"'
kill -CONT "$before"
check "until it answers" soon eval 'whole && ! grep -q away "$T/out"'
controller_again
check "and after a kill of the controller, too" soon eval 'whole && ! grep -q away "$T/out"'
check "nothing is told twice" has '"kind": "load"' 8
"$PYTHON" -E -S -c 'import sqlite3, sys; d = sqlite3.connect(sys.argv[1], 60); d.execute("DELETE FROM event"); d.commit()' "$STATE/mfrisbeed/history.db" || fail "the history"
check "a history that was deleted: nodes are missing, which is said" eval 'api GET /api/v1/sessions/1 > "$T/out"; json -1 "$T/out" "members[#]=0" "away~history does not have all nodes of this session: 0 of 2 are here"'
check "the last session has them here" eval 'api GET "/api/v1/sessions/$id" > "$T/out"; json -1 "$T/out" "members[#]=2" && ! grep -q away "$T/out"'

echo "== what one session is told"
rm -f "$T"/machines/*/disk; touch "$T"/machines/node{2,3}/unplugged
machine_off node2; machine_off node3
mkdir "$T/orders"; echo "no order" > "$T/orders/lab.ndz.order"
swapin -W 30M --wait=2 --until=2 --orders="$T/orders" 'node[1-3]' lab.ndz > "$T/out" 2> "$T/err" & S=$!
sent() { api GET /api/v1/sent | field "sent[0].$1"; } 2> /dev/null
check "a node waits for another one" soon eval '[ "$(sent clients_known)" = 1 ]'
has_word() { tr '\0' '\n' < "/proc/$(servers)/cmdline" | grep -qx -e "$1"; }
for word in --bandwidth=30000000 --wait=2 --orders="$T/orders"; do check "its frisbeed is told $word" has_word "$word"; done
check "looks for the order of reads there" soon grep -q "orders/lab.ndz.order.*without an order of reads" "$T/controller.log"
nothing_for 1 "it is sent at once, when nobody is waited for"
check "and nothing is sent" [ "$(sent blocks_sent)" = 0 ]
id=$(api GET /api/v1/sessions | field "sessions[0].id")
check "the session says what it was told" json <(api GET "/api/v1/sessions/$id") bandwidth_bits_per_s=30000000 wait=2 until=2 orders="$T/orders"
rm "$T/machines/node2/unplugged"; machine_on node2
check "then it is" soon eval '[ "$(sent blocks_sent)" -gt 0 ]'
before=$(servers); kill -9 "$before"
check "it is killed, and another one begins" soon eval '[ "$(servers)" != "$before" ] && has_word --bandwidth=30000000'
check "which does not wait" eval '! has_word --wait=2'
wait $S; rc=$?
check "two are enough" eval '[ $rc = 0 ] && disk_is_loaded node1 && disk_is_loaded node2 && grep -q "^node3: stopped" "$T/out"'
check "no order is left" soon no_orders
rm "$T/machines/node3/unplugged"

echo "== all of it is killed"
begin 'node[1-2]'; at=$(place)
check "it is not at the first group: $at" eval '! grep -q "group=239.192.77.1 " <<< "$at"'
kill -9 "$CONTROLLER"; wait "$CONTROLLER" 2> /dev/null; kill -9 "$(master_pid)"
rm -r "$STATE/mfrisbeed"; controller_start
check "it is where the nodes wait, although mfrisbeed's state is lost" soon eval '[ -n "$(servers)" -a "$(place)" = "$at" ]'
check "and they go on" all_went_on
kill "$CONTROLLER"; wait "$CONTROLLER"; check "a signal ends it with 0" [ $? = 0 ]
check "and its mfrisbeed, which has nothing to send, with all that it has started" soon eval '[ -z "$(master_pid)$(servers)" ]'

echo "== one that cannot start"
echo "no list" > "$STATE/mfrisbeed/sessions"
controller_up -i 10.9.0.1
swapin node1 lab.ndz > "$T/out" 2> "$T/err"; rc=$?
check "the session fails with its sentence" eval '[ $rc = 1 ] && grep -q "node1: .*its image is not sent: .*mfrisbeed/sessions: line 1" "$T/out"'
check "the log has one line of it" [ "$(grep -c "mfrisbeed has ended pid=.*line 1" "$T/controller.log")" = 1 ]
check "and so does who asks for the images" eval 'api GET /api/v1/images | field away | grep -q "does not say which images there are: .*line 1"'
kill "$CONTROLLER"; wait "$CONTROLLER"

echo "== an mfrisbeed that is not there, and one of another version"
rm -rf "$T"/machines/*/disk
controller_up -i 10.9.0.1 --master="$T/sock" --patience=60
check "the log says so" soon grep -q "mfrisbeed at $T/sock: No such file or directory; it is asked again" "$T/controller.log"
api POST /api/v1/sessions '{"nodes": "node1", "image": "lab.ndz"}' > "$T/first"; id=$(field id < "$T/first")
last() { api GET "/api/v1/sessions/$id" | field last_words; }
check "and so does the session" soon eval 'last | grep -q "waits for mfrisbeed: No such file"'
check "no node is sent anywhere" no_orders
check "who asks for the images is told" eval 'api GET /api/v1/images | field away | grep -q "No such file"'
"$PYTHON" -E -S - "$T/sock" << 'PY' &
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()
while True:
    c = s.accept()[0]; c.makefile().readline(); c.sendall(b'{"ok": false,"error": "this mfrisbeed understands requests of version 2, not 1"}\n'); c.close()
PY
OTHER=$!
check "another version" soon eval 'last | grep -q "understands requests of version 2, not 1"'
kill $OTHER; wait $OTHER 2> /dev/null
mkdir "$T/folder" "$T/folder/other"; ln "$NET/images/lab.ndz" "$T/folder/lab.ndz"; ln "$NET/images/lab.ndz" "$T/folder/other/lab.ndz"
cat > "$T/conf" << CONF
images $T/folder
group 239.192.88.1
allow 10.9.0.0/24
state $T/master
interface 10.9.0.1
idle 5
CONF
ip netns exec "${LAB}s" "$BIN/mfrisbeed" -c "$T/conf" --local="$T/sock" >> "$T/controller.log" 2>&1 < /dev/null &
MASTER=$!; PIDS+=($MASTER)
check "the right one is asked" soon grep -q "frisbee.group=239.192.88.1 " "$NET/boot/orders/52-54-00-00-00-01.ipxe"
check "and the node loads" eval 'ends && disk_is_loaded node1'
check "its images are the controller's" eval 'api GET /api/v1/images > "$T/out"; json -1 "$T/out" "images[#]=2" "images[name=other/lab.ndz].bytes>1000000" && ! grep -q away "$T/out"'
swapin node1 none.ndz > "$T/out" 2> "$T/err"; check "no such image: 1" [ $? = 1 ]
rm "$T/machines/node1/disk"; swapin node1 other/lab.ndz > "$T/out" 2> "$T/err"; rc=$?
check "one of a folder in the folder is loaded" eval '[ $rc = 0 ] && disk_is_loaded node1'
kill -STOP "$MASTER"
check "one that hangs is waited for, and then said" eval 'api GET /api/v1/images > "$T/out"; json -1 "$T/out" "images[#]=2" "away~it does not answer"'
kill -CONT "$MASTER"
check "until it answers" soon eval '! api GET /api/v1/images | grep -q away'
for option in --group=239.1.1.1 --store="$T"; do check "status 2 with $option, which that one's configuration has" eval '"$BIN/controllerd" -i 10.9.0.1 --master="$T/sock" "$option" "$NET" 2>&1 | grep -q "with --master, the configuration"'; done

echo "== two controllers at one mfrisbeed"
SECOND=$T/second
mkdir -p "$SECOND/boot/orders"; ln -s "$NET/images" "$SECOND/images"; echo "node node3 $(mac_of 3)" > "$SECOND/nodes"
touch "$T"/machines/node{1,3}/unplugged
ip netns exec "${LAB}s" "$BIN/controllerd" -i 10.9.0.1 --power="$T/power" --listen=127.0.0.1:8485 --reports=5102 --master="$T/sock" "$SECOND" >> "$T/controller.log" 2>&1 < /dev/null &
PIDS+=($!)
second() { STATE=$SECOND/controller URL=http://127.0.0.1:8485 api "$@"; }
soon eval 'second GET /api/v1/sessions > /dev/null; [ "$(cat "$T/status")" = 200 ]' || fail "the second one does not start"
api POST /api/v1/sessions '{"nodes": "node1", "image": "lab.ndz"}' > "$T/first"; id=$(field id < "$T/first")
second POST /api/v1/sessions '{"nodes": "node3", "image": "lab.ndz"}' > "$T/other"; other=$(field id < "$T/other")
soon grep -q frisbee.port= "$SECOND/boot/orders/52-54-00-00-00-03.ipxe" || fail "the second one has no order"
soon eval '[ -n "$(place)" ]' || fail "the first one has no order"
check "both have one session of the image" [ "$(place)" = "$(NET=$SECOND place)" ]
before=$(servers)
api POST "/api/v1/sessions/$id/stop" > /dev/null
nothing_for 4 "statistics behind the end are waited for up to 3 s"
check "the other one has it" [ "$(servers)" = "$before" ]
check "an image that a client asks for by name is seen, too" eval 'on 2 timeout 240 "$BIN/frisbee" -q -S 10.9.0.1 -F lab.ndz "$T/out" && api GET /api/v1/sent | json - "sent[0].name=lab.ndz" && api GET /metrics | grep -q "^frisbee_sent_clients{image=\"lab.ndz\",address=\"239.192.88."'
check "and its server runs" [ "$(second GET "/api/v1/sessions/$other" | field server.running)" = true ]
second POST "/api/v1/sessions/$other/stop" > /dev/null
check "nobody has it" soon eval '[ -z "$(servers)" ]'
check "mfrisbeed goes on" kill -0 "$MASTER"
[ "$bad" = 0 ] || cat "$T/controller.log" "$T"/machines/*/console
finish
