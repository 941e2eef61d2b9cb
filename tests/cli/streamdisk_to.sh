#!/usr/bin/env bash
# streamdisk SOURCE DISK: by a socket and as a file; qemu-io and nbdcopy as clients; the status; the end.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs qemu-io
a_disk sda
export XDG_RUNTIME_DIR=$T/run; mkdir -p "$T/run" "$T/m"
SD=$BIN/streamdisk U=$TOP/tests/helpers/nbd_stream.py URI="nbd+unix:///?socket=$T/sock"
new_target "$T/table"
begin() {	# OPERAND OR OPTION...: in the background, until it says where the disk is
	rm -f "$T/attached"
	"$SD" --json --table="$T/table" --status="$T/status" "$@" > "$T/attached" 2> "$T/sd.log" & sd=$!
	CLEANUP+=("kill $sd 2> /dev/null; wait $sd 2> /dev/null")
	begins $sd [ -s "$T/attached" ] || fail "not attached: $(cat "$T/sd.log")"
}
ends() { local got; kill -TERM $sd; wait $sd; got=$?; check "$1: exit 0" [ $got = 0 ]; check "nothing is left" [ -z "$(ls -A "$T/run")" ]; }
# nbdkit listens a moment after it has made a socket.
LD_PRELOAD=${B:-$TOP/build/plain}/tests/preload/late.so begin --no-fill --socket="$T/sock" "$T/sda.ndz" "$T/disk"
check "the status can be asked for at once" quietly "$SD" status "$T/status"
check "as JSON" json "$T/attached" "disk=$T/disk" "attached_at=$T/sock"
"$SD" status "$T/status" > "$T/json"; stored=$(json "$T/json" stored_bytes)
check "the status" json "$T/json" "present_bytes<$stored" "disk_bytes>$stored" complete=false
# What is at the path of a socket stays, unless a program has left it that has ended.
echo mine > "$T/mine"
for o in --socket="$T/mine" --socket="$T/sock" --status="$T/mine" --status="$T/status"; do status 1 "$SD" --table="$T/table" "$o" "$T/sda.ndz" "$T/disk"; done
check "all is as it was" [ "$(cat "$T/mine")" = mine -a -S "$T/sock" -a -S "$T/status" ]
qemu() { qemu-io -f raw "$@" "$URI" > "$T/qemu" 2>&1 && ! grep -qi "fail\|error" "$T/qemu" || { cat "$T/qemu"; return 1; }; }
check "qemu-io writes, part of a sector too" qemu -c "write -P 0x31 6M 70000" -c "write -z 7M 128k" -c "write -f -P 0x32 6300100 1000" -c "discard 8M 64k" -c flush
check "and reads" qemu -c "read -P 0x31 6M 8000" -c "read -P 0 7M 128k" -c "read -P 0x32 6300100 1000"
ends "SIGTERM"
check "it says that it is not complete" grep -q "^streamdisk: $T/disk is incomplete: the same command goes on$" "$T/sd.log"
check "not complete: imageunzip --status says so" grep -qi "not complete\|incomplete\|interrupted\|unfinished" <("$BIN/imageunzip" --status "$T/disk" 2>&1)
for s in sock status; do python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$T/$s"; done
begin --rate 400M --when-idle 0 --socket="$T/sock" "$T/sda.ndz" "$T/disk"
check "what was written is there" qemu -c "read -P 0x31 6M 8000" -c "read -P 0 7M 128k" -c "read -P 0x32 6300100 1000"
check "complete" python3 "$U" wait "$T/status" 300
rm -f "$T/copied"; check "nbdcopy" nbdcopy "$URI" "$T/copied"
ends "complete"
check "it says nothing of the kind" [ "$(grep -c "is incomplete" "$T/sd.log")" = 0 ]
check "the disk is what it showed" cmp "$T/disk" "$T/copied"
check "imageunzip --status finds no marker" quietly "$BIN/imageunzip" --status "$T/disk"
new_target "$T/table"
begin --anew --no-fill --socket="$T/sock" "$T/sda.ndz" "$T/disk"
ends "begun with --anew"
check "what was written is not lost by what it says: $(cat "$T/sd.log")" grep -q "^streamdisk: $T/disk is incomplete: the same command without --anew goes on$" "$T/sd.log"
python3 -c 'import os, socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1] + ".new"); s.listen(); os.rename(sys.argv[1] + ".new", sys.argv[1]); time.sleep(600)' "$T/mute" & mute=$!
CLEANUP+=("kill $mute 2> /dev/null")
begins $mute [ -S "$T/mute" ] || fail "no socket"
status 1 timeout 100 "$SD" status "$T/mute"
check "it says why: $(cat "$T/stderr")" grep -q "nothing came for 10 seconds" "$T/stderr"
[ -c /dev/fuse ] && { : < /dev/fuse; } 2> /dev/null && command -v nbdfuse > /dev/null || { echo "no FUSE here: the file is left out"; finish; }
new_target "$T/table"
begin --no-fill "$T/sda.ndz" "$T/disk" "$T/m"
check "a file" cmp "$T/m/disk" "$T/model"
check "can be written" dd if=/dev/zero of="$T/m/disk" bs=4096 seek=1500 count=3 conv=notrunc,fsync status=none
dd if=/dev/zero of="$T/model" bs=4096 seek=1500 count=3 conv=notrunc status=none
check "and has it" cmp "$T/m/disk" "$T/model"
ends "SIGTERM, as a file"
check "all was read: a plain disk" cmp "$T/disk" "$T/model"
finish
