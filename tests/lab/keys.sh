#!/usr/bin/env bash
# Every way in which a program takes an image: with the right keys it is taken, with a wrong key nothing is, nor from
# a rival.  A rival sends another image from the server's address, or answers at the group of a server that is named.
#
# The ways: a file; load and name, a group and what mfrisbeed has by a name; boot and stream, a boot image and a disk of a
# session; web, store, nbd and plugin, other sources of a disk; dolly; relay, the node of dolly that feeds a session;
# and fed, who loads from it.
. "$(dirname "$0")/lib.sh"
requires nbdkit nbdcopy python3
lab_up 2	# a client, and a rival
WEB=8099 DOLLY=9997 SILENCE=20
SRC=frisbee://10.9.0.1@$GROUP:$PORT
export STREAM_SESSION_SECONDS=20
cd "$T" || exit 1
for n in lab other; do "$BIN/imagekey" -q --sign-key $n --encrypt-key $n.secret && "$BIN/imagekey" --group-key $n.group > quiet || fail imagekey; done
random_bytes 3072000 5 > disk
random_bytes 3072000 6 > rival
mkdir images
"$BIN/imagezip" -q -r --sign lab.key --encrypt lab.secret disk images/disk.ndz && "$BIN/imagezip" -q -r rival rival.ndz || fail imagezip
"$BIN/emustore" --store store init > quiet && "$BIN/emustore" -q --store store put disk images/disk.ndz || fail emustore
in_ns() { local who=$1; shift; ip netns exec "$LAB$who" "$@" > /dev/null 2>> servers.log & PIDS+=($!); STARTED=$!; }
end() { kill "$@" 2> /dev/null; wait "$@" 2> /dev/null; }

# take WAY KEYS: what is said goes to $T/said.  Each way gives its keys to the program that reads the image.
plugin() { on 1 nbdkit -f -U - "$(dirname "$BIN")/lib/nbdkit-ndz-plugin.so" image="$1" "${@:2}" --run "timeout $SILENCE nbdcopy \"\$uri\" null:" || { echo "nothing comes"; false; }; }
by_dolly() {
	in_ns s "$BIN/dolly" serve -q --linger 0 --wait 1 -p $DOLLY images/disk.ndz
	begins $STARTED listens $DOLLY
	on 1 timeout 20 "$BIN/dolly" join -q --patience 1 --force "$@" 10.9.0.1:$DOLLY out
	local rc=$?
	end $STARTED
	return $rc
}
by_relay() {	# RELAY-KEYS... -- CLIENT-KEYS...
	local keys=() relay client rc
	while [ "$1" != -- ]; do keys+=("$1"); shift; done; shift
	in_ns s "$BIN/dolly" serve -q --linger 0 --wait 1 -p $DOLLY images/disk.ndz
	begins $STARTED listens $DOLLY
	ip netns exec "${LAB}1" "$BIN/frisbee" -q -m 239.192.7.20 -p 5200 -S 10.9.0.12 -T $SILENCE "$@" out & client=$!
	on 2 timeout 20 "$BIN/dolly" join -q --patience 1 --force --relay 239.192.7.20:5200 "${keys[@]}" 10.9.0.1:$DOLLY relayed; relay=$?
	wait $client; rc=$?
	end $STARTED
	[ $relay = 0 ] && [ $rc = 0 ]
}
listens() { on s ss -Hltn | grep -q ":$1 "; }
take() {
	local way=$1; shift
	rm -rf out boot relayed
	case $way in
	file) "$BIN/imageunzip" -q "$@" images/disk.ndz out ;;
	load) on 1 "$BIN/frisbee" -q -m $GROUP -p $PORT -S 10.9.0.1 -T $SILENCE "$@" out ;;
	name) on 1 "$BIN/frisbee" -q -S 10.9.0.1 -F disk.ndz -T $SILENCE "$@" out ;;
	boot) on 1 "$BIN/streamdisk" bootimage -q "$@" "$SRC" boot ;;
	stream) on 1 "$BIN/streamdisk" "$@" "$SRC" ;;
	web) on s "$BIN/streamdisk" "$@" http://127.0.0.1:$WEB/disk.ndz ;;
	store) "$BIN/streamdisk" --store store "$@" store:disk ;;
	nbd) "$BIN/streamdisk" "$@" "nbd+unix:///?socket=$T/nbd" ;;
	plugin) plugin images/disk.ndz "${@#--}" ;;
	plugin-stream) plugin "$SRC" "${@#--}" ;;
	dolly) by_dolly "$@" ;;
	relay) by_relay "$@" -- $(sealed lab lab) ;;
	fed) SILENCE=20 by_relay $(sealed lab lab) -- "$@" ;;
	esac > said 2>&1
}
taken() {	# WAY KEYS
	take "$@"
	local rc=$?
	# An image that starts no machine ends bootimage with 4, when all of it was read.
	[ $rc = 0 ] || { [ "$1" = boot ] && [ $rc = 4 ]; } || { cat said; false; }
}
not_taken() {	# WORDS WAY KEYS
	local words=$1 SILENCE=1 STREAM_SESSION_SECONDS=0.5; shift
	! take "$@" && [ ! -e out ] && { [ "$1" != relay ] || [ ! -e relayed ]; } && grep -q -e "$words" said || { cat said; false; }
}
sealed() {	# SIGNED SECRET: the keys of an image
	echo --verify-key="$T/$1.pub" --decrypt="$T/$2.secret"
}

echo "== keys of an image"
cat > conf << CONF
images $T/images
group 239.192.7.9 count=4 port=5100
interface 10.9.0.1
allow 10.9.0.0/24 load
state $T/state
CONF
mkdir state
serve images/disk.ndz
in_ns s "$BIN/mfrisbeed" -d -c conf; begins $STARTED listens 64494
echo > fault
in_ns s python3 "$TOP/tests/helpers/http_hostile.py" images/disk.ndz $WEB fault; begins $STARTED listens $WEB
in_ns s nbdkit -f -P nbd.pid -U "$T/nbd" file images/disk.ndz; begins $STARTED [ -s nbd.pid ]
ways="file load name boot stream web store nbd dolly relay fed"
instrumented || ways="$ways plugin"	# nbdkit cannot run a plugin that is instrumented
for way in $ways; do
	# shellcheck disable=SC2046
	{
		check "$way: taken with the right keys" taken $way $(sealed lab lab)
		check "$way: signed with another key" not_taken "signed with another key" $way $(sealed other lab)
		check "$way: encrypted with another key" not_taken "encrypted with another key" $way $(sealed lab other)
	}
done
end $SERVER

echo "== a rival sends another image in its place"
cp images/disk.ndz kept; cp rival.ndz images/disk.ndz; "$BIN/emustore" -q --store store put disk rival.ndz || fail emustore
for way in $ways; do
	# shellcheck disable=SC2046
	case $way in load | boot | stream | fed) ;; *) check "$way: nothing is taken of it" not_taken "is not signed\|is not encrypted" $way $(sealed lab lab) ;; esac
done
mv kept images/disk.ndz

echo "== the key of a group"
serve --group-key lab.group images/disk.ndz
sessions="load boot stream"
instrumented || sessions="$sessions plugin-stream"
for way in $sessions; do
	# shellcheck disable=SC2046
	{
		check "$way: taken with the right key" taken $way --group-key=lab.group $(sealed lab lab)
		check "$way: not with another one" not_taken . $way --group-key=other.group $(sealed lab lab)
		check "$way: not without one" not_taken . $way $(sealed lab lab)
	}
done
for way in file dolly relay; do
	check "$way: nor is there such an option" not_taken "unknown option\|group-key" $way --group-key=lab.group
done
check "name: what mfrisbeed serves by a name has none" not_taken . name --group-key=lab.group $(sealed lab lab)
for way in web store nbd; do
	check "$way: no session, so a key of a group is refused" not_taken "a group key protects what a session sends" $way --group-key=lab.group
done
end $SERVER

echo "== a rival at the group, alone"
in_ns 2 "$BIN/frisbeed" -q --force -m $GROUP -p $PORT rival.ndz; RIVAL=$STARTED
for way in $sessions; do
	check "$way: nothing is taken of it" not_taken . $way
done
SRC=frisbee://$GROUP:$PORT
check "where no server is named, it is taken" taken stream
# shellcheck disable=SC2046
for way in boot stream; do
	check "but not with a key" not_taken "is not signed\|is not encrypted" $way $(sealed lab lab)
done

echo "== a rival at the group that mfrisbeed names, whose server is mute"
check "name: its server begins" taken name $(sealed lab lab)
for p in $(ip netns pids "${LAB}s"); do ! tr '\0' '\n' < "/proc/$p/cmdline" | grep -q "disk.ndz@239.192.7.9:5100$" || mute=$p; done
kill -STOP "$mute"
in_ns 2 "$BIN/frisbeed" -q --force -m 239.192.7.9 -p 5100 rival.ndz
GROUP=239.192.7.9 PORT=5100 check "the rival serves" eval 'on 1 "$BIN/frisbee" -q -m 239.192.7.9 -p 5100 -T 20 out && cmp -s rival out'
check "name: nothing is taken of it" not_taken . name
kill -CONT "$mute"
finish
