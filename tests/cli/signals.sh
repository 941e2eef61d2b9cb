#!/usr/bin/env bash
# Told to end while a pipe or the disk does not answer: imageunzip and frisbee end within
# seconds, with a sentence and status 1; the state is kept, what was new is gone.
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
export FRISBEE_NO_URING=1	# so that all writes pass through the library that stalls them
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires python3
PATIENCE=120	# seconds until it counts as hanging: the programs take three
SIZE=$((24 << 20))
head -c 20000000 /dev/urandom > "$T/src"; truncate -s $SIZE "$T/src"
"$BIN/imagezip" -q -r "$T/src" "$T/img.ndz" || fail "imagezip"
truncate -s 24M "$T/fs"; mke2fs -q -F "$T/fs" && "$BIN/imagezip" -q "$T/fs" "$T/fs.ndz" || fail "imagezip fs"
HELPERS=()
CLEANUP+=('kill "${HELPERS[@]}" 2> /dev/null')
until_there() { local i; for ((i = 0; i < 20 * PATIENCE; i++)); do "$@" && return; sleep 0.05; done; return 1; }

# ends WHAT SIGNAL READY-COMMAND: $pid, when it is where it hangs, ends by it
ends() {
	local what=$1 sig=$2 start; shift 2
	until_there "$@" || fail "$what: it does not hang: $(cat "$T/stderr")"
	start=$SECONDS; kill -"$sig" $pid
	until_there is_gone || kill -KILL $pid
	wait $pid 2> /dev/null; local rc=$?
	check "$what: exit $rc after $((SECONDS - start)) s: $(cat "$T/stderr")" [ $rc = 1 ]
	check "one sentence names the signal" [ "$(grep -c "interrupted by SIG$sig" "$T/stderr")" = 1 ]
	check "and nothing else" [ "$(grep -vc 'warning:' "$T/stderr")" = 1 ]
}
reset() { rm -f "$T/fired" "$T/stderr" "$T/out" "$T/fifo"; }
fired() { [ -e "$T/fired" ]; }
# The program itself, not the shell that becomes it.
catches() { [ "$(cat /proc/$pid/comm)" != bash ] && (( 0x$(sed -n "s/^SigCgt:[[:space:]]*//p" /proc/$pid/status) & 0x4000 )); }
is_gone() { ! kill -0 $pid 2> /dev/null; }
sleeps() { [ "$(cat /proc/$pid/comm)" != bash ] && [ "$(awk '/^read_bytes|^rchar/ { print $2; exit }' /proc/$pid/io)" -gt 4000000 ]; }	# as it waits for more

echo "== the image is a pipe that stalls"
for sig in INT TERM; do
	reset; mkfifo "$T/fifo"; (head -c 5000000 "$T/img.ndz"; exec sleep 1000) > "$T/fifo" & HELPERS+=($!)
	(exec "$BIN/imageunzip" -q - "$T/out" < "$T/fifo" 2> "$T/stderr") & pid=$!
	ends "imageunzip" $sig sleeps
	check "the new file is gone" [ ! -e "$T/out" ]
done
reset; mkfifo "$T/fifo"; exec sleep 1000 > "$T/fifo" & HELPERS+=($!)
(exec "$BIN/imageunzip" -q - "$T/out" < "$T/fifo" 2> "$T/stderr") & pid=$!
ends "nothing ever came" TERM catches
reset; mkfifo "$T/fifo"; (head -c 5242880 "$T/img.ndz"; exec sleep 1000) > "$T/fifo" & HELPERS+=($!)
(exec "$BIN/imageunzip" -q -N - "$T/out" < "$T/fifo" 2> "$T/stderr") & pid=$!
ends "-N" TERM sleeps
check "the new file is gone" [ ! -e "$T/out" ]

echo "== nobody reads what is written"
reset; mkfifo "$T/fifo"; exec sleep 1000 < "$T/fifo" & HELPERS+=($!)
(exec "$BIN/imageunzip" -q "$T/img.ndz" - > "$T/fifo" 2> "$T/stderr") & pid=$!
ends "imageunzip" INT sleeps

echo "== the disk stalls"
disk() { reset; rm -f "$T/state"; poison "$T/disk" $SIZE; }
for how in "pwrite:9" "pwrite:9 -n" "fsync:2" "fsync:1" "pread:3 --read-back" "pread:3 --skip-same"; do
	disk; set -- $how
	(exec env FAULT="$1:stall:$T/disk" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/imageunzip" -q --in-place "${@:2}" "$T/img.ndz" "$T/disk" 2> "$T/stderr") & pid=$!
	ends "$how" TERM fired
	case $how in *skip-same) ;; *) status 1 "$BIN/imageunzip" --status "$T/disk" ;; esac
	check "the next run completes it" "$BIN/imageunzip" -q --in-place "$T/img.ndz" "$T/disk"
	check "to the last byte" cmp "$T/src" "$T/disk"
done
disk
(exec env FAULT="clear:1:stall:$T/disk" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/imageunzip" -q --in-place --discard "$T/fs.ndz" "$T/disk" 2> "$T/stderr") & pid=$!
ends "--discard" INT fired
status 1 "$BIN/imageunzip" --status "$T/disk"
reset
(exec env FAULT="pwrite:9:stall:$T/out" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/imageunzip" -q "$T/img.ndz" "$T/out" 2> "$T/stderr") & pid=$!
ends "a new file" TERM fired
check "it is gone" [ ! -e "$T/out" ]
for state in "$T/state" target; do
	disk; cmp -s "$T/src" "$T/disk" && fail "nothing to see"
	(exec env FAULT="pwrite:14:stall:$T/disk" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/imageunzip" -q -j1 --in-place "--state=$state" --state-interval 0 "$T/img.ndz" "$T/disk" 2> "$T/stderr") & pid=$!
	ends "--state $(basename "$state")" TERM fired
	[ "$state" = target ] || check "the state is kept" [ -s "$T/state" ]
	"$BIN/imageunzip" -q --in-place "--state=$state" "$T/img.ndz" "$T/disk" 2> /dev/null || fail "cannot be gone on with"
	check "gone on with, it is right" cmp "$T/src" "$T/disk"
done

echo "== frisbee"
"$BIN/frisbeed" --unicast -m 127.0.0.1 -p 0 -A "$T/where" -T 600 -W 400M "$T/img.ndz" > /dev/null 2>&1 & HELPERS+=($!)
until_there [ -s "$T/where" ] || fail "frisbeed"
PORT=$(tr -d '\0' < "$T/where" | sed 's/.*://')
load() { exec env "FAULT=$1" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$PORT" "${@:2}" 2> "$T/stderr"; }
for how in "pwrite:9" "fsync:2" "pread:3 --read-back" "pread:3 --skip-same"; do
	disk; set -- $how
	(load "$1:stall:$T/disk" --in-place "${@:2}" "$T/disk") & pid=$!
	ends "$how" TERM fired
done
reset; (load "pwrite:9:stall:$T/out" "$T/out") & pid=$!
ends "a new file" INT fired
check "it is gone" [ ! -e "$T/out" ]
reset; (load "pwrite:3:stall:$T/out" -N "$T/out") & pid=$!
ends "-N" TERM fired
check "it is gone" [ ! -e "$T/out" ]
reset; mkfifo "$T/fifo"; exec sleep 1000 < "$T/fifo" & HELPERS+=($!)
(load "pwrite:1:eio:none" - > "$T/fifo") & pid=$!
has_filled_it() { catches && sleep 2; }
ends "nobody reads" TERM has_filled_it
disk
(load "pwrite:14:stall:$T/disk" --in-place "--state=$T/state" --state-interval 0 "$T/disk") & pid=$!
ends "--state" TERM fired
check "the state is kept" [ -s "$T/state" ]
"$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$PORT" --in-place "--state=$T/state" "$T/disk" || fail "cannot be gone on with"
check "gone on with, it is right" cmp "$T/src" "$T/disk"
finish
