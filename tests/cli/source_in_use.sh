#!/usr/bin/env bash
# A source that somebody writes to is refused, by every way in which it can be seen; one that is only read is not.
# With --live it is captured, and the image says so, also when it is written again.
. "$(dirname "$0")/lib.sh"
requires mke2fs sfdisk losetup
cd "$T" || exit 1
export FRISBEE_TEST_TIMES=hold=0.1
zip() { "$BIN/imagezip" -q "$@"; }
live() { "$BIN/imagedump" --json "$1" | grep -q '"live": true'; }
refused() {	# WHAT THE SENTENCE HAS, ARGUMENTS OF IMAGEZIP
	local words=$1; shift
	rm -f x.ndz; status 1 zip "$@" x.ndz
	check "it says why: $words" grep -q -- "$words" stderr
	check "nothing is written" [ ! -e x.ndz ]
}
taken() { rm -f x.ndz; check "captured: $*" zip "$@" x.ndz; check "and not live" eval '! live x.ndz'; }

# A program that has a file open for writing, as a virtual machine has its disk.
truncate -s 8M fs; mke2fs -q -F -t ext4 fs
taken fs
sleep 1000 3<> fs & vm=$!
CLEANUP+=("kill $vm 2> /dev/null")
begins $vm grep -qx sleep /proc/$vm/comm || fail "no sleep"
refused "sleep (process $vm) has fs open for writing" fs
refused "has stdin open for writing" -r - < fs
check "-i warns" "$BIN/imagezip" -i fs > out 2> stderr; check "it says why" grep -q "warning: fs is in use" stderr
check "-i --json has it" grep -q '"in_use": "fs is in use' <(zip -i --json fs)
check "--live" "$BIN/imagezip" --live --json fs live.ndz > out 2> stderr
check "it warns" grep -q "imagezip: warning: fs is in use" stderr
check "the report says so" grep -q '"live": true' out
check "and the image" live live.ndz
check "imagedump says so" grep -q "captured live" <("$BIN/imagedump" live.ndz)
# One that is done soon, or a lock, is waited for.
FRISBEE_TEST_TIMES=hold=60 "$BIN/imagezip" -q fs waited.ndz & zip=$!
waits() { [ "$(id -u)" != 0 ] || grep -q poll "/proc/$zip/wchan"; }
begins $zip eval 'has_open $zip "$PWD/fs" && waits'
check "it waits" [ ! -e waited.ndz ]
kill $vm; wait $vm 2> /dev/null
wait $zip; check "and captures" [ $? = 0 ]
check "a source at rest" eval '! live waited.ndz'
flock -F fs sleep 1000 & holder=$!
begins $holder eval '! flock -n fs true'
refused "fs is in use: sleep (process $holder) has locked it" fs
FRISBEE_TEST_TIMES=hold=60 "$BIN/imagezip" -q fs waited.ndz & zip=$!
begins $zip has_open $zip "$PWD/fs"
kill $holder; wait $holder 2> /dev/null
wait $zip; check "a lock is waited for" [ $? = 0 ]
check "the lock of its parent is its own" flock fs "$BIN/imagezip" -q fs waited.ndz
check "a shared lock does no harm" flock -s fs true
"$BIN/imagerezip" -q -z1 live.ndz again.ndz; check "written again, it still says so" live again.ndz
zip fs still.ndz; check "an image of a source at rest does not" eval '! live still.ndz'
"$BIN/imagedelta" -q still.ndz live.ndz delta.ndz; check "a delta to a live one does" live delta.ndz
"$BIN/imagedelta" -q --onto still.ndz delta.ndz whole.ndz; check "and what it makes" live whole.ndz
"$BIN/imagedelta" -q live.ndz still.ndz delta.ndz; check "a delta to one at rest does not" eval '! live delta.ndz'
check "open for reading" eval 'taken fs 3< fs'

# Somebody comes while it is read: the image says nothing of that, so there is none.
head -c 3072000 /dev/urandom > src
python3 - "$BIN/imagezip" << 'PY' > out 2> stderr; rc=$?
import os, subprocess, sys, time
p = subprocess.Popen([sys.argv[1], "-q", "-r", "src", "/dev/stdout"], stdout=subprocess.PIPE)
p.stdout.read(1 << 20)	# it waits for us, in the middle
holder = subprocess.Popen(["sleep", "1000"], stdin=open("src", "r+b"))
p.stdout.read()
p.wait(); holder.kill(); holder.wait()
sys.exit(p.returncode)
PY
check "begun while it was captured: exit 1" [ $rc = 1 ]; check "it says so" grep -q "this began during the capture" stderr

[ "$(id -u)" = 0 ] && dev=$(losetup -f --show fs 2> /dev/null) || { [ $bad = 0 ] && skip "no loop devices (not root?), the rest is good"; finish; }
CLEANUP+=("umount '$T/mnt' 2> /dev/null" "losetup -d $dev")
mkdir mnt
taken fs; taken "$dev"	# a loop device that nobody uses
mount "$dev" mnt || fail mount
refused "$dev is in use: $dev is mounted read-write on $T/mnt" "$dev"
refused "fs is in use: $dev is mounted read-write" fs
refused "is in use" --force "$dev"
check "--live, mounted" "$BIN/imagezip" --live "$dev" live.ndz 2> stderr; check "the image says so" live live.ndz
mount -o remount,ro mnt; taken "$dev"; taken fs; umount mnt
if unshare -m true 2> /dev/null; then
	unshare -m sh -c "mount $dev mnt && { sleep 1000 & echo \$! > sleeper; }"
	refused "claimed by something that cannot be seen from here" "$dev"
	sleeper=$(< sleeper); kill "$sleeper"; soon has_ended "$sleeper"
	is_free() { zip "$dev" x.ndz 2> /dev/null; }
	soon is_free; taken "$dev"	# its mounts go behind it
fi
mkswap -q "$dev" 2> /dev/null && if swapon "$dev" 2> /dev/null; then
	refused "$dev is used as swap" "$dev"; refused "$dev is used as swap" fs
	swapoff "$dev"
else echo "no swap here: left out"; fi

# Partitions: only those count of which something is captured.
truncate -s 32M disk; printf 'label: dos\nstart=2048,size=8M,type=83\nstart=20480,size=8M,type=83\n' | sfdisk -q disk 2> /dev/null
for at in 2048 20480; do mke2fs -q -F -t ext4 -E offset=$((at * 512)) disk 8m; done
p1=$(losetup -f --show -o $((2048 * 512)) --sizelimit 8M disk) && CLEANUP+=("losetup -d $p1") && mount "$p1" mnt || fail "mounting partition 1"
refused "disk is in use: $p1 is mounted read-write" disk
refused "$p1 is mounted read-write" -s 1 disk
taken -s 2 disk; taken -I 1 disk
umount mnt
if [ -c /dev/fuse ] && command -v ntfs-3g mkntfs > /dev/null; then	# a filesystem of a process
	truncate -s 16M ntfs; quietly mkntfs -F -Q ntfs
	taken ntfs
	ntfs-3g -o no_detach ntfs mnt 2> /dev/null & fuse=$!
	begins $fuse mountpoint -q mnt
	refused "mounted read-write on $T/mnt" ntfs
	umount mnt; wait $fuse
	taken ntfs
else echo "no ntfs-3g: left out"; fi
finish
