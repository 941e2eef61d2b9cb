#!/usr/bin/env bash
# imageunzip --fit: the usual layouts on a disk of 512 GB, which imagezip --shrink makes small where it can, onto disks of
# 256 GB, a sector more, 1 TB and 2.2 TB, and on 1 TB with sectors of 4096 bytes; all of them sparse files.  Filesystems
# follow, are whole and have their files.  SIZES=all: all layouts (check-long), else one.
. "$(dirname "$0")/resize_lib.sh"
requires mkfs.vfat ntfs-3g.probe
GB512=1000215216 GB256=500118192 TB1=1953525168 TB2_2=4296875000	# sectors, as disks of these names have
BASIC=EBD0A0A2-B9E5-4433-87C0-68B6B72699C7 MSR=E3C9E316-0B5C-4DB8-817D-F92DF00215AE
RECOVERY=DE94BBA4-06D1-4D40-A16A-BFD50179D6AC

entries() { sfdisk -d "$1" 2> "$T/quiet" | sed -n 's/.*start= *\([0-9]*\), size= *\([0-9]*\), type=\([^,]*\).*/\1 \2 \3/p' | grep -v ' 5$'; }
# lay_out gpt|mbr TYPE:SECTORS:FS...: $T/disk; a type L... is that of a logical partition, - is the rest, but 2 GiB
lay_out() {
	local label=$1 at=2048 lines='' s type sectors fs; shift
	FS=()
	rm -f "$T/disk"; truncate -s $((GB512 * 512)) "$T/disk"
	for s; do
		IFS=: read -r type sectors fs <<< "$s"
		[ "$sectors" != - ] || sectors=$(((GB512 - at) / 2048 * 2048 - (4 << 20)))
		[ "${type#L}" = "$type" ] || { lines+="start=$at, size=$((sectors + 2048)), type=5"$'\n'; at=$((at + 2048)); }
		lines+="start=$at, size=$sectors, type=${type#L}"$'\n'
		FS+=("$fs")
		rm -f "$T/fs"; truncate -s $((sectors * 512)) "$T/fs"
		case $fs in
		fat) quietly mkfs.vfat -F 32 -h $at "$T/fs" ;;
		ntfs) quietly mkntfs -q -F -Q -p $at -H 16 -S 63 "$T/fs" && mounted ntfs-3g rw fill ;;
		swap) mkswap -q "$T/fs" 2> "$T/quiet" ;;
		-) ;;
		*) make_fs "$fs" $((sectors * 512)) ;;
		esac || fail "$fs: $(cat "$T/quiet")"
		lay "$T/fs" "$T/disk" $((at * 512)); rm "$T/fs"
		at=$((at + sectors))
	done
	printf 'label: %s\n%s' "${label/mbr/dos}" "$lines" | sfdisk -q "$T/disk" || fail sfdisk
	quietly "$BIN/imagezip" -q --fast --shrink "$T/disk" "$T/img" || fail "imagezip: $(cat "$T/quiet")"
	rm "$T/disk"
}
fit_on() {	# SECTORS WHAT
	local i=0 first sectors last=0
	rm -f "$T/new"; truncate -s $(($1 * 512)) "$T/new"
	quietly "$BIN/imageunzip" -q --fit "$T/img" "$T/new" || { fail "$2: $(cat "$T/quiet")"; return; }
	while read -r first sectors _; do
		rm -f "$T/fs"; truncate -s $((sectors * 512)) "$T/fs"; lay "$T/new" "$T/fs" 0 $((first * 512)) $((sectors * 512))
		case ${FS[i]} in
		fat) check "$2, partition $((i + 1)): is whole" quietly fsck.fat -n "$T/fs" ;;
		swap) check "$2, partition $((i + 1)): is swap space" [ "$(blkid -p -s TYPE -o value "$T/fs")" = swap ] ;;
		-) ;;
		*) check "$2, partition $((i + 1)): is whole" quietly whole "${FS[i]}"
			check "$2, partition $((i + 1)): the files" mounted "${FS[i]/ntfs/ntfs-3g}" ro same_files ;;
		esac
		# There is room for 32 bits.
		[ "${FS[i]}" != ntfs ] || check "$2, partition $((i + 1)): says its place" \
		    [ "$(od -An -tu4 -j 28 -N 4 "$T/fs" | tr -d ' ')" = $((first >> 32 ? 0 : first)) ]
		i=$((i + 1)) last=$((first + sectors))
	done < <(entries "$T/new")
	check "$2: all $i partitions, up to sector $last" [ $i = ${#FS[@]} -a $last -gt $(($1 > ${3:-$1} ? ${3:-$1} - 6144 : $1 - 6144)) ]
}
on_4k() {	# WHAT REFUSAL
	local loop
	rm -f "$T/new"; truncate -s $((TB1 * 512)) "$T/new"
	loop=$(losetup -f --show --sector-size 4096 "$T/new"); CLEANUP+=("losetup -d $loop 2> /dev/null")
	status 1 "$BIN/imageunzip" -q --fit --convert "$T/img" "$loop"
	check "$1, 4Kn: refused" grep -q "has sectors of 4096 bytes, and the .* filesystem of partition .* for sectors of at most" "$T/stderr"
	losetup -d "$loop"
}
too_small() {	# WHAT: onto 256 GB
	rm -f "$T/new"; truncate -s $((GB256 * 512)) "$T/new"
	status 1 "$BIN/imageunzip" -q --fit "$T/img" "$T/new"
	check "$1, 256 GB: refused" grep -q "need at least [0-9]* " "$T/stderr"
}
smaller() { fit_on $GB256 "$1, 256 GB"; fit_on $((GB256 + 1)) "$1, 256 GB and a sector"; }
larger() { fit_on $TB1 "$1, 1 TB"; fit_on $TB2_2 "$1, 2.2 TB" "${2:-}"; on_4k "$1"; }

echo "== Windows 11"
lay_out gpt U:204800:fat $MSR:32768:- $BASIC:-:ntfs $RECOVERY:1228800:ntfs
if [ "${SIZES:-}" = all ]; then smaller "Windows 11"; larger "Windows 11"; else fit_on $((GB256 + 1)) "Windows 11, 256 GB and a sector"; finish; fi
echo "== Windows, MBR"
lay_out mbr 7:204800:ntfs 7:-:ntfs; smaller "Windows, MBR"; larger "Windows, MBR" $((1 << 32))
echo "== Debian, GPT"
lay_out gpt U:1048576:fat linux:-:ext4 S:2097152:swap; smaller "Debian, GPT"; larger "Debian, GPT"
echo "== Debian, MBR"
lay_out mbr 83:-:ext4 L82:2097152:swap; smaller "Debian, MBR"; fit_on $TB1 "Debian, MBR, 1 TB"; fit_on $TB2_2 "Debian, MBR, 2.2 TB" $((1 << 32))
echo "== btrfs"
lay_out gpt linux:-:btrfs S:2097152:swap; smaller btrfs; fit_on $TB1 "btrfs, 1 TB"; fit_on $TB2_2 "btrfs, 2.2 TB"
echo "== XFS, which cannot be made smaller"
lay_out gpt U:1048576:fat linux:-:xfs S:2097152:swap; too_small XFS; larger XFS
finish
