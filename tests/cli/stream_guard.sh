#!/usr/bin/env bash
# streamswitch guard: the server of a streaming disk is killed again and again, and another one goes on; nothing that was
# answered is lost.  One that cannot go on is said.  Here no device is made of it, which tests/vm/streamkill.sh does.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs
[ "$(stat -f -c %T /dev/shm 2> /dev/null)" = tmpfs ] || skip "needs tmpfs at /dev/shm"
U=$TOP/tests/helpers/nbd_stream.py
memory=$(mktemp -d /dev/shm/stream_guard-XXXXXX) || fail mktemp
CLEANUP+=("rm -rf '$memory'")
marks=$memory/marks
a_disk sda
new_target disk
# guarded [OPTION...]: the disk at $T/sock, by a server whose number is in $T/pid
guarded() {
	rm -f "$T/pid" "$T/sock"
	"$BIN/streamswitch" "$@" guard "$T/sock" -- nbdkit -f -t 18 -U "$T/sock" -P "$T/pid" "$PLUGIN" "$T/sda.ndz" disk="$T/disk" \
	    status="$T/status" fill=no 2> "$T/guard.log" & guard=$!
	CLEANUP+=("kill $guard 2> /dev/null; wait $guard 2> /dev/null")
	dead=
	begins $guard serves || fail "not served: $(cat "$T/guard.log")"
}
# The one that serves is known to its guard, and has written its number, when that is not the dead one's.
serves() { [ "$(grep -c 'nbdkit serves' "$T/guard.log")" -gt "$(grep -c 'is started' "$T/guard.log")" ] && [ -s "$T/pid" ] && [ "$(cat "$T/pid")" != "$dead" ]; }
killed() { dead=$(cat "$T/pid"); kill -9 "$dead"; }
copied() { rm -f "$T/copied"; nbdcopy "nbd+unix:///?socket=$T/sock" "$T/copied"; }

guarded --marks="$marks"
for at in 0 6000000 20000000; do
	check "written at $at, and not flushed" python3 "$U" unflushed "$T/sock" $at "written at $at"
	printf %s "written at $at" | dd of="$T/model" oflag=seek_bytes seek=$at conv=notrunc status=none
	killed
	check "another one serves" soon serves
	check "copied" copied
	check "what was written is there" cmp "$T/copied" "$T/model"
done
check "who died is said" grep -q 'nbdkit was ended by signal 9; another one is started' "$T/guard.log"
# Where the disk of the system depends on the guard, it locks its memory, and so the stacks of its threads in full length.
instrumented || check "its threads have small stacks" [ "$(awk '/^VmData:/ { print $2 }' "/proc/$guard/status")" -lt 4096 ]
kill $guard
check "told to end, it ends the server in order" wait $guard
check "no marks are left" [ ! -s "$marks" ]
check "no server is left" [ ! -e "/proc/$(cat "$T/pid")" ]

echo "== a server that ends in order"
guarded --marks="$marks"
kill "$(cat "$T/pid")"
check "is not started again" wait $guard
rm "$T/copied"
check "copied" nbd "nbdcopy \$uri '$T/copied'" "$T/sda.ndz" disk="$T/disk" fill=no
check "what was written before is there" cmp -n $TABLE_AT "$T/copied" "$T/model"	# the disk is whole, and needs no table

echo "== without marks"
guarded
killed
has_ended() { ! kill -0 $guard 2> /dev/null; }
check "nothing goes on" soon has_ended
kill $guard 2> /dev/null; wait $guard
check "it has failed" [ $? = 1 ]
check "it is said" grep -q 'what was written last may be lost: nbdkit was ended by signal 9' "$T/guard.log"

echo "== a server that cannot start"
timeout 240 "$BIN/streamswitch" --marks="$marks" guard "$T/sock" -- nbdkit -f -U "$T/sock" "$PLUGIN" "$T/sda.ndz" disk="$T/disk" rate=much 2> "$T/guard.log"
check "is tried once" [ "$?.$(grep -c 'rate: ' "$T/guard.log")" = 1.1 ]
timeout 240 "$BIN/streamswitch" guard "$T/sock" -- "$T/no-such" 2> "$T/guard.log"
check "nor one that is not there" [ $? = 1 ]

echo "== one that cannot start again"
guarded --marks="$marks"
mv "$T/sda.ndz" "$T/gone.ndz"
killed
wait $guard
check "is given up" [ $? = 1 ]
check "behind ten of them" [ "$(grep -c 'another one is started' "$T/guard.log")" = 9 ]
check "it is said" grep -q '10 in a row have each served for less than 5 s: nbdkit ended with status 1' "$T/guard.log"
finish
