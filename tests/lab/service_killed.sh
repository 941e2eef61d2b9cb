#!/usr/bin/env bash
# A swap-in of four images, each onto two nodes, in which processes of the service are killed: controllerd, mfrisbeed,
# the starter of its sessions, and a frisbeed.  Each load goes on where it was, each node has its image, each status is
# right, and nothing is left over: no process, port, order or file.
# A point is the name of a process, and how many thousandths of its life in an undisturbed swap-in have passed when it is
# killed.  POINTS=100 SEED=1 tries so many of each process, one in a swap-in; POINT="frisbeed 417" is one of them.  By
# default there are two swap-ins: in the first one, loads of images whose frisbeed is not killed must not begin again.
. "$(dirname "$0")/controller_lib.sh"
POINTS=${POINTS:-0} SEED=${SEED:-1} POINT=${POINT:-}
controller_lab 8 1
for i in 1 2 3 4; do
	random_bytes 3M "$i" > "$T/disk$i"
	"$BIN/imagezip" -q -r "$T/disk$i" "$NET/images/$i.ndz" || fail imagezip
done
now_ms() { local s=${EPOCHREALTIME/./}; echo $((s / 1000)); }
all() { ip netns pids "${LAB}s"; }
# The process of this name; of several frisbeeds that of image $which.
find_pid() {	# NAME
	local p name
	for p in $(all); do
		{ read -r name < "/proc/$p/comm"; } 2> /dev/null || continue
		[ "$name" = "$1" ] || continue
		[ "$name" != frisbeed ] || tr '\0' '\n' < "/proc/$p/cmdline" | grep -q "^$NET/images/$which.ndz@" || continue
		echo "$p"
		return
	done 2> /dev/null
	return 1
}
files() { (cd "$NET" && find . -type f ! -path ./controller/state.db\* ! -path ./controller/mfrisbeed/history.db\* | sort); }
followed() { local p; for p in "${FOLLOWS[@]}"; do builtin kill -0 "$p" 2> /dev/null && return; done; return 1; }
begin() {
	local i
	rm -rf "$STATE" "$T"/machines/*/{disk,console}
	: > "$T/controller.log"
	FRISBEE_TEST_TIMES=$TIMES controller_up -i 10.9.0.1 -W 20M --patience=60
	FOLLOWS=() start=$(now_ms) untouched="1 2 3 4"
	for i in 1 2 3 4; do
		swapin "node[$((2 * i - 1)),$((2 * i))]" "$i.ndz" > "$T/out$i" 2> "$T/err$i" & FOLLOWS+=($!)
	done
}
is_over() { ! followed && [ -z "$(servers)" ]; }
ended_by_now() {
	[ -z "$(servers)" ] && api GET /api/v1/sessions > "$T/sessions" && json "$T/sessions" 'sessions[*].server.running=false' > "$T/quiet" 2>&1
}
next_begins() {
	ip netns exec "${LAB}s" "$BIN/mfrisbeed" -c "$STATE/mfrisbeed.conf" --port=0 --address=127.0.0.1 2> "$T/next" & NEXT=$!
	begins $NEXT grep -q "listens" "$T/next"
	kill $NEXT; wait $NEXT
}
# The history has the load of each node, once.
noted() {
	local n
	"$BIN/mfrisbeed" --report --json -c "$STATE/mfrisbeed.conf" > "$T/history" 2>&1 && [ "$(grep -c '"kind": "load"' "$T/history")" = 8 ] || return 1
	for n in 1 2 3 4 5 6 7 8; do [ "$(grep -c "\"node\": \"node$n\"" "$T/history")" = 1 ] || return 1; done
}
# Kills it, and starts it again if nothing of ours does.
kill_it() {	# NAME
	local pid
	until pid=$(find_pid "$1"); do
		! is_over || { echo "it has ended before"; missed=$((missed + 1)); return; }
		sleep 0.01
	done
	case $1 in
	controllerd) controller_again; return ;;
	frisbeed) untouched=${untouched/$which/} ;;
	*) untouched= ;;
	esac
	kill -9 "$pid"
}
ends() {	# as it must; what is not so is said
	local i n p rc
	for i in 1 2 3 4; do
		wait "${FOLLOWS[i - 1]}"; rc=$?
		[ $rc = 0 ] && grep -q "2 of 2 nodes deployed" "$T/out$i" || { echo "swapin $i.ndz: exit $rc"; cat "$T/out$i" "$T/err$i"; return 1; }
		for n in $((2 * i - 1)) $((2 * i)); do cmp -s "$T/disk$i" "$T/machines/node$n/disk" || { echo "node$n has not $i.ndz"; return 1; }; done
	done
	for i in $untouched; do
		went_on=$((went_on + 1))
		[ "$(grep -c "image is served name=$i.ndz" "$T/controller.log")" = 1 ] || { echo "$i.ndz was begun again"; return 1; }
	done
	# An mfrisbeed that was killed begins anew what nobody needs, and is told so.
	soon ended_by_now || { echo "still served: $(servers)"; return 1; }
	api GET /api/v1/nodes > "$T/nodes" && json "$T/nodes" 'nodes[*].phase=done' 'nodes[*].try=1' || return 1
	json "$T/sessions" 'sessions[#]=4' 'sessions[*].state=done' 'sessions[*].nodes.done=2' || return 1
	soon no_orders || { ls "$NET/boot/orders"; return 1; }
	soon noted || { cat "$T/history"; return 1; }
	kill "$CONTROLLER"; wait "$CONTROLLER" || { echo "controllerd: exit $?"; return 1; }
	soon eval '[ -z "$(all)" ]' || { echo "processes: $(for p in $(all); do tr '\0' ' ' < "/proc/$p/cmdline"; echo; done)"; return 1; }
	[ -z "$(on s ss -Hlntu)" ] || { on s ss -Hlntu; return 1; }
	! grep -v "^next " "$STATE/mfrisbeed/sessions" || { echo "is what the next mfrisbeed would serve"; return 1; }
	# What a killed one has left of a session is removed when the next one begins.
	[ -n "$untouched" ] || ! ls "$STATE"/mfrisbeed/session-* > /dev/null 2>&1 || next_begins
	files > "$T/files"
	[ -e "$T/files.usual" ] || grep -v -e /session- -e partial "$T/files" > "$T/files.usual"
	diff "$T/files.usual" "$T/files"
}

echo "== nothing happens"
declare -A FIRST LAST
went_on=0
begin
which=1
until is_over; do
	for name in mfrisbeed starter frisbeed; do
		find_pid "$name" > /dev/null || continue
		LAST[$name]=$(($(now_ms) - start))
		: "${FIRST[$name]:=${LAST[$name]}}"
	done
done
LAST[controllerd]=$(($(now_ms) - start)) FIRST[controllerd]=0
check "all is as it must be$(for name in "${!FIRST[@]}"; do echo -n ", $name from ${FIRST[$name]} to ${LAST[$name]} ms"; done)" ends
missed=0 points=0 went_on=0
try() {	# NAME THOUSANDTH...
	local at since what="killed:" point="$*"
	begin
	for ((; $# > 0; )); do
		at=$((FIRST[$1] + (LAST[$1] - FIRST[$1]) * $2 / 1000)) since=$(($(now_ms) - start)) which=$(($2 % 4 + 1))
		[ $since -ge $at ] || sleep "$(printf '%d.%03d' $(((at - since) / 1000)) $(((at - since) % 1000)))"
		points=$((points + 1))
		kill_it "$1"
		what+=" $1 after $at ms" ; shift 2
	done
	ends > "$T/said" 2>&1 && { echo "ok: $what: POINT=\"$point\""; return; }
	fail "$what: POINT=\"$point\""
	cat "$T/said" "$T/controller.log" "$T"/machines/*/console
	controller_end
}
points() {	# NAME
	python3 -c 'import random, sys; r = random.Random(" ".join(sys.argv[2:])); print(*[r.randrange(1000) for _ in range(int(sys.argv[1]))], sep="\n")' "$POINTS" "$SEED" "$1"
}
# shellcheck disable=SC2086
[ -z "$POINT" ] || try $POINT
if [ "$POINTS$POINT" = 0 ]; then
	try frisbeed 200 controllerd 800
	check "three loads were looked at, which went on untouched" [ $went_on -ge 3 ]
	try starter 400 mfrisbeed 600
fi
for name in controllerd mfrisbeed starter frisbeed; do
	while read -r thousandth; do try "$name" "$thousandth"; done < <([ "$POINTS" = 0 ] || points "$name")
done
check "$missed of $points came too late" [ "$missed" -lt "$points" ]
finish
