#!/usr/bin/env bash
# Partitions that know where they lie: disklabels and LILO are captured from one
# place and right in another, on MBR and GPT disks.
. "$(dirname "$0")/lib.sh"
requires python3 sfdisk mke2fs debugfs zstd
make_disk() { python3 "$TOP/tests/helpers/bsdlabel_make.py" "$@"; }
moved() { python3 "$TOP/tests/helpers/bsdlabel_moved.py" "$@"; }
sectors_of_relocs() {
	"$BIN/imagedump" --json -dd "$1" | json -1 - "[0].chunk_list[*].relocations[*].sector" | tr ' ' '\n' | sort -un | paste -sd' '
}
relocs() { "$BIN/imagedump" --json -dd "$1" | json -1 - "[0].chunk_list[*].relocations[*].type"; }

# Targets: MBR and GPT, partition 1 for something else, 2 at an odd place.
for kind in dos gpt; do
	truncate -s 80M "$T/$kind"
	printf 'label: %s\nstart=2048,size=4096\nstart=9999,size=120000\n' $kind | sfdisk -q "$T/$kind" 2> "$T/quiet" || fail "sfdisk: $(cat "$T/quiet")"
done

# STYLE BASE TYPES: a slice at 2048 of 46592 sectors, whose offsets count from BASE.
label() {
	make_disk "$T/src" 48640 2048 "$1" a:7:0:16384 b:1:16384:8192 f:7:30000:16400
	check "$1: captured" "$BIN/imagezip" -q -s 1 "$T/src" "$T/x.ndz"
	check "$1: relocation of type $3" [ "$(relocs "$T/x.ndz")" = "$3" ]
	for kind in dos gpt; do
		cp "$T/$kind" "$T/target"
		check "$1: installed, $kind" "$BIN/imageunzip" -q --in-place -s 2 "$T/x.ndz" "$T/target"
		check "$1: its label is right there" moved "$T/src" 2048 "$2" "$T/target" 9999 120000 ${4:-}
	done
	cp "$T/src" "$T/target"
	check "$1: and back where it was" "$BIN/imageunzip" -q --in-place -s 1 "$T/x.ndz" "$T/target"
	check "$1: right there, too" moved "$T/src" 2048 "$2" "$T/target" 2048 46592 ${4:-}
}
label absolute 2048 1
check "the same as before" cmp "$T/src" "$T/target"
label freebsd 0 1
label openbsd 2048 2 openbsd
check "the same as before" cmp "$T/src" "$T/target"

for style in short short1; do
	label $style 2048 2 openbsd
	check "the same as before" cmp "$T/src" "$T/target"
done

echo "== -N, -L, and what is not moved"
make_disk "$T/src" 48640 2048 absolute a:7:0:16384 b:1:16384:8192
"$BIN/imagezip" -q -N -s 1 "$T/src" "$T/x.ndz"
check "-N: none" [ -z "$(relocs "$T/x.ndz")" ]
"$BIN/imageunzip" -q "$T/x.ndz" "$T/part"
check "-N: the label is as it was" cmp -n 512 -i $((2049 * 512)):512 "$T/src" "$T/part"
"$BIN/imagezip" -q "$T/src" "$T/x.ndz"
check "a whole disk has none" [ -z "$(relocs "$T/x.ndz")" ]
make_disk "$T/slice" 46592 0 freebsd a:7:0:16384 b:1:16384:8192
"$BIN/imagezip" -q "$T/slice" "$T/x.ndz"
check "nor has a slice of its own" [ -z "$(relocs "$T/x.ndz")" ]
"$BIN/imagezip" -q -L "$T/slice" "$T/x.ndz"
check "-L: one" [ "$(relocs "$T/x.ndz")" = 1 ]
cp "$T/dos" "$T/target"; "$BIN/imageunzip" -q --in-place -s 2 "$T/x.ndz" "$T/target"
check "-L: right where it lands" moved "$T/slice" 0 0 "$T/target" 9999 120000
make_disk "$T/src" 48640 2048 netbsd a:7:0:16384
"$BIN/imagezip" -s 1 "$T/src" "$T/x.ndz" 2> "$T/stderr"; check "NetBSD: none" [ -z "$(relocs "$T/x.ndz")" ]
check "and why" grep -q "disklabel of NetBSD, for which there is no relocation: stored unchanged" "$T/stderr"
make_disk "$T/src" 48640 2048 absolute a:7:64:16384
"$BIN/imagezip" -s 1 "$T/src" "$T/x.ndz" 2> "$T/stderr"; check "a begins elsewhere: none" [ -z "$(relocs "$T/x.ndz")" ]
check "and why" grep -q "partition a of its disklabel does not begin at the beginning of the partition: stored unchanged" "$T/stderr"

echo "== a delta"
make_disk "$T/src" 48640 2048 absolute a:7:0:16384 b:1:16384:8192
"$BIN/imagezip" -q -U "$T/x.sig" -s 1 "$T/src" "$T/x.ndz"
"$BIN/imagezip" -q -H "$T/x.sig" -s 1 "$T/src" "$T/y.ndz"
printf changed | dd of="$T/src" bs=512 seek=2050 conv=notrunc status=none
"$BIN/imagezip" -q -H "$T/x.sig" -s 1 "$T/src" "$T/y.ndz"
check "a change beside the label brings it along" [ "$(relocs "$T/y.ndz")" = 1 ]
cp "$T/dos" "$T/target"
"$BIN/imageunzip" -q --in-place -s 2 "$T/x.ndz" "$T/target"; "$BIN/imageunzip" -q --in-place -s 2 "$T/y.ndz" "$T/target"
check "right where it lands" moved "$T/src" 2048 2048 "$T/target" 9999 120000
check "with the change" cmp -n 7 -i $((2050 * 512)):$((10001 * 512)) "$T/src" "$T/target"

echo "== the original's image"
zstd -q -d --long=28 -c "$GOLDEN/src/sources.tar.zst" | tar -C "$T" -xf - fbsd.img
zstd -q -d -c "$GOLDEN/img/fbsd-s1.ndz.zst" > "$T/g.ndz"
"$BIN/imagezip" -q -s 1 "$T/fbsd.img" "$T/x.ndz"
"$BIN/imageunzip" -q "$T/g.ndz" "$T/g"; "$BIN/imageunzip" -q "$T/x.ndz" "$T/x"
check "the same label, and all of its first partition" cmp -n $((2144 * 512)) "$T/g" "$T/x"

echo "== LILO"
# The file of 300 KiB is in one piece; so are the 600 sectors that it has.
head -c 400K /dev/urandom > "$T/map"
truncate -s 40M "$T/ext"; mke2fs -q -F -t ext2 -b 1024 "$T/ext"
debugfs -w -R "write $T/map map" "$T/ext" > /dev/null 2>&1
blocks=($(debugfs -R "blocks map" "$T/ext" 2> /dev/null))
# The indirect blocks are among them; what is behind the first dozens is one run.
first=$((${blocks[40]} * 2))
check "the map is in one piece" [ "${blocks[350]}" = $((${blocks[40]} + 310)) ]
lilo() { python3 "$TOP/tests/helpers/lilo_make.py" "$@"; }
put_in() { truncate -s 80M "$1"; dd if="$2" of="$1" bs=512 seek="$3" conv=notrunc status=none; }
# FLAG TABLE WHAT [OPTIONS]: from 2048 to 9999, and everything of it as it ought to be.
lilo_case() {
	local flag=$1 table=$2 what=$3; shift 3
	truncate -s 0 "$T/src"; put_in "$T/src" "$T/ext" 2048
	printf 'label: dos\nstart=2048,size=81920,type=83\n' | sfdisk -q "$T/src" 2> "$T/quiet"
	lilo "$T/src" 2048 2048 "$first" "$table" "$flag"
	"$BIN/imagezip" "$@" -F 4000000000 -s 1 "$T/src" "$T/x.ndz" 2> "$T/stderr"
	check "$what: captured: $(relocs "$T/x.ndz" | tr ' ' '\n' | sort | uniq -c | tr -s ' \n' ' ')" [ "$(relocs "$T/x.ndz" | tr ' ' '\n' | grep -c 5)" = 1 ]
	check "$what: verifies" quietly "$BIN/imagedump" -q --verify "$T/x.ndz"
	cp "$T/ext" "$T/want"; lilo "$T/want" 0 0 "$first" "$table" "$flag"
	rm -f "$T/part"; "$BIN/imageunzip" -q "$T/x.ndz" "$T/part"
	check "$what: relative in the image" cmp -n $((80000 * 512)) "$T/want" "$T/part"
	cp "$T/ext" "$T/want"; lilo "$T/want" 0 9999 "$first" "$table" "$flag"
	for kind in dos gpt; do
		cp "$T/$kind" "$T/target"
		check "$what: installed, $kind" "$BIN/imageunzip" -q --in-place -s 2 "$T/x.ndz" "$T/target"
		check "$what: every address is right there, the rest is as it was" cmp -n $((81920 * 512)) -i 0:$((9999 * 512)) "$T/want" "$T/target"
	done
	cp "$T/src" "$T/target"; "$BIN/imageunzip" -q --in-place -s 1 "$T/x.ndz" "$T/target"
	check "$what: and back" cmp "$T/src" "$T/target"
	check "$what: rewritten" quietly "$BIN/imagerezip" -q -z 1 "$T/x.ndz" "$T/y.ndz"
	cp "$T/dos" "$T/target"; "$BIN/imageunzip" -q --in-place -s 2 "$T/y.ndz" "$T/target"
	check "$what: right there, too" cmp -n $((81920 * 512)) -i 0:$((9999 * 512)) "$T/want" "$T/target"
	# What changes is beside the table, not in its 4 KiB.
	cp "$T/src" "$T/src2"; spoil_byte "$T/src2" $(((2048 + table + 40) * 512))
	"$BIN/imagezip" -q "$@" -F 4000000000 -s 1 "$T/src2" "$T/x2.ndz"
	"$BIN/imagedelta" -q "$T/x.ndz" "$T/x2.ndz" "$T/xd.ndz" || fail "$what: imagedelta"
	check "$what: a delta has relocations only with their data" [ "$(sectors_of_relocs "$T/xd.ndz")" = 0 ]
	check "$what: the image has others" [ "$(sectors_of_relocs "$T/x.ndz")" != 0 ]
	# The table's bytes lie in one piece of 256 KiB of their chunk.
	check "$what: the table is in one piece" python3 - "$table" <("$BIN/imagedump" --json -dd "$T/x.ndz") << 'PY'
import json, sys
table = int(sys.argv[1])
for c in json.load(open(sys.argv[2]))[0]["chunk_list"]:
    if not any(r["type"] == 5 for r in c["relocations"]):
        continue
    at = 0
    for r in c["regions"]:
        if r["first_sector"] <= table and table + 2 <= r["first_sector"] + r["sectors"]:
            at += (table - r["first_sector"]) * 512
            sys.exit(at // 262144 != (at + 1023) // 262144)
        at += r["sectors"] * 512
sys.exit(1)
PY
}
lilo_case 0x40 $((first + 2)) "linear"
lilo_case 0x20 $((first + 2)) "LBA32"
lilo_case 0x10 $((first + 3)) "LBA32, 32 bits"
edge=$(((first + 511) / 512 * 512 - 1)); [ $edge -lt $((first + 590)) ] || edge=$(((first + 127) / 128 * 128 - 1))
lilo_case 0x40 $edge "a table over the edge of a window"
lilo_case 0x40 $edge "the same, version 5" -5
lilo_case 0x40 $edge "the same, zstd" --codec=zstd
# Refused with a reason, and stored as it is.
as_it_is() {	# WHAT CLAUSE
	"$BIN/imagezip" -s 1 "$T/src" "$T/x.ndz" 2> "$T/stderr"
	check "$1: none" [ -z "$(relocs "$T/x.ndz")" ]
	check "$1: and why" grep -q "$2.*: stored unchanged" "$T/stderr"
	"$BIN/imageunzip" -q "$T/x.ndz" "$T/part"
	check "$1: the boot sector is as it was" cmp -n 512 -i $((2048 * 512)):0 "$T/src" "$T/part"
}
put_in "$T/src" "$T/ext" 2048; lilo "$T/src" 2048 2048 "$first" "$((first + 2))" 0
as_it_is "CHS" "LILO uses addresses of cylinders"
put_in "$T/src" "$T/ext" 2048; lilo "$T/src" 2048 90000 "$first" "$((first + 2))"
as_it_is "addresses of another partition" "LILO refers to a sector outside the partition"
put_in "$T/src" "$T/ext" 2048; lilo "$T/src" 2048 2048 "$first" "$((first + 2))"
printf x | dd of="$T/src" bs=1 seek=$(((2048 + first + 2) * 512 + 900)) conv=notrunc status=none
as_it_is "a sum that is wrong" "wrong sum"
put_in "$T/src" "$T/ext" 2048; lilo "$T/src" 2048 2048 60000 60002
as_it_is "in free space" "which is marked as free"
finish
