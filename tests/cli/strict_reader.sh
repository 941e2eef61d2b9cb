#!/usr/bin/env bash
# The strict reader that judges our images reads the golden ones to the hashes
# of the original, and refuses images that break one of its rules.
. "$(dirname "$0")/lib.sh"
requires python3 zstd sha256sum
strict() { python3 "$TOP/tests/helpers/strict_reader.py" "$@" 2> "$T/why"; }

# Columns 2 and 11 of the golden table: name, size and hash on a device of 0xA5.
n=0
while IFS='|' read -r _ name _ _ _ _ _ _ _ _ _ dev _; do
	name=${name// /}
	read -r size hash <<< "$dev"
	[ -f "$GOLDEN/img/$name.ndz.zst" ] && [ -n "$size" ] || continue
	zstd -q -d -c "$GOLDEN/img/$name.ndz.zst" > "$T/i.ndz"
	check "$name is accepted" strict "$T/i.ndz" "$T/out" "${size%:}"
	check "$name: its ${size%:} bytes" same_hash "$T/out" "$hash"
	n=$((n + 1))
done < <(grep -E '^\| [a-z0-9-]+ \| [a-z0-9.-]+ \| ' "$GOLDEN/README.md" | grep -v target-)
check "11 images were read" [ $n = 11 ]

# A field of mbr's second chunk changed, and what the reader must say.
zstd -q -d -c "$GOLDEN/img/mbr.ndz.zst" > "$T/mbr"
while read -r at bytes says; do
	cp "$T/mbr" "$T/i.ndz"
	printf "%b" "$bytes" | dd of="$T/i.ndz" bs=1 seek=$((1048576 + at)) conv=notrunc status=none
	if strict "$T/i.ndz" "$T/out" 46080000; then fail "accepted: $says"
	else check "refused: $says" grep -q "$says" "$T/why"; fi
done << 'CASES'
0 \x6c magic
8 \x07 header.fields
12 \x01 header.fields
17 \x11 header.fields
24 \x01 begins.at
4095 \x01 header.area
4096 \x79 zlib.header
4 \x01 stream
CASES
head -c 2097152 "$T/mbr" > "$T/i.ndz"
if strict "$T/i.ndz" "$T/out" 46080000; then fail "accepted without its last chunk"; fi
finish
