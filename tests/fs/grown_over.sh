#!/usr/bin/env bash
# growfs grows over nothing that has an owner, and over unknown data not without a word;
# what it says with -n is what it does; a tool's own error is said, and a table is put
# back when the filesystem could not follow.
. "$(dirname "$0")/resize_lib.sh"
requires sgdisk debugfs
MIB=1048576
ext4_disks 16M 20
alone() {	# WHAT CLAUSE: growfs leaves the disk as it is, and --dry-run says so, too
	local before; before=$(sha256sum < "$T/disk")
	"$BIN/growfs" "$T/disk" > "$T/said" 2>&1
	check "$1: exit $?: $(cat "$T/said")" \
	    grep -q "partition 2: left alone: .*$2" "$T/said"
	"$BIN/growfs" --json "$T/disk" > "$T/report" 2> /dev/null
	check "$1: exit status 4" \
	    json "$T/report" exit=4 kind=unsupported table_changed=false
	check "$1: --dry-run says the same" cmp "$T/said" <("$BIN/growfs" --dry-run "$T/disk" 2>&1)
	check "$1: not a byte is changed" [ "$before" = "$(sha256sum < "$T/disk")" ]
}

echo "== what lies behind the last partition has an owner"
while IFS='|' read -r kind name; do
	cp "$T/mbr" "$T/disk"; endings make "$T/disk" $kind
	alone "$kind" "$name (sectors* [0-9 to]*) lies behind it"
done << 'KINDS'
md1|a Linux RAID superblock (version 1.0)
md0|a Linux RAID superblock (version 0.90)
imsm|Intel RAID metadata
vhd|a VHD footer
KINDS
cp "$T/gpt" "$T/disk"; truncate -s 80M "$T/disk"; endings make "$T/disk" ddf
alone "ddf, behind the backup of the GPT" "DDF RAID metadata"

echo "== behind the filesystem, in its partition"
rm -f "$T/disk"; truncate -s 60M "$T/disk"; table "$T/disk" mbr 40; cp "$T/ext4" "$T/fs"
put "$T/disk"
cp "$T/disk" "$T/wide"
printf 'verity\0\0' | put_at $((20 * MIB))
alone "a hash tree" "a dm-verity tree .* lies behind its filesystem"
"$BIN/imagezip" -q "$T/disk" "$T/tree.ndz" 2> "$T/said" || fail "$(cat "$T/said")"
rm -f "$T/new"; truncate -s 70M "$T/new"
"$BIN/imageunzip" --grow "$T/tree.ndz" "$T/new" 2> "$T/said" || fail "$(cat "$T/said")"
check "--grow leaves it alone, too: $(grep alone "$T/said")" grep -q \
    "partition 2: left alone: a dm-verity tree .* lies behind its filesystem" "$T/said"

echo "== a member of a mirror, on a disk that is larger than its superblock says"
cp "$T/ext4" "$T/disk"; truncate -s $((16 * MIB + 65536)) "$T/disk"
endings make "$T/disk" md1; truncate -s 40M "$T/disk"; before=$(sha256sum < "$T/disk")
check "it is left alone: $("$BIN/growfs" "$T/disk" 2>&1)" grep -q \
    "left alone: a Linux RAID superblock (version 1.0) .* lies behind its filesystem" \
        <("$BIN/growfs" "$T/disk" 2>&1)
check "not a byte is changed" [ "$before" = "$(sha256sum < "$T/disk")" ]

echo "== a suspended system"
cp "$T/mbr" "$T/disk"; truncate -s 2M "$T/swap"; quietly mkswap "$T/swap"
dd if="$T/swap" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
cp "$T/disk" "$T/awake"; printf S1SUSPEND | put_at $((MIB + 4086))
alone "in a swap partition" "a system is suspended in partition 1"
mv "$T/awake" "$T/disk"
check "swap that is not suspended is no hindrance" quietly "$BIN/growfs" "$T/disk"

echo "== a hibernated Windows"
into_part1() { dd if="$1" of="$T/disk" bs=1M seek=1 conv=notrunc status=none; }	# FILE
hibernated "$T/ntfs" hibr
cp "$T/gpt" "$T/disk"; into_part1 "$T/ntfs"
alone "in an NTFS" "a system is suspended in partition 1"
"$BIN/imagezip" -q "$T/disk" "$T/asleep.ndz" 2> "$T/said" || fail "$(cat "$T/said")"
rm -f "$T/new"; truncate -s 70M "$T/new"
"$BIN/imageunzip" --in-place --grow "$T/asleep.ndz" "$T/new" 2> "$T/said" ||
	fail "--grow: $(cat "$T/said")"
check "--grow grows nothing: $(grep suspended "$T/said")" grep -q \
    "warning: a system is suspended in partition 1, .* the last partition is not grown" \
        "$T/said"
check "the table says so" [ "$(sfdisk -d "$T/new" | grep -c "size= *32768")" = 1 ]
check "the backup of its GPT is at the end" cmp -s -n 8 \
    <(printf 'EFI PART') <(tail -c 512 "$T/new")
rm -f "$T/new"; truncate -s 70M "$T/new"
status 1 "$BIN/imageunzip" --fit "$T/asleep.ndz" "$T/new"
check "--fit refuses it: $(cat "$T/stderr")" \
    grep -q "a system is suspended in partition 1" "$T/stderr"
check "before anything is written" [ "$(du -k "$T/new" | cut -f1)" = 0 ]
status 1 "$BIN/imageunzip" --plan "$T/asleep.ndz" "$T/new"
"$BIN/imageunzip" -q --fit - "$T/new" < <(cat "$T/asleep.ndz") 2> "$T/said"; rc=$?
check "from a pipe, at the end: $(cat "$T/said")" [ $rc = 1 ]
status 1 "$BIN/imageunzip" --status "$T/new"
"$BIN/imageunzip" --fit --force "$T/asleep.ndz" "$T/new" 2> "$T/said" ||
	fail "--force: $(cat "$T/said")"
check "--force: no filesystem grows: $(cat "$T/said")" [ "$(grep -c "ext4 grew" "$T/said")" = 0 ]
cp "$T/wide" "$T/disk"
dd if="$T/disk" of="$T/part" bs=1M skip=4 count=36 status=none
endings make "$T/part" md1; dd if="$T/part" of="$T/disk" bs=1M seek=4 conv=notrunc status=none
"$BIN/imagezip" -q "$T/disk" "$T/x.ndz" 2> "$T/said" || fail "$(cat "$T/said")"
rm -f "$T/new"; truncate -s 70M "$T/new"
"$BIN/imageunzip" --in-place --grow "$T/x.ndz" "$T/new" 2> "$T/said" || fail "--grow"
check "nor a member of an array: $(grep RAID "$T/said")" grep -q \
    "a Linux RAID superblock .* is at the end of partition 2: the last .* is not grown" \
        "$T/said"
check "the table says so" [ "$(sfdisk -d "$T/new" | grep -c "size= *73728")" = 1 ]
quietly ntfsfix "$T/ntfs"; cp "$T/gpt" "$T/disk"; into_part1 "$T/ntfs"
alone "in an NTFS that is marked dirty" "a system is suspended in partition 1"
truncate -s 4M "$T/ntfs"
check "without a table: $("$BIN/growfs" "$T/ntfs" 2>&1)" \
    grep -q "left alone: a system is suspended on the disk" <("$BIN/growfs" "$T/ntfs")
hibernated "$T/ntfs" wake; cp "$T/gpt" "$T/disk"; into_part1 "$T/ntfs"
check "one that is awake is no hindrance" quietly "$BIN/growfs" "$T/disk"

echo "== unknown data"
cp "$T/mbr" "$T/disk"; endings make "$T/disk" uboot
"$BIN/growfs" --dry-run "$T/disk" 2> "$T/said" > "$T/stdout"
check "--dry-run says it: $(cat "$T/said")" \
    grep -q "warning: .*: unknown data (sector 122624) would be grown over" "$T/said"
"$BIN/growfs" -q "$T/disk" 2> "$T/said" || fail growfs
check "growfs says it, also with -q: $(cat "$T/said")" \
    grep -q "warning: .*: unknown data (sector 122624) is grown over" "$T/said"
cp "$T/wide" "$T/disk"; endings make "$T/disk" uboot
printf x | put_at $((20 * MIB + 600))
check "both places are said" json <("$BIN/growfs" --dry-run --json "$T/disk" 2> /dev/null) \
    "grown_over=unknown data (sector 40961), unknown data (sector 122624)"
cp "$T/wide" "$T/disk"; printf x | put_at $((20 * MIB + 600))
"$BIN/growfs" --json "$T/disk" > "$T/report" 2> "$T/said" || fail growfs
check "behind the filesystem: $(cat "$T/said")" \
    json "$T/report" "grown_over=unknown data (sector 40961)"
"$BIN/growfs" --json "$T/disk" > "$T/report" 2> "$T/said" || fail growfs
check "nothing is to do: nothing is said" [ "$(cat "$T/said")$(member grown_over)" = "" ]

echo "== --dry-run says what is done"
same_report() {	# WHAT: that of -n and the other
	"$BIN/growfs" --dry-run --json "$T/disk" > "$T/forecast" 2> /dev/null
	"$BIN/growfs" --json "$T/disk" > "$T/report" 2> /dev/null || fail "$1: growfs"
	for what in partition_is_bytes filesystem_is_bytes table_changed grown_over \
	    left_alone; do
		check "$1: $what $(member $what)" \
		    [ "$(json "$T/forecast" $what)" = "$(member $what)" ]
	done
}
cp "$T/gpt" "$T/disk"; same_report "the disk is longer"
same_report "nothing is left to do"
check "and --dry-run says so: $("$BIN/growfs" --dry-run "$T/disk")" \
    cmp <("$BIN/growfs" "$T/disk") <("$BIN/growfs" --dry-run "$T/disk")
# As sfdisk makes it: the partition ends at the last MiB, less than 1 MiB from the disk's
# end.
rm -f "$T/disk"; truncate -s 21M "$T/disk"; table "$T/disk" gpt 20; cp "$T/ext4" "$T/fs"
put "$T/disk"
check "it fills: $("$BIN/growfs" --dry-run "$T/disk")" \
    grep -q "fills its partition already" <("$BIN/growfs" --dry-run "$T/disk")
truncate -s $((21 * MIB + 65536)) "$T/disk"
same_report "only the backup of the GPT moves"
check "that was done" [ "$(member table_changed)" = true ]
cp "$T/wide" "$T/disk"; truncate -s 40M "$T/disk"; same_report "only the filesystem grows"
check "that was done" [ "$(member table_changed)" = false ]

echo "== a hybrid MBR stays in step"
entries() {	# DISK: type, first sector and sectors of each entry of its MBR
	for at in 446 462 478 494; do
		echo $(od -An -tu1 -j $((at + 4)) -N 1 "$1") \
		    $(od -An -tu4 -j $((at + 8)) -N 8 "$1")
	done
}
in_step() {	# WHAT DISK
	check "$1: sgdisk -v: $(sgdisk -v "$2" | tail -n 3 | tr '\n' ' ')" \
	    grep -q "No problems found" <(sgdisk -v "$2")
	check "$1: sfdisk --verify" \
	    grep -q "No errors detected" <(sfdisk --verify "$2" 2>&1)
}
cp "$T/gpt" "$T/disk"; sgdisk -h 2 "$T/disk" > /dev/null || fail "sgdisk -h"
"$BIN/imagezip" -q "$T/disk" "$T/hybrid.ndz" || fail imagezip
truncate -s 80M "$T/disk"; quietly "$BIN/growfs" "$T/disk"; in_step growfs "$T/disk"
check "the entry is as long: $(entries "$T/disk" | tr '\n' ';')" \
    grep -qx "131 8192 153600" <(entries "$T/disk")
rm -f "$T/new"; truncate -s 70M "$T/new"
quietly "$BIN/imageunzip" -q --in-place --grow "$T/hybrid.ndz" "$T/new"
in_step --grow "$T/new"
check "the entry is as long" grep -qx "131 8192 133120" <(entries "$T/new")
check "the first protective one stays" grep -qx "238 1 8191" <(entries "$T/new")
# With a second protective entry, which reaches from the last partition to the end, as
# gdisk makes it.
cp "$T/gpt" "$T/disk"; sgdisk -h 2 "$T/disk" > /dev/null
# From sector 40960 on, 81920 sectors.
printf '\0\0\0\0\356\0\0\0\0\240\0\0\0\100\1\0' | put_at $((446 + 48))
truncate -s 80M "$T/disk"; quietly "$BIN/growfs" "$T/disk"
check "one behind the partitions stays there" \
    grep -qx "238 161792 2048" <(entries "$T/disk")

echo "== the tool's own error, and the table is put back"
mkdir "$T/bin"
tool() {	# LINES...: what resize2fs does here
	{
		echo '#!/bin/sh'
		echo 'for disk; do case $disk in /*) break ;; esac; done'
		printf '%s\n' "$@"; echo "exit 1"
	} > "$T/bin/resize2fs"
	chmod +x "$T/bin/resize2fs"
}
fails() {	# CLAUSE
	PATH=$T/bin:$PATH status 1 "$BIN/growfs" "$T/disk"
	check "it says: $1" grep -q "$1" "$T/stderr"
}
tool 'echo "resize2fs 1.47.0 (5-Feb-2023)" >&2' \
    "echo 'Resizing the filesystem on it to 17301504 (4k) blocks.'" \
    'echo "resize2fs: Illegal doubly indirect block found" >&2' \
    'debugfs -w -R "ssv state 3" "$disk" > /dev/null 2>&1' \
    'echo "Please run e2fsck -fy to fix the filesystem" >&2' \
    'echo "after the aborted resize operation." >&2'
for kind in mbr gpt; do
	cp "$T/$kind" "$T/disk"; truncate -s 100M "$T/disk"; cp "$T/disk" "$T/was"
	fails "partition 2: .*resize2fs: Illegal doubly indirect block found"
	check "$kind: it is left to be checked" \
	    grep -q "; the filesystem is left to be checked: e2fsck -f -y" "$T/stderr"
	check "$kind: the table is what it was" \
	    grep -q "; the partition table is what it was before$" "$T/stderr"
	check "$kind: to the byte" cmp -n $((4 * MIB)) "$T/disk" "$T/was"
	check "$kind: the disk's end, too" cmp -i $((20 * MIB)) "$T/disk" "$T/was"
done
tool 'echo "resize2fs: nothing was done" >&2'
cp "$T/mbr" "$T/disk"
fails "resize2fs: nothing was done; the partition table is what it was before$"
# A filesystem that has grown already needs the longer partition.
tool "$(command -v resize2fs) \"\$@\" > /dev/null 2>&1" 'echo "resize2fs: too late" >&2'
cp "$T/mbr" "$T/disk"
fails "resize2fs: too late; the partition stays as long as it has become"
taken "$T/disk"; check "its own fsck finds nothing" quietly whole ext4

echo "== an NTFS that is marked to be checked"
make_fs ntfs 16M; rm -f "$T/disk"; truncate -s 40M "$T/disk"; table "$T/disk" mbr 20
put "$T/disk"; cp "$T/disk" "$T/was"
"$BIN/growfs" --json "$T/disk" > "$T/report" || fail growfs
check "growfs leaves it marked, and says so" json "$T/report" to_be_checked=true
truncate -s 50M "$T/disk"; cp "$T/disk" "$T/was"
status 1 "$BIN/growfs" "$T/disk"
check "it is refused then: $(cat "$T/stderr")" \
    grep -q "Volume is scheduled for check" "$T/stderr"
check "not a byte is changed" cmp "$T/disk" "$T/was"
finish
