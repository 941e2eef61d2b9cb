#!/usr/bin/env bash
# A switch forgets who is a member, several times in a load: both sides join the group
# again and the load goes on, with and without the extension.
. "$(dirname "$0")/lib.sh"
lab_up 2
# No query in the time of this test, so that nothing but a report of our own brings a
# member back.
lab_querier 12500
nothing_for 1.5 "the switch asks twice at first, and what answers has a second"

take random:16M disk disk.ndz

forget() {	# PORT: of the switch, s or the client's number
	is_member "$1" || return 1
	bridge mdb del dev br0 port "p$1" grp $GROUP
}
waits_for() { soon "$@" || fail "does not come: $*"; }	# COMMAND...

serve -W 14M "$T/disk.ndz"
waits_for is_member s

for mode in "" --base; do
	echo "== the client's port is forgotten three times ${mode:+, $mode}"
	load 1 $mode "$T/d1"
	for i in 1 2 3; do
		waits_for is_member 1
		nothing_for 1.2 "its report is said twice, within a second, and would undo what follows"
		kill -0 "${LOADS[1]}" 2> /dev/null || { fail "it was over before the switch forgot"; break; }
		check "time $i" forget 1
	done
	loaded 1
	check "the disk is right" cmp "$T/disk" "$T/d1"
	rejoins=$(stat_of "$T/client1.json" group_rejoins)
	echo "joined again $rejoins times"
	check "it joined again" [ "$rejoins" -ge 2 ]	# of three; under load one may come late
done

echo "== the server's port is forgotten, before and in a load"
check "forgotten" forget s
joins=$(grep -c "client joined" "$T/server.log")
load 1 "$T/d1"
waits_for is_member s
has_joined() { [ "$(grep -c "client joined" "$T/server.log")" -gt "$joins" ]; }
waits_for has_joined
nothing_for 1.2 "its report is said twice, within a second, and would undo what follows"
kill -0 "${LOADS[1]}" 2> /dev/null || fail "it was over before the switch forgot"
check "forgotten" forget s
loaded 1
check "the disk is right" cmp "$T/disk" "$T/d1"
check "the server joined again" grep -q "joining the group again" "$T/server.log"
kill "$SERVER"; wait "$SERVER" 2> /dev/null

echo "== nothing of the kind in an ordinary load"
# On a machine that does much else nothing may come for more than a second: one load in five without that is enough.
for try in 1 2 3 4 5; do
	serve -T -1 -W 60M "$T/disk.ndz"
	load 1 "$T/d1"; load 2 "$T/d2"; loaded 1; loaded 2
	wait $SERVER
	rejoins=$(($(stat_of "$T/client1.json" group_rejoins) + $(stat_of "$T/client2.json" group_rejoins)))
	echo "load $try: joined again $rejoins times"
	[ $rejoins != 0 ] || break
done
check "no client joined again" [ $rejoins = 0 ]
finish
