#!/usr/bin/env bash
# imageunzip --only together with what else can be asked for: states, proofs, deltas, disks in use, things that know where
# they lie.
. "$(dirname "$0")/lib.sh"
. "$TOP/tests/cli/only_lib.sh"
requires python3 mke2fs sfdisk
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
says() { check "it says: $1" grep -q -- "$1" "$T/stderr"; }
only_disk
whole "$T/disk.ndz"
# A disk with the same partition 6, which begins about one chunk later in the image.
cp --sparse=always "$T/disk" "$T/other"; head -c 2M /dev/urandom > "$T/fs"; put "$T/fs" "$T/other" ${AT[3]}
"$BIN/imagezip" -q -z 1 "$T/other" "$T/other.ndz" || fail "imagezip"

echo "== killed, and gone on with"
written() { json "$1" bytes_written; }
# interrupted AT: killed at that fsync of the target.  How many there are by the time that the first chunks were noted
# depends on the machine, so who goes on with a copy must find some.
interrupted() {
	local copy=target
	cp "$T/before" "$T/t"; rm -f "$T/fired" "$T/state"
	FAULT="fsync:$1:kill:$T/t" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" \
	    "$BIN/imageunzip" -q --only 6 --state="$state" --state-interval 0 "$T/disk.ndz" "$T/t" 2> "$T/quiet"
	[ -e "$T/fired" ] || return
	cp "$T/t" "$T/t3"; [ "$state" = target ] || { copy=$T/state3; cp "$state" "$copy" || return; }
	"$BIN/imageunzip" -q --json --only 6 --state="$copy" "$T/disk.ndz" "$T/t3" > "$T/json" && [ "$(written "$T/json")" -lt 3700000 ]
}
case $BIN in *thread*) echo "another library cannot come before the thread sanitizer's: left out" ;; *)
for state in "$T/state" target; do
	for at in 8 6 7 10 5 9 12 14; do interrupted $at && break; done
	check "$state: it was killed" [ -e "$T/fired" ]
	status 1 "$BIN/imageunzip" --status -s 6 "$T/t"
	status 1 "$BIN/imageunzip" --status --only 6 "$T/t"
	check "the mark is in the partition alone" "$BIN/imageunzip" -q --status "$T/t"
	check "the table is as it was" cmp -n 512 "$T/before" "$T/t"
	cp "$T/t" "$T/t2"
	if [ "$state" != target ]; then
		cp "$state" "$T/state2"
		status 1 "$BIN/imageunzip" -q --only 5 -s 6 --state="$T/state2" "$T/disk.ndz" "$T/t2"; says "$T/state2"
	else
		check "not with another image, which begins anew" "$BIN/imageunzip" -q --only 6 --state=target "$T/other.ndz" "$T/t2"
		# What remains of two states, of 8 KiB each, are zeros.
		check "all of it is there" [ "$(cmp -l <(sectors "$T/t2" ${AT[6]} ${LEN[6]}) <(sectors "$T/whole" ${AT[6]} ${LEN[6]}) | wc -l)" -le 16384 ]
	fi
	check "gone on with" sh -c "'$BIN/imageunzip' -q --json --only 6 --state='$state' '$T/disk.ndz' '$T/t' > '$T/json'"
	check "less is written than all" [ "$(written "$T/json")" -lt 3700000 ]
	cmp -s "$T/t" "$T/before" && fail "nothing happened"
	[ "$state" = target ] || expect "$T/t" 6
	check "no mark is left" "$BIN/imageunzip" -q --status -s 6 "$T/t"
	check "nothing changed in front of it" cmp -n $((AT[6] * 512)) "$T/before" "$T/t"
	check "nor behind it" cmp <(sectors "$T/before" $((AT[6] + LEN[6])) 20000) <(sectors "$T/t" $((AT[6] + LEN[6])) 20000)
	sectors "$T/t" ${AT[6]} ${LEN[6]} > "$T/fs"; check "its filesystem is whole" quietly e2fsck -fn "$T/fs"
done ;; esac

echo "== signed and encrypted"
"$BIN/imagekey" -q --sign-key "$T/lab" --encrypt-key "$T/secret" || fail "imagekey"
KEY=$T/lab.key PUB=$T/lab.pub SECRET=$T/secret
"$BIN/imagezip" -q --sign "$KEY" --encrypt "$SECRET" "$T/disk" "$T/e.ndz" 2> "$T/stderr" || fail "$(cat "$T/stderr")"
cp "$T/before" "$T/t"
check "of an encrypted one" "$BIN/imageunzip" -q --only 2,5 --verify-key "$PUB" --decrypt "$SECRET" "$T/e.ndz" "$T/t"; expect "$T/t" 2,5
cp "$T/before" "$T/t"	# damage where any partition has its data: which chunk that is changes with the contents
python3 -c '
import sys
d = bytearray(open(sys.argv[1], "rb").read())
for at in range((1 << 20) + 50000, len(d), 16384): d[at] ^= 0x5b
open(sys.argv[2], "wb").write(d)' "$T/e.ndz" "$T/bad.ndz"
status 3 "$BIN/imageunzip" -q --only 2,5 --verify-key "$PUB" --decrypt "$SECRET" "$T/bad.ndz" "$T/t"
status 1 "$BIN/imageunzip" -q --only 2 "$T/e.ndz" "$T/t"; says "is encrypted"

echo "== a delta"
"$BIN/imagezip" -q -U "$T/sig" "$T/disk" "$T/base.ndz" 2> "$T/quiet"
cp "$T/disk" "$T/new"; for n in 2 6; do printf "changed $n" | dd of="$T/new" bs=512 seek=$((${AT[$n]} + 3000)) conv=notrunc status=none; done
"$BIN/imagezip" -q -H "$T/sig" "$T/new" "$T/delta.ndz" 2> "$T/quiet" || fail "imagezip -H: $(cat "$T/quiet")"
cp "$T/before" "$T/t"; "$BIN/imageunzip" -q --only 6,1 "$T/base.ndz" "$T/t"
cp "$T/before" "$T/keep"; cp "$T/t" "$T/before"
cp "$T/before" "$T/whole2"; "$BIN/imageunzip" -q --in-place "$T/base.ndz" "$T/whole2"; "$BIN/imageunzip" -q --in-place "$T/delta.ndz" "$T/whole2"; mv "$T/whole" "$T/whole1"; mv "$T/whole2" "$T/whole"
check "onto its partition" "$BIN/imageunzip" -q --only 6 "$T/delta.ndz" "$T/t"; expect "$T/t" 6
check "of which nothing has changed" sh -c "'$BIN/imageunzip' -q --only 1 '$T/delta.ndz' '$T/t' && cmp '$T/want' '$T/t'"
status 1 "$BIN/imageunzip" -q --only 6 -z "$T/delta.ndz" "$T/t"; says "delta"
cp "$T/before" "$T/t"
for n in 2 2,6; do status 1 "$BIN/imageunzip" -q --only $n "$T/delta.ndz" "$T/t"; says "does not hold the base of this delta"; done
status 1 sh -c "exec '$BIN/imageunzip' -q --only 2 - '$T/t' < '$T/delta.ndz'"; says "does not hold the base of this delta"
status 1 "$BIN/imageunzip" -q --only 6 -s 5 "$T/delta.ndz" "$T/t"; says "begins at sector"
check "where the base is not, nothing was written" cmp "$T/before" "$T/t"
check "but with --force" "$BIN/imageunzip" -q --only 2 --force "$T/delta.ndz" "$T/t"
check "in its partition alone" cmp <(sectors "$T/before" 34433 96639) <(sectors "$T/t" 34433 96639)
"$BIN/imagezip" -q "$T/new" "$T/new.ndz" 2> "$T/quiet"; "$BIN/imagedelta" -q "$T/base.ndz" "$T/new.ndz" "$T/d2.ndz" || fail "imagedelta"
cp "$T/before" "$T/t"; check "imagedelta's" "$BIN/imageunzip" -q --only 6 "$T/d2.ndz" "$T/t"; expect "$T/t" 6
mv "$T/keep" "$T/before"; mv "$T/whole1" "$T/whole"

echo "== a dry run"
# old_signature N: something older at the end of partition N of $T/t.
old_signature() {
	truncate -s 64K "$T/swap"; mkswap -q "$T/swap" > /dev/null 2>&1
	sectors "$T/swap" 0 16 | put /dev/stdin "$T/t" $((AT[$1] + LEN[$1] - 4096))
}
cp "$T/before" "$T/t"; for n in 2 5 6; do old_signature $n; done
cp "$T/t" "$T/old"; was=$(stat -c '%y %z' "$T/t")
"$BIN/imageunzip" --dry-run --json --only 6,2 "$T/disk.ndz" "$T/t" > "$T/dry" 2> "$T/stderr" || fail "--dry-run"
check "nothing was written" cmp "$T/old" "$T/t"
check "nor touched" [ "$was" = "$(stat -c '%y %z' "$T/t")" ]
check "the partitions, and what they get: $(cat "$T/dry")" json "$T/dry" dry_run=true "partitions[#]=2" \
    "partitions[0].number=6" "partitions[0].first_sector=${AT[6]}" "partitions[0].bytes_stored>3000000" \
    "partitions[1].number=2" "partitions[1].sectors=${LEN[2]}" "partitions[1].left_out=false" bytes_stored_outside=0
"$BIN/imageunzip" --json --only 6,2 "$T/disk.ndz" "$T/t" > "$T/json" 2> "$T/stderr" || fail "--only 6,2"
check "it writes as much: $(json "$T/json" bytes_written)" \
    [ "$(json "$T/json" bytes_written)" = "$(json "$T/dry" bytes_stored)" ]
check "and wipes as many signatures" [ "$(json "$T/json" stale_signatures_wiped)" = "$(json "$T/dry" stale_signatures)" ]
check "into another partition" sh -c "'$BIN/imageunzip' --dry-run --only 1 -s 5 '$T/disk.ndz' '$T/t' > '$T/out'"
check "it says which" grep -q "^partition 5, sectors ${AT[5]}-.*of data" "$T/out"
cp "$T/before" "$T/t"
for what in "--only 6 -s 3" "--only 7"; do
	"$BIN/imageunzip" -q $what "$T/disk.ndz" "$T/t" 2> "$T/real"; rc=$?
	status $rc "$BIN/imageunzip" -q --dry-run $what "$T/disk.ndz" "$T/t"
	check "$what is refused in the same words" cmp <(grep -v ^usage "$T/real") <(grep -v ^usage "$T/stderr")
done
check "it is untouched" cmp "$T/before" "$T/t"

status 1 "$BIN/imageunzip" -q --only 6 "$T/disk.ndz" "$T/absent"
check "a file that is not there has none" grep -q "absent: --only installs into a partition .*streamdisk --ro --partition.*: No such file" "$T/stderr"
check "and is not made" [ ! -e "$T/absent" ]

echo "== killed between two partitions"
# between AT: killed at that fsync of the target.
between() {
	cp "$T/before" "$T/t"; rm -f "$T/fired"
	FAULT="fsync:$1:kill:$T/t" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" \
	    "$BIN/imageunzip" -q --only 2,6 "$T/disk.ndz" "$T/t" 2> "$T/quiet"
	[ -e "$T/fired" ] && "$BIN/imageunzip" -q --status -s 2 "$T/t" 2> "$T/quiet" &&
	    ! "$BIN/imageunzip" -q --status -s 6 "$T/t" 2> "$T/quiet" &&
	    ! cmp -s <(sectors "$T/before" ${AT[2]} 8) <(sectors "$T/t" ${AT[2]} 8)
}
case $BIN in *thread*) echo "another library cannot come before the thread sanitizer's: left out" ;; *)
found=
for at in 5 6 7 4 8 9 3 10; do between $at && found=$at && break; done
check "killed when partition 2 was complete, and 6 known as unfinished: fsync $found" [ -n "$found" ]
check "partition 2 is whole" cmp <(sectors "$T/whole" ${AT[2]} ${LEN[2]}) <(sectors "$T/t" ${AT[2]} ${LEN[2]})
status 1 "$BIN/imageunzip" --status -s 6 "$T/t"; says "is not complete"
check "partition 6 alone" "$BIN/imageunzip" -q --only 6 "$T/disk.ndz" "$T/t"; expect "$T/t" 2,6
cp "$T/before" "$T/t"
check "a state of each" "$BIN/imageunzip" -q --only 2,6 --state=target --state-interval 0 "$T/disk.ndz" "$T/t"
for n in 2 6; do
	sectors "$T/t" ${AT[$n]} ${LEN[$n]} > "$T/fs"; check "filesystem $n is whole" quietly e2fsck -fn "$T/fs"
	check "no mark is left in $n" "$BIN/imageunzip" -q --status -s $n "$T/t"
done
cp "$T/before" "$T/t"; rm -f "$T/fired"
FAULT="fsync:12:kill:$T/t" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" \
    "$BIN/imageunzip" -q --only 2,6 --state=target --state-interval 0 "$T/disk.ndz" "$T/t" 2> "$T/quiet"
check "killed with two states" [ -e "$T/fired" ]
check "gone on with" sh -c "'$BIN/imageunzip' -q --json --only 2,6 --state=target '$T/disk.ndz' '$T/t' > '$T/json'"
check "less is written than all: $(written "$T/json")" [ "$(written "$T/json")" -lt "$(json "$T/dry" bytes_stored)" ]
for n in 2 6; do sectors "$T/t" ${AT[$n]} ${LEN[$n]} > "$T/fs"; check "filesystem $n is whole" quietly e2fsck -fn "$T/fs"; done
;; esac

echo "== chunks that are missing"
python3 - "$T/disk.ndz" "$T/gap.ndz" << 'PY'
import sys
b = open(sys.argv[1], "rb").read(); n = len(b) >> 20
open(sys.argv[2], "wb").write(b[: (n - 3) << 20] + b[(n - 2) << 20 :])
PY
cp "$T/before" "$T/t"; status 3 "$BIN/imageunzip" -q --only 6 "$T/gap.ndz" "$T/t"
status 3 sh -c "exec '$BIN/imageunzip' -q --only 6 - '$T/t' < '$T/gap.ndz'"

echo "== what knows where it lies"
make_disk() { python3 "$TOP/tests/helpers/bsdlabel_make.py" "$@"; }
moved() { python3 "$TOP/tests/helpers/bsdlabel_moved.py" "$@"; }
truncate -s 80M "$T/dos"; printf 'label: dos\nstart=2048,size=4096\nstart=9999,size=120000\n' | sfdisk -q "$T/dos" 2> "$T/quiet"
label() {	# STYLE BASE [openbsd]
	make_disk "$T/src" 48640 2048 "$1" a:7:0:16384 b:1:16384:8192 f:7:30000:16400
	"$BIN/imagezip" -q "$T/src" "$T/x.ndz" 2> "$T/quiet"
	check "$1: the disk's image has no relocation" sh -c "'$BIN/imagedump' '$T/x.ndz' | grep -q ' 0 relocations'"
	cp "$T/dos" "$T/t"; check "$1: elsewhere" "$BIN/imageunzip" -q --only 1 -s 2 "$T/x.ndz" "$T/t"
	check "$1: its label is right there" moved "$T/src" 2048 "$2" "$T/t" 9999 120000 ${3:-}
	cp "$T/src" "$T/t"; check "$1: where it was" "$BIN/imageunzip" -q --only 1 "$T/x.ndz" "$T/t"
	check "$1: it is as it was" cmp "$T/src" "$T/t"
}
label absolute 2048
label openbsd 2048 openbsd
make_disk "$T/src" 48640 2048 freebsd a:7:0:16384 b:1:16384:8192
"$BIN/imagezip" -q "$T/src" "$T/x.ndz" 2> "$T/quiet"; cp "$T/dos" "$T/t"; "$BIN/imageunzip" -q --only 1 -s 2 "$T/x.ndz" "$T/t"
check "offsets from the slice are right anywhere" cmp <(sectors "$T/src" 2049 1) <(sectors "$T/t" 10000 1)
make_disk "$T/src" 48640 2048 netbsd a:7:0:16384
"$BIN/imagezip" -q "$T/src" "$T/x.ndz" 2> "$T/quiet"; cp "$T/dos" "$T/t"
check "NetBSD's" "$BIN/imageunzip" -q --only 1 -s 2 "$T/x.ndz" "$T/t" 2> "$T/stderr"; says "begins at another sector than it did in the image, and its NetBSD disklabel"
printf 'LILO\1\0' | dd of="$T/disk" bs=1 seek=$((AT[1] * 512 + 6)) conv=notrunc status=none; printf '\1\0' | dd of="$T/disk" bs=1 seek=$((AT[1] * 512 + 10)) conv=notrunc status=none
"$BIN/imagezip" -q "$T/disk" "$T/x.ndz" 2> "$T/quiet"; cp "$T/before" "$T/t"
"$BIN/imageunzip" -q --only 1 -s 5 "$T/x.ndz" "$T/t" 2> "$T/stderr"; says "run lilo again"

echo "== a neighbour that is in use"
[ "$(id -u)" = 0 ] || { echo "needs root: left out"; finish; }
mkdir "$T/mnt"; cp "$T/before" "$T/t"
for n in 2 5; do small_fs "$T/fs" ${LEN[$n]} 100000; put "$T/fs" "$T/t" ${AT[$n]}; done
cp "$T/t" "$T/before"; whole "$T/disk.ndz"
use() {	# N: mount that partition, by a loop device of its own
	used=$(losetup -f --show -o $((AT[$1] * 512)) --sizelimit $((LEN[$1] * 512)) "$T/t" 2> /dev/null) || return
	CLEANUP=("umount '$T/mnt' 2> /dev/null" "losetup -d '$used' 2> /dev/null" "${CLEANUP[@]}")
	mount -o ro,noload "$used" "$T/mnt" 2> /dev/null
}
leave() { umount "$T/mnt"; losetup -d "$used"; }
if use 5; then
	status 1 "$BIN/imageunzip" -q --in-place "$T/disk.ndz" "$T/t"; says "mounted on"
	for n in 5 1,5; do status 1 "$BIN/imageunzip" -q --only $n "$T/disk.ndz" "$T/t"; says "mounted on"; done
	check "nothing was written" cmp "$T/before" "$T/t"
	check "--only of another partition" "$BIN/imageunzip" -q --only 6 "$T/disk.ndz" "$T/t"; expect "$T/t" 6
	check "--force" "$BIN/imageunzip" -q --only 5 --force "$T/disk.ndz" "$T/t"; expect "$T/t" 6,5
	leave
else echo "no mount: left out"; fi
# Partition 3 begins within the page in which partition 2 ends.
cp "$T/before" "$T/t"
if use 2; then
	status 1 "$BIN/imageunzip" -q --only 3 "$T/disk.ndz" "$T/t"; says "mounted on"
	check "farther away" "$BIN/imageunzip" -q --only 5 "$T/disk.ndz" "$T/t"; expect "$T/t" 5
	leave
fi
finish
