#!/usr/bin/env bash
# A boot is replayed against a streaming disk.  Its source dies at 20 moments, and reads wait; the disk itself fails, and whoever
# asks gets an error or what is right, while what was flushed stays.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs
a_disk sda
new_target disk
export AVOID=$TABLE_AT-$((TABLE_AT + TABLE_BYTES)) DISK_NBD_SECONDS=0.3 FAULTY=$B/tests/preload/faulty.so
boot() {	# WHAT MOMENT OR FAULT...
	timeout 300 "$PYTHON" -E -S "$TOP/tests/helpers/nbd_boot.py" "$1" "$PLUGIN" "$SHARED/sda.ndz" "$T/disk" "$SHARED/model" "${@:2}" > "$T/said" 2>&1
	local rc=$?
	check "$1: $(tail -n 1 "$T/said")" [ $rc = 0 ]
}
for ((i = 0; i < 4; i++)); do
	beside boot deaths $(seq $((7 + 75 * i)) 15 $((67 + 75 * i)))
done
beside boot failing pwrite:1:eio pwrite:3:dead pwrite:9:eio pwrite:14:full
beside boot failing pwrite:25:eio pwrite:50:dead pwrite:90:eio pwrite:130:full
all_have_ended
finish
