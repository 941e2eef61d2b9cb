#!/usr/bin/env bash
# A disk whose installation is not complete, by all of it, by one partition or because it is still streamed to, is no
# source: not of a capture, of --shrink, -s and -H, nor of a copy of dsync or of dolly serve --raw, and growfs changes
# nothing.  --force.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/only_lib.sh"
requires sfdisk mke2fs
own_network "$@"
PORT=$((20000 + OWN_NUMBER % 12000))
export PATH="$BIN:$PATH"
only_disk
killed() {	# DISK OPTIONS...: an installation that ends at its third write
	local d=$1; shift
	cp "$T/before" "$d"
	( FAULT=pwrite:3:kill:$d LD_PRELOAD=$B/tests/preload/faulty.so imageunzip -q "$@" "$T/disk.ndz" "$d" ) 2> "$T/quiet"
}
killed "$T/whole" --in-place; killed "$T/one" --only 6
status 1 imageunzip --status "$T/whole"
status 1 imageunzip --status -s 6 "$T/one"
cp "$T/whole" "$T/whole.was"; cp "$T/one" "$T/one.was"
is_refused() {	# COMMAND...
	rm -f "$T/x.ndz"
	status 1 "$@"
	check "says why" grep -q "is not complete" "$T/stderr"
	check "no image" [ ! -e "$T/x.ndz" ]
}
for d in whole one; do
	for how in "" --shrink -r; do
		[ "$d $how" != "one -r" ] || continue	# one file, of which no partition is known
		is_refused imagezip -q $how "$T/$d" "$T/x.ndz"
	done
	is_refused imagezip -q -s 6 "$T/$d" "$T/x.ndz"
	is_refused dmextract -q --full --since=scan:"$T/state" "$T/$d"
	is_refused dsync -q --since=scan:"$T/state" init "$T/$d" "$T/copy"
	is_refused dsync -q --since=scan:"$T/state" once "$T/$d" "$T/copy"
	is_refused timeout 240 dolly serve --wait 1 --raw "$T/$d"
done
check "which partition" grep -q "partition 6" <(imagezip -q "$T/one" "$T/x.ndz" 2>&1)
imagezip -q -U "$T/sig" --force "$T/disk" "$T/again.ndz" || fail "-U"
is_refused imagezip -q -H "$T/sig" "$T/whole" "$T/x.ndz"
check "another partition is whole" imagezip -q -s 1 "$T/one" "$T/x.ndz"
check "nor does one count that is left out" imagezip -q -I 6 "$T/one" "$T/y.ndz"
check "it can be looked at" quietly imagezip -i "$T/one"

# growfs: the marked partition is the last one.
is_refused growfs "$T/whole"
is_refused growfs "$T/one"
check "nothing was written" cmp "$T/one" "$T/one.was"
check "nor there" cmp "$T/whole" "$T/whole.was"

check "--force captures it" quietly imagezip -q --force "$T/whole" "$T/x.ndz"
imageunzip -q "$T/x.ndz" "$T/t" && check "as it is" cmp "$T/whole" "$T/t"
check "dmextract" quietly eval "dmextract -q --force --full --since=scan:'$T/state' '$T/whole' | dmmerge -q '$T/t2'"
check "as it is" cmp "$T/whole" "$T/t2"
check "dsync" quietly dsync -q --since=scan:"$T/state3" --force init "$T/one" "$T/t3"
check "as it is" cmp "$T/one" "$T/t3"
dolly serve --force --linger 0 --wait 1 -p $PORT --raw "$T/one" > "$T/quiet" 2> "$T/serve.log" & s=$!
begins $s grep -q serving "$T/serve.log"
check "dolly serve" quietly timeout 240 dolly join -q 127.0.0.1:$PORT "$T/t4"
wait $s
check "as it is" cmp "$T/one" "$T/t4"

# A streaming disk that is not whole.
if command -v nbdkit > "$T/quiet"; then
	. "$(dirname "$0")/nbd_lib.sh"
	cp "$T/before" "$T/stream"; truncate -s 65M "$T/stream"
	nbdkit -U "$T/sock" -P "$T/pid" "$PLUGIN" "$T/disk.ndz" disk="$T/stream" fill=no 2> "$T/nbd.log" ||
		fail "$(cat "$T/nbd.log")"
	CLEANUP+=("builtin kill \$(cat '$T/pid') 2> /dev/null")
	is_refused imagezip -q "$T/stream" "$T/x.ndz"
	is_refused dsync -q --since=scan:"$T/state4" init "$T/stream" "$T/copy"
fi
finish
