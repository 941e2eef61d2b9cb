#!/usr/bin/env bash
# A machine with two disks, which are loaded as one set from a master server: the system, whose image was made with
# --shrink, onto a disk that is smaller than the one it comes from; and data.  Then it starts from its disks.
. "$(dirname "$0")/lib.sh"
requires nbdkit nbdfuse setpriv resize2fs
[ -c /dev/fuse ] || skip "needs FUSE"
vm_accel
vm_lan
A=52:54:00:00:00:0a
vm_log_more() { echo "--- mfrisbeed:"; tail "$LOGS/mfrisbeed.log"; tail -n 30 "$LOGS/server.log"; cat /srv/netboot/reports; }

vm_bootable
"$BIN/imagezip" --shrink --margin=0 "$D/disk" "$T/system.ndz" || { fail "imagezip --shrink"; finish; }
least=$("$BIN/imagedump" --json "$T/system.ndz" | json - '[0].sectors')
check "the system's disk has $((least / 2048)) MiB instead of 160" [ "$least" -lt $((120 * 2048)) ]
head -c 12000256 /dev/urandom > "$T/data"
"$BIN/imagezip" -q -r "$T/data" "$T/data.ndz" || fail imagezip
vm_server --own-network
cat > "$T/conf" << I
image system $T/system.ndz
image data $T/data.ndz
group 239.192.51.1
allow 10.9.0.0/24
state $T/state
interface lan0
I
mkdir "$T/state"
"$BIN/mfrisbeed" -c "$T/conf" > "$LOGS/mfrisbeed.log" 2>&1 &
PIDS+=($!)
truncate -s $((least * 512)) "$T/a"; truncate -s 16M "$T/b"; poison "$T/c" 8000000; cp "$T/c" "$T/c.before"
vm_tap tapa
disk() { echo -drive file="$T/$1",format=raw,if=none,id="$1",cache=unsafe -device virtio-blk-pci,drive="$1",serial="$2"${3:+,bootindex=$3}; }
WORDS="frisbee.action=load frisbee.server=10.9.0.1"
on() {	# QEMU-OPTIONS...: the first disk of the machine is none of the set
	vm_start a -machine pc,graphics=off -netdev tap,id=n,ifname=tapa,script=no,downscript=no \
	    -device virtio-net-pci,netdev=n,mac=$A,bootindex=1 $(disk c other) $(disk b data) $(disk a system 2) "$@"
}
echo "== a set of which one disk is not there"
on -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" \
    -append "$KERNEL_WORDS console=ttyS0,115200 quiet $WORDS frisbee.set=system@serial:system+data@serial:absent frisbee.onfail=poweroff"
vm_sees a 400 'frisbee: FAILED: frisbee.disk=serial:absent: 0 disks are like this'
vm_ends a 60
check "nothing was written to the other disk of it" cmp -n $((least * 512)) "$T/a" /dev/zero
echo "== both disks"
vm_order $A $WORDS frisbee.set=system@serial:system+data@serial:data,size:16M-17M frisbee.hostname=two-disks
on
vm_sees a 400 'frisbee: DONE: vdc is loaded, vdb is loaded'
vm_sees a 400 'two-disks login:'
check "the order is put away" [ -z "$(/srv/netboot/order)" ]
vm_types a root; vm_sees a 60 '# '; vm_types a poweroff
vm_ends a 120
check "the data are there" cmp -n 12000256 "$T/data" "$T/b"
check "the disk that is none of the set is as it was" cmp "$T/c.before" "$T/c"
check "the smaller filesystem is whole" quietly e2fsck -fn "$T/a?offset=1048576"
mkdir "$T/tree"; debugfs -R "rdump / $T/tree" "$T/a?offset=1048576" > /dev/null 2>&1
for d in boot srv; do check "/$d is as it was" diff -r --no-dereference "$D/files/$d" "$T/tree/$d"; done
echo "all of it took $SECONDS s"
finish
