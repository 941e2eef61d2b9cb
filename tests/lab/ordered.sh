#!/usr/bin/env bash
# A server that knows in which order machines read that start from its image: it sends that first as soon as somebody
# reads, to a machine that does not know the order.  An order that cannot be used changes nothing, and is told.
. "$(dirname "$0")/master_lib.sh"
. "$(dirname "$0")/../cli/nbd_lib.sh"
requires python3
lab_up 2
python3 -c "
import random, sys
sys.stdout.buffer.write(random.Random(12).randbytes(24 << 20))" > "$T/disk"
mkdir "$T/images" "$T/orders" "$T/work"
IMAGE=$T/images/disk.ndz
# Fragments of 64 KiB, so that it is known how much an order names.
"$BIN/imagezip" -q -r --codec=deflate:1 --windows=aligned "$T/disk" "$IMAGE" || fail "imagezip"
READS=$TOP/tests/helpers/nbd_reads.py
# an_order SECTORS: an order for a disk of so many sectors: 64 KiB at each of 128 places, 8 MiB in all, from the end on.
an_order() { python3 - "$1" << 'PY'
import struct, sys
def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8): crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
assert crc32c(b"123456789") == 0xe3069283
runs = [((24 << 20) // 512 - 384 * (i + 1), 128, 20 * i, 1) for i in range(127, -1, -1)][::-1]
checked = struct.pack("<QII", int(sys.argv[1]), 1, len(runs)) + b"".join(struct.pack("<QIII", *r) for r in runs)
sys.stdout.buffer.write(b"NDZORDER" + struct.pack("<II", 1, crc32c(checked)) + checked)
PY
}
SECTORS=$(($(stat -c %s "$T/disk") / 512)) BLOCKS=8192
attach() {	# NODE SOCKET: an nbdkit that takes part in the session, and knows no order
	rm -f "$T/$2.pid"
	ip netns exec "$LAB$1" nbdkit -f -U "$T/$2" -P "$T/$2.pid" "$PLUGIN" image="frisbee://$GROUP:$PORT" work="$T/work" 2> "$T/$2.log" &
	NBDKIT=$!; PIDS+=($NBDKIT)
	begins $NBDKIT [ -s "$T/$2.pid" ] || fail "nbdkit does not start: $(cat "$T/$2.log")"
}
urgent() { stat_of "$T/stats" urgent_sent; }
has_sent() { [ "$(urgent)" -ge "$1" ]; } 2> /dev/null
knows() { soon grep -q "the blocks of the order of reads are sent first" "$T/server.log"; }
end() { kill "$SERVER"; wait "$SERVER"; }

echo "== an order beside the image"
an_order $SECTORS > "$IMAGE.order"
serve -T 0 -W 25M "$IMAGE"
check "the server reads it" knows
blocks=$(sed -n 's/.*machines=1 blocks=\([0-9]*\) .*/\1/p' "$T/server.log")
check "$blocks blocks: 8 MiB of noise with headers and tables" [ "$blocks" -ge $BLOCKS -a "$blocks" -lt $((BLOCKS * 2)) ]
load 2 "$T/d2"; begun 1
nothing_for 0.6 "the statistics are written each fifth of a second"
check "nothing of it goes while nobody reads" [ "$(urgent)" = 0 ]
attach 1 one
check "it goes as soon as somebody does" soon has_sent "$blocks"
check "reads of any place and size" python3 "$READS" random "$T/one" "$T/disk" 60
loaded 2
check "the other client has the disk" cmp "$T/disk" "$T/d2"
kill $NBDKIT; wait $NBDKIT
check "no complaint: $(cat "$T/one.log")" [ ! -s "$T/one.log" ]
end

echo "== without it"
mv "$IMAGE.order" "$T/orders/disk.ndz.order"
serve -T 0 -W 90M "$IMAGE"
attach 1 two
# Of an order, which gets half of what is sent, all would have been sent by then.
all_went() { [ $(($(stat_of "$T/stats" blocks_sent) + $(urgent))) -ge $((24 << 10)) ]; } 2> /dev/null
check "all of the disk is sent" soon all_went
check "and in addition only what was asked for: $(urgent)" [ "$(urgent)" -lt $((BLOCKS / 2)) ]
kill $NBDKIT; wait $NBDKIT; end

echo "== in a folder of its own"
serve -T 0 -W 25M --orders "$T/orders" "$IMAGE"
check "found under the name of the file" knows
end
"$BIN/emustore" -q --store "$T/store" init && "$BIN/emustore" -q --store "$T/store" put lab/web "$IMAGE" || fail "emustore"
mkdir "$T/orders/lab"; cp "$T/orders/disk.ndz.order" "$T/orders/lab/web.order"
serve -T 0 -W 25M --store "$T/store" --orders "$T/orders" lab/web:1
check "found under the name in the store, for all versions" knows
check "the same blocks" grep -q "machines=1 blocks=$blocks " "$T/server.log"
attach 1 three
check "they are sent" soon has_sent "$blocks"
kill $NBDKIT; wait $NBDKIT; end

echo "== that cannot be used"
no_order() { soon grep -q "without an order of reads" "$T/server.log"; }
an_order $((SECTORS + 1)) > "$IMAGE.order"
serve -T 0 -W 90M "$IMAGE"
check "of a disk of another size" no_order
end
head -c 2000 "$T/orders/disk.ndz.order" > "$IMAGE.order"
serve -T 0 -W 90M "$IMAGE"
check "cut short" no_order
load 2 "$T/d3"; loaded 2
check "the image is served" cmp "$T/disk" "$T/d3"
end
rm "$IMAGE.order"; mkfifo "$IMAGE.order"
serve -T 0 -W 90M "$IMAGE"
check "a pipe that nobody writes" no_order
end
rm "$IMAGE.order"

echo "== of a master server"
cp "$T/orders/disk.ndz.order" "$IMAGE.order"
printf 'image first %s\nimages %s\ngroup 239.192.50.1\ninterface eth0\nallow 10.9.0.0/24\n' "$IMAGE" "$T/images" > "$T/conf"
master
check "an image is loaded" get 2 first "$T/d4"
check "it is the disk" cmp "$T/disk" "$T/d4"
check "the order beside it is read" settled "the blocks of the order of reads are sent first .*blocks=$blocks "
finish
