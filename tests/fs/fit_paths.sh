#!/usr/bin/env bash
# imageunzip --fit: what else depends on a place, or forbids that anything moves: hybrid MBRs,
# disklabels, LILO, metadata of arrays at the end, and suspended systems.
. "$(dirname "$0")/resize_lib.sh"
requires sgdisk
MIB=1048576
number() { od -An -t"u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }	# FILE BYTE BYTES
truncate -s 8M "$T/ext4"; mke2fs -q -F -t ext4 "$T/ext4" || fail mke2fs
truncate -s 1M "$T/swap"; quietly mkswap "$T/swap"
disk() {	# LABEL TYPE: $T/disk with an ext4 that grows, and behind it a partition
	rm -f "$T/disk"; truncate -s 24M "$T/disk"
	printf 'label: %s\nstart=2048, size=20480\nstart=22528, size=16384, type=%s\n' "$1" "$2" | sfdisk -q "$T/disk" || fail sfdisk
	lay "$T/ext4" "$T/disk" $MIB
}
fit() {	# OPTION...: $T/new, of 40 MiB
	"$BIN/imagezip" -q "$T/disk" "$T/img" 2> "$T/said" || fail "imagezip: $(cat "$T/said")"
	rm -f "$T/new"; truncate -s 40M "$T/new"
	"$BIN/imageunzip" --fit "$@" "$T/img" "$T/new" 2> "$T/said"
}
place() { sfdisk -J "$T/new" | json -1 - "partitiontable.partitions[$1].start" "partitiontable.partitions[$1].size"; }	# INDEX
refused() {	# WHAT WORDS OPTION...
	fit -q "${@:3}"; check "$1: exit $?: $(cat "$T/said")" grep -q -- "$2" "$T/said"
}

echo "== a hybrid MBR"
disk gpt linux; lay "$T/ext4" "$T/disk" $((11 * MIB))
quietly sgdisk -h 1:2:EE "$T/disk" || fail "sgdisk -h"
fit || fail "$(cat "$T/said")"
hybrid=$(for i in 0 1 2 3; do echo "$(number "$T/new" $((446 + 16 * i + 4)) 1):$(number "$T/new" $((446 + 16 * i + 8)) 4):$(number "$T/new" $((446 + 16 * i + 12)) 4)"; done)
for i in 0 1; do
	read -r first size < <(place $i)
	check "its entry of partition $((i + 1)) has $first, $size: ${hybrid//$'\n'/ }" grep -q "^131:$first:$size$" <<< "$hybrid"
done
check "both have other places than before" [ "$size" -gt 16384 -a "$first" -gt 22528 ]
check "the GPT is sound" grep -q "No problems found" <(sgdisk -v "$T/new")

echo "== a disklabel"
python3 "$TOP/tests/helpers/bsdlabel_make.py" "$T/bsd" $((22528 + 16384)) 22528 absolute a:7:0:8192 b:1:8192:4096
disk dos a5
lay "$T/bsd" "$T/disk" $((22528 * 512)) $((22528 * 512)) $((16384 * 512))
fit || fail "$(cat "$T/said")"
read -r first size < <(place 1)
check "its partition moved, to $first" [ "$first" -gt 22528 ]
check "it is right there" python3 "$TOP/tests/helpers/bsdlabel_moved.py" "$T/bsd" 22528 22528 "$T/new" "$first" "$size"

echo "== LILO, and GRUB's BIOS boot partition"
disk dos 83
printf 'LILO\1\0\1\0' | dd of="$T/disk" bs=1 seek=$((22528 * 512 + 6)) conv=notrunc status=none
printf '\1\0' | dd of="$T/disk" bs=1 seek=$((22528 * 512 + 10)) conv=notrunc status=none
fit || fail "$(cat "$T/said")"
check "LILO is named: $(cat "$T/said")" grep -q "partition 2 begins at another sector now: LILO .*run lilo again" "$T/said"
disk gpt 21686148-6449-6E6F-744E-656564454649; printf x | dd of="$T/disk" bs=512 seek=22528 conv=notrunc status=none
fit || fail "$(cat "$T/said")"
check "GRUB is named: $(cat "$T/said")" grep -q "partition 2 begins .*GRUB.*run grub-install again" "$T/said"

echo "== the end of the disk, or of a partition, is an array's"
for kind in md1 imsm ddf; do
	disk dos 83; endings make "$T/disk" $kind
	refused "$kind" "--fit would overwrite .*RAID"
	check "$kind: nothing was written" [ "$(du -k "$T/new" | cut -f1)" = 0 ]
done
check "--tail=skip leaves it out" fit -q --tail=skip
disk gpt AF9B60A0-1431-4F62-BC68-3311714A69AD
refused "LDM" "a dynamic disk of Windows (LDM)"
disk dos 83; endings make "$T/disk" md1 $((22528 * 512)) $((16384 * 512)); truncate -s 7M "$T/member"; mke2fs -q -F -t ext4 "$T/member"
lay "$T/member" "$T/disk" $((22528 * 512))
fit || fail "$(cat "$T/said")"
check "a member of an array keeps its length: $(cat "$T/said")" grep -q "RAID .*is at the end of partition 2, which keeps its length" "$T/said"
read -r first size < <(place 1); check "$size" [ "$size" = 16384 ]

echo "== a suspended system"
disk dos 82; printf S1SUSPEND | dd of="$T/swap" bs=1 seek=4086 conv=notrunc status=none; lay "$T/swap" "$T/disk" $((22528 * 512))
refused "Linux" "--fit: a system is suspended in partition 2"
check "that disk is no whole one" eval '! sfdisk -d "$T/new" > "$T/quiet" 2>&1'
rm "$T/new"; truncate -s 40M "$T/new"
"$BIN/imageunzip" -q --dry-run --fit "$T/img" "$T/new" 2> "$T/said"
check "a rehearsal: exit $?: $(cat "$T/said")" grep -q "a system is suspended in partition 2" "$T/said"
check "it writes nothing" [ "$(du -k "$T/new" | cut -f1)" = 0 ]
check "--force: fits" fit -q --force
hibernated "$T/ntfs" hibr; disk dos 7; lay "$T/ntfs" "$T/disk" $((22528 * 512))
refused "Windows" "--fit: a system is suspended in partition 2"
finish
