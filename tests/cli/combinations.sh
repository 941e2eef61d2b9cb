#!/usr/bin/env bash
# What can be asked for together: codec, encryption, signature, delta, threads.  Every
# pair is made, verified, installed, equal.
. "$(dirname "$0")/combine_lib.sh"

# Two days of a disk, every sector of which is stored: text, noise, zeros; chunks of all
# codecs end at other places.
python3 - << 'PY'
import random
r = random.Random(5)
words = [r.randbytes(r.randint(2, 9)) for _ in range(2000)]
a = bytearray(b"".join(r.choice(words) for _ in range(80000))[:400000] + r.randbytes(1000000) + bytes(400000) + r.randbytes(300))
a += bytes(-len(a) % 512)
b = bytearray(a)
for at, n in (0, 3), (65530, 20), (800000, 4000), (len(a) - 1, 1):
    b[at:at + n] = r.randbytes(n)
b[200000:240000] = bytes(40000)			# now zeros
b[1600000:1610000] = r.randbytes(10000)		# no longer
for name, data in ("a", a), ("b", b):
    open(name, "wb").write(data)
PY

# Codec x seal: each alone, captured and written again from the plain one.
for codec in "${CODECS[@]}"; do
	for s in "${SEALS[@]}"; do
		for day in a b; do
			ok "$codec, $s" "$BIN/imagezip" -q -r --codec="$codec" $(seal $s) -U "$day.$codec.$s.sig" $day "$day.$codec.$s"
		done
		ok "$codec, $s: verified" verifies "a.$codec.$s" $s
		ok "$codec, $s: installed" installs a "a.$codec.$s" $s
		ok "$codec, $s: has the same signature" cmp <(tail -c +65 "a.$codec.$s.sig") <(tail -c +65 "a.$codec.plain.sig")
	done
	ok "$codec: the signature is the image's" "$BIN/imagehash" -S -o "a.$codec.plain.sig" "a.$codec.plain"
done
echo "ok: $n: codec and seal"

# Pairs of seals, and of codecs: a delta of what is sealed one way, sealed another.
i=0
for from in "${SEALS[@]}"; do
	for to in "${SEALS[@]}"; do
		old=${CODECS[$((i % 3))]} new=${CODECS[$((i / 3 % 3))]} i=$((i + 1))
		# Each seal and each codec is on either side once, at least.
		instrumented && case $from-$to in plain-signed | signed-encrypted | encrypted-both | both-plain) ;; *) continue ;; esac
		what="$old $from, then $new $to"
		ok "$what: -H" "$BIN/imagezip" -q -r --codec=$new $(seal $to) -H a.$old.$from.sig -U d.sig b d
		ok "$what: verified" verifies d $to
		ok "$what: installed" installs b a.$old.$from $from d $to
		ok "$what: its signature is of the whole" "$BIN/imagehash" -S -o d.sig b.$new.plain
		ok "$what: imagedelta" "$BIN/imagedelta" -q --codec=$new $(open $from) $(seal $to) a.$old.$from b.$new.$from d
		ok "$what: imagedelta's, verified" verifies d $to
		ok "$what: imagedelta's, installed" installs b a.$old.$from $from d $to
		ok "$what: in the base's seal" "$BIN/imagedelta" -q --codec=$new $(open $from) $(seal $from) a.$old.$from b.$new.$from d
		ok "$what: onto its base" "$BIN/imagedelta" -q --codec=$new $(open $from) $(seal $to) --onto a.$old.$from d w
		ok "$what: the whole, verified" verifies w $to
		ok "$what: the whole, installed" installs b w $to
		ok "$what: written again" "$BIN/imagerezip" -q --codec=$old $(open $to) $(seal $from) w r
		ok "$what: written again, verified" verifies r $from
		ok "$what: written again, installed" installs b r $from
		ok "$what: a delta written again" "$BIN/imagerezip" -q --codec=$old $(open $from) $(seal $to) d r
		ok "$what: installed" installs b a.$old.$from $from r $to
	done
done
echo "ok: $n: pairs of seals and codecs"

# Threads: the same bytes, whoever compresses what; of deltas and rewritten images, too.
export SOURCE_DATE_EPOCH=1000000000
u="-u 00112233445566778899aabbccddeeff"
threads="1 2 3 4 5 6 7 8"; instrumented && threads="1 2 8"
for codec in "${CODECS[@]}"; do
	for j in $threads; do
		ok "$codec -j$j" "$BIN/imagezip" -q -r --codec=$codec $u -j$j -U j$j.sig a j$j
		ok "$codec: -j$j as -j1" cmp j1 j$j
		ok "$codec: -j$j as -j1, signature" cmp j1.sig j$j.sig
	done
	for j in 1 3 8; do
		ok "$codec -j$j, -H" "$BIN/imagezip" -q -r --codec=$codec $u -j$j -H a.$codec.plain.sig b h$j
		ok "$codec -j$j, imagerezip" "$BIN/imagerezip" -q --codec=$codec $u -j$j b.deflate:1.plain z$j
		ok "$codec -j$j, imagedelta" "$BIN/imagedelta" -q --codec=$codec $u -j$j a.$codec.plain b.$codec.plain d$j
		for f in h z d; do ok "$codec: -j$j as -j1" cmp ${f}1 $f$j; done
	done
done
unset SOURCE_DATE_EPOCH
echo "ok: $n: threads"
finish
