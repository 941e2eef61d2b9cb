#!/usr/bin/env bash
# A machine with UEFI firmware works while its disk, which has a GPT, arrives, and its firmware starts that disk afterwards.
. "$(dirname "$0")/stream_lib.sh"
requires mformat mmd mcopy
EFI=$NETBOOT/signed/gcdx64.efi
[ -e "$OVMF" ] || skip "needs the package ovmf"
[ -e "$EFI" ] || skip "the signed boot loaders cannot be fetched"
OFFSET=$((2048 * 25 * 512)) MORE=32
EFI=$EFI STREAMS=$MORE "$TOP/tests/vm/make-disk" "$NETBOOT/kernel" $PAYLOAD "$T/disk" "$T/files" || { fail make-disk; finish; }
"$BIN/imagezip" -q "$T/disk" "$T/disk.ndz" || { fail imagezip; finish; }
cp "${OVMF/CODE/VARS}" "$T/vars"
CHIPS=q35 FIRMWARE=(-drive "if=pflash,format=raw,readonly=on,file=$OVMF" -drive "if=pflash,format=raw,file=$T/vars")
serve 1000000000
truncate -s "$(stat -c %s "$T/disk")" "$T/a"
streams uefi "frisbee.stream=record=/run/record,$SLOWLY"
vm_sees uefi 600 'starting the kernel of the image'
vm_sees uefi 600 'vda is being filled; starting the system on /dev/mapper/frisbee2'
vm_sees uefi 600 'node login:'
share=$(present)
check "most is absent: $share % are there" [ "$share" -lt 60 ]
check "the disk does not look whole" [ "$("$BIN/imageunzip" --status "$T/a" > /dev/null 2>&1; echo $?)" = 1 ]
vm_types uefi root; vm_sees uefi 200 '# '
vm_types uefi 'ls -d /sys/firmware/efi; echo written while it streams > /made-here; sync'
vm_sees uefi 200 '^/sys/firmware/efi'
vm_types uefi 'cp /proc/$(pidof @nbdkit)/root/run/record /srv/record; sync; echo the record has $(head -c 8 /srv/record)'
vm_sees uefi 200 'the record has NDZORDER'
vm_types uefi "$READ_ALL"
vm_sees uefi 600 'frisbee: DONE: vda is whole, and the system uses it directly'
check "nothing says that it is not whole" quietly "$BIN/imageunzip" --status "$T/a"
vm_types uefi 'md5sum < /srv/more; sync; reboot'
vm_sees uefi 300 "$(md5sum < "$T/files/srv/more" | cut -d' ' -f1)"
vm_ends uefi 300
check "both tables of the GPT" quietly sgdisk --verify "$T/a"
tree_of "$T/a" "$T/tree"
for d in boot etc lib; do check "/$d is as it was" diff -r --no-dereference "$T/files/$d" "$T/tree/$d"; done
check "a record becomes an order: $("$BIN/streamdisk" --order="$T/order" merge-records "$T/tree/srv/record" 2>&1)" [ -s "$T/order" ]
machine disk
vm_sees disk 600 'node login:'
vm_types disk root; vm_sees disk 200 '# '; vm_types disk 'ls -d /sys/firmware/efi; cat /made-here; poweroff'
vm_sees disk 200 '^/sys/firmware/efi'
vm_sees disk 200 'written while it streams'
vm_ends disk 60
finish
