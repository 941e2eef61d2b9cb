#!/usr/bin/env bash
# Every write, flush, hole and close of an installation fails in turn, and programs die
# at points drawn by POINTS_SEED: never success with a wrong disk, the state never
# ahead of it, and the next run makes it right.
#	POINTS=100 tests/cli/install_faults.sh	as many kills for each way (5)
# In memory: there is much flushing.
[ -w /dev/shm ] && [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 500000 ] && export TMPDIR=/dev/shm
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
export FRISBEE_NO_URING=1	# so that all writes pass through the library that fails them
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires python3 mke2fs debugfs
[ "${VARIANT:-plain}" = plain ] || [ -n "${STEP:-}" ] || skip "instrumented programs are slow; STEP=60 runs it all the same (tests/cli/faults.sh runs)"
POINTS=${POINTS:-5} RANDOM=${POINTS_SEED:-4}
faulty() { local fault=$1; shift; env FAULT="$fault" FAULT_FIRED="$T/fired" FAULT_CALLS="$T/calls" LD_PRELOAD="$shim" "$@"; }

mkdir "$T/d"
python3 - "$T/d" << 'PY'
import random, sys
r = random.Random(9)
for i in range(40): open(f"{sys.argv[1]}/a{i:02}", "wb").write(r.randbytes(50000))
for i in range(6): open(f"{sys.argv[1]}/f{i}", "wb").write(r.randbytes(200000) + bytes(600000) + b"words " * 30000)
PY
SIZE=$((10 << 20))
truncate -s $SIZE "$T/fs"; mke2fs -q -F -t ext4 -b 1024 -d "$T/d" "$T/fs"
for i in {10..29..2}; do debugfs -w -R "rm a$i" "$T/fs" > /dev/null 2>&1; done	# gaps between them
"$BIN/imagezip" -q "$T/fs" "$T/img.ndz" || fail "imagezip"
poison "$T/poison" $SIZE
DEV=
put_poison() { if [ -n "$DEV" ]; then dd if="$T/poison" of="$DEV" bs=4M conv=fsync status=none; else cp --sparse=never "$T/poison" "$T/disk"; fi; }
target() { if [ -n "$DEV" ]; then echo "$DEV"; else echo "$T/disk"; fi; }
right() { cmp -s "$(target)" "$T/want"; }
put_poison; "$BIN/imageunzip" -q --in-place -z "$T/img.ndz" "$T/disk"; mv "$T/disk" "$T/want"
[ "$(tr -d '\245' < "$T/want" | wc -c)" -gt 6000000 ] || fail "nothing to see"

install() {	# STATE OPTIONS...: as it is told to be, on $(target)
	local state=$1; shift
	"$@" "$BIN/imageunzip" -q --in-place -z --state="$state" --state-interval 0 "$T/img.ndz" "$(target)"
}
resumes() {	# WHAT STATE
	install "$2" env > "$T/stdout" 2> "$T/stderr" || { fail "$1: cannot be gone on with: $(cat "$T/stderr")"; return; }
	right || fail "$1: wrong disk"
	[ ! -e "$T/state" ] || fail "$1: the state is left"
}
begin() { rm -f "$T/fired" "$T/state" "$T/calls"; put_poison; }

each() {	# OP KIND PATH STATE: every N
	local op=$1 kind=$2 path=$3 state=$4 n=1 rc runs=0 borne=0
	while :; do
		begin
		install "$state" faulty "$op:$n:$kind:$path" > "$T/stdout" 2> "$T/stderr"; rc=$?
		[ -e "$T/fired" ] || break
		runs=$((runs + 1))
		if [ $rc = 0 ]; then	# it was tried again, another way
			borne=$((borne + 1))
			right || fail "$op $n $kind $state: success, and the disk is wrong"
		else
			[ $rc = 1 ] || fail "$op $n $kind $state: exit $rc"
			[ "$(wc -l < "$T/stderr")" = 1 ] || fail "$op $n $kind $state: not one sentence: $(cat "$T/stderr")"
			resumes "$op $n $kind" "$state"
		fi
		case $kind in eio) ;; *) [ $rc != 0 ] || [ $op = clear ] || fail "$op $n $kind $state: exit 0" ;; esac
		case $op in fsync | close) [ $rc != 0 ] || fail "$op $n $kind $state: exit 0" ;; esac
		n=$((n + (n < 7 ? 1 : STEP)))
	done
	check "$op $kind of $(basename "$path"), state $(basename "$state"): $runs runs, $borne of them got over it" [ $runs -gt 0 ]
}

echo "== each access fails in turn"
STEP=${STEP:-16}
for state in "$T/state" target; do
	for kind in eio dead; do for op in pwrite fsync clear; do each $op $kind "$(target)" "$state"; done; done
	each pwrite full "$(target)" "$state"
	each change gone "$(target)" "$state"
	each close eio "$(target)" "$state"
done
for op in pwrite fsync ftruncate; do each $op eio "$T/state" "$T/state"; done
each pwrite full "$T/state" "$T/state"

points() {	# STATE KIND: kills at random accesses, sometimes twice in a row
	local state=$1 kind=$2 i n total twice=0 missed=0
	begin; install "$state" faulty "change:1000000:kill:$(target)" || fail "without a fault"
	total=$(cat "$T/calls")
	[ "$total" -gt 20 ] || fail "only $total accesses"
	for ((i = 0; i < POINTS; i++)); do
		begin
		n=$((RANDOM % total + 1)); export FAULT_SEED=$n$i
		( install "$state" faulty "change:$n:$kind:$(target)" ) 2> /dev/null
		if [ ! -e "$T/fired" ]; then	# the threads' order changes how many there are by a few: it was whole before
			right || fail "$kind at $n of $total: nothing was killed, and the disk is wrong"
			missed=$((missed + 1)); [ $missed -le $((POINTS + 3)) ] && i=$((i - 1)) || { fail "$kind: $missed of the points did not come"; break; }
			continue
		fi
		if [ $((RANDOM % 3)) = 0 ]; then
			( install "$state" faulty "change:$((n / 3 + 1)):$kind:$(target)" ) 2> /dev/null; twice=$((twice + 1))
		fi
		resumes "$kind at $n of $total" "$state"
	done
	check "$POINTS times $kind among $total accesses, $twice of them twice, state $(basename "$state")" [ $i = "$POINTS" ]
}
echo "== killed at random accesses"
for state in "$T/state" target; do for kind in kill torn power; do points "$state" $kind; done; done
if [ "$(id -u)" = 0 ] && cp "$T/poison" "$T/back" && DEV=$(losetup -f --show "$T/back" 2> /dev/null); then
	CLEANUP+=("losetup -d '$DEV' 2> /dev/null")
	echo "== on a loop device"
	for state in "$T/state" target; do
		points "$state" kill
		STEP=8 each pwrite eio "$DEV" "$state"
		STEP=8 each fsync dead "$DEV" "$state"
	done
else echo "not root, or no loop device: left out"; fi
finish
