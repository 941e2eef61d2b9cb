#!/usr/bin/env bash
# Two programs never write one disk or file at once, whatever they know it by: the second
# one waits, and is refused then, or goes on behind the first.  What somebody else has
# open for writing is not written either, except with --force, which overrules no lock.
. "$(dirname "$0")/lib.sh"
requires flock setpriv
export FRISBEE_TEST_TIMES=hold=60
refused() { FRISBEE_TEST_TIMES=hold=0.1 status 1 "$@"; }
says() { check "it says: $1" grep -qF -- "$1" "$T/stderr"; }
U=$BIN/imageunzip
for i in 1 2; do
	head -c 4M /dev/urandom > "$T/r$i"
	"$BIN/imagezip" -q -r "$T/r$i" "$T/r$i.ndz" || fail "imagezip"
done
t=$T/t
# slow TARGET OPTION...: the first image is being installed there, by $first, until
# goes_on or breaks_off.
slow() {
	rm -f "$T/pipe"; mkfifo "$T/pipe"
	"$U" -q "${@:2}" - "$1" < "$T/pipe" & first=$!
	exec 7> "$T/pipe"; head -c 2M "$T/r1.ndz" >&7
	begins $first has_read $first $((2 << 20)) || fail "the first one does not begin"
}
goes_on() {	# IMAGE
	tail -c +$(((2 << 20) + 1)) "$T/${1:-r1}.ndz" >&7; exec 7>&-
	wait $first; check "the first one is done" [ $? = 0 ]
}
breaks_off() { exec 7>&-; wait $first; check "the first one fails" [ $? != 0 ]; }
is_locked_by() {	# TARGET PID COMMAND...
	refused "${@:3}" 7>&-; says "$1 is in use: imageunzip (process $2) has locked"
}
# opened FILE: $holder, a process beside ours, has it open for writing.
opened() { sleep 1000 8<> "$1" 7>&- & holder=$!; begins $holder has_open $holder "$1"; }
is_free() { flock -n "$1" true; }
locked() { flock -F "$1" sleep 1000 & holder=$!; begins $holder eval "! is_free '$1'"; }
let_go() { kill $holder; wait $holder 2> /dev/null; }

echo "== two into one file"
cp "$T/r2" "$t"; slow "$t" --in-place
is_locked_by "$t" $first "$U" -q --in-place "$T/r2.ndz" "$t"
is_locked_by "$t" $first "$U" -q --in-place --force "$T/r2.ndz" "$t"
goes_on; check "as if it had been alone" cmp "$T/r1" "$t"
slow "$t" --in-place
"$U" -q --in-place "$T/r2.ndz" "$t" 7>&- & second=$!
begins $second has_open $second "$t"; check "the second one waits" kill -0 $second
goes_on; wait $second; check "and goes on" [ $? = 0 ]
check "all is its own" cmp "$T/r2" "$t"

echo "== into one new file"
rm "$t"; slow "$t"
is_locked_by "$t" $first "$U" -q "$T/r2.ndz" "$t"
goes_on; check "as if it had been alone" cmp "$T/r1" "$t"
rm "$t"; slow "$t"
"$U" -q "$T/r2.ndz" "$t" 7>&- & second=$!
begins $second has_open $second "$t"
breaks_off; wait $second; check "the second one makes it anew" [ $? = 0 ]
check "whole" cmp "$T/r2" "$t"
"$U" -q "$T/r1.ndz" - > "$T/out" & wait $!; check "standard output" cmp "$T/r1" "$T/out"

echo "== other writers"
locked "$t"
for how in "$U $T/r1.ndz" "$BIN/growfs"; do
	refused $how "$t"; says "has locked it"
done
let_go
check "nothing was written" cmp "$T/r2" "$t"
: > "$T/new.ndz.partial"; locked "$T/new.ndz.partial"
refused "$BIN/imagezip" -q -r "$T/r1" "$T/new.ndz"; says "has locked it"
refused "$BIN/imagerezip" -q "$T/r1.ndz" "$T/new.ndz"; says "has locked it"
let_go

echo "== a child of who has the lock"
check "it has the lock, too" flock "$t" "$BIN/imageunzip" -q --in-place "$T/r1.ndz" "$t"
exec 8<> "$t"
check "what its parent has open is no other's" "$U" -q --in-place "$T/r1.ndz" "$t"
exec 8>&-
check "written" cmp "$T/r1" "$t"

echo "== somebody has it open for writing"
opened "$t"
by="sleep (process $holder) has $t open for writing"
refused "$U" -q --in-place "$T/r2.ndz" "$t"; says "$t is in use: $by"
refused "$BIN/growfs" "$t"; says "$by"
check "nothing was written" cmp "$T/r1" "$t"
check "by force" "$U" -q --in-place --force "$T/r2.ndz" "$t"
check "it was" cmp "$T/r2" "$t"
"$U" -q --in-place "$T/r1.ndz" "$t" & second=$!
begins $second has_open $second "$t"; let_go
wait $second; check "it is waited for" [ $? = 0 ]; check "written" cmp "$T/r1" "$t"
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$T"; chmod 644 "$T"/*.ndz; chmod 666 "$t"
	sleep 1000 & holder=$!	# of root, and no ancestor of who asks
	setpriv --reuid=65534 --clear-groups \
	    "$U" -q --in-place "$T/r2.ndz" "$t" 2> "$T/stderr"
	check "not root" cmp "$T/r2" "$t"
	says "not known whether a process of another user has it open for writing"
	check "once" [ "$(wc -l < "$T/stderr")" = 1 ]
	let_go
fi

echo "== partitions of one disk"
if command -v sfdisk > /dev/null; then
	truncate -s 12M "$T/disk"
	printf '%s\n' '2048,8192' '10240,8192' | sfdisk -q "$T/disk"
	cp "$T/disk" "$T/want"; cp "$T/disk" "$T/d"
	for i in 1 2; do
		dd if="$T/r$i" of="$T/want" bs=1M seek=$((4 * i - 3)) conv=notrunc \
		    status=none
	done
	"$BIN/imagezip" -q "$T/want" "$T/want.ndz" || fail "imagezip"
	rm -f "$T/pipe"; mkfifo "$T/pipe"
	"$U" -q --only 1 - "$T/d" < "$T/pipe" & first=$!
	exec 7> "$T/pipe"; head -c 2M "$T/want.ndz" >&7
	begins $first has_read $first $((2 << 20))
	check "another one beside it" "$U" -q --only 2 "$T/want.ndz" "$T/d" 7>&-
	is_locked_by "$T/d" $first "$U" -q --only 1 "$T/want.ndz" "$T/d"
	is_locked_by "$T/d" $first "$U" -q --only 1 --force "$T/want.ndz" "$T/d"
	is_locked_by "$T/d" $first "$U" -q --in-place "$T/want.ndz" "$T/d"
	goes_on want
	check "both are there" cmp "$T/want" "$T/d"
	# Images of the filesystems alone, as -s installs them.
	cp "$T/disk" "$T/d"; slow "$T/d" -s 1 -D 0xa5
	check "another filesystem beside it" "$U" -q -s 2 -D 0xa6 "$T/r2.ndz" "$T/d" 7>&-
	is_locked_by "$T/d" $first "$U" -q -s 1 "$T/r1.ndz" "$T/d"
	is_locked_by "$T/d" $first "$U" -q --only 1 --force "$T/want.ndz" "$T/d"
	is_locked_by "$T/d" $first "$U" -q --in-place "$T/want.ndz" "$T/d"
	# Of three, the one is named that is in the way.
	mkfifo "$T/pipe2"; "$U" -q -s 2 - "$T/d" < "$T/pipe2" 7>&- & second=$!
	exec 6> "$T/pipe2"; head -c 2M "$T/r2.ndz" >&6
	begins $second has_read $second $((2 << 20))
	is_locked_by "$T/d" $second "$U" -q -s 2 "$T/r2.ndz" "$T/d" 6>&-
	is_locked_by "$T/d" $first "$U" -q -s 1 "$T/r2.ndz" "$T/d" 6>&-
	tail -c +$(((2 << 20) + 1)) "$T/r2.ndz" >&6; exec 6>&-
	wait $second; check "the second one is done" [ $? = 0 ]
	goes_on
	check "both are there" cmp -i 512 "$T/want" "$T/d"
	check "with their types" [ "$(sfdisk --part-type "$T/d" 1)" = a5 -a \
	    "$(sfdisk --part-type "$T/d" 2)" = a6 ]
	# Another installation sets a type.
	"$PYTHON" -E -S - "$T/d" "$T/claimed" << 'PY' &
import fcntl, os, struct, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_SH)
fcntl.fcntl(fd, 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 512, 0))  # F_OFD_SETLK
open(sys.argv[2], "w")
time.sleep(1000)
PY
	holder=$!; begins $holder [ -e "$T/claimed" ]; rm "$T/claimed"
	check "beside it without a type" "$U" -q -s 2 "$T/r2.ndz" "$T/d"
	timeout -s INT 1 "$U" -q -s 2 -D 0xa7 "$T/r2.ndz" "$T/d" 2> "$T/stderr"
	check "it is waited for" [ $? = 124 ]
	check "the type is as it was" [ "$(sfdisk --part-type "$T/d" 2)" = a6 ]
	let_go
	slow "$T/d" --in-place
	is_locked_by "$T/d" $first "$U" -q -s 2 "$T/r2.ndz" "$T/d"
	breaks_off; cp "$T/want" "$T/d"
	locked "$T/d"
	refused "$U" -q --only 1 --force "$T/want.ndz" "$T/d"; says "has locked it"
	refused "$U" -q -s 1 --force "$T/r1.ndz" "$T/d"; says "has locked it"
	let_go
	opened "$T/d"; refused "$U" -q --only 1 "$T/want.ndz" "$T/d"
	says "sleep (process $holder) has $T/d open for writing"; let_go
fi

echo "== a loop device and its file"
if [ "$(id -u)" = 0 ] && dev=$(losetup -f --show "$t" 2> /dev/null); then
	CLEANUP+=("losetup -d '$dev' 2> /dev/null")
	slow "$t" --in-place; is_locked_by "$dev" $first "$U" -q "$T/r2.ndz" "$dev"
	says "has locked $t"; goes_on
	slow "$dev"; is_locked_by "$t" $first "$U" -q --in-place --force "$T/r2.ndz" "$t"
	is_locked_by "$dev" $first "$U" -q "$T/r2.ndz" "$dev"; goes_on
	check "as if it had been alone" cmp "$T/r1" "$t"
	opened "$t"; refused "$U" -q "$T/r2.ndz" "$dev"
	says "has $t open for writing"; let_go
	opened "$dev"; refused "$U" -q --in-place "$T/r2.ndz" "$t"
	says "has $dev open for writing"; let_go
	check "nothing was written" cmp "$T/r1" "$t"
	# udev has a shared lock while it looks what is on a disk.
	flock -s -F "$dev" sleep 1000 & holder=$!
	begins $holder eval "! is_free '$dev'"
	refused "$U" -q --force "$T/r2.ndz" "$dev"; says "has locked it"
	"$U" -q "$T/r1.ndz" "$dev" & second=$!
	begins $second has_open $second "$dev"; let_go
	wait $second; check "a look is waited for" [ $? = 0 ]
	# It is claimed as the kernel does it for a moment, when it looks for partitions
	# or for a free loop device.
	"$PYTHON" -E -S - "$dev" "$T/claimed" << 'PY' &
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)
open(sys.argv[2], "w")
time.sleep(1000)
PY
	holder=$!
	begins $holder [ -e "$T/claimed" ]
	refused "$U" -q "$T/r2.ndz" "$dev"; says "in use: another program holds it"
	"$U" -q "$T/r2.ndz" "$dev" & second=$!
	begins $second has_open $second "$dev"; let_go
	wait $second; check "a claim is waited for" [ $? = 0 ]
	check "written" cmp "$T/r2" <(head -c 4M "$dev")
	losetup -d "$dev"
	if command -v sfdisk > /dev/null; then
		cp "$T/disk" "$T/d"
		dev=$(losetup -f --show "$T/d")
		CLEANUP+=("partx -d '$dev' 2> /dev/null; losetup -d '$dev' 2> /dev/null")
		partx -a "$dev" 2> /dev/null
		slow "$dev" -s 1
		check "another partition" "$U" -q -s 2 "$T/r2.ndz" "$dev" 7>&-
		check "or in the file" "$U" -q -s 2 "$T/r2.ndz" "$T/d" 7>&-
		is_locked_by "$dev" $first "$U" -q -s 1 --force "$T/r1.ndz" "$dev"
		is_locked_by "$dev" $first "$U" -q --force "$T/want.ndz" "$dev"
		if [ -b "${dev}p2" ]; then
			check "by its own node" "$U" -q "$T/r1.ndz" "${dev}p2" 7>&-
			check "once more" "$U" -q "$T/r2.ndz" "${dev}p2" 7>&-
			is_locked_by "${dev}p1" $first "$U" -q --force "$T/r1.ndz" "${dev}p1"
		fi
		goes_on; partx -d "$dev" 2> /dev/null; losetup -d "$dev"
		check "both are there" cmp "$T/want" "$T/d"
	fi
	# Two parts of a file are not one place.
	a=$(losetup -f --show --sizelimit 4M "$T/want")
	b=$(losetup -f --show -o 4M "$T/want")
	CLEANUP+=("losetup -d '$a' 2> /dev/null" "losetup -d '$b' 2> /dev/null")
	slow "$a"; check "another part of the file" "$U" -q "$T/r2.ndz" "$b" 7>&-
	is_locked_by "$T/want" $first "$U" -q --in-place "$T/r2.ndz" "$T/want"; goes_on
	check "both are there" cmp -n 8M <(cat "$T/r1" "$T/r2") "$T/want"
	losetup -d "$a"; losetup -d "$b"
else echo "no loop devices: left out"; fi
finish
