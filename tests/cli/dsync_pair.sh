#!/usr/bin/env bash
# dsync: a device and its copy, by a command that stands in for ssh and as a user's shell would hear it.
. "$(dirname "$0")/lib.sh"
requires python3
cat > "$T/rsh" << 'RSH'
#!/bin/sh
# rsh HOST COMMAND: as ssh does, a shell reads the command.
[ "$1" = far ] || { echo "rsh: no host $1" >&2; exit 255; }
[ ! -e "${0%/*}/broken" ] || { echo "rsh: the line is cut" >&2; exit 255; }
exec sh -c "$2"
RSH
chmod 755 "$T/rsh"
COPY="$T/a copy's file"
d() { local c=$1; shift; "$BIN/dsync" --rsh="$T/rsh" --dmmerge="$BIN/dmmerge" --since=scan:"$T/state" "$@" "$c" "$T/dev" "far:$COPY"; }
head -c 9000000 /dev/urandom > "$T/dev"
check "init" quietly d init
check "equal" cmp "$T/dev" "$COPY"
check "status" grep -q "^condition consistent" <(d status)
dd if=/dev/urandom of="$T/dev" bs=4096 seek=100 count=3 conv=notrunc status=none
d once --json --metrics="$T/m" > "$T/json" || fail "once"
check "only what has changed" json "$T/json" changed_bytes=12288 full=false
check "equal" cmp "$T/dev" "$COPY"
check "metrics" grep -q "^dsync_changed_bytes 12288" "$T/m"
check "nothing to send" quietly d once --metrics="$T/m"
check "metrics again" grep -q "^dsync_changed_bytes 0" "$T/m"
check "verify" quietly d verify
check "a long command reaches the host" quietly "$BIN/dsync" --rsh="env $(printf 'V%d=1 ' {1..40}) $T/rsh" --dmmerge="$BIN/dmmerge" --since=scan:"$T/state" status "$T/dev" "far:$COPY"
status 2 "$BIN/dsync" --rsh="$T/rsh $(printf '%8000d' 1)" --since=scan:"$T/state" status "$T/dev" "far:$COPY"

# A line that is cut: it fails, and the next sync sends it.
dd if=/dev/urandom of="$T/dev" bs=4096 seek=200 count=1 conv=notrunc status=none
touch "$T/broken"; status 1 d once; check "its reason" grep -q "the line is cut" "$T/stderr"; rm "$T/broken"
# dmmerge fails, and whoever has started dsync ignores the ends of children: it is a failure all the same.
cat > "$T/full" << FULL
#!/bin/sh
case "\$*" in *--status*|*--recover*) exec "$BIN/dmmerge" "\$@";; esac
cat > "$T/quiet"; echo "no room" >&2; exit 1
FULL
chmod 755 "$T/full"
status 1 python3 -c 'import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])' "$BIN/dsync" --dmmerge="$T/full" --since=scan:"$T/state" once "$T/dev" "$COPY"
check "its reason" grep -q "no room" "$T/stderr"
check "the next one" quietly d once
check "equal" cmp "$T/dev" "$COPY"

# It arrived, and nobody heard: the state is confirmed late, and only what is new is sent.
dd if=/dev/urandom of="$T/dev" bs=4096 seek=300 count=2 conv=notrunc status=none
"$BIN/dmextract" -q --since=scan:"$T/state" "$T/dev" | "$BIN/dmmerge" -q "$COPY" || fail "by hand"
dd if=/dev/urandom of="$T/dev" bs=4096 seek=400 count=1 conv=notrunc status=none
d once --json > "$T/json" || fail "once"
check "what was not heard" json "$T/json" changed_bytes=4096
check "equal" cmp "$T/dev" "$COPY"

# In place, a stream that is cut leaves the copy incomplete.  Digests do not show which blocks were written and written back, so
# all of the device is sent.
cat > "$T/cut" << CUT
#!/bin/sh
case "\$*" in *--status*|*--recover*) exec "$BIN/dmmerge" "\$@";; esac
head -c 2500000 | "$BIN/dmmerge" "\$@"
CUT
chmod 755 "$T/cut"
cp "$T/dev" "$T/before"
head -c 8000000 /dev/urandom | dd of="$T/dev" bs=4096 iflag=fullblock conv=notrunc status=none
status 1 d once --dmmerge="$T/cut" --dmmerge-options=--in-place
check "incomplete" grep -q "^condition incomplete" <(d status)
cp "$T/before" "$T/dev"
d once --dmmerge-options=--in-place --json > "$T/json" || fail "after a stream that was cut"
check "all of it" json "$T/json" full=true warning~incomplete
check "equal" cmp "$T/dev" "$COPY"
check "whole again" grep -q "^condition consistent" <(d status)
d once --dmmerge-options=--in-place --json > "$T/json" || fail "once more"
check "only what has changed" json "$T/json" changed_bytes=0

# A copy without what no filesystem uses, and then one of everything, which does not arrive: since it is not known what was never sent
# to the copy, everything is sent again.
if command -v mke2fs > "$T/quiet"; then
	head -c 16M /dev/urandom > "$T/fs"; mke2fs -q -F -t ext4 -E nodiscard "$T/fs" || fail "mke2fs"
	f() { "$BIN/dsync" --dmmerge="$BIN/dmmerge" --since=scan:"$T/fstate" "${@:2}" "$1" "$T/fs" "$T/fscopy"; }
	f init --json > "$T/json" || fail "init of a filesystem"
	check "not all is sent" json "$T/json" "unused_bytes>0"
	check "and it is noted" [ -s "$T/fstate.unsent" ]
	status 1 f init --whole --dmmerge="$T/full"
	f once --json > "$T/json" || fail "once, of a filesystem"
	check "everything is sent" json "$T/json" full=true "unused_bytes>0"
	check "verify" quietly f verify
	check "init --whole" quietly f init --whole
	check "equal" cmp "$T/fs" "$T/fscopy"
	check "nothing was not sent" [ ! -e "$T/fstate.unsent" ]
	f init 2> "$T/stderr" || fail "init of a filesystem"
	check "it says what went out: $(cat "$T/stderr")" grep -qE \
		"16.8 MB of 16.8 MB \([0-9.]+ MB of it are free space, sent as zeros\) sent in .*, a stream of [0-9.]+ [kM]B;" "$T/stderr"
else echo "no mke2fs: what no filesystem uses is not tried"; fi

# The state is lost: another lineage is refused, init --force replaces it.
rm "$T"/state*
status 1 d once
check "says what to do" grep -q -- "--force" "$T/stderr"
check "init --force with an option of dmmerge" quietly d init --force --dmmerge-options="--journal=$T/own.journal"
check "the option counts" [ -s "$T/own.journal" ]
check "init --force" quietly d init --force
check "equal" cmp "$T/dev" "$COPY"

# Somebody writes to the copy where no sample looks: verify finds it, and says where.
spoil_byte "$COPY" 3050000
d verify > "$T/found" 2> /dev/null; check "verify finds it" [ $? = 4 ]
check "where" [ "$(cat "$T/found")" = "4096 2048" ]
d verify --json > "$T/json" 2> /dev/null; check "as JSON" [ $? = 4 ]
check "its document is that of a failure" json "$T/json" same=false ok=false kind=differs exit=4

# run: syncs until it is told to end.
quietly d init || fail "init"
"$BIN/dsync" --rsh="$T/rsh" --dmmerge="$BIN/dmmerge" --since=scan:"$T/state" --every=1 --verify-every=1 --json run "$T/dev" "far:$COPY" > "$T/log" & pid=$!
CLEANUP+=("kill $pid 2> /dev/null")
dd if=/dev/urandom of="$T/dev" bs=4096 seek=500 count=2 conv=notrunc status=none
check "run brings it" begins $pid cmp -s "$T/dev" "$COPY"
begins $pid grep -q '"verify"' "$T/log"
spoil_byte "$COPY" 3050000
begins $pid grep -q '"verify".*4096' "$T/log"
touch "$T/broken"; begins $pid grep -q 'failed.*sync' "$T/log"
kill $pid; wait $pid; check "and ends" [ $? = 0 ]
check "its log has an object a line" json -l "$T/log" "time>1000000000"
json -l -1 -d - "$T/log" event changed_bytes same what ok error differed_bytes > "$T/events"
# In one sync or two: what is written by two calls may be seen between them.
sent=$(awk '$1 == "sync" && $NF == 0 { n += $2 } END { print n }' "$T/events")
check "both blocks are sent, once" [ "$sent" = 8192 ]
check "a comparison finds nothing" grep -q "^verify [^ ]* true " <(grep ^verify "$T/events" | head -n 1)
check "and one finds a difference" grep -q "^verify [^ ]* false " "$T/events"
check "a sync that fails" grep -q " sync false .*cut" <(grep "^failed - - sync " "$T/events" | head -n 1)

# A comparison right after a full copy compares all of it; one that takes longer than --verify-every leaves that time for syncs.
cat > "$T/slow" << SLOW
#!/bin/sh
case "\$*" in
*--digests*) sleep 3 ;;
*--status*|*--recover*) ;;
*) [ -e "$T/slept" ] || { : > "$T/slept"; sleep 3; } ;;
esac
exec "$BIN/dmmerge" "\$@"
SLOW
chmod 755 "$T/slow"
: > "$T/log2"
"$BIN/dsync" --dmmerge="$T/slow" --since=scan:"$T/state2" --every=1 --verify-every=2 --json run "$T/dev" "$T/copy2" > "$T/log2" & pid=$!
CLEANUP+=("kill $pid 2> /dev/null")
twice_verified() { [ "$(grep -c '"verify"' "$T/log2")" -ge 2 ]; }
begins $pid twice_verified
kill $pid; wait $pid
json -l -1 -d - "$T/log2" event full same time compared_bytes device_bytes > "$T/events"
check "first a full copy, then a comparison" [ "$(head -n 2 "$T/events" | cut -d' ' -f1,2 | tr '\n' ' ')" = "sync true verify - " ]
mapfile -t verified < <(grep ^verify "$T/events"); read -r _ _ same began compared size <<< "${verified[0]}"
check "which compares all" [ "$same $compared" = "true $size" ]
read -r _ _ _ then _ <<< "${verified[1]}"; check "a long comparison leaves time: $began, $then" [ $((${then%.*} - ${began%.*})) -ge 5 ]
finish
