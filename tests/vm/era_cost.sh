#!/usr/bin/env bash
# What dm-era costs the writes of a machine: era_cost_guest measures it there, against the disk without a tracker.  Only
# ratios are printed, and none is too large: an emulated machine on a busy host has no figures worth a failure.
# And what it takes of its metadata, which never fills up if it is as large as "dsync track" demands.
. "$(dirname "$0")/lib.sh"
requires dmsetup era_invalidate
vm_accel
vm_ramdisk "$TOP/tests/vm/era_cost_guest" "$BIN/dsync" dmsetup dd <<- 'I'
	drivers/md/dm-era.ko
	drivers/md/dm-zero.ko
	crypto/crc32c_generic.ko
	drivers/block/virtio_blk.ko
	drivers/virtio
I
truncate -s 32M "$T/a" "$T/b"
for d in a b; do vm_drive "$T/$d"; done
vm_guest cost ""
vm_sees cost "${VM_SECONDS:-600}" 'COST: end'
vm_ends cost 60
sed 's/\r$//' "$LOGS/cost.log" | grep -a '^COST: '
check "figures of both sizes" [ "$(grep -a -c '^COST: [0-9]* bytes: written again [0-9.]*, first [0-9.]*' "$LOGS/cost.log")" = 2 ]
check "no failure in the machine" sh -c "! grep -a '^FAIL' '$LOGS/cost.log'"
finish
