#!/usr/bin/env bash
# Images of other programs in the store: their data is shared, their bytes come out as they
# were, with another zlib an equivalent does, and damage is never served.
. "$(dirname "$0")/lib.sh"
own_network "$@"
. "$(dirname "$0")/store_lib.sh"
requires python3 zstd
export EMUSTORE=$T/S
shim=${B:-$TOP/build/plain}/tests/preload/zlib_other.so
[ -e "$shim" ] || fail "no $shim"
# Under a sanitizer its library must come first.
other_zlib() { LD_PRELOAD="$(ldd "$BIN/emustore" | awk '/lib[at]san/ { print $3 }') $shim" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" "$@"; }

es init
echo "== every image of the original programs is made again"
for g in "$GOLDEN"/img/*.ndz.zst; do
	n=$(basename "$g" .ndz.zst); zstd -dqfc "$g" > "$T/$n.ndz"
	es --json put "$n" "$T/$n.ndz" > "$T/json" || fail "put $n"
	[ "$(field recompressed_chunks < "$T/json")" = "$(field chunks < "$T/json")" ] || fail "$n: not all of its chunks are made again"
	gets "$n" "$T/$n.ndz" || fail "get $n"
	es -q get "$n" "$T/out" -j 1 && cmp "$T/$n.ndz" "$T/out" || fail "get $n with one thread"
done
check "verify --data" es -q verify --data
check "no equivalents" [ "$(es verify --data --json | field chunks_equivalent)" = 0 ]

echo "== installed and served, several chunks at once"
"$BIN/imageunzip" -q "$T/mbr.ndz" "$T/disk"
installs mbr "$T/disk" $((20000 + OWN_NUMBER % 12000))

echo "== they share data with our own images, either way round"
"$BIN/imageunzip" -q "$T/mbr.ndz" "$T/disk"
"$BIN/imagezip" -q --windows=store -r "$T/disk" "$T/own.ndz" || fail "imagezip"
new=$(es put --json own "$T/own.ndz" | field new_fragments)
all=$(es info --json own | field fragments)
check "our image of the same disk: $new of $all fragments are new" [ "$((new * 4))" -lt "$all" ]
es --store "$T/S2" init; es -q --store "$T/S2" put own "$T/own.ndz"
check "the other way round: nothing much is new" [ "$(es --store "$T/S2" put --json mbr "$T/mbr.ndz" | field new_bytes)" -lt 300000 ]
check "and comes out" bash -c '"$0" -q --store "$1" get mbr - | cmp - "$2"' "$BIN/emustore" "$T/S2" "$T/mbr.ndz"
"$BIN/imagezip" -q -r -z 9 --windows=store "$T/disk" "$T/nine.ndz" || fail "imagezip -z 9"
es --store "$T/S9" init; es -q --store "$T/S9" put mbr "$T/nine.ndz"
put_mbr() { es --store "$T/S9" put --json "$1" "$T/mbr.ndz"; }
check "at the level of the newest version of its name" [ "$(put_mbr mbr | field new_bytes)" -lt 300000 ]
check "... for that name alone" [ "$(put_mbr other | field new_fragments)" -gt 20 ]
"$BIN/imagezip" -q -r --codec=zstd "$T/disk" "$T/zstd.ndz" 2> /dev/null && {
	es --store "$T/S3" init; es -q --store "$T/S3" put zstd "$T/zstd.ndz"; es -q --store "$T/S3" put mbr "$T/mbr.ndz"
	check "fragments of another codec are not taken for it" bash -c '"$0" -q --store "$1" get mbr - | cmp - "$2"' "$BIN/emustore" "$T/S3" "$T/mbr.ndz"
}

echo "== --exact keeps the bytes"
es --store "$T/S4" init
es --store "$T/S4" --json put --exact mbr "$T/mbr.ndz" > "$T/json"
check "whole chunks" [ "$(field unsplit_chunks < "$T/json")/$(field recompressed_chunks < "$T/json")" = 3/0 ]
check "comes out" bash -c '"$0" -q --store "$1" get mbr - | cmp - "$2"' "$BIN/emustore" "$T/S4" "$T/mbr.ndz"

echo "== what nobody knows how to make is kept as one piece"
python3 - "$T/ext2.ndz" "$T/odd.ndz" << 'PY'
import struct, sys, zlib
d = bytearray(open(sys.argv[1], "rb").read())
for at in range(0, len(d), 1 << 20):
    size = struct.unpack_from("<I", d, at + 4)[0]
    z = zlib.compressobj(9, zlib.DEFLATED, 15, 3, zlib.Z_FILTERED)
    s = z.compress(zlib.decompress(bytes(d[at + 4096:at + 4096 + size]))) + z.flush()
    assert len(s) <= (1 << 20) - 4096
    d[at + 4096:at + (1 << 20)] = s + bytes((1 << 20) - 4096 - len(s))
    struct.pack_into("<I", d, at + 4, len(s))
open(sys.argv[2], "wb").write(d)
PY
es --json put odd "$T/odd.ndz" > "$T/json" || fail "put odd"
check "whole" [ "$(field recompressed_chunks < "$T/json")" = 0 ]
check "comes out" gets odd "$T/odd.ndz"

echo "== encrypted chunks are kept as one piece"
"$BIN/imagekey" -q --encrypt-key="$T/key"
if "$BIN/imagezip" -q -r --encrypt="$T/key" "$T/disk" "$T/secret.ndz" 2> "$T/stderr"; then
	es --json put secret "$T/secret.ndz" > "$T/json" || fail "put secret"
	check "encrypted" [ "$(field encrypted_chunks < "$T/json")" = "$(field chunks < "$T/json")" ]
	check "comes out" gets secret "$T/secret.ndz"
else
	fail "no encrypted image: $(cat "$T/stderr")"
fi

echo "== another zlib: equivalents, said and listed"
for n in mbr ext2-frag v5-fbsd-s1 odd-f; do
	quietly other_zlib "$BIN/emustore" get $n "$T/equivalent.ndz" || { fail "get $n"; continue; }
	check "$n: says so" grep -q "chunks have the data that was put, but in other compressed bytes" "$T/quiet"
	cmp -s "$T/equivalent.ndz" "$T/$n.ndz" && fail "$n: the other zlib made the same"
	"$BIN/imageunzip" -q "$T/$n.ndz" "$T/a.disk" && "$BIN/imageunzip" -q "$T/equivalent.ndz" "$T/b.disk"
	check "$n: the same disk" cmp "$T/a.disk" "$T/b.disk"
	check "$n: the same ranges" [ "$("$BIN/imagedump" -d "$T/$n.ndz" | grep -c region)" = "$("$BIN/imagedump" -d "$T/equivalent.ndz" | grep -c region)" ]
	rm -f "$T/a.disk" "$T/b.disk"
done
other_zlib "$BIN/emustore" verify --data --json > "$T/json" 2> "$T/stderr" || fail "verify"
check "verify counts them" [ "$(field chunks_equivalent < "$T/json")" -gt 10 ]
check "and lists them" grep -q "mbr:1: [0-9]* chunks are served with their data in other compressed bytes" "$T/stderr"
check "they are no problems" [ "$(field problems_found < "$T/json")" = 0 ]
check "installed with the other zlib" other_zlib "$BIN/imageunzip" -q --store "$T/S" mbr "$T/b.disk"
check "the disk is right" cmp "$T/disk" "$T/b.disk"
check "put with the other zlib" other_zlib "$BIN/emustore" -q put again "$T/mbr.ndz"
check "comes out" gets again "$T/mbr.ndz"

echo "== gc, a new index, damage"
es -q rm own; es -q rm odd; es -q rm again
check "gc" es -q gc --all
check "mbr is still there" gets mbr "$T/mbr.ndz"
rm "$T"/S/index.db*
check "repair --index" es -q repair --index
check "mbr is there again" gets mbr "$T/mbr.ndz"
rm -f "$T/out"
f=$(ls -S "$T"/S/packs/*.pack | head -n 1); cp "$f" "$T/pack"; size=$(stat -c %s "$f") served=0 refused=0
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	cp "$T/pack" "$f"; spoil_byte "$f" $((size * i / 13 + 11 * i))
	rm -f "$T/b.disk"
	quietly "$BIN/imageunzip" -q --store "$T/S" mbr "$T/b.disk" > /dev/null 2>&1 && { cmp -s "$T/disk" "$T/b.disk" || fail "byte $i: a wrong disk"; }
	for z in es "other_zlib $BIN/emustore"; do
		if quietly $z -q get mbr "$T/out"; then
			rm -f "$T/b.disk"; "$BIN/imageunzip" -q "$T/out" "$T/b.disk" && cmp -s "$T/disk" "$T/b.disk" || fail "byte $i: a wrong image was served"
			served=$((served + 1))
		else
			[ ! -e "$T/out" ] || fail "half an image is left"
			refused=$((refused + 1))
		fi > /dev/null 2>&1
		rm -f "$T/out"
	done
done
check "$served served right, $refused refused" [ $refused -gt 0 ]
cp "$T/pack" "$f"

echo "== damaged images are not taken"
for at in 5000 100000 200000; do
	cp "$T/ext2.ndz" "$T/bad.ndz"; printf '\377\000\125' | dd of="$T/bad.ndz" bs=1 seek=$at conv=notrunc status=none
	status 3 es -q put bad "$T/bad.ndz"
done
finish
