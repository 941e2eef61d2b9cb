#!/usr/bin/env bash
# What earlier versions of this suite have written is read as it was meant: images, a store, streams (tests/golden/own).
. "$(dirname "$0")/lib.sh"
requires zstd
OWN=$GOLDEN/own
for f in "$OWN"/*.zst; do zstd -dqf "$f" -o "$T/$(basename "$f" .zst)" || fail "zstd $f"; done
tar -C "$T" -xf "$T/store.tar"
sum_of() { awk -v n="$1" 'length($1) == 64 && $2 == n { print $1 }' "$OWN/README.md"; }
is() { check "$1: the $3" same_hash "$2" "$(sum_of "$3")"; }	# WHAT FILE DISK
for i in deflate zstd signed later; do
	quietly "$BIN/imagedump" --verify "$T/$i.ndz" || fail "imagedump --verify $i"
	quietly "$BIN/imageunzip" -q "$T/$i.ndz" "$T/$i" || fail "imageunzip $i"
	if [ $i = later ]; then is $i "$T/$i" later; else is $i "$T/$i" disk; fi
done
check "signed" quietly "$BIN/imagedump" --verify --verify-key "$OWN/lab.pub" "$T/signed.ndz"
quietly "$BIN/imageunzip" -q "$T/delta.ndz" "$T/deflate" || fail "imageunzip delta"
is "delta over its base" "$T/deflate" later
cp "$OWN/deflate.ndz.sig" "$T"
check "signature" quietly "$BIN/imagehash" "$T/deflate.ndz.sig" "$T/zstd"
check "... of no other disk" eval '! quietly "$BIN/imagehash" "$T/deflate.ndz.sig" "$T/later" > /dev/null'

echo "== the store"
for i in disk:1=disk disk:2=later z=disk; do
	quietly "$BIN/emustore" -q -s "$T/store" get "${i%=*}" "$T/got.ndz" || fail "emustore get ${i%=*}"
	rm -f "$T/got"; quietly "$BIN/imageunzip" -q "$T/got.ndz" "$T/got"
	is "${i%=*}" "$T/got" "${i#*=}"
done
check "put there" quietly "$BIN/emustore" -q -s "$T/store" put new "$T/later.ndz"
check "verify" quietly "$BIN/emustore" -s "$T/store" verify

echo "== the streams"
: > "$T/copy"
quietly "$BIN/dmmerge" -q "$T/copy" < "$T/full.dsync" || fail "dmmerge full"
is "full.dsync" "$T/copy" disk
quietly "$BIN/dmmerge" -q "$T/copy" < "$T/changed.dsync" || fail "dmmerge changed"
is "changed.dsync" "$T/copy" later
finish
