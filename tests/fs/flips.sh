#!/usr/bin/env bash
# One wrong bit in what a scan reads: whatever is skipped is free.  Where there are no
# checksums, counts that do not agree tell.  (NTFS and FAT have tests of this kind of their own.)
. "$(dirname "$0")/lib.sh"
requires mke2fs mkfs.xfs mkfs.btrfs mkfs.f2fs makefs python3
B=${B:-$TOP/build/plain}
many=60; instrumented && many=15
FLIPS=${FLIPS:-$many}
make_files "$T/files" 1 60

flips() {	# FS WHAT: of $T/fs
	local said
	check "$1, $2: recorded" quietly "$B/tests/helpers/record_fs" "$T/fs" "$T/record" || return
	if said=$(python3 "$TOP/tests/helpers/flips.py" "$T/fs" "$T/record" "$FLIPS" 7 "$BIN/imagezip"); then
		echo "ok: $1, $2: $said"; row "$1" "$FLIPS flipped bits, $2" "$said, nothing skipped that is not free"
	else
		fail "$1, $2: $said"; row "$1" "$FLIPS flipped bits, $2" FAILED
	fi
}
new() { rm -f "$T/fs"; truncate -s "$1" "$T/fs"; }

# Of the same UUID at the same time, so that the same bits are drawn in each run.
export E2FSPROGS_FAKE_TIME=1700000000
UUID=5eed5eed-0000-4000-8000-000000000000
ext() { mke2fs -q -F -U $UUID -E hash_seed=$UUID -d "$T/files" "$@" "$T/fs"; }
new 24M; ext -t ext4 -b 1024; flips ext4 "checksums"
new 24M; ext -t ext4 -O ^metadata_csum,uninit_bg; flips ext4 "checksums of descriptors"
new 24M; ext -t ext2 -b 1024; flips ext4 "ext2, none"
xfs() { TEST_DIR=1 TEST_DEV=1 QA_CHECK_FS=1 quietly mkfs.xfs -q -K -f "$@" "$T/fs" || fail "mkfs.xfs"; }
new 40M; xfs -d agcount=2; flips xfs "checksums"
new 40M; xfs -m crc=0 -d agcount=2; flips xfs "version 4, none"
new 128M; mkfs.btrfs -q -f --rootdir "$T/files" "$T/fs" > /dev/null; flips btrfs "checksums"
new 80M; quietly mkfs.f2fs -f -t 0 "$T/fs"; quietly sload.f2fs -f "$T/files" "$T/fs"; flips f2fs "few checksums"
for v in 1 2; do rm -f "$T/fs"; makefs -t ffs -s 24m -o version=$v "$T/fs" "$T/files" > /dev/null; flips ufs "UFS$v"; done
finish
