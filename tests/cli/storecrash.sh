#!/usr/bin/env bash
# put, import, rm, gc and repair killed at each of their writes, syncs and truncations, or out of room there: the
# store opens as it is, what was committed is whole, and the next writer goes on.  JOBS of the series (2) go on at once.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
[ -e "$shim" ] || fail "no $shim"
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires python3
[ "${VARIANT:-plain}" = plain ] || [ -n "${STEP:-}" ] || skip "instrumented programs are slow; STEP=9 runs it all the same"
STEP=${STEP:-1} BESIDE=${JOBS:-2}
es() { "$BIN/emustore" -q "$@"; }
whole() { es get "$1" - 2> /dev/null | cmp -s - "$2"; }

python3 - "$T" << 'PY'
import random, sys
r = random.Random(2)
data = bytearray(r.randbytes(400000)) + bytes(170000) + bytes(str(list(range(20000))), "ascii")
data += bytes(-len(data) % 512)
open(sys.argv[1] + "/a", "wb").write(data)
data[100000:103000] = r.randbytes(3000)
open(sys.argv[1] + "/b", "wb").write(data + r.randbytes(40000 // 512 * 512))
PY
zip_all a b
mkdir "$T/dir"; cp "$T/b.ndz" "$T/dir"

# Each kind of call, the first one, the second... until the command needs no more.
series() {	# BASE LEAST OP KIND WHAT-MUST-HOLD COMMAND...
	local base=$1 least=$2 op=$3 kind=$4 holds=$5 n=1 runs=0 rc data=--data; shift 5
	local hurt=$SHARED/hurt
	[ "$base" != "$hurt" ] || data=	# what was damaged lies in its pack until gc
	export EMUSTORE=$T/S
	while :; do
		rm -rf "$T/S" "$T/fired"; cp -r "$base" "$T/S"
		FAULT=$op:$n:$kind:$T/S FAULT_FIRED=$T/fired LD_PRELOAD=$shim "$BIN/emustore" -q "$@" > "$T/out" 2>&1 < "$SHARED/b.ndz"; rc=$?
		[ -e "$T/fired" ] || { [ $rc = 0 ] || [ "$base$rc" = "${hurt}3" ] || fail "$op $n $kind: exit $rc without a fault: $(cat "$T/out")"; break; }
		runs=$((runs + 1))
		[ $kind = kill ] || [ $rc = 1 ] || [ $rc = 0 ] || fail "$op $n $kind: exit $rc: $(cat "$T/out")"
		[ "$base" = "$hurt" ] || es verify > "$T/verify" 2>&1 || fail "$* at $op $n $kind: verify: $(cat "$T/verify")"
		$holds $rc || fail "$* at $op $n $kind: not whole"
		es verify $data > "$T/verify" 2>&1 || fail "$* at $op $n $kind: verify after the next put: $(cat "$T/verify")"
		n=$((n + (n < 9 ? 1 : STEP))); [ $n -lt 3000 ] || { fail "$op $kind: no end"; break; }
	done 2> "$T/shell"
	check "$*: $op, $kind: $runs times" [ $runs -ge "$least" ]
}
each() { beside series "$base" "$@"; }	# LEAST OP KIND WHAT-MUST-HOLD COMMAND...	($base is the store before)
# There is b:1 wholly, or there is none ($b1), which is told from one that cannot be read.
find_b1() {
	es get b:1 - 2> "$T/why" > "$T/b1"
	case $? in 0) cmp -s "$T/b1" "$SHARED/b.ndz" && b1=there ;; *) grep -q "is not in the store" "$T/why" && b1=absent ;; esac
}
# a is there; b wholly or not at all, and wholly when put said so; b can be put again, and all images are read then.
after_put() {
	whole a "$SHARED/a.ndz" && find_b1 && [ "$1$b1" != 0absent ] && es put b "$SHARED/b.ndz" && whole b "$SHARED/b.ndz"
}
# b is gone, or not yet, but when rm said so; a is whole.
after_rm() {
	whole a "$SHARED/a.ndz" && find_b1 && [ "$1$b1" != 0there ] && es put b "$SHARED/b.ndz" && whole b "$SHARED/b.ndz"
}
# Of a:1, b:1 and a:2, b goes.
after_gc() { whole a:2 "$SHARED/a.ndz" && es put b "$SHARED/b.ndz" && whole b "$SHARED/b.ndz" && whole a "$SHARED/a.ndz"; }
reindexed() { rm -f "$EMUSTORE"/index.db*; es repair --index && whole a:2 "$SHARED/a.ndz" && ! es list | grep -q '^a:1'; }
# The next repair ends it, and a put brings back what was lost.
after_repair() { es repair > /dev/null 2>&1; es put a "$SHARED/a.ndz" && whole a "$SHARED/a.ndz" && whole a:1 "$SHARED/a.ndz"; }
# The index is the old one or the new one.
after_index() { whole a "$SHARED/a.ndz" && whole b "$SHARED/b.ndz" && es put b "$SHARED/b.ndz"; }

export EMUSTORE=$T/one
es init --pack-size 200k && es put a "$T/a.ndz" || fail "the store"
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
printf 'XXXXXXXX' | dd of="$(ls -S "$base"/packs/*.pack | head -n 1)" bs=1 seek=100000 conv=notrunc status=none
for op in pwrite fsync; do each 1 $op kill after_repair repair; done

export EMUSTORE=$T/dead
es init --pack-size 200k && es put b "$T/b.ndz" && es put a "$T/a.ndz" && es put a "$T/a.ndz" && es rm a:1 && es rm b || fail "the store for gc"
base=$EMUSTORE
each 2 pwrite kill after_gc gc --all
each 5 fsync kill after_gc gc --all
each 1 pwrite full after_gc gc --all
# The index made again after each of these.
each 1 fsync kill reindexed gc --all
each 1 pwrite kill reindexed gc --all
all_have_ended
finish
