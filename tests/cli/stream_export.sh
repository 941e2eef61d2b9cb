#!/usr/bin/env bash
# streamdisk --export: other machines read the image from a machine whose disk streams: what is absent is fetched first, and
# what this machine writes is never in it.  One of them streams from there.
. "$(dirname "$0")/lib.sh"
own_network "$@"	# in which nobody else takes its port
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs nbdinfo
[ -n "$(find /usr/lib -name nbdkit-nbd-plugin.so -print -quit)" ] || skip "needs nbdkit's plugin nbd"
a_disk sda
export XDG_RUNTIME_DIR=$T/run; mkdir -p "$T/run"
SD=$BIN/streamdisk U=$TOP/tests/helpers/nbd_stream.py
"$BIN/imageunzip" -q "$T/sda.ndz" "$T/image" || fail imageunzip
PORT=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
URI=nbd://127.0.0.1:$PORT/
begin() {	# OPTION...: in the background, until it says where the disk is
	rm -f "$T/attached"
	"$SD" --json --status="$T/status" --socket="$T/sock" --export="127.0.0.1:$PORT" "$@" "$T/sda.ndz" "$T/disk" > "$T/attached" 2> "$T/sd.log" & sd=$!
	CLEANUP+=("kill $sd 2> /dev/null; wait $sd 2> /dev/null")
	begins $sd [ -s "$T/attached" ] || fail "not attached: $(cat "$T/sd.log")"
}
ends() { local got; kill -TERM $sd; wait $sd; got=$?; check "$1: exit 0: $(cat "$T/sd.log")" [ $got = 0 ]; check "nothing is left" [ -z "$(ls -A "$T/run")" ]; }
present() { python3 "$U" status "$T/status" | json - present_bytes; }
same_image() { rm -f "$T/copied"; nbdcopy "$URI" "$T/copied" && truncate -s "$(stat -c %s "$T/image")" "$T/copied" && cmp "$T/image" "$T/copied"; }
# Writes everywhere, until the file $T/enough is there: to what is absent, and to what was fetched.
cat > "$T/write.py" << 'PY'
import os, random, sys
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client, WRITE, TRIM
nbd, r, n = Client(sys.argv[1]), random.Random(7), 0
while not os.path.exists(sys.argv[2]):
    at = r.randrange(1 << 20, 22 << 20) // 512 * 512
    nbd.change(WRITE, at, 1024, b"\xee" * 1024) if n % 8 else nbd.change(TRIM, at, 4096)
    n += 1
print(n)
PY
new_target "$T/table"
# Where other machines hear it, only with a key.
for at in 0.0.0.0 10.9.9.9:1 '[::]:1'; do
	status 2 timeout 240 "$SD" --status="$T/status" --socket="$T/sock" --export="$at" --table="$T/table" "$T/sda.ndz" "$T/disk"
	check "$at is refused without a key" grep -q "export-key is needed" "$T/stderr"
done
echo "node:$(printf '5a%.0s' {1..32})" > "$T/psk"; echo "node:$(printf 'a5%.0s' {1..32})" > "$T/other.psk"
nbds() { nbdinfo --size "nbds://node@127.0.0.1:$PORT/?tls-psk-file=$T/$1"; }
begin --no-fill --table="$T/table" --export-key="$T/psk"
check "with its key it is read" eval '[ "$(nbds psk)" = "$(stat -c %s "$T/image")" ]'
check "with another one it is not" eval '! nbds other.psk > "$T/quiet" 2>&1'
check "nor without" eval '! nbdinfo --size "$URI" > "$T/quiet" 2>&1'
ends "with a key"
begin --no-fill --table="$T/table"
before=$(present)
check "read-only" [ "$(nbdinfo --can write "$URI" > /dev/null; echo $?)" = 2 ]
check "holes are those of the image" [ "$(nbdinfo --map --totals "$URI" | awk '/hole/ { print $1 }')" = "$(nbdkit -r -U - "$PLUGIN" "$T/sda.ndz" --run 'nbdinfo --map --totals $uri' | awk '/hole/ { print $1 }')" ]
python3 "$T/write.py" "$T/sock" "$T/enough" > "$T/written" & writer=$!
check "the image, while this machine writes" same_image
check "once more" same_image
touch "$T/enough"; wait $writer
check "$(cat "$T/written") writes" [ "$(cat "$T/written")" -gt 20 ]
check "the image, and none of what was written" same_image
after=$(present)
check "what was absent is on the disk now: $before, $after" [ "$after" -gt "$before" ]
check "the disk has what was written" grep -q ee < <(python3 -c '
import os, sys
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client
d = Client(sys.argv[1]).read(1 << 20, 20 << 20)
print("ee" if b"\xee" * 1024 in d else "none")' "$T/sock")
ends "SIGTERM"
begin --no-fill --table="$T/table"
check "the image, when the disk goes on" same_image
ends "SIGTERM, the second time"

# Another machine streams from there, while this disk is being filled.
new_target memory
begin --table=memory --when-idle=0 --rate=200M
poison "$T/other" $DISK_BYTES; cp "$T/other" "$T/other.model"
status 1 timeout 240 "$SD" -q --table=memory --status="$T/other.status" --socket="$T/other.sock" --export="127.0.0.1:$PORT" "$T/sda.ndz" "$T/other"
check "a port is taken" grep -q "127.0.0.1:$PORT: .*is taken by another program; --export=ADDR:PORT chooses another one" "$T/stderr"
installed_on "$T/other" "$T/other.model"
"$SD" --quiet --table=memory --when-idle=0 --status="$T/other.status" --socket="$T/other.sock" "$URI" "$T/other" 2> "$T/other.log" & other=$!
CLEANUP+=("kill $other 2> /dev/null; wait $other 2> /dev/null")
begins $other listens_at "$T/other.sock" "$T/other.status"
python3 "$U" write "$T/sock" $((6 << 20)) "$(printf '%04096d' 7)"
check "both are complete" python3 "$U" wait "$T/other.status" 300
check "and this one" python3 "$U" wait "$T/status" 300
check "the image, when the disk is complete" same_image
python3 "$U" write "$T/sock" $((7 << 20)) "$(printf '%04096d' 8)"
check "and was written to" same_image
kill $other; wait $other; got=$?
check "the other one ends: $(cat "$T/other.log")" [ $got = 0 ]
# The second machine cannot know that a hole was free space, and not zeros of a file: up to the end of the last partition
# it has zeros there.
last=$((43008 * 512))
check "and has all of the image" cmp -n $last "$T/other" "$T/image"
check "and behind its partitions what an ordinary installation makes" cmp -i $last "$T/other" "$T/other.model"
# What serves others ends: the disk goes on.
builtin kill -9 "$(cat "$T"/run/streamdisk-*/others.pid)"
check "which is said" soon grep -q "127.0.0.1:$PORT: the image is not served there any more" "$T/sd.log"
check "and the disk is still there" python3 "$U" write "$T/sock" $((8 << 20)) "$(printf '%04096d' 9)"
ends "SIGTERM, without those"

status 1 "$SD" --socket="$T/s" --table=memory --export=127.0.0.1:1:2 "$T/sda.ndz" "$T/disk"
check "the address is named" grep -q "no image can be served there" "$T/stderr"
finish
