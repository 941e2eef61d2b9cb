#!/usr/bin/env bash
# A capture leaves the page cache as it was: what nobody had cached is let go,
# what somebody had stays.
. "$(dirname "$0")/lib.sh"
requires fincore dd
cached_mb() { echo $(($(fincore -b -n -o RES "$1") >> 20)); }
# Some of what is being read ahead cannot be let go.
SLACK_MB=10

head -c $((128 << 20)) /dev/urandom > "$T/disk"
sync "$T/disk"
dd if="$T/disk" iflag=nocache count=0 status=none
[ "$(cached_mb "$T/disk")" -le 1 ] || skip "the files of $T are always in memory"

check "captured" "$BIN/imagezip" -q -D -z 1 -r "$T/disk" "$T/i.ndz"
echo "# cached of 128 MiB that were not: $(cached_mb "$T/disk")"
check "128 MiB read, not kept" [ "$(cached_mb "$T/disk")" -le $SLACK_MB ]

captures_again() {
	dd if="$T/disk" iflag=nocache count=0 status=none
	dd if="$T/disk" of=/dev/null bs=1M skip=50 count=24 status=none
	before=$(cached_mb "$T/disk")
	check "captured again" "$BIN/imagezip" -q -D -z 1 -r "$T/disk" "$T/i.ndz"
	after=$(cached_mb "$T/disk")
	echo "# cached before: $before MiB, after: $after"
	[ "$before" -ge 24 ] && [ "$after" -ge 24 ]
}
# Not what was read ahead: it may be on its way yet when imagezip looks.  A system that is short of memory lets go by
# itself of what was read, but not every time.
check "what was read before is still cached" eval 'captures_again || captures_again || captures_again || captures_again'
check "and nothing more" [ "$after" -le $((before + SLACK_MB)) ]
check "the image is good" "$BIN/imagedump" -q --verify "$T/i.ndz"
finish
