#!/usr/bin/env bash
# A disk that was enlarged behind its table, as that of every cloud image: the space behind
# the table's old end is neither read nor stored, but for what is at the disk's new end.
. "$(dirname "$0")/lib.sh"
requires python3 sfdisk
for kind in gpt dos; do
	rm -f "$T/disk"; truncate -s 32M "$T/disk"
	printf 'label: %s\nstart=2048,size=20480\n' $kind | sfdisk -q "$T/disk" 2> "$T/quiet" || fail sfdisk
	truncate -s 3G "$T/disk"
	printf 'what nobody asked for' | dd of="$T/disk" bs=1M seek=1500 conv=notrunc status=none
	endings make "$T/disk" uboot
	"$BIN/imagezip" --json "$T/disk" "$T/x.ndz" > "$T/json" 2> "$T/said" || fail imagezip
	check "$kind: it is not stored" json "$T/json" "data_bytes<$((40000 * 512))"
	check "$kind: that is said" grep -q "GB outside of partitions was not examined and is left out" "$T/said"
	check "$kind: and that data was seen there" \
	    grep -q "warning: data lies outside.* at sector 3072000; this was a" "$T/said"
	check "$kind: but for the end" \
	    json "$T/json" "tail[#]=1" "tail[0].stored_sectors=256"
	check "$kind: how much was not looked at" json "$T/json" "outside_unexamined_sectors>$(((3 << 21) - 100000))" "outside_unexamined_sectors<$((3 << 21))"
	"$BIN/imageunzip" -q "$T/x.ndz" "$T/new"
	check "$kind: both ends are there" cmp -s <(head -c 32M "$T/disk"; tail -c 16M "$T/disk") <(head -c 32M "$T/new"; tail -c 16M "$T/new")
	check "$kind: not what is between them" cmp -s -n 1M -i $((1500 << 20)):0 "$T/new" /dev/zero
	# The table's backup is its own, wherever it lies: that a larger disk needs.
	rm -f "$T/target"; truncate -s 40M "$T/target"; "$BIN/imageunzip" --in-place "$T/x.ndz" "$T/target" 2> "$T/said"
	check "$kind: a disk that is large enough for the table" [ $? = 0 ]
	check "$kind: is told what is left out" grep -q "the end of the image's disk, which had 6291456 sectors, is left out" "$T/said"
	check "$kind: its table is whole" cmp -s -n 32M "$T/disk" "$T/target"
done
finish
