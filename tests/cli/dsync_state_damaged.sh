#!/usr/bin/env bash
# A file of states that is damaged ends dsync once and dmextract with the way out; init and --full need none of it,
# and begin anew.  A file that is no such file is never replaced.
. "$(dirname "$0")/lib.sh"
export PATH="$BIN:$PATH"
d() { dsync --since=scan:"$T/state" "$@" "$T/dev" "$T/copy"; }
damage() { printf dsync-source > "$T/state"; }
head -c 1000000 /dev/urandom > "$T/dev"
check "init" quietly d init
damage
for command in "d once" "d verify" "dmextract --since=scan:$T/state --done $T/dev"; do
	status 3 $command
	check "names the way out" grep -q "state: .*remove this file, and all" "$T/stderr"
done
spoil_byte "$T/dev" 5000
status 1 d init	# the copy is of states that were lost
damage
d init --force > "$T/stdout" 2> "$T/stderr" || fail "init: $(cat "$T/stderr")"
check "it says what was damaged" grep -q "everything counts as changed: .*state: line 1" "$T/stderr"
check "equal" cmp "$T/dev" "$T/copy"
check "and goes on" quietly d once
damage
dmextract -q --full --since=scan:"$T/state" "$T/dev" > "$T/stream" 2> "$T/stderr" || fail "--full"
check "a full copy" quietly dmmerge --force "$T/other" < "$T/stream"
check "equal" cmp "$T/dev" "$T/other"

echo "127.0.0.1 localhost" > "$T/state"; cp "$T/state" "$T/was"
status 1 d init
check "another file stays" cmp "$T/state" "$T/was"
finish
