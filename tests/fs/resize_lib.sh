# resize_lib.sh: what the tests share that make filesystems larger and smaller; root and mounts.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires sfdisk mke2fs resize2fs e2fsck mkfs.xfs xfs_growfs xfs_repair mkfs.btrfs btrfs mkntfs ntfsresize ntfsfix mkswap losetup python3
[ "$(id -u)" = 0 ] || skip "needs root"
[ -n "${MOUNTS_ARE_OWN:-}" ] || skip "needs a namespace of mounts"
for m in xfs btrfs loop; do modprobe $m 2> /dev/null; done
CLEANUP+=('umount "$T/m" 2> /dev/null')
mkdir "$T/files" "$T/m"
make_files "$T/files" 3 40
(cd "$T/files" && find . -type f -exec sha256sum {} + | sort -k 2) > "$T/sums"

table() {	# FILE gpt|mbr END-MIB: a small partition, and one from 4 MiB on
	printf 'label: %s\nstart=2048, size=4096\nstart=8192, size=%d\n' "${2/mbr/dos}" $((($3 - 4) * 2048)) | sfdisk -q "$1"
}
put() {	# FILE: the filesystem $T/fs, at 4 MiB
	lay "$T/fs" "$1" $((4 << 20))
}
taken() {	# FILE: what is in its last partition now, as $T/fs
	local start size
	read -r start size < <(sfdisk -J "$1" | json -1 - "partitiontable.partitions[-1].start" "partitiontable.partitions[-1].size")
	rm -f "$T/fs"
	lay "$1" "$T/fs" 0 $((start * 512)) $((size * 512))
	truncate -s $((size * 512)) "$T/fs"
}
mounted() {	# TYPE OPTIONS COMMAND...
	local type=$1 options=$2; shift 2
	mount -t "$type" -o "loop,$options" "$T/fs" "$T/m" || { fail "mount $type"; return 1; }
	"$@"; local rc=$?
	umount "$T/m"
	return $rc
}
fill() { cp -r "$T/files/." "$T/m"; }
same_files() { (cd "$T/m" && sha256sum --quiet -c "$T/sums"); }
room_of() { df -B1 --output=size "$T/m" | tail -n 1; }
make_fs() {	# TYPE BYTES
	rm -f "$T/fs"; truncate -s "$2" "$T/fs"
	case $1 in
	ext4) mke2fs -q -F -t ext4 -d "$T/files" "$T/fs" ;;
	xfs) mkfs.xfs -q "$T/fs" && mounted xfs rw fill ;;
	btrfs) mkfs.btrfs -q -m single "$T/fs" 2> /dev/null && mounted btrfs rw fill ;;
	ntfs) mkntfs -q -F -Q "$T/fs" > /dev/null 2>&1 && mounted ntfs-3g rw fill ;;
	esac || fail "$1: mkfs"
}
# Disks of 60 MiB with this ext4, which is $T/ext4, too: $T/mbr and $T/gpt.
ext4_disks() {	# BYTES END-MIB
	local kind
	make_fs ext4 "$1"; mv "$T/fs" "$T/ext4"
	for kind in mbr gpt; do
		cp "$T/ext4" "$T/fs"
		truncate -s 60M "$T/$kind"; table "$T/$kind" $kind "$2"; put "$T/$kind"
	done
}
put_at() { dd of="$T/disk" bs=1 seek="$1" conv=notrunc status=none; }	# BYTE
whole() {	# TYPE: its own fsck has nothing to say about $T/fs
	case $1 in
	ext4) e2fsck -f -n "$T/fs" ;;
	xfs) xfs_repair -n "$T/fs" ;;
	btrfs) btrfs check --readonly "$T/fs" ;;
	ntfs) ntfsfix -n "$T/fs" ;;
	esac
}
hibernated() {	# FILE HEADER: an NTFS of 2 MiB, whose hiberfil.sys begins with this
	rm -f "$1"; truncate -s 2M "$1"
	{ printf "$2"; head -c 8188 /dev/zero; } > "$T/hiberfil"
	mkntfs -q -F -Q -p 0 -H 0 -S 0 "$1" > "$T/quiet" 2>&1 &&
	    ntfscp -q -f "$1" "$T/hiberfil" hiberfil.sys || fail "an NTFS: $(cat "$T/quiet")"
}
member() { json "$T/report" "$1"; }
