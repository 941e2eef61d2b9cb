#!/usr/bin/env bash
# F2FS made by mkfs.f2fs, filled by sload.f2fs, aged by defrag.f2fs: then fsck.f2fs,
# its tree, and files as dump.f2fs finds them.  Nothing is mounted.
. "$(dirname "$0")/lib.sh"
requires mkfs.f2fs sload.f2fs fsck.f2fs dump.f2fs defrag.f2fs python3
make_files "$T/files" 1 80

# Blocks that dump.f2fs calls not valid, but for the segments being written, which
# are kept (docs/filesystems.md); the sum is compared with the checkpoint's: IMG
free_of() {
	python3 - "$1" << 'PY'
import os, re, subprocess, sys, tempfile
img = os.path.abspath(sys.argv[1])
with tempfile.TemporaryDirectory() as t:
    run = lambda *a: subprocess.run(["dump.f2fs", *a, img], cwd=t, capture_output=True, text=True).stdout
    head = dict(re.findall(r"^(\w+(?:\[\w+\])?)\s+\[0x\s*\w+ : (\d+)\]", run("-d", "1"), re.M))
    run("-s", "0~-1")
    sit = open(f"{t}/dump_sit").read()
current = {int(head[f"cur_{kind}_segno[{i}]"]) for kind in ("node", "data") for i in range(3)}
total, found, main = 0, 0, int(head["main_blkaddr"])
for m in re.finditer(r"^segno:\s*(\d+)\s+vblocks:\s*(\d+).*\n((?:\s+[0-9a-f]{2}(?=\s))*)", sit, re.M):
    seg, valid = int(m[1]), int(m[2])
    bits = "".join(f"{int(x, 16):08b}" for x in m[3].split()) or "0" * 512
    assert len(bits) == 512 and bits.count("1") == valid, (seg, valid, len(bits))
    total, found = total + valid, found + 1
    if seg not in current:
        for run_ in re.finditer("0+", bits):
            print((main + seg * 512 + run_.start()) * 8, len(run_[0]) * 8)
assert found == int(head["segment_count_main"]) and total == int(head["valid_block_count"]), (found, total)
PY
}

make_fs() {	# WHAT IMG SIZE MKFS-OPTIONS...
	local what=$1 img=$2 size=$3; shift 3
	rm -f "$img"; truncate -s "$size" "$img"
	quietly mkfs.f2fs -f -t 0 "$@" "$img" || { fail "$what: mkfs.f2fs"; return 1; }
}
load() {	# IMG DIR
	rm -rf "$T/load"; mkdir "$T/load"; cp -r "$T/files" "$T/load/$2"
	sload.f2fs -f "$T/load" "$1" > "$T/sload" 2>&1 || { fail "sload.f2fs: $(tail -c 200 "$T/sload")"; return 1; }
}
edit() { python3 "$TOP/tests/helpers/f2fs_edit.py" "$@"; }
fsck() { fsck.f2fs --dry-run "$1" > "$T/fsck" 2>&1 && ! grep -q Fail "$T/fsck" && grep -q 'other corrupted bugs *\[Ok' "$T/fsck"; }
tree() { fsck.f2fs -t --dry-run "$1" 2> /dev/null | grep -E '^[|` -]'; }

# 15 files out of the target, compared with what was loaded: WHAT FIRST-INODE
same_files() {
	local i n; rm -rf "$T/dump"; mkdir "$T/dump"
	for ((i = $2; i < $2 + 15; i++)); do
		(cd "$T/dump" && yes y | dump.f2fs -i "$i" "$T/target") > /dev/null 2>&1
	done
	n=$(cd "$T/dump/lost_found" 2> /dev/null && for i in file-*; do cmp -s "$i" "$T/files/many/$i" && echo "$i"; done | wc -l)
	check "$1: files of the target ($n)" [ "${n:-0}" -ge 5 ]
}
round_trip() {	# WHAT IMG
	free_of "$2" > "$T/free" || { fail "$1: listing free space"; return; }
	fs_case f2fs "$1" "$2" "$T/free" || return
	check "$1: fsck.f2fs" fsck "$T/target"
	check "$1: the same tree" [ "$(tree "$2" | md5sum)" = "$(tree "$T/target" | md5sum)" ]
}
loaded() {	# WHAT SIZE MKFS-OPTIONS...
	local what=$1 size=$2; shift 2
	make_fs "$what" "$T/fs" "$size" "$@" && load "$T/fs" one || { fail "$what: loading"; return; }
	round_trip "$what" "$T/fs"
	same_files "$what" 10
}
make_fs "fresh, journal in the summaries" "$T/fs" 64M && round_trip "fresh, journal in the summaries" "$T/fs"
loaded "defaults of mkfs.f2fs" 80M
loaded "checksums, quota, times" 100M -O extra_attr,inode_checksum,sb_checksum,inode_crtime,quota,project_quota
make_fs "other features" "$T/fs" 100M -O extra_attr,encrypt,verity,compression,lost_found,flexible_inline_xattr -C utf8 &&
    round_trip "other features" "$T/fs"
loaded "4 segments a section" 160M -s 4
loaded "extended node bitmap" 80M -i

# Filled, and many blocks moved away from where they were, which leaves holes.
make_fs "aged" "$T/fs" 100M
for d in a b c d e f; do load "$T/fs" "$d"; done
main=$(dump.f2fs -d 1 "$T/fs" | grep -oP '^main_blkaddr.*: \K\d+')
for k in 1 3 4 6 8; do
	quietly defrag.f2fs -s $((main + 8 * 512 + k * 90)) -l $((10 + k)) -t $((main + 18 * 512)) "$T/fs" || fail "aged: defrag.f2fs"
done
round_trip "aged, with holes" "$T/fs"
check "aged: there are holes ($(wc -l < "$T/free"))" [ "$(wc -l < "$T/free")" -ge 8 ]
# What only the kernel writes.
make_fs "base" "$T/base" 80M && load "$T/base" one
edited() {	# WHAT EDIT...
	local what=$1; shift
	cp "$T/base" "$T/fs"; edit "$T/fs" "$@" || fail "$what: editing"
	round_trip "$what" "$T/fs"
}
edited "second copies of the SIT" second
edited "journal of the SIT, not compact" journal
edited "one checkpoint alone" only

# What cannot be trusted is stored completely.
free_of "$T/base" > "$T/free"
damaged() {	# WHAT CLAUSE EDIT...
	local what=$1 clause=$2; shift 2
	cp "$T/base" "$T/fs3"; edit "$T/fs3" "$@" || fail "$what: editing"
	kept_whole "$what" "$T/fs3" "$clause"
	row f2fs "$what" "$said"
}
damaged "not cleanly unmounted" "not cleanly unmounted" cp 132 4 0x180
damaged "marked for fsck" "having errors" cp 132 4 0x191
damaged "errors marked" "having errors" cp 132 4 0x189
damaged "checkpoints suspended" "suspended" cp 132 4 0x1181
damaged "unknown state" "unknown state" cp 132 4 0x10181
damaged "valid blocks miscounted" "checkpoint says" cp 16 8 5
damaged "free segments miscounted" "checkpoint says" cp 32 4 2
damaged "segment's bitmap" "miscounted" sit 3
damaged "synced after the checkpoint" "after its last checkpoint" synced
damaged "zoned device" "unknown features" super 2180 4 2
damaged "unknown feature" "unknown features" super 2180 4 0x100000
damaged "a second device" "more than one device" super 2201 4 0x7665642f
damaged "checkpoint's place" "areas at impossible places" super 80 4 4096
cp "$T/base" "$T/fs3"; edit "$T/fs3" torn; edit "$T/fs3" only
kept_whole "no checkpoint" "$T/fs3" "no valid checkpoint"
cp "$T/base" "$T/fs3"; edit "$T/fs3" cp 132 4 0x180
fs_damaged f2fs "not unmounted, installed" "$T/fs3" "$T/free"
cp "$T/base" "$T/fs3"; truncate -s 40M "$T/fs3"
fs_damaged f2fs "cut short" "$T/fs3" "$T/free"
kept_whole "cut short" "$T/fs3" "more than the partition"
printf '\x55' | dd of="$T/fs3" bs=1 seek=$((1024 + 52)) conv=notrunc status=none
kept_whole "copies of the superblock differ" "$T/fs3" "differ"
finish
