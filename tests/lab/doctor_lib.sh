# doctor_lib.sh: frisbee --doctor in networks that ail.  Some are examined at the same time, each at a node of its own:
#	examine NODE OPTIONS...		in the background
#	told EXIT NODE			its end; what it said is in $T/says, for says and summed
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires python3 nft

doctor_up() {	# NODES: as lab_up, with a querier that asks at once, and small images
	lab_up "$1"
	lab_querier 300
	take random:2M disk disk.ndz
}
examine() {	# NODE OPTIONS...
	local node=$1; shift
	timeout 240 ip netns exec "$LAB$node" "$BIN/frisbee" -m $GROUP -p $PORT --doctor "$@" > "$T/says.$node" 2> "$T/stderr.$node" &
	EXAMS[$node]=$!; PIDS+=($!)
}
declare -A EXAMS
told() { wait "${EXAMS[$2]}"; ended "$1" "$2" $?; }	# EXIT NODE
ended() {	# EXIT NODE STATUS
	cat "$T/says.$2" "$T/stderr.$2" > "$T/says"
	tail -n 1 "$T/says" | sed "s/^/	$2: /"
	[ "$3" = "$1" ] && echo "ok: exit $1" || { fail "exit $3, not $1"; cat "$T/says"; }
}
# FILE: one of the two machines was too busy for a burst, so nothing is known of bursts, which the doctor says.
no_burst() {
	grep -qE "^unknown *burst *not measured: (this machine was too busy|the server could not send)" "$1"
}
# The end of an examination that finds something wrong with bursts.  It is repeated until there was
# a burst, five times at most; without one nothing may be wrong, and this fails.
told_burst() {	# NODE OPTIONS...
	local node=$1 try rc; shift
	for try in 1 2 3 4 5; do
		wait "${EXAMS[$node]}"; rc=$?
		[ $try != 5 ] && no_burst "$T/says.$node" || break
		examine "$node" "$@"
	done
	if ! no_burst "$T/says.$node"; then ended 1 "$node" $rc; return 0; fi
	ended 0 "$node" $rc
	echo "five times no burst: what is said of bursts is left out"
	return 1
}
nothing_lost() { grep -q "0 % of 100 packets to the server are lost, 0 % of 100 from" "$1"; }	# FILE
# All is well, and nothing is lost.  A busy machine answers some packets too late now and then, or
# sends no burst: one of five times will do.
# The last examination took so many seconds: $TOOK.
well() {	# NODE OPTIONS...
	local node=$1 try got start; shift
	for try in 1 2 3 4 5; do
		rm -f "$T/report"
		start=$SECONDS
		examine "$node" "$@"; wait "${EXAMS[$node]}"; got=$?
		TOOK=$((SECONDS - start))
		[ $got = 0 ] && nothing_lost "$T/says.$node" && ! no_burst "$T/says.$node" && break
	done
	ended 0 "$node" $got
}
doctor() {	# EXIT NODE OPTIONS...: now, and alone
	local want=$1 node=$2; shift 2
	examine "$node" "$@"; told "$want" "$node"
}
says() {	# STATUS CHECK WORDS
	if grep -q "^$1 *$2  *.*$3" "$T/says"; then echo "ok: $1 $2: $3"
	else fail "not said: $1 $2 $3"; cat "$T/says"; fi
}
never() { if grep -q "$1" "$T/says"; then fail "said: $1"; cat "$T/says"; else echo "ok: not said: $1"; fi; }
summed() { if tail -n 1 "$T/says" | grep -q "$1"; then echo "ok: at the end: $1"; else fail "at the end not: $1"; cat "$T/says"; fi; }
rules() { on "$1" nft -f - || skip "nft rules are not allowed here"; }
norules() { on "$1" nft flush ruleset; }
switch() { nft -f - || skip "nft rules are not allowed here"; }
# Another server: WHERE NAME OPTIONS... IMAGE; -m and -p are among the options.  Its process is ${SERVERS[NAME]}.
another() {
	local where=$1 name=$2; shift 2
	: > "$T/$name.log"
	ip netns exec "$LAB$where" "$BIN/frisbeed" -d "$@" 2> "$T/$name.log" & SERVERS[$name]=$!; PIDS+=($!)
	begins "${SERVERS[$name]}" grep -q serving "$T/$name.log" || fail "$name did not start: $(cat "$T/$name.log")"
}
declare -A SERVERS
no_more() { kill "$@" 2> /dev/null; wait "$@" 2> /dev/null; }
