# power_lib.sh: for tests of what a power cut at any moment leaves of the files of a program.
[ -w /dev/shm ] && [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 200000 ] && export TMPDIR=/dev/shm
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/recorder.so
[ -e "$shim" ] || fail "no $shim"
requires python3
instrumented && skip "another library cannot come before sanitizers"
how=
export FRISBEE_NO_URING=1	# so that all writes pass through the library that notes them
power_cut() { "$PYTHON" "$TOP/tests/helpers/power_cut.py" "$@" || fail "power_cut.py"; }

# cut BASE HOLDS COMMAND...: notes what the command does to a copy of BASE, $T/work, and calls HOLDS for what a cut behind each
# call leaves of it in $T/disk.  $ended says whether the command had ended.
cut() {
	local base=$1 holds=$2 calls n seed why runs=0; shift 2
	rm -rf "$T/work" "$T/record"; cp -r "$base" "$T/work"
	RECORD=$T/record RECORD_ROOT=$T/work LD_PRELOAD=$shim "$@" 2> "$T/stderr" || fail "$*: $(cat "$T/stderr")"
	export ROOT=$T/work
	calls=$(power_cut "$base" "$T/record")
	for ((n = 0; n <= calls; n++)); do
		[ $n = "$calls" ] && ended=yes || ended=no
		for seed in $LOTS; do
			rm -rf "$T/disk"; power_cut "$base" "$T/record" "$T/disk" $n $seed
			runs=$((runs + 1))
			why=$($holds $n) || fail "$holds $how: behind call $n of $calls, lot $seed: $why"
		done
	done
	check "$holds $how ($(basename "$base")): $calls calls, $runs times without power" [ $runs -gt 10 ]
}
