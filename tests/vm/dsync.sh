#!/usr/bin/env bash
# dmextract and dmmerge in a machine whose kernel has dm-era and dm-thin: dsync_guest says what is done there.
. "$(dirname "$0")/lib.sh"
requires dmsetup era_invalidate thin_delta lvm e2fsck
vm_accel
root=$T/root
mkdir -p "$root"/{bin,sbin,dev,proc,sys,lib}
printf '%s\n' drivers/md/dm-era.ko drivers/md/dm-thin-pool.ko drivers/md/dm-snapshot.ko drivers/block/virtio_blk.ko drivers/virtio fs/ext4 \
    crypto/crc32c_generic.ko > "$T/modules"
"$TOP/netboot/copy-modules" "$NETBOOT/kernel" "$root" < "$T/modules" || fail "modules"
for p in "$BIN/dmextract" "$BIN/dmmerge" "$BIN/dsync" "$(command -v dmsetup)" "$(command -v lvm)" "$(command -v e2fsck)" "$(command -v era_invalidate)" "$(command -v thin_delta)" "$(command -v busybox)"; do
	vm_program "$root" "$p"
done
for p in lvs lvcreate lvremove; do ln -s lvm "$root/bin/$p"; done
sed "s/\${MOMENTS:-3}/${MOMENTS:-3}/; s/\${ROUNDS:-10}/${ROUNDS:-10}/; s/\$ROUNDS rounds/${ROUNDS:-10} rounds/" "$(dirname "$0")/dsync_guest" > "$root/init"; chmod 755 "$root/init"
(cd "$root" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0) > "$T/initrd" || fail "cpio"
truncate -s 64M "$T/a"; mke2fs -q -F -t ext4 -d "$NETBOOT/kernel/boot" "$T/a" || fail "mke2fs"
truncate -s 16M "$T/b" "$T/e"; truncate -s 64M "$T/c"; truncate -s 256M "$T/d"
drives=()
for d in a b c d e; do drives+=(-drive "file=$T/$d,format=raw,if=virtio,cache=unsafe"); done
vm_start dsync -machine pc -cpu max -m 1024 -no-reboot -kernel "$NETBOOT/vmlinuz" -initrd "$T/initrd" -append "no_timer_check console=ttyS0 quiet panic=-1" "${drives[@]}"
vm_sees dsync "${VM_SECONDS:-800}" 'DSYNC: [0-9]* failures'
vm_ends dsync 60
sed 's/\r$//' "$LOGS/dsync.log" | grep -a -E '^(ok|FAIL): '
check "no failure in the machine" grep -q -a '^DSYNC: 0 failures' "$LOGS/dsync.log"
finish
