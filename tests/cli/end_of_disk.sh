#!/usr/bin/env bash
# What lies behind the last partition: kept, written to a disk of the same size, left out
# of others or moved.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires python3 sfdisk mke2fs
SERVER=
CLEANUP+=('[ -z "$SERVER" ] || kill $SERVER 2> /dev/null')
MB=1048576
PART=$((22 * MB)) SIZE=$((40 * MB))	# the partition ends behind the boot loader's space
new_disk() { rm -f "$1"; truncate -s "${2:-$SIZE}" "$1"; printf 'label: dos\nstart=2048,size=%s,type=83\n' $((PART / 512 - 2048)) | sfdisk -q "$1" || fail sfdisk; }
new_disk "$T/plain"
mke2fs -q -F -E offset=$MB "$T/plain" 4m 2> "$T/quiet" || fail mke2fs
head -c 3M /dev/urandom | dd of="$T/plain" bs=1M seek=8 conv=notrunc status=none	# several chunks
# same_end A B BYTES: they end with the same bytes.
same_end() { cmp -s <(tail -c "$3" "$1") <(tail -c "$3" "$2"); }
onto() {	# SIZE OPTIONS...: onto a poisoned disk
	poison "$T/target" "$1"
	"$BIN/imageunzip" --json --in-place "${@:2}" "$T/i.ndz" "$T/target" > "$T/json" 2> "$T/said"
}
says() { check "it says: $1" grep -q "$1" "$T/said"; }

echo "== a disk without anything at its end"
"$BIN/imagezip" "$T/plain" "$T/i.ndz" 2> "$T/said"
"$BIN/imagezip" -q --outside=skip "$T/plain" "$T/skip.ndz"
check "no tail" json <("$BIN/imagedump" --json "$T/i.ndz") "[#]=1" '[0].tail!?'
check "nothing is said of it" test -z "$(grep 'end' "$T/said")"
check "the chunk is that of --outside=skip" cmp -n 4096 "$T/i.ndz" "$T/skip.ndz"

echo "== each kind of metadata"
while IFS='|' read -r kind bytes name; do
	cp "$T/plain" "$T/disk"; endings make "$T/disk" $kind
	"$BIN/imagezip" -q --json "$T/disk" "$T/i.ndz" > "$T/json" || fail "$kind: imagezip"
	check "$kind: $name" json "$T/json" "tail[#]=1" "tail[0].holds=$name"
	onto $SIZE; check "$kind: onto a disk of the same size" [ $? = 0 ]
	check "$kind: its last $bytes bytes are there" same_end "$T/disk" "$T/target" $bytes
	check "$kind: imagedump tells" grep -q "$name at " <("$BIN/imagedump" "$T/i.ndz")
done << 'KINDS'
md1|73728|a Linux RAID superblock (version 1.0)
md0|65536|a Linux RAID superblock (version 0.90)
imsm|1536|Intel RAID metadata
ddf|205312|DDF RAID metadata
ldm|1048576|the database of a Windows dynamic disk
vhd|512|a VHD footer
nvidia|1024|NVIDIA RAID metadata
promise|32256|Promise RAID metadata
silicon|512|Silicon Image RAID metadata
via|512|VIA RAID metadata
lsi|512|LSI MegaRAID metadata
adaptec|512|Adaptec RAID metadata
highpoint|5632|HighPoint RAID metadata
jmicron|512|JMicron RAID metadata
geom|512|GEOM metadata
drbd|131072|DRBD metadata
KINDS

echo "== disks of other sizes"
cp "$T/plain" "$T/disk"; endings make "$T/disk" imsm; endings make "$T/disk" uboot
"$BIN/imagezip" "$T/disk" "$T/i.ndz" 2> "$T/said"; says "are stored: 130 kB of unknown data, 1.5 kB of Intel RAID metadata"
onto $SIZE
check "the same size: U-Boot's environment, too, zeros included" \
    cmp -s -i $((SIZE - 131072)) "$T/disk" "$T/target"
onto $((SIZE + MB)); check "a larger one" [ $? = 0 ]
says "warning: the end of the image's disk.* is left out .* 130 kB of unknown data, 1.5 kB of Intel RAID metadata"
check "it is left out" same_end "$T/target" <(tail -c $((MB + 131072)) "$T/target" | tr -c '\245' '\245') $((MB + 131072))
check "and counted" json "$T/json" tail_bytes_left_out=131072 tail_bytes_moved=0
check "imagehash passes it over" "$BIN/imagehash" -q "$T/i.ndz" "$T/target"
poison "$T/target2" $SIZE; "$BIN/imageunzip" -q --in-place --tail=skip "$T/i.ndz" "$T/target2"
"$BIN/imagehash" -q "$T/i.ndz" "$T/target2"; check "but not on a disk of the same size" [ $? = 4 ]
onto $((SIZE + MB)) -z
check "with -z its place is zeros" cmp -s -n $((SIZE + MB - PART)) -i $PART:0 "$T/target" /dev/zero
onto $((PART + MB)); check "a smaller one is not too small" [ $? = 0 ]
says "warning: the end of the image.s disk.* is left out"
check "nothing behind the partition" cmp -s -i $PART:0 -n $MB "$T/target" "$T/.poison"
onto $((PART + MB)) --skip-same -W 1; check "a smaller one, with --skip-same" [ $? = 0 ]
cat "$T/i.ndz" | "$BIN/imageunzip" -q --in-place - "$T/target" 2> "$T/said"; check "from a pipe" [ $? = 0 ]
onto $SIZE --tail=skip
check "--tail=skip: not even there" same_end "$T/target" "$T/.poison" 131072
"$BIN/imageunzip" -q "$T/i.ndz" - > "$T/pipe"; check "a pipe gets all of it" same_end "$T/pipe" "$T/disk" 1536
truncate -s $((PART - 2 * MB)) "$T/target"
status 1 "$BIN/imageunzip" -q --in-place "$T/i.ndz" "$T/target"	# cuts the partition off
onto $((SIZE + MB)) "--state=$T/state"; check "with a state" [ $? = 0 ]
for how in --fix-gpt --grow; do
	poison "$T/target" $SIZE
	status 1 "$BIN/imageunzip" -q --in-place $how "$T/i.ndz" "$T/target"
	check "$how: would overwrite it" grep -q "would overwrite Intel RAID metadata" "$T/stderr"
	check "nothing is written" same_end "$T/target" "$T/.poison" $MB
done
cp "$T/plain" "$T/disk2"; endings make "$T/disk2" uboot
"$BIN/imagezip" -q "$T/disk2" "$T/u.ndz"
for words in "is" "would be"; do
	poison "$T/target" $SIZE
	"$BIN/imageunzip" -q --in-place --grow $([ "$words" = is ] || echo --dry-run) \
	    "$T/u.ndz" "$T/target" > /dev/null 2> "$T/said" ||
	    	fail "--grow: $(cat "$T/said")"
	says "warning: [0-9.]* kB of unknown data at the .*, which the image has, $words grown over"
done
poison "$T/target" $SIZE
"$BIN/imageunzip" -q --in-place --fix-gpt "$T/u.ndz" "$T/target" 2> "$T/said" ||
	fail --fix-gpt
check "--fix-gpt of an MBR overwrites nothing, and says nothing" [ ! -s "$T/said" ]
# What the disk had, and is not known to be stale.
"$BIN/imagezip" -q "$T/plain" "$T/p.ndz"; poison "$T/target" $SIZE
endings make "$T/target" vhd
"$BIN/imageunzip" -q --in-place --grow "$T/p.ndz" "$T/target" 2> "$T/said" || fail --grow
says "warning: a VHD footer (sector $((SIZE / 512 - 1))), which was on .*, is grown over"
poison "$T/target" $((SIZE + MB))
status 1 "$BIN/imageunzip" -q --in-place --tail=move "$T/i.ndz" "$T/target"
check "--tail=move: not that" grep -q "Intel RAID metadata cannot be moved" "$T/stderr"
check "nothing is written" cmp -s -n $MB "$T/target" "$T/.poison"
"$BIN/imagezip" --json --outside=skip "$T/disk" "$T/skip.ndz" > "$T/json" 2> "$T/said"
says "are left out: 130 kB of unknown data, 1.5 kB of Intel RAID metadata"
check "--outside=skip: counted" json "$T/json" outside_left_out_sectors=256 "tail[#]=0"
check "--outside=skip: no tail" json <("$BIN/imagedump" --json "$T/skip.ndz") "[#]=1" '[0].tail!?'
check "--outside=store: no tail" json <("$BIN/imagezip" -q -i --json --outside=store "$T/disk") "tail[#]=0" "stored_sectors>36000"

shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) ;; *)
	echo "== an end that cannot be read"
	FAULT=pread:$((SIZE / 512 - 2000)):bad:$T/disk LD_PRELOAD=$shim "$BIN/imagezip" --json "$T/disk" "$T/i.ndz" > "$T/json" 2> "$T/said"
	check "is no failure" [ $? = 0 ]
	says "warning: 4.1 kB of the disk's tail, behind all partitions, cannot be read and is left out"
	check "what is beside it is kept" [ "$(json "$T/json" outside_unreadable_sectors) $(json "$T/json" "tail[*].stored_sectors" | awk '{ n += $1 } END { print n }')" = "8 256" ] ;;
esac

echo "== inside of a GPT's disk"
rm -f "$T/disk"; truncate -s $((SIZE - MB)) "$T/disk"; printf 'label: gpt\nstart=2048,size=%s\n' $((PART / 512 - 2048)) | sfdisk -q "$T/disk" || fail sfdisk
truncate -s $SIZE "$T/disk"; endings make "$T/disk" md1
cp "$T/disk" "$T/disk2"; dd if=/dev/zero of="$T/disk2" bs=512 seek=$(((SIZE - MB) / 512 - 33)) count=33 conv=notrunc status=none
for d in disk disk2; do	# with the backup where the array ends, and without it
	"$BIN/imagezip" -q --json "$T/$d" "$T/i.ndz" > "$T/json"
	check "$d: the superblock is the tail" json "$T/json" "tail[#]=1" "tail[0].holds=a Linux RAID superblock (version 1.0)" "tail[0].sectors=144"
	onto $SIZE; check "$d: there" same_end "$T/$d" "$T/target" 73728
	check "$d: both copies of the table" cmp -s <(head -c 17408 "$T/disk2"; tail -c +$((SIZE - MB - 33 * 512 + 1)) "$T/$d" | head -c $((33 * 512))) \
	    <(head -c 17408 "$T/target"; tail -c +$((SIZE - MB - 33 * 512 + 1)) "$T/target" | head -c $((33 * 512)) | if [ $d = disk ]; then cat; else tr '\245' '\0'; fi)
	onto $((SIZE + MB)) --tail=move; check "$d: moved: $(endings md1 "$T/target")" [ "$(endings md1 "$T/target")" = good ]
done

if [ "$(id -u)" = 0 ] && rm -f "$T/disk" && truncate -s $SIZE "$T/disk" && dev=$(losetup -f --show -b 4096 "$T/disk" 2> /dev/null); then
	CLEANUP+=("losetup -d '$dev' 2> /dev/null")
	echo "== sectors of 4096 bytes"
	printf 'label: dos\nstart=256,size=%s,type=83\n' $((PART / 4096 - 256)) | sfdisk -q "$dev" 2> "$T/quiet" || fail sfdisk
	printf 'Intel Raid ISM Cfg Sig. ' | dd of="$dev" bs=4096 seek=$((SIZE / 4096 - 2)) conv=notrunc status=none
	"$BIN/imagezip" -q --json "$dev" "$T/i.ndz" > "$T/json"
	check "in the last but one of them" json "$T/json" "tail[#]=1" "tail[0].holds=Intel RAID metadata" "tail[0].stored_sectors=16"
	dd if=/dev/zero of="$dev" bs=1M seek=$((SIZE / MB - 1)) count=1 conv=notrunc status=none
	"$BIN/imageunzip" -q "$T/i.ndz" "$dev"; check "there" grep -q "^Intel Raid" <(tail -c 8192 "$T/disk" | head -c 24)
	losetup -d "$dev"
fi

echo "== images of images"
cp "$T/plain" "$T/disk"; endings make "$T/disk" imsm; endings make "$T/disk" uboot; "$BIN/imagezip" -q "$T/disk" "$T/i.ndz"
"$BIN/imagerezip" -q -z 1 "$T/i.ndz" "$T/again.ndz"; cp "$T/disk" "$T/disk2"; endings make "$T/disk2" md1
"$BIN/imagezip" -q "$T/disk2" "$T/new.ndz"; "$BIN/imagedelta" -q "$T/i.ndz" "$T/new.ndz" "$T/delta.ndz" && "$BIN/imagedelta" -q --onto "$T/i.ndz" "$T/delta.ndz" "$T/whole.ndz" || fail imagedelta
tail_of() { json -d none <("$BIN/imagedump" --json "$1") "[0].tail" "[0].min_disk_sectors"; }
check "imagerezip" [ "$(tail_of "$T/again.ndz")" = "$(tail_of "$T/i.ndz")" ]
check "imagedelta --onto" [ "$(tail_of "$T/whole.ndz")" = "$(tail_of "$T/new.ndz")" ]
onto $SIZE; "$BIN/imageunzip" -q --in-place "$T/delta.ndz" "$T/target"
check "base and delta" same_end "$T/target" "$T/disk2" 73728
onto $((SIZE + MB)) 2> "$T/quiet"; "$BIN/imageunzip" -q --in-place "$T/delta.ndz" "$T/target" 2> "$T/said"
check "base and delta on a larger disk: left out" same_end "$T/target" "$T/.poison" $MB

echo "== --tail=move"
for kind in md0 md1; do
	cp "$T/plain" "$T/disk"; endings make "$T/disk" $kind; "$BIN/imagezip" -q --codec=igzip "$T/disk" "$T/i.ndz" 2> "$T/quiet" || "$BIN/imagezip" -q "$T/disk" "$T/i.ndz"
	for how in "-z -n" "--skip-same --read-back" "--state=$T/state"; do
		onto $((SIZE + 3 * MB + 5 * 512)) --tail=move $how; check "$kind: moved, with $how" [ $? = 0 ]
		check "$kind: counted" json "$T/json" tail_bytes_left_out=0 "tail_bytes_moved>60000"
		says "moved to the end of the disk: .* RAID superblock"
		if [ $kind = md1 ]; then check "md1: right there: $(endings md1 "$T/target")" [ "$(endings md1 "$T/target")" = good ]
		else
			at=$(((SIZE + 3 * MB + 5 * 512) / 65536 * 65536 - 65536))
			check "md0: right there" cmp -s -n 65536 -i $((SIZE - 65536)):$at "$T/disk" "$T/target"
		fi
		! command -v blkid > /dev/null || check "$kind: libblkid finds it" [ "$(blkid -p -o value -s TYPE "$T/target")" = linux_raid_member ]
	done
	poison "$T/target" $((PART + MB))
	status 1 "$BIN/imageunzip" -q --in-place --tail=move "$T/i.ndz" "$T/target"
	check "$kind: not to a smaller disk" grep -q "which is smaller" "$T/stderr"
done

echo "== frisbee"
rm -f "$T/where"
"$BIN/frisbeed" --unicast -m 127.0.0.1 -p 0 -A "$T/where" -T -1 -W 200M "$T/i.ndz" > /dev/null 2> "$T/server.log" & SERVER=$!
begins $SERVER [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/server.log")"
poison "$T/target" $((SIZE + MB)); poison "$T/target2" $((PART + MB))
port=$(tr -d '\0' < "$T/where" | sed 's/.*://')
timeout 240 "$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$port" --in-place --tail=move "$T/target" 2> "$T/said" & one=$!
timeout 240 "$BIN/frisbee" --unicast -m 127.0.0.1 -p "$port" --in-place --json "$T/target2" > "$T/json" 2> "$T/said2"; check "onto a smaller disk" [ $? = 0 ]
wait $one; check "onto a larger one" [ $? = 0 ]
check "moved there: $(endings md1 "$T/target")" [ "$(endings md1 "$T/target")" = good ]
check "left out here" json "$T/json" "tail_bytes_left_out>60000"
kill $SERVER 2> /dev/null; wait $SERVER 2> /dev/null; SERVER=

finish
