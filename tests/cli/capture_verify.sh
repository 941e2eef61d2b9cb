#!/usr/bin/env bash
# imagezip --verify: an image that is whole is called so; one of which the medium has lost or changed a
# write is not, wherever that was, and becomes no image.
. "$(dirname "$0")/lib.sh"
requires mke2fs
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
take random:6M disk
check "a whole image" "$BIN/imagezip" -q -r --verify -U '' "$T/disk" "$T/whole.ndz"
check "has its signature" "$BIN/imagehash" -q -S -o "$T/whole.ndz.sig" "$T/whole.ndz"
check "without one" "$BIN/imagezip" -q -r --verify --codec=zstd "$T/disk" "$T/other.ndz"
check "nothing else is written" [ "$(ls "$T" | tr '\n' ' ')" = "disk other.ndz whole.ndz whole.ndz.sig " ]
check "of a filesystem, with free space" eval 'truncate -s 16M "$T/fs" && quietly mke2fs -q -F "$T/fs" && "$BIN/imagezip" -q --verify "$T/fs" "$T/fs.ndz"'
check "of a file of any length" eval 'printf abc > "$T/abc" && "$BIN/imagezip" -q -f --verify "$T/abc" "$T/abc.ndz"'
mkfifo "$T/pipe"; sleep 1000 < "$T/pipe" & CLEANUP+=("kill $! 2> /dev/null")
for to in pipe link; do
	[ $to = pipe ] || ln -s /dev/full "$T/link"
	status 2 timeout 240 "$BIN/imagezip" -q -r --verify "$T/disk" "$T/$to"
	check "a $to is no file: $(cat "$T/stderr")" grep -q "needs a file, and $T/$to is none" "$T/stderr"
done

echo "== a filesystem that is a program: what the kernel has of its device is not read, either"
on_ntfs() {
	truncate -s 40M "$T/ntfs"; quietly mkntfs -q -F -Q "$T/ntfs" && LOOP=$(losetup --show -f "$T/ntfs") && CLEANUP+=("umount -l $T/m; losetup -d $LOOP") || return 1
	mkdir "$T/m"; ntfs-3g "$LOOP" "$T/m" 2> /dev/null
}
if [ "$(id -u)" = 0 ] && [ -n "${MOUNTS_ARE_OWN:-}" ] && command -v strace ntfs-3g mkntfs > "$T/tools" && on_ntfs; then
	check "on NTFS" strace -f -o "$T/calls" -e trace=openat,fadvise64 "$BIN/imagezip" -q -r --verify "$T/disk" "$T/m/new.ndz"
	check "its device is read anew" eval "grep -A1 'openat.*\"$LOOP\"' $T/calls | grep -q 'fadvise64.*0, 0, POSIX_FADV_DONTNEED'"
else echo "left out: needs root, a loop device, ntfs-3g and strace"
fi

echo "== writes that do not arrive"
for n in 1 2 3 4 5 6 7; do
	cp "$T/whole.ndz" "$T/bad.ndz"; rm -f "$T/fired"
	env FAULT="pwrite:$n:astray:$T/bad.ndz" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/imagezip" -q -r --verify -U "$T/sig" "$T/disk" "$T/bad.ndz" 2> "$T/err"; rc=$?
	if [ ! -e "$T/fired" ]; then [ $n -gt 1 ] || fail "no write"; continue; fi
	check "write $n: damaged" [ $rc = 3 ]
	check "which is said: $(cat "$T/err")" grep -q "verify: there is no image: " "$T/err"
	check "no signature" [ ! -e "$T/sig" ]
	check "the older image is there" cmp -s "$T/whole.ndz" "$T/bad.ndz"
	check "and nothing of the new one" [ ! -e "$T/bad.ndz.partial" ]
done
finish
