#!/usr/bin/env bash
# The layouts of the device mapper and of md: a machine makes them, as mapper_guest says,
# with a thin pool, a cache of another disk, a mirror and a snapshot of LVM, and md of
# versions 1.0, 1.1 and 1.2.  Their disks are captured, while they run and when they are
# stopped, and installed on other disks, on larger ones by --grow and growfs, and by
# --shrink; then another machine starts the layouts from these, and has every file.
# Only unpacked: its rules would start the arrays of other tests here.
vm_prepare() {
	[ -x "$TOP/build/deb-mdadm/sbin/mdadm" ] ||
		"$TOP/scripts/deps" unpack-package mdadm "$TOP/build/deb-mdadm" || true
}
. "$(dirname "$0")/lib.sh"
MDADM=$TOP/build/deb-mdadm
[ -x "$MDADM/sbin/mdadm" ] || skip "the package mdadm cannot be fetched"
requires lvm thin_check cache_check e2fsck mke2fs sfdisk nbdkit nbdfuse setpriv unshare
MIB=128
DISKS=(a b c d e f g h i j k l m n)	# and o, for images
declare -A OF=([thin]=a [cache]="b c" [mirror]="d e" [snap]=f [md0]="g h" [md1]="i j"
	[md2]="k l" [md3]="m n")
vm_accel
vm_ramdisk "$TOP/tests/vm/mapper_guest" "$BIN"/{imagezip,imageunzip,imagedump,growfs} \
    lvm thin_check cache_check e2fsck mke2fs "$MDADM/sbin/mdadm" <<- 'I'
	drivers/md/dm-thin-pool.ko
	drivers/md/dm-cache.ko
	drivers/md/dm-cache-smq.ko
	drivers/md/dm-raid.ko
	drivers/md/dm-snapshot.ko
	drivers/md/raid0.ko
	drivers/md/raid1.ko
	drivers/block/virtio_blk.ko
	drivers/virtio
	fs/ext4
	crypto/crc32c_generic.ko
I
machine() {	# NAME FOLDER WORDS: with the disks in this folder; others are empty
	local d
	DRIVES=()
	for d in "${DISKS[@]}" o; do
		[ -e "$2/$d" ] || truncate -s 1M "$2/$d"
		vm_drive "$2/$d"
	done
	vm_guest "$1" "$3" -m 768
	vm_guest_is_good "$1" "${VM_SECONDS:-240}" MAPPER
}

echo "== they are made"
mkdir "$T"/{made,running,same,grown,shrunk,images}
truncate -s 512M "$T/made/o"; mke2fs -q -F -t ext4 "$T/made/o" || fail mke2fs
for d in "${DISKS[@]}"; do truncate -s ${MIB}M "$T/made/$d"; done
table() { sfdisk -q "$T/made/$1" || fail "sfdisk $1"; }
printf 'label: gpt\nstart=2048, size=16384\nstart=18432\n' | table a
for d in b g h i j l; do printf 'label: gpt\nstart=2048\n' | table $d; done
for d in e f; do printf 'label: dos\nstart=2048\n' | table $d; done
machine made "$T/made" STAGE=make

said() { echo "   $1: $(tr '\n' '|' < "$T/said")"; }
image() {	# NAME DISK OPTIONS...
	"$BIN/imagezip" "${@:3}" "$T/made/$2" "$T/images/$1-$2.ndz" > "$T/said" 2>&1
}
# On what held something else; what is longer than the source's disk is zeros.
onto() {	# NAME DISK MIB OPTIONS...
	poison "$T/$1/$2" $((MIB << 20))
	truncate -s "$3"M "$T/$1/$2"
	"$BIN/imageunzip" --in-place "${@:4}" "$T/images/$1-$2.ndz" "$T/$1/$2" \
		> "$T/said" 2>&1
}
all_of() { local l IFS=,; echo "${!OF[*]}"; }

echo "== captured while they ran"
for d in "${DISKS[@]}"; do
	i=running-$d.ndz
	debugfs -R "dump $i $T/images/$i" "$T/made/o" 2> "$T/quiet"
	onto running $d $MIB || fail "imageunzip of $d: $(cat "$T/said")"
done
machine running "$T/running" "STAGE=look LAYOUTS=$(all_of)"

echo "== captured and installed"
for d in "${DISKS[@]}"; do
	image same $d || fail "imagezip of $d: $(cat "$T/said")"; said $d
	onto same $d $MIB || fail "imageunzip of $d: $(cat "$T/said")"
done
machine same "$T/same" "STAGE=look LAYOUTS=$(all_of)"

echo "== on larger disks"
for d in "${DISKS[@]}"; do
	ln "$T/images/same-$d.ndz" "$T/images/grown-$d.ndz"
	onto grown $d $((2 * MIB)) --grow || fail "--grow of $d: $(cat "$T/said")"
	said $d
	case $d in	# metadata at the end of a partition stays at its end
	[gh]) check "$d: it is not" grep -q "RAID .*: .* is not grown" "$T/said" ;;
	[abefijl]) check "$d: it is" grep -q "partition [12] grew from" "$T/said" ;;
	esac
	"$BIN/growfs" "$T/grown/$d" > "$T/said" 2>&1; status=$?
	want=4	# a group that is on this disk alone grows
	[[ $d != [af] ]] || want=0
	check "growfs $d: $(cat "$T/said")" [ $status = $want ]
done
# The superblock of version 1.0 is looked for at the end of a disk of this size alone.
truncate -s ${MIB}M "$T"/grown/[mn]
machine grown "$T/grown" "STAGE=look GROWN=$MIB LAYOUTS=$(all_of)"

echo "== by --shrink"
layouts=
for l in "${!OF[@]}"; do
	some=$l
	for d in ${OF[$l]}; do
		if image shrunk $d --shrink --margin=0; then
			said $d
			"$BIN/imageunzip" -q "$T/images/shrunk-$d.ndz" "$T/shrunk/$d" ||
				fail "imageunzip of $d"
		else
			echo "   $d: refused: $(cat "$T/said")"; some=
		fi
	done
	layouts=$layouts${some:+${layouts:+,}$some}
done
machine shrunk "$T/shrunk" "STAGE=look LAYOUTS=$layouts"
finish
