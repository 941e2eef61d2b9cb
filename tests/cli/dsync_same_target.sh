#!/usr/bin/env bash
# One target has one journal and one merge at a time, and the rest of an interrupted merge goes to no other target.
. "$(dirname "$0")/lib.sh"
x() { "$BIN/dmextract" -q --since=scan:"$T/state" "$@"; }
m() { "$BIN/dmmerge" -q --state-dir="$T/var" "$@"; }
condition() { "$BIN/dmmerge" --status --state-dir="$T/var" "$@" | sed -n 's/^condition //p'; }
interrupted() { [ "$(condition "$@")" = interrupted ]; }
# Only the first 700 KiB of a file can be written.
interrupt() { (ulimit -f 700; m "$@" > "$T/quiet" 2>&1) && fail "files of more than 700 KiB cannot be written"; interrupted "$@"; }
refused() {	# TARGET STREAM
	cp "$1" "$T/was"
	"$BIN/dmmerge" --state-dir="$T/var" "$1" < "$2" > "$T/quiet" 2> "$T/stderr"; local rc=$?
	[ $rc = 1 ] && grep -q "another target than the merge was writing to.*--force.*remove .*$1.dsync" "$T/stderr" && cmp "$1" "$T/was"
}

mkdir "$T/var"
yes 'a line of text' | head -c 5000000 > "$T/dev"
x --zstd "$T/dev" > "$T/full"
m "$T/t" < "$T/full" || fail "a full copy"
x --done "$T/dev"

# A link to the target is the target.
ln -s t "$T/link"
for at in 100000 3000000; do head -c 9000 /dev/urandom | dd of="$T/dev" bs=1 seek=$at conv=notrunc status=none; done
x "$T/dev" > "$T/delta"
check "a delta, by a link" m "$T/link" < "$T/delta"
check "equal" cmp "$T/dev" "$T/t"
check "no journal beside the link" [ ! -e "$T/link.dsync" ]

# Two merges at once, with two journals.
mkfifo "$T/pipe"
m --in-place --force "$T/t" < "$T/pipe" & pid=$!
exec 7> "$T/pipe"; head -c 300 "$T/full" >&7
soon eval '[ "$(condition "$T/t")" = incomplete ]' || fail "the first merge has not begun"
export FRISBEE_TEST_TIMES=hold=0.2
for how in "" --force; do
	status 1 m --journal="$T/j2" $how "$T/t" < "$T/full"
	check "the second one is refused" grep -q "t is in use: dmmerge (process [0-9]*) has locked it" "$T/stderr"
done
tail -c +301 "$T/full" >&7; exec 7>&-
wait $pid || fail "the first merge"
rm -f "$T/j2"

# A device that another program has locked: with --force it is not opened exclusively.
if [ "$(id -u)" = 0 ] && truncate -s 6M "$T/behind" && loop=$(losetup --show -f "$T/behind" 2> "$T/stderr"); then
	CLEANUP+=("losetup -d $loop 2> /dev/null")
	flock -F "$loop" sleep 1000 & holder=$!; begins $holder eval '! flock -n "$loop" true'
	status 1 m --force "$loop" < "$T/full"
	check "a locked device is refused" grep -q "$loop is in use: .*(process $holder) has locked it" "$T/stderr"
	FRISBEE_TEST_TIMES=hold=60 "$BIN/dmmerge" -q --state-dir="$T/var" --force "$loop" < "$T/full" & pid=$!
	begins $pid has_open $pid "$loop"
	check "a short lock is waited for" kill -0 $pid
	kill $holder; wait $holder 2> "$T/quiet"
	check "and then it merges" wait $pid
	losetup -d "$loop"
	check "equal" cmp -n 5000000 "$T/t" "$T/behind"
else echo "   (no loop device here)"; fi

# An interrupted merge of what has changed.  The target was replaced by another file.
m --force "$T/t" < "$T/full" && m "$T/t" < "$T/delta" || fail "the state before"
x --done "$T/dev" 2> "$T/quiet"
head -c 9000 /dev/urandom | dd of="$T/dev" bs=1 seek=3000000 conv=notrunc status=none
head -c 9000 /dev/urandom | dd of="$T/dev" bs=1 seek=200000 conv=notrunc status=none
x "$T/dev" > "$T/next"
check "a delta was interrupted" interrupt "$T/t" < "$T/next"
cp "$T/t" "$T/kept"; cp "$T/t.dsync" "$T/kept.dsync"
head -c 5000000 /dev/urandom > "$T/t"
check "the rest does not go to another file" refused "$T/t" "$T/next"
check "nor does a full copy follow" refused "$T/t" "$T/full"
status 1 m --recover "$T/t"
cp "$T/kept" "$T/t"; printf x | dd of="$T/t" bs=1 seek=4999999 conv=notrunc status=none
check "nor to one that was written since" refused "$T/t" "$T/next"
cp "$T/kept" "$T/t"
check "the rest goes to the target" m --recover "$T/t"
check "equal" cmp "$T/dev" "$T/t"
check "by force it goes to another" m --force --recover "$T/kept"
check "equal" cmp "$T/dev" "$T/kept"

# An interrupted full copy: all is written, so the target is known by what it held and what it gets.
rm -f "$T/state"*; x --zstd "$T/dev" > "$T/full"
head -c 5000000 /dev/urandom > "$T/t"; rm -f "$T/t.dsync"
check "a full copy was interrupted" interrupt "$T/t" < "$T/full"
cp "$T/t" "$T/kept"
head -c 5000000 /dev/urandom > "$T/t"
check "the rest does not go to another file" refused "$T/t" "$T/full"
cp "$T/kept" "$T/t"
check "the rest goes to the target" m --recover "$T/t"
check "equal" cmp "$T/dev" "$T/t"

# The copy's filesystem is not mounted when a first copy is to go on: nothing fills the folder beneath.
j() { "$BIN/dmmerge" --journal="$T/j3" "$@" "$T/mnt/copy"; }
mkdir "$T/mnt" "$T/beneath"
(ulimit -f 700; j -q < "$T/full" > "$T/quiet" 2>&1) && fail "files of more than 700 KiB cannot be written"
check "a first copy was interrupted" grep -q "^condition interrupted" <(j --status)
mv "$T/mnt" "$T/mounted"; mv "$T/beneath" "$T/mnt"
for how in --recover "" --force; do
	status 1 j $how < "$T/full"
	check "refused: $(cat "$T/stderr")" grep -q "mnt/copy: does not exist; mount its filesystem, or, .* remove $T/j3 and send" "$T/stderr"
	check "and no file is made" [ ! -e "$T/mnt/copy" ]
done
rmdir "$T/mnt"; mv "$T/mounted" "$T/mnt"
check "it is mounted: the rest goes to it" j --recover
check "equal" cmp "$T/dev" "$T/mnt/copy"

# A first copy whose file cannot get its size: what the journal has goes to it when it can.
k() { "$BIN/dmmerge" --journal="$T/j4" "$@" "$T/late"; }
check "a file cannot get its size" grep -q "late: setting its size to 5000000 bytes" <(trap '' XFSZ; ulimit -f 700; k -q < "$T/full" 2>&1)
check "the rest goes to it" k -q --recover
check "equal" cmp "$T/dev" "$T/late"

# The same in place, and there, too, nothing fills the folder beneath.
l() { "$BIN/dmmerge" --journal="$T/j5" -q --in-place "$@" "$T/mnt/late"; }
check "a file cannot get its size" grep -q "late: setting its size to 5000000 bytes" <(trap '' XFSZ; ulimit -f 700; l < "$T/full" 2>&1)
mv "$T/mnt" "$T/mounted"; mkdir "$T/mnt"
status 1 l < "$T/full"
check "refused: $(cat "$T/stderr")" grep -q "mnt/late: does not exist; mount its filesystem, or, .* remove $T/j5 and send" "$T/stderr"
check "and no file is made" [ ! -e "$T/mnt/late" ]
rmdir "$T/mnt"; mv "$T/mounted" "$T/mnt"
check "it is mounted: a full copy goes to it" l < "$T/full"
check "equal" cmp "$T/dev" "$T/mnt/late"
finish
