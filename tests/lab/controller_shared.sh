#!/usr/bin/env bash
# Nodes that share the MAC address of a network card: real loads, of which each goes to the node that
# has the UUID or the serial number in the file of nodes; a node whose UUID is a placeholder is its MAC
# address, and a machine that has the UUID of another node does not load that one's image.
. "$(dirname "$0")/controller_lib.sh"
controller_lab 4 8
U=4c4c4544-0042-3510-8054-b4c04f4a3132
CARD=52:54:00:00:00:77
cat > "$NET/nodes" << N
node node1 $CARD 4C4C4544-0042-3510-8054-B4C04F4A3132
node node2 $CARD serial:B7
node node3 $(mac_of 3) 03000200-0400-0500-0006-000700080009
node node4 $(mac_of 4)
N
machine_is() { echo "$2" > "$T/machines/$1/product_uuid"; echo "$3" > "$T/machines/$1/product_serial"; }	# NODE UUID SERIAL
machine_is node1 $U A7
machine_is node2 00000000-0000-0000-0000-000000000000 B7
machine_is node3 03000200-0400-0500-0006-000700080009 "To be filled by O.E.M."
machine_is node4 4c4c4544-0042-3510-8054-b4c04f4a3134 D7
disk_is_loaded() { cmp -s "$T/disk" "$T/machines/$1/disk"; }
controller_up -i 10.9.0.1 -W 40M --patience=30
check "a placeholder is said" grep -q "node=node3.*placeholder.*known by its MAC address" "$T/controller.log"
check "the API says what each is known by" eval '[ "$(api GET /api/v1/nodes/node1 | field smbios)" = $U ] && [ "$(api GET /api/v1/nodes/node2 | field smbios)" = serial:B7 ] &&
	! api GET /api/v1/nodes/node3 | grep -q smbios'

echo "== one of two nodes with one card"
swapin node1 lab.ndz > "$T/out" 2> "$T/err"; rc=$?
check "is loaded" eval '[ $rc = 0 ] && disk_is_loaded node1'
swapin 'node[2-4]' lab.ndz > "$T/out" 2> "$T/err"; rc=$?
check "and the others" eval '[ $rc = 0 ] && disk_is_loaded node2 && disk_is_loaded node3 && disk_is_loaded node4'
check "no order is left" soon no_orders

echo "== an order that somebody has given by the card"
ORDERS=$NET/boot/orders "$TOP/netboot/server/order" $CARD frisbee.action=shell
swapin node2 lab.ndz > "$T/out" 2> "$T/err"; rc=$?
check "is a second one: refused" eval '[ $rc = 1 ] && grep -q "node2: failed while booting: it has another order, 52-54-00-00-00-77.ipxe" "$T/out"'
check "and stays alone" [ "$(ls "$NET/boot/orders" | tr '\n' ' ')" = "52-54-00-00-00-77.ipxe 52:54:00:00:00:77.cfg " ]
ORDERS=$NET/boot/orders "$TOP/netboot/server/order" $CARD cancel

echo "== node4 turns out to have the UUID of node1"
machine_is node4 $U D7
rm -f "$T"/machines/*/disk
touch "$T/machines/node1/unplugged"
swapin node1 lab.ndz > "$T/out" 2> "$T/err" & S=$!
soon eval '[ -e "$NET/boot/orders/$U.ipxe" ]' || fail "no order"
machine_on node4
check "it does not load" soon grep -q "FAILED: this order is not for this machine: node1 has $U, too" "$T/machines/node4/console"
check "nothing is written" [ ! -s "$T/machines/node4/disk" ]
wait $S; rc=$?
check "node1 cannot be told from node2 any more, which is said" eval '[ $rc = 1 ] && grep -q "^node1: failed.*another machine has its UUID" "$T/out"'
check "no order is left" soon no_orders
finish
