#!/usr/bin/env bash
# Sessions in a row, COUNT of them (1000), with all that goes wrong in a lab: machines that vanish and
# come back, disks that fail, images that are replaced, and a controller that is killed at any moment.
# No node gets a wrong disk, the state is right, and nothing is left over: neither files nor processes,
# network interfaces or namespaces.
. "$(dirname "$0")/../lab/controller_lib.sh"
controller_lab "${NODES:-16}" 2

# What there is, besides images, the controller's database and log, which grow, and what its mfrisbeed keeps.
what_there_is() {
	local n
	echo "$(ip netns list | wc -l) network namespaces," \
	    "$( { ip -o link show type veth; for n in $(ip netns list | cut -d' ' -f1); do ip -n "$n" -o link show type veth; done; } | wc -l) interfaces," \
	    "$(for n in $(ip netns list | cut -d' ' -f1); do ip netns pids "$n"; done | wc -l) processes," \
	    "$(find "$NET" -type f ! -name 'state.db*' ! -path "$STATE/mfrisbeed/*" | wc -l) files"
}
controller_up -i 10.9.0.1 -W 40M --patience=20 --patience-boot=20
kill "$CONTROLLER"; wait "$CONTROLLER"
head -c 1M "$T/disk" > "$T/small"; for n in a b; do "$BIN/imagezip" -q -r "$T/small" "$NET/images/$n.ndz" || fail "imagezip"; done
before=$(what_there_is)
controller_start
export T NET STATE URL BIN
on s env PYTHONDONTWRITEBYTECODE=1 "$PYTHON" -E -S "$TOP/tests/soak/sessions.py" "${COUNT:-1000}" "${SEED:-1}" || bad=$((bad + 1))
CONTROLLER=$(cat "$T/controller.pid")
soon has_ended "$CONTROLLER"	# it was told to end
soon eval '! ip netns pids "${LAB}s" | grep -q .' || echo "mfrisbeed goes on"
after=$(what_there_is)
printf 'before: %s\nafter:  %s\n' "$before" "$after"
check "nothing is left over" [ "$before" = "$after" ]
[ "$bad" = 0 ] || tail -n 50 "$T/controller.log"
finish
