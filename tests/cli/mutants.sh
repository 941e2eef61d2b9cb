#!/usr/bin/env bash
# The patches of tests/mutants apply to these files, and say what they break and which test
# finds it; that it does was seen (tests/mutants/results).  make mutants runs them.
. "$(dirname "$0")/lib.sh"
requires git
instrumented && skip "what is asked of files is asked beside the plain build"
M=$TOP/tests/mutants
known_test() {	# NAME: as tests/run names it
	case $1 in
	unit/test_* | fuzz/fuzz_*) [ -e "$TOP/tests/$1.c" ] ;;
	sim/usual | sim/neighbours | sim/share) true ;;
	cli/* | fs/* | lab/*) [ -e "$TOP/tests/$1.sh" ] ;;
	*) false ;;
	esac
}
read_header() {	# FILE: into $breaks and $test
	local line
	breaks='' test=''
	while IFS= read -r line; do
		case $line in
		"Breaks: "*) breaks=${line#Breaks: } ;;
		"Found by: "*) test=${line#Found by: } ;;
		"diff "*) return ;;
		esac
	done < "$1"
}
# Without a repository, git takes paths as they are here.
applies() { (cd "$TOP" && GIT_DIR=/nonexistent git apply --check "$1"); }

looks_right() {	# NAME
	local p=$M/$1.patch found=${FOUND[$1]:-}
	read_header "$p"
	applies "$p" || fail "$1: the patch does not apply any more; docs/hacking.md says what to do"
	[ -n "$breaks" ] || fail "$1: the patch has no line \"Breaks: SENTENCE\""
	known_test "${test% (instrumented)}" || fail "$1: \"Found by: $test\" names no test"
	if [ -z "$found" ]; then
		fail "$1: tests/mutants/results does not have it; make mutants MUTANTS=$1 adds it"
	elif [ "$found" != "$test" ]; then
		fail "$1: \"Found by: $test\", but \"$found\" in tests/mutants/results"
	fi
}

declare -A FOUND
while read -r name line; do
	FOUND[$name]=${line%%   *}	# columns are three blanks apart
done < <(sed 1d "$M/results")
n=0
for p in "$M"/*.patch; do
	name=${p##*/} name=${name%.patch} n=$((n + 1)) before=$bad
	looks_right "$name"
	[ $bad != "$before" ] || echo "ok: $name"
	unset "FOUND[$name]"
done
for name in "${!FOUND[@]}"; do
	fail "$name: it is in tests/mutants/results, but there is no patch"
done
check "at least 40 mutants" [ $n -ge 40 ]
finish
