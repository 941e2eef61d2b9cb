#!/usr/bin/env bash
# imagezip --shrink: the image of the smallest disk that has the files, made without a write to the
# source.  It installs on a smaller disk, is whole there, and grows again on a larger one.
. "$(dirname "$0")/resize_lib.sh"
requires nbdkit nbdfuse setpriv unshare ntfs-3g.probe ntfscluster
[ -c /dev/fuse ] || skip "needs FUSE"
requires mkfs.vfat mcopy
sectors() { "$BIN/imagedump" --json "$1" | json - '[0].sectors'; }
nothing_now() { ! ls -d "$TMP"/imagezip-?????? "$TMP"/resize-?????? 2> /dev/null | grep -vxF "$before_tmp" | grep -q . && no_loops "$T/"; }
TMP=${TMPDIR:-/tmp}
nothing_left() { soon nothing_now; }	# those of another program there go by themselves
before_tmp=$(ls -d "$TMP"/imagezip-?????? "$TMP"/resize-?????? 2> /dev/null; echo none)

shrinks() {	# TYPE gpt|mbr END-MIB MOST-MIB: made smaller than that
	local type=$1 kind=$2 mib=$3 most=$4 mount=$1 n
	[ "$type" != ntfs ] || mount=ntfs-3g
	echo "== $type, $kind"
	make_fs "$type" $((mib - 4))M
	rm -f "$T/disk"; truncate -s $((mib + 8))M "$T/disk"; table "$T/disk" "$kind" "$mib"; put "$T/disk"
	chmod 444 "$T/disk"
	before=$(sha256sum < "$T/disk")
	"$BIN/imagezip" --json --shrink --margin=0 "$T/disk" "$T/small.ndz" > "$T/summary" 2> "$T/said" || fail "$type: imagezip: $(cat "$T/said")"
	check "the source is as it was" [ "$before" = "$(sha256sum < "$T/disk")" ]
	check "nothing is left of the view" nothing_left
	n=$(sectors "$T/small.ndz")
	check "the image's disk has $((n / 2048)) MiB instead of $((mib + 8))" [ "$n" -lt $((most * 2048)) ]
	check "it is said: $(head -n 2 "$T/said" | tr '\n' ' ')" grep -q "partition 2: $type is made smaller, from [0-9.]* MB to [0-9.]* [kM]B" "$T/said"
	check "and in the summary" json "$T/summary" "sectors=$n" "shrunk.partitions[1].number=2" "shrunk.partitions[1].filesystem_is_bytes<$(json "$T/summary" "shrunk.partitions[1].filesystem_was_bytes")"
	echo "- on a disk of just that size"
	rm -f "$T/new"; truncate -s $((n * 512)) "$T/new"
	check "it installs" quietly "$BIN/imageunzip" -q --in-place "$T/small.ndz" "$T/new"
	check "the table is right: $(sfdisk --verify "$T/new" 2>&1 | tail -n 1)" eval '! sfdisk --verify "$T/new" 2>&1 | grep -iq "corrupt\|mismatch\|beyond\|overlap\|invalid"'
	check "the first partition is where it was" cmp -n $((2 << 20)) -i 1048576 "$T/disk" "$T/new"
	taken "$T/new"
	check "its own fsck finds nothing" quietly whole "$type"
	check "the files are the same" mounted "$mount" ro same_files
	echo "- on a smaller one"
	rm -f "$T/less"; truncate -s $(((n - 1) * 512)) "$T/less"; chmod 644 "$T/less"
	status 1 "$BIN/imageunzip" -q --in-place "$T/small.ndz" "$T/less"
	check "nothing was written" cmp -n $(((n - 1) * 512)) "$T/less" /dev/zero
	echo "- on a larger one"
	rm -f "$T/big"; truncate -s $((mib * 3 / 2))M "$T/big"
	check "it installs" quietly "$BIN/imageunzip" -q --in-place "$T/small.ndz" "$T/big"
	check "growfs" quietly "$BIN/growfs" "$T/big"
	taken "$T/big"
	check "its own fsck finds nothing" quietly whole "$type"
	check "it is as large as the disk" [ "$(mounted "$mount" ro room_of)" -gt $(((mib * 5 / 4) << 20)) ]
	check "the files are the same" mounted "$mount" ro same_files
}
shrinks ext4 gpt 80 40
shrinks ntfs mbr 80 40
shrinks btrfs gpt 400 330

echo "== a margin"
make_fs ext4 60M; rm -f "$T/disk"; truncate -s 70M "$T/disk"; table "$T/disk" gpt 64; put "$T/disk"
"$BIN/imagezip" -q --shrink --margin=0 "$T/disk" "$T/none.ndz" && "$BIN/imagezip" -q --shrink --margin=16M "$T/disk" "$T/some.ndz" || fail "imagezip --margin"
more=$(($(sectors "$T/some.ndz") - $(sectors "$T/none.ndz")))
check "$((more / 2048)) MiB more for 16M" [ $more -ge $((15 * 2048)) -a $more -le $((18 * 2048)) ]

echo "== one filesystem"
"$BIN/imagezip" -q --shrink --margin=0 "$T/fs" "$T/fs.ndz" || fail "imagezip of a filesystem"
check "$(($(sectors "$T/fs.ndz") / 2048)) MiB of 60" [ "$(sectors "$T/fs.ndz")" -lt $((40 * 2048)) ]
rm -f "$T/fs"; "$BIN/imageunzip" -q "$T/fs.ndz" "$T/fs" || fail imageunzip
check "its own fsck finds nothing" quietly whole ext4
check "the files are the same" mounted ext4 ro same_files
# A table that was left in its first sector says nothing about what -l calls a filesystem.
make_fs ext4 60M; printf 'start=2048,size=4096\n' | sfdisk -q --force --wipe never --wipe-partitions never "$T/fs" || fail sfdisk
"$BIN/imagezip" -q -l --shrink --margin=0 "$T/fs" "$T/fs.ndz" || fail "imagezip -l"
check "-l: $(($(sectors "$T/fs.ndz") / 2048)) MiB of 60" [ "$(sectors "$T/fs.ndz")" -lt $((40 * 2048)) ]
rm -f "$T/fs"; "$BIN/imageunzip" -q "$T/fs.ndz" "$T/fs" || fail imageunzip
check "-l: its own fsck finds nothing" quietly whole ext4
check "-l: the files are the same" mounted ext4 ro same_files
# The boot sectors of these two look like partition tables without partitions.
make_fs ntfs 60M; "$BIN/imagezip" -q --shrink --margin=0 "$T/fs" "$T/fs.ndz" || fail "imagezip of NTFS"
check "NTFS: $(($(sectors "$T/fs.ndz") / 2048)) MiB of 60" [ "$(sectors "$T/fs.ndz")" -lt $((40 * 2048)) ]
rm -f "$T/fs"; "$BIN/imageunzip" -q "$T/fs.ndz" "$T/fs" || fail imageunzip
check "NTFS: its own fsck finds nothing" quietly whole ntfs
check "NTFS: the files are the same" mounted ntfs-3g ro same_files
rm -f "$T/fs"; truncate -s 20M "$T/fs"; quietly mkfs.vfat "$T/fs" && mcopy -i "$T/fs" "$T/sums" :: || fail "mkfs.vfat"
"$BIN/imagezip" -q --shrink --margin=0 "$T/fs" "$T/fs.ndz" || fail "imagezip of FAT"
rm -f "$T/new"; "$BIN/imageunzip" -q "$T/fs.ndz" "$T/new" || fail imageunzip
check "FAT: all of it" cmp "$T/fs" "$T/new"

echo "== what cannot be made smaller is said, and the disk ends behind it"
keeps() {	# WHAT CLAUSE: $T/fs is last on a disk of 80 MiB more
	local mib=$(($(stat -c %s "$T/fs") / 1048576 + 4))
	rm -f "$T/disk"; truncate -s $((mib + 80))M "$T/disk"; table "$T/disk" gpt "$mib"; put "$T/disk"
	"$BIN/imagezip" --shrink "$T/disk" "$T/keep.ndz" 2> "$T/said" || fail "$1: $(cat "$T/said")"
	check "$1: $(head -n 1 "$T/said")" grep -q "partition 2: is not made smaller: .*$2" "$T/said"
	check "$1: the disk ends behind it" [ "$(sectors "$T/keep.ndz")" -le $(((mib + 1) * 2048)) ]
	rm -f "$T/new"; "$BIN/imageunzip" -q "$T/keep.ndz" "$T/new" || fail imageunzip
	[ "$mib" -gt 100 ] || check "$1: it is the same" cmp -i 4194304:3145728 -n $(((mib - 4) << 20)) "$T/disk" "$T/new"
}
rm -f "$T/fs"; truncate -s 8M "$T/fs"; quietly mkswap "$T/fs"; keeps swap "swap space"
make_fs xfs 320M; keeps xfs "XFS cannot be made smaller"

echo "== a btrfs of which its tool can take nothing away"
mkdir "$T/refuses"; printf '#!/bin/sh\n[ "$2" != resize ] || exit 1\nexec %s "$@"\n' "$(command -v btrfs)" > "$T/refuses/btrfs"; chmod 755 "$T/refuses/btrfs"
for kib in 0 512; do	# the length is whole MiB, and is not
	make_fs btrfs $((300 * 1024 + kib))K
	rc=0; env PATH="$T/refuses:$PATH" timeout 120 "$BIN/imagezip" -q --shrink --margin=0 "$T/fs" "$T/fs.ndz" || rc=$?
	check "300 MiB and $kib KiB: status $rc" [ $rc = 0 ]
	check "its disk is as long as it" [ "$(sectors "$T/fs.ndz")" = $(($(stat -c %s "$T/fs") / 512)) ]
done

echo "== a partition that ends where the backup of the GPT would have to be"
rm -f "$T/disk"; truncate -s 16M "$T/disk"
printf 'label: gpt\nstart=2048, size=4096\nstart=8192, size=24543\n' | sfdisk -q "$T/disk"
dd if=/dev/urandom of="$T/disk" bs=512 seek=8192 count=24543 conv=notrunc status=none
truncate -s $((32758 * 512)) "$T/disk"	# ten sectors less: without a backup, and without room for one
"$BIN/imagezip" -q --shrink "$T/disk" "$T/keep.ndz" 2> "$T/said" || fail "imagezip: $(cat "$T/said")"
rm -f "$T/new"; "$BIN/imageunzip" -q "$T/keep.ndz" "$T/new" || fail imageunzip
check "the partition is the same" cmp -i $((8192 * 512)):$((6144 * 512)) -n $((24543 * 512)) "$T/disk" "$T/new"

echo "== what fails"
make_fs ext4 16M; rm -f "$T/disk"; truncate -s 40M "$T/disk"; table "$T/disk" mbr 20; put "$T/disk"
sfdisk -q --part-type "$T/disk" 1 42 || fail "sfdisk --part-type"
status 1 "$BIN/imagezip" -q --shrink "$T/disk" "$T/bad.ndz"
check "a dynamic disk: $(cat "$T/stderr")" grep -q "is a dynamic disk of Windows" "$T/stderr"
make_fs ext4 16M
dd if=/dev/urandom of="$T/fs" bs=1024 seek=3 count=40 conv=notrunc status=none
rm -f "$T/disk"; truncate -s 40M "$T/disk"; table "$T/disk" gpt 20; put "$T/disk"
left() {	# WHAT CLAUSE IMAGEZIP-OPTIONS... SOURCE: the filesystem stays as it is, and it is said why
	"$BIN/imagezip" --shrink "${@:3}" "$T/left.ndz" 2> "$T/said" || fail "$1: $(cat "$T/said")"
	check "$1: $(grep "tool fails" "$T/said")" grep -q "is not made smaller: its tool fails: .*$2" "$T/said"
	rm -f "$T/new"; "$BIN/imageunzip" -q "$T/left.ndz" "$T/new" || fail "$1: imageunzip"
}
left "a damaged filesystem" "UNEXPECTED INCONSISTENCY" --margin=0 -R 2 "$T/disk"
check "it is as it was" cmp -i $((4 << 20)):$((3 << 20)) -n $((16 << 20)) "$T/disk" "$T/new"
rm -f "$T/fs"; truncate -s 12M "$T/fs"; quietly mkntfs -q -F -Q -p 0 -H 0 -S 0 -c 2048 "$T/fs"
"$BIN/imagezip" -q --shrink --margin=1G "$T/fs" "$T/whole.ndz" || fail "imagezip of a clean volume"
at=$(ntfscluster -f -I 2 "$T/fs" | awk '/^ +0 / { print $2 * 2048 }')
python3 "$TOP/tests/helpers/ntfs_log.py" "$T/fs" "$at" $((1 << 20)) 1 0 0
for margin in 0 1G; do	# with 1G there is nothing for ntfsresize to do
	left "NTFS with a log that is in use, margin $margin" unclean --margin=$margin -r "$T/fs"
	check "it is as it was" cmp "$T/fs" "$T/new"
done
rm -f "$T/fs"; truncate -s 12M "$T/fs"; quietly mkntfs -q -F -Q "$T/fs"; quietly ntfsfix "$T/fs"
left "NTFS that is marked dirty" "" -r "$T/fs"
check "it is as it was" cmp "$T/fs" "$T/new"
check "it leaves nothing" nothing_left
status 1 env TMPDIR="$T/nowhere" "$BIN/imagezip" -q --shrink "$T/disk" "$T/bad.ndz"
check "TMPDIR is used: $(cat "$T/stderr")" grep -q "nowhere/imagezip-" "$T/stderr"
long=$T/$(printf %0100d 0); mkdir "$long"; rm -f "$T/fs"; truncate -s 8M "$T/fs"; quietly mkswap "$T/fs"
check "a TMPDIR too long for a socket is not" env TMPDIR="$long" "$BIN/imagezip" -q --shrink "$T/fs" "$T/long.ndz"
status 1 env PATH=/nowhere "$BIN/imagezip" -q --shrink "$T/disk" "$T/bad.ndz"
check "without nbdkit: $(cat "$T/stderr")" grep -q "nbdkit is not installed" "$T/stderr"
check "nothing is left of the view" nothing_left
make_fs ext4 60M
"$BIN/imagezip" -q --shrink "$T/fs" "$T/ended.ndz" 2> "$T/said" & p=$!
its_folder() { ls -d "$TMP"/imagezip-?????? 2> /dev/null | grep -vxF "$before_tmp" | grep -q .; }
begins $p its_folder
kill -INT $p 2> /dev/null; wait $p
case $? in 0) echo "   (it was faster than the signal)" ;; *) check "a signal ends it: $(cat "$T/said")" grep -q "interrupted by SIGINT" "$T/said" ;; esac
check "nothing is left of the view then" nothing_left
finish
