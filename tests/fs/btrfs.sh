#!/usr/bin/env bash
# btrfs made by mkfs.btrfs, and aged by the kernel: then btrfs check, which reads
# every file by its checksums, and a comparison of the files.
. "$(dirname "$0")/lib.sh"
requires mkfs.btrfs btrfs python3
space() { python3 "$TOP/tests/helpers/btrfs_space.py" "$@"; }
make_files "$T/files" 1

made() {	# IMG SIZE MKFS-OPTIONS...
	rm -f "$1"; truncate -s "$2" "$1"
	mkfs.btrfs -q -f --rootdir "$T/files" "${@:3}" "$1" > "$T/mkfs" 2>&1 || { fail "mkfs.btrfs ${*:3}: $(tail -n 1 "$T/mkfs")"; return 1; }
}
# WHAT IMG: the case, and what btrfs says of the result.
case_of() {
	space free "$2" > "$T/free" || { fail "$1: free space"; return; }
	fs_case btrfs "$1" "$2" "$T/free" || return
	check "$1: btrfs check" quietly btrfs check --check-data-csum "$T/target"
}
round_trip() {	# WHAT SIZE MKFS-OPTIONS...
	made "$T/fs" "$2" "${@:3}" || return
	case_of "$1" "$T/fs"
	# btrfs restore 6.2 itself fails on large sectors.
	case $* in *"-s 65536"*) return ;; esac
	rm -rf "$T/got"; mkdir "$T/got"
	quietly btrfs restore "$T/target" "$T/got"
	check "$1: every file" diff -r "$T/files" "$T/got"
}
round_trip "defaults, two superblocks" 120M
check "a strict reader accepts it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/case.ndz" /dev/null "$(stat -c %s "$T/fs")"
round_trip "data and metadata single, xxhash" 64M -d single -m single --csum xxhash
round_trip "data and metadata twice, sha256" 200M -d dup -m dup --csum sha256
round_trip "mixed, nodes of 4 KiB, blake2b" 32M -M -n 4096 --csum blake2
round_trip "nodes of 64 KiB, extents of before 3.10" 64M -m single -n 65536 -O ^skinny-metadata,^no-holes
round_trip "mixed, sectors of 64 KiB" 64M -M -s 65536 -n 65536
round_trip "shrunk to its files" 120M --shrink

# What cannot be trusted is stored completely.  Changed bytes get right checksums.
made "$T/fs2" 24M -M && space free "$T/fs2" > "$T/free"
damaged() {	# WHAT CLAUSE IMG
	fs_damaged btrfs "$1" "$3" "$T/free"
	kept "$@"
}
# The same without installing it.
kept() {
	"$BIN/imagezip" -q -i --json -F 0 "$3" > "$T/said" 2> /dev/null
	check "$1: stored completely" grep -q '"skipped_sectors": 0,' "$T/said"
	check "$1: says why" grep -q "warning.*stored completely: .*\($2\)" "$T/said"
}
super() {	# WHAT CLAUSE OFFSET HEX [COPY]
	cp --sparse=always "$T/fs2" "$T/fs3"; space super "$T/fs3" "${@:3}"
	kept "$1" "$2" "$T/fs3"
}
node() {	# WHAT CLAUSE TREE OFFSET HEX
	local at; at=$(space root "$T/fs2" "$3")
	cp --sparse=always "$T/fs2" "$T/fs3"; space node "$T/fs3" "$at" "$4" "$5"
	kept "$1" "$2" "$T/fs3"
}
super "log to be replayed" "log is to be replayed" 96 0000400100000000
super "seed" "a seed" 56 0100000001000000
super "marked as having errors" "marked as having errors" 56 0500000000000000
super "fsid being changed" "was not finished" 56 0100000008000000
super "two devices" "2 devices" 136 0200000000000000
super "target of a replacement" "replacing" 201 0000000000000000
super "extent tree v2" "second version" 188 6123000000000000
super "raid stripe tree" "RAID stripes" 188 6143000000000000
super "zoned" "zoned" 188 6113000000000000
super "unknown incompatible feature" "unknown incompatible" 188 6103001000000000
super "unknown read-only feature" "unknown read-only" 180 1300000000000000
super "unknown checksums" "type of checksums" 196 0900
super "wrong sum in the superblock" "superblock says" 120 0000100000000000
super "wrong usage of the device" "differ about the device" 217 0000100000000000
super "device larger than the partition" "more than the partition" 209 0000001000000000
super "wrong generation" "generation" 72 ff00000000000000
node "an extent less" "block group" extent 96 01000000
node "wrong owner" "another tree" extent 88 0500000000000000
node "wrong level" "level" extent 100 03
node "no items" "it is empty" extent 96 00000000
node "too many items" "too many items" extent 96 ffffff00
node "a chunk less" "differ about\|outside of every chunk" chunk 96 02000000

flipped() {	# WHAT CLAUSE TREE OFFSET: no checksum is put right, in all copies
	python3 - "$T/fs2" "$T/fs3" "$TOP/tests/helpers" "$3" "$4" << 'PY'
import contextlib, io, shutil, sys
sys.path.insert(0, sys.argv[3])
import btrfs_space as b
shutil.copyfile(sys.argv[1], sys.argv[2])
out = io.StringIO()
with contextlib.redirect_stdout(out):
    b.root_of(sys.argv[1], sys.argv[4])
logical = int(out.getvalue())
with open(sys.argv[2], "r+b") as f:
    for base, length, places in b.chunks(sys.argv[1]):
        for p in places if base <= logical < base + length else []:
            f.seek(p + logical - base + int(sys.argv[5]))
            byte = f.read(1)[0]
            f.seek(-1, 1)
            f.write(bytes([byte ^ 1]))
PY
	kept "$1" "$2" "$T/fs3"
}
flipped "a bit of the extent tree" "checksum is wrong" extent 300
flipped "a bit of the chunk tree" "checksum is wrong" chunk 300
flipped "a bit of the root tree" "checksum is wrong" root 110
cp --sparse=always "$T/fs2" "$T/fs3"; printf x | dd of="$T/fs3" bs=1 seek=$((65536 + 700)) conv=notrunc status=none
damaged "a bit of the superblock" "checksum of its superblock" "$T/fs3"
cp --sparse=always "$T/fs2" "$T/fs3"; truncate -s 20M "$T/fs3"
damaged "cut short" "more than the partition" "$T/fs3"

# One copy of two is damaged: the other one is read.
made "$T/fs2" 120M && space free "$T/fs2" > "$T/free"
cp --sparse=always "$T/fs2" "$T/fs3"
root=$(space root "$T/fs2" extent)
python3 - "$T/fs3" "$TOP/tests/helpers" "$root" << 'PY'
import sys
sys.path.insert(0, sys.argv[2])
import btrfs_space as b
logical = int(sys.argv[3])
with open(sys.argv[1], "r+b") as f:
    for base, length, places in b.chunks(sys.argv[1]):
        if base <= logical < base + length:
            f.seek(places[0] + logical - base + 200)
            f.write(b"x")
PY
fs_case btrfs "a bad copy of two" "$T/fs3" "$T/free"
super "newer mirror" "older than mirror" 72 ff00000000000000 1

[ "$(id -u)" = 0 ] || { [ $bad -eq 0 ] && skip "needs root to mount, the rest is good"; finish; }
mkdir "$T/mnt"
mounted() { mount -o "loop${3:+,$3}" "$1" "$2" 2> "$T/mount" || { fail "mount: $(cat "$T/mount")"; return 1; }; }
CLEANUP+=('mountpoint -q "$T/mnt" && umount "$T/mnt"')
# Two subvolumes of names that do not matter, sums of all files: IMG
sums_of() {
	mounted "$1" "$T/mnt" ro || return
	(cd "$T/mnt" && find . -type f -print0 | sort -z | xargs -0 sha256sum)
	umount "$T/mnt"
}
# Snapshots, deletions, writes into the middle, clones, holes: MNT
age() {
	btrfs -q subvolume create "$1/sub"
	make_files "$1/sub/a" 2 250; sync -f "$1"
	btrfs -q subvolume snapshot "$1/sub" "$1/snap1"
	find "$1/sub/a/many" -name 'file-*[13579]-*' -delete
	make_files "$1/sub/b" 3 200; sync -f "$1"
	python3 - "$1/sub/b/large" << 'PY'
import random, sys
r = random.Random(4)
with open(sys.argv[1], "r+b") as f:
    for _ in range(60):
        f.seek(r.randrange(250) * 4096)
        f.write(r.randbytes(4096))
        f.flush()
PY
	sync -f "$1"
	cp --reflink=always "$1/sub/b/large" "$1/sub/clone"
	btrfs -q subvolume snapshot -r "$1/sub" "$1/snap2"
	fallocate -l 3M "$1/sub/preallocated"; fallocate -p -o 8192 -l 65536 "$1/sub/clone"
	rm -rf "$1/sub/b/deep"; btrfs -q subvolume delete -c "$1/snap1" > /dev/null; sync -f "$1"
}
aged() {	# WHAT SIZE MOUNT-OPTIONS MKFS-OPTIONS...
	made "$T/fs" "$2" "${@:4}" || return
	mounted "$T/fs" "$T/mnt" "$3" || return
	age "$T/mnt"; umount "$T/mnt"
	case_of "$1" "$T/fs"
	sums_of "$T/fs" > "$T/want"; sums_of "$T/target" > "$T/got.sums"
	check "$1: every file, snapshots too" cmp "$T/want" "$T/got.sums"
	check "$1: there are files" [ "$(wc -l < "$T/want")" -gt 450 ]
}
aged "aged, free space tree" 120M ""
aged "aged, mixed, zstd, free space cache" 64M compress-force=zstd,space_cache=v1 -M -n 4096 -R ^free-space-tree

# Full, then every third file deleted, and what is left moved to other chunks.
made "$T/fs" 64M -M -b 60M && mounted "$T/fs" "$T/mnt" && {
	i=0; while head -c 60000 /dev/urandom > "$T/mnt/fill$i" 2> /dev/null; do i=$((i + 1)); done 2> /dev/null
	umount "$T/mnt"; case_of "full, smaller than the partition" "$T/fs"
	mounted "$T/fs" "$T/mnt"; rm -f "$T"/mnt/fill*[1478]; sync -f "$T/mnt"
	quietly btrfs balance start -dusage=70 -musage=70 "$T/mnt"; umount "$T/mnt"
	case_of "fragmented, balanced" "$T/fs"
}

# A file that was synced is in the log until the next commit (which any sync of
# the whole system brings about, so this is tried again).
made "$T/fs" 24M -M && mounted "$T/fs" "$T/mnt" commit=300 && {
	for try in 1 2 3 4 5 6; do
		head -c 500000 /dev/urandom > "$T/mnt/synced$try"; sync "$T/mnt/synced$try"; cp --sparse=always "$T/fs" "$T/fs3"
		btrfs inspect-internal dump-super "$T/fs3" | grep -q '^log_root[[:space:]]*[1-9]' && break
	done
	umount "$T/mnt"; : > "$T/free"
	damaged "copied after fsync, while mounted" "log is to be replayed" "$T/fs3"
}
finish
