#!/usr/bin/env bash
# A disk that is too small by one sector is refused before anything is written to it, in sectors
# and in megabytes, by everything that fills disks: imageunzip, frisbee, dolly join, streamdisk.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/unicast_lib.sh"
requires sfdisk losetup mke2fs
[ "$(id -u)" = 0 ] || skip "needs root"
own_network "$@"
LOOPS=()
CLEANUP+=('for l in "${LOOPS[@]}"; do losetup -d "$l" 2> /dev/null; done')
SECTORS=16384
truncate -s $((SECTORS * 512)) "$T/disk"
printf 'label: gpt\nstart=2048, size=12288\n' | sfdisk -q "$T/disk"
head -c 5M /dev/urandom | dd of="$T/disk" bs=1M seek=1 conv=notrunc status=none
"$BIN/imagezip" -q -R 1 "$T/disk" "$T/disk.ndz" || fail imagezip
target() {	# SECTORS: $disk, all 0xa5
	poison "$T/target" $(($1 * 512))
	disk=$(losetup --show -f "$T/target") || skip "no loop devices here"
	LOOPS+=("$disk")
}
untouched() { sync "$disk"; [ "$(tr -d '\245' < "$T/target" | wc -c)" = 0 ]; }
refused() {	# WHAT SECTORS-NEEDED COMMAND...: its last operand is the disk, which has one less
	local what=$1 needs=$2 status; shift 2
	target $((needs - 1))
	"$@" "$disk" > "$T/stdout" 2> "$T/stderr"; status=$?
	check "$what: exit status $status" [ $status != 0 ]
	check "$what: $(tail -n 1 "$T/stderr")" eval 'grep -q "too small" "$T/stderr" && grep -q "$((needs - 1)) sectors" "$T/stderr" && grep -q "$needs (\|needs at least $needs" "$T/stderr" && grep -q "[0-9] MB" "$T/stderr"'
	check "$what: not a byte was written" untouched
	losetup -d "$disk"
}
fits() {	# WHAT SECTORS COMMAND...
	local what=$1 needs=$2; shift 2
	target "$needs"
	check "$what: a disk of just that size" quietly "$@" "$disk"
	losetup -d "$disk"
}

# streamdisk that does not refuse its disk would serve it until it is told to end.
streams() {	# IMAGE DISK
	local s
	rm -f "$T/sock"
	"$BIN/streamdisk" --table=memory --socket="$T/sock" "$@" & s=$!
	if begins $s [ -S "$T/sock" ]; then kill $s; fi
	wait $s
}

dolly_serves() {	# IMAGE: by the process $d
	: > "$T/dolly.log"	# or what the last one said would be taken for this one's
	"$BIN/dolly" serve --linger 0 --wait 1 -p 24701 "$1" > "$T/dolly.log" 2>&1 & d=$!
	begins $d grep -q serving "$T/dolly.log"
}

I=$T/disk.ndz
refused "imageunzip" $SECTORS "$BIN/imageunzip" -q "$I"
fits "imageunzip" $SECTORS "$BIN/imageunzip" -q "$I"
refused "a pipe to imageunzip" $SECTORS bash -c '"$1" -q - "$3" < "$2"' sh "$BIN/imageunzip" "$I"
serve "$I"
refused "frisbee" $SECTORS frisbee
fits "frisbee" $SECTORS frisbee
served
dolly_serves "$I"
refused "dolly join" $SECTORS timeout 240 "$BIN/dolly" join -q 127.0.0.1:24701
wait $d
instrumented && echo "streamdisk: nbdkit cannot run a plugin that is instrumented" ||
	refused "streamdisk" $SECTORS streams "$I"

echo "== an image that was written again says it, too"
"$BIN/imagerezip" -q --codec=igzip "$I" "$T/again.ndz" 2> /dev/null || "$BIN/imagerezip" -q "$I" "$T/again.ndz" || fail imagerezip
refused "imagerezip, a pipe" $SECTORS bash -c '"$1" -q - "$3" < "$2"' sh "$BIN/imageunzip" "$T/again.ndz"

echo "== an image of a pipe cannot say it, and fits on a disk as long as the pipe's data"
for limit in "" "-c $((2 * SECTORS))"; do
	"$BIN/imagezip" -q -r $limit - "$T/pipe.ndz" < "$T/disk" || fail "imagezip of a pipe $limit"
	n=$("$BIN/imagedump" --json "$T/pipe.ndz" | json - '[0].needed_sectors')
	check "a pipe $limit: $n sectors are needed" [ "$n" = 0 ]
	fits "imageunzip, an image of a pipe $limit" $SECTORS "$BIN/imageunzip" -q "$T/pipe.ndz"
done

echo "== an image that stores less fits on a smaller disk, but no partition of it is cut"
rm "$T/disk"; truncate -s $((SECTORS * 512)) "$T/disk"
sfdisk -q "$T/disk" <<< 'label: dos
1: start=2048, size=12288
2: start=14336, size=2048' || fail sfdisk
truncate -s 6M "$T/fs"
mke2fs -q -F "$T/fs" && dd if="$T/fs" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
"$BIN/imagezip" -q -I 2 "$T/disk" "$T/mbr.ndz" || fail imagezip
n=$("$BIN/imagedump" --json "$T/mbr.ndz" | json - '[0].needed_sectors')
check "it needs $n of $SECTORS sectors" [ "$n" = 14336 ]
everything() {	# WHAT IMAGE SECTORS: on one sector less, every program refuses it
	local what=$1 image=$2 needs=$3
	refused "$what: imageunzip" "$needs" "$BIN/imageunzip" -q "$image"
	refused "$what: a pipe to imageunzip" "$needs" \
		bash -c '"$1" -q - "$3" < "$2"' sh "$BIN/imageunzip" "$image"
	refused "$what: --dry-run" "$needs" "$BIN/imageunzip" --dry-run "$image"
	serve "$image"
	refused "$what: frisbee" "$needs" frisbee
	refused "$what: frisbee --skip-same" "$needs" frisbee --skip-same
	served
	dolly_serves "$image"
	refused "$what: dolly join" "$needs" \
		timeout 240 "$BIN/dolly" join -q 127.0.0.1:24701
	wait $d
	instrumented || refused "$what: streamdisk" "$needs" streams "$image"
}
everything "a partition" "$T/mbr.ndz" "$n"
without_reach "$T/mbr.ndz" "$T/mbr-old.ndz" || fail "it has no record"
everything "a partition, of an earlier image" "$T/mbr-old.ndz" "$n"
fits "imageunzip" "$n" "$BIN/imageunzip" -q "$T/mbr.ndz"
fits "imageunzip --force" 4000 "$BIN/imageunzip" -q --force "$T/mbr.ndz"

"$BIN/imagerezip" -q "$T/mbr.ndz" "$T/again.ndz" 2> /dev/null || fail imagerezip
lengths=$("$BIN/imagedump" --json "$T/again.ndz" | json -1 - '[0].partitions[*].sectors')
check "an image that was written again says it, too: $lengths" [ "$lengths" = "12288 2048" ]

echo "== nor is a filesystem, whatever it stores"
"$BIN/imagezip" -q "$T/fs" "$T/fs.ndz" || fail imagezip
everything "a filesystem" "$T/fs.ndz" 12288
without_reach "$T/fs.ndz" "$T/fs-old.ndz" || fail "it has no record"
everything "a filesystem, of an earlier image" "$T/fs-old.ndz" 12288
fits "imageunzip" 12288 "$BIN/imageunzip" -q "$T/fs.ndz"
fits "imageunzip --force" 4000 "$BIN/imageunzip" -q --force "$T/fs.ndz"
part() {	# SECTORS: $T/target has a partition 2 of this length
	poison "$T/target" $((SECTORS * 512))
	printf 'label: dos\n2: start=2048, size=%s\n' "$1" |
		sfdisk -q --wipe never "$T/target"
	cp "$T/target" "$T/before"
}
for way in "-q -s 2 $T/fs.ndz" "-q --only 1 -s 2 $T/mbr.ndz" \
    "-q -s 2 $T/fs-old.ndz" "-q --only 1 -s 2 $T/mbr-old.ndz"; do
	part 12287
	status 1 "$BIN/imageunzip" $way "$T/target"
	check "it says why" \
		grep -q "partition 2 is too small: it has 12287 sectors" "$T/stderr"
	check "not a byte was written" cmp "$T/before" "$T/target"
	check "--force" "$BIN/imageunzip" --force $way "$T/target"
	part 12288
	check "a partition of just that size" "$BIN/imageunzip" $way "$T/target"
done
for i in mbr mbr-old; do
	serve "$T/$i.ndz"
	part 12287
	status 1 frisbee --only 1 -s 2 "$T/target"
	check "not a byte was written" cmp "$T/before" "$T/target"
	served
done

echo "== an earlier image with logical partitions, whose tables are anywhere"
rm "$T/disk"; truncate -s 20M "$T/disk"
sfdisk -q "$T/disk" <<< 'label: dos
1: start=2048, size=2048
2: start=4096, size=36864, type=5
5: start=6144, size=24576
6: start=34816, size=6144' || fail sfdisk
# The table of partition 6 comes behind more data than is held before it is written.
head -c 12M /dev/urandom | dd of="$T/disk" bs=1M seek=3 conv=notrunc status=none
truncate -s 3M "$T/logical"
mke2fs -q -F "$T/logical" || fail mke2fs
dd if="$T/logical" of="$T/disk" bs=1M seek=17 conv=notrunc status=none
"$BIN/imagezip" -q -I 1 "$T/disk" "$T/new.ndz" || fail imagezip
without_reach "$T/new.ndz" "$T/logical.ndz" || fail "it has no record"
n=$("$BIN/imagedump" --json "$T/logical.ndz" | json - '[0].needed_sectors')
[ "$n" -lt 40959 ] || fail "the image stores too much for this test: $n"
refused "imageunzip" 40960 "$BIN/imageunzip" -q -j 1 -W 16 "$T/logical.ndz"
# A pipe cannot be read ahead: what is refused then is left incomplete.
target 40959
status 1 bash -c '"$1" -q -j 1 -W 16 - "$2" < "$3"' \
	sh "$BIN/imageunzip" "$disk" "$T/logical.ndz"
check "it says why" grep -q "too small" "$T/stderr"
status 1 "$BIN/imageunzip" --status "$disk"
losetup -d "$disk"
fits "imageunzip --force" 40959 "$BIN/imageunzip" -q --force "$T/logical.ndz"

# What is on the disk already is not looked at in its chunk.
on_disk() {	# WHAT COMMAND...: its last operand is a disk that has all of the image
	local what=$1; shift
	target 40959
	"$BIN/imageunzip" -q --force "$T/logical.ndz" "$disk" || fail imageunzip
	status 1 "$@" "$disk"
	check "$what: it says why" grep -q "too small: .* partition 6 " "$T/stderr"
	losetup -d "$disk"
}
serve "$T/logical.ndz"
on_disk "frisbee --skip-same" frisbee --skip-same
served
# The chunks that an interrupted load has installed, by --force, do not come again.  It is
# interrupted as late as possible.
target 40959
serve "$T/logical.ndz"
for at in 28 26 24 22 20 18 16; do
	FAULT=pwrite:$at:kill:$disk LD_PRELOAD=$B/tests/preload/faulty.so frisbee --force \
		-n --state="$T/state" --state-interval=0 "$disk" 2> "$T/quiet"
	[ ! -s "$T/state" ] || break
done
check "there is a state, before write $at" [ -s "$T/state" ]
status 1 frisbee --state="$T/state" "$disk"
check "--state: it says why" grep -q "too small: .* partition 6 " "$T/stderr"
served
losetup -d "$disk"

echo "== a filesystem that is shorter than its partition may get a shorter one"
rm "$T/disk"; truncate -s $((SECTORS * 512)) "$T/disk"
printf 'label: dos\nstart=2048, size=14336\n' | sfdisk -q "$T/disk"
dd if="$T/fs" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
"$BIN/imagezip" -q -x "$T/disk" "$T/slack.ndz" || fail imagezip
part 12288
check "--only 1" "$BIN/imageunzip" -q --only 1 -s 2 "$T/slack.ndz" "$T/target"
refused "but no disk that ends in it" $SECTORS "$BIN/imageunzip" -q "$T/slack.ndz"

echo "== a partition of which nothing is stored is no reason, but is named"
target 14400
check "it fits" "$BIN/imageunzip" -q "$T/mbr.ndz" "$disk" 2> "$T/stderr"
said="warning: .*partition 2 reaches to sector 16384, .* 14400 .*stores nothing"
check "the warning: $(cat "$T/stderr")" grep -q "$said" "$T/stderr"
losetup -d "$disk"

echo "== new files and pipes are as long as the disk of the image"
for way in "$T/new" -; do
	"$BIN/imageunzip" -q "$T/mbr.ndz" "$way" > "$T/stdout"
	[ "$way" != - ] || way=$T/stdout
	check "$(stat -c %s "$way") bytes" [ "$(stat -c %s "$way")" = $((SECTORS * 512)) ]
done
finish
