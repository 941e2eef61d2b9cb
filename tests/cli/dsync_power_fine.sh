#!/usr/bin/env bash
# The power fails at any moment while the digests of --fine become those of the next state: what they then say is true.
. "$(dirname "$0")/power_lib.sh"
requires qemu-img qemu-io qemu-nbd
m() { "$BIN/dmmerge" -q "$1/copy"; }
URI="nbd+unix:///?socket=$T/s"
serve_no_more() {
	local pid=
	[ ! -s "$T/pid" ] || { read -r pid < "$T/pid"; kill "$pid"; soon has_ended "$pid"; rm -f "$T/pid"; }
}
CLEANUP+=("serve_no_more 2> /dev/null")
qemu-img create -q -f qcow2 "$T/disk.qcow2" 256K && quietly qemu-img bitmap --add -g 64k "$T/disk.qcow2" first || fail "qemu-img"
quietly qemu-nbd --fork --pid-file="$T/pid" -t -e 8 -k "$T/s" -f qcow2 -B first "$T/disk.qcow2" || fail "qemu-nbd"
page() { quietly qemu-io -f raw -c "write -q -P $1 $2 4k" -c flush "$URI" || fail "qemu-io"; }
x() { "$BIN/dmextract" -q --fine --state="$1/state" --since=nbd:first "${@:2}" "$URI"; }
syncs() { x "$T/fine" > "$T/stream" && m "$T/fine" < "$T/stream" && x "$T/fine" --done || fail "a sync"; }
mkdir "$T/fine"; page 1 64k; page 1 100k
syncs; cp -r "$T/fine" "$T/before"
page 2 64k; page 2 100k
syncs; page 1 100k	# one page is again as it was at first
qemu-img convert -f raw -O raw "$URI" "$T/now" || fail "qemu-img"
# The next sync is right, whether it begins at the state that was confirmed or at the one before, which was put back with its copy.
narrows() { x "$T/work" > /dev/null; }
narrowed() {
	local copy
	rm -rf "$T/back"; cp -r "$T/disk" "$T/back"; cp "$T/before/state" "$T/before/copy" "$T/before/copy.dsync" "$T/back"
	for copy in "$T/disk" "$T/back"; do
		{ x "$copy" > "$T/stream" && m "$copy" < "$T/stream"; } 2> "$T/stderr" || { echo "$copy: $(cat "$T/stderr")"; return 1; }
		cmp -s "$copy/copy" "$T/now" || { echo "$copy/copy is not as the source"; return 1; }
	done
}
LOTS="-1 2" cut "$T/fine" narrowed narrows
finish
