#!/usr/bin/env bash
# dmmerge and dmextract die, lose power, run out of room or are lied to at every point: never success with a wrong copy,
# what is said of the copy is true, and the next run makes it right.
[ -w /dev/shm ] && [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 200000 ] && export TMPDIR=/dev/shm
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
export FRISBEE_NO_URING=1	# so that all writes pass through the library that fails them
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
faulty() { local fault=$1; shift; env FAULT="$fault" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$@"; }
x() { "$BIN/dmextract" -q --since=scan:"$T/state" "$@"; }
head -c 3000000 /dev/urandom > "$T/dev"
x "$T/dev" > "$T/first" && x --done "$T/dev" || fail "extract"
cp "$T/dev" "$T/old"
for at in 3 40 41 42 300 500 729; do dd if=/dev/urandom of="$T/dev" bs=4096 seek=$at count=2 conv=notrunc status=none; done
dd if=/dev/zero of="$T/dev" bs=4096 seek=600 count=30 conv=notrunc status=none
mkdir "$T/saved"; cp "$T"/state* "$T/saved"
x "$T/dev" > "$T/second" || fail "extract"
"$BIN/dmmerge" -q --journal="$T/jrn" "$T/tgt" < "$T/first" || fail "merge"
mkdir "$T/keep"; cp "$T/tgt" "$T/jrn" "$T/keep"
condition() { "$BIN/dmmerge" --status --journal="$T/jrn" "$T/tgt" | sed -n 's/^condition //p'; }
# What is said of the copy must be true.
is_true() {	# WHAT
	local says; says=$(condition)
	case $says in
	consistent) cmp -s "$T/tgt" "$T/old" || cmp -s "$T/tgt" "$T/dev" || fail "$1: called consistent, and is not" ;;
	interrupted | incomplete) ;;
	*) fail "$1: called \"$says\"" ;;
	esac
}
each() {	# OP KIND PATH OPTIONS...: every N
	local op=$1 kind=$2 path=$3 n=1 rc what; shift 3
	while :; do
		rm -f "$T/fired"; cp "$T/keep/tgt" "$T/tgt"; cp "$T/keep/jrn" "$T/jrn"
		( faulty "$op:$n:$kind:$path" "$BIN/dmmerge" -q "$@" --journal="$T/jrn" "$T/tgt" < "$T/second" > /dev/null 2> "$T/stderr" ) 2> /dev/null; rc=$?
		what="$* $op:$n:$kind:$(basename "$path")"
		[ $rc != 0 ] || cmp -s "$T/tgt" "$T/dev" || fail "$what: success with a wrong copy"
		[ -e "$T/fired" ] || break
		is_true "$what"
		"$BIN/dmmerge" -q "$@" --journal="$T/jrn" "$T/tgt" < "$T/second" 2> "$T/stderr" || fail "$what: the next run: $(cat "$T/stderr")"
		cmp -s "$T/tgt" "$T/dev" || fail "$what: not right after the next run"
		[ "$(condition)" = consistent ] || fail "$what: not consistent after the next run"
		n=$((n + 1))
	done
	check "$* $op $kind $(basename "$path"): $((n - 1)) points" [ $n -gt 1 ]
}
each change kill "$T/tgt"
each change kill "$T/jrn"
each change power "$T/tgt"
each change power "$T/jrn"
each pwrite astray "$T/tgt"
each change eio "$T/jrn"
each change full "$T/jrn"
each change dead "$T/tgt"
each change kill "$T/tgt" --in-place
each change kill "$T/jrn" --in-place
each change power "$T/tgt" --in-place
each pwrite astray "$T/tgt" --in-place

# The journal has no room: nothing was changed.
cp "$T/keep/tgt" "$T/tgt"; cp "$T/keep/jrn" "$T/jrn"; rm -f "$T/fired"
faulty "pwrite:2:full:$T/jrn" "$BIN/dmmerge" -q --journal="$T/jrn" "$T/tgt" < "$T/second" 2> "$T/stderr" && fail "no room, and success"
check "no room, nothing changed" cmp "$T/tgt" "$T/old"
check "and it is said" grep -q "No space left" "$T/stderr"

# dmextract dies: what it had remembered before counts, and the next stream is right.
n=1
while :; do
	rm -rf "$T"/state* "$T/fired"; cp "$T"/saved/state* "$T"
	( faulty "change:$n:kill:$T/state" "$BIN/dmextract" -q --since=scan:"$T/state" "$T/dev" > "$T/cut" 2> /dev/null ) 2> /dev/null
	[ -e "$T/fired" ] || break
	cp "$T/keep/tgt" "$T/tgt"; cp "$T/keep/jrn" "$T/jrn"
	"$BIN/dmmerge" -q --journal="$T/jrn" "$T/tgt" < "$T/cut" 2> /dev/null && { cmp -s "$T/tgt" "$T/dev" || fail "dmextract $n: a whole stream, and a wrong copy"; }
	x "$T/dev" > "$T/next" || fail "dmextract after $n"
	"$BIN/dmmerge" -q --journal="$T/jrn" "$T/tgt" < "$T/next" 2> "$T/stderr" || fail "after dmextract $n: $(cat "$T/stderr")"
	cmp -s "$T/tgt" "$T/dev" || fail "after dmextract $n: a wrong copy"
	n=$((n + 1))
done
check "dmextract killed at $((n - 1)) points" [ $n -gt 3 ]

# dmextract has no room: it fails, and no file of digests is left of a state that is not remembered.
n=1
while :; do
	rm -rf "$T"/state* "$T/fired"; cp "$T"/saved/state* "$T"
	faulty "change:$n:full:$T/state" "$BIN/dmextract" -q --since=scan:"$T/state" "$T/dev" > "$T/cut" 2> "$T/stderr"; rc=$?
	[ -e "$T/fired" ] || break
	[ $rc != 0 ] || fail "no room for dmextract at $n, and success"
	known=$(x --status "$T/dev" | wc -l); files=$(find "$T" -maxdepth 1 -name 'state.*' | grep -cv 'lock$')
	[ "$files" = "$known" ] || fail "no room for dmextract at $n: $files files of digests, and $known states"
	n=$((n + 1))
done
check "dmextract without room at $((n - 1)) points" [ $n -gt 3 ]

# Two at once: the second is refused while the first has the journal, or the state.
mkfifo "$T/slow"
slow_merge() {
	"$BIN/dmmerge" -q --journal="$T/jrn" "$T/tgt" < "$T/slow" 2> /dev/null & pid=$!
	exec 8> "$T/slow"
	head -c 300 "$T/next" >&8 2> /dev/null
}
second_is_refused() {
	FRISBEE_TEST_TIMES=hold=0.2 "$BIN/dmmerge" -q --journal="$T/jrn" "$T/tgt" < "$T/next" 2> "$T/stderr" || return 0
	# The slow one came while the other had the journal, and was refused itself.
	kill -0 $pid 2> /dev/null || { exec 8>&-; slow_merge; }
	return 1
}
slow_merge
soon second_is_refused
check "two merges at once" grep -q "jrn is in use: dmmerge (process $pid) has locked it" "$T/stderr"
exec 8>&-
wait $pid
finish
