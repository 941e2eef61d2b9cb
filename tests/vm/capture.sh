#!/usr/bin/env bash
# swapin --capture with a whole machine: its firmware boots from the network, its disk becomes an image on the
# controller's host, and it starts from its disk again, with no order left.
. "$(dirname "$0")/swapin_lib.sh"

vm_bootable
controller_lan node
cp --sparse=always "$D/disk" "$T/node.disk"
controller_up

"$BIN/swapin" --capture --json --tries=1 node lab.ndz > "$T/out" 2> "$T/err" &
SWAPIN=$!
wait_until 30 "the machine is not switched on" powered 1
vm_start node -machine pc,graphics=off -netdev tap,id=n,ifname=tap1,script=no,downscript=no \
    -device virtio-net-pci,netdev=n,mac="$(mac_of 1)",bootindex=1 \
    -drive file="$T/node.disk",format=raw,if=none,id=d,cache=unsafe -device virtio-blk-pci,drive=d,bootindex=2
vm_sees node 300 'frisbee: capturing vda to 10.9.0.1:5100 as lab.ndz'
vm_sees node 300 'frisbee: DONE: vda is captured: lab.ndz, [0-9]+ MB'
wait "$SWAPIN"; rc=$?
check "done: status 0" [ $rc = 0 ]
check "its phases" said nodes.done=1 capture=true phases.capturing.nodes=1 "members[0].last_words~captured: lab.ndz"
check "the image is the disk" "$BIN/imagehash" -q /srv/netboot/images/lab.ndz "$D/disk"
check "and has its signature" "$BIN/imagehash" -q -S /srv/netboot/images/lab.ndz
check "no order is left" [ -z "$(/srv/netboot/order)" ]
vm_sees node 300 'node login:'
vm_types node root
vm_sees node 30 '# '
vm_types node poweroff
vm_ends node 120
[ "$bad" = 0 ] || vm_log_more
finish
