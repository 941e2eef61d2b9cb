#!/usr/bin/env bash
# imageunzip --fit and --grow: filesystems follow their partitions before the disk counts as
# whole.  Killed at each tool it is known as unfinished, and the next run makes it whole; what
# no tool can be run for is said before anything is written.
. "$(dirname "$0")/resize_lib.sh"
requires sgdisk mkfs.vfat fatresize fsck.fat mcopy
# DISK INDEX MEMBER
number() { sfdisk -J "$T/$1" | json - "partitiontable.partitions[$2].$3"; }
# of DISK INDEX: what is in that partition, as $T/fs
part_of() {
	local start size
	start=$(number "$1" "$2" start) size=$(number "$1" "$2" size)
	rm -f "$T/fs"; truncate -s $((size * 512)) "$T/fs"
	lay "$T/$1" "$T/fs" 0 $((start * 512)) $((size * 512))
}
followed() {	# DISK INDEX TYPE LEAST-MIB: it fills its partition, and the files are there
	local type=$3
	[ "$type" != ntfs ] || type=ntfs-3g
	part_of "$1" "$2"
	check "$3: its own fsck finds nothing" quietly whole "$3"
	check "$3: it is larger when it is mounted" \
	    [ "$(mounted "$type" ro room_of)" -gt $(($4 << 20)) ]
	check "$3: the files are the same" mounted "$type" ro same_files
}
new_disk() { rm -f "$T/$1"; truncate -s "$2" "$T/$1"; }	# NAME SIZE
layout() { sfdisk -q "$T/disk" || fail sfdisk; }
capture() {	# IMAGE: of the disk
	"$BIN/imagezip" -q -z 1 "$T/disk" "$T/$1" 2> "$T/said" || fail "$(cat "$T/said")"
}
unzip() { "$BIN/imageunzip" "$@" 2> "$T/said"; }

echo "== ext4 as /boot, btrfs, NTFS and XFS, with swap behind them"
new_disk disk 680M
layout << 'END'
label: gpt
start=2048, size=61440, type=uefi
start=63488, size=81920
start=145408, size=245760
start=391168, size=122880, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7
start=514048, size=655360
start=1169408, size=8192, type=S
END
rm -f "$T/fs"; truncate -s 30M "$T/fs"; mkfs.vfat -h 2048 "$T/fs" > "$T/quiet"
lay "$T/fs" "$T/disk" $((2048 * 512))
make_fs ext4 40M; lay "$T/fs" "$T/disk" $((63488 * 512))
cp --sparse=always "$T/fs" "$T/ext4"
make_fs btrfs 120M; lay "$T/fs" "$T/disk" $((145408 * 512))
make_fs ntfs 60M; lay "$T/fs" "$T/disk" $((391168 * 512))
make_fs xfs 320M; lay "$T/fs" "$T/disk" $((514048 * 512))
rm "$T/fs"; truncate -s 4M "$T/fs"; quietly mkswap "$T/fs"
lay "$T/fs" "$T/disk" $((1169408 * 512))
capture all.ndz
new_disk big 1300M
quietly "$BIN/imageunzip" --plan "$T/all.ndz" "$T/big" || fail "--plan"
check "--plan warns of nothing" [ "$(grep -c warning "$T/quiet")" = 0 ]
unzip --fit "$T/all.ndz" "$T/big" || fail "--fit: $(cat "$T/said")"
check "it is said: $(cat "$T/said")" \
    [ "$(grep -c 'partition [0-9]: [a-z0-9]* grew' "$T/said")" = 3 ]
check "no loop device is left" no_loops "$T/"
check "the table is sound" sh -c "sgdisk -v '$T/big' | grep -q 'No problems found'"
part_of big 1; check "/boot stays as it is" cmp "$T/fs" "$T/ext4"
followed big 2 btrfs 200; followed big 3 ntfs 100; followed big 4 xfs 550
"$BIN/growfs" --dry-run --json "$T/big" > "$T/report"	# status 4: the last one is swap
check "growfs finds nothing to do" json "$T/report" 'partitions[1].became=fills' \
    'partitions[2].became=fills' 'partitions[3].became=fills' 'partitions[4].became=fills'
part_of big 5; check "the swap is there" [ "$(blkid -p -s TYPE -o value "$T/fs")" = swap ]

echo "== --grow, and what stays"
new_disk disk 48M
printf 'label: gpt\nstart=2048, size=8192, type=S\nstart=10240, size=81920\n' | layout
lay "$T/ext4" "$T/disk" $((10240 * 512)); capture grow.ndz
new_disk big 100M; unzip --grow "$T/grow.ndz" "$T/big" || fail "--grow: $(cat "$T/said")"
check "it is said" grep -q "partition 2: ext4 grew from 41.9 MB to" "$T/said"
followed big 1 ext4 80
new_disk big 100M
unzip --grow --no-follow "$T/grow.ndz" "$T/big" || fail "$(cat "$T/said")"
check "--no-follow: $(cat "$T/said")" grep -q "its filesystem keeps its length" "$T/said"
part_of big 1; check "and it does" cmp -n $((40 << 20)) "$T/fs" "$T/ext4"
"$BIN/imagezip" -q -I 2 "$T/disk" "$T/part.ndz" 2> "$T/said" || fail "$(cat "$T/said")"
cp --sparse=always "$T/disk" "$T/big"; truncate -s 100M "$T/big"
unzip -q --grow "$T/part.ndz" "$T/big" || fail "$(cat "$T/said")"
part_of big 1
check "what the image has left out is the disk's own" cmp -n $((40 << 20)) "$T/fs" "$T/ext4"

echo "== FAT32, by a plan of the user's, and FAT that fatresize cannot make larger"
# Its first 11 bytes and its boot code are those of mkfs, and it knows its place.
new_fat() {	# BYTES OPTION...
	rm -f "$T/fs"; truncate -s "$1" "$T/fs"
	quietly mkfs.vfat "${@:2}" "$T/fs" && quietly mcopy -i "$T/fs" -s "$T/files"/* ::/ || fail "mkfs.vfat"
	cp --sparse=always "$T/fs" "$T/fat"
}
# $T/fs has grown, and has its files and what its boot sector had; the copy says the same.
fat_grew() {	# FIRST-SECTOR LEAST-MIB
	local at
	check "it is said: $(cat "$T/said")" grep -q "partition 2: vfat grew from 29. MB to" "$T/said"
	part_of big 1; check "it is whole" quietly fsck.fat -n "$T/fs"
	check "it is larger" [ "$(od -An -tu4 -j 32 -N 4 "$T/fs" | tr -d ' ')" -gt $(($2 * 2048)) ]
	rm -rf "$T/out"; mkdir "$T/out"; quietly mcopy -i "$T/fs" -s ::/* "$T/out"
	check "the files are the same" diff -r "$T/files" "$T/out"
	for at in "0 11" "64 446"; do
		check "the boot sector has what it had at $at" cmp -s -i ${at% *} -n ${at#* } "$T/fs" "$T/fat"
	done
	check "it says its place: $1" [ "$(od -An -tu4 -j 28 -N 4 "$T/fs" | tr -d ' ')" = "$1" ]
	check "the copy says the same" cmp -s -n 512 -i "0:$((6 * 512))" "$T/fs" "$T/fs"
}
new_disk disk 290M
printf 'label: dos\nstart=2048, size=16384, type=82\nstart=18432, size=573440, type=c\n' | layout
new_fat 280M -F 32 -s 8 -h 18432 -n DATA; lay "$T/fs" "$T/disk" $((18432 * 512)); capture fat.ndz
new_disk big 700M
"$BIN/imageunzip" --plan --json "$T/fat.ndz" "$T/big" > "$T/plan" || fail "--plan"
python3 - "$T/plan" << 'END'
import json, sys
plan = json.load(open(sys.argv[1]))
swap, fat = plan["partitions"]
swap["sectors"], fat["first_sector"], fat["sectors"] = 32768, 34816, 1390592
json.dump(plan, open(sys.argv[1], "w"))
END
unzip --fit="$T/plan" "$T/fat.ndz" "$T/big" || fail "--fit=plan: $(cat "$T/said")"
fat_grew 34816 600
new_disk big 500M; unzip --grow "$T/fat.ndz" "$T/big" || fail "--grow: $(cat "$T/said")"
fat_grew 18432 450
for how in "-F 32 -s 1" "-F 32 -S 4096 -s 1"; do
	new_disk disk 292M; printf 'label: dos\nstart=2048, size=593920, type=c\n' | layout
	new_fat 290M $how; lay "$T/fs" "$T/disk" $((2048 * 512)); capture fat.ndz
	new_disk big 600M; unzip --grow "$T/fat.ndz" "$T/big" || fail "$how: $(cat "$T/said")"
	check "$how: $(cat "$T/said")" grep -q "partition 1: left alone: .*FAT" "$T/said"
	part_of big 0; check "$how: it is as it was" cmp -n $((290 << 20)) "$T/fs" "$T/fat"
done

echo "== what cannot follow is said before anything is written"
mkdir "$T/few"
for p in sh unshare losetup e2fsck sed dd od rm cat grep; do
	ln -s "$(command -v "$p")" "$T/few/$p"
done
new_disk big 100M
PATH=$T/few "$BIN/imageunzip" --grow "$T/grow.ndz" "$T/big" 2> "$T/said" ||
	fail "$(cat "$T/said")"
check "a tool is absent: $(head -n 1 "$T/said")" grep -q \
    "warning: the ext4 in partition 2 will not grow with it: resize2fs is not installed" \
    <(head -n 1 "$T/said")
check "and then" grep -q "partition 2: left alone: resize2fs" "$T/said"
new_disk big 100M; chmod 711 "$T"; chmod 666 "$T/big"; chmod 644 "$T/grow.ndz"
if command -v setpriv > /dev/null; then
	setpriv --reuid 65534 --clear-groups "$BIN/imageunzip" --grow "$T/grow.ndz" "$T/big" \
	    2> "$T/said" || fail "not root: $(cat "$T/said")"
	check "who is not root: $(head -n 1 "$T/said")" \
	    grep -q "warning: what is in partition 2 will not grow with it: .*root" "$T/said"
fi
chmod 700 "$T"

echo "== a tool that fails"
mkdir "$T/bin"; export KILL_AT COUNT=$T/count PID=$T/pid
for p in e2fsck resize2fs ntfsresize; do
	cat > "$T/bin/$p" << SH
#!/bin/sh
echo x >> "\$COUNT"
n=\$(wc -l < "\$COUNT")
case \$KILL_AT in
"fail $p") echo "$p: it will not" >&2; exit 1 ;;
"before \$n") kill -9 "\$(cat "\$PID")"; sleep 0.1; exit 1 ;;
"behind \$n") $(command -v $p) "\$@"; kill -9 "\$(cat "\$PID")"; sleep 0.1; exit 1 ;;
esac
exec $(command -v $p) "\$@"
SH
done
chmod +x "$T/bin/"*
new_disk disk 144M
printf 'label: dos\nstart=2048, size=122880, type=7\nstart=124928, size=81920\n
start=206848, size=16384, type=82\n' | layout
make_fs ntfs 60M; lay "$T/fs" "$T/disk" $((2048 * 512))
lay "$T/ext4" "$T/disk" $((124928 * 512))
capture two.ndz
# The program itself, so that its number is known; what is killed leaves folders in $T.
go_on() {
	TMPDIR=$T PATH=$T/bin:$PATH sh -c 'echo $$ > "$PID"; exec "$@"' sh \
	    "$BIN/imageunzip" -q --fit --state="$T/state" --state-interval 0 "$@" \
	    "$T/two.ndz" "$T/big"
}
new_disk big 300M; KILL_AT="fail resize2fs"
status 1 go_on
check "it is named: $(cat "$T/stderr")" \
    grep -q "partition 2: .*resize2fs: it will not; .*unfinished: --no-follow" "$T/stderr"
status 1 "$BIN/imageunzip" --status "$T/big"
check "no loop device is left" no_loops "$T/"
KILL_AT=; check "another run makes it whole: $(cat "$T/said")" go_on
followed big 0 ntfs 80; followed big 1 ext4 60

echo "== a signal ends the tool, too"
cat > "$T/bin/resize2fs.slow" << 'SH'
#!/bin/sh
: > "$COUNT.slow"
exec sleep 1000
SH
chmod +x "$T/bin/resize2fs.slow"; mv "$T/bin/resize2fs" "$T/bin/resize2fs.fast"
mv "$T/bin/resize2fs.slow" "$T/bin/resize2fs"; new_disk big 300M
go_on 2> "$T/said" & pid=$!
begins $pid [ -e "$COUNT.slow" ] || fail "it is not resized: $(cat "$T/said")"
kill -TERM "$(cat "$PID")"; wait $pid; rc=$?
check "exit $rc: $(cat "$T/said")" [ $rc = 1 ]
status 1 "$BIN/imageunzip" --status "$T/big"
SOON=30; check "no loop device is left" no_loops "$T/"; unset SOON
mv "$T/bin/resize2fs.fast" "$T/bin/resize2fs"

echo "== killed at each tool"
for at in before behind; do
	for ((n = $([ $at = before ] && echo 2 || echo 1); n < 20; n += 2)); do
		new_disk big 300M; rm -f "$T/state" "$COUNT"; KILL_AT="$at $n"
		go_on 2> "$T/quiet"
		KILL_AT=
		[ "$(wc -l < "$COUNT")" -ge $n ] || break
		status 1 "$BIN/imageunzip" --status "$T/big"
		check "$at tool $n: no loop device is left" no_loops "$T/"
		go_on 2> "$T/said" || fail "$at tool $n: it does not go on: $(cat "$T/said")"
		quietly "$BIN/imageunzip" --status "$T/big" || fail "$at tool $n: unfinished"
		part_of big 0; quietly whole ntfs || fail "$at tool $n: NTFS"
		mounted ntfs-3g ro same_files || fail "$at tool $n: files of NTFS"
		part_of big 1; quietly whole ext4 || fail "$at tool $n: ext4"
		mounted ext4 ro same_files || fail "$at tool $n: files of ext4"
	done
	check "$at each tool, $n of them" [ "$n" -ge 6 ]
done
finish
