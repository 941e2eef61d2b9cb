#!/usr/bin/env bash
# --dry-run: nothing is made, emptied or written, and what it says is what the real run then does, with the same status.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires sfdisk python3 mke2fs
stat_of() { json "$T/json" "$1"; }
state_of() { stat -c '%n %s %y %z' "$@" 2>&1; }
unchanged() {	# WHAT FILE COMMAND...: the command leaves the file, and the folder, as they are
	local what=$1 file=$2 before; shift 2
	before=$(state_of "$file"; ls "$T")
	"$@" > "$T/out" 2> "$T/said"; rc=$?
	check "$what: exit $rc, nothing was changed" [ "$before" = "$(state_of "$file"; ls "$T")" ]
}
: > "$T/out"; : > "$T/said"; : > "$T/stdout"; : > "$T/stderr"; : > "$T/json"
dry() { "$BIN/imageunzip" --dry-run "$@"; }

truncate -s 24M "$T/disk"; printf 'label: gpt\nstart=2048,size=8192\nstart=10240,size=12288\n' | sfdisk -q "$T/disk"
truncate -s 4M "$T/fs"; mke2fs -q -F -t ext4 "$T/fs"; dd if="$T/fs" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
"$BIN/imagezip" -q -I 2 "$T/disk" "$T/disk.ndz"; "$BIN/imagezip" -q "$T/fs" "$T/fs.ndz"
# A target with an old backup GPT and an old RAID, and something to keep in partition 2.
truncate -s 30M "$T/tgt"; poison "$T/old" $((12 << 20)); dd if="$T/old" of="$T/tgt" conv=notrunc status=none; rm "$T/old"
python3 - "$T/tgt" << 'PY'
import struct, sys
size = 30 << 20
with open(sys.argv[1], "r+b") as f:
    f.seek(size - 512); f.write(b"EFI PART")
    f.seek((size & ~65535) - 65536); f.write(struct.pack("<13I", 0xa92b4efc, 0, 90, 0, 0, 0x11111111, 0, 1, 30000, 2, 2, 0, 0))
PY

cp --sparse=always "$T/tgt" "$T/pristine"

echo "== onto a disk"
unchanged "in place" "$T/tgt" dry --in-place "$T/disk.ndz" "$T/tgt"
check "it says so" grep -q "^dry run: nothing was written" "$T/out"
check "what of partition 1: $(grep "partition 1" "$T/out")" grep -q "^partition 1, sectors 2048-10239 (4.2 MB): .* of data, free space keeps its old bytes" "$T/out"
check "what of partition 2" grep -q "^partition 2, .*the image stores nothing of it, so it keeps all its bytes" "$T/out"
check "what would be wiped: $(grep -c "would wipe" "$T/said") kinds" [ "$(grep -c "would wipe what was left of" "$T/said")" = 2 ]
unchanged "--json" "$T/tgt" dry --in-place --json "$T/disk.ndz" "$T/tgt"
cp "$T/out" "$T/json"; would=$(stat_of stale_signatures)
check "its partitions" json "$T/json" dry_run=true "partitions[#]=2" "partitions[0].left_out=false" "partitions[1].left_out=true" \
    "partitions[0].bytes_stored>0" "partitions[0].bytes_stored<4194304" "target_bytes=$((30 << 20))"
cp --sparse=always "$T/tgt" "$T/real"; "$BIN/imageunzip" --in-place --json "$T/disk.ndz" "$T/real" > "$T/json" 2> "$T/said"
check "it wipes $would signatures, and the real run $(stat_of stale_signatures_wiped)" [ "$would" -ge 2 -a "$would" = "$(stat_of stale_signatures_wiped)" ]
unchanged "--grow" "$T/tgt" dry --grow "$T/disk.ndz" "$T/tgt"
check "what would grow" grep -q "partition 2 would grow from 12288 sectors" "$T/said"
check "and is listed with its new length" grep -q "^partition 2, sectors 10240-59391 " "$T/out"
unchanged "-z" "$T/tgt" dry --in-place -z "$T/disk.ndz" "$T/tgt"
check "free space" grep -q "^partition 1.*free space is zeroed" "$T/out"
unchanged "into a partition" "$T/real" dry -s 1 "$T/fs.ndz" "$T/real"
check "which" grep -q "^partition 1, sectors 2048-10239 (4.2 MB)" "$T/out"
unchanged "-q" "$T/tgt" dry -q --in-place "$T/disk.ndz" "$T/tgt"; check "nothing is said" [ ! -s "$T/out" -a ! -s "$T/said" ]

"$BIN/imagekey" -q --encrypt-key="$T/key" && "$BIN/imagezip" -q --encrypt="$T/key" -I 2 "$T/disk" "$T/secret.ndz"
unchanged "an encrypted image" "$T/tgt" dry --in-place --decrypt="$T/key" "$T/secret.ndz" "$T/tgt"
check "the same is found" [ "$(grep -c "would wipe what was left of" "$T/said")" = 2 ]
"$BIN/emustore" --store "$T/store" init > /dev/null 2>&1; "$BIN/emustore" -q --store "$T/store" put one "$T/disk.ndz" > "$T/out" 2> "$T/said" || fail "$(cat "$T/said")"
unchanged "one in a store" "$T/tgt" dry --in-place --store="$T/store" one "$T/tgt"
check "the same is found" [ "$(grep -c "would wipe what was left of" "$T/said")" = 2 ]

echo "== a file"
unchanged "a new file" "$T/new" dry "$T/disk.ndz" "$T/new"; check "exit $rc, it is not made" [ $rc = 0 -a ! -e "$T/new" ]
check "it says so" grep -q "new: a new file" "$T/out"
unchanged "one that would become shorter" "$T/tgt" dry "$T/disk.ndz" "$T/tgt"
check "it is told" grep -q "replaced by a new one of 25.2 MB, and had 31.5 MB" "$T/said"
unchanged "a state" "$T/tgt" dry --in-place --state="$T/state" "$T/disk.ndz" "$T/tgt"; check "there is no file for it" [ ! -e "$T/state" ]
unchanged "a pipe" "$T/tgt" dry "$T/disk.ndz" -; check "nothing but the report comes: $(wc -l < "$T/out") lines" grep -q "free space becomes zeros" "$T/out"

check "its bytes are as they were" cmp "$T/pristine" "$T/tgt"
echo "== refused as the real run refuses it"
both() {	# STATUS OPTIONS... IMAGE TARGET
	local want=$1; shift
	cp --sparse=always "$T/tgt" "$T/copy"; "$BIN/imageunzip" -q "$@" > /dev/null 2> "$T/said"; local real=$?
	rm -f "$T/copy"; cp --sparse=always "$T/tgt" "$T/copy"
	status "$want" "$BIN/imageunzip" --dry-run "$@"
	check "the real run: exit $real, $(cat "$T/said")" [ $real = "$want" ]
	check "in the same words, but for what is left" cmp -s <(grep -v "^usage" "$T/said" | sed 's/; the target is incomplete$//') <(grep -v '^usage' "$T/stderr")
	check "it is untouched" cmp "$T/tgt" "$T/copy"
}
truncate -s 3M "$T/small"
head -c 1M "$T/disk.ndz" > "$T/damaged"; spoil_byte "$T/damaged" 40; truncate -s 0 "$T/empty"
both 1 --in-place "$T/disk.ndz" "$T/small"
both 1 -s 7 "$T/fs.ndz" "$T/real"
both 1 -s 1 "$T/disk.ndz" "$T/real"
both 3 --in-place "$T/damaged" "$T/copy"
both 3 --in-place "$T/empty" "$T/copy"
head -c 3M /dev/urandom | dd of="$T/disk" bs=1M seek=6 conv=notrunc status=none
"$BIN/imagezip" -q "$T/disk" "$T/later"; spoil_byte "$T/later" $((2 << 20 | 77777))	# what only decoding shows
both 3 --in-place "$T/later" "$T/copy"
unchanged "--only" "$T/real" dry --only 2 "$T/later" "$T/real"; check "exit $rc: $(cat "$T/said")" [ $rc = 3 ]
both 1 "$T/disk.ndz" "$T/no/such"
both 1 --in-place "$T/disk.ndz" "$T/nothing"
both 2 -D 131 "$T/disk.ndz" "$T/copy"
status 2 sh -c "'$BIN/imageunzip' --dry-run - '$T/copy' < '$T/disk.ndz'"
"$BIN/imagehash" -q -c "$T/disk.ndz" 2> /dev/null; cp "$T/disk" "$T/disk2"; spoil_byte "$T/disk2" 1100000
"$BIN/imagezip" -q -H "$T/disk.ndz.sig" -I 2 "$T/disk2" "$T/delta.ndz" || fail "a delta"
both 1 --in-place -z "$T/delta.ndz" "$T/copy"
rm -f "$T/made"; status 1 dry "$T/delta.ndz" "$T/made"; check "it is not made" [ ! -e "$T/made" ]
if [ "$(id -u)" = 0 ] && cp "$T/fs" "$T/lo" && dev=$(losetup -f --show "$T/lo" 2> /dev/null); then
	CLEANUP+=("umount '$T/mnt' 2> /dev/null; losetup -d '$dev' 2> /dev/null")
	unchanged "a device" "$T/lo" dry "$T/fs.ndz" "$dev"; check "exit $rc" [ $rc = 0 ]
	mkdir "$T/mnt"
	if mount "$dev" "$T/mnt" 2> /dev/null; then
		status 1 dry "$T/fs.ndz" "$dev"; check "it is in use" grep -q "mounted\|in use" "$T/stderr"
		umount "$T/mnt"
	fi
else echo "not root, or no loop device: left out"; fi
if ! command -v ip > /dev/null; then echo "no ip: frisbee is left out"; finish; fi
echo "== frisbee: chunk 0 is all that it asks for"
head -c 12M /dev/urandom | dd of="$T/disk" bs=1M seek=9 conv=notrunc status=none; "$BIN/imagezip" -q -I 1 "$T/disk" "$T/many.ndz"
chunks=$(($(stat -c %s "$T/many.ndz") >> 20)) port=$((20000 + OWN_NUMBER % 12000))
CLEANUP+=('[ -z "${SERVER:-}" ] || kill $SERVER 2> /dev/null')
"$BIN/frisbeed" -d --loopback -i 127.0.0.1 -m 239.192.7.12 -p $port -A "$T/where" -T 0 --stats "$T/served" "$T/many.ndz" 2> "$T/server.log" & SERVER=$!
begins $SERVER [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/server.log")"
fris() { "$BIN/frisbee" --dry-run --loopback -i 127.0.0.1 -m 239.192.7.12 -p $port -T 240 "$@"; }
: > "$T/made"; rm "$T/made"
unseen() { local what=$1 file=$2 was; was=$(state_of "$file"); shift 2; fris "$@" > "$T/out" 2> "$T/said"; rc=$?; check "$what: exit $rc, nothing was changed" [ "$was" = "$(state_of "$file")" ]; }
unseen "a disk" "$T/tgt" --in-place "$T/tgt"
check "$chunks chunks: $(sed -n 2p "$T/out")" grep -q "^the image: $chunks chunks, of 25.2 MB, filesystems: 1:ignored 2:raw$" "$T/out"
check "its partitions" [ "$(grep -c "^partition [12], sectors" "$T/out")" = 2 ]
unseen "--json" "$T/tgt" --in-place --json --grow "$T/tgt"
check "whole" json "$T/out" dry_run=true table_known=true "partitions[#]=2" "image_bytes=$((24 << 20))" 'bytes_stored!?'
unseen "a new file" "$T/made" "$T/made"; check "exit $rc, it is not made" [ $rc = 0 -a ! -e "$T/made" ]
unseen "a small disk" "$T/small" --in-place "$T/small"; check "exit $rc: $(cat "$T/said")" [ $rc = 1 ]
unseen "--only" "$T/real" --only 2 --in-place "$T/real"
check "exit $rc: $(grep "^partition" "$T/out")" [ "$rc $(grep "^partition" "$T/out")" = "0 partition 2, sectors 10240-22527 (6.3 MB)" ]
unseen "--only of none" "$T/real" --only 3 --in-place "$T/real"; check "exit $rc: $(head -n 1 "$T/said")" [ $rc = 1 ]
unseen "no such partition" "$T/tgt" -s 9 "$T/tgt"; check "exit $rc: $(head -n 1 "$T/said")" [ $rc = 1 ]
kill $SERVER; wait $SERVER 2> /dev/null; SERVER=
sent=$(json "$T/served" "sessions[*].blocks_sent" | awk '{ n += $1 } END { print n }')
check "of $chunks chunks $((sent / 1024)) were sent, to five that asked" [ "$sent" -gt 0 -a "$sent" -le $((7 * 1024)) ]
finish
