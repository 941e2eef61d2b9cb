#!/usr/bin/env bash
# Loads that are interrupted and gone on with, the state on the disk itself; disks that
# shrink or vanish while they are loaded.
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
case $BIN in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires python3 mke2fs debugfs
lab_up 3

# An ext4 of 40 MB with gaps of free space in most chunks.
mkdir "$T/d"
python3 - "$T/d" << 'PY'
import random, sys
r = random.Random(6)
for i in range(32): open(f"{sys.argv[1]}/f{i}", "wb").write(r.randbytes(500000) + b"text " * 60000)
PY
truncate -s 40M "$T/fs"; mke2fs -q -F -t ext4 -d "$T/d" "$T/fs"
for i in {0..31..4}; do debugfs -w -R "rm f$i" "$T/fs" > /dev/null 2>&1; done
"$BIN/imagezip" -q "$T/fs" "$T/img.ndz" || fail "imagezip"
for i in 1 2 3; do poison "$T/d$i" $((40 << 20)); done
"$BIN/imageunzip" -q --in-place -z "$T/img.ndz" "$T/d3"; mv "$T/d3" "$T/want"
poison "$T/d3" $((40 << 20))
leftovers() { LC_ALL=C grep -c -a NDZSTATE "$1"; }
killed() {	# NODE FLUSH: it loads and dies at that flush
	rm -f "$T/fired$1"
	(FAULT="fsync:$2:kill:$T/d$1" FAULT_FIRED=$T/fired$1 LD_PRELOAD=$shim ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 \
	    on "$1" "$BIN/frisbee" -q -m $GROUP -p $PORT -z --state=target --state-interval 0 --in-place "$T/d$1") 2> /dev/null
	check "node $1 was killed at flush $2" [ -e "$T/fired$1" ]
}
# Between two places on the disk a state is on neither: then once more, at another flush.
dies() { local n; for n in 7 8 6 7 8 6; do killed "$1" $n; [ "$(leftovers "$T/d$1")" -lt 1 ] || return; done; }

echo "== two nodes die, another one goes on, with loss"
lab_loss 2 20; lab_loss 3 20
# So slowly that chunks are done before the sixth flush, however long one takes.
serve -W 60M "$T/img.ndz"
load 3 -z --state=target --in-place "$T/d3"
dies 1 & one=$!; dies 2 & two=$!; wait $one $two
for i in 1 2; do
	status 1 "$BIN/imageunzip" --status "$T/d$i"
	check "node $i has a state" [ "$(leftovers "$T/d$i")" -ge 1 ]
done
killed 2 1
for i in 1 2; do load $i -z --state=target --in-place "$T/d$i"; done
for i in 1 2 3; do loaded $i; check "node $i is right, with nothing left of the state" cmp "$T/want" "$T/d$i"; done
all=$(stat_of "$T/client3.json" bytes_written)
# What a state tells of depends on when it was killed.
one=$(stat_of "$T/client1.json" bytes_written) two=$(stat_of "$T/client2.json" bytes_written)
check "they wrote $one and $two bytes, not both of them all $all again" [ $((one + two)) -lt $((2 * all)) ]
kill "$SERVER"; wait "$SERVER" 2> /dev/null

if [ "$(id -u)" != 0 ] || ! dev=$(losetup -f --show "$T/d1" 2> /dev/null); then echo "no loop device: left out"; finish; fi
CLEANUP+=("losetup -d '$dev' 2> /dev/null")
echo "== a disk that shrinks under a load"
writes() { soon is_unfinished; }
is_unfinished() { ! "$BIN/imageunzip" --status "$dev" > "$T/quiet" 2>&1; }
goes() {	# WHAT: the load that is under way fails, and says so in one sentence
	wait "${LOADS[1]}"; local rc=$?
	check "$1: exit $rc, and one sentence: $(cat "$T/client1.log")" [ $rc = 1 -a "$(grep -c . "$T/client1.log")" = 1 ]
	check "it names the disk" grep -q "${dev##*/}.*incomplete" "$T/client1.log"
}
serve -W 20M "$T/img.ndz"
load 1 -q -z "$dev"
check "it has begun" writes
truncate -s 2M "$T/d1"; losetup -c "$dev"
goes "a disk that shrank"
status 1 "$BIN/imageunzip" --status "$dev"
status 1 on 1 "$BIN/frisbee" -q -m $GROUP -p $PORT "$dev"
check "next time it is too small" grep -q "too small" "$T/stderr"
truncate -s 40M "$T/d1"; losetup -c "$dev"
load 1 -q -z "$dev"; loaded 1
check "whole again, it is loaded" cmp "$T/want" "$dev"

echo "== a disk that vanishes"
table() { dmsetup "$1" "$LAB" --table "$2" 2> /dev/null; }
if command -v dmsetup > /dev/null && table create "0 81920 linear $dev 0"; then
	CLEANUP=("dmsetup remove -f $LAB 2> /dev/null" "${CLEANUP[@]}")
	loop=$dev dev=/dev/mapper/$LAB
	load 1 -q -z "$dev"
	check "it has begun" writes
	dmsetup suspend "$LAB"; table load "0 81920 error"; dmsetup resume "$LAB"
	goes "a disk that is gone"
	status 1 "$BIN/imageunzip" --status "$loop"
	dmsetup remove --retry "$LAB"
else echo "no device mapper: left out"; fi
kill "$SERVER"; wait "$SERVER" 2> /dev/null
finish
