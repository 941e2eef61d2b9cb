#!/usr/bin/env bash
# nbdkit ndz disk= fit=yes: a disk that is larger than that of the image streams with its partitions by the plan of --fit, and
# becomes what imageunzip makes with that plan.  Orders, records and what other machines read are of the image's sectors.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mkfs.ext4 mkfs.btrfs mkfs.vfat mkswap
U=$TOP/tests/helpers/nbd_stream.py
mkdir "$T/files"; cp -r "$TOP/docs" "$T/files"; random_bytes 3000000 1 > "$T/files/random"
put() { dd if="$1" of="$T/$3" bs=512 seek="$2" conv=notrunc,sparse status=none; }
fs() { rm -f "$T/fs"; truncate -s $(($3 * 512)) "$T/fs"; "${@:4}" "$T/fs" > "$T/log" 2>&1 || fail "$4: $(cat "$T/log")"; put "$T/fs" "$2" "$1"; }
ext4() { fs "$1" "$2" "$3" mkfs.ext4 -q -F -d "$T/files"; }
image() { "$BIN/imagezip" -q "$T/$1" "$T/$1.ndz" 2> "$T/log" || fail "imagezip: $(cat "$T/log")"; "$BIN/imageunzip" -q "$T/$1.ndz" "$T/$1.out" || fail imageunzip; }
# A GPT whose root grows in the middle, and whose swap space and btrfs move; between partitions lies something.
truncate -s 76M "$T/gpt"
printf 'label: gpt\nstart=2048, size=8192, type=U\nstart=10240, size=65536, type=L\nstart=75776, size=8192, type=S
start=88064, size=65536, type=L\n' | sfdisk -q "$T/gpt"
fs gpt 2048 8192 mkfs.vfat -h 2048; ext4 gpt 10240 65536; fs gpt 75776 8192 mkswap -q; fs gpt 88064 65536 mkfs.btrfs -q -M
printf 'in no partition' | dd of="$T/gpt" bs=512 seek=86000 conv=notrunc status=none
# An MBR with a logical partition, which moves with its record.
truncate -s 50M "$T/mbr"
printf 'label: dos\nstart=2048, size=32768, type=83, bootable\nstart=34816, size=8192, type=82\nstart=43008, size=51200, type=5
start=45056, size=45056, type=83\n' | sfdisk -q "$T/mbr"
ext4 mbr 2048 32768; fs mbr 34816 8192 mkswap -q; ext4 mbr 45056 45056
image gpt; image mbr

# fitted NAME BYTES: what imageunzip makes of such a disk, in $T/model, by the plan of the disk $T/shown if there is one.
fitted() {
	local plan=--fit
	if [ -e "$T/shown" ]; then
		python3 - "$T/shown" > "$T/plan.json" << 'PY'
import json, re, subprocess, sys
t = json.loads(subprocess.run(["sfdisk", "-J", sys.argv[1]], stdout=subprocess.PIPE, check=True).stdout)["partitiontable"]
print(json.dumps({"partitions": [{"number": int(re.search(r"\d+$", p["node"])[0]), "first_sector": p["start"], "sectors": p["size"]}
    for p in t["partitions"] if p.get("type") not in ("5", "f")]}))
PY
		plan=--fit=$T/plan.json
	fi
	rm -f "$T/model"; truncate -s "$2" "$T/model"
	"$BIN/imageunzip" -q "$plan" --no-follow --in-place "$T/$1.ndz" "$T/model" 2> "$T/said" || fail "imageunzip $plan: $(cat "$T/said")"
}
new_disk() { rm -f "$T/disk" "$T/table" "$T/status"; truncate -s "$1" "$T/disk"; }	# BYTES
copied() { rm -f "$T/copied"; nbdcopy "nbd+unix:///$1?socket=$T/sock" "$T/copied"; }
sound() { sfdisk --verify "$1" > "$T/verify" 2>&1 && ! grep -i "mismatch\|corrupt\|not on the end" "$T/verify"; }
first() { sfdisk -J "$1" | json - "partitiontable.partitions[$2].start"; }

for kind in gpt:$((160 << 20)) mbr:$((60 << 20)); do
	IFS=: read -r name bytes <<< "$kind"
	IMAGE_AT=$T/$name.ndz
	echo "== $name, with the table in a file: partitions reach to the end"
	new_disk $bytes; fitted $name $bytes
	serve "$T/table" fit=yes fill=no
	check "what a system sees is what imageunzip --fit makes" python3 "$U" same "$T/sock" "$T/model"
	check "other machines get the image from where it is on the disk" copied image
	check "every byte of it" cmp "$T/copied" "$T/$name.out"
	stop; check "and so is the disk" cmp "$T/disk" "$T/model"

	echo "== $name, with the table on the disk"
	new_disk $bytes
	serve disk fit=yes fill=no
	check "said: $(grep -c ': partition ' "$T/nbd.log") partitions" grep -q "partition 2 is at sectors" "$T/nbd.log"
	marked
	check "copied" copied ""; mv "$T/copied" "$T/shown"; stop
	check "its partition table is sound" sound "$T/shown"
	fitted $name $bytes
	check "what a system sees is what imageunzip makes by the same plan" cmp "$T/shown" "$T/model"
	check "a plain disk but for two headers: $(cmp -l "$T/disk" "$T/model" | wc -l) bytes" [ "$(cmp -l "$T/disk" "$T/model" | wc -l)" -lt 1024 ]
	for word in fit=yes fit=no; do
		serve disk $word fill=no; stop
		check "$word: it is known to be complete" grep -q "is complete already" "$T/nbd.log"
	done

	echo "== $name, killed amid the fill and written to by four clients"
	new_disk $bytes
	export AVOID=$((bytes - (1 << 20)))-$bytes
	serve disk fit=yes when-idle=0 rate=100k
	check "written while it is filled" python3 "$U" use "$T/sock" "$T/model" 1 200 4
	kill -9 $server; wait $server 2> /dev/null
	serve disk fit=no fill=no
	check "after a restart without the word" python3 "$U" use "$T/sock" "$T/model" 2 200 4
	check "other machines get the image as it is" copied image
	check "every byte of it" cmp "$T/copied" "$T/$name.out"
	check "as it was" python3 "$U" same "$T/sock" "$T/model"
	check "other machines get the image when all is there, too" copied image
	check "every byte of it" cmp "$T/copied" "$T/$name.out"
	stop; unset AVOID
	check "a plain disk again" [ "$(cmp -l "$T/disk" "$T/model" | wc -l)" -lt 1024 ]
	mv "$T/shown" "$T/shown.$name"
done

echo "== partitions end in front of the sector table"
for kind in gpt:160 mbr:60; do
	# Behind the last whole MiB, to which partitions reach otherwise, is less room than the table needs.
	IMAGE_AT=$T/${kind%:*}.ndz; new_disk $(((${kind#*:} << 20) + 72 * 512))
	serve disk fit=yes fill=no
	table=$(sed -n 's/.*the sector table is at sectors \([0-9]*\) to.*/\1/p' "$T/nbd.log")
	check "copied" copied ""; stop
	last=$(sfdisk -d "$T/copied" | sed -n 's/.*start= *\([0-9]*\), size= *\([0-9]*\).*/\1 \2/p' | awk '$1 + $2 > last { last = $1 + $2 } END { print last }')
	check "${kind%:*}: the table begins at sector $table, and the last partition ends at $last" [ "$last" -le "$table" ]
	check "there is no whole MiB between them" [ $((table - last)) -lt 2048 ]
done

echo "== on a disk that was begun with the other word before, a complete one is known all the same"
for words in fit=no:fit=yes fit=yes:fit=no; do
	IFS=: read -r before word <<< "$words"
	IMAGE_AT=$T/gpt.ndz; new_disk $((1 << 30))
	serve disk "$before" fill=no; kill -9 $server; wait $server 2> /dev/null
	serve disk "$word" anew=yes when-idle=0 status="$T/status"
	check "$word: complete" begins $server eval '[ "$(python3 "$U" status "$T/status" | json - complete)" = true ]'
	stop
	for later in "$before" "$word"; do
		serve disk "$later" fill=no; stop
		check "$word, and $before before: known with $later" grep -q "is complete already" "$T/nbd.log"
	done
done

echo "== a complete disk for which there is no plan is served with the word, too"
truncate -s 40M "$T/plain"; mkfs.ext4 -q -F "$T/plain"; image plain
IMAGE_AT=$T/plain.ndz; new_disk $((100 << 20))
serve disk when-idle=0 status="$T/status"
check "complete" begins $server eval '[ "$(python3 "$U" status "$T/status" | json - complete)" = true ]'
stop
serve disk fit=yes fill=no; stop
check "it is known" grep -q "is complete already" "$T/nbd.log"

echo "== records and orders are of the image's sectors"
IMAGE_AT=$T/gpt.ndz bytes=$((160 << 20))
new_disk $bytes
serve memory fit=yes fill=no record="$T/a.record"
was=88064 is=$(first "$T/shown.gpt" 3)
check "the btrfs has moved, from sector $was to $is" [ "$is" -gt "$was" ]
python3 "$U" read "$T/sock" $((is * 512 + 65536)) 4096 || fail "read"
stop
check "a read of it is recorded where it is in the image" python3 - "$T/a.record" $((was + 128)) << 'PY'
import struct, sys
b = open(sys.argv[1], "rb").read()
runs = [struct.unpack_from("<QI", b, at) for at in range(32, len(b), 20)]
assert (int(sys.argv[2]), 8) in runs, runs
PY
"$BIN/streamdisk" -q --order="$T/order" merge-records "$T/a.record" || fail merge-records
new_disk $bytes
serve memory fit=yes rate=1k when-idle=60000 order="$T/order" status="$T/status"
check "what the order names is fetched" begins $server eval '[ "$(python3 "$U" status "$T/status" | json - ordered_bytes)" -gt 0 ]'
check "the order is fetched to where it is on the disk" [ "$(cmp -n 4096 -i $((was * 512 + 65536)):$((is * 512 + 65536)) "$T/gpt" "$T/disk" && echo same)" = same ]
stop

echo "== refused before anything is written"
# too_small BYTES
too_small() {
	new_disk "$1"
	refused "fit: the partitions do not fit: the target has .* and they need at least" "$T/gpt.ndz" disk="$T/disk" fit=yes
	check "nothing was written" [ "$(du -k "$T/disk" | cut -f1)" = 0 ]
}
too_small $((70 << 20))
least=$(sed -n 's/.*they need at least \([0-9]*\).*/\1/p' "$T/nbd.log")
too_small $(((least - 1) * 512))
new_disk $((least * 512)); serve disk fit=yes fill=no; stop
check "the least disk, with $least sectors" grep -q "the sector table is at" "$T/nbd.log"
new_disk $((50 << 20)); IMAGE_AT=$T/mbr.ndz; serve "$T/table" fit=yes fill=no; stop; rm "$T/table"
check "a disk as large as the image's has all of its room with a table elsewhere" grep -q "partition 5 is at sectors" "$T/nbd.log"
truncate -s 33M "$T/full"; printf 'label: gpt\nstart=2048, size=65503, type=L\n' | sfdisk -q "$T/full"; ext4 full 2048 65503; image full
new_disk $((33 << 20)); refused "no place for the sector table" "$T/full.ndz" disk="$T/disk" fit=yes
check "without room for the table, its partitions stay as they are" grep -q "they stay as they are" "$T/nbd.log"
IMAGE_AT=$T/gpt.ndz
new_disk $((100 << 20))
refused "no partition table\|does not say which filesystems\|no partitions that could be planned" "$T/plain.ndz" disk="$T/disk" fit=yes
check "nothing was written" [ "$(du -k "$T/disk" | cut -f1)" = 0 ]
cp --sparse=always "$T/gpt" "$T/asleep"; printf S1SUSPEND | dd of="$T/asleep" bs=1 seek=$((75776 * 512 + 4086)) conv=notrunc status=none; image asleep
new_disk $bytes
refused "fit: a system is suspended in partition 3" "$T/asleep.ndz" disk="$T/disk" fit=yes
check "nothing was written" [ "$(du -k "$T/disk" | cut -f1)" = 0 ]
serve disk fill=no; stop
serve disk fill=no fit=yes; stop
check "a disk that was begun goes on as it was begun" grep -q "was begun with its partitions as in the image" "$T/nbd.log"
finish
