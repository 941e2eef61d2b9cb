#!/usr/bin/env bash
# put, import, rm, gc and repair killed at each of their writes, syncs and truncations, or out of room there: the
# store opens as it is, what was committed is whole, and the next writer goes on.  Each series has a
# folder of its own, so that JOBS of them (2) go on at once.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
[ -e "$shim" ] || fail "no $shim"
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires python3
[ "${VARIANT:-plain}" = plain ] || [ -n "${STEP:-}" ] || skip "instrumented programs are slow; STEP=9 runs it all the same"
STEP=${STEP:-1} JOBS=${JOBS:-2}
es() { "$BIN/emustore" -q "$@"; }
whole() { es get "$1" - 2> /dev/null | cmp -s - "$2"; }

python3 - "$T" << 'PY'
import random, sys
r = random.Random(2)
data = bytearray(r.randbytes(1200000)) + bytes(500000) + bytes(str(list(range(60000))), "ascii")
data += bytes(-len(data) % 512)
open(sys.argv[1] + "/a", "wb").write(data)
data[300000:303000] = r.randbytes(3000)
open(sys.argv[1] + "/b", "wb").write(data + r.randbytes(100000 // 512 * 512))
PY
zip_all a b
mkdir "$T/dir"; cp "$T/b.ndz" "$T/dir"

# Each kind of call, the first one, the second... until the command needs no more.
series() {	# NAME BASE LEAST OP KIND WHAT-MUST-HOLD COMMAND...
	local W=$T/$1 base=$2 least=$3 op=$4 kind=$5 holds=$6 n=1 runs=0 rc data=--data; shift 6
	[ "$base" != "$T/hurt" ] || data=	# what was damaged lies in its pack until gc
	mkdir "$W"; export EMUSTORE=$W/S
	while :; do
		rm -rf "$W/S" "$W/fired"; cp -r "$base" "$W/S"
		FAULT=$op:$n:$kind:$W/S FAULT_FIRED=$W/fired LD_PRELOAD=$shim "$BIN/emustore" -q "$@" > "$W/out" 2>&1 < "$T/b.ndz"; rc=$?
		[ -e "$W/fired" ] || { [ $rc = 0 ] || [ "$base$rc" = "$T/hurt3" ] || fail "$op $n $kind: exit $rc without a fault: $(cat "$W/out")"; break; }
		runs=$((runs + 1))
		[ $kind = kill ] || [ $rc = 1 ] || [ $rc = 0 ] || fail "$op $n $kind: exit $rc: $(cat "$W/out")"
		[ "$base" = "$T/hurt" ] || es verify > "$W/verify" 2>&1 || fail "$* at $op $n $kind: verify: $(cat "$W/verify")"
		$holds $rc || fail "$* at $op $n $kind: not whole"
		es verify $data > "$W/verify" 2>&1 || fail "$* at $op $n $kind: verify after the next put: $(cat "$W/verify")"
		n=$((n + (n < 9 ? 1 : STEP))); [ $n -lt 3000 ] || { fail "$op $kind: no end"; break; }
	done 2> "$W/shell"
	check "$*: $op, $kind: $runs times" [ $runs -ge "$least" ]
	rm -rf "$W"
	exit $((bad != 0))
}
count=0 running=0
one_ended() { wait -n || bad=$((bad + 1)); running=$((running - 1)); }
each() {	# LEAST OP KIND WHAT-MUST-HOLD COMMAND...	($base is the store before)
	[ $running -lt "$JOBS" ] || one_ended
	count=$((count + 1)) running=$((running + 1))
	series $count "$base" "$@" &
}
# a is there; b wholly or not at all, and wholly when put said so; b can be put again.
after_put() {
	whole a "$T/a.ndz" || return 1
	if es list | grep -q '^b:1'; then whole b "$T/b.ndz" || return 1
	elif [ "$1" = 0 ]; then return 1; fi
	es put b "$T/b.ndz" && whole b "$T/b.ndz" && whole a "$T/a.ndz"
}
# b is gone, or not yet, but when rm said so; a is whole.
after_rm() {
	whole a "$T/a.ndz" || return 1
	if es list | grep -q '^b:1'; then [ "$1" != 0 ] && whole b "$T/b.ndz" || return 1; fi
	es put b "$T/b.ndz" && whole b "$T/b.ndz"
}
# Of a:1, b:1 and a:2, b goes.
after_gc() { whole a:2 "$T/a.ndz" && es put b "$T/b.ndz" && whole b "$T/b.ndz" && whole a "$T/a.ndz"; }
reindexed() { rm -f "$EMUSTORE"/index.db*; es repair --index && whole a:2 "$T/a.ndz" && ! es list | grep -q '^a:1'; }
# The next repair ends it, and a put brings back what was lost.
after_repair() { es repair > /dev/null 2>&1; es put a "$T/a.ndz" && whole a "$T/a.ndz" && whole a:1 "$T/a.ndz"; }
# The index is the old one or the new one.
after_index() { whole a "$T/a.ndz" && whole b "$T/b.ndz" && es put b "$T/b.ndz"; }

export EMUSTORE=$T/one
es init --pack-size 600k && es put a "$T/a.ndz" || fail "the store"
base=$EMUSTORE
each 10 pwrite kill after_put put b -
for op in fsync fdatasync write ftruncate; do each 0 $op kill after_put put b -; done
each 10 pwrite full after_put put b -
for op in fsync fdatasync; do each 1 $op eio after_put put b -; done
each 1 fsync kill after_put import "$T/dir"
# What a writer that was killed leaves.
cp -r "$T/one" "$T/strays"; export EMUSTORE=$T/strays
stray=packs/$(printf 'ab%.0s' {1..32}).pack
head -c 5000 /dev/urandom > "$EMUSTORE/$stray"; head -c 5000 /dev/urandom > "$EMUSTORE/new/1.1"
check "a pack without a table, and a file without a name, are no problem" es verify --data
check "put b" es put b "$T/b.ndz"
check "gc takes them away" bash -c '"$0" -q gc && [ ! -e "$1/$2" ] && [ ! -e "$1/new/1.1" ]' "$BIN/emustore" "$EMUSTORE" "$stray"

cp -r "$EMUSTORE" "$T/both"; base=$T/both
for op in pwrite fsync; do each 1 $op kill after_rm rm b; done
each 1 pwrite full after_rm rm b
each 0 pwrite kill after_index repair --index
cp -r "$T/one" "$T/hurt"; base=$T/hurt
printf 'XXXXXXXX' | dd of="$(ls -S "$base"/packs/*.pack | head -n 1)" bs=1 seek=300000 conv=notrunc status=none
for op in pwrite fsync; do each 1 $op kill after_repair repair; done

export EMUSTORE=$T/dead
es init --pack-size 600k && es put b "$T/b.ndz" && es put a "$T/a.ndz" && es put a "$T/a.ndz" && es rm a:1 && es rm b || fail "the store for gc"
base=$EMUSTORE
each 2 pwrite kill after_gc gc --all
each 5 fsync kill after_gc gc --all
each 1 pwrite full after_gc gc --all
# The index made again after each of these.
each 1 fsync kill reindexed gc --all
each 1 pwrite kill reindexed gc --all
while [ $running -gt 0 ]; do one_ended; done
finish
