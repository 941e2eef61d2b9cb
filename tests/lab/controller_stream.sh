#!/usr/bin/env bash
# swapin --stream: nodes are usable first and whole later.  The real controllerd, frisbeed, nbdkit with
# its plugin and the reports of netboot; only the kernel's part of streaming is not there.  The
# controller is killed while nodes are usable, and one of them is reset.
. "$(dirname "$0")/controller_lib.sh"
. "$(dirname "$0")/../cli/nbd_lib.sh"
controller_lab 3 24
export FILL_REPORT_S=1
for n in 1 2 3; do
	truncate -s 24M "$T/machines/node$n/disk"
	echo "$T/disk" > "$T/machines/node$n/right"
done
phase_is() { [ "$(api GET "/api/v1/nodes/$1" | field phase)" = "$2" ]; }
all_are() {	# PHASE NODE...
	local n phase=$1; shift
	for n; do phase_is "$n" "$phase" || return 1; done
}

echo "== usable first"
controller_up -i 10.9.0.1 -W 10M	# so slowly that nodes start before their disks are whole, on a busy machine, too
swapin --stream 'node[1-2]' lab.ndz > "$T/out" 2> "$T/err" &
S=$!
soon all_are usable node1 node2 || fail "they do not become usable: $(cat "$T"/machines/*/console)"
check "what an order to stream says" grep -q "frisbee.action=stream frisbee.source=frisbee://10.9.0.1@239.192.77.1:7701 " "$NET/boot/orders/52-54-00-00-00-01.ipxe"
# Times are measured once a second.
times_are_known() { api GET /api/v1/sessions/1 > "$T/amid"; [ "$(field usable_after.nodes < "$T/amid" 2> /dev/null)" = 2 ]; }
soon times_are_known
check "the session counts them" eval '[ "$(field nodes.usable < "$T/amid")" = 2 ] && [ "$(field state < "$T/amid")" = running ]'
check "and says when they were" [ "$(field usable_after.nodes < "$T/amid")" = 2 ]
check "the disks are not whole" eval '! cmp -s "$T/disk" "$T/machines/node1/disk" && ! cmp -s "$T/disk" "$T/machines/node2/disk"'
words_say() { [[ "$(api GET "/api/v1/nodes/$1" | field last_words)" =~ ^([0-9]+)\ %\ of\ sda\ is\ there$ ]]; }
check "a usable node says how much is there" soon words_say node1
api GET /api/v1/nodes/node1 > "$T/node1"
check "which is its progress: $(field progress < "$T/node1")" python3 -c "import json
n = json.load(open('$T/node1')); assert 0 <= n['progress'] < 1 and '%d %% of sda is there' % round(100 * n['progress']) == n['last_words']"
check "metrics" grep -q 'frisbee_nodes{phase="usable"} 2' <(on s curl -s "$URL/metrics")

echo "== the controller is killed, and a machine is reset"
before=$(servers)
controller_again
check "frisbeed goes on" [ -n "$before" -a "$(servers)" = "$before" ]
check "the phase is the same" all_are usable node1 node2
machine_off node2
machine_on node2
check "it begins to stream again, with the same order" soon eval 'phase_is node2 streaming || phase_is node2 usable'

echo "== whole later"
wait $S; rc=$?
check "all is done" [ $rc = 0 ] || cat "$T/out" "$T/err"
for n in 1 2; do check "node$n has the disk" cmp "$T/disk" "$T/machines/node$n/disk"; done
check "nothing was tried twice" eval '[ "$(api GET /api/v1/nodes/node2 | field try)" = 1 ]'
check "both times are printed" eval 'grep -q "^  usable after *median .*, 2 nodes$" "$T/out" && grep -q "^  done after *median .*, 2 nodes$" "$T/out"'
check "each node was seen usable, and then done" eval 'grep -q "node1: usable" "$T/err" && grep -q "node1: done: sda is whole" "$T/err"'
api GET /api/v1/nodes/node1 > "$T/node1"
check "usable before it was whole" python3 -c "import sys; sys.exit(not $(field usable_after_s < "$T/node1") + 1 < $(field done_after_s < "$T/node1"))"
check "no order is left" soon no_orders
check "frisbeed has ended" soon eval '[ -z "$(servers)" ]'

echo "== what a node that streams cannot be asked for"
swapin --stream --words=frisbee.hostname=dhcp node3 lab.ndz > /dev/null 2> "$T/err"
check "a name of its own" grep -q '"frisbee.hostname=dhcp" has no effect on a node that streams' "$T/err"
[ "$bad" = 0 ] || cat "$T/controller.log" "$T"/machines/*/console
finish
