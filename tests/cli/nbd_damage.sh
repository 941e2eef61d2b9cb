#!/usr/bin/env bash
# Damaged images behind nbdkit-ndz-plugin, of every kind: a read gives what is right or an error, never other bytes, and
# nbdkit goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
requires zstd
DAMAGE=$TOP/tests/helpers/nbd_damage.py CORPUS=$TOP/tests/fuzz/corpus
mkdir "$T/golden"; for i in "$GOLDEN"/img/*.ndz.zst; do zstd -q -d "$i" -o "$T/golden/$(basename "${i%.zst}")"; done
for i in ext2 fbsd-s1 odd-f; do spoil_byte "$T/golden/$i.ndz" 5000; done
check "images of the corpora" python3 "$DAMAGE" files "$PLUGIN" "$BIN/imageunzip" "$CORPUS"/{chunk,random,partial}/* "$T"/golden/*.ndz

# Images of several chunks, one for each codec, whose data cannot be compressed, so that every byte counts.
python3 -c 'import random, sys; open(sys.argv[1], "wb").write(random.Random(1).randbytes(6 << 20))' "$T/rnd"
python3 -c 'import random, sys; open(sys.argv[1], "wb").write(random.Random(2).randbytes(6 << 20))' "$T/rnd2"
"$BIN/imagezip" -q -r "$T/rnd2" "$T/other.ndz" || fail "imagezip"
for codec in deflate zstd; do
	"$BIN/imagezip" -q -r --codec=$codec "$T/rnd" "$T/$codec.ndz" || fail "imagezip --codec=$codec"
	check "$codec: bits flipped" python3 "$DAMAGE" flips "$PLUGIN" "$T/$codec.ndz" "$T/rnd" 25
	check "$codec: changed while it is served" python3 "$DAMAGE" under "$PLUGIN" "$T/$codec.ndz" "$T/rnd" "$T/other.ndz"
done
check "cut short" python3 "$DAMAGE" cuts "$PLUGIN" "$T/zstd.ndz" "$T/rnd"
finish
