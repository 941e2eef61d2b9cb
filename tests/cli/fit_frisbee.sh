#!/usr/bin/env bash
# frisbee --fit: two nodes with disks of different sizes, in one session, each fit the image to their own disk; and dolly.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires sfdisk sgdisk mkfs.ext4
. "$(dirname "$0")/unicast_lib.sh"
truncate -s 40M "$T/disk"
printf 'label: gpt\nstart=2048, size=40960\nstart=43008, size=20480, type=S\n' | sfdisk -q "$T/disk"
mkdir "$T/files"; head -c 3000000 /dev/zero | tr '\0' 'a' > "$T/files/a"
truncate -s 20M "$T/root"; mkfs.ext4 -q -F -b 1024 -d "$T/files" "$T/root"; truncate -s 10M "$T/swap"; mkswap -q "$T/swap"
dd if="$T/root" of="$T/disk" bs=512 seek=2048 conv=notrunc,sparse status=none
dd if="$T/swap" of="$T/disk" bs=512 seek=43008 conv=notrunc,sparse status=none
"$BIN/imagezip" -q "$T/disk" "$T/disk.ndz" 2> "$T/log" || fail "imagezip: $(cat "$T/log")"

# The length of the ext4 in $T/part, which has blocks of 1 KiB.
fs_sectors() { echo $((2 * $(dumpe2fs -h "$T/part" 2> /dev/null | sed -n 's/^Block count: *//p'))); }

truncate -s 60M "$T/one"; truncate -s 200M "$T/two"; truncate -s 30M "$T/small"
serve "$T/disk.ndz"
pids=()
for d in one two; do frisbee --fit "$T/$d" 2> "$T/$d.said" & pids[${#pids[@]}]=$!; done
for p in "${pids[@]}"; do wait "$p" || fail "a node: $(cat "$T/one.said" "$T/two.said")"; done
frisbee --fit "$T/small" 2> "$T/small.said"; rc=$?
check "a disk that is too small is refused: $rc, $(cat "$T/small.said")" grep -q "do not fit.*--shrink" "$T/small.said"
check "and left alone" [ "$(du -k "$T/small" | cut -f1)" = 0 ]
truncate -s 200M "$T/dry"
frisbee --dry-run --json --fit "$T/dry" > "$T/dry.json" 2> "$T/dry.said" || fail "--dry-run: $(cat "$T/dry.said")"
served
check "a rehearsal has the new places" json "$T/dry.json" \
	"partitions[1].first_sector=$(sfdisk -J "$T/two" | json - 'partitiontable.partitions[1].start')"
check "and writes nothing" [ "$(du -k "$T/dry" | cut -f1)" = 0 ]

# A chain of two nodes of dolly does the same.
truncate -s 80M "$T/three"; truncate -s 120M "$T/four"
port=$((20000 + OWN_NUMBER % 12000)) pids=()
"$BIN/dolly" serve --wait 2 --linger 0 -p $port "$T/disk.ndz" > "$T/table" 2> "$T/log" & server=$!
begins $server grep -q serving "$T/log" || fail "dolly: $(cat "$T/log")"
for d in three four; do
	timeout 240 "$BIN/dolly" join -q --fit 127.0.0.1:$port "$T/$d" 2> "$T/$d.said" &
	pids[${#pids[@]}]=$!
done
for p in "${pids[@]}"; do wait "$p" || fail "dolly: $(cat "$T/three.said" "$T/four.said")"; done
wait $server; check "dolly serve ends" [ $? = 0 ]

for d in one two three four; do
	check "$d: the table is sound" sh -c "sgdisk -v '$T/$d' | grep -q 'No problems found'"
	swap=$(sfdisk -J "$T/$d" | json - 'partitiontable.partitions[1].start') size=$(sfdisk -J "$T/$d" | json - 'partitiontable.partitions[0].size')
	check "$d: the swap moved, to $swap" cmp <(dd if="$T/disk" bs=512 skip=43008 count=20480 status=none) \
		<(dd if="$T/$d" bs=512 skip="$swap" count=20480 status=none)
	check "$d: the root grew, to $size" [ "$size" -gt 60000 ]
	dd if="$T/$d" of="$T/part" bs=512 skip=2048 count="$size" conv=sparse status=none
	check "$d: is whole" quietly e2fsck -fn "$T/part"
	[ "$(id -u)" != 0 ] || check "$d: its filesystem has grown, too: $(fs_sectors)" \
	    [ "$(fs_sectors)" -gt $((size - 2048)) ]
	rm "$T/part"
done
finish
