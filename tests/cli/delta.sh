#!/usr/bin/env bash
# Deltas: by signature (imagezip -H), of two images (imagedelta), put together
# again (--onto), installed; and when they must be refused.
. "$(dirname "$0")/lib.sh"
requires mke2fs debugfs python3 sfdisk mkswap zstd tar
zip() { "$BIN/imagezip" -q "$@" 2> "$T/zip" || fail "imagezip $*: $(cat "$T/zip")"; }
unzip() { "$BIN/imageunzip" -q "$@" || fail "imageunzip $*"; }
delta() { "$BIN/imagedelta" -q "$@" || fail "imagedelta $*"; }
regions() { "$BIN/imagedump" --json -dd "$1" | json - "[0].chunk_list[*].regions[*].first_sector,sectors" | tr : ' '; }
pieces() { awk '$1 != end { print end, $1 } { end = $1 + $2 } END { print end }'; }
stored() { regions "$1" | pieces; }
# Every sector that IMAGE stores is the same in two files.
same_stored() { regions "$1" | python3 -c '
import sys
a, b = (open(p, "rb") for p in sys.argv[1:])
for line in sys.stdin:
    s, n = map(int, line.split()); a.seek(s * 512); b.seek(s * 512)
    if a.read(n * 512) != b.read(n * 512): sys.exit(f"sectors {s}-{s + n - 1} differ")' "$2" "$3"; }
crc() { "$BIN/imageunzip" -q -C "$1"; }
same_image() { [ "$(crc "$1")" = "$(crc "$2")" ] && [ "$(stored "$1")" = "$(stored "$2")" ]; }
# Base, then deltas, onto a poisoned disk: what IMAGE stores is there.
installs() {	# IMAGE SOURCE BASE DELTA...
	local image=$1 source=$2 f; shift 2
	poison "$T/target" "$(stat -c %s "$source")"
	for f; do "$BIN/imageunzip" -q --in-place "$f" "$T/target" || return 1; done
	same_stored "$image" "$source" "$T/target" && "$BIN/imagehash" -q "$image" "$T/target"
}

# A disk: ext4, swap, a logical ext4; then three days of changes.
python3 - "$T" << 'PY'
import random, sys
r = random.Random(7)
for name, n in ("one", 3000000), ("two", 700000), ("three", 90000), ("four", 2500000):
    open(f"{sys.argv[1]}/{name}", "wb").write(r.randbytes(n))
PY
truncate -s 96M "$T/disk"
printf 'label: dos\nstart=2048,size=65536,type=83\nstart=67584,size=20480,type=82\nstart=90112,size=65536,type=5\nstart=92160,size=61440,type=83\n' | sfdisk -q "$T/disk" 2> "$T/sfdisk" || fail "sfdisk: $(cat "$T/sfdisk")"
mkdir "$T/files"; cp "$T/one" "$T/two" "$T/files"
mke2fs -q -F -t ext4 -E offset=1048576,nodiscard -d "$T/files" "$T/disk" 32m 2> /dev/null
mke2fs -q -F -t ext4 -E offset=$((92160 * 512)),nodiscard "$T/disk" 30m 2> /dev/null
truncate -s 10M "$T/swap"; chmod 600 "$T/swap"; mkswap -q "$T/swap"; dd if="$T/swap" of="$T/disk" bs=512 seek=67584 conv=notrunc status=none
change() { local part=$1; shift; for c; do echo "$c"; done | debugfs -w -f - "$T/disk?offset=$((part * 512))" > "$T/debugfs" 2>&1 || fail "debugfs: $(cat "$T/debugfs")"; }
cp --sparse=always "$T/disk" "$T/a"
change 2048 "write $T/three three" "rm two"
cp --sparse=always "$T/disk" "$T/b"
change 92160 "write $T/four four"
printf 'touched' | dd of="$T/disk" bs=512 seek=67590 conv=notrunc status=none
cp --sparse=always "$T/disk" "$T/c"
change 2048 "rm one" "write $T/two again" "mkdir d"
cp --sparse=always "$T/disk" "$T/d"

zip -U "" "$T/a" "$T/a.ndz"
check "-U \"\" names it" [ -s "$T/a.ndz.sig" ]
check "its time is the image's" [ "$(stat -c %Y "$T/a.ndz")" = "$(stat -c %Y "$T/a.ndz.sig")" ]
for x in b c d; do zip "$T/$x" "$T/$x.ndz"; done

# By signature, each against the one before.
zip -H "$T/a.ndz.sig" -U "$T/b.sig" "$T/b" "$T/ab.ndz"
zip -H "$T/b.sig" -U "$T/c.sig" "$T/c" "$T/bc.ndz"
zip -H "$T/c.sig" -U "$T/d.sig" "$T/d" "$T/cd.ndz"
check "a + ab = b" installs "$T/b.ndz" "$T/b" "$T/a.ndz" "$T/ab.ndz"
check "a + ab + bc + cd = d" installs "$T/d.ndz" "$T/d" "$T/a.ndz" "$T/ab.ndz" "$T/bc.ndz" "$T/cd.ndz"
check "d is not a" [ "$("$BIN/imagehash" -q "$T/d.ndz" "$T/a"; echo $?)" = 4 ]
for x in b c d; do check "$x.sig is $x's" quietly "$BIN/imagehash" -S -o "$T/$x.sig" "$T/$x.ndz"; done
check "a delta is small" json <("$BIN/imagedump" --json "$T/ab.ndz") "[0].data_bytes<700000"
check "and verifies" quietly "$BIN/imagedump" --verify "$T/ab.ndz"
check "other readers take it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/ab.ndz" "$T/strict" "$(stat -c %s "$T/b")"

# Of two images; its blocks are smaller.
delta "$T/a.ndz" "$T/b.ndz" "$T/ab2.ndz"; delta "$T/b.ndz" "$T/c.ndz" "$T/bc2.ndz"; delta -5 -z 9 "$T/c.ndz" "$T/d.ndz" "$T/cd2.ndz"
check "imagedelta: a + ab = b" installs "$T/b.ndz" "$T/b" "$T/a.ndz" "$T/ab2.ndz"
check "imagedelta: a + ab + bc + cd = d" installs "$T/d.ndz" "$T/d" "$T/a.ndz" "$T/ab2.ndz" "$T/bc2.ndz" "$T/cd2.ndz"
delta "$T/a.ndz" "$T/d.ndz" "$T/ad.ndz"
check "all at once" installs "$T/d.ndz" "$T/d" "$T/a.ndz" "$T/ad.ndz"

# And back: what became free is not stored any more.
for kind in "" 2; do
	delta --onto "$T/a.ndz" "$T/ab$kind.ndz" "$T/bc$kind.ndz" "$T/cd$kind.ndz" "$T/whole$kind.ndz"
	check "--onto a ab bc cd is d ($kind)" same_image "$T/whole$kind.ndz" "$T/d.ndz"
	check "it verifies" quietly "$BIN/imagedump" --verify "$T/whole$kind.ndz"
done
delta --onto "$T/a.ndz" "$T/ab2.ndz" "$T/b2.ndz"
check "what was put together is a base again" "$BIN/imagedelta" -q --onto "$T/b2.ndz" "$T/bc2.ndz" "$T/c2.ndz"
check "it is c" same_image "$T/c2.ndz" "$T/c.ndz"

# Wrong bases.
status 1 "$BIN/imagedelta" -q --onto "$T/b.ndz" "$T/ab.ndz" "$T/x.ndz"
status 1 "$BIN/imagedelta" -q --onto "$T/b.ndz" "$T/ab2.ndz" "$T/x.ndz"
status 1 "$BIN/imagedelta" -q --onto "$T/a.ndz" "$T/bc.ndz" "$T/ab.ndz" "$T/x.ndz"
status 1 "$BIN/imagedelta" -q --onto "$T/a.ndz" "$T/ab2.ndz" "$T/cd2.ndz" "$T/x.ndz"
status 1 "$BIN/imagedelta" -q --onto "$T/a.ndz" "$T/b.ndz" "$T/x.ndz"
status 1 "$BIN/imagedelta" -q "$T/a.ndz" "$T/ab.ndz" "$T/x.ndz"
status 1 "$BIN/imagedelta" -q --onto "$T/ab.ndz" "$T/bc.ndz" "$T/x.ndz"
check "nothing is left" [ ! -e "$T/x.ndz" ]
check "--any-base does it" "$BIN/imagedelta" -q --any-base --onto "$T/b.ndz" "$T/ab2.ndz" "$T/x.ndz"
status 1 "$BIN/imagedelta" -q --any-base --onto "$T/ab.ndz" "$T/bc.ndz" "$T/x2.ndz"
check "but a delta is no base" [ ! -e "$T/x2.ndz" ]

# Installing: never where it would wipe the base out.
cp "$T/a" "$T/target"
for o in -z "-p 7" --discard; do
	# shellcheck disable=SC2086
	status 1 "$BIN/imageunzip" -q --in-place $o "$T/ab.ndz" "$T/target"
done
check "nothing was written" cmp "$T/a" "$T/target"
# A base that is not complete is none; a delta of its own that was interrupted is gone on with.
mark() { python3 - "$1" "$2" << 'PY'
import struct, sys, zlib
body = bytes.fromhex(sys.argv[2]) + bytes(512 - 24 - 16)
with open(sys.argv[1], "r+b") as f:
    f.write(b"NDZ unfinished\n\0" + struct.pack("<II", 1, zlib.crc32(body)) + body)
PY
}
mark "$T/target" 00112233445566778899aabbccddeeff
status 1 "$BIN/imageunzip" -q --in-place "$T/ab.ndz" "$T/target"
check "why" grep -q 'installation there is incomplete' "$T/stderr"
truncate -s 1M "$T/r1" "$T/r2"; head -c 4096 "$T/one" | dd of="$T/r2" conv=notrunc status=none; zip -r "$T/r1" "$T/r1.ndz"; zip -r "$T/r2" "$T/r2.ndz"; delta "$T/r1.ndz" "$T/r2.ndz" "$T/r.ndz"
cp "$T/r1" "$T/r3"; mark "$T/r3" "$("$BIN/imagedump" --json "$T/r.ndz" | json - '[0].uuid')"
check "its own mark" "$BIN/imageunzip" -q "$T/r.ndz" "$T/r3"; check "is gone" cmp "$T/r2" "$T/r3"
cp "$T/a" "$T/target"
status 1 "$BIN/imageunzip" -q "$T/ab.ndz" "$T/new"; check "no new file" [ ! -e "$T/new" ]
status 1 sh -c "'$BIN/imageunzip' -q '$T/ab.ndz' - > '$T/pipe'"; check "nothing through a pipe" [ ! -s "$T/pipe" ]
check "a file is not truncated" "$BIN/imageunzip" -q "$T/ab.ndz" "$T/target"
check "from a pipe, too" sh -c "cat '$T/bc.ndz' | '$BIN/imageunzip' -q - '$T/target'"
check "so it is c" quietly "$BIN/imagehash" "$T/c.ndz" "$T/target"

# Nothing changed; too much changed.
zip -H "$T/a.ndz.sig" "$T/a" "$T/aa.ndz"; delta "$T/a.ndz" "$T/a.ndz" "$T/aa2.ndz"
for x in aa aa2; do
	check "$x: one chunk" [ "$(stat -c %s "$T/$x.ndz")" = 1048576 ]
	check "$x: the blocks of its partition table, which begins at sector 0 and goes on with the logical partition" [ "$(regions "$T/$x.ndz" | wc -l)" = 2 ]
	check "$x installs" installs "$T/a.ndz" "$T/a" "$T/a.ndz" "$T/$x.ndz"
	check "$x: other readers take it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/$x.ndz" "$T/strict" "$(stat -c %s "$T/a")"
done
zip -P 1 -H "$T/a.ndz.sig" -U "$T/full.sig" "$T/d" "$T/full.ndz"
check "-P 1: a full image" same_image "$T/full.ndz" "$T/d.ndz"
check "and its signature" quietly "$BIN/imagehash" -S -o "$T/full.sig" "$T/full.ndz"

# Other cuts: every free sector left out, other tools, one partition, other hashes.
zip -F 0 "$T/d" "$T/d0.ndz"
delta "$T/a.ndz" "$T/d0.ndz" "$T/ad0.ndz"
check "-F 0" installs "$T/d0.ndz" "$T/d" "$T/a.ndz" "$T/ad0.ndz"
delta --onto "$T/a.ndz" "$T/ad0.ndz" "$T/w.ndz"; check "-F 0: the same image" same_image "$T/w.ndz" "$T/d0.ndz"
zip -H "$T/a.ndz.sig" -F 0 "$T/d" "$T/ad1.ndz"
check "-F 0 by signature" installs "$T/d0.ndz" "$T/d" "$T/a.ndz" "$T/ad1.ndz"
check "-D md5 -b 256k" "$BIN/imagehash" -c -D md5 -b 256k -o "$T/md5.sig" "$T/a.ndz"
zip -H "$T/md5.sig" -U "$T/md5d.sig" "$T/d" "$T/adm.ndz"
check "by them" installs "$T/d.ndz" "$T/d" "$T/a.ndz" "$T/adm.ndz"
delta --onto "$T/a.ndz" "$T/adm.ndz" "$T/w.ndz"; check "its base is known" same_image "$T/w.ndz" "$T/d.ndz"
for n in 1 2 5; do
	zip -s $n -U "" "$T/a" "$T/p.ndz"; zip -s $n "$T/d" "$T/q.ndz"
	zip -s $n -H "$T/p.ndz.sig" "$T/d" "$T/pq.ndz"; delta "$T/p.ndz" "$T/q.ndz" "$T/pq2.ndz"
	for x in pq pq2; do
		cp "$T/a" "$T/target"; unzip -s $n "$T/$x.ndz" "$T/target"
		check "-s $n: $x" quietly "$BIN/imagehash" -s $n "$T/q.ndz" "$T/target"
		delta --onto "$T/p.ndz" "$T/$x.ndz" "$T/w.ndz"; check "-s $n: whole" same_image "$T/w.ndz" "$T/q.ndz"
	done
done

# Files whose last sector is short: changed, grown, shrunk.
head -c 433411 "$T/one" > "$T/f1"; zip -f -U "" "$T/f1" "$T/f1.ndz"
cp "$T/f1" "$T/f2"; spoil_byte "$T/f2" 433410
{ cat "$T/f1"; head -c 70001 "$T/two"; } > "$T/f3"; head -c 200001 "$T/f1" > "$T/f4"; cp "$T/f1" "$T/f5"
for n in 2 3 4 5; do
	zip -f "$T/f$n" "$T/f$n.ndz"
	delta "$T/f1.ndz" "$T/f$n.ndz" "$T/g.ndz"; zip -f -H "$T/f1.ndz.sig" "$T/f$n" "$T/h.ndz"
	for x in g h; do
		delta --onto "$T/f1.ndz" "$T/$x.ndz" "$T/w.ndz"; unzip "$T/w.ndz" "$T/back"
		check "f$n: $x, whole" cmp "$T/f$n" "$T/back"
		cp "$T/f1" "$T/back"
		check "f$n: $x, installed" "$BIN/imageunzip" -q "$T/$x.ndz" "$T/back"
		check "f$n: $x, its bytes and no more" cmp "$T/f$n" "$T/back"
	done
done

# What Emulab's programs made: signature, delta, disklabels.
zstd -q -d --long=28 -c "$GOLDEN/src/sources.tar.zst" | tar -C "$T" -xf - ext2.img ext2-v2.img target-mbr.img fbsd.img || fail "sources"
for x in ext2 ext2-delta fbsd-s1 mbr; do zstd -q -d -c "$GOLDEN/img/$x.ndz.zst" > "$T/$x.ndz"; done
check "imagehash -c" "$BIN/imagehash" -c "$T/ext2.ndz"; check "to the byte" cmp "$T/ext2.ndz.sig" "$GOLDEN/img/ext2.sig"
zip -l -U "$T/e.sig" "$T/ext2.img" "$T/e.ndz"; check "imagezip -U, to the byte" cmp "$T/e.sig" "$GOLDEN/img/ext2.sig"
zip -l -H "$GOLDEN/img/ext2.sig" "$T/ext2-v2.img" "$T/v2.ndz"
# Emulab's has the same regions, but for the first block, which ours always has.
theirs=$({ echo 0 128; regions "$T/ext2-delta.ndz"; } | pieces)
check "the same regions" [ "$(stored "$T/v2.ndz")" = "$theirs" ]
poison "$T/dev" 16777216; unzip --force --in-place "$T/v2.ndz" "$T/dev"
check "the first block" cmp -n 65536 "$T/ext2-v2.img" "$T/dev"
poison "$T/first" 65536; dd if="$T/first" of="$T/dev" conv=notrunc status=none
check "the same disk" same_hash "$T/dev" 565e3fb592c2fcb03d8f3d52a7e3972bde89ee269109baf8f477e4da78f3756d
zip -l "$T/ext2-v2.img" "$T/ev2.ndz"
for x in ext2-delta v2; do
	"$BIN/imagedelta" -q --onto "$T/ext2.ndz" "$T/$x.ndz" "$T/w.ndz" 2> "$T/warning" || fail "--onto ext2 $x"
	check "ext2 + $x" same_image "$T/w.ndz" "$T/ev2.ndz"
	# The superblock is not in the delta; it is no leftover.
	check "ext2 + $x, installed" installs "$T/ev2.ndz" "$T/ext2-v2.img" "$T/ext2.ndz" "$T/$x.ndz"
done
"$BIN/imagedelta" -q --onto "$T/ext2.ndz" "$T/ext2-delta.ndz" "$T/w.ndz" 2> "$T/warning"
check "what cannot be known is said" grep -q 'does not say' "$T/warning"
status 1 "$BIN/imagedelta" -q --onto "$T/mbr.ndz" "$T/v2.ndz" "$T/x2.ndz"
delta "$T/ext2.ndz" "$T/ev2.ndz" "$T/w.ndz"
status 1 "$BIN/imagedelta" -q --onto "$T/mbr.ndz" "$T/w.ndz" "$T/x2.ndz"

# A disklabel that moves: stored with its relocation though its bytes are the same.
unzip "$T/fbsd-s1.ndz" "$T/slice"; zip -r "$T/slice" "$T/slice.ndz"
delta "$T/slice.ndz" "$T/fbsd-s1.ndz" "$T/label.ndz"
check "the relocation is there" [ "$("$BIN/imagedump" --json "$T/label.ndz" | json - '[0].relocations')" = 1 ]
cp "$T/target-mbr.img" "$T/t1"; cp "$T/target-mbr.img" "$T/t2"
unzip -s 2 "$T/fbsd-s1.ndz" "$T/t1"; unzip -s 2 "$T/slice.ndz" "$T/t2"
check "without it, it differs" [ "$("$BIN/imagehash" -q -s 2 "$T/fbsd-s1.ndz" "$T/t2"; echo $?)" = 4 ]
unzip -s 2 "$T/label.ndz" "$T/t2"
check "with it, not" quietly "$BIN/imagehash" -s 2 "$T/fbsd-s1.ndz" "$T/t2"
check "as installed at once" quietly "$BIN/imagehash" -s 2 "$T/fbsd-s1.ndz" "$T/t1"
delta "$T/fbsd-s1.ndz" "$T/slice.ndz" "$T/nolabel.ndz"; unzip -s 2 "$T/nolabel.ndz" "$T/t1"
check "and back" quietly "$BIN/imagehash" -s 2 "$T/slice.ndz" "$T/t1"
# Something else in its window changes: the label, which is in the first 4 KiB, comes along with its relocation.
cp "$T/fbsd.img" "$T/fbsd2.img"
printf 'changed' | dd of="$T/fbsd2.img" bs=512 seek=$((63 + 40)) conv=notrunc status=none
zip -s 1 "$T/fbsd2.img" "$T/fbsd2.ndz"
delta "$T/fbsd-s1.ndz" "$T/fbsd2.ndz" "$T/l2.ndz"
check "the label with its relocation" json <("$BIN/imagedump" --json "$T/l2.ndz") "[0].relocations=1"
check "and the change" [ "$(regions "$T/l2.ndz" | head -n 2 | paste -sd' ')" = "0 8 40 8" ]
cp "$T/target-mbr.img" "$T/t1"; unzip -s 2 "$T/fbsd-s1.ndz" "$T/t1"; unzip -s 2 "$T/l2.ndz" "$T/t1"
check "installed" quietly "$BIN/imagehash" -s 2 "$T/fbsd2.ndz" "$T/t1"
delta "$T/fbsd-s1.ndz" "$T/fbsd-s1.ndz" "$T/x3.ndz"
delta --onto "$T/fbsd-s1.ndz" "$T/x3.ndz" "$T/w.ndz"
check "--onto keeps it" [ "$("$BIN/imagedump" --json "$T/w.ndz" | json - '[0].relocations')" = 1 ]
finish
