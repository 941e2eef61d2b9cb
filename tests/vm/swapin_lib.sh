# swapin_lib.sh: what the tests of machines that a controller swaps in share.
#	controller_lan NODE...	a network with a server, and the nodes in its file of nodes; the first
#				has the MAC address 52:54:00:00:00:01 and the card tap1
#	controller_up OPTIONS...	the controller runs; what it wants switched on is noted in $T/power
#	powered N		it has wanted N machines switched on
#	wait_until SECONDS WHAT COMMAND...	or give up, with this sentence
#	said PATH...		prints what swapin has said with --json of the session (tests/helpers/json.c)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
vm_accel
vm_lan
vm_log_more() { tail -n 30 "$LOGS/server.log" "$LOGS/controller.log"; cat "$T/out" "$T/err"; }
mac_of() { echo "52:54:00:00:00:0$1"; }

controller_lan() {	# NODE...
	local i=0 node
	vm_server --own-network
	for node; do
		i=$((i + 1))
		echo "node $node $(mac_of $i)" >> /srv/netboot/nodes
		vm_tap tap$i
	done
}
controller_up() {	# OPTIONS...
	: > "$T/power"
	printf '#!/bin/sh\necho "$@" >> %q\n' "$T/power" > "$T/hook"; chmod +x "$T/hook"
	"$BIN/controllerd" --power="$T/hook" --patience=180 --patience-boot=1200 "$@" /srv/netboot 2> "$LOGS/controller.log" &
	PIDS+=($!)
	wait_until 30 "no token" [ -s /srv/netboot/controller/token ]
}
powered() { [ "$(wc -l < "$T/power")" = "$1" ]; }
wait_until() {	# SECONDS WHAT COMMAND...
	vm_soon "$1" "${@:3}" || vm_gives_up all "$2"
}
said() { json -1 "$T/out" "$@"; }
