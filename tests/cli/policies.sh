#!/usr/bin/env bash
# What of a disk is stored beside filesystems, limits, boot images, the estimate.
. "$(dirname "$0")/lib.sh"
requires sfdisk mke2fs e2fsck
info() { "$BIN/imagezip" -q -i --json "$@" "$T/disk"; }

# Partitions of 16384 sectors at 8192 and 32768: gaps of 6144, 8192, and 32768 at the end.
for kind in dos gpt; do
	truncate -s 0 "$T/disk"; truncate -s $((81920 * 512)) "$T/disk"
	printf 'label: %s\nstart=8192,size=16384\nstart=32768,size=16384\n' $kind | sfdisk -q "$T/disk" 2> "$T/quiet" || fail sfdisk
	usual=$(info | json - stored_sectors)
	outside=$(info --outside=store | json - stored_sectors)
	gaps=$(info --gaps=skip | json - stored_sectors)
	check "$kind: outside is skipped: $usual, $outside" [ $((outside - usual)) -gt 32000 ]
	check "$kind: all is stored with --outside=store" [ "$outside" = 81920 ]
	check "$kind: --gaps=skip leaves out the gap: $gaps" [ $((usual - gaps)) = 8192 ]
	check "$kind: the default" [ "$(info --outside=skip --gaps=store | json - stored_sectors)" = "$usual" ]
done

# Boot loaders of boards, 8 KiB and 8 MiB from the beginning; what is further on is free.
for kind in dos gpt; do
	rm -f "$T/disk"; truncate -s 64M "$T/disk"
	printf 'label: %s\nstart=65536,size=16384\n' $kind | sfdisk -q "$T/disk" 2> "$T/quiet" || fail sfdisk
	for at in 128 16384 32767 32768 40000; do printf 'loader %s' $at | dd of="$T/disk" bs=512 seek=$at conv=notrunc status=none; done
	check "$kind: with boot loaders" "$BIN/imagezip" -q -F 0 "$T/disk" "$T/x.ndz"
	poison "$T/target" $((64 << 20)); "$BIN/imageunzip" -q --in-place "$T/x.ndz" "$T/target"
	check "$kind: they are there" cmp -n $((32768 * 512)) "$T/disk" "$T/target"
	check "$kind: what follows is not" cmp -n $((32768 * 512)) -i 16M:0 "$T/target" <(tr '\0' '\245' < /dev/zero | head -c 16M)
done
rm -f "$T/disk"

# A file of a disk with sectors of 4096 bytes: its table read in sectors of 512 would lead
# to the first eighth, and the filesystem be "behind the last partition".
rm -f "$T/disk"; truncate -s 160M "$T/disk"
printf 'label: dos\nstart=256,size=4000\nstart=5000,size=3000\n' | sfdisk -q "$T/disk" 2> "$T/quiet" || fail sfdisk
check "no filesystem: taken as it is" quietly "$BIN/imagezip" -q -i "$T/disk"
mke2fs -q -F -t ext4 -E offset=$((5000 * 4096)) "$T/disk" 8m 2> "$T/quiet" || fail mke2fs
for how in "--disk" "-s 1"; do	# both would store the wrong sectors
	status 1 "$BIN/imagezip" -q $how "$T/disk" "$T/x.ndz"
	check "$how: says so" grep -q "sectors of 4096 bytes: partition 2 has its filesystem at byte 20480000" "$T/stderr"
done
# Installed into such a partition, it would be written over something else.
truncate -s 1M "$T/small"; mke2fs -q -F "$T/small" 2> "$T/quiet"; "$BIN/imagezip" -q -l "$T/small" "$T/small.ndz" || fail imagezip
cp "$T/disk" "$T/was"
for run in "imageunzip -q -s 1 $T/small.ndz" "imageunzip -q --status -s 1" "imagehash -q -s 1 $T/small.ndz"; do
	status 1 "$BIN/"$run "$T/disk"
	check "$run: says so" grep -q "sectors of 4096 bytes: partition 2" "$T/stderr"
done
check "it is untouched" cmp "$T/was" "$T/disk"; rm -f "$T/was"
mke2fs -q -F -t ext4 -E offset=$((256 * 512)) "$T/disk" 1m 2> "$T/quiet" || fail mke2fs
check "filesystems at both places: 512" quietly "$BIN/imagezip" -q -i "$T/disk"
check "installed there" "$BIN/imageunzip" -q -s 1 "$T/small.ndz" "$T/disk"
rm -f "$T/disk"

# -x: what is behind a filesystem.
truncate -s 20M "$T/fs"; mke2fs -q -F -t ext4 "$T/fs" 16m 2> /dev/null
cp "$T/fs" "$T/disk"
with=$(info -l | json - stored_sectors); without=$(info -l -x | json - stored_sectors)
check "-x: 4 MiB less" [ $((with - without)) = 8192 ]

# -A
head -c 5M /dev/urandom > "$T/data"
check "-A 5: five MiB are not too much" "$BIN/imagezip" -q -A 5 -r "$T/data" "$T/x.ndz"
rm -f "$T/x.ndz"
status 1 "$BIN/imagezip" -q -A 4 -r "$T/data" "$T/x.ndz"
check "nothing is written" [ ! -e "$T/x.ndz" ]

# The estimate against the image.
truncate -s 48M "$T/disk"; mkdir "$T/files"; cp "$T/data" "$T/files/a"; seq 900000 > "$T/files/b"
mke2fs -q -F -t ext4 -d "$T/files" "$T/disk"
for codec in deflate igzip zstd; do
	"$BIN/imagezip" --codec=$codec "$T/disk" "$T/x.ndz" 2> "$T/quiet" || { echo "no $codec: left out"; continue; }
	is=$(stat -c %s "$T/x.ndz"); said=$(info --codec=$codec | json - estimated_image_bytes)
	check "$codec: $said estimated, $is bytes" [ $((said * 10)) -gt $((is * 6)) -a $((said * 10)) -lt $((is * 16)) ]
done
info > "$T/json"
is=$(json "$T/json" "partitions[0].estimated_image_bytes") said=$(json "$T/json" estimated_image_bytes)
check "the same by partition" [ $((is - said)) -lt 1048576 -a $((said - is)) -lt 1048576 ]
used=$(json "$T/json" "partitions[0].used_sectors") skipped=$(json "$T/json" "partitions[0].skipped_sectors")
check "used and skipped are all" json "$T/json" "sectors=$((used + skipped))"

# -b, -n: letters for -S.
check "-n" [ "$(info -n | json - "partitions[0].filesystem")" = ext4 ]
check "-b" [ "$(info -b | json - "partitions[0].filesystem")" = ext4 ]

echo "== boot images"
mkdir "$T/few"; head -c 3M "$T/files/b" > "$T/few/b"
boot_image() {	# KIND: partitions 1 EFI, 2 data, 3 root, from $T/disk
	check "$1: -B 3" "$BIN/imagezip" -q -B 3 "$T/disk" "$T/x.ndz"
	poison "$T/target" $((81920 * 512)); "$BIN/imageunzip" -q --in-place "$T/x.ndz" "$T/target"
	sfdisk -d "$T/target" 2> "$T/said" | grep start= | sed 's/.*target//;s/ : / /' > "$T/is"
	sfdisk -d "$T/disk" | grep start= | sed 's/.*disk//;s/ : / /' | sed 2d > "$T/want"
	check "$1: the table has two partitions, as they were" cmp "$T/want" "$T/is"
	check "$1: and is whole: $(cat "$T/said")" [ ! -s "$T/said" ]
	[ "$1" = dos ] || ! command -v sgdisk > /dev/null || check "$1: sgdisk finds no fault" grep -q "No problems found" <(sgdisk -v "$T/target")
	check "$1: EFI partition" cmp -n $((4096 * 512)) -i $((2048 * 512)) "$T/disk" "$T/target"
	check "$1: root" quietly e2fsck -fn "$T/target?offset=$((40960 * 512))"
	check "$1: nothing of the data" cmp -n $((16384 * 512)) -i $((16384 * 512)):0 "$T/target" <(head -c 8388608 /dev/zero | tr '\0' '\245')
	check "$1: the source's table is as it was" [ "$(sfdisk -d "$T/disk" | grep -c start=)" = 3 ]
}
for kind in dos gpt; do
	truncate -s 0 "$T/disk"; truncate -s $((81920 * 512)) "$T/disk"
	efi=ef; [ $kind = dos ] || efi=C12A7328-F81F-11D2-BA4B-00A0C93EC93B
	printf "label: $kind\nstart=2048,size=4096,type=$efi\nstart=16384,size=16384\nstart=40960,size=24576\n" | sfdisk -q "$T/disk" 2> "$T/quiet" || fail sfdisk
	head -c 2M /dev/urandom | dd of="$T/disk" bs=512 seek=2048 conv=notrunc status=none
	mke2fs -q -F -t ext4 -E offset=$((40960 * 512)),nodiscard -d "$T/few" "$T/disk" 12m 2> /dev/null || fail mke2fs
	dd if=/dev/urandom of="$T/disk" bs=512 seek=16384 count=16384 conv=notrunc status=none
	boot_image $kind
done
status 1 "$BIN/imagezip" -q -B 9 "$T/disk" "$T/y.ndz"
finish
