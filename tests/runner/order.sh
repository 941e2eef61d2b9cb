# order.sh: in which order the tests begin.  tests/run calls line_up() before all and keep_times() after all.
#
# First begins what took longest in the last run, so that no processor is idle at the end.  The times of the last run are
# in $B/times, a line for each test: seconds, seconds of processor, name.  Where nothing has run yet, those in
# tests/times/VARIANT are taken, which are a copy of such a file from a quiet machine with two processors.

ORDER=() WAIT=() WORK=()
# Tests that mostly wait: they have places of their own (places.sh).
line_up() {
	local waits name
	while read -r waits name; do
		ORDER+=("$name")
		if [ "$waits" = 1 ]; then WAIT+=("$name"); else WORK+=("$name"); fi
	done < <(printf '%s\n' "${!COMMAND[@]}" | LC_ALL=C sort | awk -v times="$(last_times)" '
		# A test that has never run begins among the longer ones.
		BEGIN { while ((getline < times) > 0) { s[$3] = $1; cpu[$3] = $2 } }
		NF { known = $1 in s; print known ? s[$1] : 30, known ? cpu[$1] * 8 < s[$1] : $1 ~ /^lab/, $1 }' |
		sort -s -k1,1nr | cut -d ' ' -f 2-)
}
last_times() {
	local f
	for f in "$B/times" "tests/times/$VARIANT" tests/times/plain /dev/null; do [ ! -r "$f" ] || { echo "$f"; return; }; done
}
# What has run now replaces what is known of it.
keep_times() {
	local old=$B/times
	[ -r "$old" ] || old=/dev/null
	awk '{ line[$3] = $0 } END { for (name in line) print line[name] }' "$old" <(times_now) | sort -k1,1nr > "$B/times.new" &&
		mv "$B/times.new" "$B/times"
}
times_now() { cat "$log"/*.times 2> /dev/null; }
