#!/usr/bin/env bash
# What is served is what was signed, was encrypted, is in a store; damage is an error, never other bytes.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
requires sfdisk mke2fs mkntfs zstd
a_disk sda
(cd "$T" && "$BIN/imagekey" --sign-key lab > /dev/null && "$BIN/imagekey" --sign-key other > /dev/null && "$BIN/imagekey" --encrypt-key secret > /dev/null) || fail "imagekey"
"$BIN/imagerezip" -q --sign "$T/lab.key" "$T/sda.ndz" "$T/signed.ndz" && "$BIN/imagerezip" -q --encrypt "$T/secret" "$T/sda.ndz" "$T/encrypted.ndz" || fail "imagerezip"
check "signed" comes_out "$T/sda.out" image="$T/signed.ndz" verify-key="$T/lab.pub"
check "signed, and nobody asks" comes_out "$T/sda.out" image="$T/signed.ndz"
refused "sign" image="$T/signed.ndz" verify-key="$T/other.pub"
refused "sign" image="$T/sda.ndz" verify-key="$T/lab.pub"
refused "No such file" image="$T/signed.ndz" verify-key="$T/nothing.pub"
check "encrypted" comes_out "$T/sda.out" image="$T/encrypted.ndz" decrypt="$T/secret"
refused "encrypted" image="$T/encrypted.ndz"

# Every kind of image that is read.
truncate -s 30M "$T/ntfs"; mkntfs -q -F "$T/ntfs" > /dev/null 2>&1 || fail "mkntfs"
for codec in zstd igzip; do
	"$BIN/imagezip" -q --codec=$codec "$T/ntfs" "$T/$codec.ndz" 2> /dev/null || continue
	rm -f "$T/out"; "$BIN/imageunzip" -q "$T/$codec.ndz" "$T/out"
	check "NTFS, $codec" comes_out "$T/out" image="$T/$codec.ndz"
done
check "some codec" [ -e "$T/out" ]
mkdir "$T/golden"; for i in "$GOLDEN"/img/*.ndz.zst; do zstd -q -d "$i" -o "$T/golden/$(basename "${i%.zst}")"; done
for i in "$T"/golden/*.ndz; do
	rm -f "$T/out"; "$BIN/imageunzip" -q "$i" "$T/out" 2> /dev/null || continue
	if nbd "nbdcopy \$uri '$T/copied'" image="$i"; then
		# An image of an old version may not say how large its disk is; what is behind is zeros.
		n=$(stat -c %s "$T/out"); [ "$(stat -c %s "$T/copied")" -lt "$n" ] && n=$(stat -c %s "$T/copied")
		check "by Emulab's programs: $(basename "$i")" cmp -n "$n" "$T/out" "$T/copied"
	else check "$(basename "$i"): $(tail -n 1 "$T/nbd.log")" grep -q "is a delta" "$T/nbd.log"; fi
done

# A store.
"$BIN/emustore" --store "$T/store" init > /dev/null && "$BIN/emustore" -q --store "$T/store" put sda "$T/sda.ndz" || fail "emustore"
check "from a store" comes_out "$T/sda.out" image=store:sda store="$T/store"
check "a store is read by fragments, and each of them once" "$PYTHON" "$TOP/tests/helpers/nbd_reads.py" cost "$PLUGIN" \
	"$T/sda.ndz" image=store:sda store="$T/store" cache=1M
check "any part of a store" nbd "'$PYTHON' '$TOP/tests/helpers/nbd_reads.py' random \$unixsocket '$T/sda.out' 300" \
	image=store:sda store="$T/store" cache=1M
refused "nothing" image=store:nothing store="$T/store"
# A byte of a fragment that is read by itself.
pack=$(find "$T/store/packs" -type f | head -n 1); at=$(($(stat -c %s "$pack") / 2)); chmod u+w "$pack"
printf "\\x$(printf %x $((0x$(od -An -tx1 -j$at -N1 "$pack") ^ 1)))" | dd of="$pack" bs=1 seek=$at conv=notrunc status=none
if comes_out "$T/sda.out" image=store:sda store="$T/store"; then fail "a damaged fragment: came out"
else check "a damaged fragment is named: $(grep -m 1 damaged "$T/nbd.log")" grep -q "sda:1: chunk.*pack.*: the record at byte [0-9]* is damaged" "$T/nbd.log"; fi

# Bytes of any part flipped: the disk as it was, or an error where it is damaged.
check "damage" python3 "$TOP/tests/helpers/nbd_reads.py" flips "$PLUGIN" "$T/sda.ndz" "$T/sda.out" "${FLIPS:-50}"
finish
