#!/usr/bin/env bash
# Commands about what is not there leave no lock and no folder behind.  dsync finds dmmerge beside itself.
. "$(dirname "$0")/lib.sh"
requires find
truncate -s 1M "$T/dev"; mkdir "$T/empty"
none() { check "nothing is left by $1" [ -z "$(find "$T/empty" -mindepth 1)" ]; }
D=$T/empty/dsync
for command in start stop untrack; do
	status 1 "$BIN/dsync" --state-dir="$D" $command nothing; none $command
done
for how in --done --status --list -q; do
	"$BIN/dmextract" --since=thin:/dev/null --state-dir="$D" $how "$T/missing" > "$T/stdout" 2> "$T/stderr"
	none "dmextract $how"
done
S=--since=scan:$T/empty/state
for how in --done --status --snapshot=dm --snapshot=thin --snapshot=dm:/dev/null; do
	"$BIN/dmextract" "$S" $how "$T/dev" > "$T/stdout" 2> "$T/stderr"; none "dmextract $how"
done
status 2 "$BIN/dmextract" "$S" --snapshot=dm "$T/dev"
check "says what it needs" grep -q "dm:/dev/sdb" "$T/stderr"
"$BIN/dsync" "$S" verify "$T/dev" "$T/copy" > "$T/stdout" 2> "$T/stderr"; none verify
"$BIN/dsync" "$S" once "$T/missing" "$T/copy" > "$T/stdout" 2> "$T/stderr"; none once

# The lock goes with the record, and excludes others until then.
mkdir -p "$D/track"; printf 'dsync-track 1\ndevice /dev/x\nmetadata /dev/y\nblock 128\n' > "$D/track/x"
exec 9> "$D/track/x.lock"; flock 9
status 1 "$BIN/dsync" --state-dir="$D" untrack x
check "another program has it" grep -q "another program" "$T/stderr"
check "whose lock stays" [ -e "$D/track/x.lock" ]
exec 9>&-
check "untrack" "$BIN/dsync" --state-dir="$D" untrack x
check "leaves no lock" [ -z "$(ls "$D/track")" ]

# dmmerge is not in PATH, and is beside dsync.
head -c 100000 /dev/urandom > "$T/dev"
PATH=/nowhere "$BIN/dsync" -q --since=scan:"$T/state" init "$T/dev" "$T/copy" || fail "dmmerge is not found"
check "equal" cmp "$T/dev" "$T/copy"
finish
