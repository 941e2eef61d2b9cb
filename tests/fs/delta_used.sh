#!/usr/bin/env bash
# A delta is not taken by a disk that was used since its base was installed, although
# nothing that the delta replaces has changed: one file overwritten in place, made,
# removed or renamed, or only mounted for writing and unmounted.
. "$(dirname "$0")/lib.sh"
requires python3 sfdisk
mkdir "$T/mnt" "$T/few"
CLEANUP+=('umount -q "$T/mnt" 2> /dev/null')
# mkfs.xfs refuses to make what is smaller than 300 MB but for its own tests.
export TEST_DIR=$T TEST_DEV=$T QA_CHECK_FS=none
export MTOOLS_SKIP_CHECK=1 MTOOLSRC=/dev/null
server= place=0	# of the filesystem on its disk, in bytes
exfat() { python3 "$TOP/tests/helpers/exfat.py" "$@"; }

# Files of 1 MiB that are no zeros and are soon compressed: too many for other samples.
python3 - "$T/few" << 'PY'
import sys
for i in range(40):
    with open(f"{sys.argv[1]}/f{i}", "w") as f:
        f.write("".join(f"file {i:3} line {n:5} {'x' * 108}\n" for n in range(8192)))
PY
head -c 300000 "$T/few/f1" | tr x y > "$T/other"

# A block of a file is overwritten on the disk: the delta replaces nothing else.
change_f7() {	# IMG
	python3 - "$1" << 'PY'
import mmap, sys
with open(sys.argv[1], "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
    at = m.find(b"file   7 line  5000")
    m[at:at + 4] = b"FILE"
PY
}

# --- one for each filesystem: make it with these files, and use it: FS IMG [USE]
mounted() {	# FS IMG: then $T/mnt
	if [ "$1" != ntfs ]; then mount -o "loop,offset=$place" "$2" "$T/mnt"; return; fi
	ntfs-3g -o no_detach "$2" "$T/mnt" 2> "$T/ntfs-3g" & server=$!
	begins $server mountpoint -q "$T/mnt"
}
# What FUSE serves is written when the server has ended.
unmounted() { soon umount -q "$T/mnt"; [ -z "$server" ] || wait "$server"; server=; }
in_mount() {	# USE
	case $1 in
	inplace) dd if="$T/other" of="$T/mnt/f33" bs=4096 count=1 seek=50 conv=notrunc \
		status=none ;;
	made) head -c 50000 "$T/other" > "$T/mnt/made" ;;
	removed) rm "$T/mnt/f35" ;;
	renamed) mv "$T/mnt/f36" "$T/mnt/g36" ;;
	mounted) ;;
	esac
}
use_by_mount() { mounted "$1" "$2" && in_mount "$3" && unmounted; }
use_fat() {	# FS IMG USE
	case $3 in
	inplace)
		touch -d @2000000000 "$T/few/f33" &&
			mcopy -mo -i "$2@@$place" "$T/few/f33" ::f33 ;;
	made) mcopy -i "$2@@$place" "$T/other" ::made ;;
	removed) mdel -i "$2@@$place" ::f35 ;;
	renamed) mren -i "$2@@$place" ::f36 ::g36 ;;
	esac
}
use_exfat() {	# FS IMG USE
	local new=$T/exfat.$3; rm -rf "$new"; mkdir "$new"
	case $3 in
	made) cp "$T/other" "$new/made"; exfat put "$2" "$new" ;;
	removed) exfat rm "$2" f35 ;;
	esac
}
use_f2fs() {	# FS IMG USE: it can only be filled
	rm -rf "$T/load"; mkdir -p "$T/load/$3"; cp "$T/other" "$T/load/$3"
	quietly sload.f2fs -f "$T/load" "$2"
}
make_by_mount() { mounted "$1" "$2" && cp "$T/few"/* "$T/mnt" && unmounted; }

refused() {	# WHAT DELTA
	cp --sparse=always "$T/used" "$T/t"
	status 1 "$BIN/imageunzip" -q "$2" "$T/t"
	check "$1: it is no base any more" grep -q "does not hold the base" "$T/stderr"
	check "$1: nothing was written" cmp "$T/used" "$T/t"
}
taken() {	# WHAT DELTA DISK
	cp --sparse=always "$3" "$T/t"
	check "$1: a disk that was not used takes it" "$BIN/imageunzip" -q "$2" "$T/t"
	check "$1: it is there" quietly "$BIN/imagehash" "$T/next.ndz" "$T/t"
	check "$1: and once more" "$BIN/imageunzip" -q "$2" "$T/t"
}

# What begins a disk is among its other samples.  A filesystem in a partition does not.
into_partition() {	# IMG
	place=1048576
	mv "$1" "$T/alone"
	truncate -s $(($(stat -c %s "$T/alone") + 2 * place)) "$1"
	echo "start=2048,size=$(($(stat -c %s "$T/alone") / 512)),type=83" |
		quietly sfdisk -q -X dos "$1"
	lay "$T/alone" "$1" $place
}

# FS SIZE USES HOW-IT-IS-USED MKFS...: the last argument of mkfs is the file
used_case() {
	local fs=$1 size=$2 uses=$3 use=$4 d=$T/$1 way; shift 4
	echo "== $fs"
	place=0
	command -v "$1" > /dev/null || { echo "   no $1: left out"; return; }
	truncate -s "$size" "$d"
	quietly "$@" "$d" || { fail "$*"; return; }
	case $use in
	use_by_mount)
		make_by_mount "$fs" "$d" || { echo "   cannot be mounted: left out"; return; } ;;
	use_fat) mcopy -i "$d" "$T/few"/* :: ;;
	use_exfat) exfat put "$d" "$T/few" ;;
	use_f2fs) quietly sload.f2fs -f "$T/few" "$d" ;;
	esac || { fail "$fs: filled"; return; }
	case $fs in ntfs | exfat | f2fs) ;; *) into_partition "$d" ;; esac
	check "$fs: the base" "$BIN/imagezip" -q -z 1 -U "$T/sig" "$d" "$T/base.ndz"
	check "$fs: it is known" [ "$(said_of filesystem "$d")" = "${fs%32}" ]
	cp --sparse=always "$d" "$T/next"
	check "$fs: the source goes on" change_f7 "$T/next"
	check "$fs: -H" "$BIN/imagezip" -q -z 1 -H "$T/sig" "$T/next" "$T/d.sig.ndz"
	"$BIN/imagezip" -q -z 1 "$T/next" "$T/next.ndz"
	check "$fs: imagedelta" \
		"$BIN/imagedelta" -q -z 1 "$T/base.ndz" "$T/next.ndz" "$T/d.two.ndz"
	for what in $uses; do
		cp --sparse=always "$d" "$T/used"
		$use "$fs" "$T/used" "$what" || fail "$fs: $what"
		if cmp -s "$d" "$T/used"; then
			echo "   $fs, $what: nothing has changed on the disk"
			continue
		fi
		for way in sig two; do refused "$fs, $what, $way" "$T/d.$way.ndz"; done
	done
	for way in sig two; do taken "$fs, $way" "$T/d.$way.ndz" "$d"; done
}
all="inplace made removed renamed mounted"
if [ -n "${MOUNTS_ARE_OWN:-}" ]; then
	used_case ext4 80M "$all" use_by_mount mke2fs -q -F -t ext4
	used_case xfs 120M "$all" use_by_mount mkfs.xfs -q -K -f
	used_case btrfs 128M "$all" use_by_mount mkfs.btrfs -q -f
	[ ! -c /dev/fuse ] ||
		used_case ntfs 80M "$all" use_by_mount mkntfs -q -F -Q -p 0 -H 0 -S 0
fi
used_case fat 64M "inplace made removed renamed" use_fat mkfs.fat -F 16
used_case fat32 80M "inplace made removed renamed" use_fat mkfs.fat -F 32
used_case exfat 64M "made removed" use_exfat mkfs.exfat -c 4K
used_case f2fs 128M "made" use_f2fs mkfs.f2fs -f -t 0
finish
