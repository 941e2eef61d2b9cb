#!/usr/bin/env bash
# FAT12, FAT16 and FAT32 made by mkfs.fat and filled by mtools: then fsck.fat and
# every file.
. "$(dirname "$0")/lib.sh"
requires mkfs.fat fsck.fat mcopy python3 sfdisk
export MTOOLS_SKIP_CHECK=1 MTOOLSRC=/dev/null
make_files "$T/files" 1
make_files "$T/few" 2 60; rm "$T/few/large" "$T/few/deep/er/still/large"
head -c 300000 "$T/files/large" > "$T/hole-filler"
fatfree() { python3 "$TOP/tests/helpers/fatfree.py" "$@"; }

# Our list of free space has as many clusters as other tools count: IMG
counts_agree() {
	local free bad all bytes said
	read -r free bad all bytes < <(fatfree counts "$1")
	said=$(fsck.fat -n -v "$1" | grep -oP '\d+/\d+(?= clusters)')
	[ "$said" = "$((all - free))/$all" ] || { echo "fsck.fat: $said, not $((all - free))/$all"; return 1; }
	said=$(mdir -i "$1" :: | grep -oP '[\d ]+(?= bytes free)' | tr -d ' ')
	[ "$said" = $((free * bytes)) ] || { echo "mdir: $said free, not $((free * bytes))"; return 1; }
}

# Files come, some go, a large one fills the holes: IMG FOLDER
fill_and_age() {
	local f
	mcopy -s -Q -i "$1" "$2"/* :: || return 1
	for f in 3 5 9 10 11 40 41; do
		mdel -i "$1" "::many/$(cd "$2/many" && echo file-00$(printf %02d $f)*)" || return 1
	done
	mcopy -i "$1" "$T/hole-filler" ::filler || return 1
	mdel -i "$1" "::many/$(cd "$2/many" && echo file-0020*)"
}

extract() { rm -rf "$2"; mkdir "$2"; mcopy -s -n -Q -i "$1" '::*' "$2"; }
same_files() {	# WHAT IMG
	extract "$2" "$T/want"; extract "$T/target" "$T/got"
	check "$1: every file" diff -r "$T/want" "$T/got"
	check "$1: there are files" [ "$(find "$T/got" -type f | wc -l)" -gt 40 ]
}

# A filesystem that is there: WHAT IMG [WIDTH]
whole_case() {
	fatfree free "$2" > "$T/free"
	check "$1: other tools count as many" counts_agree "$2"
	if [ $# -gt 2 ]; then check "$1: $3 bits" [ "$(fatfree width "$2")" = "$3" ]; fi
	fs_case fat "$1" "$2" "$T/free" || return
	check "$1: fsck.fat" quietly fsck.fat -n "$T/target"
	same_files "$1" "$2"
}

make_filled() {	# WHAT SIZE FILES MKFS-OPTIONS...
	local what=$1 size=$2 files=$3 img=$T/fs; shift 3
	rm -f "$img"; truncate -s "$size" "$img"
	mkfs.fat "$@" "$img" > "$T/mkfs" 2>&1 || { fail "$what: mkfs.fat: $(cat "$T/mkfs")"; return; }
	fill_and_age "$img" "$files" > "$T/mtools" 2>&1 || { fail "$what: mtools: $(cat "$T/mtools")"; return; }
	check "$what: is consistent" quietly fsck.fat -n "$img"
}
round_trip() {	# WHAT SIZE FILES WIDTH MKFS-OPTIONS...
	make_filled "$1" "$2" "$3" "${@:5}" && whole_case "$1" "$T/fs" "$4"
}
round_trip "FAT12, floppy disk" 1440K "$T/few" 12
cp "$T/fs" "$T/fat12"
round_trip "FAT12, 8k clusters" 16M "$T/files" 12 -F 12 -s 16
round_trip "FAT12, 4096-byte sectors" 16M "$T/files" 12 -F 12 -S 4096
round_trip "FAT16, defaults" 20M "$T/files" 16
round_trip "FAT16, 8k clusters" 40M "$T/files" 16 -F 16 -s 16
round_trip "FAT16, 4096-byte sectors, unaligned" 24M "$T/files" 16 -F 16 -S 4096 -s 1 -a
round_trip "FAT16, 512-byte clusters" 4M "$T/few" 16 -F 16 -s 1
cp "$T/fs" "$T/fat16"
round_trip "FAT32, one FAT" 48M "$T/files" 32 -F 32 -f 1
round_trip "FAT32, 512-byte clusters" 35M "$T/few" 32 -F 32
cp "$T/fs" "$T/fat32"

# Until nothing fits any more.
img=$T/fs; rm -f "$img"; truncate -s 8M "$img"; mkfs.fat -F 12 -s 4 "$img" > /dev/null
fill_and_age "$img" "$T/files" > /dev/null 2>&1
for i in 1 2 3 4 5 6 7 8; do mcopy -i "$img" "$T/files/large" "::more$i" > /dev/null 2>&1 || break; done
for f in "$T/files/many"/file-000*; do mcopy -i "$img" "$f" "::" -n -D A > /dev/null 2>&1; done
whole_case "FAT12, nearly full" "$img"

# Three copies are more than fsck.fat knows.
truncate -s 8M "$T/three"; mkfs.fat -F 16 -s 2 -f 3 "$T/three" > /dev/null
mcopy -s -i "$T/three" "$T/few" ::
fatfree free "$T/three" > "$T/free"
fs_case fat "FAT16, three FATs" "$T/three" "$T/free"

# Bytes, written over: IMG OFFSET HEX
put() { printf '%b' "$(sed 's/../\\x&/g' <<< "$3")" | dd of="$1" bs=1 seek=$(($2)) conv=notrunc status=none; }

# 32 bits on fewer clusters than Microsoft's document has for them: mtools does
# not go that far, so one that is filled is made smaller.
few=$T/few-clusters
make_filled "FAT32 on few clusters" 270M "$T/files" -F 32 -S 4096 -s 1
mv "$T/fs" "$few"; truncate -s 32M "$few"
for at in 0 $((6 * 4096)); do put "$few" $((at + 32)) 00200000; done	# 8192 sectors
put "$few" $((4096 + 488)) ffffffff
check "few clusters: fsck.fat" quietly fsck.fat -n "$few"
fatfree free "$few" > "$T/free"
fs_case fat "FAT32 on few clusters of 4096-byte sectors" "$few" "$T/free"
check "few clusters: fsck.fat" quietly fsck.fat -n "$T/target"

# Bad clusters are neither read nor stored: marked by mkfs.fat, and later.
rm -f "$img"; truncate -s 35M "$img"; seq 20000 20010 > "$T/bad"; echo 30000 >> "$T/bad"
mkfs.fat -F 32 -l "$T/bad" "$img" > /dev/null
fill_and_age "$img" "$T/few" > /dev/null 2>&1
check "bad clusters: there are 24" [ "$(fatfree counts "$img" | cut -d' ' -f2)" = 24 ]
check "bad clusters, FSInfo counts them as free" [ "$(said_of warning "$img")" = "" ]
quietly fsck.fat -a "$img"
whole_case "FAT32, bad clusters" "$img"
for kind in fat12 fat16; do
	cp "$T/$kind" "$img"
	for n in 2500 2501 2601; do fatfree set "$img" $n "$(fatfree bad "$img")"; done
	check "bad clusters: there are 3" [ "$(fatfree counts "$img" | cut -d' ' -f2)" = 3 ]
	whole_case "${kind^^}, bad clusters" "$img"
done

# What cannot be trusted is stored completely, with a warning: so imagezip says, and of
# the first few it is seen: WHAT KIND COMMAND..., on $T/fs3
seen=0
kept_whole() {	# WHAT
	local said; seen=$((seen + 1))
	if [ $seen -le 3 ]; then fs_damaged fat "$1" "$T/fs3" "$T/free"; fi
	said=$("$BIN/imagezip" -q -i --json -F 0 "$T/fs3" 2> /dev/null)
	if grep -q '"skipped_sectors": 0' <<< "$said"; then said=$(grep -oP '"warning": "\K[^"]+' <<< "$said"); fi
	check "$1: stored completely: $said" grep -q '^[a-z].*:' <<< "$said"
	[ $seen -le 3 ] || row fat "$1" "$said"
}
damaged() {
	local what=$1 kind=$2; shift 2
	cp "$T/$kind" "$T/fs3"; [ $seen -ge 3 ] || fatfree free "$T/$kind" > "$T/free"
	"$@"
	kept_whole "${kind^^}, $what"
}
entry() { fatfree set "$T/fs3" "$@"; }	# N HEX [COPY]
byte() { put "$T/fs3" "$1" "$2"; }
damaged "not cleanly unmounted" fat32 entry 1 7ffffff
damaged "not cleanly unmounted" fat16 entry 1 7fff
damaged "errors were found" fat32 entry 1 bffffff
damaged "errors were found" fat16 entry 1 bfff
damaged "dirty in its boot sector" fat12 byte 37 01
damaged "dirty in its boot sector" fat16 byte 37 01
damaged "dirty in its boot sector" fat32 byte 65 01
damaged "FATs differ" fat12 entry 2600 fff 1
damaged "FATs differ" fat16 entry 6000 ffff 1
damaged "FATs differ" fat32 entry "$(fatfree linked "$T/fat32")" 0 0
damaged "wrong free count" fat32 byte 512+488 05
damaged "no FSInfo" fat32 byte 512 00
damaged "a chain leads to a free cluster" fat12 entry "$(fatfree linked "$T/fat12")" 0
damaged "a chain leads to a free cluster" fat16 entry "$(fatfree linked "$T/fat16")" 0
damaged "a chain leads to a bad cluster" fat16 entry "$(fatfree linked "$T/fat16")" fff7
unknown_count() { byte 512+488 ffffffff; "$@"; }
damaged "the root directory is free" fat32 unknown_count entry 2 0
damaged "the beginning of a file is free" fat16 entry "$(fatfree first "$T/fat16")" 0
damaged "two chains meet" fat16 entry 6000 "$(printf %x "$(fatfree linked "$T/fat16")")"
damaged "a chain leads outside" fat12 entry 2600 fd0
damaged "a chain leads outside" fat16 entry 6000 f000
damaged "a chain leads outside" fat32 entry 60000 ffffef0
damaged "another cluster size" fat12 byte 13 02
damaged "another cluster size" fat16 byte 13 02
damaged "another cluster size" fat32 byte 13 02
damaged "another sector size" fat16 byte 11 0004
damaged "a longer root directory" fat16 byte 17 1002
damaged "one table less" fat16 byte 16 01
damaged "too many clusters for 16 bits" fat32 byte 22 1402
damaged "longer than the partition" fat16 byte 19 ffff
damaged "cut short" fat12 truncate -s 1M "$T/fs3"
damaged "cut short" fat32 truncate -s 20M "$T/fs3"
damaged "cover of an encrypted volume" fat32 byte 424 3bd66749292ed84a8399f6a339e3d001
finish
