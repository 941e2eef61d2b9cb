#!/usr/bin/env bash
# Every server under 1,500 connections that say nothing, 200 that say a byte a second from each of
# six addresses, junk, and readers who never read (tests/lab/mutated.sh has the servers of groups):
# an honest request is answered soon, the log stays short, and memory and descriptors are bounded
# and given back.  ROWS="reports status" runs these alone.
. "$(dirname "$0")/lib.sh"
requires python3 ip
own_network "$@"
[ -n "${NETWORK_INSIDE:-}" ] || skip "needs root, for a network of its own"
ulimit -n "$(ulimit -Hn)"
# An honest request is to be answered within a second; other tests run beside this one, and
# instrumented programs are slow.
LIMIT_MS=3000 LIMIT_KB=60000; instrumented && LIMIT_MS=15000 LIMIT_KB=500000
CALLERS=() PIDS=()
CLEANUP+=('kill "${CALLERS[@]}" "${PIDS[@]}" 2> /dev/null; wait 2> /dev/null')
SIX=(127.0.0.{2..7})
HONEST=$TOP/tests/helpers/honest.py

begun() {	# HELPER ARGUMENT...: it is there from now on
	rm -f "$T/callers"
	"$PYTHON" -E -S "$TOP/tests/helpers/$1" "${@:2}" > "$T/callers" & CALLERS+=($!)
	begins $! grep -qs here "$T/callers" || fail "nobody calls"
}
callers() { begun callers.py "$@"; }
nobody_calls() { kill "${CALLERS[@]}"; wait "${CALLERS[@]}" 2> /dev/null; CALLERS=(); }
descriptors() { ls "/proc/$1/fd" | wc -l; }
kilobytes() { awk -v w="$2:" '$1 == w { print $2 }' "/proc/$1/status"; } # PID VmRSS|VmHWM
# answered WHAT ARGUMENT...: five honest requests (tests/helpers/honest.py), each within the time
answered() {
	local what=$1 worst; shift
	worst=$(timeout 120 "$PYTHON" -E -S "$HONEST" 5 "$@" 2> "$T/answer") ||
		{ fail "$what: an honest request: $(tail -n 1 "$T/answer")"; return; }
	check "$what: an honest request was answered after $worst ms" [ "$worst" -lt $LIMIT_MS ]
}
# before PID ARGUMENT...: what it has when nobody calls.  after PID: it has no more when they have gone.
before() { answered alone "${@:2}"; fds=$(descriptors $1) kb=$(kilobytes $1 VmRSS); }
after() {
	local more=$(($(kilobytes $1 VmHWM) - kb))
	nobody_calls
	check "memory was bounded: $more KiB more" [ $more -lt $LIMIT_KB ]
	given_back() { [ "$(descriptors $1)" -le $((fds + 1)) ]; }
	SOON=30 check "descriptors are given back: $(descriptors $1), $fds before" soon given_back $1
	memory_too() { [ $(($(kilobytes $1 VmRSS) - kb)) -lt ${KEPT_KB:-$((LIMIT_KB / 2))} ]; }
	SOON=30 check "so is memory: $(kilobytes $1 VmRSS) KiB, $kb before" soon memory_too $1
}
# under PID PORT SLOW DEAF ARGUMENT...: what slow ones say; what those say who never read (a file)
under() {
	local pid=$1 port=$2 slow=$3 deaf=$4; shift 4
	before $pid "$@"
	callers "$port" 1500 '' 127.0.0.8
	answered "1,500 silent ones" "$@"
	nobody_calls
	callers "$port" 200 "$slow" "${SIX[@]}"
	answered "200 slow ones from each of six" "$@"
	nobody_calls
	callers "$port" 50 @junk 127.0.0.8
	[ -z "$deaf" ] || callers "$port" 50 "@deaf=$deaf" 127.0.0.9
	answered "junk${deaf:+, and 50 who never read}" "$@"
	after $pid
}
run() {	# COMMAND...: in the background; $PID, with its log in $T/log
	rm -f "$T/log"	# one that is still written has another file
	: > "$T/log"
	"$@" 2> "$T/log" > "$T/out" & PID=$!; PIDS+=($!)
}
ends() { kill $PID; wait $PID; check "SIGTERM ends it with 0" [ $? = 0 ]; }
lines() { wc -l < "$T/log"; }
port_of() {	# PID: at which it listens, other than $2
	PORT=$(ss -Hltnp | awk -v p="pid=$1," -v not=":${2:-0}$" \
	    'index($0, p) && $4 !~ not { sub(/.*:/, "", $4); print $4; exit }')
	[ -n "$PORT" ]
}

mkdir "$T/images" "$T/state" "$T/uploads"
take random:3000000 disk disk.ndz=images/a.ndz

row_mfrisbeed() {
	{ printf '%s\n' "images $T/images" "uploads $T/uploads max=20M" "state $T/state" \
	      "group 239.77.1.1" "interface 127.0.0.1"
	  printf 'allow %s all\n' "${SIX[@]}" 127.0.0.1; } > "$T/conf"
	run "$BIN/mfrisbeed" -d -p 6400 -c "$T/conf"
	begins $PID grep -q listens "$T/log" || fail "mfrisbeed: $(cat "$T/log")"
	under $PID 6400 "V01$(printf '%.0s\001' {1..40})" "" master 127.0.0.1 0
	local n=$(lines)
	quietly python3 "$HONEST" 1000 master 127.0.0.10 4 || fail "a stranger asks 1,000 times"
	n=$(($(lines) - n))
	check "the log has $n lines about it" [ $n -ge 1 -a $n -lt 40 ]
	said_so() { grep -q "lines were left out" "$T/log"; }
	check "and says that there were more" soon said_so
	echo "== ... and its uploads"
	before $PID upload "$T/images/a.ndz"
	begun idle_uploads.py 6400 16 "${SIX[@]}"
	answered "16 uploads of a byte a second from each of six" upload "$T/images/a.ndz"
	after $PID
	ends
}

controller() {
	mkdir -p "$T/netboot/boot/orders" "$T/netboot/images"
	echo "node node1 52:54:00:00:00:01" > "$T/netboot/nodes"
	run "$BIN/controllerd" --listen=127.0.0.1:8484 -i 127.0.0.1 --power=/bin/true \
	    "$T/netboot"
	begins $PID port_of $PID 8484 || fail "controllerd: $(cat "$T/log")"
}
row_reports() {
	controller
	echo "report 52-54-00-00-00-01 - up x" > "$T/report"
	under $PID "$PORT" "report 52-54-00-00-00-01 - up and more of it" "$T/report" report "$PORT"
	ends
}

row_web() {	# of the controller
	controller
	printf 'GET /api/v1/events HTTP/1.1\r\nHost: localhost:8484\r\n\r\n' > "$T/events"
	under $PID 8484 "GET /api/v1/nodes HTTP/1.1" "$T/events" web 8484
	ends
}

row_dolly() {	# the server, and a node that has joined
	run "$BIN/dolly" serve --wait 100 -p 6401 "$T/images/a.ndz"; local server=$PID
	begins $server grep -q serving "$T/log" || fail "dolly: $(cat "$T/log")"
	under $server 6401 "$(printf '\x0d\x01doly')$(printf 'x%.0s' {1..40})" "" dolly 6401
	local n=$(lines) since=$SECONDS
	quietly python3 "$HONEST" 1000 dolly 6401 || fail "a stranger joins 1,000 times"
	n=$(($(lines) - n))
	check "the log has $n lines about it" [ $n -lt $((600 + 20 * (SECONDS - since))) ]
	echo "== dolly join"
	run "$BIN/dolly" join 127.0.0.1:6401 "$T/target"; local node=$PID
	begins $node port_of $node || fail "dolly join: $(cat "$T/log")"
	under $node "$PORT" "$(printf '\x0d\x01doly')$(printf 'x%.0s' {1..40})" "" dolly "$PORT"
	kill $node $server; wait $node $server 2> /dev/null
}

row_calibrate() {
	run "$BIN/dolly" calibrate --listen --patience 600 -p 6403
	begins $PID grep -q waiting "$T/log" || fail "dolly calibrate: $(cat "$T/log")"
	printf 'dolly-s\n' > "$T/word"
	under $PID 6403 "$(printf 'dolly-t\n+')$(printf 'x%.0s' {1..40})" "$T/word" \
	    calibrate 6403
	kill $PID; wait $PID 2> /dev/null
}

row_unicast() {
	local KEPT_KB=12000	# 3 to 5 MB with what is bounded: the table of clients, new ones
	instrumented && KEPT_KB=$LIMIT_KB	# what was freed is kept to be looked at
	run "$BIN/frisbeed" -d -T 0 --unicast --unicast-clients 8 -m 127.0.0.1 -p 6405 \
	    "$T/images/a.ndz"
	begins $PID grep -q serving "$T/log" || fail "frisbeed: $(cat "$T/log")"
	before $PID unicast 6405
	local n=$(lines) since=$SECONDS
	begun unicast_churn.py 6405 "${SIX[@]}"
	answered "clients of six addresses that come and go" unicast 6405
	check "they came and went" soon grep -q "rounds" "$T/callers"
	after $PID
	n=$(($(lines) - n))
	check "the log has $n lines about it" [ $n -lt $((60 * (SECONDS - since + 1))) ]
	n=$(grep -c "another frisbeed" "$T/log")
	check "$n of them about other servers" [ $n -ge 1 -a $n -lt $(((SECONDS - since) / 10 + 3)) ]
	ends
}

row_status() {	# of a disk that is streamed
	instrumented && { echo "nbdkit cannot run a plugin that is instrumented"; return; }
	command -v nbdkit > /dev/null || { echo "no nbdkit here"; return; }
	poison "$T/streamed" 4000000
	run nbdkit -f -U "$T/sock" "$(dirname "$BIN")/lib/nbdkit-ndz-plugin.so" \
	    "$T/images/a.ndz" disk="$T/streamed" table=memory status="$T/status" fill=false
	begins $PID listens_at "$T/status" || fail "nbdkit: $(cat "$T/log")"
	under $PID "$T/status" "xxxxxxxx" "$T/disk" status "$T/status"
	ends
}

row_export() {	# of a disk that is streamed, for other machines
	instrumented && { echo "nbdkit cannot run a plugin that is instrumented"; return; }
	[ -n "$(find /usr/lib -name nbdkit-nbd-plugin.so -print -quit)" ] ||
		{ echo "no plugin nbd of nbdkit here"; return; }
	truncate -s 8M "$T/exported"
	# With as many descriptors as a program usually has.
	few() { ulimit -Sn 1024; exec "$@"; }
	run few "$BIN/streamdisk" --table=memory --socket="$T/exports" --export=127.0.0.1:6406 \
	    "$T/images/a.ndz" "$T/exported"
	begins $PID grep -q "until Ctrl-C" "$T/log" || fail "streamdisk: $(cat "$T/log")"
	under $PID 6406 "$(printf 'x%.0s' {1..40})" "" export 6406
	ends
}

for row in ${ROWS:-mfrisbeed reports web dolly calibrate unicast status export}; do
	echo "== $row"
	row_$row
done
finish
