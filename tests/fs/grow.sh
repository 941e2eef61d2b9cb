#!/usr/bin/env bash
# A loaded disk that is larger than its image: growfs lets the last partition and its filesystem
# reach to the end, by the filesystem's own tools, and its own fsck has nothing to say.
. "$(dirname "$0")/resize_lib.sh"

grows() {	# TYPE gpt|mbr END-MIB: loaded onto a disk of twice that
	local type=$1 kind=$2 mib=$3 mount=$1
	[ "$type" != ntfs ] || mount=ntfs-3g
	echo "== $type, $kind"
	make_fs "$type" $((mib - 4))M
	rm -f "$T/disk"; truncate -s $((mib + 1))M "$T/disk"; table "$T/disk" "$kind" "$mib"; put "$T/disk"
	"$BIN/imagezip" -q "$T/disk" "$T/disk.ndz" || fail imagezip
	rm -f "$T/big"; truncate -s $((2 * mib))M "$T/big"
	if [ "$kind" = gpt ]; then "$BIN/imageunzip" -q --grow --no-follow "$T/disk.ndz" "$T/big"; else "$BIN/imageunzip" -q --in-place "$T/disk.ndz" "$T/big"; fi || fail imageunzip
	before=$(head -c 64M "$T/big" | sha256sum)
	check "growfs --dry-run says what is there: $("$BIN/growfs" --dry-run "$T/big")" grep -q "partition 2: $type of [0-9.]* MB in a partition of [0-9.]* MB can be grown" <("$BIN/growfs" --dry-run "$T/big")
	check "and writes nothing" [ "$before" = "$(head -c 64M "$T/big" | sha256sum)" ]
	"$BIN/growfs" --dry-run --json "$T/big" > "$T/forecast" || fail "$type: growfs --dry-run"
	"$BIN/growfs" --json "$T/big" > "$T/report" || fail "$type: growfs"
	for what in partition_is_bytes filesystem_is_bytes table_changed; do
		check "--dry-run said so: $what $(member $what)" \
		    [ "$(json "$T/forecast" $what)" = "$(member $what)" ]
	done
	check "it says how much: $(member filesystem_was_bytes) to $(member filesystem_is_bytes)" [ "$(member filesystem_is_bytes)" -gt $(((2 * mib - 7) << 20)) ]
	check "no loop device is left" no_loops "$T/big"
	taken "$T/big"
	check "its own fsck finds nothing" quietly whole "$type"
	check "it is larger when it is mounted" [ "$(mounted "$mount" ro room_of)" -gt $(((mib + mib / 4) << 20)) ]
	check "the files are the same" mounted "$mount" ro same_files
	check "once more: nothing is to do" grep -q "fills its partition already" <("$BIN/growfs" "$T/big")
}
grows ext4 gpt 40
grows ext4 mbr 40
grows ntfs gpt 40
grows xfs gpt 340
grows btrfs mbr 160

echo "== left alone, and why"
alone() {	# WHAT CLAUSE [TYPE]: of the partition
	rm -f "$T/disk"; truncate -s 40M "$T/disk"; table "$T/disk" gpt 20; put "$T/disk"
	[ -z "${3:-}" ] || sfdisk -q --part-type "$T/disk" 2 "$3" || fail "sfdisk --part-type"
	left_alone "$1" "$2"
}
left_alone() {	# WHAT CLAUSE: the disk as it is
	before=$(sha256sum < "$T/disk")
	"$BIN/growfs" "$T/disk" > "$T/said" 2>&1
	check "$1: exit status 4" [ $? = 4 ]
	"$BIN/growfs" --json "$T/disk" > "$T/report" 2> /dev/null
	check "$1: the report is that of a failure" [ "$(member exit) $(member kind) $(member ok)" = "4 unsupported false" ]
	check "$1: $(cat "$T/said")" grep -q "partition 2: left alone: .*$2" "$T/said"
	check "$1: not a byte, not even of the table" [ "$before" = "$(sha256sum < "$T/disk")" ]
}
rm "$T/fs"; truncate -s 8M "$T/fs"; quietly mkswap "$T/fs"; alone swap "swap space"
rm "$T/fs"; truncate -s 8M "$T/fs"; alone nothing "no filesystem was recognised"
mkfs.vfat "$T/fs" > /dev/null 2>&1 && alone vfat "no tool is known here that changes the size of FAT12"
rm "$T/fs"; truncate -s 8M "$T/fs"; printf 'LUKS\272\276\0\001' | dd of="$T/fs" conv=notrunc status=none
printf 'aes' | dd of="$T/fs" bs=1 seek=8 conv=notrunc status=none; printf '11111111-2222-3333-4444-555555555555' | dd of="$T/fs" bs=1 seek=168 conv=notrunc status=none
alone LUKS "encrypted (LUKS)"
rm "$T/fs" "$T/disk"; truncate -s 128M "$T/fs"; quietly mkfs.btrfs -q "$T/fs"
truncate -s 200M "$T/disk"; table "$T/disk" gpt 132; put "$T/disk"
left_alone "a small btrfs" "shorter than 256 MiB"
rm "$T/fs"; truncate -s 8M "$T/fs"
l=$(losetup --show -f "$T/fs"); CLEANUP+=("losetup -d $l 2> /dev/null")
if command -v pvcreate > /dev/null && quietly pvcreate -qq --devices "$l" "$l" 2> /dev/null; then sync "$l"; losetup -d "$l"; cp "$T/fs" "$T/pv"
else echo "   (no LVM here)"; losetup -d "$l"; fi
make_fs ext4 16M; alone LDM "a dynamic disk of Windows" AF9B60A0-1431-4F62-BC68-3311714A69AD
rm -f "$T/disk"; truncate -s 40M "$T/disk"; table "$T/disk" mbr 20; put "$T/disk"
quietly sfdisk -q --append "$T/disk" <<< 'start=30MiB, size=4MiB, type=5' || fail "sfdisk: an extended partition"
left_alone "an empty extended partition behind it" "an extended partition lies behind it"
check "growfs --dry-run knows it" grep -q "left alone: an extended partition" <("$BIN/growfs" --dry-run "$T/disk" 2>&1)

if [ -e "$T/pv" ]; then
	echo "== a physical volume of LVM that is in no group"
	rm -f "$T/disk"; truncate -s 40M "$T/disk"; table "$T/disk" gpt 20
	lay "$T/pv" "$T/disk" $((4 << 20))
	check "growfs" grep -q "LVM2_member grew from .*; it is in no group" \
	    <("$BIN/growfs" "$T/disk" 2>&1)
	taken "$T/disk"; l=$(losetup --show -f "$T/fs"); CLEANUP+=("losetup -d $l 2> /dev/null")
	check "LVM says so" [ "$(pvs --devices "$l" --noheadings --nosuffix --units m \
	    -o pv_size "$l" 2> /dev/null | cut -d. -f1)" -ge 34 ]
	losetup -d "$l"
	mv "$T/pv" "$T/whole"; truncate -s 16M "$T/whole"
	check "on a whole disk, which is a file" grep -q "LVM2_member grew from .*; it is in no group" \
	    <("$BIN/growfs" "$T/whole" 2>&1)
fi

echo "== all partitions that have room"
# A FAT32 and an NTFS with room behind them, and an ext4 at the end of the disk.
rm -f "$T/disk" "$T/ext4"; truncate -s 700M "$T/disk"
printf 'label: gpt\nstart=2048, size=800000, type=uefi\nstart=802816, size=204800\nstart=1011712, size=40960\n' | sfdisk -q "$T/disk"
make_fs ntfs 60M; lay "$T/fs" "$T/disk" $((802816 * 512))
make_fs ext4 16M; lay "$T/fs" "$T/disk" $((1011712 * 512))
rm "$T/fs"; truncate -s 300M "$T/fs"; mkfs.vfat -F 32 -h 2048 -n ESP "$T/fs" > /dev/null 2>&1
cp "$T/fs" "$T/fat"; mcopy -i "$T/fat" -s "$T/files" ::/ 2> /dev/null || fail mcopy
lay "$T/fat" "$T/disk" $((2048 * 512))
head -c 512 "$T/fat" > "$T/boot"
want=0; command -v fatresize > /dev/null || want=4
"$BIN/growfs" --dry-run --json "$T/disk" > "$T/forecast"; check "--dry-run: status $want" [ $? = $want ]
"$BIN/growfs" --json "$T/disk" > "$T/report"; check "growfs: status $want" [ $? = $want ]
check "the second and the last have grown" json "$T/report" \
    'partitions[1].became=grew' 'partitions[1].to_be_checked=true' 'partitions[2].became=grew'
taken "$T/disk"; check "its own fsck finds nothing" quietly whole ext4
check "the files are the same" mounted ext4 ro same_files
rm "$T/fs"; lay "$T/disk" "$T/fs" 0 $((802816 * 512)) $((204800 * 512)); truncate -s 100M "$T/fs"
check "its own fsck finds nothing" quietly whole ntfs
check "NTFS: the copy of the boot sector is at the end" cmp -s -n 512 <(head -c 512 "$T/fs") <(tail -c 512 "$T/fs")
check "the files are the same" mounted ntfs-3g ro same_files
if [ $want = 0 ]; then
	check "FAT has grown" json "$T/report" 'partitions[0].became=grew'
	rm "$T/fs"; lay "$T/disk" "$T/fs" 0 $((2048 * 512)) $((800000 * 512)); truncate -s $((800000 * 512)) "$T/fs"
	check "its own fsck finds nothing" quietly fsck.fat -n "$T/fs"
	for at in "0 11" "28 4" "64 446"; do
		check "the boot sector has what it had at $at" cmp -s -i ${at% *} -n ${at#* } "$T/fs" "$T/boot"
	done
	check "and FAT32's copy of it" cmp -s -n 512 "$T/fs" <(tail -c +3073 "$T/fs" | head -c 512)
	rm -rf "$T/out"; mkdir "$T/out"; mcopy -i "$T/fs" -s -n ::/files "$T/out" 2> /dev/null
	check "the files are the same" diff -r "$T/files" "$T/out/files"
fi

echo "== refused"
make_fs ext4 16M; rm -f "$T/disk"; truncate -s 40M "$T/disk"; table "$T/disk" gpt 20; put "$T/disk"
l=$(losetup --show -f -o 4M --sizelimit 16M "$T/disk"); CLEANUP+=("losetup -d $l 2> /dev/null")
mount "$l" "$T/m"
status 1 "$BIN/growfs" "$T/disk"
check "what is mounted: $(cat "$T/stderr")" grep -q "is in use" "$T/stderr"
umount "$T/m"; losetup -d "$l"
# A filesystem that e2fsck does not repair by itself: a directory's block belongs to a file, too.
debugfs -w -R "sif /many block[0] 1" "$T/fs" > /dev/null 2>&1
dd if=/dev/urandom of="$T/fs" bs=1024 seek=3 count=40 conv=notrunc status=none
put "$T/disk"
status 1 "$BIN/growfs" "$T/disk"
check "what is damaged: $(cat "$T/stderr")" grep -q "growfs: .*: " "$T/stderr"
status 1 env TMPDIR="$T/nowhere" "$BIN/growfs" "$T/disk"
check "TMPDIR is used: $(cat "$T/stderr")" grep -q "nowhere/resize-" "$T/stderr"
check "no loop device is left" no_loops "$T/disk"

echo "== told to end while a loop device is being attached"
mkdir "$T/bin"
printf '#!/bin/sh\n[ "$1" = -d ] || echo /dev/loop-here\necho "$@" >> "%s"\n[ "$1" = -d ] || exec sleep 1000\n' "$T/asked" > "$T/bin/losetup"
chmod +x "$T/bin/losetup"
(PATH=$T/bin:$PATH exec "$BIN/growfs" "$T/disk" > /dev/null 2> "$T/stderr") & pid=$!
begins $pid grep -qs show "$T/asked" || fail "no loop device is asked for: $(cat "$T/stderr")"
kill -TERM $pid; wait $pid; rc=$?
check "exit $rc: $(cat "$T/stderr")" [ $rc = 1 ]
check "it is detached: $(tail -n 1 "$T/asked")" grep -qx -e "-d /dev/loop-here" "$T/asked"

echo "== told to end while the filesystem is being resized"
make_fs ext4 16M; truncate -s 32M "$T/fs"
cat > "$T/bin/resize2fs" << SH
#!/bin/sh
: > "$T/resizing"
until [ -e "$T/told" ]; do sleep 0.05; done
exec $(command -v resize2fs) "\$@"
SH
chmod +x "$T/bin/resize2fs"; rm "$T/bin/losetup"
(PATH=$T/bin:$PATH exec "$BIN/growfs" "$T/fs" > "$T/stdout" 2> "$T/stderr") & pid=$!
begins $pid [ -e "$T/resizing" ] || fail "it is not resized: $(cat "$T/stderr")"
kill -TERM $pid
nothing_for 0.5 "a program that is to end looks every 10 ms whether the tool that it runs is to be ended"
: > "$T/told"; wait $pid; rc=$?
check "it goes on to the end: exit $rc: $(cat "$T/stderr")" [ $rc = 0 ]
check "grown: $(cat "$T/stdout")" grep -q "fs: ext4 grew from 16.* to 33" "$T/stdout"
check "its own fsck finds nothing" quietly whole ext4

echo "== a filesystem without a table"
make_fs ext4 16M; truncate -s 32M "$T/fs"
check "growfs" grep -q "fs: ext4 grew from 16.* to 33" <("$BIN/growfs" "$T/fs")
check "its own fsck finds nothing" quietly whole ext4
check "the files are the same" mounted ext4 ro same_files
finish
