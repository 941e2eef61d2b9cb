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
fd = os.open(sys.argv[1], os.O_RDWR | os.O_EXCL); open(sys.argv[2], "w").close(); time.sleep(1000)
PY
holder=$!
begins $holder [ -e "$T/held" ] || fail "it is not held"
sha256sum < "$dev" > "$T/before"
status 1 "$BIN/imageunzip" -q "$T/img.ndz" "$dev"; says "in use"
check "it is untouched" cmp "$T/before" <(sha256sum < "$dev")
kill $holder; wait $holder 2> /dev/null

echo "== read-only"
poison "$T/ro" $((16 << 20)); loop "$T/ro" -r
sha256sum < "$T/ro" > "$T/before"
for how in "" --skip-same --state=target "--state=$T/state" --force; do
	status 1 "$BIN/imageunzip" -q $how "$T/img.ndz" "$dev"; says "$dev"
done
check "it is untouched" cmp "$T/before" <(sha256sum < "$T/ro")
poison "$T/ro2" $((16 << 20)); loop "$T/ro2"
CLEANUP=("blockdev --setrw '$dev'" "${CLEANUP[@]}")	# or the device stays so for whoever has it next
if blockdev --setro "$dev" 2> /dev/null; then
	for how in "" --force; do status 1 "$BIN/imageunzip" -q $how "$T/img.ndz" "$dev"; says "is read-only"; done
	check "it is untouched" cmp "$T/before" <(sha256sum < "$T/ro2")
	blockdev --setrw "$dev"	# or whoever gets it next cannot write
fi

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
if command -v dmsetup > /dev/null && printf '0 16384 linear %s 0\n16384 16384 error\n' "$dev" | dmsetup create "suite$OWN_NUMBER" 2> /dev/null; then
	CLEANUP=("dmsetup remove --retry 'suite$OWN_NUMBER' 2> /dev/null" "${CLEANUP[@]}")
	status 1 "$BIN/imageunzip" -q "$T/img.ndz" "/dev/mapper/suite$OWN_NUMBER"; says "suite$OWN_NUMBER"
	status 1 "$BIN/imageunzip" --status "/dev/mapper/suite$OWN_NUMBER"
	dmsetup remove --retry "suite$OWN_NUMBER"	# somebody who looks at all disks may have it open
else echo "no device mapper: a disk with a bad half is left out"; fi

echo "== the image itself, by any name"
ln "$T/img.ndz" "$T/hard.ndz"; ln -s img.ndz "$T/soft.ndz"; sha256sum < "$T/img.ndz" > "$T/before"
for name in img hard soft; do
	for how in "" --force -N --in-place --skip-same; do status 2 "$BIN/imageunzip" $how "$T/img.ndz" "$T/$name.ndz"; done
	status 2 sh -c "exec '$BIN/imageunzip' - '$T/$name.ndz' < '$T/img.ndz'"
	status 2 sh -c "exec '$BIN/imageunzip' '$T/$name.ndz' - >> '$T/img.ndz'"
done
check "it is whole" cmp "$T/before" <(sha256sum < "$T/img.ndz")
check "-C writes nothing, wherever it prints" sh -c "'$BIN/imageunzip' -C - < '$T/img.ndz' | grep -qE '^[0-9a-f]{8}$'"

echo "== what is no disk"
mkdir "$T/folder"; ln -s folder "$T/link"
status 1 "$BIN/imageunzip" -q "$T/img.ndz" "$T/link"; says "is a directory"
status 1 "$BIN/imageunzip" -q "$T/img.ndz" /dev/no-such-disk
check "no file of that name is made" [ ! -e /dev/no-such-disk ]
status 1 "$BIN/imageunzip" -q "$T/img.ndz" /dev/full; says "No space left"
check "/dev/null takes all" "$BIN/imageunzip" -q "$T/img.ndz" /dev/null
mkfifo "$T/fifo"; cat "$T/fifo" > "$T/piped" & reader=$!
check "a named pipe, too" "$BIN/imageunzip" -q "$T/img.ndz" "$T/fifo"
wait $reader; check "what came is the disk" cmp "$T/src" "$T/piped"

echo "== swap; the image on the disk that is to be overwritten"
dd if=/dev/zero of="$T/swap" bs=1M count=16 status=none; chmod 600 "$T/swap"; mkswap -q "$T/swap" > /dev/null 2>&1; loop "$T/swap"
if swapon "$dev" 2> /dev/null; then
	CLEANUP=("swapoff '$dev' 2> /dev/null" "${CLEANUP[@]}")
	for target in "$dev" "$T/swap"; do status 1 "$BIN/imageunzip" -q "$T/img.ndz" "$target"; says "used as swap"; done
	swapoff "$dev"
else echo "no swap: left out"; fi
truncate -s 40M "$T/holds"; mke2fs -q -F "$T/holds"; loop "$T/holds"
if mount "$dev" "$T/mnt" 2> /dev/null; then
	CLEANUP=("umount '$T/mnt' 2> /dev/null" "${CLEANUP[@]}")
	cp "$T/img.ndz" "$T/mnt"
	for target in "$dev" "$T/holds"; do status 1 "$BIN/imageunzip" -q "$T/mnt/img.ndz" "$target"; says "mounted on"; done
	umount "$T/mnt"
	check "it is clean" quietly e2fsck -fn "$dev"
fi

echo "== odd sizes"
for more in 0 512 1536 4608 1049088; do
	poison "$T/odd" $(((12 << 20) + more)); loop "$T/odd"
	check "$more bytes more" "$BIN/imageunzip" -q -z "$T/img.ndz" "$dev"
	check "the rest is zeros" cmp <(cat "$T/src"; head -c $more /dev/zero) "$dev"
done
poison "$T/odd" $(((12 << 20) - 512)); loop "$T/odd"; sha256sum < "$T/odd" > "$T/before"
status 1 "$BIN/imageunzip" -q "$T/img.ndz" "$dev"; says "needs at least 24576"
check "a sector less: untouched" cmp "$T/before" <(sha256sum < "$dev")
poison "$T/odd" $(((12 << 20) + 100))
check "a file that ends within a sector" "$BIN/imageunzip" -q --in-place -z "$T/img.ndz" "$T/odd"
check "its last bytes stay" cmp "$T/odd" <(cat "$T/src"; head -c 100 /dev/zero | tr '\0' '\245')

echo "== a disk whose sectors cannot be read"
poison "$T/bad" $((12 << 20)); cp "$T/bad" "$T/bad.was"
status 1 env FAULT="pread:9000-9003:bad:$T/bad" LD_PRELOAD="$shim" "$BIN/imageunzip" -q --skip-same "$T/img.ndz" "$T/bad"
says "reading sector"
# What is read ahead may fail before anything is written.
check "it is untouched, or known not to be whole" sh -c "[ \$('$BIN/imageunzip' --status '$T/bad' > /dev/null; echo \$?) = 1 ] || cmp '$T/bad' '$T/bad.was'"
status 1 env FAULT="pread:9000-9003:bad:$T/bad" LD_PRELOAD="$shim" "$BIN/imageunzip" -q --in-place --read-back "$T/img.ndz" "$T/bad"
status 1 "$BIN/imageunzip" --status "$T/bad"
check "it is installed without a look" sh -c "'$BIN/imageunzip' -q --in-place '$T/img.ndz' '$T/bad' && cmp '$T/src' '$T/bad'"

echo "== a disk that goes away, or whose space does"
for kind in gone full dead; do
	for n in 1 2 9; do
		poison "$T/away" $((16 << 20)); rm -f "$T/fired" "$T/state"
		status 1 env FAULT="change:$n:$kind:$T/away" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" \
		    "$BIN/imageunzip" -q --in-place --state="$T/state" --state-interval 0 "$T/img.ndz" "$T/away"
		says "$T/away: "
		check "when it is back, it is gone on with" "$BIN/imageunzip" -q --in-place --state="$T/state" "$T/img.ndz" "$T/away"
		check "and is right" cmp -n $((12 << 20)) "$T/src" "$T/away"
	done
done

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
	rm "$T/tmpfs"/*; truncate -s 16M "$T/tmpfs/back"	# a disk that has not the room that it says
	loop "$T/tmpfs/back"
	status 1 "$BIN/imageunzip" -q "$T/img.ndz" "$dev"; says "$dev: "
	status 1 "$BIN/imageunzip" --status "$dev"
	losetup -d "$dev"
	umount "$T/tmpfs"
else echo "no tmpfs: left out"; fi
finish
