#!/usr/bin/env bash
# Filesystems that a library reads are read in a process of their own: what becomes of the
# capture when that crashes or ends, and what is said of its rights.
. "$(dirname "$0")/lib.sh"
requires mkntfs mke2fs sfdisk python3
shim=${B:-$TOP/build/plain}/tests/preload/badlib.so
make_files "$T/files" 4 20
truncate -s 24M "$T/ext4"; mke2fs -q -F -t ext4 -d "$T/files" "$T/ext4"
truncate -s 8M "$T/ntfs"; quietly mkntfs -q -F -Q -p 0 -H 0 -S 0 "$T/ntfs"
imagezip() { LD_PRELOAD=$shim BADLIB=$1 "$BIN/imagezip" "${@:2}" 2> "$T/err"; }

for fs in ext4 ntfs; do
	check "$fs: its free space is skipped" [ "$(said_of skipped_sectors "$T/$fs")" -gt 5000 ]
	for what in "crash:crashed (SIGKILL)" "leave:ended without a result"; do
		imagezip "${what%%:*}" -i --json -F 0 "$T/$fs" > "$T/said"; rc=$?
		check "$fs, ${what%%:*}: exit status 0" [ $rc = 0 ]
		check "$fs, ${what%%:*}: nothing is skipped" grep -q '"skipped_sectors": 0,' "$T/said"
		check "$fs, ${what%%:*}: says why" grep -qF "stored completely: the process that reads it ${what#*:}" "$T/said"
		check "$fs, ${what%%:*}: a warning" grep -qF "${what#*:}" "$T/err"
	done
	check "$fs, crash: captured" imagezip crash -q -F 0 "$T/$fs" "$T/img.ndz"
	poison "$T/target" "$(stat -c %s "$T/$fs")"
	check "$fs, crash: installed" "$BIN/imageunzip" -q --in-place "$T/img.ndz" "$T/target"
	check "$fs, crash: every sector is there" cmp "$T/$fs" "$T/target"; rm "$T/img.ndz"
done

# -d says what rights the process had.  A system that filters no calls changes nothing else.
truncate -s 40M "$T/disk"; quietly sfdisk "$T/disk" <<< $'2048,49152,83\n51200,16384,7'
dd if="$T/ext4" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
dd if="$T/ntfs" of="$T/disk" bs=1M seek=25 conv=notrunc status=none
"$BIN/imagezip" -i "$T/disk" > "$T/plain" 2> "$T/err"
check "without -d: not a word" [ ! -s "$T/err" ]
"$BIN/imagezip" -i -d "$T/disk" > "$T/with" 2> "$T/err"
check "-d: of each filesystem" [ "$(grep -c "^imagezip: partition [12] (\(ext4\|ntfs\)) was read by a process of its own, in 120 s and with [0-9]* MiB" "$T/err")" = 2 ]
cat "$T/err"
imagezip nofilter -i -d "$T/disk" > "$T/without"
check "no filter: -d says so, and why" [ "$(grep -c "its system calls were not filtered: \(Invalid argument\|Function not implemented\)" "$T/err")" = 2 ]
check "no filter: the same is stored" cmp "$T/with" "$T/without"
finish
