#!/usr/bin/env bash
# dmextract by a dirty bitmap that QEMU keeps in a qcow2 and serves over NBD.
. "$(dirname "$0")/lib.sh"
requires qemu-img qemu-io qemu-nbd
D=$T/disk.qcow2 URI="nbd+unix:///?socket=$T/s"
x() { "$BIN/dmextract" -q --state="$T/state" "$@"; }
m() { "$BIN/dmmerge" -q "$T/copy" "$@"; }
serve() {	# BITMAP
	rm -f "$T/s"
	quietly qemu-nbd --fork --pid-file="$T/pid" -t -e 4 -k "$T/s" -f qcow2 -B "$1" "$D" || fail "qemu-nbd"
}
serve_no_more() {
	local pid=
	[ ! -s "$T/pid" ] || { read -r pid < "$T/pid"; kill "$pid"; soon has_ended "$pid"; rm -f "$T/pid"; }
}
CLEANUP+=("serve_no_more 2> /dev/null")
write() { quietly qemu-io -f qcow2 -c "write -q -P $1 $2 $3" "$D" || fail "qemu-io"; }
equal() { qemu-img convert -f qcow2 -O raw "$D" "$T/raw" && cmp "$T/raw" "$T/copy"; }
qemu-img create -q -f qcow2 "$D" 40M || fail "qemu-img"
write 1 0 5M; write 2 20M 100k
quietly qemu-img bitmap --add -g 64k "$D" first || fail "bitmap"
serve first
check "a full copy without a base" eval 'x --since=nbd:first "$URI" | m'
check "confirmed" x --done --since=nbd:first "$URI"
serve_no_more
check "equal" equal
write 3 7M 64k; write 4 39M 1M
quietly qemu-img bitmap --add -g 64k "$D" second || fail "bitmap"
serve first
check "--list" [ "$(x --list --since=nbd:first "$URI" | tr '\n' ' ')" = "14336 128 79872 2048 " ]
serve_no_more
serve second
status 1 "$BIN/dmextract" --state="$T/state" --since=nbd:third "$URI"
check "says which" grep -q 'no dirty bitmap "third"' "$T/stderr"
# The base's bitmap is not served: everything counts as changed.
check "without the base's bitmap" [ "$(x --list --since=nbd:second "$URI" 2> /dev/null)" = "0 81920" ]
serve_no_more
serve first
x --since=nbd:first "$URI" > "$T/stream"
check "only what was written" [ "$(stat -c %s "$T/stream")" -lt 1200000 ]
check "merged" m < "$T/stream"
check "confirmed" x --done --since=nbd:first "$URI"
# Images: a state without the signature that belongs to it would make a delta that lacks
# blocks.
z() {
	"$BIN/imagezip" -q -r --changed-since="$T/image" --since=nbd:first "$URI" "$T/image.ndz"
}
mkdir "$T/image.sig"
status 1 z
check "a signature that cannot be written: no state is kept" [ ! -e "$T/image" ]
rmdir "$T/image.sig"
check "an image, with both" z
check "they are kept" [ -s "$T/image" -a -s "$T/image.sig" ]
serve_no_more
check "equal" equal
status 2 "$BIN/dmextract" --state="$T/state" --since=nbd:first "$D"
finish
