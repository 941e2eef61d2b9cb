#!/usr/bin/env bash
# Deltas, signatures and rewriting with every codec, of images in every codec.
. "$(dirname "$0")/lib.sh"
requires mke2fs debugfs python3 zstd tar
for codec in igzip zstd; do
	"$BIN/imagezip" -q --codec=$codec -f /dev/null "$T/x" 2>&1 | grep -q "built without" && skip "needs $codec built in"
done
field() { "$BIN/imagedump" --json "$1" | json - "[0].$2"; }
crc() { "$BIN/imageunzip" -q -C "$1"; }
# Base, then deltas, onto a poisoned disk: IMAGE is there.
installs() {	# IMAGE BASE DELTA...
	local image=$1 f; shift
	poison "$T/target" "$bytes"
	for f; do "$BIN/imageunzip" -q --in-place "$f" "$T/target" || return 1; done
	"$BIN/imagehash" -q "$image" "$T/target"
}

python3 - "$T" << 'PY'
import os, random, sys
r = random.Random(11)
t = sys.argv[1]
words = [r.randbytes(r.randint(2, 9)) for _ in range(3000)]
text = b"".join(r.choice(words) for _ in range(600000))
os.mkdir(t + "/files")
for i in range(30):
    open(f"{t}/files/t{i}", "wb").write(text[r.randint(0, 10**6):][:r.randint(1, 300000)])
open(t + "/files/noise", "wb").write(r.randbytes(3 << 20))
open(t + "/files/holes", "wb").write(r.randbytes(70000) + bytes(5 << 20) + r.randbytes(70000))
open(t + "/more", "wb").write(text[5:900000] + r.randbytes(400000))
PY
truncate -s 64M "$T/a"; mke2fs -q -F -t ext4 -d "$T/files" "$T/a"
bytes=$(stat -c %s "$T/a")
cp --sparse=always "$T/a" "$T/b"
printf 'rm t3\nrm t17\nwrite %s more\n' "$T/more" | debugfs -w -f - "$T/b" > "$T/debugfs" 2>&1
"$BIN/imagezip" -q "$T/b" "$T/b.ndz"

for codec in deflate:1 igzip zstd; do
	check "$codec: a, signed" "$BIN/imagezip" -q --codec=$codec -U "$T/$codec.sig" "$T/a" "$T/$codec.a.ndz"
	check "$codec: its signature" quietly "$BIN/imagehash" -S -o "$T/$codec.sig" "$T/$codec.a.ndz"
	check "$codec: b" "$BIN/imagezip" -q --codec=$codec "$T/b" "$T/$codec.b.ndz"
	check "$codec: a delta by signature" "$BIN/imagezip" -q --codec=$codec -H "$T/$codec.sig" -U "$T/b.sig" "$T/b" "$T/ab.ndz"
	check "$codec: verifies" quietly "$BIN/imagedump" --verify "$T/ab.ndz"
	check "$codec: installs" installs "$T/b.ndz" "$T/$codec.a.ndz" "$T/ab.ndz"
	check "$codec: the signature of both" quietly "$BIN/imagehash" -S -o "$T/b.sig" "$T/b.ndz"
	check "$codec: put together" "$BIN/imagedelta" -q --codec=$codec --onto "$T/$codec.a.ndz" "$T/ab.ndz" "$T/whole.ndz"
	check "$codec: verifies" quietly "$BIN/imagedump" --verify "$T/whole.ndz"
	check "$codec: is b" [ "$(crc "$T/whole.ndz")" = "$(crc "$T/b.ndz")" ]
	check "$codec: in its codec" [ "$(field "$T/whole.ndz" codec)" = "$(field "$T/$codec.b.ndz" codec)" ]
done

# Chunks are numbered where they are, also where a fragment was cut for the next one.
chunks() { python3 -c '
import struct, sys
b = open(sys.argv[1], "rb").read()
for at in range(64, len(b), 32): print(*struct.unpack_from("<III", b, at))' "$1"; }
for codec in deflate:1 zstd; do
	check "$codec: imagehash" "$BIN/imagehash" -c -o "$T/hashed.sig" "$T/$codec.a.ndz"
	check "$codec: the same chunks" [ "$(chunks "$T/hashed.sig")" = "$(chunks "$T/$codec.sig")" ]
done

# Of two images, whatever both are compressed with.
for old in deflate:1 zstd; do
	for new in igzip zstd; do
		for codec in deflate:1 zstd; do
			check "$old, $new: a delta in $codec" "$BIN/imagedelta" -q --codec=$codec "$T/$old.a.ndz" "$T/$new.b.ndz" "$T/d.ndz"
			check "$codec it is" [ "$(field "$T/d.ndz" codec)" = "${codec%:1}" ]
			check "it installs" installs "$T/b.ndz" "$T/$old.a.ndz" "$T/d.ndz"
		done
	done
done
check "a small one" [ "$(field "$T/d.ndz" data_bytes)" -lt 2500000 ]
check "nothing changed" "$BIN/imagedelta" -q "$T/deflate:1.a.ndz" "$T/zstd.a.ndz" "$T/d.ndz"
check "one block" [ "$(field "$T/d.ndz" data_bytes)" = 4096 ]

# Written again: there and back.
check "to zstd" "$BIN/imagerezip" -q --codec=zstd "$T/b.ndz" "$T/z.ndz"
check "verifies" quietly "$BIN/imagedump" --verify "$T/z.ndz"
check "the same" [ "$(crc "$T/z.ndz")" = "$(crc "$T/b.ndz")" ]
check "as small as captured" [ "$(stat -c %s "$T/z.ndz")" -le $(($(stat -c %s "$T/zstd.b.ndz") + 1048576)) ]
check "and back" "$BIN/imagerezip" -q -3 "$T/z.ndz" "$T/back.ndz"
check "the same" [ "$(crc "$T/back.ndz")" = "$(crc "$T/b.ndz")" ]
check "version 3" [ "$(field "$T/back.ndz" version)" = 3 ]
check "other readers take it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/back.ndz" "$T/strict" "$bytes"
check "--fast" "$BIN/imagerezip" -q --fast "$T/z.ndz" "$T/fast.ndz"
check "the same" [ "$(crc "$T/fast.ndz")" = "$(crc "$T/b.ndz")" ]

# Relocations go with their data.
zstd -q -d --long=28 -c "$GOLDEN/src/sources.tar.zst" | tar -C "$T" -xf - target-mbr.img || fail "sources"
zstd -q -d -c "$GOLDEN/img/fbsd-s1.ndz.zst" > "$T/s1.ndz"
check "a disklabel in zstd" "$BIN/imagerezip" -q --codec=zstd "$T/s1.ndz" "$T/zs1.ndz"
check "its relocations" [ "$(field "$T/zs1.ndz" relocations)" = "$(field "$T/s1.ndz" relocations)" ]
for x in s1 zs1; do
	cp "$T/target-mbr.img" "$T/$x.img"; "$BIN/imageunzip" -q -s 2 "$T/$x.ndz" "$T/$x.img" || fail "-s 2 $x"
done
check "the same disk" cmp "$T/s1.img" "$T/zs1.img"

# Damage inside a fragment of several windows.
cp "$T/zstd.b.ndz" "$T/bad.ndz"; printf '\xa5\x5a\xa5' | dd of="$T/bad.ndz" bs=1 seek=200000 conv=notrunc status=none
status 3 "$BIN/imagerezip" -q "$T/bad.ndz" "$T/x.ndz"
check "nothing is left" [ ! -e "$T/x.ndz" ]
finish
