#!/usr/bin/env bash
# Told to end while a pipe or the disk does not answer: imageunzip and frisbee end within
# seconds, with a sentence and status 1; the state is kept, what was new is gone.  And all programs
# end when the signal comes just before a call that waits.
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
jump=${B:-$TOP/build/plain}/tests/preload/clockjump.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
export FRISBEE_NO_URING=1	# so that all writes pass through the library that stalls them
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires mke2fs
SIZE=$((24 << 20))
head -c 20000000 /dev/urandom > "$T/src"; truncate -s $SIZE "$T/src"
"$BIN/imagezip" -q -r "$T/src" "$T/img.ndz" || fail "imagezip"
truncate -s 24M "$T/fs"; mke2fs -q -F "$T/fs" && "$BIN/imagezip" -q "$T/fs" "$T/fs.ndz" || fail "imagezip fs"
poison "$T/poisoned" $SIZE
IMG=$T/img.ndz
# Each program takes three seconds to see that it does not get on, so they do it beside each other.
BESIDE=8

# ends WHAT SIGNAL READY-COMMAND: $pid, when it is where it hangs, ends by it
ends() {
	local what=$1 sig=$2 start; shift 2
	begins $pid "$@" || fail "$what: it does not hang: $(cat "$T/stderr")"
	start=$SECONDS; kill -"$sig" $pid
	soon has_ended $pid || kill -KILL $pid
	wait $pid 2> /dev/null; local rc=$?
	check "$what: exit $rc after $((SECONDS - start)) s: $(cat "$T/stderr")" [ $rc = 1 ]
	check "one sentence names the signal" [ "$(grep -c "interrupted by SIG$sig" "$T/stderr")" = 1 ]
	check "and nothing else" [ "$(grep -vc 'warning:' "$T/stderr")" = 1 ]
}
is_itself() { [ "$(cat /proc/$pid/comm)" != bash ]; }	# and not the shell that becomes it
catches() { is_itself && catches_term $pid; }
sleeps() { is_itself && has_read $pid 4000000; }	# as it waits for more
fired() { [ -e "$T/fired" ]; }
helper() { CLEANUP+=("kill $! 2> /dev/null"); }
disk() { cp --sparse=never "$SHARED/poisoned" "$T/disk"; }
unzip() {	# FAULT OPTIONS...
	(exec env FAULT="$1" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim $jump" \
	    "$BIN/imageunzip" -q "${@:2}" 2> "$T/stderr") & pid=$!
}
load() {	# FAULT OPTIONS...
	(exec env FAULT="$1" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" \
	    "$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$PORT" "${@:2}" 2> "$T/stderr") & pid=$!
}

pipe_stalls() {	# SIGNAL BYTES-THAT-COME READY-COMMAND OPTIONS...
	mkfifo "$T/fifo"; (head -c "$2" "$IMG"; exec sleep 1000) > "$T/fifo" & helper
	(exec "$BIN/imageunzip" -q "${@:4}" - "$T/out" < "$T/fifo" 2> "$T/stderr") & pid=$!
	ends "$2 bytes of a pipe ${4:-}" "$1" "$3"
	check "the new file is gone" [ ! -e "$T/out" ]
}
nobody_reads() {
	mkfifo "$T/fifo"; exec sleep 1000 < "$T/fifo" & helper
	(exec "$BIN/imageunzip" -q "$IMG" - > "$T/fifo" 2> "$T/stderr") & pid=$!
	ends "nobody reads what is written" INT sleeps
}
clock_is_set_back() {
	disk; CLOCK_BACK=-3600 unzip "pwrite:9:stall:$T/disk" --in-place "$IMG" "$T/disk"
	ends "the disk stalls, and the clock is set back an hour meanwhile" TERM fired
}
disk_stalls() {	# OP:N OPTIONS...
	disk; unzip "$1:stall:$T/disk" --in-place "${@:2}" "$IMG" "$T/disk"
	ends "the disk stalls, $*" TERM fired
	case $* in *skip-same) ;; *) status 1 "$BIN/imageunzip" --status "$T/disk" ;; esac
	check "the next run completes it" "$BIN/imageunzip" -q --in-place "$IMG" "$T/disk"
	check "to the last byte" cmp "$SHARED/src" "$T/disk"
}
discard_stalls() {
	disk; unzip "clear:1:stall:$T/disk" --in-place --discard "$SHARED/fs.ndz" "$T/disk"
	ends "--discard" INT fired
	status 1 "$BIN/imageunzip" --status "$T/disk"
}
new_file_stalls() {
	unzip "pwrite:9:stall:$T/out" "$IMG" "$T/out"
	ends "a new file" TERM fired
	check "it is gone" [ ! -e "$T/out" ]
}
state_is_kept() {	# STATE
	local state=$1
	[ "$state" = target ] || state=$T/$1
	disk; cmp -s "$SHARED/src" "$T/disk" && fail "nothing to see"
	unzip "pwrite:14:stall:$T/disk" -j1 --in-place "--state=$state" --state-interval 0 \
	    "$IMG" "$T/disk"
	ends "--state $1" TERM fired
	[ "$state" = target ] || check "the state is kept" [ -s "$state" ]
	"$BIN/imageunzip" -q --in-place "--state=$state" "$IMG" "$T/disk" 2> /dev/null ||
	    fail "cannot be gone on with"
	check "gone on with, it is right" cmp "$SHARED/src" "$T/disk"
}
for sig in INT TERM; do beside pipe_stalls $sig 5000000 sleeps; done
beside pipe_stalls TERM 0 catches
beside pipe_stalls TERM 5242880 sleeps -N
beside nobody_reads
beside clock_is_set_back
for how in "pwrite:9" "pwrite:9 -n" "fsync:2" "fsync:1" "pread:3 --read-back" "pread:3 --skip-same"; do
	# shellcheck disable=SC2086
	beside disk_stalls $how
done
beside discard_stalls
beside new_file_stalls
for state in state target; do beside state_is_kept $state; done

# A signal comes to a thread just before a call that waits for ever: the thread is interrupted later.
interrupted() {	# FIFO COMMAND...: it reads what nobody writes; the pipe's name begins so
	mkfifo "$T/fifo"; exec sleep 1000 > "$T/fifo" & helper
	(exec env FAULT="read:1:signal:$1" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "${@:2}" < "$T/fifo" 2> "$T/stderr") & pid=$!
	soon has_ended $pid || kill -KILL $pid
	wait $pid; local rc=$?
	check "a signal just before a call that waits, ${*:2}: exit $rc" [ $rc = 1 ]
	check "it has come" fired
	check "and is named: $(cat "$T/stderr")" grep -q "interrupted by SIGINT" "$T/stderr"
}
printf '#!/bin/sh\nexec sleep 1000\n' > "$T/silent"; chmod +x "$T/silent"
beside interrupted "pipe:" "$BIN/dsync" --rsh="$T/silent" --since="scan:$T/none" init "$T/src" host:copy
beside interrupted "$T/case" "$BIN/imagezip" -q --encrypt /dev/stdin "$T/src" "$T/none.ndz"

# frisbee
"$BIN/frisbeed" --unicast -m 127.0.0.1 -p 0 -A "$T/where" -T 600 -W 400M "$IMG" \
    > /dev/null 2>&1 & helper
begins $! [ -s "$T/where" ] || fail "frisbeed"
PORT=$(tr -d '\0' < "$T/where" | sed 's/.*://')
load_stalls() {	# OP:N OPTIONS...
	disk; load "$1:stall:$T/disk" --in-place "${@:2}" "$T/disk"
	ends "frisbee, $*" TERM fired
}
load_of_a_file() {	# SIGNAL OP:N OPTIONS...
	load "$2:stall:$T/out" "${@:3}" "$T/out"
	ends "frisbee, a new file ${3:-}" "$1" fired
	check "it is gone" [ ! -e "$T/out" ]
}
load_that_nobody_reads() {
	mkfifo "$T/fifo"; (head -c 1 > "$T/first"; exec sleep 1000) < "$T/fifo" & helper
	(exec "$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$PORT" - > "$T/fifo" \
	    2> "$T/stderr") & pid=$!
	ends "frisbee, nobody reads" TERM [ -s "$T/first" ]
}
load_keeps_state() {
	disk; load "pwrite:14:stall:$T/disk" --in-place "--state=$T/state" --state-interval 0 \
	    "$T/disk"
	ends "frisbee, --state" TERM fired
	check "the state is kept" [ -s "$T/state" ]
	"$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$PORT" --in-place "--state=$T/state" \
	    "$T/disk" || fail "cannot be gone on with"
	check "gone on with, it is right" cmp "$SHARED/src" "$T/disk"
}
for how in "pwrite:9" "fsync:2" "pread:3 --read-back" "pread:3 --skip-same"; do
	# shellcheck disable=SC2086
	beside load_stalls $how
done
beside load_of_a_file INT pwrite:9
beside load_of_a_file TERM pwrite:3 -N
beside load_that_nobody_reads
beside load_keeps_state
all_have_ended
finish
