#!/usr/bin/env bash
# NBD servers as sources: of images, of disks, for imagezip; and servers that end, come back or fail.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
requires sfdisk mke2fs qemu-img qemu-nbd
a_disk sda
# serve NAME COMMAND...: it answers at $T/NAME.
serve() {
	local name=$1; shift
	rm -f "$T/$name"
	"$@" > "$T/$name.log" 2>&1 & server=$!
	CLEANUP+=("kill $server 2> /dev/null; wait $server 2> /dev/null")
	begins $server listens_at "$T/$name" || fail "no server: $(cat "$T/$name.log")"
}
at() { echo "nbd+unix:///?socket=$T/$1"; }
end() { kill "$server"; wait "$server" 2> /dev/null; }

echo "== sources of the plugin"
serve image nbdkit -f -r -U "$T/image" file "$T/sda.ndz"
check "an image behind a server" comes_out "$T/sda.out" image="$(at image)"
# The headers of its chunks are asked for together, and not one after the other.
serve ahead nbdkit -f -r -U "$T/ahead" --filter=log --filter=delay file "$T/sda.ndz" logfile="$T/ahead.said" rdelay=100ms
nbd true image="$(at ahead)"
check "its headers are read ahead" awk '
	$4 == "Read" && $7 == "count=0x1000" { n++; here[$3 $5] = 1 }
	$4 == "...Read" && here[$3 $5] { n--; here[$3 $5] = 0 }
	n > most { most = n } END { exit most < 3 }' "$T/ahead.said"
end
check "beside a file" comes_out "$T/sda.out" image="$T/sda.ndz" image="$(at image)"
serve export nbdkit -f -U "$T/export" "$PLUGIN" "$T/sda.ndz"
check "another such export" comes_out "$T/sda.out" image="$(at export)"
nbd "nbdinfo --map \$uri > '$T/map'" image="$(at export)"; nbd "nbdinfo --map \$uri > '$T/map.own'" image="$T/sda.ndz"
check "with its holes" cmp "$T/map" "$T/map.own"
check "streamdisk lists it" grep -q "partition 2: sectors 10240-43007" <("$BIN/streamdisk" "$(at export)")
refused "is no image, and its size is known" image="$(at export)" size=1G
refused "is a disk, not an image, and has no deltas" image="$(at export)" delta="$T/sda.ndz"
nbd true image="$T/sda.ndz" image="$(at export)"
check "a disk is not one of several sources" grep -q "warning: .*is a disk, not an image" "$T/nbd.log"
refused "nothing: connecting: " image="$(at nothing)"
refused "names no server" image=nbd://

echo "== imagezip of a qcow2"
"$BIN/imagezip" -q "$T/sda" "$T/direct.ndz"
qemu-img convert -f raw -O qcow2 "$T/sda" "$T/sda.qcow2" || fail "qemu-img"
serve qcow2 qemu-nbd -t -r -e 4 -f qcow2 -k "$T/qcow2" "$T/sda.qcow2"
check "a disk with an ext4" "$BIN/imagezip" -q "$(at qcow2)" "$T/qcow2.ndz"
"$BIN/imageunzip" -q "$T/qcow2.ndz" "$T/qcow2.out" || fail "imageunzip"
check "is what it is of a file" cmp "$T/sda.out" "$T/qcow2.out"
layout() { "$BIN/imagezip" -i --json "$1" | sed "s|$1|SOURCE|"; }
layout "$T/sda" > "$T/layout.file"; layout "$(at qcow2)" > "$T/layout.nbd"
check "and the same is skipped" diff "$T/layout.file" "$T/layout.nbd"
check "its ext4 alone" "$BIN/imagezip" -q -s 2 "$(at qcow2)" "$T/part.ndz"
check "is right" same_hash <("$BIN/imageunzip" -q "$T/part.ndz" -) "$("$BIN/imagezip" -q -s 2 "$T/sda" - | "$BIN/imageunzip" -q - - | sha256sum | cut -d' ' -f1)"
end
serve one qemu-nbd -t -r -f qcow2 -k "$T/one" "$T/sda.qcow2"	# one client at a time
check "a server that takes one client" "$BIN/imagezip" -q --force "$(at one)" "$T/qcow2.ndz"
end
if command -v mkntfs > /dev/null; then
	truncate -s 30M "$T/ntfs"; mkntfs -q -F "$T/ntfs" > /dev/null 2>&1
	qemu-img convert -f raw -O vmdk "$T/ntfs" "$T/ntfs.vmdk"
	serve vmdk qemu-nbd -t -r -f vmdk -k "$T/vmdk" "$T/ntfs.vmdk"
	check "an NTFS in a vmdk" "$BIN/imagezip" -q "$(at vmdk)" "$T/ntfs.ndz"
	check "is right" cmp <("$BIN/imagezip" -q "$T/ntfs" - | "$BIN/imageunzip" -q - -) <("$BIN/imageunzip" -q "$T/ntfs.ndz" -)
	check "its free space is left out" [ "$(stat -c %s "$T/ntfs.ndz")" -lt 8000000 ]
	end
fi
status 1 "$BIN/imagezip" "$(at nothing)" "$T/none.ndz"
check "no image is made" [ ! -e "$T/none.ndz" ]

echo "== servers that fail"
export DISK_NBD_SECONDS=60
F=$B/tests/nbdkit/nbdkit-faults-filter.so
serve faulty nbdkit -f -r -U "$T/faulty" --filter="$F" file "$T/sda.ndz" faults-fail-at=30
if comes_out "$T/sda.out" image="$(at faulty)"; then fail "a request that fails"; else check "is said: $(head -n 1 "$T/nbd.log")" grep -q "reading: .*error" "$T/nbd.log"; fi
end
# It ends in the middle, and comes back.
slow() { serve slow nbdkit -f -r -U "$T/slow" --filter=delay file "$1" rdelay=30ms; }
slow "$T/sda.ndz"
cat > "$T/read.sh" << 'SH'
nbdcopy --requests=1 --connections=1 "$1" - 2> /dev/null | { head -c 64K > "$T/read"; kill -9 "$2"; rm -f "$T/slow"
	[ -z "$3" ] || { nbdkit -r -U "$T/slow" -P "$T/slow.pid" file "$3"; }; cat >> "$T/read"; }
SH
export T
nbd "bash '$T/read.sh' \$uri $server '$T/sda.ndz'" image="$(at slow)" cache=1M
CLEANUP+=("kill \$(cat '$T/slow.pid') 2> /dev/null")
check "a server that comes back" cmp "$T/sda.out" "$T/read"
kill "$(cat "$T/slow.pid")"
# With another file, or not at all.
slow "$T/sda.ndz"; cp "$T/sda.ndz" "$T/longer"; truncate -s +1M "$T/longer"
nbd "bash '$T/read.sh' \$uri $server '$T/longer'" image="$(at slow)" cache=1M
CLEANUP+=("kill \$(cat '$T/slow.pid') 2> /dev/null")
check "another file: $(tail -n 1 "$T/nbd.log")" grep -q "has changed since it was opened" "$T/nbd.log"
kill "$(cat "$T/slow.pid")" 2> /dev/null; slow "$T/sda.ndz"
export DISK_NBD_SECONDS=5
nbd "bash '$T/read.sh' \$uri $server ''" image="$(at slow)" cache=1M
check "gone: $(tail -n 1 "$T/nbd.log")" grep -q "slow: connecting: \|slow: reading: " "$T/nbd.log"
# It accepts, and says nothing.
"$PYTHON" -c "
import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(5); c = [s.accept() for _ in range(9)]" "$T/mute" & CLEANUP+=("kill $! 2> /dev/null; wait $! 2> /dev/null")
soon listens_at "$T/mute"
refused "mute: connecting: nothing has come for 5 s" image="$(at mute)"
finish
