#!/usr/bin/env bash
# swapin --capture: the disk of a node becomes an image.  The real controllerd, netboot/receive, and the words, the
# reports and the capture of netboot; only the ramdisk is not there.  The controller is killed meanwhile, captures are
# taken back, uploads break, and what can be wrong is named.
. "$(dirname "$0")/controller_lib.sh"
controller_lab 2 1
export CAPTURE_REPORT_S=0.2
node() { api GET "/api/v1/nodes/$1" > "$T/node.json"; json -1 "$T/node.json" "${@:2}"; }
node_says() { node "$1" "last_words~$2" > /dev/null 2>&1; }
phase_is() { [ "$(node "$1" phase)" = "$2" ]; }
parts() { find "$NET/images" -name '.*.ndz.*' | grep -q .; }
image_is() {	# NAME DISK
	rm -f "$T/again"
	"$BIN/imageunzip" -q "$NET/images/$1" "$T/again" && cmp "$2" "$T/again" &&
	    "$BIN/imagehash" -q -S -o "$NET/images/$1.sig" "$NET/images/$1"
}
said() { "${@:2}" || cat "$T/out" "$T/err"; check "$@"; }	# as check, with what swapin has said
starts() { wc -l < "$T/machines/$1/started"; }
random_bytes 8000000 7 > "$T/machines/node1/disk"
random_bytes 3000320 8 > "$T/machines/node2/disk"
receiver_up
controller_up -i 10.9.0.1 --patience=30

echo "== the disk of a node becomes an image, and the node starts from its disk"
swapin --capture node2 small.ndz > "$T/out" 2> "$T/err"; rc=$?
said "done" [ $rc = 0 ]
check "it has the disk, and its signature is beside it" image_is small.ndz "$T/machines/node2/disk"
check "said at the end" grep -q "^session 1: done: small.ndz of the disk of node2 in " "$T/out"
check "with the last words of the node" grep -q "node2: done: sda is captured: small.ndz, 3 MB" "$T/err"
check "the node has started from its disk" soon eval '[ "$(starts node2)" = 1 ]'
check "no order is left" soon no_orders
check "it is an image like others" eval 'api GET /api/v1/images > "$T/images.json"; json -1 "$T/images.json" "images[name=small.ndz].bytes>3000000" > /dev/null'
check "nothing was sent" eval '[ -z "$(servers)" ]'

echo "== what is refused"
refused() {	# STATUS SENTENCE ARGUMENTS...
	local rc want=$1 sentence=$2; shift 2
	swapin --capture "$@" > "$T/out" 2> "$T/err"; rc=$?
	said "$sentence" eval '[ $rc = $want ] && grep -q "$sentence" "$T/err"'
}
refused 1 "there is an image small.ndz already" node1 small.ndz
refused 2 "captured from one node, not from 2" 'node[1-2]' two.ndz
refused 2 "cannot be the name of an image" node1 two.img
refused 2 "cannot be the name of an image" node1 .two.ndz
refused 1 "there is no node node9" node9 two.ndz
refused 2 '"frisbee.hostname=dhcp" has no effect on a node that is captured' --words=frisbee.hostname=dhcp node1 two.ndz
refused 2 "cannot be a word" --words=frisbee.capture=replace node1 two.ndz
api POST /api/v1/sessions '{"nodes": "node1", "image": "small.ndz", "replace": true}' > "$T/out"
check "a load replaces nothing" eval '[ "$(cat "$T/status")" = 400 ] && grep -q "only what is captured" "$T/out"'

echo "== how far it is; the controller is killed meanwhile; others are refused"
imagezip_is node1 "$(waits 40000)"
swapin --capture node1 large.ndz > "$T/out" 2> "$T/err" &
S=$!
check "the order" soon grep -q "frisbee.action=capture frisbee.capture=new frisbee.server=10.9.0.1 frisbee.port=5100 frisbee.image=large.ndz " "$NET/boot/orders/52-54-00-00-00-01.ipxe"
soon node_says node1 "^[1-9][0-9]* % of sda is read, [0-9]+[.][0-9] MB/s, [0-9]+ s left" || fail "no progress: $(cat "$T/node.json")"
check "is its progress" json -1 "$T/node.json" phase=capturing 'progress>=0.01' 'progress<0.9' 'rate_bits_per_s>0' 'seconds_left>0'
api GET /api/v1/sessions > "$T/sessions.json"
check "and that of the session" json -1 "$T/sessions.json" 'sessions[0].progress>=0.01' 'sessions[0].capture=true' 'sessions[0].nodes.capturing=1' 'sessions[0].rate_bits_per_s>=0'
on s curl -s "$URL/metrics" > "$T/metrics"
check "metrics" eval 'grep -q "frisbee_nodes{phase=\"capturing\"} 1" "$T/metrics" && grep -q "session_progress{.*image=\"large.ndz\"} 0.[0-9]" "$T/metrics"'
check "its name has no image yet" [ ! -e "$NET/images/large.ndz" ]
refused 1 "node1 belongs to session 2" node1 other.ndz
refused 1 "session 2 captures an image large.ndz" node2 large.ndz
controller_again
check "the controller goes on" eval '[ "$(node node1 phase try)" = "capturing 1" ] && [ "$(api GET /api/v1/sessions/2 | field capture)" = true ]'
touch "$T/machines/node1/go"
wait $S; rc=$?
said "done" [ $rc = 0 ]
check "it has the disk" image_is large.ndz "$T/machines/node1/disk"
api GET /api/v1/sessions/2 > "$T/session.json"
check "it was tried once, and its course is kept" json -1 "$T/session.json" 'members[0].try=1' 'samples[0][3]>=0' phases.capturing.nodes=1
check "it has started from its disk" soon eval '[ "$(starts node1)" = 1 ]'

echo "== it is taken back: nothing appears, and nothing is left"
rm "$T/machines/node1/go"
begin() {	# NAME OPTIONS...: $S, when something of the image is there
	swapin --capture "${@:2}" node1 "$1" > "$T/out" 2> "$T/err" & S=$!
	soon parts || fail "nothing comes"
}
begin away.ndz
swapin --stop=3 > /dev/null
wait $S; rc=$?
check "stopped" [ $rc = 1 ]
check "the receiver ends at once" soon eval '! parts'
touch "$T/machines/node1/go"
check "the machine hears why" soon grep -q "FAILED: sda is not captured: the receiver said \"failed: the order was taken back" "$T/machines/node1/console"
check "no image" [ ! -e "$NET/images/away.ndz" ]
check "and no order" soon no_orders

echo "== the upload breaks: it begins anew when somebody takes it"
rm "$T/machines/node1/go"
begin broken.ndz --tries=1
receiver_down
ip netns pids "${LAB}s" | while read -r p; do ! grep -qa netboot/receive "/proc/$p/cmdline" || kill "$p"; done
check "which is said" soon grep -q "node1: capturing: no \(answer from\|connection to\) 10.9.0.1:5100" "$T/err"
touch "$T/machines/node1/go"
receiver_up
wait $S; rc=$?
said "done" [ $rc = 0 ]
check "it has the disk" image_is broken.ndz "$T/machines/node1/disk"

echo "== an image is replaced, while a node loads the one before"
# Its server is stopped, so that the load goes on for longer than the capture.
controller_down() { kill "$CONTROLLER"; wait "$CONTROLLER"; }
controller_down
controller_up -i 10.9.0.1 --patience=300 -W 5M
cp "$T/machines/node1/disk" "$T/first"
swapin node1 large.ndz > "$T/loaded" 2>&1 & L=$!
soon phase_is node1 loading || fail "it does not load"
kill -STOP $(servers) || fail "no server"
swapin --capture --replace node2 large.ndz > "$T/out" 2> "$T/err"; rc=$?
said "replaced" [ $rc = 0 ]
check "while the other loads" phase_is node1 loading
kill -CONT $(servers)
check "the name has the new one" image_is large.ndz "$T/machines/node2/disk"
wait $L; rc=$?
check "loaded" [ $rc = 0 ]
check "the one that it began with" cmp "$T/first" "$T/machines/node1/disk"

echo "== what is wrong is named"
imagezip_is node1 'FAULT=pread:777:bad:$(readlink -f "$m/disk") LD_PRELOAD='"${B:-$TOP/build/plain}/tests/preload/faulty.so"' exec "$BIN/imagezip" "$@"'
swapin --tries=1 --capture node1 bad.ndz > "$T/out" 2> "$T/err"; rc=$?
said "a bad sector" eval '[ $rc = 1 ] && grep -q "^node1: failed while capturing: sda is not captured: .*reading sector 777" "$T/out"'
check "no image" [ ! -e "$NET/images/bad.ndz" ]
swapin --words=frisbee.options=-X --capture node1 bad.ndz > "$T/out" 2> "$T/err"; rc=$?
said "zeros in its place, if that is asked for" eval '[ $rc = 0 ] && grep -q "done: sda is captured: bad.ndz, .* sectors that could not be read are zeros" "$T/err"'
imagezip_is node1 'for f; do case $f in --signature=*) s=${f#*=} ;; esac; done
"$BIN/imagezip" "$@" && "$BIN/imagezip" -q --signature="$s" "$m/../node2/disk" "$m/x.ndz"'
swapin --tries=1 --capture node1 other.ndz > "$T/out" 2> "$T/err"; rc=$?
said "a signature of other data" eval '[ $rc = 1 ] && grep -q "the image is not what was read from the disk" "$T/out"'
rm -r "$T/machines/node1/capture_with"
receiver_down; receiver_up RECEIVE_FREE_MB=99999999999
swapin --tries=1 --capture node1 full.ndz > "$T/out" 2> "$T/err"; rc=$?
said "no room on the server" eval '[ $rc = 1 ] && grep -q "less than 99999999999 MB are free" "$T/out"'
touch "$T/machines/node1/unplugged"
FRISBEE_TEST_TIMES=absent=1 swapin --capture node1 absent.ndz > "$T/out" 2> "$T/err" & S=$!
check "a node that does not boot" soon grep -q "node1 has not booted from the network yet" "$T/err"
swapin --stop="$(api GET /api/v1/sessions | field "sessions[0].id")" > /dev/null
wait $S
check "nothing else is there" [ "$(ls -A "$NET/images" | tr '\n' ' ')" = "bad.ndz bad.ndz.sig broken.ndz broken.ndz.sig lab.ndz large.ndz large.ndz.sig small.ndz small.ndz.sig " ] || ls -A "$NET/images"
[ "$bad" = 0 ] || cat "$T/controller.log" "$T"/machines/*/console
finish
