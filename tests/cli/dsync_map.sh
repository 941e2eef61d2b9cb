#!/usr/bin/env bash
# dmextract --since=map: what was written to a streaming disk since it began as an image, and nothing else that the image stores.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
requires sfdisk mke2fs
. "$(dirname "$0")/stream_lib.sh"
a_disk sda
WRITES=$TOP/tests/helpers/nbd_stream.py
URI="nbd+unix:///?socket=$T/sock"
x() { timeout 240 "$BIN/dmextract" -q "$@"; }
m() { timeout 240 "$BIN/dmmerge" -q "$@"; }
# begin TABLE: a disk of zeros that begins as the image, and a copy of the image on another one.
begin() {
	truncate -s 0 "$T/disk"; truncate -s $DISK_BYTES "$T/disk"; rm -f "$T/table" "$T/copy"
	cp --sparse=always "$T/disk" "$T/copy"; "$BIN/imageunzip" -q --in-place "$T/sda.ndz" "$T/copy" || fail "imageunzip"
	serve "$1" fill=no
	case $1 in disk) MAP=$T/disk,$T/sda.ndz ;; *) MAP=$T/table,$T/sda.ndz ;; esac
}
equal() { nbdcopy "$URI" "$T/served" && cmp "$T/served" "$T/copy"; }
sectors() { awk '{ n += $2 } END { print n + 0 }' <(x --list --since=map:"$MAP" "$URI"); }

for table in "$T/table" disk; do
	echo "== table: ${table##*/}"
	begin "$table"
	free=$(sectors)
	check "nothing is written: what the image does not store counts, $free sectors" [ "$free" -gt 10000 -a "$free" -lt $((DISK_BYTES / 512 - 8000)) ]
	nbdcopy "$URI" "$T/served" || fail "nbdcopy"	# much is fetched, and is no change
	check "what was fetched is no change" [ "$(sectors)" = "$free" ]
	python3 "$WRITES" unflushed "$T/sock" $((5 << 20)) "in the second partition" || fail "write"
	check "what nobody has flushed is one" [ "$(sectors)" -gt "$free" ]
	python3 "$WRITES" write "$T/sock" $((23 << 20)) "behind it" || fail "write"
	now=$(sectors)
	check "what was written is one: $((now - free)) sectors of its piece" [ "$now" -gt "$free" -a $((now - free)) -le $((2 * 3840)) ]
	x --since=map:"$MAP" "$URI" > "$T/stream" || fail "dmextract"
	check "merged into a copy of the image" m --force "$T/copy" < "$T/stream"
	check "which is what is served" equal
	python3 "$WRITES" write "$T/sock" 512 "a boot block" || fail "write"
	x --since=map:"$MAP" "$URI" | m --force "$T/copy" || fail "once more"
	check "what was written since is in the next stream" equal
	status 1 "$BIN/dmextract" --since=map:"$MAP" "$T/disk"
	check "the disk below is no device for this" grep -q "is the disk below" "$T/stderr"
	stop
done

# The server is killed before anything flushes what was written where data had been fetched before: its table has no trace of
# that, and must not say that nothing was written.
sectors_of_copy() { "$BIN/dmextract" --list --since=map:"$MAP" "$T/copy" 2> "$T/said" | awk '{ n += $2 } END { print n + 0 }'; }
for table in "$T/table" disk; do
	echo "== killed, table: ${table##*/}"
	begin "$table"
	python3 "$WRITES" read "$T/sock" $((5 << 20)) $((1 << 20)) || fail "read"
	free=$(sectors)
	stop	# all that was fetched is flushed
	serve "$table" fill=no
	check "closed in order, and nothing is written: no change" [ "$(sectors)" = "$free" ]
	python3 "$WRITES" unflushed "$T/sock" $((5 << 20)) "written, and not flushed" || fail "write"
	kill -9 $server; wait $server 2> /dev/null
	check "not served: everything counts as changed" [ "$(sectors_of_copy)" = $((DISK_BYTES / 512)) ]
	check "which is said, and what to do" grep -q "was killed or lost power.*serve the disk again" "$T/said"
	serve "$table" fill=no
	x --since=map:"$MAP" "$URI" > "$T/stream" || fail "dmextract"
	now=$(sectors)
	check "served again: what was present counts, and no more" [ "$now" -gt "$free" -a $((now - free)) -le $((2 * 3840)) ]
	stop
	check "closed in order, and not served: the table counts" [ "$(sectors_of_copy)" = "$now" ]
	check "merged into a copy of the image" m --force "$T/copy" < "$T/stream"
	serve "$table" fill=no
	check "which is what is served" equal
	check "with what was written" grep -q "written, and not flushed" "$T/served"
	stop
done

echo "== what is refused"
"$BIN/imagezip" -q -U "" "$T/sda.fs" "$T/other.ndz" || fail "imagezip"
begin "$T/table"
status 1 "$BIN/dmextract" --since=map:"$T/table,$T/other.ndz" "$URI"
check "another image" grep -q "is not the image that\|stores sector" "$T/stderr"
status 1 "$BIN/dmextract" --since=map:"$T/sda.ndz,$T/sda.ndz" "$URI"
check "no table" grep -q "neither a sector table nor" "$T/stderr"
status 2 "$BIN/dmextract" --since=map:"$T/table" "$URI"
status 1 "$BIN/dmextract" --since=map:"$T/disk,$T/sda.ndz" "$URI"
check "the table is elsewhere" grep -q "its sector table is elsewhere" "$T/stderr"
# A table whose pieces are damaged where data was written says nothing that counts.
python3 "$WRITES" write "$T/sock" $((5 << 20)) "text" || fail "write"
stop
cp "$T/table" "$T/table.good"
python3 -c "
import sys
f = open(sys.argv[1], 'r+b'); f.seek(4 * 4096); f.write(bytes(4096))" "$T/table"
check "damage: everything counts as changed" [ "$("$BIN/dmextract" --list --since=map:"$T/table,$T/sda.ndz" "$T/copy" 2> "$T/said" | awk '{ n += $2 } END { print n }')" = $((DISK_BYTES / 512)) ]
check "which is said" grep -q "everything counts as changed: .*is damaged" "$T/said"
cp "$T/table.good" "$T/table"
serve "$T/table"
is_complete() { [ "$(head -c 14 "$T/disk" | tr -d "\0")" != "NDZ unfinished" ]; }
soon is_complete
check "complete: everything counts as changed" [ "$(sectors 2> "$T/said")" = $((DISK_BYTES / 512)) ]
stop
echo "== by a plan"
truncate -s 0 "$T/disk"; truncate -s $DISK_BYTES "$T/disk"; rm -f "$T/table"
serve "$T/table" fill=no fit=yes; MAP=$T/table,$T/sda.ndz
if x --list --since=map:"$MAP" "$URI" > "$T/listed" 2> "$T/said"; then fail "compared"; fi
check "refused: $(cat "$T/said")" grep -q "has its partitions in other places than" "$T/said"
stop
finish
