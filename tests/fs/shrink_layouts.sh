#!/usr/bin/env bash
# imagezip --shrink makes every filesystem small, and moves partitions close together: GPT, hybrid,
# logical partitions, 4Kn.  What depends on a place is adapted, or stays where it is; a failed
# tool leaves its filesystem as it was.  The image installs on the smallest disk it says.
. "$(dirname "$0")/resize_lib.sh"
requires nbdkit nbdfuse setpriv unshare sgdisk mkfs.vfat mcopy ntfs-3g.probe
[ -c /dev/fuse ] || skip "needs FUSE"
MIB=1048576

at() { sfdisk -J "$1" | json -1 - "partitiontable.partitions[$2].start"; }	# DISK INDEX
part() {	# DISK INDEX: as $T/fs
	local start size unit
	read -r start size < <(sfdisk -J "$1" | json -1 - "partitiontable.partitions[$2].start" "partitiontable.partitions[$2].size")
	unit=$(sfdisk -J "$1" | json - partitiontable.sectorsize); unit=${unit:-512}
	rm -f "$T/fs"; truncate -s $((size * unit)) "$T/fs"
	lay "$1" "$T/fs" 0 $((start * unit)) $((size * unit))
}
put_on() { lay "$1" "$T/disk" $(($2 * 512)); }	# FILE SECTOR
u32() { od -An -tu4 -j "$2" -N 4 "$1" | tr -d ' '; }	# FILE BYTE
fat() { rm -f "$T/fat"; truncate -s 34M "$T/fat"; quietly mkfs.vfat -F 32 -s 1 -h "$1" "$T/fat" && mcopy -i "$T/fat" "$T/sums" :: || fail "mkfs.vfat"; }
small() {	# NAME OPTION...: of $T/disk, installed on a disk of just that size, which is $T/new
	local name=$1 n; shift
	before=$(sha256sum < "$T/disk")
	"$BIN/imagezip" -z 1 --json --shrink --margin=0 "$@" "$T/disk" "$T/small.ndz" > "$T/report" 2> "$T/said" ||
	    { fail "$name: $(cat "$T/said")"; return; }
	check "$name: the source is as it was" [ "$before" = "$(sha256sum < "$T/disk")" ]
	n=$(json "$T/report" sectors)
	rm -f "$T/new"; truncate -s $((n * 512)) "$T/new"
	check "$name: it installs on $((n / 2048)) MiB" quietly "$BIN/imageunzip" -q --in-place "$T/small.ndz" "$T/new"
	check "$name: the table is right" eval '! sfdisk --verify "$T/new" 2>&1 | grep -iq "corrupt\|mismatch\|beyond\|overlap\|invalid"'
}
files_in() {	# INDEX TYPE
	part "$T/new" "$1"
	check "partition $1: its own fsck finds nothing" quietly whole "$2"
	check "partition $1: the files are the same" mounted "${2/ntfs/ntfs-3g}" ro same_files
}

make_fs ext4 60M; mv "$T/fs" "$T/ext4"
make_fs ntfs 60M; mv "$T/fs" "$T/ntfs"
truncate -s 4M "$T/swap"; quietly mkswap "$T/swap"

echo "== GPT and hybrid: root, swap, FAT, ext4"
truncate -s 200M "$T/disk"
printf 'label: gpt\nstart=2048, size=122880, name=root\nstart=124928, size=8192, type=S\nstart=139264, size=69632, type=U\nstart=210944, size=122880\n' | sfdisk -q "$T/disk"
fat 139264
put_on "$T/ext4" 2048; put_on "$T/swap" 124928; put_on "$T/fat" 139264; put_on "$T/ext4" 210944
quietly sgdisk -h 3:EE "$T/disk" || fail "sgdisk -h"
uuids() { sfdisk -J "$1" | python3 -c 'import json, sys; t = json.load(sys.stdin)["partitiontable"]; print(t["id"], [(p["uuid"], p["type"], p.get("name")) for p in t["partitions"]])'; }
small gpt
check "sgdisk -v: $(sgdisk -v "$T/new" | tail -n 1)" grep -q "No problems found" <(sgdisk -v "$T/new")
check "GUIDs, types and names are the same" [ "$(uuids "$T/disk")" = "$(uuids "$T/new")" ]
check "each moved partition begins with a MiB" eval 'for i in 1 2 3; do [ $(($(at "$T/new" $i) % 2048)) = 0 ] || false; done'
check "there is less than a MiB between them" eval 'for i in 1 2 3; do read -r s l < <(sfdisk -J "$T/new" | json -1 - "partitiontable.partitions[$((i - 1))].start" "partitiontable.partitions[$((i - 1))].size"); [ $(($(at "$T/new" $i) - s - l)) -lt 2048 ] || exit 1; done'
check "the disk is less than half as large" [ "$(stat -c %s "$T/new")" -lt $((100 * MIB)) ]
check "the report has their places" json "$T/report" "shrunk.partitions[1].was_first_sector=124928" \
    "shrunk.partitions[1].first_sector=$(at "$T/new" 1)" "shrunk.partitions[3].filesystem_is_bytes<62914560"
files_in 0 ext4; files_in 3 ext4
part "$T/new" 1; check "swap is as long as it was" [ "$(stat -c %s "$T/fs")" = 4194304 ]
check "swap has its header" cmp -n 4096 "$T/swap" "$T/fs"
part "$T/new" 2; check "FAT says its place" [ "$(u32 "$T/fs" 28)" = "$(at "$T/new" 2)" ]
check "its copy does, too" [ "$(u32 "$T/fs" $((6 * 512 + 28)))" = "$(at "$T/new" 2)" ]
check "its files are the same" cmp "$T/sums" <(mcopy -i "$T/fs" ::sums -)
hybrid() { python3 -c 'import struct, sys; b = open(sys.argv[1], "rb").read(512); print([struct.unpack_from("<II", b, 454 + 16 * i) for i in range(4) if b[450 + 16 * i] not in (0, 0xee)])' "$1"; }
check "the hybrid MBR has it there: $(hybrid "$T/new")" [ "$(hybrid "$T/new")" = "[($(at "$T/new" 2), 69632)]" ]
"$BIN/imagezip" -i --json --shrink --margin=0 "$T/disk" > "$T/report" 2> /dev/null || fail "imagezip -i"
check "-i has them, too" json "$T/report" "shrunk.partitions[1].first_sector=$(at "$T/new" 1)" "partitions[1].first_sector=$(at "$T/new" 1)"

echo "== MBR: ext4, and logical ones"
rm -f "$T/disk"; truncate -s 200M "$T/disk"
printf 'label: dos\nlabel-id: 0x12345678\nstart=2048, size=122880, bootable\nstart=126976, size=276480, type=5\nstart=129024, size=8192, type=82\nstart=139264, size=122880\nstart=264192, size=8192, type=82\n' | sfdisk -q "$T/disk"
put_on "$T/ext4" 2048; put_on "$T/swap" 129024; put_on "$T/ext4" 139264; put_on "$T/swap" 264192
small mbr
check "the numbers and the flag stay" [ "$(sfdisk -d "$T/new" | sed -n 's/.*new\([0-9]\) .*type=\(.*\)/\1:\2/p' | tr '\n' ' ')" = "1:83, bootable 2:5 5:82 6:83 7:82 " ]
check "the disk is less than half as large" [ "$(stat -c %s "$T/new")" -lt $((90 * MIB)) ]
files_in 0 ext4; files_in 3 ext4
part "$T/new" 4; check "the last swap has its header" cmp -n 4096 "$T/swap" "$T/fs"

echo "== Windows: GPT moves, MBR does not; GRUB does not"
rm -f "$T/disk"; truncate -s 140M "$T/disk"
printf 'label: gpt\nstart=2048, size=122880, type=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7\nstart=124928, size=122880, type=DE94BBA4-06D1-4D40-A16A-BFD50179D6AC\nstart=249856, size=2048\n' | sfdisk -q "$T/disk"
put_on "$T/ntfs" 2048; put_on "$T/ntfs" 124928
for s in 124928 247807; do python3 -c "import struct, sys; sys.stdout.buffer.write(struct.pack('<I', 124928))" | put_at $((s * 512 + 28)); done
small "Windows, GPT"
check "the recovery partition keeps its length" grep -q "partition 2: is not made smaller: it is a recovery partition" "$T/said"
files_in 0 ntfs; files_in 1 ntfs
check "NTFS says its place" [ "$(u32 "$T/fs" 28)" = "$(at "$T/new" 1)" ]
check "its copy does, too" [ "$(u32 "$T/fs" $((122879 * 512 + 28)))" = "$(at "$T/new" 1)" ]
printf 'label: dos\nstart=2048, size=122880, type=7\nstart=124928, size=122880, type=7\n' | sfdisk -q --wipe always "$T/disk"
small "Windows, MBR"
check "the second one is where it was" [ "$(at "$T/new" 1)" = 124928 ]
check "the first one is as it was: $(head -n 1 "$T/said")" grep -q "partition 1: is not made smaller: partition 2 behind it keeps its first sector: Windows" "$T/said"
check "its sectors, too" cmp -i $MIB -n $((60 * MIB)) "$T/disk" "$T/new"
files_in 1 ntfs
sfdisk -q --part-type "$T/disk" 1 83; sfdisk -q --part-type "$T/disk" 2 83
printf 'GRUB ' | put_at 384; python3 -c "import struct, sys; sys.stdout.buffer.write(struct.pack('<Q', 125000))" | put_at 92
"$BIN/imagezip" -i --json --shrink "$T/disk" > "$T/report" 2> "$T/said"
check "without --margin, 1 GiB of NTFS stays free" grep -q "partition 2: ntfs of [0-9.]* MB is not made smaller: its files and what is to stay free need that" "$T/said"
check "a partition with GRUB's list of blocks stays" json "$T/report" "partitions[1].first_sector=124928"

echo "== partitions that lie over each other stay as they are"
python3 - "$T/disk" << 'PY'
import struct, sys
with open(sys.argv[1], "r+b") as f:
    for i, (kind, first, count) in enumerate(((0, 0, 262144), (0x83, 2048, 122880))):
        f.seek(446 + 16 * i); f.write(struct.pack("<4xB3xII", kind, first, count))
PY
put_on "$T/ext4" 2048; printf behind | put_at $((262000 * 512))
"$BIN/imagezip" -q -z 1 --shrink -R 1 "$T/disk" "$T/small.ndz" || fail "type 0: imagezip"
rm -f "$T/new"; "$BIN/imageunzip" -q "$T/small.ndz" "$T/new" || fail "type 0: imageunzip"
check "what is behind the last one that begins is there" cmp -n $((262144 * 512)) "$T/disk" "$T/new"

echo "== 4Kn"
rm -f "$T/disk"; truncate -s 140M "$T/disk"; LOOP=$(losetup -f --show --sector-size 4096 "$T/disk") || fail losetup; CLEANUP+=('losetup -d "$LOOP" 2> /dev/null')
printf 'label: gpt\nstart=256, size=15360\nstart=15616, size=15360\n' | sfdisk -q "$LOOP" || fail "sfdisk 4Kn"
losetup -d "$LOOP"
put_on "$T/ext4" 2048; put_on "$T/ext4" 124928
"$BIN/imagezip" -q --shrink --margin=0 "$T/disk" "$T/small.ndz" || fail "4Kn: imagezip"
rm -f "$T/new"; "$BIN/imageunzip" -q "$T/small.ndz" "$T/new" || fail "4Kn: imageunzip"
to=$("$BIN/imagezip" -q -i --json "$T/new" 2> /dev/null | json - "partitions[1].first_sector")
check "4Kn: the second one has moved to $to" [ "$to" -lt 124928 ]
rm -f "$T/fs"; truncate -s $(($(stat -c %s "$T/new") - to * 512)) "$T/fs"; lay "$T/new" "$T/fs" 0 $((to * 512)) $(($(stat -c %s "$T/fs")))
check "4Kn: the files are the same" mounted ext4 ro same_files

echo "== an NTFS whose tool fails has more room, or stays as it was"
mkdir "$T/fails"; cat > "$T/fails/ntfsresize" << 'SH'
#!/bin/sh
if [ "$1" = -f ] && [ "$3" -lt "$NTFS_LEAST" ]; then
	dd if=/dev/urandom of="$4" bs=4096 seek=100 count=50 conv=notrunc 2> /dev/null
	echo "ERROR: it does not fit"; exit 1
fi
SH
echo "exec $(command -v ntfsresize) \"\$@\"" >> "$T/fails/ntfsresize"; chmod 755 "$T/fails/ntfsresize"
cp "$T/ntfs" "$T/disk"
export PATH="$T/fails:$PATH" NTFS_LEAST=$((20 * MIB))
small "more room" -n
n=$(json "$T/report" sectors)
check "it has more room: $((n / 2048)) MiB" [ "$n" -ge 40960 -a "$n" -lt 90000 ]
cp "$T/new" "$T/fs"; check "the files are the same" mounted ntfs-3g ro same_files
export NTFS_LEAST=$((1000 * MIB))
small "none" -n
check "said: $(head -n 1 "$T/said")" grep -q "not made smaller: its tool fails: ERROR: it does not fit" "$T/said"
cp "$T/new" "$T/fs"; check "the files are the same" mounted ntfs-3g ro same_files
finish
