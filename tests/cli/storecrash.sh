#!/usr/bin/env bash
# put, rm and gc killed at each of their writes, syncs and truncations, or out of room there: the
# store opens as it is, what was committed is whole, and the next writer goes on.
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
[ -e "$shim" ] || fail "no $shim"
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires python3
export EMUSTORE=$T/S
[ "${VARIANT:-plain}" = plain ] || STEP=${STEP:-9}	# instrumented programs are slow
STEP=${STEP:-1}
es() { "$BIN/emustore" -q "$@"; }

python3 - "$T" << 'PY'
import random, sys
r = random.Random(2)
data = bytearray(r.randbytes(1200000)) + bytes(500000) + bytes(str(list(range(60000))), "ascii")
data += bytes(-len(data) % 512)
open(sys.argv[1] + "/a", "wb").write(data)
data[300000:303000] = r.randbytes(3000)
open(sys.argv[1] + "/b", "wb").write(data + r.randbytes(100000 // 512 * 512))
PY
for i in a b; do "$BIN/imagezip" -q -r "$T/$i" "$T/$i.ndz" || fail "imagezip $i"; done
gets() { es get "$1" - 2> "$T/stderr" | cmp -s - "$2"; }

# Each kind of call, the first one, the second... until the command needs no more.
each() {	# OP KIND WHAT-MUST-HOLD COMMAND...	($T/base is the store before)
	local op=$1 kind=$2 holds=$3 n=1 runs=0 rc; shift 3
	while :; do
		rm -rf "$T/S" "$T/fired"; cp -r "$T/base" "$T/S"
		FAULT=$op:$n:$kind:$T/S FAULT_FIRED=$T/fired LD_PRELOAD=$shim "$BIN/emustore" -q "$@" > "$T/out" 2>&1 < "$T/b.ndz"; rc=$?
		[ -e "$T/fired" ] || { [ $rc = 0 ] || fail "$op $n $kind: exit $rc without a fault: $(cat "$T/out")"; break; }
		runs=$((runs + 1))
		[ $kind = kill ] || [ $rc = 1 ] || [ $rc = 0 ] || fail "$op $n $kind: exit $rc: $(cat "$T/out")"
		quietly es verify || fail "$* at $op $n $kind: verify"
		$holds $rc || fail "$* at $op $n $kind: not whole"
		quietly es verify --data || fail "$* at $op $n $kind: verify after the next put"
		n=$((n + (n < 9 ? 1 : STEP))); [ $n -lt 3000 ] || { fail "$op $kind: no end"; break; }
	done 2> "$T/shell"
	check "$*: $op, $kind: $runs times" [ $runs -ge "${LEAST:-1}" ]
}
# a is there; b wholly or not at all, and wholly when put said so; b can be put again.
after_put() {
	gets a "$T/a.ndz" || return 1
	if es list | grep -q '^b:1'; then gets b "$T/b.ndz" || return 1
	elif [ "$1" = 0 ]; then return 1; fi
	es put b "$T/b.ndz" && gets b "$T/b.ndz" && gets a "$T/a.ndz"
}
# Of a:1, b:1 and a:2, b goes.
after_gc() { gets a:2 "$T/a.ndz" && es put b "$T/b.ndz" && gets b "$T/b.ndz" && gets a "$T/a.ndz"; }

es init --pack-size 600k && es put a "$T/a.ndz" || fail "the store"
cp -r "$T/S" "$T/base"
LEAST=10 each pwrite kill after_put put b -
for op in fsync fdatasync write ftruncate; do LEAST=0 each $op kill after_put put b -; done
LEAST=10 each pwrite full after_put put b -
for op in fsync fdatasync; do each $op eio after_put put b -; done
# An uncommitted tail to be cut off.
head -c 100000 /dev/urandom >> "$(ls "$T"/base/packs/*.pack | tail -n 1)"; head -c 5000 /dev/urandom > "$T/base/packs/00000099.pack"
each ftruncate kill after_put put b -
rm -rf "$T/S"; cp -r "$T/base" "$T/S"
check "stray bytes and packs are no problem" es verify --data
check "and go with the next put" bash -c '"$0" -q put b "$1" && [ ! -e "$2/packs/00000099.pack" ]' "$BIN/emustore" "$T/b.ndz" "$T/S"

es put a "$T/a.ndz" && es rm a:1 && es rm b || fail "the store for gc"
rm -rf "$T/base"; cp -r "$T/S" "$T/base"
LEAST=5 each pwrite kill after_gc gc --all
for op in fsync fdatasync ftruncate; do LEAST=0 each $op kill after_gc gc --all; done
each pwrite full after_gc gc --all

echo "== the index made again after each of these"
reindexed() { rm -f "$T"/S/index.db*; es repair --index && gets a:2 "$T/a.ndz" && ! es list | grep -q '^a:1'; }
each fsync kill reindexed gc --all
each pwrite kill reindexed gc --all
finish
