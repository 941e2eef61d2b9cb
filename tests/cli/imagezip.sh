#!/usr/bin/env bash
# Real filesystems from their own mkfs: every free block poisoned, captured,
# installed on a poisoned disk; then e2fsck, and every file compared.
. "$(dirname "$0")/lib.sh"
requires mke2fs e2fsck dumpe2fs debugfs python3 sfdisk mkswap

mkdir -p "$T/files/many"
python3 - "$T/files" << 'PY'
import os, random, sys
r = random.Random(1)
for i in range(300):
    with open(f"{sys.argv[1]}/many/f{i}", "wb") as f:
        f.write(r.randbytes(r.choice([0, 20, 50, 700, 5000])) * r.choice([1, 1, 9]))
with open(f"{sys.argv[1]}/large", "wb") as f:
    f.write(r.randbytes(1 << 20) + bytes(3 << 20) + r.randbytes(1 << 20))
os.symlink("large", f"{sys.argv[1]}/link")
PY

# Free blocks as dumpe2fs tells them become 0xEE; prints how many sectors.
cat > "$T/poison.py" << 'PY'
import re, subprocess, sys
path, offset = sys.argv[1], int(sys.argv[2])
out = subprocess.run(["dumpe2fs", path + (f"?offset={offset}" if offset else "")], capture_output=True, text=True, errors="replace").stdout
size = int(re.search(r"Block size:\s+(\d+)", out).group(1))
free = 0
# dumpe2fs ends a range of clusters with the first block of the last one.
m = re.search(r"Cluster size:\s+(\d+)", out)
tail = int(m.group(1)) // size - 1 if m else 0
with open(path, "r+b") as f:
    for line in re.findall(r"^  Free blocks: (.*)$", out, re.M):
        for a in re.findall(r"(\d+)(?:-(\d+))?", line):
            lo, hi = int(a[0]), int(a[1] or a[0]) | tail
            f.seek(offset + lo * size)
            f.write(b"\xee" * ((hi - lo + 1) * size))
            free += (hi - lo + 1) * size // 512
print(free)
PY

round_trip() {	# WHAT SIZE MKE2FS-OPTIONS...
	local what=$1 size=$2 img=$T/fs free; shift 2
	rm -f "$img"; truncate -s "$size" "$img"
	mke2fs -q -F -E nodiscard "$@" -d "$T/files" "$img" 2> "$T/mke2fs" || { fail "$what: mke2fs: $(cat "$T/mke2fs")"; return; }
	debugfs -w -R 'rm /many/f7' "$img" 2> /dev/null	# age it a little
	debugfs -w -R 'rm /many/f9' "$img" 2> /dev/null
	e2fsck -fy "$img" > /dev/null 2>&1
	free=$(python3 "$T/poison.py" "$img" 0)
	check "$what: captured" "$BIN/imagezip" -q -F 0 "$img" "$T/fs.ndz"
	local skipped; skipped=$("$BIN/imagezip" -q -i --json -F 0 "$img" | python3 -c 'import json,sys; print(json.load(sys.stdin)["partitions"][0]["skipped_sectors"])')
	check "$what: what dumpe2fs calls free is skipped ($free)" [ "$skipped" = "$free" ]
	check "$what: verifies" "$BIN/imagedump" -q --verify "$T/fs.ndz"
	check "$what: a strict reader accepts it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/fs.ndz" "$T/strict" "$(stat -c %s "$img")"
	head -c "$(stat -c %s "$img")" /dev/zero | tr '\0' '\245' > "$T/target"
	check "$what: installed" "$BIN/imageunzip" -q --in-place "$T/fs.ndz" "$T/target"
	check "$what: e2fsck" quietly e2fsck -fn "$T/target"
	! LC_ALL=C grep -q -a -P '\xee{4096}' "$T/target" || fail "$what: a free block was stored"
	rm -rf "$T/got"; mkdir "$T/got"; debugfs -R "rdump / $T/got" "$T/target" > /dev/null 2>&1
	rm -rf "$T/want"; mkdir "$T/want"; debugfs -R "rdump / $T/want" "$img" > /dev/null 2>&1
	check "$what: every file" diff -r --no-dereference "$T/want" "$T/got"
	check "$what: there are files" [ "$(find "$T/got" -type f | wc -l)" -ge 299 ]
	# Every backup of the superblock serves as well as it does on the source
	# (its descriptors are as old as the filesystem).
	local b size; size=$(dumpe2fs -h "$img" 2> /dev/null | grep -oP 'Block size:\s+\K\d+')
	for b in $(dumpe2fs "$img" 2> /dev/null | grep -oP 'Backup superblock at \K\d+'); do
		for disk in "$img" "$T/target"; do
			e2fsck -fn -b "$b" -B "$size" "$disk" 2>&1 | sed "s|$disk|DISK|g" > "$disk.fsck"
		done
		check "$what: backup superblock $b" cmp "$img.fsck" "$T/target.fsck"
		check "$what: it is one" grep -q 'Pass 5' "$T/target.fsck"
	done
}
round_trip "ext4" 64M -t ext4
round_trip "ext4, 64bit, lazy" 160M -t ext4 -O 64bit -E lazy_itable_init=1 -g 8192
round_trip "ext4, 1k blocks" 48M -t ext4 -b 1024
round_trip "ext4, 2k blocks, meta_bg" 64M -t ext4 -b 2048 -O meta_bg,^resize_inode
round_trip "ext4, bigalloc" 128M -t ext4 -O bigalloc -C 16384
round_trip "ext4, inline data" 64M -t ext4 -O inline_data -I 256
round_trip "ext4, sparse_super2" 160M -t ext4 -O sparse_super2 -g 8192
round_trip "ext4, no flex_bg, uninit_bg" 160M -t ext4 -O ^flex_bg,^metadata_csum,uninit_bg -g 8192
round_trip "ext3" 64M -t ext3
round_trip "ext2, 1k" 40M -t ext2 -b 1024

# What cannot be trusted is kept whole.
truncate -s 32M "$T/fs2"; mke2fs -q -F -t ext4 "$T/fs2"
for damage in "set_super_value state 0" "set_super_value state 3" "set_super_value free_blocks_count 5" "feature needs_recovery"; do
	cp "$T/fs2" "$T/fs3"; debugfs -w -R "$damage" "$T/fs3" > /dev/null 2>&1
	"$BIN/imagezip" -i --json "$T/fs3" > "$T/json" 2> "$T/warn" || fail "$damage: exit"
	check "kept whole: $damage" grep -q '"skipped_sectors": 0' "$T/json"
	check "and said so" grep -q 'kept whole' "$T/warn"
done
cp "$T/fs2" "$T/fs3"; truncate -s 20M "$T/fs3"
"$BIN/imagezip" -i --json "$T/fs3" 2> /dev/null | grep -q '"skipped_sectors": 0'; check "cut short: kept whole" [ $? = 0 ]

# A disk with an MBR, logical partitions and swap.
disk=$T/mbr
truncate -s 200M "$disk"
printf 'label: dos\nstart=2048,size=60M,type=83\nstart=130M,size=60M,type=5\nstart=131M,size=20M,type=82\nstart=152M,size=30M,type=83\n' | sed 's/start=130M/start=266240/;s/start=131M/start=268288/;s/start=152M/start=311296/' | sfdisk -q "$disk" 2> "$T/sfdisk" || fail "sfdisk: $(cat "$T/sfdisk")"
mke2fs -q -F -t ext4 -E offset=1048576,nodiscard -d "$T/files" "$disk" 60m 2> /dev/null
mke2fs -q -F -t ext4 -E offset=$((311296 * 512)),nodiscard -d "$T/files" "$disk" 30m 2> /dev/null
truncate -s 20M "$T/swap"; chmod 600 "$T/swap"; mkswap -q "$T/swap"; dd if="$T/swap" of="$disk" bs=512 seek=268288 conv=notrunc status=none
check "disk captured" "$BIN/imagezip" -q "$disk" "$T/mbr.ndz"
"$BIN/imagezip" -q -i "$disk" > "$T/info"
check "logical partitions are seen" grep -q '^ *6 .*ext4' "$T/info"
check "swap is seen" grep -q '^ *5 .*swap' "$T/info"
poison "$T/target" $((200 << 20))
check "disk installed" "$BIN/imageunzip" -q --in-place "$T/mbr.ndz" "$T/target"
check "same table" cmp <(sfdisk -d "$disk" | sed '/^device/d;s/^[^:]*://') <(sfdisk -d "$T/target" | sed '/^device/d;s/^[^:]*://')
for at in 1048576 $((311296 * 512)); do check "e2fsck at $at" quietly e2fsck -fn "$T/target?offset=$at"; done
check "swap header" cmp -n 32768 -i $((268288 * 512)) "$disk" "$T/target"

# One partition, left out, raw.
check "-s 6" "$BIN/imagezip" -q -s 6 "$disk" "$T/p6.ndz"
check "installed as a file" "$BIN/imageunzip" -q "$T/p6.ndz" "$T/p6"
check "it is a filesystem" quietly e2fsck -fn "$T/p6"
"$BIN/imagezip" -q -I 1 "$disk" "$T/i.ndz"; "$BIN/imageunzip" -q "$T/i.ndz" "$T/i"
check "-I: nothing of partition 1" cmp -n $((60 << 20)) "$T/i" /dev/zero -i 1048576:0
status 2 "$BIN/imagezip" -s 9 "$disk" "$T/x.ndz"
status 2 "$BIN/imagezip" -I 9 "$disk" "$T/x.ndz"

# A table and a filesystem at once; a file of odd length; pipes; versions.
cp "$disk" "$T/both"; mke2fs -q -F -t ext4 "$T/both" 50m 2> /dev/null; dd if="$disk" of="$T/both" bs=512 count=1 conv=notrunc status=none
status 2 "$BIN/imagezip" "$T/both" "$T/x.ndz"
check "the options are named" grep -q -- '--disk' "$T/stderr"
check "--disk" "$BIN/imagezip" -q --disk "$T/both" "$T/x.ndz"
head -c 433411 "$T/files/large" > "$T/odd"
status 2 "$BIN/imagezip" -r "$T/odd" "$T/x.ndz"
check "-f" "$BIN/imagezip" -q -f "$T/odd" "$T/odd.ndz"
"$BIN/imageunzip" -q "$T/odd.ndz" "$T/odd2"; check "odd length" cmp "$T/odd" "$T/odd2"
"$BIN/imagezip" -q -f - - < "$T/odd" | "$BIN/imageunzip" -q - - | cmp - "$T/odd"; check "through pipes" [ $? = 0 ]
check "-5" "$BIN/imagezip" -q -5 -u 00112233445566778899aabbccddeeff "$T/fs" "$T/v5.ndz"
check "version 5, its UUID" grep -q '"uuid": "00112233445566778899aabbccddeeff"' <("$BIN/imagedump" --json "$T/v5.ndz")
check "strict reader, V5" python3 "$TOP/tests/helpers/strict_reader.py" "$T/v5.ndz" "$T/strict" "$(stat -c %s "$T/fs")"
export SOURCE_DATE_EPOCH=1000000000
"$BIN/imagezip" -q -j1 -u 00112233445566778899aabbccddeeff "$T/fs" "$T/a.ndz"; "$BIN/imagezip" -q -j3 -u 00112233445566778899aabbccddeeff "$T/fs" "$T/b.ndz"
check "reproducible, whatever the threads" cmp "$T/a.ndz" "$T/b.ndz"
truncate -s 1000000512 "$T/zeros"
"$BIN/imagezip" -q -r "$T/zeros" "$T/zeros.ndz" || fail "zeros"
check "a gigabyte of zeros is one chunk" [ "$(stat -c %s "$T/zeros.ndz")" = 1048576 ]
check "and comes back" [ "$("$BIN/imageunzip" -q -W 16 -C "$T/zeros.ndz")" = "$(python3 -c 'import zlib
c=0
for i in range(1000): c=zlib.crc32(bytes(1000000),c)
print("%08x" % zlib.crc32(bytes(512),c))')" ]

# Failures: nothing is left, one sentence.
status 1 "$BIN/imagezip" -r "$T/missing" "$T/x2.ndz"
status 1 "$BIN/imagezip" -q -r "$T/zeros" /dev/full
( ulimit -f 100; trap '' XFSZ; exec "$BIN/imagezip" -q -z0 -r "$T/fs" "$T/full.ndz" ) 2> "$T/stderr"; rc=$?
check "output full: exit 1" [ $rc = 1 ]
check "no part of an image is left" [ -z "$(ls "$T"/full* 2> /dev/null)" ]
finish
