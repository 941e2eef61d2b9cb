#!/usr/bin/env bash
# libcurl and libnbd are loaded by who needs them: no program is linked with them, and on
# a machine without them all else works, and what needs them says so.
. "$(dirname "$0")/lib.sh"
requires readelf
take random:2M disk disk.ndz

echo "== no program begins with them"
needed() { readelf -d "$1" | grep NEEDED; }
for p in "$BIN"/*; do
	[ -x "$p" ] && [ -f "$p" ] || continue
	check "${p##*/}" eval '! needed "$p" | grep -E "libcurl|libnbd"'
done

echo "== without them"
mkdir "$T/none"; : > "$T/none/libcurl.so.4"; : > "$T/none/libnbd.so.0"
without() { LD_LIBRARY_PATH=$T/none "$@"; }
check "an image in a file is installed" \
    without "$BIN/imageunzip" -q "$T/disk.ndz" "$T/new"
check "and it is right" cmp "$T/disk" "$T/new"
export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b AWS_ENDPOINT_URL=http://127.0.0.1:1
lacks() {	# LIBRARY COMMAND...
	local library=$1; shift
	status 1 without "$@"
	check "it names $library" \
	    grep -q "$library.*: this library is not installed" "$T/stderr"
}
lacks libcurl "$BIN/emustore" --store s3://bucket/store list
lacks libcurl "$BIN/streamdisk" http://127.0.0.1:1/disk.ndz
lacks libcurl "$BIN/swapin" -S 127.0.0.1:1 --list
lacks libnbd "$BIN/imagezip" -q nbd://127.0.0.1:1 "$T/x.ndz"
finish
