#!/usr/bin/env bash
# nbdkit is killed below a root filesystem that streams: while the system starts, and 20 times behind a write that was answered
# and not flushed, under fio, which reads back what it writes.  Another one goes on each time, and nothing is lost.  When none can be started, the machine is
# reset, and goes on as behind a power cut.
. "$(dirname "$0")/stream_lib.sh"
requires fio
OFFSET=$((2048 * 512)) KILLS=${KILLS:-20}
over=$T/over
mkdir -p "$over/etc" "$over/root" "$over/tools"
install -m 755 "$TOP/tests/vm/streamkill_guest" "$over/root/guest"
cat > "$over/etc/rc" << 'I'
#!/bin/busybox sh
/bin/busybox mount -o remount,rw /
/bin/busybox --install -s
hostname -F /etc/hostname; echo on > /proc/sys/kernel/printk_devkmsg
/root/guest boot > /dev/console 2>&1
I
chmod 755 "$over/etc/rc"
STREAMS=96 OVER=$over "$TOP/tests/vm/make-disk" "$NETBOOT/kernel" $PAYLOAD "$T/disk" "$T/files" || { fail make-disk; finish; }
"$BIN/imagezip" -q "$T/disk" "$T/disk.ndz" || { fail imagezip; finish; }
vm_fio "$T/fio"
FIRMWARE=(-drive "file=$T/fio,format=raw,if=none,id=fio,readonly=on" -device virtio-blk-pci,drive=fio,addr=0x1e)	# the last one: vdb
serve 1000000000
poison "$T/a" $(((160 + 96 + 32) << 20))
starts() {	# NAME
	streams "$1" frisbee.stream=$SLOWLY
	vm_sees "$1" 300 'vda is being filled; starting the system on /dev/mapper/frisbee1'
	vm_sees "$1" 300 'started amid three deaths'
	vm_sees "$1" 300 'node login:'
	vm_types "$1" root; vm_sees "$1" 60 '# '
}
no_failure() { check "nothing failed in the machine $1" eval "! grep -a 'FAIL: ' '$LOGS/$1.log'"; }

starts reset
vm_types reset '/root/guest locked'
vm_sees reset 60 'looked at both'
no_failure reset
vm_types reset '/root/guest no-more'
vm_sees reset 120 'frisbee: FAILED: 10 in a row have each served for less than 5 s: @nbdkit ended with status 1; the machine is reset'
vm_ends reset 60

starts killed
vm_types killed "/root/guest kills $KILLS"
vm_sees killed $((KILLS * 25)) 'deaths that were survived: [0-9]*'
vm_sees killed 60 'all is compared'
no_failure killed
deaths=$(grep -a -o 'deaths that were survived: [0-9]*' "$LOGS/killed.log" | grep -o '[0-9]*$')
check "$deaths deaths, three of them while it started" [ "$deaths" = $((KILLS + 3)) ]
vm_types killed "$READ_ALL"
vm_sees killed 600 'frisbee: DONE: vda is whole, and the system uses it directly'
vm_types killed 'md5sum < /srv/more; poweroff'
vm_sees killed 120 '[0-9a-f]{32}  -'
sum=$(grep -a -o -E '[0-9a-f]{32}  -' "$LOGS/killed.log" | tail -n 1)
vm_ends killed 120
tree_of "$T/a" "$T/tree"
for d in boot etc lib srv/payload; do check "/$d is as it was" diff -r --no-dereference "$T/files/$d" "$T/tree/$d"; done
check "the file that was written to is on the disk" [ "$(md5sum < "$T/tree/srv/more")" = "$sum" ]
finish
