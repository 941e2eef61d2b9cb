#!/usr/bin/env bash
# imagezip --changed-since: a delta of what has changed, without reading the rest; a chain
# of such deltas is a fresh image.  SEED=N: other sectors that have not changed are listed.
. "$(dirname "$0")/lib.sh"
requires mke2fs debugfs python3 sfdisk
RANDOM=${SEED:-1}
zip() { "$BIN/imagezip" -q --changed-since="$T/state" --since=ranges:"$T/list" "$@"; }
of() { json "$T/json" "$1"; }
# What a tracker would know: the sectors that differ from the last time, and some that do not.  The partition table is not
# among these: everything is read when it may have changed.
track() {
	python3 - "$T/disk" "$T/last" "$RANDOM" > "$T/list" << 'PY'
import random, sys
a, b = (open(p, "rb").read() for p in sys.argv[1:3])
r = random.Random(int(sys.argv[3]))
for s in range(0, len(a) // 512, 8):
    if a[s * 512:s * 512 + 4096] != b[s * 512:s * 512 + 4096] or s >= 2048 and r.random() < 0.002: print(s, 8)
PY
	cp "$T/disk" "$T/last"
}
put() { debugfs -w -f - "$T/disk?offset=1048576" > "$T/debugfs" 2>&1 || fail "debugfs: $(cat "$T/debugfs")"; }
truncate -s 64M "$T/disk"
# Free space is full of bytes, so that a block which is stored by mistake is seen.
head -c 64M /dev/urandom > "$T/disk"
printf 'label: dos\nstart=2048,size=81920,type=83\nstart=83968,size=40960,type=82\n' | sfdisk -q "$T/disk" 2> "$T/sfdisk" || fail "sfdisk: $(cat "$T/sfdisk")"
mkdir "$T/files"; for n in 1 2 3 4; do head -c $((n * 1000000)) /dev/urandom > "$T/files/f$n"; done
mke2fs -q -F -t ext4 -E offset=1048576,nodiscard -d "$T/files" "$T/disk" 40m 2> /dev/null || fail "mke2fs"
: > "$T/list"; cp "$T/disk" "$T/last"
check "the first is a full image" zip "$T/disk" "$T/0.ndz"
check "equal to one without" [ "$("$BIN/imageunzip" -q -C "$T/0.ndz")" = "$("$BIN/imagezip" -q "$T/disk" "$T/fresh.ndz"; "$BIN/imageunzip" -q -C "$T/fresh.ndz")" ]
chain=()
for round in 1 2 3 4; do
	head -c $((round * 300000)) /dev/urandom > "$T/new$round"
	case $round in
	1) put <<< "write $T/new1 new1" ;;
	2) put <<< $'rm f2\nwrite '"$T/new2 new2" ;;
	3) put <<< $'rm new1\nmkdir d' ; dd if=/dev/urandom of="$T/disk" bs=4096 seek=11000 count=3 conv=notrunc status=none ;;
	4) put <<< "write $T/new4 new4" ;;
	esac
	track
	"$BIN/imagezip" --json --changed-since="$T/state" --since=ranges:"$T/list" "$T/disk" "$T/$round.ndz" > "$T/json" || fail "round $round"
	check "round $round: a delta" [ "$(of delta)" = true ]
	check "which has read little: $(of compared_data_bytes) of $(of full_data_bytes) bytes" [ "$(of compared_data_bytes)" -lt $(($(of full_data_bytes) / 2)) ]
	"$BIN/imagezip" -q -U "$T/fresh.sig" --force "$T/disk" "$T/fresh.ndz" || fail "a fresh image"
	check "its signature is that of a fresh image" python3 -c '
import sys
def records(p):
    b = open(p, "rb").read()[32:]
    return [b[i:i + 8] + b[i + 12:i + 32] for i in range(0, len(b), 32)]	# all but the chunk
a, b = map(records, sys.argv[1:])
sys.exit(a != b)' "$T/state.sig" "$T/fresh.sig"
	chain+=("$T/$round.ndz")
	poison "$T/target" $((64 << 20))
	for f in "$T/0.ndz" "${chain[@]}"; do "$BIN/imageunzip" -q --in-place "$f" "$T/target" || fail "round $round: imageunzip $f"; done
	check "the chain is what a fresh image has" "$BIN/imagehash" -q "$T/fresh.ndz" "$T/target"
done
# Something that the tracker did not see is not in the delta: it is the tracker that is believed.
cp "$T/state.sig" "$T/before.sig"; : > "$T/list"
dd if=/dev/urandom of="$T/disk" bs=4096 seek=5000 count=1 conv=notrunc status=none
"$BIN/imagezip" --json --changed-since="$T/state" --since=ranges:"$T/list" "$T/disk" "$T/5.ndz" > "$T/json" || fail "round 5"
check "what nobody has seen is not read" [ "$(of compared_data_bytes)" -lt $(($(of full_data_bytes) / 8)) ]
# A partition table that has changed: everything is read.
cp "$T/last" "$T/disk"; printf 'label-id: 0x12345678\nlabel: dos\nstart=2048,size=81920,type=83\nstart=83968,size=40960,type=82\n' | sfdisk -q --force "$T/disk" 2> /dev/null
echo "0 1" > "$T/list"
"$BIN/imagezip" --json --changed-since="$T/state" --since=ranges:"$T/list" "$T/disk" "$T/6.ndz" > "$T/json" || fail "round 6"
check "another table" [ "$(of compared_data_bytes)" = "$(of full_data_bytes)" ]
# The signature is lost: a full image.
rm "$T/state.sig"; zip "$T/disk" "$T/7.ndz"
check "a full image again" [ "$("$BIN/imageunzip" -q -C "$T/7.ndz")" = "$("$BIN/imagezip" -q --force "$T/disk" "$T/fresh.ndz"; "$BIN/imageunzip" -q -C "$T/fresh.ndz")" ]
# A file that ends within a sector: the delta says where, although the end is not what has changed.
head -c 1000100 /dev/urandom > "$T/odd"; : > "$T/list"
odd() { "$BIN/imagezip" -q -f --changed-since="$T/odd.state" --since=ranges:"$T/list" "$T/odd" "$1" || fail "imagezip -f"; }
odd "$T/odd0.ndz"
printf changed | dd of="$T/odd" bs=1 seek=5000 conv=notrunc status=none; echo "8 8" > "$T/list"
odd "$T/odd1.ndz"; : > "$T/list"
"$BIN/imageunzip" -q "$T/odd0.ndz" "$T/odd.out" && "$BIN/imageunzip" -q "$T/odd1.ndz" "$T/odd.out" || fail "imageunzip of a file"
check "a file of odd length, and a delta of its beginning" cmp "$T/odd" "$T/odd.out"
# A failure changes neither the state nor its signature.
cp "$T/state" "$T/s"; cp "$T/state.sig" "$T/s.sig"
status 1 zip "$T/disk" "$T/nowhere/8.ndz"
check "the state is as it was" cmp "$T/state" "$T/s"; check "and the signature" cmp "$T/state.sig" "$T/s.sig"
# A comparison with another state than that of the last image misses what was changed back since that image.
status 2 "$BIN/imagezip" --changed-since="$T/st2" --since=sig:"$T/state.sig" "$T/disk" "$T/8.ndz"
check "says why: $(cat "$T/stderr")" grep -q "not with the last image" "$T/stderr"
status 2 "$BIN/imagezip" --changed-since="$T/st2" --since=image:"$T/7.ndz" "$T/disk" "$T/8.ndz"
check "no image is made" [ ! -e "$T/8.ndz" ]
# Lists are read where /proc is not mounted, too.
if unshare -nm true 2> /dev/null; then
	check "without /proc" quietly unshare -nm sh -c 'mount -t tmpfs none /proc && exec "$@"' sh \
	    "$BIN/dmextract" --list --since=ranges:"$T/list" "$T/disk"
fi
finish
