#!/usr/bin/env bash
# -x leaves out what lies behind a filesystem in its partition, but not the metadata that
# is recognised there: the superblock of a mirror, of DRBD, a verity tree.
. "$(dirname "$0")/lib.sh"
requires python3 sfdisk mke2fs
MB=1048576
PART=$((20 * MB))
truncate -s $((24 * MB)) "$T/plain"
printf 'label: dos\nstart=2048,size=%s,type=83\n' $((PART / 512)) | sfdisk -q "$T/plain" || fail sfdisk
mke2fs -q -F -E offset=$MB "$T/plain" 4m 2> "$T/quiet" || fail mke2fs
stored() { "$BIN/imagezip" -q -i --json -s 1 "$@" "$T/disk" | json - stored_sectors; }
cp "$T/plain" "$T/disk"
check "nothing there: all of it is left out" [ $(($(stored) - $(stored -x))) = $(((PART - 4 * MB) / 512)) ]
while read -r kind bytes; do
	cp "$T/plain" "$T/disk"; endings make "$T/disk" $kind $MB $PART
	check "$kind: what is in front of it is left out" [ $(($(stored) - $(stored -x))) = $(((PART - 4 * MB - bytes) / 512)) ]
	"$BIN/imagezip" -q -x -s 1 "$T/disk" "$T/x.ndz"; "$BIN/imageunzip" -q "$T/x.ndz" "$T/part"
	check "$kind: it is there" cmp -s <(tail -c $bytes "$T/part") <(head -c $((MB + PART)) "$T/disk" | tail -c $bytes)
done << 'KINDS'
md1 73728
md0 65536
drbd 131072
geom 512
KINDS
if command -v veritysetup > /dev/null; then
	truncate -s $PART "$T/fs"; mke2fs -q -F "$T/fs" 4m 2> "$T/quiet" || fail mke2fs
	veritysetup format --data-blocks=1024 --data-block-size=4096 --hash-offset=$((4 * MB)) "$T/fs" "$T/fs" > "$T/verity" || fail veritysetup
	"$BIN/imagezip" -q -x -l "$T/fs" "$T/x.ndz"; "$BIN/imageunzip" -q "$T/x.ndz" "$T/part"
	check "a verity tree" quietly veritysetup verify --hash-offset=$((4 * MB)) "$T/part" "$T/part" "$(sed -n 's/^Root hash:[ \t]*//p' "$T/verity")"
else echo "no veritysetup: left out"; fi
finish
