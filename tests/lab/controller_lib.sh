# controller_lib.sh: a controller at "s" and machines that it loads, each in a network of its own.
#	controller_lab N	the nodes node1..nodeN, switched off, and images/lab.ndz
#	controller_up OPTIONS...	the controller runs, and answers at $URL
#	controller_again	it is killed by SIGKILL and started anew
#	api METHOD PATH [BODY]	prints what it answers; the status is in $T/status
#	machine_off NODE	somebody pulls its plug
#	machine_on NODE	and puts it in again
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires busybox curl
[ "$(id -u)" = 0 ] || skip "needs root"
NET=$T/netboot STATE=$T/netboot/controller URL=http://127.0.0.1:8484
CLEANUP+=(controller_end)

mac_of() { printf '52:54:00:00:%02x:%02x' $(($1 / 256)) $(($1 % 256)); }
controller_lab() {	# NODES [MEGABYTES]
	local i
	lab_up "$1"
	mkdir -p "$NET/boot/orders" "$NET/images" "$T/machines"
	for ((i = 1; i <= $1; i++)); do
		echo "node node$i $(mac_of "$i")"
		mkdir "$T/machines/node$i"
	done > "$NET/nodes"
	take "random:${2:-24}M" disk disk.ndz="$NET/images/lab.ndz"
	cat > "$T/power" << POWER
#!/bin/bash
# NODE cycle MAC: the machine is switched off, and on again.
exec > /dev/null 2>&1 < /dev/null
m=$T/machines/\$1
$(declare -f machine_end)
machine_end "\$m"
[ ! -e "\$m/unplugged" ] || exit 0
BIN=$BIN setsid ip netns exec "$LAB\${1#node}" "$TOP/tests/helpers/machine" "$NET/boot/orders" "\$3" "\$m/disk" "\$m" &
echo \$! > "\$m/pid"
POWER
	chmod +x "$T/power"
}
machine_end() {	# FOLDER: the machine's processes, if it runs: its number may be another's process by now
	local pid; pid=$(cat "$1/pid" 2> /dev/null) || return 0
	grep -qa helpers/machine "/proc/$pid/cmdline" 2> /dev/null && kill -9 -- "-$pid" 2> /dev/null
	rm -f "$1/pid"
}
machine_off() { machine_end "$T/machines/$1"; }	# NODE
machine_on() {	# NODE
	"$T/power" "$1" cycle "$(mac_of "${1#node}")"
}
controller_up() {	# OPTIONS...
	printf '%q ' ip netns exec "${LAB}s" "$BIN/controllerd" --power="$T/power" "$@" "$NET" > "$T/controller.command"
	controller_start
}
controller_start() {
	bash -c "exec $(cat "$T/controller.command")" >> "$T/controller.log" 2>&1 < /dev/null &
	CONTROLLER=$!
	PIDS+=($CONTROLLER)	# lab_end waits for all
	echo $CONTROLLER > "$T/controller.pid"
	begins $CONTROLLER controller_answers || fail "the controller did not start: $(tail -n 3 "$T/controller.log")"
}
controller_answers() { [ "$(api GET /api/v1/sessions > /dev/null; cat "$T/status")" = 200 ]; } 2> /dev/null
controller_again() {
	kill -9 $CONTROLLER; wait $CONTROLLER 2> /dev/null
	controller_start
}
controller_end() {
	local n p
	[ -z "${CONTROLLER:-}" ] || kill "$CONTROLLER" 2> /dev/null
	for n in "$T"/machines/*; do machine_off "${n##*/}"; done
	# What the controller has started goes on without it.
	for p in $(ip netns pids "${LAB}s" 2> /dev/null); do kill "$p" 2> /dev/null; done
}
# What takes the images that are captured.
receiver_up() {	# VARIABLE=VALUE...
	ip netns exec "${LAB}s" env PATH="$BIN:$PATH" "$@" busybox nc -ll -p 5100 -e "$TOP/netboot/receive" "$NET/images" "$NET/boot/orders" \
	    "$T/reports" 2>> "$T/receiver.log" & RECEIVER=$!
	PIDS+=($RECEIVER)
	begins $RECEIVER eval 'on s ss -ltn | grep -q ":5100 "'
}
receiver_down() { kill $RECEIVER; wait $RECEIVER 2> /dev/null; }
# The node's imagezip is this one: PROGRAM $m is the folder of the machine.
imagezip_is() {	# NODE TEXT
	mkdir -p "$T/machines/$1/capture_with"
	printf '#!/bin/bash\nset -o pipefail\nm=%q\n%s\n' "$T/machines/$1" "$2" > "$T/machines/$1/capture_with/imagezip"
	chmod 755 "$T/machines/$1/capture_with/imagezip"
}
# At most so many times ten bytes of the image a second, until the file `go` is there.
waits() { echo "\"\$BIN/imagezip\" \"\$@\" | { until [ -e \"\$m/go\" ]; do head -c $1 || exit; sleep 0.1; done; cat; }"; }	# BYTES
swapin() { on s "$BIN/swapin" --token-file="$STATE/token" "$@"; }
no_orders() { [ -z "$(ls "$NET/boot/orders")" ]; }
servers() { ip netns pids "${LAB}s" | while read -r p; do [ "$(cat "/proc/$p/comm" 2> /dev/null)" = frisbeed ] && echo "$p"; done; }
field() { json - "$1"; }
api() {	# METHOD PATH [BODY]
	local more=()
	[ "$1" = GET ] || more=(-H "Content-Type: application/json" -H "Authorization: Bearer $(cut -d" " -f2 "$STATE/token")" --data-binary "${3:-}")
	on s curl -s -m 100 --noproxy "*" -X "$1" "${more[@]}" -w "%{stderr}%{http_code}" "$URL$2" 2> "$T/status"
}
