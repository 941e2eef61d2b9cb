#!/usr/bin/env bash
# Truncated, flipped and hostile images: exit 3, one sentence, nothing left.
. "$(dirname "$0")/lib.sh"
requires python3 zstd
head -c 5000000 /dev/urandom > "$T/src"; truncate -s 6000128 "$T/src"
"$BIN/imagezip" -q -r "$T/src" "$T/good.ndz" 2> /dev/null || fail "imagezip"
chunks=$(($(stat -c %s "$T/good.ndz") >> 20))

bad_image() { status 3 "$BIN/imageunzip" -q "$1" "$T/out"; check "nothing left" [ ! -e "$T/out" ]; }
for cut in $((chunks - 1)) 1; do head -c $((cut << 20)) "$T/good.ndz" > "$T/bad"; bad_image "$T/bad"; done
head -c 1500000 "$T/good.ndz" > "$T/bad"; bad_image "$T/bad"
status 3 sh -c "head -c 1500000 '$T/good.ndz' | '$BIN/imageunzip' -q - '$T/out'"
: > "$T/bad"; bad_image "$T/bad"
cat "$T/good.ndz" "$T/good.ndz" > "$T/bad"; bad_image "$T/bad"
status 3 "$BIN/imagedump" "$T/bad"
for magic in '\x6c' '\x6e'; do	# V4 and V6 by name
	cp "$T/good.ndz" "$T/bad"; printf "$magic" | dd of="$T/bad" bs=1 conv=notrunc status=none
	status 1 "$BIN/imageunzip" -q "$T/bad" "$T/out"
	check "the version is named" grep -q "[vV]ersion [46]\|V[46]" "$T/stderr"
done

# Any byte of the first kilobyte, and many of the stream: never wrong data with exit 0.
python3 - "$BIN/imageunzip" "$T" << 'PY' || bad=1
import os, random, subprocess, sys
unzip, t = sys.argv[1:]
good = open(t + "/good.ndz", "rb").read()
want = open(t + "/src", "rb").read()
r = random.Random(3)
places = list(range(0, 64)) + [r.randrange(64, 4096) for _ in range(10)] + [4096 + r.randrange(1 << 20) for _ in range(40)]
for at in places:
    b = bytearray(good); b[at] ^= 1 << r.randrange(8)
    open(t + "/bad", "wb").write(b)
    p = subprocess.run([unzip, "-q", t + "/bad", t + "/out"], capture_output=True, text=True, timeout=300)
    if p.returncode == 0:
        got = open(t + "/out", "rb").read()
        if got != want:
            sys.exit(f"FAIL: byte {at}: wrong data with exit 0")
    elif p.returncode not in (1, 3) or len(p.stderr.strip().splitlines()) != 1:
        sys.exit(f"FAIL: byte {at}: exit {p.returncode}: {p.stderr[:300]}")
    elif os.path.exists(t + "/out"):
        sys.exit(f"FAIL: byte {at}: a file is left")
    if os.path.exists(t + "/out"):
        os.unlink(t + "/out")
print("ok:", len(places), "flipped bits")
PY

# An image as other tools make it says only which sectors are whose: chunks that are
# missing in front of others, come twice or in another order, are seen all the same.
python3 - "$T" << 'PY'
import struct, sys
t, C = sys.argv[1], 1 << 20
b = bytearray(open(t + "/good.ndz", "rb").read())
for k in range(0, len(b), C):
    n = struct.unpack_from("<I", b, k + 4)[0]
    b[k + 4096 + n : k + C] = bytes(C - 4096 - n)
chunks = [bytes(b[k : k + C]) for k in range(0, len(b), C)]
renumbered = [c[:8] + struct.pack("<i", i) + c[12:] for i, c in enumerate(chunks[:1] + chunks[2:])]
for name, made in {
    "plain": chunks, "gap": chunks[:1] + chunks[2:], "nofirst": chunks[1:], "renumbered": renumbered,
    "twice": chunks[:2] + chunks[1:], "order": chunks[:1] + chunks[2:3] + chunks[1:2] + chunks[3:],
}.items():
    open(f"{t}/{name}.ndz", "wb").write(b"".join(made))
PY
check "without extensions" "$BIN/imageunzip" -q "$T/plain.ndz" "$T/out"; rm "$T/out"
for how in gap nofirst twice; do
	bad_image "$T/$how.ndz"
	status 3 sh -c "cat '$T/$how.ndz' | '$BIN/imageunzip' -q - '$T/out'"
	check "$how: nothing left" [ ! -e "$T/out" ]
	[ $how = twice ] || status 3 "$BIN/imagerezip" -q "$T/$how.ndz" "$T/out"
	status 3 "$BIN/imagedump" --verify "$T/$how.ndz"
done
check "in another order" "$BIN/imageunzip" -q "$T/order.ndz" "$T/out"
check "is the same" cmp -s "$T/out" "$T/src"; rm "$T/out"
status 3 "$BIN/imagedump" --verify "$T/order.ndz"
"$BIN/imageunzip" -q "$T/renumbered.ndz" "$T/out" 2> "$T/stderr"
check "numbers without a gap: a warning" grep -q "no chunk of the image covers" "$T/stderr"; rm -f "$T/out"
status 3 "$BIN/imagedump" --verify "$T/renumbered.ndz"

# Targets: too small, full, the image itself.
truncate -s 1M "$T/small"
status 1 "$BIN/imageunzip" -q --in-place "$T/good.ndz" "$T/small"
check "it says how large" grep -q "11719" "$T/stderr"
check "nothing was written" cmp -s "$T/small" <(head -c 1048576 /dev/zero)
( "$BIN/imageunzip" -q "$T/good.ndz" - > /dev/full ) 2> "$T/stderr"; check "full pipe" [ $? = 1 ]
status 1 "$BIN/imageunzip" -q -s 1 "$T/good.ndz" "$T/src"
check "/dev/null" "$BIN/imageunzip" -q "$T/good.ndz" /dev/null

# A signal in the middle: exit 1, the new file is gone.
mkfifo "$T/fifo"
( head -c 2097152 "$T/good.ndz"; exec sleep 1000 ) > "$T/fifo" &
feeder=$!
"$BIN/imageunzip" -q "$T/fifo" "$T/out" 2> "$T/stderr" & p=$!
catches_int() { [ "$(cat /proc/$p/comm)" = imageunzip ] && (( 0x$(sed -n "s/^SigCgt:[[:space:]]*//p" /proc/$p/status) & 2 )); }
begins $p catches_int || fail "it does not begin: $(cat "$T/stderr")"
kill -INT $p; wait $p; rc=$?
kill $feeder; { wait $feeder; } 2> /dev/null
check "SIGINT: not done" [ $rc = 1 ]
check "said: $(cat "$T/stderr")" grep -q "SIGINT" "$T/stderr"
check "no file is left" [ ! -e "$T/out" ]

# A mounted device is refused.
if [ "$(id -u)" = 0 ] && command -v losetup > /dev/null; then
	truncate -s 16M "$T/loop"; mke2fs -q -F "$T/loop"
	if dev=$(losetup -f --show "$T/loop" 2> /dev/null); then
		CLEANUP+=("umount '$T/mnt' 2> /dev/null; losetup -d '$dev' 2> /dev/null")
		mkdir "$T/mnt"
		if mount "$dev" "$T/mnt" 2> /dev/null; then
			status 1 "$BIN/imageunzip" -q "$T/good.ndz" "$dev"
			check "it says by whom" grep -q "mounted on" "$T/stderr"
			umount "$T/mnt"
		fi
		check "a free device is written" "$BIN/imageunzip" -q "$T/good.ndz" "$dev"
		cmp -n 6000128 "$dev" "$T/src" || fail "device contents"
	fi
fi
finish
