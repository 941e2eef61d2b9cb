#!/usr/bin/env bash
# A blank machine works while its disk arrives: it starts the image's kernel by kexec, is logged in
# to while most of the disk is absent, goes on after a power cut, uses the disk itself when it is
# whole, without a reboot, and starts from it afterwards.
. "$(dirname "$0")/stream_lib.sh"
OFFSET=$((2048 * 512)) MORE=96
STREAMS=$MORE "$TOP/tests/vm/make-disk" "$NETBOOT/kernel" $PAYLOAD "$T/disk" "$T/files" || { fail make-disk; finish; }
"$BIN/imagezip" -q "$T/disk" "$T/disk.ndz" || { fail imagezip; finish; }
serve 1000000000
poison "$T/a" $(((160 + MORE + 32) << 20))
streams stream frisbee.stream=$SLOWLY
vm_sees stream 300 'vda is going to be filled from http://'
vm_sees stream 300 'starting the kernel of the image'
vm_sees stream 300 'vda is being filled; starting the system on /dev/mapper/frisbee1'
vm_sees stream 300 'node login:'
share=$(present)
check "most is absent: $share % are there" [ "$share" -lt 60 ]
check "the disk does not look whole" [ "$("$BIN/imageunzip" --status "$T/a" > /dev/null 2>&1; echo $?)" = 1 ]
vm_types stream root; vm_sees stream 60 '# '
vm_types stream 'grep " / " /proc/mounts; cat /proc/partitions | grep vda; head -c 40000000 /srv/more > /dev/null; echo written while it streams > /made-here; sync; echo synced'
vm_sees stream 60 '/dev/mapper/frisbee1 / ext4'
vm_sees stream 300 'synced'

echo "== a power cut"
kill -9 "${VM_PID[stream]}"; wait "${VM_PID[stream]}" 2> /dev/null
before=$(present)
streams stream frisbee.stream=$SLOWLY
vm_sees stream 300 'starting the kernel of the image'
vm_sees stream 300 'node login:'
share=$(present)
check "what was there is there: $before %, then $share %" [ "$share" -ge "$before" ]
vm_types stream root; vm_sees stream 60 '# '
vm_types stream 'cat /made-here'
vm_sees stream 60 'written while it streams'
vm_types stream "$READ_ALL"
vm_sees stream 600 'frisbee: DONE: vda is whole, and the system uses it directly'
check "all is there" [ "$(present)" -gt 95 ]
check "nothing says that it is not whole" quietly "$BIN/imageunzip" --status "$T/a"
vm_types stream 'md5sum < /srv/more; cat /sys/block/nbd0/size; echo after the switch >> /made-here; sync; reboot'
vm_sees stream 120 "$(md5sum < "$T/files/srv/more" | cut -d' ' -f1)"
vm_ends stream 120
tree_of "$T/a" "$T/tree"
for d in boot etc srv lib; do check "/$d is as it was" diff -r --no-dereference "$T/files/$d" "$T/tree/$d"; done
check "what was written before and after" [ "$(cat "$T/tree/made-here")" = "written while it streams
after the switch" ]
check "the boot loader and the table" cmp -n $OFFSET "$T/disk" "$T/a"

echo "== the order is still there when the disk is whole"
streams again
vm_sees again 300 'node login:'
vm_types again root; vm_sees again 60 '# '
vm_types again 'cd /run/udev/rules.d; while [ -e /sys/block/nbd0/pid -o -e 08-frisbee-hide-dm-0.rules ]; do sleep 1; done; echo "nbd is "gone; ls; cat /made-here; poweroff'
vm_sees again 60 'nbd is gone'
vm_sees again 60 '08-frisbee-hide-vda.rules'
vm_sees again 60 'after the switch'
vm_ends again 60

machine disk
vm_sees disk 300 'node login:'
vm_types disk root; vm_sees disk 60 '# '; vm_types disk 'cat /made-here; poweroff'
vm_sees disk 60 'after the switch'
vm_ends disk 60

echo "== nbdkit does not start"
cp "$T/a" "$T/a.was"
streams wrong frisbee.stream=rate=much
vm_sees wrong 300 'FAILED: vda: nbdkit does not start: rate: '
vm_sees wrong 60 '# '; vm_types wrong 'poweroff -f'
vm_ends wrong 60
check "nothing was written" cmp "$T/a" "$T/a.was"
finish
