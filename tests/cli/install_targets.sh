#!/usr/bin/env bash
# Targets that cannot be installed to: in use, read-only, too small, shrinking while
# they are written, a full filesystem.  One sentence, exit status 1, nothing else is touched.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root for loop devices and mounts"
requires python3 mke2fs losetup
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
head -c 12M /dev/urandom > "$T/src"
"$BIN/imagezip" -q -r "$T/src" "$T/img.ndz" || fail "imagezip"
loop() {	# FILE OPTIONS...: $dev
	dev=$(losetup -f --show "${@:2}" "$1" 2> /dev/null) || skip "no loop device to be had"
	CLEANUP+=("losetup -d '$dev' 2> /dev/null")
}
says() { check "it says: $1" grep -q "$1" "$T/stderr"; }

echo "== in use"
truncate -s 16M "$T/used"; mke2fs -q -F "$T/used"; loop "$T/used"; mkdir "$T/mnt"
if mount "$dev" "$T/mnt" 2> /dev/null; then
	CLEANUP=("umount '$T/mnt' 2> /dev/null" "${CLEANUP[@]}")
	touch "$T/mnt/file"; sync "$T/mnt/file"
	for how in "" --skip-same -n --state=target "--state=$T/state"; do
		status 1 "$BIN/imageunzip" -q $how "$T/img.ndz" "$dev"; says "mounted on"
	done
	check "its filesystem is whole" test -e "$T/mnt/file"
	umount "$T/mnt"
	check "and clean" quietly e2fsck -fn "$dev"
else echo "no mount: left out"; fi
"$PYTHON" -E -S - "$dev" "$T/held" << 'PY' &
import os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL); open(sys.argv[2], "w").close(); time.sleep(60)
PY
holder=$!
for ((i = 0; i < 200; i++)); do [ -e "$T/held" ] && break; sleep 0.05; done
sha256sum < "$dev" > "$T/before"
status 1 "$BIN/imageunzip" -q "$T/img.ndz" "$dev"; says "in use"
check "it is untouched" cmp "$T/before" <(sha256sum < "$dev")
kill $holder; wait $holder 2> /dev/null

echo "== read-only"
poison "$T/ro" $((16 << 20)); loop "$T/ro" -r
sha256sum < "$T/ro" > "$T/before"
for how in "" --skip-same --state=target "--state=$T/state"; do
	status 1 "$BIN/imageunzip" -q $how "$T/img.ndz" "$dev"; says "$dev"
done
check "it is untouched" cmp "$T/before" <(sha256sum < "$T/ro")

echo "== too small, and smaller while it is written"
poison "$T/small" $((11 << 20)); loop "$T/small"
sha256sum < "$T/small" > "$T/before"
for how in "" --skip-same --state=target "--state=$T/state"; do
	status 1 "$BIN/imageunzip" -q $how "$T/img.ndz" "$dev"; says "too small"
done
check "it is untouched" cmp "$T/before" <(sha256sum < "$dev")
# Truncated behind its back at the third write: what is behind the end is gone then.
poison "$T/shrinks" $((16 << 20)); loop "$T/shrinks"
for how in "" -n --read-back --state=target "--state=$T/state"; do
	rm -f "$T/fired" "$T/state"
	status 1 env FRISBEE_NO_URING=1 FAULT="pwrite:3:full:$dev" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" \
	    "$BIN/imageunzip" -q --state-interval 0 $how "$T/img.ndz" "$dev"
	says "No space left"
	check "the fault came" [ -e "$T/fired" ]
	status 1 "$BIN/imageunzip" --status "$dev"
done
rm -f "$T/state"
if command -v dmsetup > /dev/null && printf '0 16384 linear %s 0\n16384 16384 error\n' "$dev" | dmsetup create "suite$$" 2> /dev/null; then
	CLEANUP=("dmsetup remove 'suite$$' 2> /dev/null" "${CLEANUP[@]}")
	status 1 "$BIN/imageunzip" -q "$T/img.ndz" "/dev/mapper/suite$$"; says "suite$$"
	status 1 "$BIN/imageunzip" --status "/dev/mapper/suite$$"
	dmsetup remove "suite$$"
else echo "no device mapper: a disk with a bad half is left out"; fi

echo "== a full filesystem"
mkdir "$T/tmpfs"
if mount -t tmpfs -o size=6m none "$T/tmpfs" 2> /dev/null; then
	CLEANUP=("umount '$T/tmpfs' 2> /dev/null" "${CLEANUP[@]}")
	status 1 "$BIN/imageunzip" -q "$T/img.ndz" "$T/tmpfs/out"; says "No space left"
	check "no half-made file is left" [ ! -e "$T/tmpfs/out" ]
	echo precious > "$T/tmpfs/other"
	status 1 "$BIN/imageunzip" -q --raw-chunks "$T/img.ndz" "$T/tmpfs/out"; says "No space left"
	check "nor of its chunks; what was there is" grep -q precious "$T/tmpfs/other"
	check "none" [ ! -e "$T/tmpfs/out" ]
	head -c 20M /dev/zero > "$T/tmpfs/filler" 2> /dev/null
	poison "$T/target" $((16 << 20)); sha256sum < "$T/target" > "$T/before"
	status 1 "$BIN/imageunzip" -q --in-place "--state=$T/tmpfs/state" "$T/img.ndz" "$T/target"; says "tmpfs/state"
	check "no room for the state: the target is untouched" cmp "$T/before" <(sha256sum < "$T/target")
	umount "$T/tmpfs"
else echo "no tmpfs: left out"; fi
finish
