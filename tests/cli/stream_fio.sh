#!/usr/bin/env bash
# nbdkit ndz disk=: fio with 16 requests in flight, which proves what it wrote, while the disk is filled; the filling keeps to
# its rate.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs fio
fio --enghelp=nbd > /dev/null 2>&1 || skip "needs fio with libnbd"
a_disk sda
U=$TOP/tests/helpers/nbd_stream.py
FROM=$((2 << 20)) BYTES=$((12 << 20))	# what fio writes to: free space and the filesystem
# fio_over_nbd NAME OPTION...: one job, 16 in flight.
fio_over_nbd() {
	local name=$1; shift
	fio --name="$name" --ioengine=nbd --uri="nbd+unix:///?socket=$T/sock" --iodepth=16 --randseed=5 "$@" > "$T/fio.$name" 2>&1 || { cat "$T/fio.$name"; return 1; }
}
WRITES=(--rw=randrw --rwmixread=30 --bsrange=512-64k --blockalign=512 --offset=$FROM --size=$BYTES --io_size=$BYTES --verify=crc32c --verify_state_save=0 --fsync=100)
# rest_is FILE: the disk at the socket is as FILE, but for what fio wrote to.
rest_is() { python3 - "$T/sock" "$1" $FROM $BYTES << 'PY'
import os, sys
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client
nbd, model, at, n = Client(sys.argv[1]), open(sys.argv[2], "rb").read(), int(sys.argv[3]), int(sys.argv[4])
assert nbd.read(0, at) == model[:at], "in front of it"
end = at + n
for at in range(end, len(model), 1 << 20):
    got = nbd.read(at, min(1 << 20, len(model) - at))
    assert got == model[at:at + len(got)], f"behind it, {at}"
PY
}

# A disk without a block: what its holes take says nothing about what the device below it takes.
sparse_target() { new_target "$1"; rm "$T/disk"; truncate -s $DISK_BYTES "$T/disk"; installed_on "$T/disk" "$T/model"; }
sparse_target "$T/table"
serve "$T/table" when-idle=0 rate=40M status="$T/status"
check "written, read and proved" fio_over_nbd writes "${WRITES[@]}"
check "read behind it" fio_over_nbd reads --rw=randread --bsrange=512-64k --blockalign=512 --offset=$((FROM + BYTES)) --size=$((8 << 20))
check "the rest is the image's" rest_is "$T/model"
stop
serve "$T/table" when-idle=0 status="$T/status"
check "complete" python3 "$U" wait "$T/status" 300
check "what was written is there after a restart" fio_over_nbd proof "${WRITES[@]}" --verify_only
check "the rest, too" rest_is "$T/model"
stop

# Not more than the rate has come at any time, but for one fetch of 1 MiB.
BITS=24000000
new_target memory
began=$(date +%s%N)
serve memory when-idle=0 rate=$BITS status="$T/status"
check "the rate" python3 - "$T/status" $began $BITS << 'PY'
import os, sys, time
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import status
path, began, rate = sys.argv[1], int(sys.argv[2]) / 1e9, int(sys.argv[3]) / 8
most = 0
while True:
    s = status(path)
    may = (time.time() - began) * rate + (1 << 20)
    assert s["filled_bytes"] <= may, f"{s['filled_bytes']} bytes have come, of {may:.0f}"
    most = max(most, s["filled_bytes"] / may)
    if s["complete"]:
        break
    time.sleep(0.02)
assert s["filled_bytes"] > 3 << 20, s
print(f"{s['filled_bytes']} bytes; {100 * most:.0f} % of what may have come, at most")
PY
stop
finish
