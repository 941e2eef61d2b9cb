#!/usr/bin/env bash
# Windows that follow the content: images that every reader reads, cut the same whoever makes them, and data that moved
# is found again.
. "$(dirname "$0")/lib.sh"
requires mke2fs e2fsck python3 cmp sfdisk
fragments() { python3 "$TOP/tests/helpers/fragments.py" "$@"; }
zip() { SOURCE_DATE_EPOCH=1000000000 "$BIN/imagezip" -q -u 00112233445566778899aabbccddeeff "$@"; }

# Two filesystems with the same files, in another order and with others between them.
python3 - "$T" << 'PY'
import os, random, sys
r = random.Random(11)
t = sys.argv[1]
words = [r.randbytes(r.randint(2, 9)) for _ in range(3000)]
os.mkdir(t + "/a"); os.mkdir(t + "/b")
for i in range(20):
    n = r.choice([700, 60000, 1500000, 3000000])
    data = b"".join(r.choices(words, k=n // 6))
    if i % 5 == 3: data = data[:5000] + bytes(300000) + data[5000:]
    open(f"{t}/a/file{i:02}", "wb").write(data)
    open(f"{t}/b/{(i * 7 + 5) % 20:02}", "wb").write(data)
    open(f"{t}/b/other{i}", "wb").write(r.randbytes(r.choice([100, 5000, 30000])))
PY
for d in a b; do
	truncate -s 48M "$T/$d.fs"; poison "$T/$d.fs" 50331648
	mke2fs -q -F -t ext4 -b 4096 -E nodiscard -d "$T/$d" "$T/$d.fs"
done
bytes=50331648

echo "== every reader reads them"
for codec in deflate:1 igzip zstd; do
	zip --codec=$codec --windows=aligned "$T/a.fs" "$T/aligned.ndz" 2> "$T/stderr" || { grep -q "built without" "$T/stderr" && continue; fail "$codec"; }
	zip --codec=$codec --windows=content "$T/a.fs" "$T/content.ndz" || fail "$codec: --windows=content"
	check "$codec: it is another image" bash -c '! cmp -s "$0" "$1"' "$T/aligned.ndz" "$T/content.ndz"
	check "$codec: verified" "$BIN/imagedump" -q --verify "$T/content.ndz"
	poison "$T/want" $bytes; "$BIN/imageunzip" -q --in-place "$T/aligned.ndz" "$T/want"
	for how in "-W 1 -n" ""; do
		poison "$T/target" $bytes
		check "$codec: installed $how" "$BIN/imageunzip" -q $how --in-place "$T/content.ndz" "$T/target"
		check "$codec: the same disk $how" cmp "$T/target" "$T/want"
	done
	check "$codec: a filesystem" quietly e2fsck -fn "$T/target"
	spoil_byte "$T/target" 20000; spoil_byte "$T/target" 3000000
	check "$codec: what differs alone" "$BIN/imageunzip" -q --skip-same --in-place "$T/content.ndz" "$T/target"
	check "$codec: all is right again" cmp "$T/want" "$T/target"
	check "$codec: through pipes" cmp "$T/a/file09" <("$BIN/imagezip" -q --codec=$codec --windows=content -f - - < "$T/a/file09" | "$BIN/imageunzip" -q - -)
	[ $codec = zstd ] || check "$codec: the strict reader" python3 "$TOP/tests/helpers/strict_reader.py" "$T/content.ndz" "$T/strict" $bytes
	[ $codec = zstd ] || check "$codec: reads the same" cmp "$T/want" "$T/strict"
done

echo "== the same cuts whatever else"
cuts() { fragments "$1" | cut -d' ' -f1,2,4; }
zip -j1 --codec=deflate:1 --windows=content "$T/a.fs" "$T/one.ndz"
zip -j8 --codec=deflate:1 --windows=content "$T/a.fs" "$T/eight.ndz"
check "1 and 8 threads: the same image" cmp "$T/one.ndz" "$T/eight.ndz"
zip -j1 --codec=zstd --windows=content "$T/a.fs" "$T/z1.ndz" 2> /dev/null && {
	zip -j8 --codec=zstd --windows=content "$T/a.fs" "$T/z8.ndz"
	check "of zstd, too" cmp "$T/z1.ndz" "$T/z8.ndz"
}
zip --codec=deflate:1 --windows=store "$T/a.fs" "$T/kept.ndz"
zip --codec=deflate:9 --windows=store "$T/a.fs" "$T/nine.ndz"
# A run of zeros is one fragment in each chunk that has some of it, so only others are compared.
check "chunks filled otherwise: the same fragments" cmp <(cuts "$T/kept.ndz" | grep -v zero) <(cuts "$T/nine.ndz" | grep -v zero)
zip --codec=zstd --windows=store "$T/a.fs" "$T/zkept.ndz" 2> /dev/null &&
	check "of zstd, too" cmp <(cuts "$T/kept.ndz" | grep -v zero) <(cuts "$T/zkept.ndz" | grep -v zero)
# A window that fills a chunk and begins the next one ends where it would have ended.  The data has no ends of files,
# which end windows for a store alone.
random_bytes 20000000 7 > "$T/noise"
zip --codec=deflate:1 --windows=store -r "$T/noise" "$T/whole.ndz"; zip --codec=deflate:1 --windows=content -r "$T/noise" "$T/filled.ndz"
python3 - "$TOP/tests/helpers" "$T/whole.ndz" "$T/filled.ndz" $(($(stat -c %s "$T/filled.ndz") >> 20)) << 'PY' || fail "a chunk that is filled moves cuts"
import sys
sys.path.insert(0, sys.argv[1])
from fragments import fragments
whole, filled = ({m[0] for m, _, d in fragments(p) if d} for p in sys.argv[2:4])
splits, chunks = len(filled - whole), int(sys.argv[4])
print(f"# {len(whole)} windows, {splits} of them split, {chunks} chunks, {len(whole - filled)} ends are lost")
assert whole <= filled and chunks // 2 < splits < chunks
PY
for f in 0 8 500; do
	zip --codec=deflate:1 --windows=store -F $f "$T/a.fs" "$T/f$f.ndz"
done
# What begins a window without filler begins one with it, or follows filler that does.
python3 - "$TOP/tests/helpers" "$T/f0.ndz" "$T/kept.ndz" "$T/f500.ndz" << 'PY' || fail "cuts depend on -F"
import sys
sys.path.insert(0, sys.argv[1])
from fragments import fragments
few = [m for m, _, d in fragments(sys.argv[2])]
allocated = {s for m in few for s in m}
for path in sys.argv[3:]:
    starts, stored = set(), 0
    for m, _, _ in fragments(path):
        stored += len(m)
        starts.add(next((s for s in m if s in allocated), None))
        last = m[-1]
    # Windows that are filler alone lead to the next one that is not.
    lost = [m[0] for m in few if m[0] not in starts]
    print(f"# {path}: {stored - len(allocated)} sectors of filler, {len(few)} windows, {len(lost)} begin elsewhere")
    assert not lost, lost[:5]
PY

echo "== a partition has a grid of its own"
for d in a b; do
	truncate -s 60M "$T/$d.disk"
	printf 'start=63,size=%s,type=83\nstart=%s,type=83\n' $((bytes / 512)) $((bytes / 512 + 63 + 5)) | sfdisk -q --force "$T/$d.disk" > "$T/sfdisk" 2>&1 || fail "sfdisk: $(cat "$T/sfdisk")"
	dd if="$T/$d.fs" of="$T/$d.disk" bs=512 seek=63 conv=notrunc status=none
	zip --windows=store "$T/$d.disk" "$T/$d.disk.ndz"
	zip --windows=store "$T/$d.fs" "$T/$d.ndz"
done
read -r new of <<< "$(fragments --shared "$T/a.ndz" "$T/a.disk.ndz")"
check "a disk beside its partition: $new of $of bytes are new" [ $((new * 20)) -lt "$of" ]
read -r new of <<< "$(fragments --shared "$T/a.ndz" "$T/b.ndz")"
check "the same files in another filesystem: $new of $of bytes are new" [ $((new * 2)) -lt "$of" ]

echo "== images of images"
check "imagerezip" "$BIN/imagerezip" -q --windows=content "$T/aligned.ndz" "$T/again.ndz"
"$BIN/imagerezip" -q --windows=aligned "$T/a.disk.ndz" "$T/a.aligned.ndz"
check "aligned and back" "$BIN/imagerezip" -q --windows=store "$T/a.aligned.ndz" "$T/a.back.ndz"
read -r new of <<< "$(fragments --shared "$T/a.disk.ndz" "$T/a.back.ndz")"
check "finds the partition's grid: $new of $of bytes are new" [ $((new * 20)) -lt "$of" ]
cp "$T/a.fs" "$T/c.fs"
dd if="$T/b/other7" of="$T/c.fs" bs=4096 seek=5000 conv=notrunc status=none
dd if="$T/b/other9" of="$T/c.fs" bs=4096 seek=2000 conv=notrunc status=none
zip --windows=content "$T/c.fs" "$T/c.ndz"
check "imagedelta" "$BIN/imagedelta" -q --windows=content "$T/a.ndz" "$T/c.ndz" "$T/delta.ndz"
check "it is small" [ "$(stat -c %s "$T/delta.ndz")" -le 2097152 ]
poison "$T/target" $bytes; "$BIN/imageunzip" -q --in-place "$T/a.ndz" "$T/target"
check "the delta is installed" "$BIN/imageunzip" -q --in-place "$T/delta.ndz" "$T/target"
poison "$T/want" $bytes; "$BIN/imageunzip" -q --in-place "$T/c.ndz" "$T/want"
check "onto its base" cmp "$T/want" "$T/target"
check "imagedelta --onto" "$BIN/imagedelta" -q --windows=content --onto "$T/a.ndz" "$T/delta.ndz" "$T/whole.ndz"
poison "$T/target" $bytes; "$BIN/imageunzip" -q --in-place "$T/whole.ndz" "$T/target"
check "the whole" cmp "$T/want" "$T/target"
zip --windows=content -U "$T/a.sig" "$T/a.fs" "$T/a2.ndz"
zip --windows=aligned -U "$T/a3.sig" "$T/a.fs" "$T/a3.ndz"
check "signatures are those of aligned windows" cmp <(tail -c +33 "$T/a.sig" | od -An -v -tx1 -w32 | cut -c1-24,37-) <(tail -c +33 "$T/a3.sig" | od -An -v -tx1 -w32 | cut -c1-24,37-)
check "imagehash agrees" quietly "$BIN/imagehash" "$T/a2.ndz" "$T/a.fs"
check "imagezip -H" "$BIN/imagezip" -q --windows=content -H "$T/a.sig" "$T/c.fs" "$T/h.ndz"
poison "$T/target" $bytes; "$BIN/imageunzip" -q --in-place "$T/a2.ndz" "$T/target"
check "its delta is installed" "$BIN/imageunzip" -q --in-place "$T/h.ndz" "$T/target"
check "comes to the same" cmp "$T/want" "$T/target"

echo "== signed and encrypted"
"$BIN/imagekey" -q --sign-key="$T/k" && "$BIN/imagekey" -q --encrypt-key="$T/e" || fail "keys"
check "made" "$BIN/imagezip" -q --windows=content --sign="$T/k.key" --encrypt="$T/e" "$T/c.fs" "$T/s.ndz"
poison "$T/target" $bytes
check "installed" "$BIN/imageunzip" -q --verify-key="$T/k.pub" --decrypt="$T/e" --in-place "$T/s.ndz" "$T/target"
check "the same disk" cmp "$T/want" "$T/target"

echo "== refused"
finish
