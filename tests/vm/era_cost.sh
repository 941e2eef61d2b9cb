#!/usr/bin/env bash
# What dm-era costs the writes of a machine: era_cost_guest measures it there, against the disk without a tracker.  Only
# ratios are printed, and none is too large: an emulated machine on a busy host has no figures worth a failure.
. "$(dirname "$0")/lib.sh"
requires dmsetup era_invalidate
vm_accel
root=$T/root
mkdir -p "$root"/{bin,sbin,dev,proc,sys,lib}
printf '%s\n' drivers/md/dm-era.ko crypto/crc32c_generic.ko drivers/block/virtio_blk.ko drivers/virtio > "$T/modules"
"$TOP/netboot/copy-modules" "$NETBOOT/kernel" "$root" < "$T/modules" || fail "modules"
for p in "$(command -v dmsetup)" "$(command -v dd)" "$(command -v busybox)"; do vm_program "$root" "$p"; done
mv "$root/bin/dd" "$root/bin/gnu-dd"	# the shell there prefers its own dd, which says no times
cp "$(dirname "$0")/era_cost_guest" "$root/init"; chmod 755 "$root/init"
(cd "$root" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0) > "$T/initrd" || fail "cpio"
truncate -s 32M "$T/a" "$T/b"
vm_start cost -machine pc -cpu max -m 512 -no-reboot -kernel "$NETBOOT/vmlinuz" -initrd "$T/initrd" -append "console=ttyS0 quiet panic=-1" \
    -drive "file=$T/a,format=raw,if=virtio,cache=unsafe" -drive "file=$T/b,format=raw,if=virtio,cache=unsafe"
vm_sees cost "${VM_SECONDS:-600}" 'COST: end'
vm_ends cost 60
sed 's/\r$//' "$LOGS/cost.log" | grep -a '^COST: '
check "figures of both sizes" [ "$(grep -a -c '^COST: [0-9]* bytes: written again [0-9.]*, first [0-9.]*' "$LOGS/cost.log")" = 2 ]
finish
