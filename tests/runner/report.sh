# report.sh: what is said at the end, and the second tries.  tests/run calls try_again() and report() once each.

results() { cat "$log"/*.result 2> /dev/null | grep -c "^$1"; }
result_of() { cat "$log/${1//\//_}.result" 2> /dev/null; }

# A script or a unit test that failed beside others runs once more with nothing beside it, so that a test that lost its
# turn on a busy machine is told from one that found a mistake.  Both results are said, and a second try that was needed
# is a fault of the test or of the program: only ALLOWED are in one run.  What a sanitizer found was found.
AT_SECOND_TRY=()
try_again() {
	local name file failures
	failures=$(results failed)
	[ "$failures" -gt 0 ] && [ "$failures" -le "$AGAIN" ] || return 0
	for name in "${ORDER[@]}"; do
		case $name in fuzz/* | sim/*) continue ;; esac
		file=$log/${name//\//_}
		[ "$(result_of "$name")" = failed ] && ! grep -q "Sanitizer\|runtime error" "$file.log" || continue
		cp "$file.log" "$file.first.log"
		number=$((number + 1))
		echo "once more, with nothing beside it:"
		eval "run_one '$name' ${COMMAND[$name]}"
		[ "$(result_of "$name")" != passed ] || AT_SECOND_TRY+=("$name")
	done
}

filesystems() {
	local rows
	rows=$(cat "$log"/fs_*.log 2> /dev/null | sed -n 's/^row: //p')
	[ -n "$rows" ] || return 0
	printf '\nfilesystem   feature                                          result\n'
	printf '%s\n' "$rows" | awk -F'|' '{ printf "%-12s %-48s %s\n", $1, $2, $3 }'
}
most() {	# WHAT COLUMN
	echo; echo "$1:"
	times_now | sort -k"$2","$2"nr | head -n 10 | awk '{ printf "  %7.1f s %7.1f s of CPU  %s\n", $1, $2, $3 }'
}
# What passed only because something was forgiven, or at the second try.
forgiven() {
	local name file
	echo
	grep -H 'blocks more are excused' "$log"/*.log 2> /dev/null | sed "s|^$log/|excused: |"
	for name in "${AT_SECOND_TRY[@]}"; do
		file=$log/${name//\//_}.first.log
		printf 'at the second try: %s; the first one (%s):\n' "$name" "$file"
		{ grep -E '^not ok|FAIL|ERROR|error' "$file" | head -n 20; tail -n 15 "$file" | sed 's/^/| /'; } | sed 's/^/     /'
	done
	echo "${#AT_SECOND_TRY[@]} tests passed at the second try ($ALLOWED allowed)"
}
report() {
	local passed failed skipped without
	passed=$(results passed) failed=$(results failed) skipped=$(results skipped)
	# One whose shell was killed, or had no folder, has none.
	without=$((${#COMMAND[@]} - passed - failed - skipped))
	filesystems
	[ ${#COMMAND[@]} -le 10 ] || { most "The ten longest" 1; most "The ten costliest" 2; }
	[ ${#LEFT_OUT[@]} = 0 ] ||
		printf '\nleft out, %d (all run in make %s): %s\n' ${#LEFT_OUT[@]} "$ALL_RUN" "${LEFT_OUT[*]}"
	forgiven
	[ $skipped = 0 ] || printf '%d passed, %d failed, %d skipped\n' $passed $failed $skipped
	[ $skipped -gt 0 ] || printf '%d passed, %d failed\n' $passed $failed
	[ $without -eq 0 ] || echo "$without tests have ended without a result"
	[ $failed -eq 0 ] && [ $without -eq 0 ] && [ $((passed + skipped)) -gt 0 ] && [ ${#AT_SECOND_TRY[@]} -le "$ALLOWED" ]
}
