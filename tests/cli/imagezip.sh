#!/usr/bin/env bash
# Whole disks, single partitions, pipes, options and failures of imagezip.
. "$(dirname "$0")/lib.sh"
requires mke2fs e2fsck python3 sfdisk mkswap

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

truncate -s 64M "$T/fs"; mke2fs -q -F -t ext4 -d "$T/files" "$T/fs"

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
status 1 "$BIN/imagezip" -s 9 "$disk" "$T/x.ndz"
status 1 "$BIN/imagezip" -I 9 "$disk" "$T/x.ndz"
status 2 "$BIN/imagezip" -R 1 "$T/fs" "$T/x.ndz"

# On a dynamic disk of Windows a filesystem need not be in one piece.
cp "$disk" "$T/dynamic"; sfdisk -q --part-type "$T/dynamic" 1 42 || fail "sfdisk --part-type"
"$BIN/imagezip" -i "$T/dynamic" > "$T/info" 2> "$T/said"
check "a partition of a dynamic disk is raw" grep -q '^ *1 .* raw ' "$T/info"
check "and a warning says why" grep -q "partition 1 .*dynamic disk of Windows.*every sector is stored" "$T/said"
check "the others are looked into" grep -q '^ *6 .*ext4' "$T/info"

# Partitions with numbers that no option can name: the table has room for more than 128.
for n in 129 1296; do
	far=$T/far$n
	truncate -s 16M "$far"; head -c 4M "$T/files/large" | dd of="$far" bs=1M seek=4 conv=notrunc status=none
	printf 'label: gpt\ntable-length: 2048\nfar%s : start=8192,size=8192\n' "$n" | sfdisk -q "$far" 2> "$T/sfdisk" || fail "sfdisk: $(cat "$T/sfdisk")"
	check "partition $n is captured" "$BIN/imagezip" -q "$far" "$far.ndz"
	check "installed" "$BIN/imageunzip" -q "$far.ndz" "$far.out"
	check "all of it" cmp -i $((4 << 20)) -n $((4 << 20)) "$far" "$far.out"
done

# A table and a filesystem at once; a file of odd length; pipes; versions.
cp "$disk" "$T/both"; mke2fs -q -F -t ext4 "$T/both" 50m 2> /dev/null; dd if="$disk" of="$T/both" bs=512 count=1 conv=notrunc status=none
status 1 "$BIN/imagezip" "$T/both" "$T/x.ndz"
check "the options are named" grep -q -- '--disk' "$T/stderr"
check "--disk" "$BIN/imagezip" -q --disk "$T/both" "$T/x.ndz"
head -c 433411 "$T/files/large" > "$T/odd"
status 1 "$BIN/imagezip" -r "$T/odd" "$T/x.ndz"
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

# Two superblocks, one of them a leftover: nobody knows which.
if command -v mkfs.xfs > /dev/null; then
	truncate -s 320M "$T/old"; mkfs.xfs -q "$T/old"
	truncate -s 40M "$T/two"; mke2fs -q -F "$T/two"
	dd if="$T/old" of="$T/two" bs=512 count=1 conv=notrunc status=none
	"$BIN/imagezip" -i --json "$T/two" > "$T/json" 2> "$T/said"
	check "what two modules recognise is stored completely" json "$T/json" "partitions[0].skipped_sectors=0"
	check "and said" grep -q "it looks like two things at once, .* and " "$T/said"
else echo "no mkfs.xfs: left out"; fi
finish
