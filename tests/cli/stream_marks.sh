#!/usr/bin/env bash
# nbdkit is killed when writes were answered and not flushed: with marks=, another one that is started with the same
# parameters has them.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs
[ "$(stat -f -c %T /dev/shm 2> /dev/null)" = tmpfs ] && [ -w /dev/shm ] || skip "needs tmpfs at /dev/shm"
U=$TOP/tests/helpers/nbd_stream.py
memory=$(mktemp -d /dev/shm/stream_marks-XXXXXX) || fail mktemp
CLEANUP+=("rm -rf '$memory'")
marks=$memory/marks
a_disk sda
new_target disk
copied() { rm -f "$T/copied"; nbdcopy "nbd+unix:///?socket=$T/sock" "$T/copied"; }
# Both nbdkits are told to begin anew, as whoever starts one again would do.
again() { serve disk fill=no anew=yes marks="$marks"; }
refused "an empty file to begin" "$T/sda.ndz" disk="$T/disk" marks="$marks"
: > "$T/marks"
[ "$(stat -f -c %T "$T")" = tmpfs ] || refused "is no file on tmpfs" "$T/sda.ndz" disk="$T/disk" marks="$T/marks"
: > "$marks"
refused "memory alone" "$T/sda.ndz" disk="$T/disk" table=memory marks="$marks"
again
for at in 0 6000000 20000000; do
	python3 "$U" unflushed "$T/sock" $at "written at $at"
	printf %s "written at $at" | dd of="$T/model" oflag=seek_bytes seek=$at conv=notrunc status=none
	refused "another program serves this disk" "$T/sda.ndz" disk="$T/disk" marks="$marks"
	kill -9 $server; wait $server 2> /dev/null
	again
	check "copied" copied
	check "behind a kill, what was written at $at is there" cmp "$T/copied" "$T/model"
done
check "ended in order" stop
check "no marks are left" [ ! -s "$marks" ]
serve disk fill=no marks="$marks"
check "copied" copied
stop
hide_table "$T/copied"	# everything was read, so the disk is complete, and two headers are left
check "what was written is there" cmp "$T/copied" "$T/model"
finish
