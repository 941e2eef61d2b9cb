#!/usr/bin/env bash
# imageunzip --only: partitions out of the image of a disk; everything else of the target stays, to the byte.
. "$(dirname "$0")/lib.sh"
. "$TOP/tests/cli/only_lib.sh"
requires python3 mke2fs sfdisk sgdisk strace
says() { check "it says: $1" grep -q -- "$1" "$T/stderr"; }
untouched() { check "it is untouched" cmp "$T/before" "$T/t"; }
only() {	# N OPTIONS...: of $T/disk.ndz into $T/t, as it was before
	local n=$1; shift
	cp "$T/before" "$T/t"; check "--only $n $*" "$BIN/imageunzip" -q --only "$n" "$@" "$T/disk.ndz" "$T/t"
}
only_disk
whole "$T/disk.ndz"

echo "== primary and logical partitions, one and more"
for n in 1 2 3 5 6 1,6 6,2,5; do only $n; expect "$T/t" $n; done
check "no mark is left" "$BIN/imageunzip" -q --status -s 6 "$T/t"
cp "$T/before" "$T/t"
python3 - "$T/t" ${AT[5]} << 'PY'
import struct, sys, zlib
b = bytearray(512); b[0:16] = b"NDZ unfinished\n\0"
struct.pack_into("<II", b, 16, 1, zlib.crc32(bytes(b[24:])))
with open(sys.argv[1], "r+b") as f: f.seek(int(sys.argv[2]) * 512); f.write(b)
PY
for how in "-s 5" "--only 5" "--only 2 -s 5"; do status 1 "$BIN/imageunzip" --status $how "$T/t"; says "is not complete"; done
status 0 "$BIN/imageunzip" --status --only 5 -s 2 "$T/t"
cp "$T/before" "$T/t"; "$BIN/imageunzip" -q --only 2,5 - "$T/t" < "$T/disk.ndz"; expect "$T/t" 2,5	# a pipe
"$BIN/emustore" -q --store "$T/store" init 2> "$T/quiet"; "$BIN/emustore" -q --store "$T/store" put disk "$T/disk.ndz" 2> "$T/quiet" || fail "emustore: $(cat "$T/quiet")"
cp "$T/before" "$T/t"; check "out of a store" "$BIN/imageunzip" -q --store "$T/store" --only 6 disk "$T/t"; expect "$T/t" 6
"$BIN/imagerezip" -q --codec=zstd "$T/disk.ndz" "$T/z.ndz"
cp "$T/before" "$T/t"; check "zstd" "$BIN/imageunzip" -q --only 2 "$T/z.ndz" "$T/t"; expect "$T/t" 2

echo "== what else is done stays inside"
only 5 --read-back; expect "$T/t" 5
only 2 -n; expect "$T/t" 2
cp "$T/t" "$T/after"; check "--skip-same writes nothing then" [ "$("$BIN/imageunzip" --json --skip-same --only 2 "$T/disk.ndz" "$T/t" | json - bytes_written)" = 0 ]
check "and nothing has changed" cmp "$T/after" "$T/t"
printf x | dd of="$T/t" bs=512 seek=$((AT[2] + 2)) conv=notrunc status=none
"$BIN/imageunzip" -q --skip-same --only 2 "$T/disk.ndz" "$T/t"; check "--skip-same mends what differs" cmp "$T/after" "$T/t"
cp "$T/whole" "$T/kept"; cp "$T/before" "$T/whole"; "$BIN/imageunzip" -q --in-place -z "$T/disk.ndz" "$T/whole"
only 5 -z; expect "$T/t" 5
only 1 -z --read-back; expect "$T/t" 1
mv "$T/kept" "$T/whole"
# An old signature at the end of a larger partition goes; one in its neighbour does not.
cp "$T/before" "$T/t"; for n in 2 5; do truncate -s 64K "$T/swap"; mkswap -q "$T/swap" > /dev/null 2>&1; sectors "$T/swap" 0 8 | put /dev/stdin "$T/t" $((AT[$n])); done
cp "$T/t" "$T/before2"
"$BIN/imageunzip" --only 5 "$T/disk.ndz" "$T/t" 2> "$T/stderr"
check "its neighbour's signature stays" cmp <(sectors "$T/before2" ${AT[2]} ${LEN[2]}) <(sectors "$T/t" ${AT[2]} ${LEN[2]})
check "its type is set (-D)" sh -c "'$BIN/imageunzip' -q --only 6 -D 7 '$T/disk.ndz' '$T/t' && sfdisk -d '$T/t' | grep -q 'start= *${AT[6]}.*type=7'"

echo "== into another partition: larger, smaller"
only 1 -s 5; expect "$T/t" 1 5
only 5 -s 6; expect "$T/t" 5 6
cp "$T/before" "$T/t"
status 1 "$BIN/imageunzip" -q --only 6 -s 3 "$T/disk.ndz" "$T/t"
says "partition 3 is too small: it has 4096 sectors .*, and the ext4 filesystem of partition 6"
untouched
status 1 "$BIN/imageunzip" -q --force --only 6 -s 3 "$T/disk.ndz" "$T/t"
says "too small: it has 2.1 MB, and partition 6 of the image stores something as far as"
untouched
status 1 sh -c "exec '$BIN/imageunzip' -q --only 6 -s 3 - '$T/t' < '$T/disk.ndz'"; says "the image must be a file, not a pipe"; untouched
# Only its first 2 MB are used: partition 3, which is smaller, has room for that.
truncate -s $DISK_BYTES "$T/roomy"; sfdisk -q "$T/roomy" <<< "$TABLE" 2> "$T/quiet"
small_fs "$T/fs" 4096 300000; put "$T/fs" "$T/roomy" ${AT[6]}
"$BIN/imagezip" -q -R 1 "$T/roomy" "$T/roomy.ndz" 2> "$T/quiet"
cp "$T/before" "$T/t"; "$BIN/imageunzip" -q -x "$T/roomy.ndz" "$T/t" 2> "$T/quiet"
"$BIN/imagezip" -q -x "$T/roomy" "$T/roomy.ndz" 2> "$T/quiet"
cp "$T/before" "$T/t"; check "what fits into a smaller one" "$BIN/imageunzip" -q --only 6 -s 3 "$T/roomy.ndz" "$T/t"
check "is right there" quietly sh -c "dd if='$T/t' bs=512 skip=${AT[3]} count=4096 status=none > '$T/fs' && e2fsck -fn '$T/fs'"
check "and nothing behind it changed" cmp <(sectors "$T/before" $((AT[3] + 4096)) 50000) <(sectors "$T/t" $((AT[3] + 4096)) 50000)

echo "== refused"
cp "$T/before" "$T/t"
for n in 4 7; do status 1 "$BIN/imageunzip" -q --only $n -s 1 "$T/disk.ndz" "$T/t"; says "the image has no partition $n: it has partitions 1, 2, 3, 5, 6"; done
status 1 "$BIN/imageunzip" -q --only 1,7 "$T/disk.ndz" "$T/t"; says "has no partition 7: it has partitions 1, 2, 3, 5, 6"
status 1 sh -c "exec '$BIN/imageunzip' -q --only 9 -s 1 - '$T/t' < '$T/disk.ndz'"; says "has no partition 9: it has"
poison "$T/plain" 2000000; status 1 "$BIN/imageunzip" -q --only 1 "$T/disk.ndz" "$T/plain"; says "has no partition table"
"$BIN/imagezip" -q -s 1 "$T/disk" "$T/p.ndz"; status 1 "$BIN/imageunzip" -q --only 1 "$T/p.ndz" "$T/t"; says "made from a single partition"
"$BIN/imagezip" -q -f "$T/plain" "$T/p.ndz"; status 1 "$BIN/imageunzip" -q --only 1 "$T/p.ndz" "$T/t"; says "made from a file"
"$BIN/imagezip" -q -I 2 -I 5 "$T/disk" "$T/left.ndz" 2> "$T/quiet"
for n in 2 5; do status 1 "$BIN/imageunzip" -q -z --only $n "$T/left.ndz" "$T/t"; says "partition $n was left out .*: it has partitions 1, 3, 6"; done
untouched
cp "$T/left.ndz" "$T/disk.ndz.was"; cp "$T/before" "$T/t"
check "the others of it can be had" "$BIN/imageunzip" -q --only 6 "$T/left.ndz" "$T/t"; expect "$T/t" 6

echo "== a GPT"
truncate -s $DISK_BYTES "$T/gdisk"; sgdisk -a 1 -n 1:2048:18431 -n 2:18432:34432 -n 3:34433:38528 "$T/gdisk" > "$T/quiet"
for n in 1 2 3; do sectors "$T/disk" ${AT[$n]} ${LEN[$n]} | put /dev/stdin "$T/gdisk" ${AT[$n]}; done
"$BIN/imagezip" -q "$T/gdisk" "$T/g.ndz" 2> "$T/quiet"
cp "$T/before" "$T/mbr"
poison "$T/before" $((DISK_BYTES + 5000192)); sgdisk -o -a 1 -n 1:2048:18431 -n 2:18432:34432 -n 3:34433:38528 "$T/before" > "$T/quiet"
cp "$T/before" "$T/whole"; "$BIN/imageunzip" -q --in-place "$T/g.ndz" "$T/whole"
for n in 1 2 3,1; do cp "$T/before" "$T/t"; check "--only $n" "$BIN/imageunzip" -q --only $n "$T/g.ndz" "$T/t"; expect "$T/t" $n; done
status 1 "$BIN/imageunzip" -q --only 5 -s 1 "$T/g.ndz" "$T/t"; says "has partitions 1, 2, 3"
cp "$T/mbr" "$T/before"; cp "$T/mbr" "$T/t"; check "into a logical one of an MBR" "$BIN/imageunzip" -q --only 1 -s 6 "$T/g.ndz" "$T/t"
expect "$T/t" 1 6

echo "== only what is needed is read of a file"
small_fs "$T/fs" 30000 12000000; put "$T/fs" "$T/disk" ${AT[6]}	# most of the image is not wanted
"$BIN/imagezip" -q -z 1 "$T/disk" "$T/big.ndz"
bytes_read() {	# N: of the image
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -f -y -e trace=pread64,read -o "$T/trace" "$BIN/imageunzip" -q --only $1 "$T/big.ndz" "$T/t"
	grep -F "<$T/big.ndz>" "$T/trace" | grep -v 'resumed>' | sed -n 's/.*= \([0-9]*\)$/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}
all=$(stat -c %s "$T/big.ndz") chunks=$(($(stat -c %s "$T/big.ndz") >> 20))
for n in 3 1; do
	cp "$T/before" "$T/t"; got=$(bytes_read $n)
	have=$("$BIN/imagedump" --json --only $n "$T/big.ndz" | json - '[0].only[0].chunks')
	# The first chunk and the last are read when the image is opened, the first once more to see what it is and for its table.
	check "--only $n reads $got bytes of $all: $have chunks of $chunks, and the two at the ends" \
	    [ "$got" -gt 0 -a "$got" -le $(((have + 6 << 20) + chunks * 16384)) -a "$got" -lt $((all * 2 / 3)) ]
done
finish
