#!/usr/bin/env bash
# Every way in which a program takes an image: with the right keys it is taken, with a wrong key nothing is, and
# where the server is named, nothing is taken from another one.
. "$(dirname "$0")/lib.sh"
requires nbdkit python3
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
"$BIN/emustore" -s store init > quiet && "$BIN/emustore" -q -s store put disk images/disk.ndz || fail emustore
in_ns() { local who=$1; shift; ip netns exec "$LAB$who" "$@" > /dev/null 2>> servers.log & PIDS+=($!); STARTED=$!; }
end() { kill "$@" 2> /dev/null; wait "$@" 2> /dev/null; }

# take WAY KEYS: what is said goes to $T/said.  Each way gives its keys to the program that reads the image.
plugin() { nbdkit -f -U - "$(dirname "$BIN")/lib/nbdkit-ndz-plugin.so" image="$1" "${@:2}" --run true; }
by_dolly() {
	in_ns s "$BIN/dolly" serve -q --linger 0 --wait 1 -p $DOLLY images/disk.ndz
	begins $STARTED listens $DOLLY
	on 1 timeout 20 "$BIN/dolly" join -q --patience 1 --force "$@" 10.9.0.1:$DOLLY out
	local rc=$?
	end $STARTED
	return $rc
}
listens() { on s ss -Hltn | grep -q ":$1 "; }
take() {
	local way=$1; shift
	rm -rf out boot
	case $way in
	file) "$BIN/imageunzip" -q "$@" images/disk.ndz out ;;
	load) on 1 "$BIN/frisbee" -q -m $GROUP -p $PORT -S 10.9.0.1 -T $SILENCE "$@" out ;;
	name) on 1 "$BIN/frisbee" -q -S 10.9.0.1 -F disk.ndz -T 20 "$@" out ;;
	boot) on 1 "$BIN/streamdisk" bootimage -q "$@" "$SRC" boot ;;
	stream) on 1 "$BIN/streamdisk" "$@" "$SRC" ;;
	web) on s "$BIN/streamdisk" "$@" http://127.0.0.1:$WEB/disk.ndz ;;
	store) "$BIN/streamdisk" --store store "$@" store:disk ;;
	nbd) "$BIN/streamdisk" "$@" "nbd+unix:///?socket=$T/nbd" ;;
	plugin) plugin images/disk.ndz "${@#--}" ;;
	dolly) by_dolly "$@" ;;
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
	! take "$@" && [ ! -e out ] && grep -q -e "$words" said || { cat said; false; }
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
in_ns s nbdkit -f -U "$T/nbd" file images/disk.ndz; begins $STARTED [ -S nbd ]
ways="file load name boot stream web store nbd dolly"
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

echo "== the key of a group"
serve --group-key lab.group images/disk.ndz
for way in load boot stream; do
	# shellcheck disable=SC2046
	{
		check "$way: taken with the right key" taken $way --group-key=lab.group $(sealed lab lab)
		check "$way: not with another one" not_taken . $way --group-key=other.group $(sealed lab lab)
		check "$way: not without one" not_taken . $way $(sealed lab lab)
	}
done
for way in web store nbd; do
	check "$way: no session, so a key of a group is refused" not_taken "a group key protects what a session sends" $way --group-key=lab.group
done
end $SERVER

echo "== a rival at the group, alone"
in_ns 2 "$BIN/frisbeed" -q --force -m $GROUP -p $PORT rival.ndz; RIVAL=$STARTED
for way in load boot stream; do
	check "$way: nothing is taken of it" not_taken . $way
done
SRC=frisbee://$GROUP:$PORT
check "where no server is named, it is taken" taken stream
# shellcheck disable=SC2046
check "but not with a key" not_taken "is not signed\|is not encrypted" stream $(sealed lab lab)
finish
