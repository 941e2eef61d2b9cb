#!/usr/bin/env bash
# A machine whose image has no modules for streaming says so, is loaded first, and its disk is as an
# installation leaves it.  So is one whose network card the image's kernel does not drive.
. "$(dirname "$0")/stream_lib.sh"
vm_bootable; cp "$D/disk.ndz" "$T"
serve 1000000000
poison "$T/a" $((200 << 20))
streams loaded frisbee.after=poweroff
vm_sees loaded 300 'has no modules of a kernel'
vm_sees loaded 10 'so vda is loaded first, and its system is started from it then'
vm_sees loaded 300 'frisbee: DONE: vda is loaded'
vm_ends loaded 60
check "it is whole" quietly "$BIN/imageunzip" --status "$T/a"
"$BIN/imageunzip" -q "$T/disk.ndz" "$T/copy" || fail "imageunzip"
# What the image stores is there, and the rest, which is zeros in the copy, has the disk's old bytes.
as_installed() {
	python3 - "$T/copy" "$T/a" << 'PY'
import sys
copy, disk, old = open(sys.argv[1], "rb"), open(sys.argv[2], "rb"), 0
while True:
    x = copy.read(512)
    y = disk.read(len(x))
    if not x: break
    if x != y:
        if x.strip(b"\0") or y.strip(b"\xa5"): sys.exit(f"a difference in front of byte {copy.tell()}")
        old += 1
sys.exit(old == 0)
PY
}
check "as an installation leaves it" as_installed

echo "== a network card that the image's kernel has no driver for"
kill "${PIDS[-1]}"; wait "${PIDS[-1]}" 2> /dev/null; rm -r "$T/disk.ndz" "$T/a"
made_disk 1
truncate -s +1M "$T/a"	# for the sector table
NIC=e1000e
streams card frisbee.after=poweroff
vm_sees card 300 'has no driver for eth0, which e1000e drives here: pci:v00008086d000010D3'
vm_sees card 10 'so vda is loaded first, and its system is started from it then'
vm_sees card 300 'frisbee: DONE: vda is loaded'
vm_ends card 60
check "it is whole" quietly "$BIN/imageunzip" --status "$T/a"
finish
