#!/usr/bin/env bash
# A disk without any other place for the sector table is shown as a shorter one in front of it: MBR and GPT.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs e2fsck
U=$TOP/tests/helpers/nbd_stream.py SECTORS=49152 SHOWN=49104	# the table has 6 frames of 4 KiB
mkdir "$T/files"; cp -r "$TOP/docs" "$T/files"; head -c 3000000 /dev/urandom > "$T/files/random"
# disk LABEL BEGIN SECTORS: a disk with one partition, an ext4, and its image.
disk() {
	rm -f "$T/sda" "$T/fs"; truncate -s $((SECTORS * 512)) "$T/sda"; truncate -s $(($3 * 512)) "$T/fs"
	{ echo "label: $1"; [ "$1" = dos ] || echo "first-lba: 34"; echo "start=$2, size=$3"; } | sfdisk -q "$T/sda" || fail sfdisk
	mke2fs -q -F -t ext4 -d "$T/files" "$T/fs" || fail mke2fs
	dd if="$T/fs" of="$T/sda" bs=512 seek=$2 conv=notrunc status=none
	"$BIN/imagezip" -q "$T/sda" "$T/sda.ndz" || fail imagezip
	poison "$T/disk" $((SECTORS * 512))
}
copied() { rm -f "$T/copied"; nbdcopy "nbd+unix:///?socket=$T/sock" "$T/copied"; }
# in_order DISK: its table is whole, for a disk of its size, and its filesystem is in order.
in_order() {
	sfdisk --verify "$1" > "$T/verify" 2>&1 || { cat "$T/verify"; return 1; }
	! grep -i "mismatch\|corrupt\|not on the end" "$T/verify" && quietly e2fsck -fn "$1?offset=$((BEGIN * 512))"
}
for kind in dos:8:49084 gpt:40:49016; do
	IFS=: read -r label BEGIN size <<< "$kind"
	disk "$label" "$BEGIN" "$size"
	serve disk fill=no
	check "$label: said: $(head -n 1 "$T/nbd.log")" grep -q "shown with $SHOWN sectors instead of $SECTORS" "$T/nbd.log"
	check "$label: the disk is shorter" [ "$(nbdinfo --size "nbd+unix:///?socket=$T/sock")" = $((SHOWN * 512)) ]
	marked
	python3 "$U" write "$T/sock" $(((BEGIN + size - 1) * 512)) "at the end of the partition"
	kill -9 $server; wait $server 2> /dev/null
	cp "$T/disk" "$T/disk.long"; truncate -s $((SHOWN * 512)) "$T/disk"; cp "$T/disk" "$T/disk.was"
	refused "no sector table begins at byte $((SHOWN * 512))\|is too small" "$T/sda.ndz" disk="$T/disk"
	check "$label: a disk that has become shorter is not written to" cmp "$T/disk" "$T/disk.was"
	mv "$T/disk.long" "$T/disk"
	serve disk fill=no
	check "$label: after a restart it is as long" [ "$(nbdinfo --size "nbd+unix:///?socket=$T/sock")" = $((SHOWN * 512)) ]
	check "$label: copied" copied
	check "$label: what is shown is in order" in_order "$T/copied"
	check "$label: what was written is there" [ "$(tail -c +$(((BEGIN + size - 1) * 512 + 1)) "$T/copied" | head -c 27 | tr -d "\0")" = "at the end of the partition" ]
	stop
	check "$label: complete" cmp -n $((SHOWN * 512)) "$T/disk" "$T/copied"
	serve disk fill=no; stop
	check "$label: it is known" grep -q "is complete already" "$T/nbd.log"
	if [ "$label" = gpt ]; then
		check "its backup is where it was shown" [ "$(tail -c +$(((SHOWN - 1) * 512 + 1)) "$T/disk" | head -c 8)" = "EFI PART" ]
		sfdisk -q --relocate gpt-bak-std "$T/disk" > "$T/moved" 2>&1 || fail "sfdisk moves the backup: $(cat "$T/moved")"
	fi
	check "$label: a plain disk" in_order "$T/disk"
done
# What lies in that place has an owner, whose disk is as long as it is; unknown data is
# not shown, and that is said.
rm -f "$T/sda"; truncate -s $((SECTORS * 512)) "$T/sda"
{ echo "label: dos"; echo "start=8, size=49084"; } | sfdisk -q "$T/sda" || fail sfdisk
cp "$T/sda" "$T/bare"; endings make "$T/sda" vhd
"$BIN/imagezip" -q "$T/sda" "$T/sda.ndz" || fail imagezip
poison "$T/disk" $((SECTORS * 512))
refused "the end of the disk, where the image has a VHD footer" "$T/sda.ndz" \
    disk="$T/disk"
check "nothing was written" \
    cmp "$T/disk" <(head -c $((SECTORS * 512)) /dev/zero | tr '\0' '\245')
mv "$T/bare" "$T/sda"
printf x | dd of="$T/sda" bs=512 seek=$((SECTORS - 1)) conv=notrunc status=none
"$BIN/imagezip" -q "$T/sda" "$T/sda.ndz" || fail imagezip
serve disk fill=no; stop
check "unknown data: that is said" grep -q \
    "unknown data, which the image has at the end of the disk, is left out" "$T/nbd.log"
# A partition that reaches into the place is no reason to write there.
disk dos 8 49104
refused "no place for the sector table" "$T/sda.ndz" disk="$T/disk"
check "nothing was written" \
    cmp "$T/disk" <(head -c $((SECTORS * 512)) /dev/zero | tr '\0' '\245')
finish
