#!/usr/bin/env bash
# A disk that is a regular file: --grow and --fix-gpt keep its length, a file that becomes shorter is told of, and so is
# a backup GPT that is not at the end of the disk.  What errors and reports say of sizes, dates, and what was not written.
. "$(dirname "$0")/lib.sh"
requires sfdisk python3
truncate -s 12M "$T/gpt"; printf 'label: gpt\nstart=2048, size=8192\nstart=10240, size=12288\n' | sfdisk -q "$T/gpt"
"$BIN/imagezip" -q "$T/gpt" "$T/gpt.ndz" 2> /dev/null || fail "imagezip"
size_is() { check "$1: $(stat -c %s "$T/disk") bytes" [ "$(stat -c %s "$T/disk")" = "$2" ]; }
unzip() { "$BIN/imageunzip" "$@" "$T/gpt.ndz" "$T/disk" 2> "$T/said" || fail "imageunzip $*: $(cat "$T/said")"; }
sectors_of() { sfdisk -J "$T/disk" | json - 'partitiontable.partitions[1].size'; }

echo "== a larger file"
truncate -s 40M "$T/disk"; unzip --grow
size_is "--grow leaves its length" $((40 << 20))
check "the last partition grew: $(sectors_of)" [ "$(sectors_of)" -gt 60000 ]
check "in both units: $(grep grew "$T/said")" grep -q "grew from 12288 sectors (6.3 MB) to [0-9]* ([0-9.]* MB)" "$T/said"
rm "$T/disk"; truncate -s 40M "$T/disk"; unzip --fix-gpt
size_is "--fix-gpt leaves its length" $((40 << 20))
check "the backup is at the end" [ "$(tail -c 512 "$T/disk" | head -c 8)" = "EFI PART" ]
check "no hint is needed" sh -c "! grep -q 'backup of its GPT' '$T/said'"
rm "$T/disk"; truncate -s 40M "$T/disk"; unzip --in-place
check "without them a hint names both: $(grep backup "$T/said")" grep -q "backup of its GPT.*--fix-gpt.*--grow" "$T/said"
rm "$T/disk"; truncate -s 12M "$T/disk"; unzip --in-place
check "not where all is well: $(cat "$T/said")" sh -c "! grep -q 'backup of its GPT' '$T/said'"
rm "$T/disk"; truncate -s 6M "$T/disk"
status 1 "$BIN/imageunzip" -q --grow "$T/gpt.ndz" "$T/disk"
check "a smaller file is refused, in both units" grep -q \
	"it has 12288 sectors of 512 bytes (6.3 MB), and partition 2 of the image reaches to sector 22528 (11.5 MB)" "$T/stderr"
size_is "and left" $((6 << 20))
rm "$T/disk"; unzip --grow
size_is "a new file is as long as the source was" $((12 << 20))
check "nothing is said of it but the summary: $(cat "$T/said")" [ "$(wc -l < "$T/said")" = 1 ]

echo "== a hybrid MBR, with partitions of its own"
python3 - "$T/gpt" "$T/hybrid" << 'PY'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
def entry(i, kind, first, count): b[446 + 16 * i:462 + 16 * i] = struct.pack("<B3xB3xII", 0, kind, first, count)
entry(0, 0x83, 2048, 8192); entry(1, 0xee, 1, 2047)
open(sys.argv[2], "wb").write(b)
PY
"$BIN/imagezip" -q "$T/hybrid" "$T/hybrid.ndz" 2> /dev/null || fail "imagezip"
for how in --fix-gpt --grow; do
	rm "$T/disk"; truncate -s 40M "$T/disk"
	check "$how" quietly "$BIN/imageunzip" -q $how "$T/hybrid.ndz" "$T/disk"
	check "the backup is at the end" [ "$(tail -c 512 "$T/disk" | head -c 8)" = "EFI PART" ]
	check "the MBR is as it was" cmp -n 512 "$T/hybrid" "$T/disk"
done

echo "== a GPT that names an impossible place of its backup"
for backup in 1 2048 $(((1 << 55) + 1)); do	# the primary, a partition, what is the primary in 64 bits of bytes
	python3 - "$T/gpt" "$T/odd" $backup << 'PY'
import struct, sys, zlib
b = bytearray(open(sys.argv[1], "rb").read())
struct.pack_into("<IIQQ", b, 512 + 16, 0, 0, 1, int(sys.argv[3]))
struct.pack_into("<I", b, 512 + 16, zlib.crc32(bytes(b[512:512 + 92])))
b[2048 * 512:2048 * 512 + 8] = b"EFI PART"
open(sys.argv[2], "wb").write(b)
PY
	"$BIN/imagezip" -q "$T/odd" "$T/odd.ndz" 2> /dev/null || fail "imagezip"
	rm "$T/disk"; truncate -s 40M "$T/disk"
	check "--fix-gpt, from $backup" quietly "$BIN/imageunzip" -q --fix-gpt "$T/odd.ndz" "$T/disk"
	for at in 1 2048 81919; do check "sector $at is there" [ "$(tail -c +$((at * 512 + 1)) "$T/disk" | head -c 8)" = "EFI PART" ]; done
done

echo "== a file that is replaced"
truncate -s 40M "$T/disk"; unzip
size_is "it is replaced" $((12 << 20))
check "that is told: $(grep replaced "$T/said")" grep -q "replaced by a new one of 12.6 MB, and had 41.9 MB; --in-place" "$T/said"
unzip; check "once more, the same length" grep -q "replaced by a new one of 12.6 MB, and had 12.6 MB; --in-place" "$T/said"
rm "$T/disk"; unzip; check "a file that was not there: nothing" [ "$(wc -l < "$T/said")" = 1 ]
truncate -s 40M "$T/disk"; "$BIN/imageunzip" -q "$T/gpt.ndz" "$T/disk" 2> "$T/said"; check "-q: nothing" [ ! -s "$T/said" ]
zstd -q -d -c "$GOLDEN/img/ext2.ndz.zst" > "$T/ext2.ndz"	# of another program: its length shows at the end
rm "$T/disk"; truncate -s 90M "$T/disk"; "$BIN/imageunzip" "$T/ext2.ndz" "$T/disk" 2> "$T/said"
check "an image that does not say its length: $(grep replaced "$T/said")" [ "$(grep -c "replaced by a new one.*had 94.4 MB" "$T/said")" = 1 ]

echo "== what is not written, and when"
"$BIN/imageunzip" -C "$T/gpt.ndz" > "$T/crc" 2> "$T/said"
check "-C: $(cat "$T/said")" grep -q "nothing was written" "$T/said"
python3 - "$T/disk" << 'PY'
import struct, sys, zlib
b = bytearray(512); b[0:16] = b"NDZ unfinished\n\0"; b[40:48] = struct.pack("<Q", 1795333223)
struct.pack_into("<II", b, 16, 1, zlib.crc32(bytes(b[24:])))
open(sys.argv[1], "r+b").write(b)
PY
status 1 "$BIN/imageunzip" --status "$T/disk"
check "--status has the date: $(cat "$T/stderr")" grep -q "begun on 2026-11-22 07:40:23 UTC, is not complete" "$T/stderr"
finish
