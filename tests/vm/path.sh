#!/usr/bin/env bash
# The whole path: two machines boot from the network, load their blank disks
# from one frisbeed with a group's key, and boot from them; one is captured, and its image installs.
# The server is the one of netboot/setup, on a network where no other gives addresses.
. "$(dirname "$0")/lib.sh"
vm_accel
vm_lan
A=52:54:00:00:00:0a B=52:54:00:00:00:0b
GROUP=239.192.7.7 PORT=5007
OFFSET=$((2048 * 512))

vm_log_more() { echo "--- frisbeed:"; cat "$LOGS/frisbeed.log" "$T/frisbeed.stats"; echo "--- server:"; tail -n 30 "$LOGS/server.log"; cat /srv/netboot/reports; }
frisbeed() {
	"$BIN/frisbeed" -i lan0 -m $GROUP -p $PORT --group-key "$T/lab.group" -W 60M -T 0 -d --json --stats "$T/frisbeed.stats" "$D/disk.ndz" > "$T/frisbeed.json" 2> "$LOGS/frisbeed.log" &
	PIDS+=($!); FRISBEED=$!
}
frisbeed_said() { json "$T/frisbeed.json" "$1"; }
bios() { echo -machine "$1",graphics=off; }
tree_of() {	# DISK OUT: its files, its filesystem checked
	quietly e2fsck -fn "$1?offset=$OFFSET" || fail "$1: e2fsck"
	mkdir "$2"
	debugfs -R "rdump / $2" "$1?offset=$OFFSET" > /dev/null 2>&1
}
same_tree() { diff -r --no-dereference "$@"; }
log_in_and_halt() {	# NAME COMMAND
	vm_types "$1" root
	vm_sees "$1" 30 '# '
	vm_types "$1" "$2; poweroff"
}

echo "== a disk that boots, and its image"
vm_bootable
"$BIN/imagekey" -q --group-key "$T/lab.group" || fail "imagekey"
KEYS=$T/lab.group vm_server --own-network
truncate -s 200M "$T/a" "$T/b"
vm_tap tapa; vm_tap tapb
WORDS="frisbee.action=load frisbee.group=$GROUP frisbee.port=$PORT frisbee.group-key=lab.group frisbee.image=disk.ndz"
vm_order $A $WORDS frisbee.server=10.9.0.1
vm_order $B $WORDS frisbee.disk=sda frisbee.grow=yes

echo "== two blank machines, switched on"
vm_start a $(bios pc) -netdev tap,id=n,ifname=tapa,script=no,downscript=no \
    -device virtio-net-pci,netdev=n,mac=$A,bootindex=1 \
    -drive file="$T/a",format=raw,if=none,id=d,cache=unsafe -device virtio-blk-pci,drive=d,bootindex=2
vm_start b $(bios q35) -netdev tap,id=n,ifname=tapb,script=no,downscript=no \
    -device e1000,netdev=n,mac=$B,bootindex=1 \
    -drive file="$T/b",format=raw,if=none,id=d,cache=unsafe -device ide-hd,drive=d,bootindex=2
for m in a b; do vm_sees $m 300 'frisbee: loading'; done
frisbeed	# only now, so that both take the same packets
vm_sees a 120 'frisbee: DONE: vda is loaded'
vm_sees b 120 'frisbee: /dev/sda: partition 1: ext4 grew from 16[0-9] MB to 20[0-9] MB'
vm_sees b 60 'frisbee: DONE: sda is loaded'
echo "== they boot from their disks"
for m in a b; do vm_sees $m 300 'node login:'; done
check "the partition of b reaches to the end, too" [ "$(sfdisk -lq -o Sectors "$T/b" | tail -n 1)" -gt 400000 ]
check "the orders are put away" [ -z "$(/srv/netboot/order)" ]
check "both have reported it" eval 'vm_reported $A done "vda is loaded" && vm_reported $B done "sda is loaded"'
log_in_and_halt a 'echo "written by a" > /made-here'
log_in_and_halt b true
vm_ends a 120; vm_ends b 120
kill "$FRISBEED"; wait "$FRISBEED"
# The empty ends of chunks do not go over the network.
sent=$(($(frisbeed_said blocks_sent) + $(frisbeed_said blocks_left_out))) image=$(($(stat -c %s "$D/disk.ndz") / 1024))
# How many come twice is a matter of how fast the machines are emulated: the lab counts.
check "both were served, $sent blocks for an image of $image" [ "$sent" -ge "$image" ]

echo "== what is on their disks"
for m in a b; do
	tree_of "$T/$m" "$T/tree-$m"
	for d in boot etc srv; do
		check "$m has /$d as it was" same_tree "$D/files/$d" "$T/tree-$m/$d"
	done
done

echo "== a is captured"
vm_order $A frisbee.action=capture frisbee.server=10.9.0.1 frisbee.port=5100 frisbee.image=a.ndz frisbee.after=poweroff
if [ -e $OVMF ]; then	# this time with UEFI firmware and an NVMe disk
	cp "${OVMF/CODE/VARS}" "$T/vars"
	firmware="-machine q35 -drive if=pflash,format=raw,readonly=on,file=$OVMF -drive if=pflash,format=raw,file=$T/vars"
	rom=romfile=,	# the firmware's own network boot, which is given ipxe.efi
else
	echo "no UEFI firmware here: BIOS"
	firmware=$(bios q35) rom=
fi
vm_start capture $firmware -netdev tap,id=n,ifname=tapa,script=no,downscript=no \
    -device virtio-net-pci,${rom}netdev=n,mac=$A,bootindex=1 \
    -drive file="$T/a",format=raw,if=none,id=d,cache=unsafe -device nvme,drive=d,serial=1,bootindex=2
vm_sees capture 300 'frisbee: capturing nvme0n1'
vm_sees capture 120 'frisbee: DONE: nvme0n1 is captured: a.ndz'
vm_ends capture 30
check "the image is whole" quietly "$BIN/imagedump" --verify /srv/netboot/images/a.ndz
"$BIN/imageunzip" -q /srv/netboot/images/a.ndz "$T/copy" || fail "imageunzip"
tree_of "$T/copy" "$T/tree-copy"
check "the copy is a, file by file" same_tree "$T/tree-a" "$T/tree-copy"
check "with what a wrote" grep -qx "written by a" "$T/tree-copy/made-here"
check "boot loader and table, too" cmp -n $OFFSET "$T/a" "$T/copy"
echo "all of it took $SECONDS s"
finish
