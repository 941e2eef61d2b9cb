#!/usr/bin/env bash
# imagezip with its arguments the wrong way round, as if it were imageunzip, or imageunzip: no disk is overwritten by an
# image of an image, and no image by anything.
. "$(dirname "$0")/lib.sh"
requires mke2fs
cd "$T" || exit 1
zip() { "$BIN/imagezip" -q "$@"; }
truncate -s 8M disk; mke2fs -q -F -t ext4 disk; sum=$(sha256sum < disk)
"$BIN/imagekey" -q --encrypt-key key.enc
zip disk v3.ndz; zip -5 disk v5.ndz; zip --codec=zstd disk zstd.ndz; zip --encrypt key.enc disk enc.ndz
for image in v3.ndz v5.ndz zstd.ndz enc.ndz; do
	status 1 zip $image disk
	check "it says what it is" grep -q "$image: is itself an image: the disk comes first, and the image behind it" stderr
	check "and not how the disk is overwritten" [ "$(grep -c -e --force stderr)" = 0 ]
	for how in -f -r; do status 1 zip $how $image x.ndz; done
	status 1 zip -i $image
done
check "the disk is what it was" [ "$(sha256sum < disk)" = "$sum" ]
check "nothing is written" [ ! -e x.ndz ]
echo "== and imageunzip, and imagehash"
for source in disk "$BIN/imagezip"; do
	status 3 "$BIN/imageunzip" -q "$source" v3.ndz
	check "it says which comes first" grep -q "; v3.ndz is an image: the image comes first, and the target behind it" stderr
	status 3 "$BIN/imagehash" -q "$source" v3.ndz
	check "imagehash, too" grep -q "; v3.ndz is an image: the image comes first, and the disk behind it" stderr
done
check "the image is what it was" "$BIN/imagedump" -q --verify v3.ndz
echo "== imagezip again"
check "--force stores it" zip --force -f v3.ndz x.ndz
check "every byte of it" cmp <("$BIN/imageunzip" -q x.ndz -) v3.ndz
check "what begins like an image is none" zip -f - x.ndz < <(printf 'iiii no image'; head -c 5000 /dev/zero)
(printf 'iiii no image'; head -c 5000 /dev/zero) > like; check "nor as a file" zip -f like x.ndz

# The output is a disk.
if [ "$(id -u)" = 0 ] && dev=$(losetup -f --show disk 2> /dev/null); then
	CLEANUP+=("losetup -d $dev")
	status 1 zip -r like.x "$dev"; check "a source that is not there" true
	head -c 5120 /dev/zero > src
	for out in "$dev" /dev/stdout -; do
		status 1 sh -c '"$1" -q -r src "$2" > "$3"' sh "$BIN/imagezip" "$out" "$dev"
		check "it says what it is" grep -q "is a disk, and an ndz image would overwrite its contents" stderr
	done
	status 1 "$BIN/imagerezip" v3.ndz "$dev"
	status 1 "$BIN/imagedelta" v3.ndz v5.ndz "$dev"
	status 1 "$BIN/imageunzip" -N v3.ndz "$dev"
	check "the disk is what it was" [ "$(sha256sum < "$dev")" = "$sum" ]
	check "--force writes it there" zip --force -r src "$dev"
	check "an image is there" "$BIN/imagedump" -q <(head -c 1M "$dev")
	status 1 zip "$dev" x.ndz; check "and is not captured as a disk" grep -q "is itself an image" stderr
else echo "no loop devices: left out"; fi
finish
