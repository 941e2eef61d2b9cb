#!/usr/bin/env bash
# imageunzip --fit: the usual layouts with real filesystems, on smaller and larger disks and on
# those with sectors of 4096 bytes; every file is the same, and boot sectors say their place.
# LAYOUTS=all: all of them (check-long), else two; SEEDS: so many random layouts, too.
. "$(dirname "$0")/resize_lib.sh"
requires sgdisk mkfs.vfat mcopy mkfs.exfat ntfs-3g.probe lvm debugfs
MIB=2048
BASIC=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7 MSR=E3C9E316-0B5C-4DB8-817D-F92DF00215AE
RECOVERY=DE94BBA4-06D1-4D40-A16A-BFD50179D6AC LVM=E6D6D379-F507-44C2-A23C-238F2A3DF928

number() { od -An -t"u$3" -j "$2" -N "$3" "$1" | tr -d ' '; }	# FILE BYTE BYTES
put_number() { python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(int(sys.argv[2]))
f.write(int(sys.argv[3]).to_bytes(int(sys.argv[4]), "little"))' "$@"; }	# FILE BYTE VALUE BYTES
fresh() { rm -f "$1"; truncate -s "$2" "$1"; }

# Filesystems are made once each, as $T/of.TYPE.MIB.
make() {	# TYPE MIB
	local f=$T/of.$1.$2 l
	[ ! -e "$f" ] || return 0
	case $1 in
	fat) fresh "$f" "$2M"; quietly mkfs.vfat -F 32 -s 1 "$f" && mcopy -i "$f" "$T/sums" :: || fail mkfs.vfat ;;
	fat4k) fresh "$f" "$2M"; quietly mkfs.vfat -F 16 -S 4096 -s 1 "$f" && mcopy -i "$f" "$T/sums" :: || fail mkfs.vfat ;;
	exfat) fresh "$f" "$2M"; quietly mkfs.exfat "$f" || fail mkfs.exfat ;;
	exfat_4k) fresh "$f" "$2M"; l=$(losetup -f --show --sector-size 4096 "$f"); CLEANUP+=("losetup -d $l 2> /dev/null")
		quietly mkfs.exfat "$l" || fail mkfs.exfat; sync "$l"; losetup -d "$l" ;;
	ntfs_4k) fresh "$T/fs" "$2M"; quietly mkntfs -q -F -Q -s 4096 "$T/fs" && mounted ntfs-3g rw fill && mv "$T/fs" "$f" || fail mkntfs ;;
	xfs_4k) fresh "$T/fs" "$2M"; mkfs.xfs -q -s size=4096 "$T/fs" && mounted xfs rw fill && mv "$T/fs" "$f" || fail mkfs.xfs ;;
	swap) fresh "$f" "$2M"; mkswap -q "$f" 2> "$T/quiet" || fail mkswap ;;
	ext4_4k) fresh "$f" "$2M"; quietly mke2fs -q -F -t ext4 -b 4096 -d "$T/files" "$f" || fail mke2fs ;;
	lvm) make_lvm "$f" "$2" ;;
	*) make_fs "$1" "$2M"; mv "$T/fs" "$f" ;;
	esac
}
# A physical volume with two logical ones, behind each other, which the extents are.
export LVM_SYSTEM_DIR=$T/lvm LVM_SUPPRESS_FD_WARNINGS=1
do_lvm() { lvm "$@" > "$T/quiet" 2>&1 || fail "$*: $(cat "$T/quiet")"; }
make_lvm() {	# FILE MIB
	local l
	mkdir -p "$T/lvm"
	printf '%s\n' 'devices { use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none"' \
	    'filter=[ "r|.*|" ] }' "global { activation=0 locking_dir=\"$T/lvm/lock\" event_activation=0 use_lvmpolld=0 }" \
	    'backup { backup=0 archive=0 }' > "$T/lvm/lvm.conf"
	make ext4 60
	fresh "$1" "$2M"; l=$(losetup --show -f "$1"); CLEANUP+=("losetup -d $l 2> /dev/null")
	do_lvm pvcreate -y --devices "$l" --dataalignment 1m "$l"
	do_lvm vgcreate --devices "$l" -s 4m "fit$OWN_NUMBER" "$l"
	do_lvm lvcreate --devices "$l" -y -an -Zn -Wn -L 60M -n root "fit$OWN_NUMBER"
	do_lvm lvcreate --devices "$l" -y -an -Zn -Wn -L 8M -n swap "fit$OWN_NUMBER"
	sync "$l"; losetup -d "$l"
	lay "$T/of.ext4.60" "$1" $((1 << 20))
}
# The group on $T/pv has both volumes as they were, and what an extent can have of so many MiB.
group_fills() {	# MIB
	local l volumes size
	l=$(losetup --show -f "$T/pv"); CLEANUP+=("losetup -d $l 2> /dev/null")
	volumes=$(lvm lvs --devices "$l" --noheadings --nosuffix --units b -o lv_name,lv_size 2> "$T/quiet" | xargs)
	size=$(lvm pvs --devices "$l" --noheadings --nosuffix --units b -o pv_size 2> "$T/quiet" | xargs)
	losetup -d "$l"
	echo "volumes: $volumes; $size bytes"
	[ "$volumes" = "root $((60 << 20)) swap $((8 << 20))" ] && [ "$size" -gt $((($1 - 6) << 20)) ]
}

# lay_out gpt|mbr TYPE:MIB:FS:FS-MIB...: $T/disk; a type L... is that of a logical partition
UNIT=1	# sectors of 512 bytes in one of the disk
declare -a FS START SIZE
lay_out() {
	local label=$1 at=$MIB lines='' type mib fs own s extended='' i=0; shift
	FS=() START=() SIZE=()
	for s; do
		IFS=: read -r type mib fs own <<< "$s"
		[ "${type#L}" = "$type" ] || { [ -n "$extended" ] || { extended=$at; lines+="start=$((at / UNIT)), size=EXTENDED, type=5"$'\n'; }; at=$((at + MIB)); }
		START[i]=$at SIZE[i]=$((mib * MIB)) FS[i]=$fs:$own
		lines+="start=$((at / UNIT)), size=$((mib * MIB / UNIT)), type=${type#L}"$'\n'
		at=$((at + mib * MIB)) i=$((i + 1))
	done
	SECTORS=$((at + MIB))
	fresh "$T/disk" $((SECTORS * 512))
	SOURCE=$T/disk
	if [ $UNIT = 8 ]; then
		SOURCE=$(losetup -f --show --sector-size 4096 "$T/disk") || fail losetup
		CLEANUP+=("losetup -d $SOURCE 2> /dev/null")
	fi
	printf 'label: %s\n%s' "${label/mbr/dos}" "${lines/EXTENDED/$(((at - ${extended:-0}) / UNIT))}" | sfdisk -q "$SOURCE" 2> "$T/quiet" || fail "sfdisk: $lines"
	sync "$SOURCE"
	for i in "${!FS[@]}"; do
		IFS=: read -r fs own <<< "${FS[i]}"
		[ "$fs" != - ] || continue
		make "$fs" "$own"; lay "$T/of.$fs.$own" "$T/disk" $((START[i] * 512))
		name_place "$T/disk" "$fs" "${START[i]}"
	done
}
# Let the boot sectors of a partition name its place, as Windows' formatter does.
name_place() {	# DISK TYPE SECTOR
	local at=$(($3 * 512)) bytes
	bytes=$(number "$1" $((at + 11)) 2)
	case $2 in
	fat) put_number "$1" $((at + 28)) "$3" 4; put_number "$1" $((at + 6 * 512 + 28)) "$3" 4 ;;
	fat4k) put_number "$1" $((at + 28)) $(($3 / 8)) 4 ;;
	ntfs | ntfs_4k) put_number "$1" $((at + 28)) $((at / bytes)) 4
		put_number "$1" $((at + $(number "$1" $((at + 40)) 8) * bytes + 28)) $((at / bytes)) 4 ;;
	exfat | exfat_4k) python3 - "$1" $at << 'END' ;;
import struct, sys
at, f = int(sys.argv[2]), open(sys.argv[1], "r+b")
f.seek(at)
bytes = 1 << f.read(512)[108]
for region in at, at + 12 * bytes:
    f.seek(region)
    b, total = bytearray(f.read(11 * bytes)), 0
    b[64:72] = struct.pack("<Q", at // bytes)
    for i, v in enumerate(b):
        if i not in (106, 107, 112):
            total = ((total >> 1 | total << 31) + v) & 0xffffffff
    f.seek(region)
    f.write(b + struct.pack("<I", total) * (bytes // 4))
END
	esac
}
# The table of a disk, in sectors of 512 bytes, without the extended partition: START SIZE
entries() {	# DISK UNIT
	sfdisk -d "$1" | sed -n 's/.*start= *\([0-9]*\), size= *\([0-9]*\), type=\([^,]*\).*/\1 \2 \3/p' |
	    while read -r a b type; do [ "$type" = 5 ] || echo "$((a * $2)) $((b * $2))"; done
}
# The volumes that $T/fs has by LVM's own tools.
volumes() {
	local l rc
	l=$(losetup --show -f "$T/fs"); CLEANUP+=("losetup -d $l 2> /dev/null")
	lvm lvs --devices "$l" --noheadings --nosuffix --units m --separator : -o vg_name,lv_name,lv_size,seg_start_pe 2> "$T/quiet" | tr -d ' '
	quietly lvm pvck --devices "$l" "$l"; rc=$?
	losetup -d "$l"
	return $rc
}
# Is all in a partition of the disk that was there?
check_part() {	# DISK FS:MIB FIRST SECTORS WHAT
	local fs own at=$(($3 * 512)) bytes copy
	IFS=: read -r fs own <<< "$2"
	rm -f "$T/fs"; truncate -s $(($4 * 512)) "$T/fs"; lay "$1" "$T/fs" 0 $at $(($4 * 512))
	case ${fs%_4k} in
	fat | fat4k) check "$5: the files" eval 'mcopy -i "$T/fs" ::sums - 2> "$T/quiet" | cmp - "$T/sums"' ;;
	ntfs) check "$5: the files" mounted ntfs-3g ro same_files ;;
	swap) check "$5: the swap" cmp -n 4096 "$T/of.$fs.$own" "$T/fs" ;;
	exfat) check "$5: is whole" quietly fsck.exfat -n "$T/fs" ;;
	lvm) check "$5: its volumes" [ "$(volumes | tr '\n' ' ')" = "fit$OWN_NUMBER:root:60.00:0 fit$OWN_NUMBER:swap:8.00:0 " ]
		mv "$T/fs" "$T/pv"
		[ "$4" -le "${SIZE[i]}" ] || check "$5: its volumes, and all of its room" group_fills $(($4 / MIB))
		truncate -s 60M "$T/fs"; lay "$T/pv" "$T/fs" 0 $((1 << 20)) $((60 << 20))
		check "$5: the root in it" mounted ext4 ro same_files ;;
	-) ;;
	*) check "$5: is whole" quietly whole "${fs%_4k}"; check "$5: the files" mounted "${fs%_4k}" ro same_files ;;
	esac
	case ${fs%_4k} in
	fat) check "$5: says its place" [ "$(number "$1" $((at + 28)) 4) $(number "$1" $((at + 6 * 512 + 28)) 4)" = "$3 $3" ] ;;
	fat4k) check "$5: says its place" [ "$(number "$1" $((at + 28)) 4)" = $(($3 / 8)) ] ;;
	ntfs) bytes=$(number "$1" $((at + 11)) 2) copy=$(number "$1" $((at + 40)) 8)
		check "$5: says its place" [ "$(number "$1" $((at + 28)) 4)" = $((at / bytes)) ]
		check "$5: its copy is where it says" cmp -n 512 -i "$at:$((at + copy * bytes))" "$1" "$1"
		if [ "$copy" = $(($4 * 512 / bytes - 1)) ]; then check "$5: is whole" quietly whole ntfs
		else check "$5: has the length that it had" [ "$copy" = "$(number "$T/of.$fs.$own" 40 8)" ]; fi ;;
	exfat) bytes=$((1 << $(number "$1" $((at + 108)) 1)))
		check "$5: says its place" [ "$(number "$1" $((at + 64)) 8) $(number "$1" $((at + 12 * bytes + 64)) 8)" = "$((at / bytes)) $((at / bytes))" ] ;;
	esac
}
check_disk() {	# DISK UNIT WHAT [DEVICE]
	local i=0 first sectors
	while read -r first sectors; do
		check_part "$1" "${FS[i]}" "$first" "$sectors" "$3, partition $((i + 1))"
		i=$((i + 1))
	done < <(entries "${4:-$1}" "$2")
	check "$3: all $i partitions" [ $i = ${#FS[@]} ]
	check "$3: the table is sound" eval '! sfdisk --verify "${4:-$1}" 2>&1 | grep -iq "corrupt\|mismatch\|beyond\|overlap\|invalid"'
}
fit_on() {	# SECTORS WHAT
	fresh "$T/new" $(($1 * 512))
	quietly "$BIN/imageunzip" -q --fit "$T/img" "$T/new" || { fail "$2: $(cat "$T/quiet")"; return; }
	check_disk "$T/new" 1 "$2"
	check "$2: less than 3 MiB are left over" [ $(($1 - $(entries "$T/new" 1 | awk '$1 + $2 > e { e = $1 + $2 } END { print e }'))) -lt $((3 * MIB)) ]
}
capture() { quietly "$BIN/imagezip" -q --fast "$SOURCE" "$T/img" || fail "imagezip: $(cat "$T/quiet")"; }
plan() {	# the least disk, as $LEAST
	fresh "$T/new" $((SECTORS * 512))
	"$BIN/imageunzip" --plan --json "$T/img" "$T/new" > "$T/plan" 2> "$T/quiet" || fail "--plan: $(cat "$T/quiet")"
	LEAST=$(json "$T/plan" least_sectors)
}
layout() {	# NAME SIZES lay_out's...
	local name=$1 sizes=$2 s n; shift 2
	echo "== $name"
	lay_out "$@"; capture; plan
	for s in $sizes; do
		case $s in
		none) fresh "$T/new" $(((LEAST - 1) * 512)); status 1 "$BIN/imageunzip" -q --fit "$T/img" "$T/new"
			check "$name: a sector too small" grep -q "need at least $LEAST " "$T/stderr"
			check "$name: nothing is written" [ "$(du -k "$T/new" | cut -f1)" = 0 ]; continue ;;
		least) n=$LEAST ;;
		smaller) n=$(((LEAST + SECTORS) / 2)) ;;
		smaller+1) n=$(((LEAST + SECTORS) / 2 + 1)) ;;
		larger) n=$((SECTORS * 2)) ;;
		largest) n=$((SECTORS * 43 / 10)) ;;
		esac
		fit_on "$n" "$name, $s"
	done
}
# Onto a disk with sectors of 4096 bytes: what has filesystems for smaller ones is refused.
on_4k() {	# NAME, or --refused NAME
	local loop refused=
	[ "$1" != --refused ] || { refused=1; shift; }
	fresh "$T/4k" $((SECTORS / 8 * 8 * 1024)); loop=$(losetup -f --show --sector-size 4096 "$T/4k") || { fail losetup; return; }
	CLEANUP+=("losetup -d $loop 2> /dev/null")
	if [ -n "$refused" ]; then
		status 1 "$BIN/imageunzip" -q --fit --convert "$T/img" "$loop"
		check "$1, 4Kn: refused, $(cat "$T/stderr")" grep -q "sectors of" "$T/stderr"
	else
		check "$1, 4Kn" quietly "$BIN/imageunzip" -q --fit --convert "$T/img" "$loop"
		sync "$loop"
		check_disk "$T/4k" 8 "$1, 4Kn" "$loop"
	fi
	losetup -d "$loop"
}

# A disk with sectors of 4096 bytes onto a larger one.
from_4k() {	# NAME lay_out's...
	local name=$1; shift
	echo "== $name"
	UNIT=8; lay_out "$@"; UNIT=1
	capture; losetup -d "$SOURCE"
	on_4k "$name"
}
# A layout by chance, on a disk by chance: each partition is what it was.
random() {	# SEED
	local parts=() i n mib label=gpt type
	RANDOM=$1
	[ $((RANDOM % 2)) = 0 ] || label=mbr
	n=$((2 + RANDOM % 5))
	for ((i = 0; i < n; i++)); do
		mib=$((1 + RANDOM % 12)) type=linux
		[ $label = gpt ] || { type=83; [ $i -lt 3 ] || type=L83; }
		case $((RANDOM % 3)) in
		0) parts+=("$type:$((8 + mib)):ext4:8") ;;
		1) parts+=("$type:$mib:swap:1") ;;
		2) parts+=("$type:$mib:-:") ;;
		esac
	done
	lay_out "$label" "${parts[@]}"; capture; plan
	fit_random "seed $1: ${parts[*]}" $((LEAST + (RANDOM * 32768 + RANDOM) % (SECTORS * 2)))
}
fit_random() {	# WHAT SECTORS
	local i=0 end=0 first sectors fs own
	fresh "$T/new" $(($2 * 512))
	quietly "$BIN/imageunzip" -q --fit "$T/img" "$T/new" || { fail "$1, on $2 sectors: $(cat "$T/quiet")"; return; }
	while read -r first sectors; do
		IFS=: read -r fs own <<< "${FS[i]}"
		case $fs in
		swap) cmp -n 4096 -i "0:$((first * 512))" "$T/of.swap.$own" "$T/new" ;;
		ext4) debugfs -R "cat a" "$T/new?offset=$((first * 512))" 2> "$T/quiet" | cmp - "$T/one/a" ;;
		esac || fail "$1, on $2 sectors: partition $i"
		[ "$first" -ge $end ] && [ "$sectors" -ge $((${own:-0} * MIB)) ] || fail "$1, on $2 sectors: $first $sectors"
		end=$((first + sectors)) i=$((i + 1))
	done < <(entries "$T/new" 1)
	[ $i = ${#FS[@]} ] || fail "$1, on $2 sectors: $i partitions"
}

if [ "${LAYOUTS:-}" != all ]; then
	layout "Windows 11" larger gpt U:36:fat:34 $MSR:16:-: $BASIC:90:ntfs:60 $RECOVERY:20:ntfs:20
	layout "Debian, GPT" "none smaller+1" gpt U:36:fat:34 linux:90:ext4:60 S:8:swap:8; on_4k --refused "Debian, GPT"
else
	every="none least smaller smaller+1 larger largest"
	layout "Windows 11" "$every" gpt U:36:fat:34 $MSR:16:-: $BASIC:120:ntfs:60 $RECOVERY:20:ntfs:20; on_4k --refused "Windows 11"
	layout "Windows, MBR" "$every" mbr 7:20:ntfs:20 7:120:ntfs:60; on_4k --refused "Windows, MBR"
	layout "Debian, GPT" "$every" gpt U:36:fat:34 linux:120:ext4:60 S:8:swap:8; on_4k --refused "Debian, GPT"
	layout "Debian, MBR" "$every" mbr 83:120:ext4:60 L82:8:swap:8; on_4k --refused "Debian, MBR"
	layout "Debian, MBR, blocks of 4 KiB" none mbr 83:90:ext4_4k:60 L82:8:swap:8; on_4k "Debian, MBR, blocks of 4 KiB"
	layout "LVM" "$every" gpt U:36:fat:34 linux:16:ext4:16 $LVM:120:lvm:80; on_4k --refused "LVM"
	layout "btrfs" "$every" gpt linux:400:btrfs:160 S:8:swap:8; on_4k "btrfs"
	layout "XFS" "$every" gpt U:36:fat:34 linux:500:xfs:320 S:8:swap:8
	layout "XFS alone" none gpt linux:500:xfs:320; on_4k --refused "XFS alone"
	layout "exFAT" "$every" gpt linux:90:ext4:60 $BASIC:20:exfat:20
	layout "exFAT alone" none gpt $BASIC:20:exfat:20; on_4k --refused "exFAT alone"
	from_4k "Windows 11" gpt U:36:fat4k:36 $MSR:16:-: $BASIC:90:ntfs_4k:60 $RECOVERY:20:ntfs_4k:20
	from_4k "Debian, MBR" mbr 83:90:ext4_4k:60 L82:8:swap:8
	from_4k "LVM" gpt U:36:fat4k:36 linux:16:ext4_4k:16 $LVM:120:lvm:80
	from_4k "XFS" gpt U:36:fat4k:36 linux:500:xfs_4k:320 S:8:swap:8
	from_4k "exFAT" gpt linux:90:ext4_4k:60 $BASIC:20:exfat_4k:20
	from_4k "ESP, ext4, swap" gpt U:36:fat4k:36 linux:90:ext4_4k:60 S:8:swap:8
fi
echo "== random layouts"
mkdir "$T/one"; random_bytes 3000000 1 > "$T/one/a"
fresh "$T/of.ext4.8" 8M; mke2fs -q -F -t ext4 -d "$T/one" "$T/of.ext4.8" || fail mke2fs
for ((seed = ${FROM:-1}; seed < ${FROM:-1} + ${SEEDS:-3}; seed++)); do random $seed; done
check "${SEEDS:-3} of them" [ "$seed" -gt 1 ]
finish
