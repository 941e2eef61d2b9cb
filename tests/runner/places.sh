# places.sh: runs the tests, several at a time.  tests/run calls run_all() once.
#
# Half of the places are for tests that mostly wait, as long as there are both kinds.  A lab needs its packets in time, so
# none begins while machines are emulated in this tree, and no machine while labs run: both hold build/machines.lock.

TIMEFORMAT='%2U %2S'	# of the test and all that it started
MACHINES=build/machines.lock

run_one() {	# NAME COMMAND...: one line (and why, when it failed), and its result in a file
	local name=$1 rc start=${EPOCHREALTIME/./} file=$log/${1//\//_} tmp=$TMP/$number; shift
	mkdir "$tmp"
	{ time TMPDIR=$tmp timeout -k 10 "$LIMIT" "$@" > "$file.log" 2>&1 < /dev/null; } 2> "$file.cpu"
	rc=$?
	if ! leaves_nothing "$tmp" >> "$file.log" && [ $rc = 0 ]; then rc=leftovers; fi
	awk -v us=$((${EPOCHREALTIME/./} - start)) -v name="$name" \
	    '{ printf "%.1f %.1f %s\n", us / 1e6, $1 + $2, name }' "$file.cpu" > "$file.times"
	tell "$name" $rc "$file"
}
tell() {	# NAME STATUS FILE
	local took
	took=$(awk '{ printf "%.1f s, %.1f s of CPU", $1, $2 }' "$3.times")
	case $2 in
	0)	echo passed > "$3.result"; printf 'PASS %s (%s)\n' "$1" "$took" ;;
	77)	echo skipped > "$3.result"; printf 'SKIP %s: %s\n' "$1" "$(tail -n 1 "$3.log")" ;;
	*)	echo failed > "$3.result"
		printf 'FAIL %s (exit %s, %s)\n%s\n%s\n' "$1" "$2" "$took" \
		    "$(grep -E '^not ok|FAIL|ERROR|error|runtime' "$3.log" | head -n 20 | sed 's/^/     /')" \
		    "$(tail -n 15 "$3.log" | sed 's/^/     | /')" ;;
	esac
}

declare -A KIND
number=0 WAITING=0 WORKING=0
start() {	# WAIT or WORK, NAME
	number=$((number + 1))
	case $2 in
	lab/*)	eval "flock -s 8; run_one '$2' ${COMMAND[$2]}" 8> "$MACHINES" & ;;
	*)	eval "run_one '$2' ${COMMAND[$2]}" & ;;
	esac
	KIND[$!]=$1
	if [ "$1" = WAIT ]; then WAITING=$((WAITING + 1)); else WORKING=$((WORKING + 1)); fi
}
one_ends() {
	local pid
	wait -n -p pid
	if [ "${KIND[$pid]}" = WAIT ]; then WAITING=$((WAITING - 1)); else WORKING=$((WORKING - 1)); fi
}
# The first test of a list that may begin now: labs come after the machines, when there is something else to do.
next_of() {	# WAIT or WORK
	local -n list=$1
	local i
	NEXT=
	for ((i = 0; i < ${#list[@]}; i++)); do
		case ${list[i]} in lab/*) [ -z "$BUSY" ] || continue ;; esac
		NEXT=${list[i]}
		list=("${list[@]:0:i}" "${list[@]:i+1}")
		return 0
	done
	return 1
}
machines_run() { ! flock -s -n "$MACHINES" true; }
# Begin one test, of those that wait or of the others; 1: there is none that may begin now.
begin_one() {
	if [ $WAITING -lt $((JOBS / 2)) ] || [ ${#WORK[@]} = 0 ]; then
		if next_of WAIT; then start WAIT "$NEXT"; return 0; fi
	fi
	next_of WORK && start WORK "$NEXT"
}
run_all() {
	: >> "$MACHINES"
	case $SCRIPTS in *vm*) exec 9> "$MACHINES"; flock 9 ;; esac
	while [ ${#WAIT[@]} -gt 0 ] || [ ${#WORK[@]} -gt 0 ]; do
		if [ $((WAITING + WORKING)) -ge "$JOBS" ]; then one_ends; continue; fi
		BUSY=
		case "${WAIT[*]} ${WORK[*]}" in *lab/*) ! machines_run || BUSY=1 ;; esac
		if begin_one; then continue; fi
		if [ $((WAITING + WORKING)) -gt 0 ]; then one_ends; else flock -s "$MACHINES" true; fi
	done
	wait
}
