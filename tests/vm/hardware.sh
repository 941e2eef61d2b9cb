#!/usr/bin/env bash
# The drivers of the ramdisk find the disks and network cards that QEMU can imitate, of servers
# and of other virtual machines, in one machine.  Started from kernel and ramdisk.
. "$(dirname "$0")/lib.sh"
vm_accel
parts=() bytes=1000000
has_device() { qemu-system-x86_64 -device help 2> /dev/null | grep -q "name \"$1\""; }
drive() {	# NAME: a disk file, each of another size, by which it is found
	bytes=$((bytes + 1024 * 1024)); truncate -s $((bytes / 512 * 512)) "$T/$1"
	parts+=(-drive "file=$T/$1,format=raw,if=none,id=$1,cache=unsafe")
	expected+=("$1:$((bytes / 512))")
}
expected=() cards=()
for controller in megasas megasas-gen2 lsi53c895a pvscsi virtio-scsi-pci; do
	has_device $controller || continue
	id=${controller//-/}
	parts+=(-device "$controller,id=$id"); drive "d$id"
	parts+=(-device "scsi-hd,drive=d$id,bus=$id.0")
done
drive dnvme; parts+=(-device nvme,drive=dnvme,serial=1)
drive dahci; parts+=(-device ide-hd,drive=dahci,bus=ide.0)
drive dvirtio; parts+=(-device virtio-blk-pci,drive=dvirtio)
for card in e1000e vmxnet3 rtl8139 i82559er tulip pcnet virtio-net-pci e1000 igb; do
	has_device $card || continue
	cards+=("$card")
	parts+=(-netdev "user,id=n$card,restrict=on" -device "$card,netdev=n$card,romfile=,mac=52:54:00:00:01:$(printf %02x ${#cards[@]})")
done
vm_start hardware -machine q35,graphics=off -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" \
    -append "$KERNEL_WORDS console=ttyS0,115200 quiet frisbee.action=shell" "${parts[@]}"
vm_sees hardware 400 'a shell; leaving it reboots'
vm_types hardware "n=0; until [ \$(cat /sys/block/*/size | grep -vcx 0) -ge ${#expected[@]} ] || [ \$n = 60 ]; do sleep 1; n=\$((n + 1)); done"
vm_types hardware 'for d in /sys/block/*; do echo "size $(cat $d/size) of ${d##*/}"; done; for n in /sys/class/net/*; do echo "card $(cat $n/address)"; done; echo end of the list'
vm_sees hardware 200 '^end of the list'
for e in "${expected[@]}"; do check "a disk at ${e%%:*}" grep -a -q "size ${e##*:} of" "$LOGS/hardware.log"; done
for ((i = 1; i <= ${#cards[@]}; i++)); do
	check "a card ${cards[i - 1]}" grep -a -q "card 52:54:00:00:01:$(printf %02x $i)" "$LOGS/hardware.log"
done

echo "== firmware files that drivers ask for, and no others"
mkdir -p "$T/out" "$T/fw/isci"
cp -p "$NETBOOT/modules.zst" "$T/out" && ln -s "$NETBOOT/kernel" "$T/out/kernel"
echo wanted > "$T/fw/isci/isci_firmware.bin"; echo not > "$T/fw/nobody-asks.bin"
check "made" quietly env FIRMWARE="$T/fw" OUT="$T/out" "$TOP/netboot/build" firmware
check "the one" [ "$(zstd -q -d -c "$T/out/firmware.zst" | cpio --quiet -t | grep bin)" = lib/firmware/isci/isci_firmware.bin ]
echo "== how large it is"
bytes() { stat -c %s "$1/vmlinuz" "$1/initrd.img" | awk '{ n += $1 } END { print n }'; }
check "$(bytes "$NETBOOT") bytes, less than 40 MB" [ "$(bytes "$NETBOOT")" -lt 40000000 ]
cp -p "$NETBOOT/programs.zst" "$T/out" && head -c 8M /dev/urandom > "$T/fw/isci/isci_firmware.bin"
check "firmware may be as large as it is" quietly env FIRMWARE="$T/fw" OUT="$T/out" "$TOP/netboot/build"
check "$(bytes "$T/out") bytes" [ "$(bytes "$T/out")" -gt 45000000 ]
rm "$T/fw/isci/isci_firmware.bin"
check "files for no driver are a mistake" eval '! FIRMWARE=$T/fw OUT=$T/out "$TOP/netboot/build" firmware 2> /dev/null'
finish
