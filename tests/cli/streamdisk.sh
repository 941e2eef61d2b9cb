#!/usr/bin/env bash
# streamdisk: partitions listed; a filesystem mounted, a disk as a file, and nothing left behind.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
requires sfdisk mke2fs nbdfuse
a_disk sda
export XDG_RUNTIME_DIR=$T/run; mkdir -p "$T/run" "$T/m" "$T/here"
SD=$BIN/streamdisk

check "a list" quietly "$SD" "$T/sda.ndz"
check "its partitions" grep -q "partition 2: sectors 10240-43007, 16.8 MB, 0x83 Linux" <("$SD" "$T/sda.ndz")
check "as JSON" [ "$("$SD" --json "$T/sda.ndz" | json -1 - disk_bytes partition_table "partitions[*].number,first_sector,sectors")" = "$((24 << 20)) mbr 1:2048:8192 2:10240:32768" ]
"$BIN/imagezip" -q "$T/sda.fs" "$T/fs.ndz" || fail "imagezip"
check "no partitions" grep -q "no partitions" <("$SD" "$T/fs.ndz")

status 1 "$SD" --ro --partition=7 "$T/sda.ndz" "$T/m"
status 1 "$SD" --ro "$T/nothing.ndz" --file "$T/m"
status 3 "$SD" "$T/sda.fs"
status 1 "$SD" --verify-key "$T/none" "$T/sda.ndz"

[ -c /dev/fuse ] && { : < /dev/fuse; } 2> /dev/null || { echo "no FUSE here: attaching is left out"; finish; }
begin() {	# WHERE OPTION...: attached, in the background
	local where=$1; shift
	rm -f "$T/attached"
	"$SD" --json "$@" > "$T/attached" 2> "$T/sd.log" & sd=$!
	CLEANUP+=("kill $sd 2> /dev/null; wait $sd 2> /dev/null")
	begins $sd [ -s "$T/attached" ]
	check "attached: ${*: -2}" grep -q "\"attached_at\": \"$where\"" "$T/attached"
}
ends() {	# STATUS WHAT: by now, or soon; nothing is left
	local got; wait $sd; got=$?
	check "$2: exit $1" [ $got = "$1" ]
	check "nothing is left" [ -z "$(ls -A "$T/run")$(ls -A "$T/m")$(grep "$T" /proc/self/mounts)$(losetup -n -O BACK-FILE 2> /dev/null | grep "$T")" ]
}

# A file by FUSE.
begin "$T/m/disk" --ro --file "$T/sda.ndz" "$T/m"
check "the disk is right" cmp "$T/sda.out" "$T/m/disk"
if { : >> "$T/m/disk"; } 2> /dev/null && echo x 2> /dev/null >> "$T/m/disk"; then fail "it can be written to"; fi
kill -TERM $sd; ends 0 "SIGTERM"
begin "$T/m/part2" --ro --file --partition=2 "$T/sda.ndz" "$T/m"
check "a partition is right" cmp "$T/m/part2" <(tail -c +5242881 "$T/sda.out" | head -c 16777216)
kill -INT $sd; ends 0 "SIGINT"
: > "$T/afile"; begin "$T/afile" --ro --file "$T/sda.ndz" "$T/afile"
check "over a file" cmp "$T/sda.out" "$T/afile"
kill -HUP $sd; ends 0 "SIGHUP"
begin "$T/m/disk" --ro --file "$T/sda.ndz" "$T/m"
fusermount3 -u "$T/m"; ends 0 "detached by somebody else"
begin "$T/m/disk" --ro --file "$T/sda.ndz" "$T/m"
kill -9 "$(cat "$T"/run/streamdisk-*/nbdkit.pid)"; ends 1 "its server is killed"
check "which is said" grep -q "^streamdisk: nbdkit" "$T/sd.log"
"$SD" --ro --file "$T/sda.ndz" "$T/m" 2> "$T/sd.log" & sd=$!
its_folder() { [ -n "$(ls -A "$T/run")" ]; }
begins $sd its_folder; kill $sd; wait $sd; rc=$?
check "a signal while it begins" [ $rc = 0 -o $rc = 1 -o $rc = 143 ]
check "nothing is left" [ -z "$(ls -A "$T/run")$(ls -A "$T/m")" ]

# Whoever is not root.
if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null && [ -n "${MOUNTS_ARE_OWN:-}" ]; then
	mknod "$T/fuse" c 10 229; chmod 666 "$T/fuse"; mount --bind "$T/fuse" /dev/fuse
	mkdir "$T/theirs"; chmod 755 "$T" "$T/sda.ndz"; chown nobody "$T/theirs" "$T/run"
	rm -f "$T/sd.log"	# the one before may have said the same
	setpriv --reuid=nobody --clear-groups "$SD" --ro "$T/sda.ndz" "$T/theirs" 2> "$T/sd.log" & sd=$!
	begins $sd grep -q "is at" "$T/sd.log"
	check "as nobody: $(cat "$T/sd.log")" setpriv --reuid=nobody --clear-groups cmp "$T/sda.out" "$T/theirs/disk"
	kill $sd; ends 0 "SIGTERM, as nobody"
	umount /dev/fuse; rm "$T/fuse"
else echo "not root: nobody else is tried"; fi

# Filesystems, mounted.
[ "$(id -u)" = 0 ] && [ -n "$(losetup -f 2> /dev/null)" ] || { echo "no loop devices here: mounting is left out"; finish; }
status 2 "$SD" --ro "$T/sda.ndz" "$T/m"
check "which partitions there are is said" grep -q "select one of 1, 2 with --partition" "$T/stderr"
status 1 "$SD" --ro --partition=1 "$T/sda.ndz" "$T/m"
begin "$T/m" --ro --partition=2 "$T/sda.ndz" "$T/m"
check "the files are right" diff -r "$T/files" "$T/m" -x lost+found
if touch "$T/m/new" 2> /dev/null; then fail "it can be written to"; fi
kill $sd; ends 0 "SIGTERM"
begin "$T/m" --ro "$T/fs.ndz" "$T/m"; check "a filesystem alone" diff -r "$T/files" "$T/m" -x lost+found
umount "$T/m"; ends 0 "unmounted by somebody else"
begin "$T/m" --ro "$T/fs.ndz" "$T/m"
(cd "$T/m" && exec sleep 1000) & user=$!
is_in() { [ "$(readlink "/proc/$user/cwd")" = "$T/m" ]; }
begins $user is_in || fail "nobody uses it"
kill $sd; wait $sd; rc=$?
check "in use: exit $rc" [ $rc = 1 ]
check "which is said: $(tail -n 1 "$T/sd.log")" grep -q "could not be unmounted cleanly, so programs that use it get errors" "$T/sd.log"
kill $user; wait $user 2> /dev/null
is_free() { [ -z "$(grep " $T/m" /proc/self/mounts)$(command losetup -n -O BACK-FILE 2> /dev/null | grep "$T")" ]; }
soon is_free
if command -v mkntfs > /dev/null && command -v ntfs-3g > /dev/null; then
	truncate -s 30M "$T/ntfs"; mkntfs -q -F "$T/ntfs" > /dev/null 2>&1
	mount -o loop -t ntfs-3g "$T/ntfs" "$T/m" && cp -r "$T/files/docs" "$T/m" && umount "$T/m"
	soon is_free	# its process ends behind umount
	"$BIN/imagezip" -q "$T/ntfs" "$T/ntfs.ndz" || fail "imagezip"
	begin "$T/m" --ro "$T/ntfs.ndz" "$T/m"; check "an NTFS" diff -r "$T/files/docs" "$T/m/docs"
	kill $sd; ends 0 "SIGTERM"
fi

# The kernel's own NBD client.
if [ -b /dev/nbd0 ]; then
	begin /dev/nbd0 --ro "$T/sda.ndz" /dev/nbd0; check "a block device" cmp "$T/sda.out" /dev/nbd0
	kill $sd; ends 0 "SIGTERM"
else echo "no nbd module here: /dev/nbdN is left out"; fi
finish
