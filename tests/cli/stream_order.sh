#!/usr/bin/env bash
# Recorded boots: what is read is recorded; records become an order; a disk is filled in this order, whatever the machine
# reads, and becomes the same.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs
a_disk sda
SD=$BIN/streamdisk U=$TOP/tests/helpers/nbd_stream.py
# reads AT...: 4 KiB at each of these bytes, one after the other.
reads() { python3 - "$T/sock" "$@" << 'PY'
import os, sys
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client
nbd = Client(sys.argv[1])
for at in sys.argv[2:]: nbd.read(int(at), 4096)
PY
}
# runs FILE: the runs of a record or an order, as "sector+sectors", in their order.
runs() { python3 - "$1" << 'PY'
import struct, sys
b = open(sys.argv[1], "rb").read()
n = struct.unpack_from("<8sIIQII", b)[5]
print(*("%d+%d" % struct.unpack_from("<QI", b, 32 + 20 * i) for i in range(n)))
PY
}
# Places in the ext4 whose bytes the image stores: the random file, as its blocks are on the disk.
mapfile -t P < <(python3 - "$T/sda" << 'PY'
import sys
d = open(sys.argv[1], "rb").read()
n = 0
for at in range(len(d) - (1 << 16) & -65536, 5 << 20, -131072):
    if all(any(d[at + k:at + k + 4096]) for k in range(0, 65536, 4096)) and n < 6: print(at); n += 1
PY
)
check "six places" [ ${#P[@]} = 6 ]

new_target memory
serve memory fill=no record="$T/a.record"
reads ${P[3]} ${P[0]} ${P[0]} ${P[4]}
python3 "$U" write "$T/sock" ${P[1]} "$(printf '%04096d' 0)"
reads ${P[1]} $((22 << 20))
stop
check "what was read first, and not what was written before, nor what is free" \
    [ "$(runs "$T/a.record")" = "$((P[3] / 512))+8 $((P[0] / 512))+8 $((P[4] / 512))+8" ]
for r in b c; do
	new_target memory; serve memory fill=no record="$T/$r.record"
	[ $r = b ] && reads ${P[3]} ${P[0]} ${P[4]} || reads ${P[5]} ${P[2]} ${P[3]} ${P[0]}
	stop
done
check "merged" "$SD" --json --order="$T/sda.ndz.order" merge-records "$T"/[abc].record
check "what most read first; not what one alone has read" \
    [ "$(runs "$T/sda.ndz.order")" = "$((P[3] / 512))+128 $((P[0] / 512))+128 $((P[4] / 512))+128" ]
check "as JSON" json <("$SD" --json --order="$T/sda.ndz.order" merge-records "$T"/[abc].record) machines=3 runs=3 bytes=196608
cp "$T/sda.ndz.order" "$T/order"
status 2 "$SD" --order="$T/new" merge-records "$T/order" "$T/a.record"
head -c 60 "$T/a.record" > "$T/cut"
status 3 "$SD" --order="$T/new" merge-records "$T/a.record" "$T/cut"
check "nothing was made" [ ! -e "$T/new" ]
status 1 "$SD" --order="$T/sda.ndz" merge-records "$T/a.record"
check "no other file is replaced" [ "$(head -c 8 "$T/sda.ndz")" != NDZORDER ]

# The disk is never idle for a minute, so nothing but the order is fetched in time; a step of another kind needs 250 ms.
ordered() { python3 "$U" status "$T/status" | json - ordered_bytes; }
is_ordered() { [ "$(ordered)" = "$1" ]; }
until_ordered() { soon is_ordered "$1" || { ordered; return 1; }; }
new_target memory
serve memory when-idle=60000 status="$T/status"
check "the order beside the image is found" grep -q "an order of 3 machines" "$T/nbd.log"
check "what it names is fetched" until_ordered 196608
before=$(python3 "$U" status "$T/status" | json - fetched_bytes)
reads ${P[3]} ${P[0]} $((P[4] + 61440))
check "and is there when it is read" [ "$(python3 "$U" status "$T/status" | json - fetched_bytes)" = "$before" ]
stop
for how in order=none order="$T/order" order="http://127.0.0.1:1/order" order=store:x order="$T/cut"; do
	new_target memory
	case $how in
	*none | */order) [ "$how" = order="http://127.0.0.1:1/order" ] || {
		serve memory when-idle=0 "$how" status="$T/status"; check "$how: complete" python3 "$U" wait "$T/status" 300
		[ "$how" = order=none ] && want=0 || want=196608
		check "$how: $want bytes of the order" [ "$(ordered)" = $want ]
		stop; check "a plain disk" cmp "$T/disk" "$T/model"; continue; } ;;
	esac
	if STREAM_HTTP_SECONDS=0.1 begin_to_serve memory "$how"; then fail "started: $how"; stop; else echo "ok: refused: $(head -n 1 "$T/nbd.log")"; fi
done
# An order beside the image that is damaged, or of another disk, is said and changes nothing.
cp "$T/cut" "$T/sda.ndz.order"
new_target memory; serve memory when-idle=0 status="$T/status"
check "complete without it" python3 "$U" wait "$T/status" 300
check "which is said" grep -q "without an order of reads" "$T/nbd.log"
stop
finish
