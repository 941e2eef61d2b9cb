#!/usr/bin/env bash
# A machine with UEFI firmware works while its disk, which has a GPT and is larger than that of the image, arrives, and its
# firmware starts that disk afterwards.
. "$(dirname "$0")/stream_lib.sh"
needs_uefi
uefi_disk 32
truncate -s +400M "$T/a"
streams uefi "frisbee.fit=yes frisbee.stream=record=/run/record,$SLOWLY"
logged_in uefi /dev/mapper/frisbee2
vm_types uefi 'until dmesg | grep "ext4 of frisbee2 has the room of its partition"; do sleep 1; done; set -- $(df -m / | tail -n 1); echo the root has $(($2 > 500)) of the room'
vm_sees uefi 200 'the root has 1 of the room'
vm_types uefi 'r=/proc/$(pidof @nbdkit)/root/run/record; until [ -e $r ]; do sleep 1; done; cp $r /srv/record; sync; echo the record has $(head -c 8 /srv/record)'
vm_sees uefi 200 'the record has NDZORDER'
becomes_whole uefi
tree_of "$T/a" "$T/tree"
for d in boot etc lib; do check "/$d is as it was" diff -r --no-dereference "$T/files/$d" "$T/tree/$d"; done
sectors=$(sfdisk -J "$T/a" | json - 'partitiontable.partitions[1].size')
filled=$(dumpe2fs -h "$T/a?offset=$OFFSET" 2> /dev/null | awk '/^Block count:/ { n = $3 } /^Block size:/ { print n * $3 / 512 }')
check "its filesystem has $filled of the $sectors sectors of its partition" [ "$filled" = "$sectors" ]
check "a record becomes an order: $("$BIN/streamdisk" --order="$T/order" merge-records "$T/tree/srv/record" 2>&1)" [ -s "$T/order" ]
starts_from_disk
finish
