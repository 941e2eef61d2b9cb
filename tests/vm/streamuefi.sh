#!/usr/bin/env bash
# A machine with UEFI firmware works while its disk, which has a GPT, arrives, and its firmware starts that disk afterwards.
. "$(dirname "$0")/stream_lib.sh"
needs_uefi
uefi_disk 32
streams uefi "frisbee.stream=record=/run/record,$SLOWLY"
logged_in uefi /dev/mapper/frisbee2
vm_types uefi 'r=/proc/$(pidof @nbdkit)/root/run/record; until [ -e $r ]; do sleep 1; done; cp $r /srv/record; sync; echo the record has $(head -c 8 /srv/record)'
vm_sees uefi 200 'the record has NDZORDER'
becomes_whole uefi
tree_of "$T/a" "$T/tree"
for d in boot etc lib; do check "/$d is as it was" diff -r --no-dereference "$T/files/$d" "$T/tree/$d"; done
check "a record becomes an order: $("$BIN/streamdisk" --order="$T/order" merge-records "$T/tree/srv/record" 2>&1)" [ -s "$T/order" ]
starts_from_disk
finish
