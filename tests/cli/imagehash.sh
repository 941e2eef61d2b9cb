#!/usr/bin/env bash
# imagehash: same or not, and where; signatures made, reported and checked.
# imagerezip: the same image in other clothes.
. "$(dirname "$0")/lib.sh"
requires python3 zstd tar
zstd -q -d --long=28 -c "$GOLDEN/src/sources.tar.zst" | tar -C "$T" -xf - ext2.img odd.file mbr.img || fail "sources"
names=$(cd "$GOLDEN/img" && ls ./*.ndz.zst)
for f in $names; do zstd -q -d -c "$GOLDEN/img/$f" > "$T/$(basename "$f" .zst)"; done

check "same" "$BIN/imagehash" "$T/ext2.ndz" "$T/ext2.img"
check "same, by its signature" "$BIN/imagehash" "$GOLDEN/img/ext2.sig" "$T/ext2.img"
check "same, a disk" "$BIN/imagehash" "$T/mbr.ndz" "$T/mbr.img"
cp "$T/ext2.img" "$T/bad"
for sector in 130 300 383; do printf '\001' | dd of="$T/bad" bs=1 seek=$((sector * 512 + 7)) conv=notrunc status=none; done
printf '\001' | dd of="$T/bad" bs=1 seek=$((20000 * 512)) conv=notrunc status=none	# free: nobody minds
"$BIN/imagehash" "$T/ext2.ndz" "$T/bad" > "$T/out"; check "exit 4" [ $? = 4 ]
check "where" cmp "$T/out" - << END
sectors 128-255 differ
sectors 256-383 differ
$T/bad: 2 of 14 blocks differ from $T/ext2.ndz
END
"$BIN/imagehash" -X "$T/ext2.ndz" "$T/bad" > "$T/out"; check "-X merges" grep -q '^sectors 128-383 differ$' "$T/out"
"$BIN/imagehash" -b 512 --json "$T/ext2.ndz" "$T/bad" > "$T/out"; check "-b 512: to the sector" [ "$(json -1 "$T/out" "ranges[*].first_sector" same)" = "130 300 383 false" ]
truncate -s 100k "$T/bad"; 
"$BIN/imagehash" -q "$T/ext2.ndz" "$T/bad"; check "a short disk differs" [ $? = 4 ]
status 1 "$BIN/imagehash" "$T/odd-f.ndz" "$T/odd.file"
check "-r" "$BIN/imagehash" -r "$T/odd-f.ndz" "$T/odd.file"
status 1 "$BIN/imagehash" -s 7 "$T/ext2.ndz" "$T/mbr.img"
"$BIN/imagezip" -q "$T/mbr.img" "$T/disk.ndz" 2> "$T/out" || fail "imagezip: $(cat "$T/out")"
status 1 "$BIN/imagehash" -s 1 "$T/disk.ndz" "$T/mbr.img"
check "a whole disk is not compared with a partition" grep -q "disk.ndz: is the image of a whole disk, .* without -s" "$T/stderr"
"$BIN/imagekey" -q --encrypt-key "$T/key" && "$BIN/imagezip" -q --encrypt "$T/key" "$T/mbr.img" "$T/secret.ndz" 2> "$T/out" || fail "imagezip: $(cat "$T/out")"
status 1 "$BIN/imagehash" "$T/secret.ndz" "$T/mbr.img"
check "who decrypts is said: $(cat "$T/stderr")" grep -q "is encrypted; .*imagerezip --decrypt=KEYFILE" "$T/stderr"
check "which helps" "$BIN/imagerezip" -q --decrypt "$T/key" "$T/secret.ndz" "$T/open.ndz"
check "and is compared" "$BIN/imagehash" "$T/open.ndz" "$T/mbr.img"
rm "$T/secret.ndz" "$T/open.ndz" "$T/disk.ndz"
status 1 "$BIN/imagehash" "$T/none" "$T/mbr.img"

check "-c" "$BIN/imagehash" -c "$T/ext2.ndz"
check "-S" quietly "$BIN/imagehash" -S "$T/ext2.ndz"
check "-S of a signature" quietly "$BIN/imagehash" -S "$T/ext2.ndz.sig"
check "-R" [ "$("$BIN/imagehash" -R --json "$T/ext2.ndz.sig" | json -1 - hash_algorithm records sectors "record_list[0].hash")" = "sha1 14 1776 10b2d340eabe973fb2abfcedb45a93cfc828b83a" ]
check "-R of an image" cmp <("$BIN/imagehash" -R "$T/ext2.ndz") <("$BIN/imagehash" -R "$T/ext2.ndz.sig")
check "-R -X" grep -q '^0-1775$' <("$BIN/imagehash" -R -X "$T/ext2.ndz.sig")
check "-D md5" [ "$("$BIN/imagehash" -R -D md5 --json "$T/ext2.ndz" | json - "record_list[0].hash")" = "$(head -c 65536 "$T/ext2.img" | md5sum | cut -d' ' -f1)" ]
check "-c -o" "$BIN/imagehash" -c -D md5 -b 4k -o "$T/m.sig" "$T/ext2.ndz"
check "md5 compares" quietly "$BIN/imagehash" "$T/m.sig" "$T/ext2.img"
status 3 "$BIN/imagehash" -S -o "$T/m.sig" "$T/mbr.ndz"
cp "$T/ext2.ndz.sig" "$T/s"
printf '\377' | dd of="$T/s" bs=1 seek=100 conv=notrunc status=none; status 3 "$BIN/imagehash" -S -o "$T/s" "$T/ext2.ndz"
printf '.ndzsig\0\30\6\24\40\2\0\0\0\0\0\0\0\200\0\0\0\0\0\0\0\0\0\0\0' > "$T/s"
status 3 "$BIN/imagehash" -S -o "$T/s" "$T/ext2.ndz"
check "it is said to be empty" grep -q "has no record of any block" "$T/stderr"
for cut in 8 31 33 479; do head -c $cut "$T/ext2.ndz.sig" > "$T/s"; status 3 "$BIN/imagehash" -S "$T/s"; done
check "the chunks of a large image are counted" [ "$("$BIN/imagehash" -R --json "$T/mbr.ndz" | json - "record_list[*].chunk" | sort -nu | tr '\n' ' ')" = "0 1 2 " ]

# imagerezip: what it installs and what relocates stays the same.
facts() { "$BIN/imagedump" --json -dd "$1" | json - "[0].chunk_list[*].relocations[*].type,sector,offset_bytes,bytes" "[0].sectors,data_bytes"; }
for f in "$T"/*.ndz; do
	name=$(basename "$f" .ndz)
	for how in -3 -5 "-u 00112233445566778899aabbccddeeff -z 9" "-z 0 -j 1"; do
		# shellcheck disable=SC2086
		check "$name $how" "$BIN/imagerezip" -q $how "$f" "$T/new"
		check "$name $how: verifies" "$BIN/imagedump" -q --verify "$T/new"
		check "$name $how: installs the same" [ "$("$BIN/imageunzip" -q -C "$f")" = "$("$BIN/imageunzip" -q -C "$T/new")" ]
		check "$name $how: describes the same" [ "$(facts "$f")" = "$(facts "$T/new")" ]
	done
done
check "-u" [ "$("$BIN/imagerezip" -q -u 00112233445566778899aabbccddeeff "$T/mbr.ndz" "$T/new"; "$BIN/imagedump" --json "$T/new" | json - "[0].uuid,version")" = 00112233445566778899aabbccddeeff:5 ]
check "a UUID of the user's stays" [ "$("$BIN/imagerezip" -q "$T/new" "$T/new2"; "$BIN/imagedump" --json "$T/new2" | json - "[0].uuid,version")" = 00112233445566778899aabbccddeeff:5 ]
check "to a pipe" cmp <("$BIN/imagerezip" -q "$T/mbr.ndz" - | "$BIN/imageunzip" -q - -) <("$BIN/imageunzip" -q "$T/mbr.ndz" -)
check "strict readers take it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/new2" "$T/strict" "$(stat -c %s "$T/mbr.img")"
"$BIN/imagedelta" -q "$T/ext2.ndz" "$T/ext2.ndz" "$T/d.ndz"; "$BIN/imagerezip" -q -5 "$T/d.ndz" "$T/d5.ndz"; "$BIN/imagerezip" -q "$T/ext2.ndz" "$T/e2.ndz"
check "a delta stays one" [ "$("$BIN/imagedump" --json "$T/d5.ndz" | json - "[0].delta")" = true ]
check "and fits its base, written again" "$BIN/imagedelta" -q --onto "$T/e2.ndz" "$T/d5.ndz" "$T/w.ndz"
head -c 1048576 "$T/mbr.ndz" > "$T/cut.ndz"; printf '\001' | dd of="$T/cut.ndz" bs=1 seek=50000 conv=notrunc status=none
status 3 "$BIN/imagerezip" -q "$T/cut.ndz" "$T/x"
status 3 "$BIN/imagehash" -R "$T/cut.ndz"
check "nothing is left" [ -z "$(ls "$T"/x* 2> /dev/null)" ]
finish
