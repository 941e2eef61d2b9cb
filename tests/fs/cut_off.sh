#!/usr/bin/env bash
# imagezip --shrink cuts off nothing that has an owner, and unknown data not without a
# word; a filesystem with a hash tree behind it stays as it is, a suspended system is not
# damaged, and a hybrid MBR stays in step.
. "$(dirname "$0")/resize_lib.sh"
requires nbdkit nbdfuse setpriv unshare sgdisk
[ -c /dev/fuse ] || skip "needs FUSE"
MIB=1048576
ext4_disks 40M 48

echo "== what lies behind the last partition has an owner"
while IFS='|' read -r kind name; do
	cp "$T/mbr" "$T/disk"; endings make "$T/disk" $kind
	status 1 "$BIN/imagezip" -q --shrink "$T/disk" "$T/x.ndz"
	check "$kind is named" grep -q -- \
	    "--shrink would cut off $name (sectors* [0-9 to]*) behind " "$T/stderr"
	check "$kind: there is no image" [ ! -e "$T/x.ndz" ]
done << 'KINDS'
md1|a Linux RAID superblock (version 1.0)
imsm|Intel RAID metadata
vhd|a VHD footer
KINDS
"$BIN/imagezip" --json --shrink --outside=skip "$T/disk" "$T/x.ndz" > "$T/report" 2> \
    "$T/said" || fail "--outside=skip: $(cat "$T/said")"
check "--outside=skip leaves it out, with a warning" grep -q \
    "warning: .*: a VHD footer (sector [0-9]*) behind the last partition is cut off" \
        "$T/said"
check "that is in the summary" \
    json "$T/report" "shrunk.cut_off[#]=1" "shrunk.cut_off[0]=a VHD footer"

echo "== unknown data"
cp "$T/mbr" "$T/disk"; endings make "$T/disk" uboot; printf x | put_at $((47 * MIB + 512))
"$BIN/imagezip" --json --shrink --margin=0 "$T/disk" "$T/x.ndz" > "$T/report" 2> "$T/said" ||
	fail "imagezip: $(cat "$T/said")"
check "behind the last partition" grep -q \
    "warning: .*: unknown data (sector 122624) behind the last partition is cut off" \
        "$T/said"
check "behind the filesystem" grep -q \
    "warning: .*: unknown data (sector 96257) behind the filesystem of partition 2 is cut off" \
        "$T/said"
check "both are in the summary" \
    json "$T/report" "shrunk.cut_off[#]=2" "shrunk.cut_off[0]~unknown data"
"$BIN/imagezip" --json --shrink "$T/mbr" "$T/x.ndz" > "$T/report" 2> "$T/said" ||
	fail "imagezip: $(cat "$T/said")"
check "where there is none, nothing is said" \
    eval '! grep -q "cut off" "$T/said" && json "$T/report" "shrunk.cut_off[#]=0"'

echo "== without --shrink, -x leaves it out"
"$BIN/imagezip" -x "$T/disk" "$T/x.ndz" 2> "$T/said" || fail "imagezip: $(cat "$T/said")"
check "with a word: $(grep -c "(-x)" "$T/said")" grep -q \
    "partition 2 .*: unknown data (sector 96257) behind its .* left out (-x)" "$T/said"
"$BIN/imagezip" -x "$T/mbr" "$T/x.ndz" 2> "$T/said" || fail "imagezip: $(cat "$T/said")"
check "where there is none, nothing is said" eval '! grep -q "left out (-x)" "$T/said"'

echo "== a hash tree behind the filesystem is of the filesystem as it is"
cp "$T/mbr" "$T/disk"
{ printf 'verity\0\0'; head -c 100000 /dev/urandom; } | put_at $((44 * MIB))
"$BIN/imagezip" --shrink "$T/disk" "$T/x.ndz" 2> "$T/said" ||
	fail "imagezip: $(cat "$T/said")"
check "it is not made smaller" grep -q \
    "not made smaller: a dm-verity tree (sectors [0-9 to]*) lies behind it" "$T/said"
rm -f "$T/new"; "$BIN/imageunzip" -q "$T/x.ndz" "$T/new" || fail imageunzip
check "its tree is there" cmp -i $((44 * MIB)):$((43 * MIB)) -n $((4 * MIB)) "$T/disk" "$T/new"
check "and its superblock is the same" cmp -i $((4 * MIB)):$((3 * MIB)) -n 4096 "$T/disk" "$T/new"

echo "== a suspended system"
cp "$T/gpt" "$T/disk"; truncate -s 2M "$T/swap"; quietly mkswap "$T/swap"
dd if="$T/swap" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
printf S1SUSPEND | put_at $((MIB + 4086))
status 1 "$BIN/imagezip" -q --shrink "$T/disk" "$T/y.ndz"
check "is named" grep -q \
    "a system is suspended in partition 1, and goes on with the filesystems as they are" \
        "$T/stderr"
check "there is no image" [ ! -e "$T/y.ndz" ]
check "without --shrink, there is one" quietly "$BIN/imagezip" -q "$T/disk" "$T/y.ndz"

hibernated "$T/ntfs" hibr; cp "$T/gpt" "$T/disk"
dd if="$T/ntfs" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
status 1 "$BIN/imagezip" -q --shrink "$T/disk" "$T/z.ndz"
check "a hibernated Windows, too" \
    grep -q "a system is suspended in partition 1" "$T/stderr"
status 1 "$BIN/imagezip" -q --shrink "$T/ntfs" "$T/z.ndz"
check "without a table" grep -q "a system is suspended on the disk" "$T/stderr"

echo "== a hybrid MBR"
cp "$T/gpt" "$T/disk"; sgdisk -h 2 "$T/disk" > /dev/null || fail "sgdisk -h"
"$BIN/imagezip" -q --shrink --margin=0 "$T/disk" "$T/x.ndz" 2> "$T/said" ||
	fail "imagezip: $(cat "$T/said")"
rm -f "$T/new"; "$BIN/imageunzip" -q "$T/x.ndz" "$T/new" || fail imageunzip
check "the disk is smaller" [ "$(stat -c %s "$T/new")" -lt $((40 * MIB)) ]
check "sgdisk -v: $(sgdisk -v "$T/new" | tail -n 3 | tr '\n' ' ')" \
    grep -q "No problems found" <(sgdisk -v "$T/new")
check "sfdisk --verify" grep -q "No errors detected" <(sfdisk --verify "$T/new" 2>&1)
finish
