#!/usr/bin/env bash
# One command swaps nodes in: the real controllerd, frisbeed and frisbee, each node in a network of
# its own, with the words and the reports of netboot.  One node's disk fails, one is retried with
# success, the controller is killed in the middle, and sessions are stopped.
. "$(dirname "$0")/controller_lib.sh"
controller_lab 4 24
disk_is_loaded() { cmp -s "$T/disk" "$T/machines/$1/disk"; }

echo "== one command, three nodes, of which one disk fails for good"
echo 100 > "$T/machines/node3/broken"	# blocks of 512 bytes
controller_up -i 10.9.0.1 -W 40M --patience=30
swapin 'node[1-3]' lab.ndz > "$T/out" 2> "$T/err"; rc=$?
check "the exit status says that not all is done" [ $rc = 1 ]
check "two disks are loaded" eval 'disk_is_loaded node1 && disk_is_loaded node2'
check "the failed node and its step are named" grep -q "^node3: failed while loading: sda is not loaded" "$T/out"
check "the share that is deployed" grep -q "2 of 3 nodes deployed (66.7 %)" "$T/out"
check "the time of each phase" eval 'grep -q "^  booting *median.*worst" "$T/out" && grep -q "^  loading *median" "$T/out"'
check "it was tried twice" [ "$(api GET /api/v1/nodes/node3 | field try)" = 2 ]
check "no order is left" soon no_orders
check "each report was answered" eval '! grep -q "does not take" "$T"/machines/*/console'
check "frisbeed has ended" soon eval '[ -z "$(servers)" ]'
rm "$T/machines/node3/broken"

echo "== a node is unplugged while it loads; the others go on, and it is tried again"
rm -f "$T"/machines/*/disk
swapin --json 'node[1-3]' lab.ndz > "$T/out" 2> "$T/err" &
S=$!
soon eval '[ -s "$T/machines/node2/disk" ]' || fail "node2 does not begin"
machine_off node2
wait $S; rc=$?
check "all is done in the end" [ $rc = 0 ]
check "on all disks" eval 'disk_is_loaded node1 && disk_is_loaded node2 && disk_is_loaded node3'
check "node2 was tried twice, node1 once" eval '[ "$(field "members[1].try" < "$T/out")" = 2 ] && [ "$(field "members[0].try" < "$T/out")" = 1 ]'
check "share 1" [ "$(field share_deployed < "$T/out")" = 1 ]

echo "== the controller is killed while nodes load"
rm -f "$T"/machines/*/disk
swapin 'node[1-4]' lab.ndz > "$T/out" 2> "$T/err" &
S=$!
soon eval '[ -s "$T/machines/node4/disk" ]' || fail "node4 does not begin"
before=$(servers)
controller_again
check "frisbeed went on, and no second one was started" [ -n "$before" -a "$(servers)" = "$before" ]
wait $S; rc=$?
check "all is done" [ $rc = 0 ]
for n in 1 2 3 4; do check "node$n" eval "disk_is_loaded node$n && [ \"\$(api GET /api/v1/nodes/node$n | field try)\" = 1 ]"; done
check "no order is left" soon no_orders
check "frisbeed has ended" soon eval '[ -z "$(servers)" ]'
check "what was served is not kept" soon eval '! ls "$STATE"/mfrisbeed/session-* 2> /dev/null'

echo "== what is refused, and what a second request of the same name does"
touch "$T/machines/node1/unplugged"
last=$(sed -n "s/.*image is served .* port=\([0-9]*\) .*/\1/p" "$T/controller.log" | tail -n 1) next=$((last + 1))
ip netns exec "${LAB}s" "$PYTHON" -c 'import signal, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", int(sys.argv[1])))
signal.pause()' $next &
TAKER=$!
has_port() { on s ss -lun | grep -q ":$1 "; }
begins $TAKER has_port $next || fail "nobody takes the port"
api POST /api/v1/sessions '{"nodes": "node1", "image": "lab.ndz", "request": "one"}' > "$T/first"
check "201" [ "$(cat "$T/status")" = 201 ]
id=$(field id < "$T/first")
api POST /api/v1/sessions '{"nodes": "node1", "image": "lab.ndz", "request": "one"}' > "$T/second"
check "the same session" eval '[ "$(cat "$T/status")" = 200 ] && [ "$(field id < "$T/second")" = "$id" ]'
ordered() { sed -n 's/.* frisbee.group=239.192.77.\([0-9]*\) frisbee.port=77\([0-9]*\) .*/\1 \2/p' "$NET/boot/orders/52-54-00-00-00-01.ipxe" 2> /dev/null; }
soon eval '[ -n "$(ordered)" ]' || fail "there is no order"
read -r group port < <(ordered)
check "another program has its port: a free group with its port is in the order" [ "$((10#$group))" = "$((10#$port))" -a "77$port" != "$next" ]
check "and served" soon has_port "77$port"
swapin node1 lab.ndz > "$T/out" 2> "$T/err"
check "a node belongs to one session" grep -q "node1 belongs to session $id" "$T/err"
FRISBEE_TEST_TIMES=absent=1 swapin --follow="$id" > "$T/followed" 2>&1 &
S=$!
check "a node that does not boot is named" soon grep -q "node1 has not booted from the network yet" "$T/followed"
swapin node7 lab.ndz > /dev/null 2> "$T/err"; check "no such node: 1" [ $? = 1 ]
swapin node2 none.ndz > /dev/null 2> "$T/err"; check "no such image: 1" [ $? = 1 ]
swapin --words='frisbee.action=shell' node2 lab.ndz > /dev/null 2> "$T/err"; check "no other action" grep -q "cannot be a word" "$T/err"
on s curl -s -o "$T/out" -w '%{http_code}' -X POST -H 'Content-Type: application/json' -d '{}' "$URL/api/v1/sessions/$id/stop" > "$T/code"
check "not without a token" [ "$(cat "$T/code")" = 401 ]
controller_again
check "sessions that have ended are as they were" eval 'api GET "/api/v1/sessions/$((id - 1))" > "$T/out" && [ "$(field server.running < "$T/out")" = false ]'
check "with their chunk map, of which all was sent" eval 'field server.chunk_map < "$T/out" | grep -q "^ff*$"'
check "and their samples" eval '[ "$(field "samples[0][0]" < "$T/out")" != 0 ] && ! field address < "$T/out" 2> /dev/null'
check "the order is there after a restart" [ -e "$NET/boot/orders/52-54-00-00-00-01.ipxe" ]
swapin --stop="$id" > "$T/out"
check "stopped" grep -q "^node1: stopped" "$T/out"
wait $S; rc=$?
check "whoever follows it sees its end" eval '[ $rc = 1 ] && grep -q "^node1: stopped" "$T/followed"'
kill $TAKER; wait $TAKER 2> /dev/null
check "its order is gone" soon no_orders
check "history" [ "$(api GET /api/v1/history | field "history[0].state")" = stopped ]

echo "== nodes come and go while it runs"
node_status() { api GET "/api/v1/nodes/$1" > /dev/null; cat "$T/status"; }
status_is() { [ "$(node_status "$1")" = "$2" ]; }
api POST /api/v1/sessions '{"nodes": "node1", "image": "lab.ndz"}' > "$T/first"; id=$(field id < "$T/first")
cp "$NET/nodes" "$T/nodes.before"
sed -i '/node1 /d; /node4 /d' "$NET/nodes"; echo "node node5 52:54:00:00:00:05" >> "$NET/nodes"
kill -HUP "$CONTROLLER"
check "a new node" soon status_is node5 200
check "a node that is idle goes" status_is node4 404
check "a node in a session stays" status_is node1 200
check "it is still followed" [ "$(api GET "/api/v1/sessions/$id" | field "members[0].name")" = node1 ]
swapin --stop="$id" > "$T/out"
check "it goes when its session has ended" soon status_is node1 404
check "its order has gone before" no_orders
echo "node broken" >> "$NET/nodes"; kill -HUP "$CONTROLLER"
check "a file with an error is named in the log" \
    soon grep -q "the nodes stay as they were: .*nodes: line 4" "$T/controller.log"
check "and changes nothing" status_is node5 200
cp "$T/nodes.before" "$NET/nodes"; kill -HUP "$CONTROLLER"
check "all are back" eval 'soon status_is node1 200 && status_is node5 404'
bash -c "exec $(cat "$T/controller.command")" > "$T/out" 2>&1; check "a second controller is refused" grep -q "another controllerd" "$T/out"
timeout 240 bash -c "exec $(cat "$T/controller.command") --state='$T/other' --listen=127.0.0.1:0 --reports=0" > "$T/out" 2>&1; rc=$?
check "and one with a state of its own: orders for a node are those of one" eval '[ $rc = 1 ] && grep -q "boot/orders: another controllerd" "$T/out"'
kill "$CONTROLLER"; wait "$CONTROLLER"; check "a signal ends it with 0" [ $? = 0 ]

echo "== a request that comes before the controller"
rm -f "$T"/machines/node1/{unplugged,disk}
# Connections that nobody took.
refused() { on s awk '/^Tcp: [0-9]/ { print $8 }' /proc/net/snmp; }
before=$(refused)
swapin node1 lab.ndz > "$T/out" 2> "$T/err" &
S=$!
has_asked() { [ "$(refused)" -gt "$before" ]; }
begins $S has_asked || fail "it does not ask"
check "it says that it waits" soon grep -q "the controller at 127.0.0.1:8484 does not answer.*it is asked again for" "$T/err"
controller_start
wait $S; rc=$?
check "it is heard when the controller is there" [ $rc = 0 ]
check "and the disk is loaded" disk_is_loaded node1
[ "$bad" = 0 ] || cat "$T/controller.log" "$T"/machines/*/console
finish
