# order.sh: in which order the tests begin.  tests/run calls line_up() before all and keep_times() after all.
#
# First begins what took longest in the last run, so that no processor is idle at the end.  The times of the last run are
# in $B/times, a line for each test: seconds, seconds of processor, name.  For what has not run yet, those in
# tests/times/VARIANT are taken, which are a copy of such a file from a quiet machine with two processors (a busy one for
# vm/fit, vm/fit_lvm, vm/mapper and vm/capture).

ORDER=() WAIT=() WORK=()
# Tests that mostly wait: they have places of their own (places.sh).
line_up() {
	local waits name
	while read -r waits name; do
		ORDER+=("$name")
		if [ "$waits" = 1 ]; then WAIT+=("$name"); else WORK+=("$name"); fi
	done < <(known_times | awk '
		NF == 3 { s[$3] = $1; cpu[$3] = $2 }
		# A test that has never run begins among the longer ones.
		NF == 1 { known = $1 in s; print known ? s[$1] : 30, known ? cpu[$1] * 8 < s[$1] : $1 ~ /^lab/, $1 }' |
		sort -s -k1,1nr | cut -d ' ' -f 2-)
}
# What is known of the tests, the newest last, and then the names of those that are to be run.
known_times() {
	cat tests/times/plain "tests/times/$VARIANT" "$B/times" 2> /dev/null
	printf '%s\n' "${!COMMAND[@]}" | LC_ALL=C sort
}
# What has run now replaces what is known of it.
keep_times() {
	local old=$B/times
	[ -r "$old" ] || old=/dev/null
	awk '{ line[$3] = $0 } END { for (name in line) print line[name] }' "$old" <(times_now) | sort -k1,1nr > "$B/times.new" &&
		mv "$B/times.new" "$B/times"
}
times_now() { cat "$log"/*.times 2> /dev/null; }
