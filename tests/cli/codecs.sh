#!/usr/bin/env bash
# Every codec: captured, verified, installed every way, damaged, refused.
. "$(dirname "$0")/lib.sh"
requires mke2fs e2fsck python3 zstd cmp
for codec in igzip zstd; do
	"$BIN/imagezip" -q --codec=$codec -f /dev/null "$T/x" 2>&1 | grep -q "built without" && skip "needs $codec built in"
done
python3 - "$T" << 'PY'
import os, random, sys
r = random.Random(7)
t = sys.argv[1]
words = [r.randbytes(r.randint(2, 9)) for _ in range(3000)]
text = b"".join(r.choice(words) for _ in range(400000))
os.mkdir(t + "/files")
for i in range(40):
    n = r.randint(1, 300000)
    open(f"{t}/files/t{i}", "wb").write(text[r.randint(0, 10**6):][:n])
open(t + "/files/noise", "wb").write(r.randbytes(3 << 20))
open(t + "/files/holes", "wb").write(r.randbytes(70000) + bytes(5 << 20) + r.randbytes(70000))
# Fragments of all lengths: text, noise, zeros, at 64 KiB and across.
parts = [text[:5 << 20], r.randbytes(2 << 20), bytes(3 << 20), text[7:700000], bytes(100000), r.randbytes(1500), text[:200]]
open(t + "/raw", "wb").write(b"".join(parts))
PY
truncate -s 24M "$T/fs"; mke2fs -q -F -t ext4 -d "$T/files" "$T/fs"
bytes=$(stat -c %s "$T/fs")

codecs="deflate:1 igzip igzip:3 zstd:1 zstd zstd:9"; instrumented && codecs="deflate:1 igzip:3 zstd"
for codec in $codecs; do
	check "$codec: captured" "$BIN/imagezip" -q --codec=$codec "$T/fs" "$T/fs.ndz"
	check "$codec: verified" "$BIN/imagedump" -q --verify "$T/fs.ndz"
	poison "$T/target" "$bytes"
	check "$codec: installed" "$BIN/imageunzip" -q --in-place "$T/fs.ndz" "$T/target"
	cp "$T/target" "$T/first"
	check "$codec: a filesystem" quietly e2fsck -fn "$T/target"
	for how in "-z" "-W 1 -n"; do
		poison "$T/target" "$bytes"
		check "$codec: installed with $how" "$BIN/imageunzip" -q $how --in-place "$T/fs.ndz" "$T/target"
	done
	check "$codec: in small pieces the same" cmp "$T/first" "$T/target"
	printf x | dd of="$T/target" bs=1 seek=2000 conv=notrunc status=none
	check "$codec: only what differs" "$BIN/imageunzip" -q --skip-same --in-place "$T/fs.ndz" "$T/target"
	check "$codec: then all is as it was" cmp "$T/first" "$T/target"
	check "$codec: any file" "$BIN/imagezip" -q --codec=$codec -f "$T/raw" "$T/raw.ndz"
	check "$codec: is what it was" cmp "$T/raw" <("$BIN/imageunzip" -q "$T/raw.ndz" -)
	check "$codec: through pipes" cmp "$T/raw" <("$BIN/imagezip" -q --codec=$codec -f - - < "$T/raw" | "$BIN/imageunzip" -q - -)
done

# What the strict reader makes of them: only zlib and the base format.
strict() { python3 "$TOP/tests/helpers/strict_reader.py" "$@"; }
for codec in deflate:5 deflate:6 igzip igzip:0 igzip:2; do
	"$BIN/imagezip" -q --codec=$codec "$T/fs" "$T/fs.ndz"
	check "$codec: strict reader" strict "$T/fs.ndz" "$T/strict" "$bytes"
	poison "$T/target" "$bytes"; "$BIN/imageunzip" -q --in-place "$T/fs.ndz" "$T/target"
	check "$codec: the same" cmp "$T/strict" "$T/target"
done
"$BIN/imagezip" -q --codec=zstd "$T/fs" "$T/z.ndz"
if strict "$T/z.ndz" "$T/strict" "$bytes" 2> "$T/stderr"; then fail "the strict reader takes zstd"
else check "refused for its magic" grep -q "magic" "$T/stderr"; fi

# The stream of a zstd chunk is what the zstd program reads.
"$BIN/imagezip" -q --codec=zstd -f "$T/raw" "$T/raw.ndz"
python3 - "$T/raw.ndz" "$T" << 'PY' || fail "streams"
import struct, sys
image = open(sys.argv[1], "rb").read()
out = open(sys.argv[2] + "/streams", "wb")
for k in range(len(image) >> 20):
    c = image[k << 20:(k + 1) << 20]
    assert c[:4] == b"NDZ5" and struct.unpack_from("<I", c, 36)[0] == 2
    out.write(c[4096:4096 + struct.unpack_from("<I", c, 4)[0]])
PY
size=$(stat -c %s "$T/raw")
check "zstd -d reads them" cmp -n "$size" "$T/raw" <(zstd -dc "$T/streams")

# Whatever the threads and their luck, the same image; short spellings.
export SOURCE_DATE_EPOCH=1000000000
threads="2 5 16"; instrumented && threads=5
same="-u 00112233445566778899aabbccddeeff -f $T/raw"
for codec in zstd deflate:2 igzip igzip:2; do
	"$BIN/imagezip" -q --codec=$codec -j1 $same "$T/a.ndz"
	for j in $threads; do
		"$BIN/imagezip" -q --codec=$codec -j$j $same "$T/b.ndz"
		check "$codec: -j$j makes the same image" cmp "$T/a.ndz" "$T/b.ndz"
	done
done
# What zlib calls the fastest level.
"$BIN/imagezip" -q --fast $same "$T/b.ndz"
check "--fast is igzip" cmp -n 1 -i 4097:0 "$T/b.ndz" <(printf '\x01')
check "--fast: the same data" cmp "$T/raw" <("$BIN/imageunzip" -q "$T/b.ndz" -)
"$BIN/imagezip" -q -z 3 $same "$T/a.ndz"; "$BIN/imagezip" -q --codec=deflate:3 $same "$T/b.ndz"
check "-z 3 is deflate:3" cmp "$T/a.ndz" "$T/b.ndz"
unset SOURCE_DATE_EPOCH
check "imagedump names it" grep -q '"codec": "zstd"' <("$BIN/imagedump" --json "$T/z.ndz")
"$BIN/imagedump" --json "$T/z.ndz" > "$T/json"
parts=$(json "$T/json" '[0].stream_bytes' '[0].header_bytes' '[0].extension_bytes' '[0].padding_bytes' | paste -sd+)
check "... and what each byte of the file is" [ $((parts)) = "$(stat -c %s "$T/z.ndz")" ]
check "a quarter of a gigabyte of zeros" "$BIN/imagezip" -q --codec=zstd -r <(head -c 250000384 /dev/zero) "$T/zeros.ndz"
check "is a chunk" [ "$(stat -c %s "$T/zeros.ndz")" = 1048576 ]
check "and comes back" cmp <(head -c 250000384 /dev/zero) <("$BIN/imageunzip" -q -W 1 "$T/zeros.ndz" -)

head -c 1500000 "$T/z.ndz" > "$T/cut"; status 3 "$BIN/imageunzip" -q "$T/cut" "$T/out"
head -c $((2 << 20)) "$T/z.ndz" > "$T/cut"; status 3 "$BIN/imageunzip" -q "$T/cut" "$T/out"
head -c 1500000 "$T/z.ndz" > "$T/cut"; status 3 "$BIN/frisbeed" -m 239.192.9.9 -p 5999 "$T/cut"
cp "$T/z.ndz" "$T/other"; printf '\x09' | dd of="$T/other" bs=1 seek=36 conv=notrunc status=none
status 1 "$BIN/imageunzip" -q "$T/other" "$T/out"
check "the codec is named" grep -q "codec 9" "$T/stderr"

# Any damaged bit: exit 3 and nothing left, or the right data.
bodies=40; instrumented && bodies=12
python3 - "$BIN/imageunzip" "$T" $bodies << 'PY' || bad=$((bad + 1))
import os, random, struct, subprocess, sys
unzip, t, bodies = sys.argv[1:]
good = open(t + "/raw.ndz", "rb").read()
want = open(t + "/raw", "rb").read()
used = 4096 + struct.unpack_from("<I", good, 4)[0] + 4096
r = random.Random(3)
for at in list(range(0, 60, 3)) + [r.randrange(4096, used) for _ in range(int(bodies))]:
    b = bytearray(good); b[at] ^= 1 << r.randrange(8)
    open(t + "/bad", "wb").write(b)
    p = subprocess.run([unzip, "-q", t + "/bad", t + "/out"], capture_output=True, text=True, timeout=300)
    if p.returncode == 0:
        if open(t + "/out", "rb").read() != want:
            sys.exit(f"FAIL: byte {at}: wrong data with exit 0")
        os.unlink(t + "/out")
    elif p.returncode not in (1, 3) or len(p.stderr.strip().splitlines()) != 1 or os.path.exists(t + "/out"):
        sys.exit(f"FAIL: byte {at}: exit {p.returncode}: {p.stderr[:300]}")
print("ok: damage")
PY
finish
