#!/usr/bin/env bash
# The power fails at any moment of a put, rm, gc or import: what the disk then has (what was synced, and of the rest nothing, all,
# or some of it by lot) is a store that is whole, without what had not ended; the next writer goes on.  STEP=N: only each Nth moment.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/recorder.so
[ -e "$shim" ] || fail "no $shim"
requires python3
instrumented && skip "another library cannot come before sanitizers"
STEP=${STEP:-7} JOBS=${JOBS:-2} SEEDS=${SEEDS:-3}
python3 - "$T" << 'PY'
import random, sys
r = random.Random(2)
data = bytearray(r.randbytes(700000)) + bytes(str(list(range(20000))), "ascii")
data += bytes(-len(data) % 512)
open(sys.argv[1] + "/a", "wb").write(data)
data[300000:303000] = r.randbytes(3000)
open(sys.argv[1] + "/b", "wb").write(data + r.randbytes(100000 // 512 * 512))
PY
zip_all a b
mkdir "$T/dir"; cp "$T/b.ndz" "$T/dir"
whole() { es -q get "$1" - 2> "$T/stderr" | cmp -s - "$2"; }

# What the disk has is in $EMUSTORE.  The index that was kept says the same as one that is made from the objects.
holds() {	# ENDED: the command had ended
	es -q verify --data > "$W/out" 2>&1 || { echo "verify: $(cat "$W/out")"; return 1; }
	all_names > "$W/kept"; rm -f "$EMUSTORE"/index.*; all_names > "$W/new"
	cmp -s "$W/kept" "$W/new" || { echo "list: $(cat "$W/kept"), not $(cat "$W/new")"; return 1; }
	whole "$keep" "$T/a.ndz" || { echo "$keep is not whole: $(cat "$T/stderr")"; return 1; }
	if grep -qw b:1 "$W/new"; then
		[ "$ends" != gone ] || [ $1 = 0 ] || { echo "b has come back"; return 1; }
		whole b "$T/b.ndz" || { echo "b is not whole"; return 1; }
	else
		[ "$ends" != there ] || [ $1 = 0 ] || { echo "b is lost"; return 1; }
	fi
	es -q put b "$T/b.ndz" && whole b "$T/b.ndz" && es -q verify > "$W/out" 2>&1 || { echo "the next put: $(cat "$W/out")"; return 1; }
}

series() {	# NAME BASE IMAGE-THAT-STAYS WHAT-B-IS-AT-THE-END COMMAND...
	local W=$T/$1 base=$2 keep=$3 ends=$4 n calls seed runs=0 why; shift 4
	mkdir "$W"; cp -r "$base" "$W/S"
	RECORD=$W/record RECORD_ROOT=$W/S LD_PRELOAD=$shim "$BIN/emustore" -q --store "$W/S" "$@" > "$W/out" 2>&1 < "$T/b.ndz" || fail "$*: $(cat "$W/out")"
	export EMUSTORE=$W/disk ROOT=$W/S
	calls=$("$PYTHON" "$TOP/tests/helpers/power_cut.py" "$base" "$W/record")
	for ((n = 0; n <= calls; n += n + STEP > calls && n < calls ? calls - n : STEP)); do
		for ((seed = 0; seed < SEEDS; seed++)); do
			rm -rf "$W/disk"
			"$PYTHON" "$TOP/tests/helpers/power_cut.py" "$base" "$W/record" "$W/disk" $n $seed || fail "power_cut.py"
			runs=$((runs + 1))
			why=$(holds $((n == calls))) || fail "$*: behind call $n of $calls, lot $seed: $why"
		done
	done
	check "$*: $calls calls, $runs times without power" [ $runs -gt 4 ]
	rm -rf "$W"
	exit $((bad != 0))
}
export EMUSTORE=$T/one
es init --pack-size 300k && es -q put a "$T/a.ndz" || fail "a store"
cp -r "$T/one" "$T/two"; es -q --store "$T/two" put b "$T/b.ndz" || fail "two images"
cp -r "$T/two" "$T/dead"; es -q --store "$T/dead" put a "$T/a.ndz" && es -q --store "$T/dead" rm a:1 && es -q --store "$T/dead" rm b || fail "a store for gc"
sync
series put "$T/one" a there put b - & pids[0]=$!
series import "$T/one" a there import "$T/dir" & pids[1]=$!
wait "${pids[0]}" || bad=$((bad + 1)); wait "${pids[1]}" || bad=$((bad + 1))
series rm "$T/two" a gone rm b & pids[0]=$!
series gc "$T/dead" a:2 gone gc --all & pids[1]=$!
wait "${pids[0]}" || bad=$((bad + 1)); wait "${pids[1]}" || bad=$((bad + 1))
finish
