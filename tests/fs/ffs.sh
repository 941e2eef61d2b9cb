#!/usr/bin/env bash
# UFS1 and UFS2 made by makefs.  No fsck_ffs is to be had here, so a reader of its
# own (ffs_read.py) walks the inodes: what they do not use must be what is skipped,
# and every file must be the same.
. "$(dirname "$0")/lib.sh"
requires makefs python3
ffs() { python3 "$TOP/tests/helpers/ffs_read.py" "$@"; }
make_files "$T/files" 1
ln -s many/short "$T/files/link"; ln -s "$(printf 'x%.0s' {1..200})" "$T/files/long-link"; ln "$T/files/large" "$T/files/hard-link"
truncate -s 3M "$T/files/hole"; printf end >> "$T/files/hole"

made() {	# IMG SIZE OPTIONS...
	rm -f "$1"; quietly makefs -t ffs -s "$2" "${@:3}" "$1" "$T/files" || fail "makefs ${*:3}"
}
case_of() {	# WHAT IMG
	ffs free "$2" > "$T/free" || { fail "$1: free space"; return; }
	fs_case ufs "$1" "$2" "$T/free" || return
	check "$1: a strict reader accepts it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/case.ndz" "$T/strict" "$(stat -c %s "$2")"
	ffs files "$2" > "$T/want"; ffs files "$T/target" > "$T/got"
	check "$1: every file" cmp "$T/want" "$T/got"
	check "$1: there are files" [ "$(wc -l < "$T/want")" -gt 70 ]
	check "$1: no more is free or used" cmp "$T/free" <(ffs free "$T/target")
}
round_trip() {	# WHAT SIZE EVERY-NTH-FILE-REMOVED OPTIONS...
	made "$T/fs" "$2" "${@:4}"
	[ "$3" = 0 ] || ffs remove "$T/fs" "$3"
	case_of "$1" "$T/fs"
}
round_trip "UFS1" 24m 0 -o version=1
round_trip "UFS2" 24m 0 -o version=2
round_trip "UFS1, files removed" 24m 2 -o version=1
round_trip "UFS2, files removed" 24m 2 -o version=2
round_trip "UFS2, big-endian, 4k/512, files removed" 28m 3 -B be -o version=2,bsize=4096,fsize=512
round_trip "UFS1, big-endian, 16k/2k" 28m 3 -B be -o version=1,bsize=16384,fsize=2048
round_trip "UFS2, 32k/4k, files removed" 24m 2 -o version=2,bsize=32768,fsize=4096
round_trip "UFS2, 64k/8k" 24m 3 -o version=2,bsize=65536,fsize=8192
round_trip "UFS1, no fragments" 24m 3 -o version=1,bsize=8192,fsize=8192
round_trip "UFS2, many inodes" 24m 0 -f 20000 -o version=2
round_trip "UFS2, nearly full" 9m 0 -o version=2

# Where FreeBSD has it: the copy at 64 KiB becomes the superblock.
made "$T/fs" 24m -o version=2,bsize=65536,fsize=8192
dd if="$T/fs" of="$T/fs" bs=8192 skip=1 seek=8 count=1 conv=notrunc status=none
head -c 8192 /dev/zero | dd of="$T/fs" bs=8192 seek=1 conv=notrunc status=none
printf '\0\0\1\0' | dd of="$T/fs" bs=1 seek=$((65536 + 1000)) conv=notrunc status=none
case_of "UFS2, superblock at 64 KiB" "$T/fs"
made "$T/fs" 24m -o version=2; ffs sums "$T/fs"
case_of "UFS2 with check hashes" "$T/fs"

# -M: what free inodes still hold becomes zeros, but for the generation.
blanked() {	# WHAT OPTIONS...
	made "$T/fs" 24m -f 2000 "${@:2}"; ffs stain "$T/fs"
	quietly "$BIN/imagezip" -q -r "$T/fs" "$T/raw.ndz"
	cp "$T/fs" "$T/want"; n=$(ffs blank "$T/want")
	check "$1: there are free inodes ($n)" [ "$n" -gt 50 ]
	check "$1: captured" "$BIN/imagezip" -q -M -F 1000000 "$T/fs" "$T/x.ndz"
	cp "$T/fs" "$T/target"; "$BIN/imageunzip" -q --in-place "$T/x.ndz" "$T/target"
	check "$1: they are zeros, and all else as it was" cmp "$T/want" "$T/target"
	"$BIN/imagezip" -q -F 1000000 "$T/fs" "$T/x.ndz"; "$BIN/imageunzip" -q --in-place "$T/x.ndz" "$T/target"
	check "$1: without -M they are what they were" cmp "$T/fs" "$T/target"
}
blanked "UFS1, -M" -o version=1
blanked "UFS2, -M" -o version=2
blanked "UFS2, big-endian, -M" -B be -o version=2,bsize=4096,fsize=512
"$BIN/imagezip" -q -F 1000000 -U "$T/sig" "$T/fs" "$T/x.ndz"; "$BIN/imagezip" -q -M -F 1000000 -H "$T/sig" "$T/fs" "$T/d.ndz"
cp "$T/fs" "$T/target"; "$BIN/imageunzip" -q --in-place "$T/d.ndz" "$T/target"
check "-M in a delta" cmp "$T/want" "$T/target"
ffs group "$T/fs" 0 32 11111111
"$BIN/imagezip" -M -F 1000000 "$T/fs" "$T/y.ndz" 2> "$T/stderr"
check "a wrong count of free inodes" grep -q "free inodes are stored unchanged: .*inode map and its free count differ" "$T/stderr"
"$BIN/imageunzip" -q --in-place "$T/y.ndz" "$T/target"; check "then they are" cmp "$T/fs" "$T/target"

# What cannot be trusted is stored completely.
made "$T/fs2" 12m -o version=2,bsize=4096,fsize=512; ffs free "$T/fs2" > "$T/free"
kept() {	# WHAT CLAUSE IMG
	"$BIN/imagezip" -q -i --json -F 0 "$3" > "$T/said" 2> /dev/null
	check "$1: stored completely" grep -q '"skipped_sectors": 0,' "$T/said"
	check "$1: says why" grep -q "warning.*stored completely: .*$2" "$T/said"
}
changed() {	# WHAT CLAUSE VERB ARGS...
	cp "$T/fs2" "$T/fs3"; ffs "$3" "$T/fs3" "${@:4}"
	kept "$1" "$2" "$T/fs3"
}
changed "not cleanly unmounted" "cleanly" set 209 00
changed "clean when mounted" "cleanly" set 209 02
changed "forced although unclean" "cleanly" set 1312 01000000
changed "to be checked" "to be checked" set 1312 04000000
changed "gjournal" "gjournal" set 1312 40000000
changed "blocks to be freed" "still to be freed" set 1104 05
changed "wrong free blocks" "superblock says" set 1016 ff
changed "wrong free fragments" "superblock says" set 1032 01
changed "impossible fragments" "do not make" set 188 00000000
changed "larger than the partition" "more than the partition" set 1083 7f
changed "group elsewhere" "not where it should be" group 0 12 05
changed "group without magic" "not where it should be" group 0 4 00
changed "wrong count of a group" "free counts differ" group 0 28 0000
changed "wrong size of a group" "not as large" group 0 20 0000
changed "bitmap outside" "bitmap lies outside" group 0 96 ffffff7f
changed "inodes beyond the initialised ones" "never initialised" group 0 120 00000000
changed "inodes that cannot be" "table of inodes has an impossible" group 0 120 ffffff7f
free_at=$(python3 -c 'import struct,sys; f=open(sys.argv[1],"rb"); f.seek(8192+12); c=struct.unpack("<I",f.read(4))[0]; f.seek(c*512+96); print(struct.unpack("<I",f.read(4))[0])' "$T/fs2")
changed "metadata free" "marks metadata as free" group 0 $((free_at + 4)) ff
cp "$T/fs2" "$T/fs3"; ffs sums "$T/fs3"; ffs group "$T/fs3" 0 140 55
fs_damaged ufs "wrong check hash" "$T/fs3" "$T/free"
kept "wrong check hash" "checksum is wrong" "$T/fs3"
cp "$T/fs2" "$T/fs3"; truncate -s 8M "$T/fs3"
fs_damaged ufs "cut short" "$T/fs3" "$T/free"
kept "cut short" "more than the partition" "$T/fs3"
finish
