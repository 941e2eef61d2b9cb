#!/usr/bin/env bash
# Images made by Emulab's own imagezip install to the hashes that its own
# imageunzip left: to a new file, onto a device, with -z, into partitions.
. "$(dirname "$0")/lib.sh"
requires zstd tar sha256sum
[ -f "$GOLDEN/README.md" ] || { fail "the golden data is missing"; finish; }
zstd -q -d --long=28 -c "$GOLDEN/src/sources.tar.zst" | tar -C "$T" -xf - || fail "sources"

# Columns 2, 9, 10, 11, 12 of the table: name, hash of the image, out file, device, -z.
rows=$(grep -E '^\| [a-z0-9-]+ \| [a-z0-9.-]+ \| ' "$GOLDEN/README.md" | grep -v '^| image\|target-')
[ "$(printf '%s\n' "$rows" | wc -l)" = 13 ] || fail "the table has other rows than expected"
fits=
while IFS='|' read -r _ name _ _ magic _ _ _ _ sha out dev zero _; do
	name=${name// /} sha=${sha// /} zero=${zero// /}
	file=$GOLDEN/img/$name.ndz.zst
	[ "$name" = ext2-u ] && file=$GOLDEN/img/ext2.ndz.zst
	zstd -q -d -c "$file" > "$T/i.ndz" || fail "$name: no image"
	check "$name: the image itself" same_hash "$T/i.ndz" "$sha"
	check "$name: verifies" "$BIN/imagedump" -q --verify "$T/i.ndz"

	read -r size hash <<< "$out"
	check "$name: a new file" "$BIN/imageunzip" -q "$T/i.ndz" "$T/out"
	head -c "$size" "$T/out" > "$T/head"
	check "$name: its first $size bytes" same_hash "$T/head" "$hash"
	check "$name: the rest is a hole" cmp -s <(tail -c +$((size + 1)) "$T/out") \
	    <(head -c $(($(stat -c %s "$T/out") - size)) /dev/zero)
	"$BIN/imageunzip" -q "$T/i.ndz" - > "$T/pipe"
	check "$name: the same through a pipe" cmp -s "$T/out" "$T/pipe"
	cat "$T/i.ndz" | "$BIN/imageunzip" -q -j1 -n - "$T/pipe2"
	check "$name: and from a pipe, one thread" cmp -s "$T/out" "$T/pipe2"
	crc=$("$BIN/imageunzip" -q -C "$T/i.ndz")
	check "$name: -C" [ "$crc" = "$(python3 -c 'import sys,zlib; print("%08x" % zlib.crc32(open(sys.argv[1],"rb").read()))' "$T/out")" ]

	read -r size hash <<< "$dev"
	[ -n "$size" ] || continue
	size=${size%:}
	poison "$T/dev" "$size"
	check "$name: onto a device" "$BIN/imageunzip" -q --in-place "$T/i.ndz" "$T/dev"
	check "$name: its $size bytes" same_hash "$T/dev" "$hash"
	# A smaller device gets the same bytes, where all that is stored fits.
	smaller=$((size / 512 * 2 / 3 * 512)); mv "$T/dev" "$T/full"
	poison "$T/dev" $smaller
	if "$BIN/imageunzip" -q --in-place "$T/i.ndz" "$T/dev" 2> "$T/said"; then
		fits="$fits $name"
		check "$name: on $smaller bytes" cmp -n $smaller "$T/full" "$T/dev"
		[ "$name" = ext2-delta ] || check "... with a warning" \
			grep -q "warning: .* too small.* cannot be used" "$T/said"
	else check "$name: not on $smaller bytes" grep -q "too small" "$T/said"; fi
	poison "$T/dev" "$size"
	check "$name: -z" "$BIN/imageunzip" -q -z --in-place -W 1 "$T/i.ndz" "$T/dev"
	check "$name: zeroed" same_hash "$T/dev" "$zero"
done <<< "$rows"
check "some are installed on smaller devices, too:$fits" \
	[ "$fits" = " ext2 ext2-frag fat16 fat32 ufs1 ext2-u ext2-delta" ]

# Into partitions: image, target, partition, type, hash of the whole disk.
while read -r image target slice type hash; do
	zstd -q -d -c "$GOLDEN/img/$image.ndz.zst" > "$T/i.ndz"
	cp "$T/$target" "$T/disk"
	check "$image into $target, partition $slice" \
	    "$BIN/imageunzip" -q -s "$slice" -D "$type" "$T/i.ndz" "$T/disk"
	check "$image: the whole disk" same_hash "$T/disk" "$hash"
	grep -q "$hash" "$GOLDEN/README.md" || fail "that hash is not in the table"
done << ROWS
ext2 target-mbr.img 1 131 7c8877c42afa599361d43b6aee08e45f84a7ed1b2d045e8e9a8cd769d4a24ebf
fbsd-s1 target-mbr.img 2 165 3a42ffc81d45a2eeb0ebe723388d25656ee400d219a33ff864fd3f936dfa7cfb
ext2 target-gpt.img 2 131 606d0e325cbd7bb0f3d004ef170264457b241d1a02c97c64a29906050973c527
ROWS
# A type of MBR disks that GPT has no like of: a warning, and all but the type is as without -D.
zstd -q -d -c "$GOLDEN/img/ext2.ndz.zst" > "$T/i.ndz"
for type in 191 0xbf00; do
	cp "$T/target-gpt.img" "$T/disk"; cp "$T/target-gpt.img" "$T/plain"
	check "-D $type on a GPT disk" "$BIN/imageunzip" -q -s 2 -D $type "$T/i.ndz" "$T/disk" 2> "$T/stderr"
	check "warns" grep -q "warning: .*type of partition 2 is not changed" "$T/stderr"
	"$BIN/imageunzip" -q -s 2 "$T/i.ndz" "$T/plain" && cmp "$T/plain" "$T/disk" || fail "-D $type: the disk is another than without it"
done
finish
