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

echo "== logical partitions, which chunks of the middle describe"
mbr=$T/mbr first=$T/root
truncate -s 60M "$mbr"
printf 'label: dos\nstart=2048, size=81920, type=83\nstart=83968, type=5\nstart=86016, size=4096, type=82
start=92160, size=20480, type=83\n' | sfdisk -q "$mbr"
random_bytes 9000000 1 > "$T/files/b"; random_bytes 5000000 2 > "$T/more"
rm "$first"; truncate -s 40M "$first"; mkfs.ext4 -q -F -d "$T/files" "$first"
lay_at() { dd if="$1" of="$mbr" bs=512 seek="$2" conv=notrunc,sparse status=none; }
lay_at "$first" 2048; rm "$T/swap"; truncate -s 2M "$T/swap"; mkswap -q "$T/swap"; lay_at "$T/swap" 86016
mkdir "$T/last"; mv "$T/more" "$T/last"; truncate -s 10M "$T/home"; mkfs.ext4 -q -F -d "$T/last" "$T/home"
lay_at "$T/home" 92160
"$BIN/imagezip" -q "$mbr" "$mbr.ndz" 2> "$T/log" || fail "imagezip: $(cat "$T/log")"
check "the image has several chunks" [ "$("$BIN/imagedump" --json "$mbr.ndz" | json - '[0].chunks')" -gt 8 ]
truncate -s 90M "$T/by-file" "$T/by-net"
"$BIN/imageunzip" -q --no-follow --fit "$mbr.ndz" "$T/by-file" 2> "$T/log" || fail "imageunzip: $(cat "$T/log")"
serve "$mbr.ndz"
frisbee --no-follow --fit "$T/by-net" 2> "$T/log" || fail "frisbee: $(cat "$T/log")"
served
check "frisbee makes the same of it as imageunzip" cmp "$T/by-file" "$T/by-net"
check "swap moved" [ "$(sfdisk -J "$T/by-net" | json - 'partitiontable.partitions[2].start')" -gt 86016 ]
finish
