#!/usr/bin/env bash
# Disklabels of the BSDs, made byte by byte, with filesystems of makefs in them.
. "$(dirname "$0")/lib.sh"
requires makefs python3
ffs() { python3 "$TOP/tests/helpers/ffs_read.py" "$@"; }
make_disk() { python3 "$TOP/tests/helpers/bsdlabel_make.py" "$T/fs" "$@"; }
make_files "$T/files" 1 60
makefs -t ffs -s 8m -o version=1 "$T/ufs1" "$T/files" > /dev/null
makefs -t ffs -s 8m -o version=2 "$T/ufs2" "$T/files" > /dev/null
ffs free "$T/ufs1" > "$T/free1"; ffs free "$T/ufs2" > "$T/free2"
shifted() { awk -v by="$2" '{ print $1 + by, $2 }' "$1"; }

# a: UFS1 at 0 (16384 sectors), b: swap, d or e: unused, f: UFS2 at 30000.  Of
# the swap the first 64 sectors are kept.
works() {	# WHAT SLICE STYLE UNUSED
	make_disk 48640 "$2" "$3" "a:7:0:16384:$T/ufs1" "b:1:16384:8192" "$4:0:25000:2000" "f:7:30000:16400:$T/ufs2" || return
	{ shifted "$T/free1" "$2"; echo $((16448 + $2)) 8128; shifted "$T/free2" $((30000 + $2)); } > "$T/free"
	fs_case bsdlabel "$1" "$T/fs" "$T/free"
	check "$1: no warning" [ -z "$(said_of warning "$T/fs")" ]
	for p in 0:1 30000:2; do
		dd if="$T/target" of="$T/part" bs=512 skip=$((${p%:*} + $2)) count=16384 status=none
		check "$1: every file" cmp <(ffs files "$T/ufs${p#*:}") <(ffs files "$T/part")
	done
}
works "FreeBSD, offsets of the slice" 2048 freebsd d
works "FreeBSD, offsets of the disk" 2048 absolute d
works "OpenBSD, offsets of the disk" 2048 openbsd d
works "NetBSD, offsets of the disk" 2048 netbsd e
works "a disk without an MBR" 0 freebsd d
works "OpenBSD, c as long as the slice" 2048 short d
works "OpenBSD of version 1, c as long as the slice" 2048 short1 d

echo "== a slice is refused where a filesystem in it would be cut"
make_disk 46384 0 freebsd "a:7:0:16384:$T/ufs1" "f:7:30000:16384:$T/ufs2"
"$BIN/imagezip" -q "$T/fs" "$T/slice.ndz" || fail imagezip
truncate -s $((46383 * 512)) "$T/short"
status 1 "$BIN/imageunzip" -q --in-place "$T/slice.ndz" "$T/short"
check "it says why" grep -q "the ufs filesystem .* reaches to sector 46384" "$T/stderr"
check "nothing was written" cmp -n $((46383 * 512)) "$T/short" /dev/zero
truncate -s $((46384 * 512)) "$T/short"
check "it fits into just its length" \
	"$BIN/imageunzip" -q --in-place "$T/slice.ndz" "$T/short"

kept() {	# WHAT CLAUSE
	check "$1: stored completely" said_zero "$T/fs"
	check "$1: says why" grep -q "$2" <<< "$(said_of warning "$T/fs")"
	row bsdlabel "$1" "$(said_of warning "$T/fs" | cut -c 1-100)"
}
make_disk 48640 2048 freebsd "a:7:0:16384:$T/ufs1" "b:1:16000:8192"
kept "overlapping partitions" "a and b of its disklabel overlap"
make_disk 48640 2048 freebsd "a:7:0:16384:$T/ufs1" "b:1:40000:8192"
kept "partly outside" "partly outside"
make_disk 48640 2048 none "a:7:0:16384:$T/ufs1" "b:1:20000:8192"
kept "no c" "what its offsets count from"
make_disk 48640 2048 freebsd "a:7:64:16384" "b:1:20000:8192"
kept "swap, but nothing that is understood" "b: swap, which is stored because the disklabel is in doubt"
make_disk 48640 2048 freebsd "a:7:64:16384:$T/ufs1:bad"
kept "wrong checksum" "no known filesystem"
# The filesystem has all of the slice, the label is of before.
makefs -t ffs -s 23m -o version=2 "$T/all" "$T/files" > /dev/null
make_disk 49152 2048 freebsd "h:0:0:0:$T/all" "a:7:0:16384" "b:1:16384:8192" "f:7:30000:16400:$T/ufs2"
kept "older than the filesystem" "begins where its disklabel is"

# What is in doubt is kept, the rest is not.
partly() {	# WHAT CLAUSE FREE
	fs_damaged bsdlabel "$1" "$T/fs" "$3"
	check "$1: says why" grep -q "$2" <<< "$(said_of warning "$T/fs")"
	check "$1: something is skipped" [ "$(said_of skipped_sectors "$T/fs")" -gt 5000 ]
}
cp "$T/ufs1" "$T/dirty"; ffs set "$T/dirty" 209 00
make_disk 48640 2048 freebsd "a:7:64:16384:$T/dirty" "b:1:20000:8192" "f:7:30000:16400:$T/ufs2"
shifted "$T/free2" 32048 > "$T/free"
partly "a dirty filesystem" "a: stored completely: it was not cleanly unmounted; b: swap, which" "$T/free"
make_disk 48640 2048 freebsd "a:7:64:16384:$T/ufs1" "b:1:20000:8192"
shifted "$T/free1" 2112 > "$T/free"
printf '\x5d\x0b\x5d\x0b' | dd of="$T/fs" bs=1 seek=$(((22048 + 8190) * 512)) conv=notrunc status=none
partly "swap of a suspended system" "b: holds a suspended system" "$T/free"
make_disk 48640 2048 freebsd "a:7:64:16384:$T/ufs1" "b:1:20000:8192"
printf 'FreeBSD Kernel Dump' | dd of="$T/fs" bs=1 seek=$(((22048 + 8191) * 512)) conv=notrunc status=none
partly "swap with a crash dump" "b: holds a suspended system or a crash dump" "$T/free"
make_disk 48640 2048 freebsd "a:7:64:16384:$T/ufs1" "b:1:20000:8192"
printf 'FreeBSD Kernel Dump' | dd of="$T/fs" bs=1 seek=$(((22048 + 8184) * 512)) conv=notrunc status=none
partly "swap with a crash dump, in a sector of 4 KiB" "b: holds a suspended system or a crash dump" "$T/free"

# -I and -R by letter: what is stored of an image with -F 0 -d, as sectors of the disk.
make_disk 48640 2048 freebsd "a:7:0:16384:$T/ufs1" "b:1:16384:8192" "e:7:30000:16400:$T/ufs2"
stored() { "$BIN/imagezip" -q -i -d -F 0 "$@" "$T/fs" 2> "$T/stderr" | sed -n 's/^  \([0-9]*\)-\([0-9]*\)$/\1 \2/p'; }
holds() { awk -v a="$1" -v b="$2" '$1 <= b && $2 >= a { n += ($2 < b ? $2 : b) - ($1 > a ? $1 : a) + 1 } END { print n + 0 }'; }
check "-I 1e: nothing of it is stored" [ "$(stored -I 1e | holds 32048 48447)" = 0 ]
check "-I 1e: nothing, although it is shorter than -F" [ "$(stored -I 1e -F 100000 | holds 32048 48447)" = 0 ]
check "-I 1e: the rest is as it was" [ "$(stored | holds 0 32047)" = "$(stored -I 1e | holds 0 32047)" ]
check "-I 1a: nothing but the boot area" [ "$(stored -I 1a | holds 2048 18431)" = 128 ]
check "-R 1e: all of it" [ "$(stored -R 1e | holds 32048 48447)" = 16400 ]
check "-R 1b: swap, too" [ "$(stored -R 1b | holds 18432 26623)" = 8192 ]
check "-R 1b, not e" [ "$(stored -R 1b | holds 32048 48447)" = "$(stored | holds 32048 48447)" ]
check "-I counts more than -R" [ "$(stored -R 1e -I 1e | holds 32048 48447)" = 0 ]
check "-s 1 -I 1e counts from the slice" [ "$(stored -s 1 -I 1e | holds 30000 46399)" = 0 ]
status 1 "$BIN/imagezip" -q -i -I 1f "$T/fs"
check "says which" grep -q -- "-I 1f: its disklabel has no such partition" "$T/stderr"
status 1 "$BIN/imagezip" -q -i -I 1c "$T/fs"
status 2 "$BIN/imagezip" -q -i -R 2a "$T/fs"
for which in I1e R1e; do
	quietly "$BIN/imagezip" -q -F 0 "-$which" "$T/fs" "$T/x.ndz"
	poison "$T/target" "$(stat -c %s "$T/fs")"
	"$BIN/imageunzip" -q --in-place "$T/x.ndz" "$T/target"
	dd if="$T/fs" of="$T/want" bs=512 skip=32048 count=16400 status=none
	dd if="$T/target" of="$T/part" bs=512 skip=32048 count=16400 status=none
	if [ $which = R1e ]; then check "-R 1e: installed" cmp "$T/want" "$T/part"
	else check "-I 1e: untouched" [ "$(tr -d '\245' < "$T/part" | wc -c)" = 0 ]; fi
done
cp "$T/ufs1" "$T/ufs1s"; ffs stain "$T/ufs1s"; cp "$T/ufs2" "$T/ufs2s"; ffs stain "$T/ufs2s"
make_disk 48640 2048 freebsd "a:7:0:16384:$T/ufs1s" "b:1:16384:8192" "e:7:30000:16400:$T/ufs2s"
"$BIN/imagezip" -q -M -R 1a "$T/fs" "$T/x.ndz"; cp "$T/fs" "$T/target"; "$BIN/imageunzip" -q --in-place "$T/x.ndz" "$T/target"
dd if="$T/target" of="$T/part" bs=512 skip=32048 count=16384 status=none; cp "$T/ufs2s" "$T/want"; ffs blank "$T/want" > /dev/null
check "-M: inodes of e are blank" cmp "$T/want" "$T/part"
check "-M -R 1a: those of a are not" cmp <(tail -c +66049 "$T/ufs1s") <(dd if="$T/target" bs=512 skip=2177 count=16255 status=none)
make_disk 48640 2048 freebsd "a:7:0:16384:$T/ufs1" "b:1:16000:8192"
status 1 "$BIN/imagezip" -q -i -I 1b "$T/fs"
check "a label in doubt" grep -q "1b: the disklabel in partition 1 .* is in doubt: .*overlap" "$T/stderr"
finish
