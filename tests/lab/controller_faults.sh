#!/usr/bin/env bash
# What goes wrong around the controller: orders that cannot be written for a while, a file of nodes that is changed
# while no controller runs, a state that cannot be saved, a full disk, a web server before it; and what the programs that it starts inherit.
. "$(dirname "$0")/controller_lib.sh"
python3 -c 'import sqlite3' 2> /dev/null || skip "needs python3 with sqlite3"
controller_lab 2 1
order_of() { echo "$NET/boot/orders/52-54-00-00-00-0$1.ipxe"; }
sed -i "2i ls -l /proc/\$\$/fd > '$T/inherited'" "$T/power"
touch "$T/machines/node1/unplugged" "$T/machines/node2/unplugged"	# sessions go on until they are stopped
controller_up -i 10.9.0.1

echo "== an order that cannot be written is written as soon as it can be"
mkdir "$(order_of 1)"
api POST /api/v1/sessions '{"nodes": "node1", "image": "lab.ndz"}' > "$T/first"; id=$(field id < "$T/first")
check "the log says so" soon grep -q "node=node1.*its order cannot be written" "$T/controller.log"
nothing_for 2 "the controller looks at each node once a second"
check "the node is not switched on without it" [ ! -e "$T/inherited" ]
rmdir "$(order_of 1)"
check "its order is there" soon grep -q "frisbee.action=load" "$(order_of 1)"
check "the power program has run" soon [ -s "$T/inherited" ]
check "what it has started has no descriptor of its own" eval '! grep -E "eventpoll|socket:" "$T/inherited"'

echo "== a node gets another card while no controller runs"
kill -9 $CONTROLLER; wait $CONTROLLER 2> /dev/null
sed -i "s/$(mac_of 1)/$(mac_of 3)/" "$NET/nodes"
echo "set order frisbee.order=other-1-1 frisbee.action=load" > "$(order_of 4)"
controller_start
check "its order is there" grep -q "frisbee.action=load" "$(order_of 3)"
check "the machine with its old card finds none" [ ! -e "$(order_of 1)" ]
check "what somebody else has ordered stays" [ -s "$(order_of 4)" ]
rm "$(order_of 4)"
swapin --stop="$id" > "$T/out"
check "no order is left" soon no_orders

echo "== a session that cannot be saved does not begin later"
mkfifo "$T/release"
python3 - "$STATE/state.db" "$T" << 'PY' &
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN IMMEDIATE")
open(sys.argv[2] + "/held", "w")
open(sys.argv[2] + "/release").read()
PY
HOLDER=$!
soon [ -e "$T/held" ] || fail "the state is not held"
api POST /api/v1/sessions '{"nodes": "node2", "image": "lab.ndz", "request": "r-1"}' > "$T/out"
check "500" [ "$(cat "$T/status")" = 500 ]
echo > "$T/release"; wait $HOLDER
phase() { api GET /api/v1/nodes/node2 | field phase; }
# It is refused before it begins, or is stopped, when what was there before had been saved.
not_begun() { [[ $(phase) =~ ^(idle|stopped)$ ]]; }
check "and it has not begun, or is stopped" not_begun
nothing_for 2 "the controller looks at each node once a second"
check "nothing comes of it" eval 'not_begun && no_orders'
api POST /api/v1/sessions '{"nodes": "node2", "image": "lab.ndz", "request": "r-1"}' > "$T/first"; id=$(field id < "$T/first")
check "the same request begins now" eval '[ "$(cat "$T/status")" = 201 ] && soon test -e "$(order_of 2)"'
swapin --stop="$id" > "$T/out"
check "no order is left" soon no_orders

echo "== a full disk: what runs goes on, and when there is room again, so does all else"
kill "$CONTROLLER"; wait "$CONTROLLER"
mount -t tmpfs -o size=1m none "$STATE" || fail "cannot mount in a namespace"
CLEANUP+=('umount -l "$STATE" 2> /dev/null')
FRISBEE_TEST_TIMES=save=0.02 controller_start
api POST /api/v1/sessions '{"nodes": "node1", "image": "lab.ndz"}' > "$T/first"; id=$(field id < "$T/first")
soon eval 'ls "$STATE"/mfrisbeed/session-*.json > /dev/null 2>&1' || fail "nothing is served"
! dd if=/dev/zero of="$STATE/fill" bs=4k 2> /dev/null || fail "it is not full"
api POST /api/v1/sessions '{"nodes": "node2", "image": "lab.ndz"}' > "$T/out"
check "500, and a sentence" eval '[ "$(cat "$T/status")" = 500 ] && grep -q "full" "$T/out"'
# Each wakes it, and it tries again.
for i in {1..100}; do on s curl -s -o /dev/null "$URL/metrics"; done
check "the controller is there" kill -0 "$CONTROLLER"
check "and shows what runs" [ "$(api GET "/api/v1/sessions/$id" | field state)" = running ]
said=$(grep -c "the state: .*full" "$T/controller.log")
check "the log says what is wrong, and not each time: $said" [ "$said" -ge 1 -a "$said" -le 5 ]	# each minute
check "frisbeed goes on" [ -n "$(servers)" ]
rm "$STATE/fill"
check "it is saved again" soon grep -q "the state is saved again" "$T/controller.log"
api POST /api/v1/sessions '{"nodes": "node2", "image": "lab.ndz"}' > "$T/second"
check "sessions begin again" eval '[ "$(cat "$T/status")" = 201 ] && soon test -e "$(order_of 2)"'
swapin --stop="$(field id < "$T/second")" > "$T/out"; swapin --stop="$id" > "$T/out"
check "no order is left" soon no_orders

echo "== a node that is done hears so when its order is gone, and not before"
inside() { nsenter -t "$CONTROLLER" -m "$@"; }	# what is mounted there is nowhere else
say_done() { on s bash -c 'exec 3<> /dev/tcp/10.9.0.1/5101 && echo "report 52-54-00-00-00-02 $0 done well" >&3 && cat <&3' "$name"; }
api POST /api/v1/sessions '{"nodes": "node2", "image": "lab.ndz"}' > "$T/out"
soon grep -q frisbee.order= "$(order_of 2)" || fail "there is no order"
name=$(grep -o 'frisbee.order=[^ ]*' "$(order_of 2)"); name=${name#*=}
inside mount --bind "$NET/boot/orders" "$NET/boot/orders" && inside mount -o remount,bind,ro "$NET/boot/orders" || fail "no mounts here"
check "not while it is there" eval 'say_done | grep -q "^failed: .*cannot be removed"'
check "the log names the node" \
    soon grep -q "node=node2 .*its order cannot be removed: .*Read-only" "$T/controller.log"
inside umount -l "$NET/boot/orders"	# the controller may be looking at them
check "then it does" soon eval 'say_done | grep -q "^ok "'
check "no order is left" soon no_orders

echo "== the order of a node that is taken out is removed as soon as it can be"
api POST /api/v1/sessions '{"nodes": "node2", "image": "lab.ndz"}' > "$T/out"
soon grep -q frisbee.order= "$(order_of 2)" || fail "there is no order"
inside mount --bind "$NET/boot/orders" "$NET/boot/orders" && inside mount -o remount,bind,ro "$NET/boot/orders" || fail "no mounts here"
sed -i '/^node node2 /d' "$NET/nodes"; kill -HUP "$CONTROLLER"
swapin --stop="$(field id < "$T/out")" > /dev/null
check "the log says that it cannot be" soon grep -q "old orders cannot be removed" "$T/controller.log"
check "the node is not there any more" [ "$(api GET /api/v1/nodes/node2 > /dev/null; cat "$T/status")" = 404 ]
inside umount -l "$NET/boot/orders"
check "no order is left" soon no_orders
echo "node node2 $(mac_of 2)" >> "$NET/nodes"; kill -HUP "$CONTROLLER"
soon eval 'api GET /api/v1/nodes/node2 > /dev/null; [ "$(cat "$T/status")" = 200 ]' ||
    fail "node2 does not come back"

echo "== a reader of the events who is cut off within a round gets the rest of it"
on s "$PYTHON" -E -S - "$URL" > "$T/seen" << 'PY'
import sys, urllib.request
def follow(last, until):
    """The events until until() is content: (kind, data) of each, and the last number that was seen."""
    r = urllib.request.Request(sys.argv[1] + "/api/v1/events", headers={"Last-Event-ID": last})
    got, what, data = [], "", ""
    for line in urllib.request.build_opener(urllib.request.ProxyHandler({})).open(r, timeout=100):
        key, _, value = line.decode().rstrip("\n").partition(": ")
        last = value if key == "id" else last
        what = value if key == "event" else what
        data += value if key == "data" else ""
        if key == "" and data:
            got.append((what, data))
            what = data = ""
        if until(got, key):
            return got, last
first, cut = follow("none", lambda got, key: got and got[-1][0] == "node")
rest, end = follow(cut, lambda got, key: got and got[-1][0] == "images" and key == "id")	# that of the whole round
print("rest", sorted(what for what, _ in rest))
more, _ = follow(end, lambda got, key: got and got[-1][0] == "hello")
print("end", cut != end, more[0][0])
PY
check "all of it" grep -q "^rest .*'images'.*'node', 'node'" "$T/seen"
check "and has a number for the next time" grep -q "^end True hello" "$T/seen"

echo "== one address cannot keep others from the events"
on s "$PYTHON" -E -S - > "$T/seen" << 'PY'
import socket
def follow(source):
    s = socket.create_connection(("127.0.0.1", 8484), 100, (source, 0))
    s.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:8484\r\n\r\n")
    return s, s.makefile("rb").readline().split()[1].decode()
held = []
while len(held) < 100 and (not held or held[-1][1] == "200"):	# they read nothing but the first line
    held.append(follow("127.0.0.1"))
print("another of the same address", held[-1][1])
others = [follow("127.0.0.2") for _ in range(3)]
print("one of another address", *[status for _, status in others])
PY
check "no more for this one" grep -q "^another of the same address 503" "$T/seen"
check "the other has some" grep -q "^one of another address 200 200 200" "$T/seen"

echo "== a web server stands before the controller, and says first that it is not there"
ip netns exec "${LAB}s" "$PYTHON" -E -S - "$URL" "$T/proxied" << 'PY' &
import http.server, os, sys, urllib.request
class Proxy(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_GET(self):
        Proxy.asked += 1
        if Proxy.asked == 1:
            self.send_error(502)
            return
        body = urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1] + self.path).read()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
server = http.server.HTTPServer(("127.0.0.1", 8080), Proxy)
open(sys.argv[2], "w")
server.serve_forever()
PY
PIDS+=($!)
soon [ -e "$T/proxied" ] || fail "the web server does not start"
swapin -S 127.0.0.1:8080 --follow="$id" > "$T/out" 2> "$T/err"
check "swapin asks again" grep -q "^session $id: stopped" "$T/out"
kill "$CONTROLLER"; wait "$CONTROLLER"; check "a signal ends it with 0" [ $? = 0 ]
[ "$bad" = 0 ] || cat "$T/controller.log"
finish
