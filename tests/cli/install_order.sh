#!/usr/bin/env bash
# A disk is installed, its table made to fit, old signatures wiped, and it is killed
# at each access in turn: either the mark says that it is not complete, or it is, to
# the last byte; and the next run makes it so.
# In memory: there is much flushing.
[ -w /dev/shm ] && [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 300000 ] && export TMPDIR=/dev/shm
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
export FRISBEE_NO_URING=1	# so that all writes pass through the library that fails them
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires python3 sgdisk mke2fs losetup
STEP=${STEP:-1} LEAST=3
every() { instrumented && echo 3 || echo $(($1 * STEP)); }	# N: of the accesses every Nth
! instrumented || { STEP=5; LEAST=1; }
faulty() { local fault=$1; shift; env FAULT="$fault" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$@"; }

# A disk of 6 MB with two partitions, the last one a filesystem; the target is 10 MB
# and bears what an older, larger table left.
truncate -s 6M "$T/src"; sgdisk -o -n 1:2048:4095 -n 2:4096:10239 "$T/src" > /dev/null 2>&1
head -c 900000 /dev/urandom | dd of="$T/src" bs=1M seek=1 conv=notrunc status=none
mkdir "$T/d"; head -c 1000000 /dev/urandom > "$T/d/a"; head -c 200000 /dev/urandom > "$T/d/b"
truncate -s 3M "$T/fs"; mke2fs -q -F -b 4096 -d "$T/d" "$T/fs"; dd if="$T/fs" of="$T/src" bs=1M seek=2 conv=notrunc status=none
"$BIN/imagezip" -q "$T/src" "$T/img.ndz" || fail "imagezip"
poison "$T/old" $((10 << 20)); sgdisk -o -n 1:2048:15000 "$T/old" > /dev/null 2>&1
TARGET=$T/disk
put_old() { rm -f "$T/fired" "$T/state"; dd if="$T/old" of="$TARGET" bs=1M conv=notrunc status=none; }
install() {	# WAY STATE WRAPPER...
	local way=${1/--grow/--grow --no-follow} state=$2; shift 2	# bytes are compared
	"$@" "$BIN/imageunzip" -q --in-place $way ${state:+"--state=$state" --state-interval 0} "$T/img.ndz" "$TARGET"
}
right() { cmp -s "$TARGET" "$T/want"; }
fits() { quietly sh -c "sgdisk -v '$TARGET' | grep -q 'No problems found'"; }

each() {	# KIND WAY STATE
	local kind=$1 way=$2 state=$3 n=1 runs=0 marked=0 whole=0 rc
	while :; do
		put_old; export FAULT_SEED=$n
		( install "$way" "$state" faulty "change:$n:$kind:$TARGET" ) > "$T/stdout" 2> "$T/stderr"; rc=$?
		[ -e "$T/fired" ] || break
		runs=$((runs + 1))
		if "$BIN/imageunzip" -q --status "$TARGET" 2> /dev/null; then
			if [ $n = 1 ] || cmp -s "$TARGET" "$T/old"; then :	# nothing was done yet
			elif right; then whole=$((whole + 1))
			else fail "$kind at $n, $way, state $state: no mark, and the disk is not right"; fi
		else marked=$((marked + 1)); fi
		[ $rc != 0 ] || right || fail "$kind at $n, $way, state $state: success, and the disk is wrong"
		install "$way" "$state" > "$T/stdout" 2> "$T/stderr" || fail "$kind at $n, $way, state $state: cannot be gone on with: $(cat "$T/stderr")"
		right || fail "$kind at $n, $way, state $state: gone on with, the disk is wrong"
		[ ! -e "$T/state" ] || fail "$kind at $n, $way: the state is left"
		n=$((n + STEP))
	done
	check "$kind, $way, state $(basename "${state:-none}"): $runs times, $marked marked, $whole whole" [ $marked -ge $LEAST ]
}
want() {	# WAY: what becomes of the target, and of its table
	put_old; install "$1" "" || fail "imageunzip $1"
	cp "$TARGET" "$T/want"; check "$1: the table fits" fits
}
cp "$T/old" "$T/disk"
want "--grow -z"
for state in "" "$T/state" target; do each kill "--grow -z" "$state"; done
STEP=$(every 2) each power "--grow -z" "$T/state"
STEP=$(every 3) each power "--grow -z" target
STEP=$(every 3) each dead "--grow -z" target
want "--grow --read-back"
STEP=$(every 2) each kill "--grow --read-back" "$T/state"
STEP=$(every 1) each eio "--grow --read-back" "$T/state"
put_old; install "--fix-gpt" "" || fail "--fix-gpt"
check "--fix-gpt leaves the partition as it is" [ "$(sgdisk -i 2 "$TARGET" | sed -n 's/^Last sector: \([0-9]*\).*/\1/p')" = 10239 ]

echo "== what was written there last is read back, too"
want "--grow --read-back"
total=$(put_old; install --grow "" env FAULT="pwrite:1000000:eio:$TARGET" FAULT_CALLS="$T/calls" LD_PRELOAD="$shim" && cat "$T/calls")
for n in {0..9}; do
	put_old; install "--grow --read-back" "" faulty "pwrite:$((total - n)):astray:$TARGET" || fail "the write $n before the last went astray: not mended"
	[ -e "$T/fired" ] && right || fail "the write $n before the last went astray, of $total"
done
put_old; status 1 install "--grow --read-back" "" faulty "pwrite:$total:lost:$TARGET"
check "what the disk loses twice is found out" grep -q "read back" "$T/stderr"
if [ "$(id -u)" = 0 ] && cp "$T/old" "$T/back" && TARGET=$(losetup -f --show -b 4096 "$T/back" 2> /dev/null); then
	CLEANUP+=("losetup -d '$TARGET' 2> /dev/null")
	echo "== on a disk with sectors of 4096 bytes"
	want "--convert --grow"
	STEP=$(every 2) each kill "--convert --grow" "$T/state"
else echo "not root, or no loop device with sectors of 4096: left out"; fi
finish
