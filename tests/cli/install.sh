#!/usr/bin/env bash
# The ways to install: a mark until the end, going on after a kill at any write,
# only what differs, read back, discarded, a write that fails once.
. "$(dirname "$0")/lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
requires python3

# A disk of 24 MB: noise, text, zeros inside, and gaps of free space.
python3 - "$T/src" << 'PY'
import random, sys
r = random.Random(11)
with open(sys.argv[1], "wb") as f:
    for i in range(24):
        f.write(r.randbytes(300000) + b"words and more words " * 20000 + bytes(328576 - 20000 * 21 + 300000 + 120000))
    f.truncate(24 << 20)
PY
"$BIN/imagezip" -q -r "$T/src" "$T/img.ndz" || fail "imagezip"
chunks=$(($(stat -c %s "$T/img.ndz") >> 20))
[ $chunks -gt 6 ] || fail "only $chunks chunks"
faulty() { local fault=$1; shift; env FAULT="$fault" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$@"; }
stat_of() { json "$T/json" "$1"; }
fresh_target() { poison "$T/disk" $((25 << 20)); }
right() { cmp -n $((24 << 20)) "$T/src" "$T/disk"; }

echo "== the mark"
fresh_target
status 0 "$BIN/imageunzip" --status "$T/disk"
( faulty "pwrite:6:kill:$T/disk" "$BIN/imageunzip" -q --in-place "$T/img.ndz" "$T/disk" ) 2> /dev/null
check "the fault came" [ -e "$T/fired" ]
status 1 "$BIN/imageunzip" --status "$T/disk"
check "it says what it is" grep -q "is not complete" "$T/stderr"
"$BIN/imageunzip" --status --json "$T/disk" > "$T/json" 2> /dev/null
check "as JSON, too" json "$T/json" unfinished=true "uuid[#]=32"
check "the next run completes it" "$BIN/imageunzip" -q --in-place "$T/img.ndz" "$T/disk"
check "the disk is right" right
status 0 "$BIN/imageunzip" --status "$T/disk"

echo "== killed at every write, then gone on with"
n=1 resumed=0 again=0
while :; do
	rm -f "$T/fired" "$T/state"; fresh_target
	( faulty "pwrite:$n:kill:$T/disk" "$BIN/imageunzip" -q --state "$T/state" --state-interval 0 --in-place "$T/img.ndz" "$T/disk" ) 2> /dev/null
	[ -e "$T/fired" ] || break
	"$BIN/imageunzip" --json --state "$T/state" --in-place "$T/img.ndz" "$T/disk" > "$T/json" 2> "$T/said" || fail "write $n: it cannot be gone on with: $(cat "$T/said")"
	right > /dev/null || fail "write $n: wrong disk"
	[ "$(stat_of bytes_covered)" = $((24 << 20)) ] || fail "write $n: $(stat_of bytes_covered) bytes answered for: not each sector once"
	there=$((chunks - $(stat_of chunks)))
	[ $there = 0 ] || grep -q "^imageunzip: $there of the $chunks chunks are on the target already" "$T/said" || fail "write $n: $there chunks were there: $(cat "$T/said")"
	[ ! -e "$T/state" ] || fail "write $n: the state is left"
	[ $there -gt 0 ] && resumed=$((resumed + 1))
	again=$((again + 1)); n=$((n + (n < 6 ? 1 : 4)))
done
check "$again kills, $resumed of them with chunks that were not installed twice" [ $resumed -gt 1 ]
for op in fsync:1 fsync:2 fsync:7; do	# of the state itself, and of the disk
	for path in "$T/state" "$T/disk"; do
		rm -f "$T/fired" "$T/state"; fresh_target
		( faulty "$op:kill:$path" "$BIN/imageunzip" -q --state "$T/state" --state-interval 0 --in-place "$T/img.ndz" "$T/disk" ) 2> /dev/null
		"$BIN/imageunzip" -q --state "$T/state" --in-place "$T/img.ndz" "$T/disk" || fail "$op of $(basename "$path")"
		right > /dev/null || fail "$op of $(basename "$path"): wrong disk"
	done
done
for n in 1 2 3 6; do	# a state that is torn
	rm -f "$T/fired" "$T/state" "$T/out"
	( faulty "pwrite:$n:kill:$T/state" "$BIN/imageunzip" -q --state "$T/state" --state-interval 0 "$T/img.ndz" "$T/out" ) 2> /dev/null
	"$BIN/imageunzip" -q --state "$T/state" "$T/img.ndz" "$T/out" || fail "state write $n"
	cmp "$T/src" "$T/out" || fail "state write $n: wrong file"
done

echo "== a state of something else"
interrupted() {	# a disk with some chunks, and its state
	rm -f "$T/state"; fresh_target
	( faulty "pwrite:34:kill:$T/disk" "$BIN/imageunzip" -q -j1 --state "$T/state" --state-interval 0 --in-place "$T/img.ndz" "$T/disk" ) 2> /dev/null
}
interrupted
poison "$T/other" $((25 << 20))
status 1 "$BIN/imageunzip" -q --state "$T/state" --in-place "$T/img.ndz" "$T/other"
check "another disk is untouched" cmp -s <(head -c 4096 "$T/other") <(head -c 4096 /dev/zero | tr '\0' '\245')
head -c 9000448 "$T/src" > "$T/src2"; "$BIN/imagezip" -q -r "$T/src2" "$T/img2.ndz"
cp "$T/disk" "$T/before"
status 1 "$BIN/imageunzip" -q --state "$T/state" --in-place "$T/img2.ndz" "$T/disk"
check "and so is this one with another image" cmp "$T/before" "$T/disk"
head -c 100 /dev/urandom > "$T/junk"
status 3 "$BIN/imageunzip" -q --state "$T/junk" --in-place "$T/img.ndz" "$T/disk"
status 2 sh -c "'$BIN/imageunzip' -q --state '$T/state' - '$T/disk' < '$T/img.ndz'"

rm -f "$T/state"
for how in "$T/img.ndz -" "$T/img.ndz $T" "$T/nothing $T/out2"; do
	"$BIN/imageunzip" -q --state "$T/state" $how > /dev/null 2> "$T/stderr"
	check "exit $?, no state is left behind: $(cat "$T/stderr")" [ ! -e "$T/state" ]
done
"$BIN/imageunzip" -q --state "$T/state" --in-place "$T/img.ndz" "$T/src2" 2> "$T/stderr"
check "nor of a disk that is too small: $(cat "$T/stderr")" [ ! -e "$T/state" ]
: > "$T/empty"; "$BIN/imageunzip" -q --state "$T/empty" "$T/img.ndz" - > /dev/null 2>&1
check "an empty file that was there stays" [ -e "$T/empty" ]
cp "$T/other" "$T/before"; ln -s other "$T/link"
status 2 "$BIN/imageunzip" -q --state "$T/link" "$T/img.ndz" "$T/other"
check "the state is no target, by another name either" cmp "$T/before" "$T/other"

echo "== what is printed beside the data"
is_json() { json "$1" "$2" > /dev/null; }
for out in - /dev/stdout; do
	"$BIN/imageunzip" --json "$T/img.ndz" $out 2> "$T/json" | cmp - "$T/src" || fail "--json $out: wrong data"
	check "--json goes to standard error with the data in a pipe, $out" is_json "$T/json" bytes_written
done
"$BIN/imageunzip" --json "$T/img.ndz" "$T/out" > "$T/json" 2> /dev/null
check "and else to standard output" is_json "$T/json" bytes_written
"$BIN/imageunzip" --json -C "$T/img.ndz" > "$T/json" 2> /dev/null
check "the CRC is part of it" is_json "$T/json" crc32
recorder=${B:-$TOP/build/plain}/tests/preload/recorder.so
if ! instrumented && [ -e "$recorder" ]; then
	mkdir "$T/folder"
	RECORD=$T/record RECORD_ROOT=$T/folder LD_PRELOAD=$recorder "$BIN/imageunzip" -q -N "$T/img.ndz" "$T/folder/copy"
	check "-N: a copy" cmp "$T/img.ndz" "$T/folder/copy"
	check "its name is flushed" grep -aqx "sync 0 0 $T/folder" "$T/record"
fi

echo "== only what differs"
fresh_target; "$BIN/imageunzip" -q --in-place "$T/img.ndz" "$T/disk"
same() { "$BIN/imageunzip" --json --skip-same "$@" "$T/img.ndz" "$T/disk" > "$T/json" && right; }
check "nothing differs" same
check "nothing is written" [ "$(stat_of bytes_written)" = 0 ]
for at in 0 4097 5000000 25165823; do printf 'X' | dd of="$T/disk" bs=1 seek=$at conv=notrunc status=none; done
check "four bytes differ" same
check "little is written: $(stat_of bytes_written) bytes" [ "$(stat_of bytes_written)" -le 1048576 ]
fresh_target; check "all differs" same
zstd -q -d -c "$GOLDEN/img/ext2.ndz.zst" > "$T/ext2.ndz"	# without fragments
poison "$T/disk2" $((64 << 20)); "$BIN/imageunzip" -q --in-place "$T/ext2.ndz" "$T/disk2"; cp "$T/disk2" "$T/want"
"$BIN/imageunzip" --json --skip-same "$T/ext2.ndz" "$T/disk2" > "$T/json"
check "an image without fragments, too" [ "$(stat_of bytes_written)" = 0 ]
printf 'X' | dd of="$T/disk2" bs=1 seek=1030 conv=notrunc status=none
check "and what differs is mended" sh -c "'$BIN/imageunzip' -q --skip-same '$T/ext2.ndz' '$T/disk2' && cmp '$T/want' '$T/disk2'"

# A file whose last sector is short, onto files of the same length.
head -c 433411 "$T/src" > "$T/odd"; "$BIN/imagezip" -q -f "$T/odd" "$T/odd.ndz" || fail "imagezip"
for how in --skip-same --in-place "--in-place --read-back"; do
	poison "$T/odd2" 433411
	check "a file of odd length, $how" "$BIN/imageunzip" -q $how "$T/odd.ndz" "$T/odd2"
	check "is right" cmp "$T/odd" "$T/odd2"
done
check "onto the same, only the piece with its end is written" [ "$("$BIN/imageunzip" --json --skip-same "$T/odd.ndz" "$T/odd2" | json - bytes_written)" -lt 65536 ]
check "a rehearsal knows it, too" quietly "$BIN/imageunzip" --dry-run --skip-same "$T/odd.ndz" "$T/odd2"
for bytes in 433410 433152; do
	poison "$T/odd2" $bytes; cp "$T/odd2" "$T/odd3"
	status 1 "$BIN/imageunzip" -q --in-place "$T/odd.ndz" "$T/odd2"
	check "it is not longer: one of $bytes bytes is refused" cmp "$T/odd2" "$T/odd3"
done

echo "== read back"
fresh_target; check "a good disk" "$BIN/imageunzip" -q --read-back --in-place "$T/img.ndz" "$T/disk"; check "is right" right
fresh_target; rm -f "$T/fired"
check "a write that went astray is repeated" faulty "pwrite:5:astray:$T/disk" "$BIN/imageunzip" -q --read-back --in-place "$T/img.ndz" "$T/disk"
check "the fault came, and the disk is right" sh -c "[ -e '$T/fired' ] && cmp -n $((24 << 20)) '$T/src' '$T/disk'"
fresh_target
status 1 faulty "pwrite:5:lost:$T/disk" "$BIN/imageunzip" -q --read-back --in-place "$T/img.ndz" "$T/disk"
check "a disk that loses writes is found out" grep -q "read back" "$T/stderr"

head -c 1M "$T/src" > "$T/zeros"; truncate -s 4M "$T/zeros"
"$BIN/imagezip" -q -r "$T/zeros" "$T/zeros.ndz" || fail "imagezip"
for how in "" -n; do
	rm -f "$T/new"
	check "a new file that ends with zeros $how" "$BIN/imageunzip" -q --read-back $how "$T/zeros.ndz" "$T/new"
	check "is right" cmp "$T/zeros" "$T/new"
done

echo "== a write that fails once"
fresh_target; rm -f "$T/fired"
check "is repeated" faulty "pwrite:5:eio:$T/disk" "$BIN/imageunzip" -q --in-place "$T/img.ndz" "$T/disk"
check "the disk is right" right

echo "== free space"
truncate -s 8M "$T/fs"; mke2fs -q -F "$T/fs"; "$BIN/imagezip" -q "$T/fs" "$T/fs.ndz"
poison "$T/disk3" $((8 << 20)); blocks=$(stat -c %b "$T/disk3")
check "discarded" "$BIN/imageunzip" -q --discard --in-place "$T/fs.ndz" "$T/disk3"
check "the file has holes now" [ "$(stat -c %b "$T/disk3")" -lt $((blocks / 2)) ]
check "the filesystem is whole" quietly e2fsck -fn "$T/disk3"

echo "== what was there before"
requires sgdisk sfdisk
truncate -s 8M "$T/fs"; poison "$T/disk4" $((20 << 20))
# An old GPT with its backup.
sgdisk -o -n 1:2048:30000 "$T/disk4" > /dev/null 2>&1
printf 'LABELONE' | dd of="$T/disk4" bs=1 seek=512 conv=notrunc status=none
cp "$T/disk4" "$T/disk5"
"$BIN/imageunzip" --json --force --in-place "$T/fs.ndz" "$T/disk4" > "$T/json" 2> "$T/said"
check "old signatures are wiped: $(grep -c wiped "$T/said")" [ "$(stat_of stale_signatures_wiped)" -ge 1 ]
check "the old backup GPT among them" grep -q "backup GPT at sector 40959" "$T/said"
check "it is gone" sh -c "! tail -c 512 '$T/disk4' | grep -q 'EFI PART'"
head -c 8388608 "$T/disk4" > "$T/fs4"; check "the filesystem is whole" quietly e2fsck -fn "$T/fs4"
blkid -p "$T/disk4" > "$T/blkid" 2>&1; check "the disk is one thing: $(cat "$T/blkid")" grep -q 'TYPE="ext' "$T/blkid"
"$BIN/imageunzip" --json --force --keep-stale --in-place "$T/fs.ndz" "$T/disk5" > "$T/json" 2> "$T/said"
check "--keep-stale keeps them" sh -c "tail -c 512 '$T/disk5' | grep -q 'EFI PART'"
if command -v mkfs.btrfs > /dev/null; then	# its superblock is where the new filesystem has nothing
	truncate -s 120M "$T/disk6"; mkfs.btrfs -q "$T/disk6"
	truncate -s 8M "$T/fs6"; mke2fs -q -F -N 16 "$T/fs6"; "$BIN/imagezip" -q "$T/fs6" "$T/fs6.ndz"
	"$BIN/imageunzip" --in-place "$T/fs6.ndz" "$T/disk6" 2> "$T/said"
	check "an old btrfs" grep -q "btrfs at sector 128" "$T/said"
	blkid -p "$T/disk6" > "$T/blkid" 2>&1; check "is not seen any more" grep -q 'TYPE="ext' "$T/blkid"
fi

echo "== a larger disk"
truncate -s 16M "$T/gpt"; sgdisk -o -n 1:2048:10239 -n 2:10240:20479 "$T/gpt" > /dev/null 2>&1
"$BIN/imagezip" -q "$T/gpt" "$T/gpt.ndz" 2> /dev/null || fail "imagezip gpt"
truncate -s 64M "$T/big"; "$BIN/imageunzip" -q --in-place --fix-gpt "$T/gpt.ndz" "$T/big"
check "sgdisk finds nothing to say" quietly sh -c "sgdisk -v '$T/big' | grep -q 'No problems found'"
check "one backup, at the end" [ "$(grep -c 'EFI PART' <(tail -c 512 "$T/big"))" = 1 ]
truncate -s 64M "$T/big2"; "$BIN/imageunzip" --in-place --grow "$T/gpt.ndz" "$T/big2" 2> "$T/said"
check "sgdisk finds nothing to say" quietly sh -c "sgdisk -v '$T/big2' | grep -q 'No problems found'"
check "the last partition grew" [ "$(sfdisk -J "$T/big2" | json - 'partitiontable.partitions[1].size')" -gt 110000 ]
check "it says so" grep -q "partition 2 grew from 10240 sectors" "$T/said"
# Small boards have a boot loader behind the header, and the array behind that.
cp "$T/gpt" "$T/board"; sgdisk -j 1024 "$T/board" > /dev/null 2>&1
dd if=/dev/urandom of="$T/board" bs=512 seek=2 count=1000 conv=notrunc status=none
"$BIN/imagezip" -q "$T/board" "$T/board.ndz" 2> /dev/null || fail "imagezip board"
array_of() { od -An -tu8 -j $((512 + 72)) -N 8 "$1" | tr -d ' '; }
parts_of() { sfdisk -J "$1" 2> /dev/null | json -1 - "partitiontable.partitions[*].start,size"; }
truncate -s 64M "$T/big9"; check "--fix-gpt with a boot loader behind the header" quietly "$BIN/imageunzip" -q --in-place --fix-gpt "$T/board.ndz" "$T/big9"
check "the array is in sector $(array_of "$T/board"), as before" [ "$(array_of "$T/board") $(array_of "$T/big9")" = "1024 1024" ]
check "the boot loader is the same" cmp -i 1024 -n $((1000 * 512)) "$T/board" "$T/big9"
check "the partitions are: $(parts_of "$T/big9")" [ "$(parts_of "$T/big9")" = "2048:8192 10240:10240" ]
check "one backup, at the end" [ "$(grep -c 'EFI PART' <(tail -c 512 "$T/big9"))" = 1 ]
# An array behind the partitions is refused, although only the beginning of the image is known before anything is written.
cp "$T/gpt" "$T/behind"
python3 - "$T/behind" << 'PY'
import struct, sys, zlib
with open(sys.argv[1], "r+b") as f:
    d = f.read(34 * 512)
    h = bytearray(d[512:604])
    struct.pack_into("<Q", h, 48, 20999)	# the last usable sector
    struct.pack_into("<Q", h, 72, 21504)	# the array
    struct.pack_into("<I", h, 16, 0); struct.pack_into("<I", h, 16, zlib.crc32(h))
    f.seek(512); f.write(h)
    f.seek(21504 * 512); f.write(d[1024:])
PY
"$BIN/imagezip" -q "$T/behind" "$T/behind.ndz" 2> /dev/null || fail "imagezip behind"
truncate -s 64M "$T/big10"; status 1 "$BIN/imageunzip" -q --in-place --fix-gpt "$T/behind.ndz" "$T/big10"
check "says why: $(cat "$T/stderr")" grep -q "lies behind the partitions" "$T/stderr"
check "nothing was written" cmp -n $((64 << 20)) "$T/big10" /dev/zero
truncate -s 16M "$T/mbr"; printf 'start=2048,size=8192,type=83\nstart=10240,size=10240,type=83\n' | sfdisk -q "$T/mbr"
"$BIN/imagezip" -q "$T/mbr" "$T/mbr.ndz" 2> /dev/null || fail "imagezip mbr"
truncate -s 64M "$T/big3"; "$BIN/imageunzip" -q --in-place --grow "$T/mbr.ndz" "$T/big3"
check "MBR: the last partition grew" [ "$(sfdisk -J "$T/big3" | json - 'partitiontable.partitions[1].size')" = 120832 ]

echo "== a table that cannot be made to fit is refused before anything is written"
truncate -s 16M "$T/logical"; printf 'start=2048,size=8192,type=83\nstart=10240,size=10240,type=5\nstart=12288,size=4096,type=83\n' | sfdisk -q "$T/logical"
"$BIN/imagezip" -q "$T/logical" "$T/logical.ndz" 2> /dev/null || fail "imagezip logical"
untouched() { check "it is untouched" same_hash "$1" "$2"; }
poison "$T/big4" $((64 << 20)); was=$(sha256sum < "$T/big4" | cut -d' ' -f1)
status 1 "$BIN/imageunzip" -q --in-place --grow "$T/logical.ndz" "$T/big4"; untouched "$T/big4" "$was"
check "it says why: the last partition is a logical one" grep -q "logical" "$T/stderr"
check "--fix-gpt has nothing to do there" "$BIN/imageunzip" -q --in-place --fix-gpt "$T/logical.ndz" "$T/big4"

echo "== -u"
uuid=$("$BIN/imagedump" "$T/gpt.ndz" | sed -n "s/.*; uuid //p")
check "the image's UUID" "$BIN/imageunzip" -q -u "$uuid" "$T/gpt.ndz" "$T/big6"
for u in 00000000000000000000000000000000 ${uuid//[0-9]/7}; do status 3 "$BIN/imageunzip" -q -u $u "$T/gpt.ndz" "$T/big7"; done
status 3 "$BIN/imageunzip" -q -u 00000000000000000000000000000000 "$T/ext2.ndz" "$T/big7"
check "nothing was made" [ ! -e "$T/big7" ]

echo "== a disk with other sectors"
if [ "$(id -u)" = 0 ] && truncate -s 64M "$T/4k" && dev=$(losetup -f --show -b 4096 "$T/4k" 2> /dev/null); then
	CLEANUP+=("losetup -d '$dev' 2> /dev/null")
	status 1 "$BIN/imageunzip" -q "$T/gpt.ndz" "$dev"
	check "it says how" grep -q -- "--convert" "$T/stderr"
	check "converted" "$BIN/imageunzip" -q --convert "$T/gpt.ndz" "$dev"
	check "sgdisk finds nothing to say" quietly sh -c "sgdisk -v '$dev' | grep -q 'No problems found'"
	check "the partitions are where they were" json <(sfdisk -J "$dev") "partitiontable.partitions[0].start=256" "partitiontable.partitions[1].size=1280"
	dd if=/dev/urandom of="$dev" bs=1M count=20 status=none; sync; was=$(sha256sum < "$T/4k" | cut -d' ' -f1)
	status 1 "$BIN/imageunzip" -q --convert "$T/logical.ndz" "$dev"; sync; untouched "$T/4k" "$was"
	check "an MBR, too" "$BIN/imageunzip" -q --convert "$T/mbr.ndz" "$dev"
	check "its partitions" json <(sfdisk -J "$dev") "partitiontable.partitions[0].start=256" "partitiontable.partitions[1].size=1280"
	echo "== a filesystem that cannot be used on such sectors is refused by name"
	truncate -s 4M "$T/fs"
	for how in "ext4:mke2fs -q -F -b 1024" "fat:mkfs.fat" "exfat:mkfs.exfat" \
	    "ntfs:mkfs.ntfs -q -Q -F" \
	    "used:mke2fs -q -F -b 4096" "used:mkfs.fat -S 4096"; do
		command -v "$(expr "$how" : '[^:]*:\([^ ]*\)')" > /dev/null || continue
		quietly ${how#*:} "$T/fs" || { fail "$how"; continue; }
		dd if="$T/fs" of="$T/gpt" bs=512 seek=2048 conv=notrunc status=none
		"$BIN/imagezip" -q "$T/gpt" "$T/fs4k.ndz" 2> /dev/null || fail "imagezip"
		if [ "${how%%:*}" = used ]; then
			check "$how" "$BIN/imageunzip" -q --convert "$T/fs4k.ndz" "$dev"
			continue
		fi
		sync; was=$(sha256sum < "$T/4k" | cut -d' ' -f1)
		status 1 "$BIN/imageunzip" -q --convert "$T/fs4k.ndz" "$dev"
		check "it says why" \
			grep -q "sectors of 4096 .*${how%%:*} filesystem of partition 1" "$T/stderr"
		sync; untouched "$T/4k" "$was"
		check "--force" \
			"$BIN/imageunzip" -q --force --convert "$T/fs4k.ndz" "$dev"
	done
else echo "not root, or no loop device with sectors of 4096: left out"; fi
finish
