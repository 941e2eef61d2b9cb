#!/usr/bin/env bash
# exFAT made by mkfs.exfat and filled by a writer of ours, which fsck.exfat
# checks: then fsck.exfat and every file.
. "$(dirname "$0")/lib.sh"
requires mkfs.exfat fsck.exfat dump.exfat python3
make_files "$T/files" 1
make_files "$T/few" 2 60; rm "$T/few/large" "$T/few/deep/er/still/large"
mkdir "$T/filler"; head -c 400000 "$T/files/large" > "$T/filler/filler"
exfat() { python3 "$TOP/tests/helpers/exfat.py" "$@"; }
free_of_tool() { dump.exfat "$1" 2> /dev/null | grep -oP 'Free Clusters:\s+\K\d+'; }
is_clean() { fsck.exfat -n "$1" 2>&1 | grep ': clean\.' || { fsck.exfat -n "$1"; return 1; }; }

# Files come, some go, one that is longer than the first hole fills the holes;
# the root directory grows: IMG FOLDER
fill_and_age() {
	local gone=() f
	exfat put "$1" "$2" && exfat put "$1" "$T/filler" inner || return 1
	for f in 3 5 9 10 11 20 40 41; do gone+=("many/$(cd "$2/many" && echo file-00$(printf %02d $f)*)"); done
	exfat rm "$1" "${gone[@]}" && exfat put "$1" "$T/filler" && exfat put "$1" "$2/many"
}

# A filesystem that is there: WHAT IMG
whole_case() {
	exfat free "$2" > "$T/free"
	check "$1: dump.exfat counts as many" [ "$(free_of_tool "$2")" = "$(exfat count "$2")" ]
	fs_case exfat "$1" "$2" "$T/free" || return
	check "$1: fsck.exfat" quietly is_clean "$T/target"
	rm -rf "$T/got" "$T/want"; exfat get "$2" "$T/want"; exfat get "$T/target" "$T/got"
	check "$1: every file" diff -r "$T/want" "$T/got"
	check "$1: there are files" [ "$(find "$T/got" -type f | wc -l)" -gt 90 ]
}

round_trip() {	# WHAT SIZE FILES MKFS-OPTIONS...
	local what=$1 size=$2 files=$3 img=$T/fs; shift 3
	rm -f "$img"; truncate -s "$size" "$img"
	mkfs.exfat "$@" "$img" > "$T/mkfs" 2>&1 || { fail "$what: mkfs.exfat: $(cat "$T/mkfs")"; return; }
	check "$what: filled" fill_and_age "$img" "$files"
	check "$what: is consistent" quietly is_clean "$img"
	whole_case "$what" "$img"
}
round_trip "512-byte clusters" 20M "$T/files" -c 512
check "512-byte clusters: a file is in pieces" [ "$(exfat where "$T/fs" filler | cut -d' ' -f3)" = 0 ]
round_trip "4k clusters" 32M "$T/files" -c 4K
round_trip "32k clusters" 40M "$T/files" -c 32K
round_trip "128k clusters" 40M "$T/few" -c 128K
round_trip "bitmap in front, small boundary" 24M "$T/files" -c 4K -b 4K --pack-bitmap
round_trip "small" 8M "$T/few" -c 4K
cp "$T/fs" "$T/small"

# Until nothing fits any more.
i=0; while exfat put "$T/fs" "$T/few" "more$i" 2> /dev/null; do i=$((i + 1)); done
check "nearly full: several times" [ $i -gt 3 ]
check "nearly full: less than 800 KiB are free" [ "$(exfat count "$T/fs")" -lt 200 ]
whole_case "nearly full" "$T/fs"

# Bad clusters, as the FAT marks them: kept out, unless a file without a chain
# has them: there the FAT's entries mean nothing.
cp "$T/small" "$T/fs"
for n in 1000 1001 1300; do exfat fat "$T/fs" $n fffffff7; exfat bit "$T/fs" $n 1; done
fs_bad() {	# WHAT
	exfat free "$T/small" > "$T/free"
	fs_case exfat "$1" "$T/fs" "$T/free" && check "$1: fsck.exfat" quietly is_clean "$T/target"
}
fs_bad "bad clusters"
# The first entry of the FAT stands for no cluster, whatever its lowest byte is.
exfat fat "$T/fs" 0 fffffff7
fs_case exfat "bad clusters, and a first entry like theirs" "$T/fs" "$T/free"
exfat fat "$T/fs" 0 fffffff8
read -r first count whole _ < <(exfat where "$T/fs" inner/filler)
check "a file in one piece" [ "$count $whole" = "98 1" ]
read -r dir _ < <(exfat where "$T/fs" deep/er)
for n in $first $((first + 5)) $((first + 97)) "$dir"; do exfat fat "$T/fs" "$n" fffffff7; done
fs_bad "bad clusters, and files whose entries mean nothing"
# One that another cluster leads to is no bad one.
cp "$T/small" "$T/fs"
for n in 1000 1001; do exfat bit "$T/fs" $n 1; done
exfat free "$T/fs" > "$T/free"
exfat fat "$T/fs" 1000 fffffff7; exfat fat "$T/fs" 1001 3e8
fs_case exfat "a chain that ends in a bad cluster" "$T/fs" "$T/free"

# 4096-byte sectors need a device that has them.
if [ "$(id -u)" = 0 ] && truncate -s 24M "$T/fs" && mkfs.exfat "$T/fs" > /dev/null && loop=$(losetup -b 4096 -f --show "$T/fs" 2> /dev/null); then
	CLEANUP+=("losetup -d $loop")
	mkfs.exfat -c 16K "$loop" > /dev/null; sync "$loop"; losetup -d "$loop"; CLEANUP=()
	check "4096-byte sectors: they are" quietly grep 'Size Bits:.*12' <(dump.exfat "$T/fs")
	check "4096-byte sectors: filled" fill_and_age "$T/fs" "$T/files"
	whole_case "4096-byte sectors" "$T/fs"
else
	echo "4096-byte sectors: left out, needs root and a loop device"
fi

# What cannot be trusted is stored completely, with a warning: so imagezip says, and of
# the first few it is seen: WHAT COMMAND..., on $T/fs3
seen=0
kept_whole() {	# WHAT
	local said; seen=$((seen + 1))
	if [ $seen -le 3 ]; then fs_damaged exfat "$1" "$T/fs3" "$T/free"; fi
	said=$("$BIN/imagezip" -q -i --json -F 0 "$T/fs3" 2> /dev/null)
	if grep -q '"skipped_sectors": 0' <<< "$said"; then said=$(grep -oP '"warning": "\K[^"]+' <<< "$said"); fi
	check "$1: stored completely: $said" grep -q '^[a-z].*:' <<< "$said"
	[ $seen -le 3 ] || row exfat "$1" "$said"
}
exfat free "$T/small" > "$T/free"
damaged() {
	local what=$1; shift
	cp "$T/small" "$T/fs3"; "$@"
	kept_whole "$what"
}
# Bytes, written over: OFFSET HEX
put() { printf '%b' "$(sed 's/../\\x&/g' <<< "$2")" | dd of="$T/fs3" bs=1 seek=$(($1)) conv=notrunc status=none; }
boot() { exfat boot "$T/fs3" "$@"; }	# the same, checksums mended
root() { exfat root "$T/fs3" "$@"; }
read -r filler _ whole end < <(exfat where "$T/small" filler)
check "another one in pieces" [ "$whole" = 0 ]
read -r deep _ < <(exfat where "$T/small" inner/filler)
read -r inner _ < <(exfat where "$T/small" inner)
damaged "not cleanly unmounted" put 106 02
damaged "media failure" put 106 04
damaged "unknown flags" put 106 10
damaged "second FAT active" put 106 01
damaged "wrong checksum" put 300 55
damaged "one sector of the checksum" put 512*11+508 00
damaged "two FATs (TexFAT)" boot 110 02
damaged "no FAT" boot 110 00
damaged "unknown revision" boot 104 0002
damaged "smaller clusters" boot 109 02
damaged "larger clusters" boot 109 04
damaged "huge clusters" boot 109 ff
damaged "larger sectors" boot 108 0a
damaged "another place of the clusters" boot 88 09
damaged "another place of the FAT" boot 80 19
damaged "more clusters" boot 93 ff
damaged "longer than the partition" boot 74 10
damaged "root directory elsewhere" boot 96 40
damaged "root directory outside" boot 96 ffff
damaged "root directory in a circle" exfat fat "$T/fs3" 5 5
damaged "no allocation bitmap" root 81 0 01
damaged "second allocation bitmap" root 81 1 01
damaged "two allocation bitmaps" root 85 0 81
damaged "short allocation bitmap" root 81 24 0100
damaged "allocation bitmap elsewhere" root 81 20 03
damaged "allocation bitmap outside" root 81 20 ffffff
damaged "no case table" root 82 0 02
damaged "unknown entry" root 83 0 84
damaged "the bitmap calls the bitmap free" exfat bit "$T/fs3" 2 0
damaged "the bitmap calls the case table free" exfat bit "$T/fs3" 3 0
damaged "the bitmap calls a directory free" exfat bit "$T/fs3" "$inner" 0
damaged "the bitmap calls a file free" exfat bit "$T/fs3" "$filler" 0
damaged "the bitmap calls the end of a chain free" exfat bit "$T/fs3" "$end" 0
damaged "the bitmap calls a file in a directory free" exfat bit "$T/fs3" $((deep + 50)) 0
damaged "two files have one cluster" exfat fat "$T/fs3" "$filler" "$(printf %x "$deep")"
damaged "cut short" truncate -s 4M "$T/fs3"
finish
