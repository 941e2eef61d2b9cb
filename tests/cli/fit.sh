#!/usr/bin/env bash
# --fit: partitions of an image go where a plan says on disks of other sizes.  What is in them is the same (--no-follow; how
# filesystems grow is in fs/fit_follow), the table has the
# plan, what names its place is adapted, and what cannot be done is refused before anything is written.
# POINTS: the power fails so often (3).
. "$(dirname "$0")/lib.sh"
requires sfdisk sgdisk mkfs.ext4 mkfs.ntfs mkfs.vfat mkswap debugfs
# make_fs TYPE SECTORS FILE: a filesystem that has a file
make_fs() {
	truncate -s $(($2 * 512)) "$3"
	case $1 in
	ext4) mkfs.ext4 -q -F -d "$T/files" "$3" ;;
	ntfs) mkfs.ntfs -q -F -Q -p "$4" -H 255 -S 63 "$3" > "$T/log" 2>&1 ;;
	fat) mkfs.vfat -F 32 -h "$4" "$3" > "$T/log" ;;
	swap) mkswap -q "$3" 2> "$T/log" ;;
	esac
}
mkdir "$T/files"; head -c 3000000 /dev/zero | tr '\0' 'a' > "$T/files/a"
put() { dd if="$1" of="$T/$3" bs=512 seek="$2" conv=notrunc,sparse status=none; }
fit() { "$BIN/imageunzip" --fit --no-follow "$@" 2> "$T/said" || fail "imageunzip --fit $*: $(cat "$T/said")"; }
first() { sfdisk -J "$T/$1" | json - "partitiontable.partitions[$2].start"; }
length() { sfdisk -J "$T/$1" | json - "partitiontable.partitions[$2].size"; }
# the same_part IMAGE'S DISK, FIRST, SECTORS, DISK, FIRST: the sectors are the same
same_part() { cmp <(dd if="$T/$1" bs=512 skip="$2" count="$3" status=none) <(dd if="$T/$4" bs=512 skip="$5" count="$3" status=none); }
word() { od -An -tu4 -j $(($3 + $2 * 512)) -N 4 "$T/$1" | tr -d ' '; }

echo "== Windows' layout: ESP, MSR, C:, recovery"
truncate -s 260M "$T/win"
printf 'label: gpt\nstart=2048, size=69632, type=U\nstart=71680, size=32768, type=E3C9E316-0B5C-4DB8-817D-F92DF00215AE
start=104448, size=204800, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7, name="C"
start=309248, size=204800, type=DE94BBA4-06D1-4D40-A16A-BFD50179D6AC, attrs=RequiredPartition\n' | sfdisk -q "$T/win"
make_fs fat 69632 "$T/esp" 2048; make_fs ntfs 204800 "$T/c" 104448; make_fs ntfs 204800 "$T/re" 309248
put "$T/esp" 2048 win; put "$T/c" 104448 win; put "$T/re" 309248 win
"$BIN/imagezip" -q "$T/win" "$T/win.ndz" 2> "$T/log" || fail "imagezip: $(cat "$T/log")"
truncate -s 500M "$T/big"
"$BIN/imageunzip" --plan --json "$T/win.ndz" "$T/big" > "$T/plan.json" || fail "--plan"
check "--plan writes nothing" [ "$(du -k "$T/big" | cut -f1)" = 0 ]
check "the plan" json "$T/plan.json" 'partitions[0].moves=false' 'partitions[2].shares=true' \
	'partitions[2].first_sector=104448' 'partitions[3].moves=true' 'partitions[3].sectors=204800'
"$BIN/imageunzip" --plan "$T/win.ndz" "$T/big" > "$T/plan.txt" || fail "--plan"
check "for people, too" grep -q "recovery environment; moves" "$T/plan.txt"
fit "$T/win.ndz" "$T/big"
to=$(first big 3)
check "the recovery partition is where the plan has it: $to" [ "$to" = "$(json "$T/plan.json" 'partitions[3].first_sector')" ]
check "C: has what the plan says" [ "$(length big 2)" = "$(json "$T/plan.json" 'partitions[2].sectors')" ]
check "the table is sound: $(sgdisk -v "$T/big")" sh -c "sgdisk -v '$T/big' | grep -q 'No problems found'"
check "GUIDs, names and flags are the same" [ "$(sfdisk -d "$T/win" | sed -n 's/.*type=/type=/p')" = "$(sfdisk -d "$T/big" | sed -n 's/.*type=/type=/p')" ]
check "C: is the same" same_part win 104448 204800 big 104448
check "the ESP is the same" same_part win 2048 69632 big 2048
check "the recovery partition's hidden sectors: $(word big "$to" 28)" [ "$(word big "$to" 28)" = "$to" ]
check "and in its copy: $(word big $((to + 204799)) 28)" [ "$(word big $((to + 204799)) 28)" = "$to" ]
check "all else is the same" [ "$(cmp -l <(dd if="$T/win" bs=512 skip=309248 count=204800 status=none) <(dd if="$T/big" bs=512 skip="$to" count=204800 status=none) | wc -l)" -le 8 ]
check "reagentc is named" grep -q "reagentc /enable" "$T/said"
check "what grew is told" grep -q "partition 3 has .* its filesystem keeps its length" "$T/said"

echo "== by a plan of the user's"
sed -E "s/\"first_sector\": $to/\"first_sector\": $((to + 2048))/" "$T/plan.json" > "$T/own.json"
length=$(json "$T/plan.json" 'partitions[3].sectors'); rm "$T/big"; truncate -s 502M "$T/big"
"$BIN/imageunzip" -q --fit="$T/own.json" "$T/win.ndz" "$T/big" 2> "$T/said" || fail "own plan: $(cat "$T/said")"
check "is where it says" [ "$(first big 3)" = $((to + 2048)) ]
echo '{"partitions":[]}' > "$T/none.json"; rm "$T/big"; truncate -s 502M "$T/big"
status 3 "$BIN/imageunzip" -q --fit="$T/none.json" "$T/win.ndz" "$T/big"
check "a lost partition is refused: $(cat "$T/stderr")" grep -q "lacks partition 1" "$T/stderr"
check "nothing was written" [ "$(du -k "$T/big" | cut -f1)" = 0 ]

echo "== too small by a sector, and the least disk"
least=$(json "$T/plan.json" least_sectors); rm "$T/big"; truncate -s $(((least - 1) * 512)) "$T/big"
status 1 "$BIN/imageunzip" -q --fit "$T/win.ndz" "$T/big"
check "refused: $(cat "$T/stderr")" grep -q "need at least $least .*--shrink" "$T/stderr"
check "nothing was written" [ "$(du -k "$T/big" | cut -f1)" = 0 ]
truncate -s $((least * 512)) "$T/big"; fit -q "$T/win.ndz" "$T/big"
check "the least disk has room, which is less than the image's" [ "$least" -lt $((260 * 2048)) ]
check "all is there" same_part win 104448 204800 big 104448
check "its table is sound" sh -c "sgdisk -v '$T/big' | grep -q 'No problems found'"

echo "== Linux in an MBR: root, and swap in an extended partition"
random_bytes 5000000 1 > "$T/files/b"	# of several chunks
truncate -s 120M "$T/mbr"
printf 'label: dos\nstart=2048, size=163840, type=83, bootable\nstart=167936, size=71680, type=5\nstart=169984, size=32768, type=82\n' | sfdisk -q "$T/mbr"
printf 'GRUB\125' | dd of="$T/mbr" bs=512 seek=1 conv=notrunc status=none
make_fs ext4 163840 "$T/root"; make_fs swap 32768 "$T/swap"; put "$T/root" 2048 mbr; put "$T/swap" 169984 mbr
"$BIN/imagezip" -q "$T/mbr" "$T/mbr.ndz" 2> "$T/log" || fail "imagezip: $(cat "$T/log")"
truncate -s 160M "$T/two"; dd if="$T/root" of="$T/two" bs=512 seek=160000 conv=notrunc status=none	# an old filesystem
fit "$T/mbr.ndz" "$T/two"
swap=$(sfdisk -d "$T/two" | sed -n 's/.*5 : start= *\([0-9]*\),.*type=82.*/\1/p')
check "the swap moved, at a multiple of 1 MiB: $swap" [ "$((swap > 169984 && swap % 2048 == 0))" = 1 ]
check "is there" same_part mbr 169984 8 two "$swap"
check "sfdisk finds nothing wrong: $(sfdisk -V "$T/two" 2>&1)" sh -c "sfdisk -V '$T/two' 2>&1 | grep -q 'No errors detected'"
check "the boot loader behind the MBR is there" same_part mbr 1 2047 two 1
dd if="$T/two" of="$T/part" bs=512 skip=2048 count="$(length two 0)" conv=sparse status=none
check "the root is whole" quietly e2fsck -fn "$T/part"
check "and can be enlarged" quietly resize2fs "$T/part"
check "its file is there" sh -c "debugfs -R 'cat a' '$T/part' 2> /dev/null | cmp - '$T/files/a'"

echo "== rehearsed, and a reload"
rm "$T/two"; truncate -s 160M "$T/two"
"$BIN/imageunzip" --dry-run --json --fit "$T/mbr.ndz" "$T/two" > "$T/dry.json" 2> "$T/said" || fail "--dry-run: $(cat "$T/said")"
check "a rehearsal writes nothing" [ "$(du -k "$T/two" | cut -f1)" = 0 ]
check "has the places of the plan" json "$T/dry.json" "partitions[1].first_sector=$swap" 'partitions[1].bytes_stored>0' \
	"partitions[0].sectors>163840" "bytes_stored_outside=1048576"
check "says what would move: $(cat "$T/said")" grep -q "5 would move from sector 169984 to $swap" "$T/said"
truncate -s 90M "$T/less"; status 1 "$BIN/imageunzip" -q --dry-run --fit "$T/mbr.ndz" "$T/less"; rm "$T/less"
check "and refuses what is refused: $(cat "$T/stderr")" grep -q "do not fit" "$T/stderr"
fit -q "$T/mbr.ndz" "$T/two"
"$BIN/imagehash" -q "$T/mbr.ndz" "$T/two"; check "by its own places the disk differs" [ $? = 4 ]
check "imagehash knows where partitions are" quietly "$BIN/imagehash" --fit "$T/mbr.ndz" "$T/two"
cp --sparse=always "$T/two" "$T/other"; printf 'x' | dd of="$T/other" bs=512 seek=$((swap + 1)) conv=notrunc status=none
check "and what differs there, by places of the image" [ "$("$BIN/imagehash" --fit --json -b 512 "$T/mbr.ndz" "$T/other" | json -1 - different_sectors "ranges[0].first_sector")" = "1 169985" ]
sfdisk -q --delete "$T/other" 5 && status 1 "$BIN/imagehash" --fit "$T/mbr.ndz" "$T/other"
check "not a disk that lacks one: $(cat "$T/stderr")" grep -q "has no partition 5, as the image has" "$T/stderr"
"$BIN/imagehash" -c -o "$T/mbr.sig" "$T/mbr.ndz"; status 1 "$BIN/imagehash" --fit "$T/mbr.sig" "$T/two"
check "nor with a signature alone: $(cat "$T/stderr")" grep -q "needs the image, which has a table" "$T/stderr"; rm "$T/other"
cp "$T/two" "$T/grown"; dd if="$T/part" of="$T/grown" bs=512 seek=2048 conv=notrunc,sparse status=none
"$BIN/imageunzip" --json --skip-same --no-follow --fit "$T/mbr.ndz" "$T/grown" > "$T/same.json" 2> "$T/said" || fail "--skip-same: $(cat "$T/said")"
check "what a grown filesystem has still is not written again" json "$T/same.json" 'bytes_same>5000000' 'bytes_written<2000000'
dd if="$T/grown" of="$T/part" bs=512 skip=2048 count="$(length grown 0)" conv=sparse status=none
check "and all is as in the image" quietly e2fsck -fn "$T/part"
check "its files, too" sh -c "debugfs -R 'cat b' '$T/part' 2> /dev/null | cmp - '$T/files/b'"
cp "$T/mbr" "$T/new"; printf 'changed' | dd of="$T/new" bs=512 seek=169985 conv=notrunc status=none
"$BIN/imagezip" -q "$T/new" "$T/new.ndz" && "$BIN/imagedelta" -q "$T/mbr.ndz" "$T/new.ndz" "$T/delta.ndz" || fail "a delta"
status 1 "$BIN/imageunzip" -q --fit "$T/delta.ndz" "$T/two"
check "a delta has no plan: $(cat "$T/stderr")" grep -q "is of a delta.*--fit is for whole images" "$T/stderr"
status 1 "$BIN/imageunzip" -q "$T/delta.ndz" "$T/two"
check "and its base is not there: $(cat "$T/stderr")" grep -q "does not hold the base of this delta" "$T/stderr"
cp --sparse=always "$T/two" "$T/three"
check "with --only it goes into a partition that moved, and one that has room" quietly "$BIN/imageunzip" -q --only=1,5 "$T/delta.ndz" "$T/three"
check "it is there" same_part new 169984 32768 three "$swap"
check "nothing else has changed" cmp -n $((swap * 512)) "$T/two" "$T/three"
dd if="$T/two" of="$T/part" bs=512 skip=2048 count="$(length two 0)" conv=sparse status=none
quietly e2fsck -fy "$T/part"; quietly resize2fs "$T/part" || fail "resize2fs: $(cat "$T/quiet")"
dd if="$T/part" of="$T/three" bs=512 seek=2048 conv=notrunc status=none; cp --sparse=always "$T/three" "$T/other"
"$BIN/imagedelta" -q "$T/new.ndz" "$T/mbr.ndz" "$T/back.ndz" || fail "a delta"
status 1 "$BIN/imageunzip" -q --only=1 "$T/back.ndz" "$T/three"
check "not into one whose filesystem has grown: $(cat "$T/stderr")" grep -q "what begins at sector 20[0-9]* differs" "$T/stderr"
check "nothing is written" cmp "$T/three" "$T/other"
check "but into the one that only moved" quietly "$BIN/imageunzip" -q --only=5 "$T/back.ndz" "$T/three"
check "it is there" same_part mbr 169984 32768 three "$swap"; rm "$T/three" "$T/other"

echo "== -z, and a run that is cut off"
rm "$T/two"; head -c 160M /dev/zero | tr '\0' 'x' > "$T/two"
fit -q -z "$T/mbr.ndz" "$T/two"
truncate -s 160M "$T/three"; fit -q "$T/mbr.ndz" "$T/three"
check "no old byte is left, and nothing else is another" cmp "$T/two" "$T/three"; rm "$T/three"

echo "== killed at each flush: known as unfinished, and goes on with the same plan only"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 FRISBEE_NO_URING=1
case $(basename "$(dirname "$BIN")") in *thread*) finish ;; esac	# another library cannot come before that sanitizer's
"$BIN/imageunzip" --plan --json "$T/mbr.ndz" "$T/two" > "$T/plan.json" 2> "$T/said" || fail "--plan: $(cat "$T/said")"
sed -E "s/\"first_sector\": $swap/\"first_sector\": $((swap - 2048))/; s/\"sectors\": $((swap - 4096)),/\"sectors\": 163840,/" "$T/plan.json" > "$T/own.json"
check "another plan" sh -c "! cmp -s '$T/plan.json' '$T/own.json'"
go_on() { "$BIN/imageunzip" -q --no-follow --state="$T/kept" --state-interval 0 "$@" "$T/mbr.ndz" "$T/cut"; }
others=0
for ((n = 1; n < 40; n++)); do
	rm -f "$T/cut" "$T/fired" "$T/kept"; truncate -s 160M "$T/cut"
	( FAULT="fsync:$n:kill:$T/cut" FAULT_FIRED=$T/fired LD_PRELOAD=$shim go_on --fit ) 2> "$T/quiet"
	[ -e "$T/fired" ] || break
	if cmp -s -n 512 "$T/cut" "$T/two"; then
		echo "ok: flush $n comes when all is done"
	else
		status 1 "$BIN/imageunzip" --status "$T/cut"
		# A state that names no chunk, at the beginning and at the very end, belongs to any plan.
		if [ "$n" -ge 4 ] && ! go_on --fit="$T/own.json" 2> "$T/said"; then others=$((others + 1))
		elif [ "$n" -ge 4 ]; then rm -f "$T/cut" "$T/kept"; truncate -s 160M "$T/cut"; fi
	fi
	go_on --fit 2> "$T/said" || fail "flush $n: it does not go on: $(cat "$T/said")"
	cmp "$T/cut" "$T/two" || fail "flush $n: another disk"
done
check "$n flushes; a state was no other plan's in $others" [ "$n" -gt 6 -a "$others" -ge 3 ]

echo "== the power fails: what looks whole is, and all else goes on"
RANDOM=${POINTS_SEED:-7} calls=
fails_at() {	# ACCESS SEED: of those that change the disk
	rm -f "$T/cut" "$T/fired" "$T/kept" "$T/calls"; truncate -s 160M "$T/cut"
	( FAULT="change:$1:power:$T/cut" FAULT_SEED=$2 FAULT_FIRED=$T/fired FAULT_CALLS=$T/calls LD_PRELOAD=$shim go_on --fit ) 2> "$T/quiet"
}
fails_at 1000000 1; calls=$(cat "$T/calls")
for ((i = 1; i <= ${POINTS:-3}; i++)); do
	n=$((1 + RANDOM % calls))
	fails_at $n $i
	[ -e "$T/fired" ] || fail "access $n of $calls did not come"
	! cmp -s -n 512 "$T/cut" "$T/two" || cmp "$T/cut" "$T/two" || fail "access $n: looks whole"
	go_on --fit 2> "$T/said" || fail "access $n: it does not go on: $(cat "$T/said")"
	cmp "$T/cut" "$T/two" || fail "access $n, seed $i: another disk"
done
check "at ${POINTS:-3} of $calls accesses" [ "$i" -gt "${POINTS:-3}" ]

echo "== the state on the target, in free space of a partition that moved or grew"
on() { "$BIN/imageunzip" -q --no-follow --state=target --state-interval 0 --fit "$T/mbr.ndz" "$T/cut"; }
resumed=0
for n in 4 6 8; do
	rm -f "$T/cut" "$T/fired"; truncate -s 160M "$T/cut"
	( FAULT="fsync:$n:kill:$T/cut" FAULT_FIRED=$T/fired LD_PRELOAD=$shim on ) 2> "$T/quiet"
	check "killed at flush $n" [ -e "$T/fired" ]
	"$BIN/imageunzip" --no-follow --state=target --fit "$T/mbr.ndz" "$T/cut" 2> "$T/said" || fail "flush $n: $(cat "$T/said")"
	grep -q "chunks are on the target already" "$T/said" && resumed=$((resumed + 1))
	check "the same disk" cmp "$T/cut" "$T/two"
done
check "gone on with: $resumed" [ "$resumed" -ge 2 ]
finish
