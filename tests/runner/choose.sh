# choose.sh: which tests of COMMAND are run when only a part of the scripts is.  tests/run calls choose().
#
# A file of chosen scripts has one line each, with its name and the reason why it is there.  They run always.  Of the
# scripts that are not in it a tenth runs, another one with each commit, so that ten landings run all of them.  What is
# left out is said at the end of the run.  Compiled tests are not left out.

# Which N-th of all it is the turn of: it follows from the number of commits.
turn_of() {	# N
	local n=${TURN:-$(git rev-list --count HEAD 2> /dev/null)}
	echo $((${n:-0} % $1))
}
is_script() { case $1 in unit/* | usage/* | fuzz/* | sim/*) return 1 ;; esac; }

LEFT_OUT=()
ALL_RUN='check-long PARTS=instrumented'	# the command of make that leaves none of these scripts out
[ "$SCRIPTS" != vm ] || ALL_RUN=check-vm
choose() {
	local name turn i=0
	declare -A always
	[ -n "$CHOSEN" ] || return 0
	while read -r name _; do
		case $name in '' | '#'*) continue ;; esac
		[ -e "tests/$name.sh" ] || { echo "$CHOSEN: there is no test $name" >&2; exit 1; }
		always[$name]=1
	done < "$CHOSEN"
	turn=$(turn_of 10)
	for name in $(printf '%s\n' "${!COMMAND[@]}" | LC_ALL=C sort); do
		is_script "$name" && [ -z "${always[$name]:-}" ] || continue
		[ $((i++ % 10)) = "$turn" ] && continue
		unset "COMMAND[$name]"
		LEFT_OUT+=("$name")
	done
}
