#!/usr/bin/env bash
# ext2/3/4 made by mke2fs: then e2fsck, every superblock, and every file.
. "$(dirname "$0")/lib.sh"
requires mke2fs e2fsck dumpe2fs debugfs python3
make_files "$T/files" 1

# Free blocks as dumpe2fs tells them: IMG
free_of() {
	python3 - "$1" << 'PY'
import re, subprocess, sys
out = subprocess.run(["dumpe2fs", sys.argv[1]], capture_output=True, text=True, errors="replace").stdout
size = int(re.search(r"Block size:\s+(\d+)", out).group(1))
# dumpe2fs ends a range of clusters with the first block of the last one.
m = re.search(r"Cluster size:\s+(\d+)", out)
tail = int(m.group(1)) // size - 1 if m else 0
for line in re.findall(r"^  Free blocks: (.*)$", out, re.M):
    for a in re.findall(r"(\d+)(?:-(\d+))?", line):
        lo, hi = int(a[0]), int(a[1] or a[0]) | tail
        print(lo * size // 512, (hi - lo + 1) * size // 512)
PY
}

# Every backup of the superblock serves as well as it does on the source (its
# descriptors are as old as the filesystem): WHAT IMG
backups() {
	local b size disk
	dumpe2fs "$2" > "$T/dumped" 2> /dev/null; size=$(grep -oP 'Block size:\s+\K\d+' "$T/dumped")
	for b in $(grep -oP 'Backup superblock at \K\d+' "$T/dumped"); do
		for disk in "$2" "$T/target"; do
			e2fsck -fn -b "$b" -B "$size" "$disk" 2>&1 | sed "s|$disk|DISK|g" > "$disk.fsck"
		done
		check "$1: backup superblock $b" cmp "$2.fsck" "$T/target.fsck"
		check "$1: it is one" grep -q 'Pass 5' "$T/target.fsck"
	done
}

(cd "$T/files/many" && for f in 03 05 09 40 77; do echo "rm /many/$(echo file-00$f*)"; done) > "$T/removals"
round_trip() {	# WHAT SIZE MKE2FS-OPTIONS...
	local what=$1 size=$2 img=$T/fs; shift 2
	rm -f "$img"; truncate -s "$size" "$img"
	mke2fs -q -F -E nodiscard "$@" -d "$T/files" "$img" 2> "$T/mke2fs" || { fail "$what: mke2fs: $(cat "$T/mke2fs")"; return; }
	debugfs -w -f "$T/removals" "$img" > /dev/null 2>&1	# age it a little
	e2fsck -fy "$img" > /dev/null 2>&1
	free_of "$img" > "$T/free"
	fs_case ext4 "$what" "$img" "$T/free" || return
	check "$what: a strict reader accepts it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/case.ndz" /dev/null "$(stat -c %s "$img")"
	check "$what: e2fsck" quietly e2fsck -fn "$T/target"
	rm -rf "$T/got" "$T/want"; mkdir "$T/got" "$T/want"
	debugfs -R "rdump / $T/got" "$T/target" > /dev/null 2>&1
	debugfs -R "rdump / $T/want" "$img" > /dev/null 2>&1
	check "$what: every file" diff -r --no-dereference "$T/want" "$T/got"
	check "$what: there are files" [ "$(find "$T/got" -type f | wc -l)" = 147 ]
	backups "$what" "$img"
}
round_trip "defaults of mke2fs" 32M -t ext4
round_trip "64bit, lazy" 40M -t ext4 -O 64bit -E lazy_itable_init=1 -g 2048
round_trip "1k blocks" 48M -t ext4 -b 1024
round_trip "2k blocks, meta_bg" 40M -t ext4 -b 2048 -O meta_bg,^resize_inode
round_trip "bigalloc" 48M -t ext4 -O bigalloc -C 16384
round_trip "inline data" 32M -t ext4 -O inline_data -I 256
round_trip "sparse_super2" 40M -t ext4 -O sparse_super2 -g 2048
round_trip "no flex_bg, uninit_bg" 40M -t ext4 -O ^flex_bg,^metadata_csum,uninit_bg -g 2048
round_trip "all that is new" 32M -t ext4 -O mmp,quota,project,verity,encrypt,ea_inode,large_dir,stable_inodes,fast_commit,metadata_csum_seed
round_trip "room to grow, 64k clusters, meta_bg" 64M -t ext4 -O bigalloc,meta_bg,^resize_inode -C 65536
round_trip "resize inode" 40M -t ext4 -b 1024 -E resize=4G
round_trip "nearly full" 12M -t ext4 -N 300 -m 0
round_trip "ext3" 32M -t ext3
round_trip "ext2, 1k blocks" 40M -t ext2 -b 1024

# What cannot be trusted is stored completely.
truncate -s 16M "$T/fs2"; mke2fs -q -F -t ext4 "$T/fs2"; free_of "$T/fs2" > "$T/free"
damaged() {	# WHAT DEBUGFS-COMMAND
	cp "$T/fs2" "$T/fs3"; debugfs -w -R "$2" "$T/fs3" > /dev/null 2>&1
	fs_damaged ext4 "$1" "$T/fs3" "$T/free"
	check "$1: stored completely" said_zero "$T/fs3"
}
damaged "not cleanly unmounted" "set_super_value state 0"
damaged "marked as having errors" "set_super_value state 3"
damaged "wrong free count" "set_super_value free_blocks_count 5"
damaged "journal to be replayed" "feature needs_recovery"
# Features that are not known, in either word: Next3's snapshots, Android's shared blocks, Lustre's directories.
flag() { python3 -c 'import struct, sys; f = open(sys.argv[1], "r+b"); at = int(sys.argv[2]); f.seek(at); v = struct.unpack("<I", f.read(4))[0]; f.seek(at); f.write(struct.pack("<I", v | int(sys.argv[3], 0)))' "$@"; }
rm -f "$T/plain"; truncate -s 16M "$T/plain"; mke2fs -q -F -t ext4 -O ^metadata_csum,mmp "$T/plain"; free_of "$T/plain" > "$T/free"
for bit in "1124 0x80" "1124 0x4000" "1120 0x1000" "1120 0x40000"; do
	cp "$T/plain" "$T/fs3"; flag "$T/fs3" $bit
	fs_damaged ext4 "unknown feature, $bit" "$T/fs3" "$T/free"; check "unknown feature, $bit: stored completely" said_zero "$T/fs3"
done
# An external journal is no filesystem.
truncate -s 8M "$T/journal"; mke2fs -q -F -O journal_dev "$T/journal"
check "an external journal: stored completely, and named" grep -q "stored completely: it is the external journal of another ext filesystem" <("$BIN/imagezip" -i --json "$T/journal")
# Multi-mount protection: somebody else's, or fsck's.
check "multi-mount block clean: looked into" [ "$(said_of skipped_sectors "$T/plain")" -gt 12000 ]
mmp=$(dumpe2fs -h "$T/plain" 2> /dev/null | sed -n 's/^MMP block number: *//p')
for what in 'mounted by another:\5\0\0\0' 'being checked:\x50\x4d\x4d\xe2'; do
	cp "$T/plain" "$T/fs3"; printf "${what#*:}" | dd of="$T/fs3" bs=1 seek=$((mmp * $(dumpe2fs -h "$T/plain" 2> /dev/null | sed -n 's/^Block size: *//p') + 4)) conv=notrunc status=none
	fs_damaged ext4 "${what%%:*}" "$T/fs3" "$T/free"; check "${what%%:*}: says so" grep -q "another machine has mounted it" <(said_of warning "$T/fs3")
done
# A journal for others is no filesystem.
rm -f "$T/fs3"; truncate -s 8M "$T/fs3"; mke2fs -q -F -O journal_dev -b 4096 "$T/fs3"; : > "$T/free"
fs_damaged ext4 "a journal device" "$T/fs3" "$T/free"; check "a journal device: stored completely" said_zero "$T/fs3"
free_of "$T/fs2" > "$T/free"
cp "$T/fs2" "$T/fs3"; truncate -s 10M "$T/fs3"
fs_damaged ext4 "cut short" "$T/fs3" "$T/free"
check "cut short: stored completely" said_zero "$T/fs3"
finish
