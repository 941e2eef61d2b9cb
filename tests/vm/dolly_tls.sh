#!/usr/bin/env bash
# dolly --key in a machine whose kernel has TLS: the kernel encrypts; dolly_tls_guest says what is done there.
. "$(dirname "$0")/lib.sh"
vm_accel
root=$T/root
mkdir -p "$root"/{bin,sbin,dev,proc,sys,lib,tmp}
echo net/tls > "$T/modules"
"$TOP/netboot/copy-modules" "$NETBOOT/kernel" "$root" < "$T/modules" || fail "modules"
for p in "$BIN/dolly" "$BIN/imagekey" "$(command -v busybox)"; do vm_program "$root" "$p"; done
cp "$(dirname "$0")/dolly_tls_guest" "$root/init"; chmod 755 "$root/init"
(cd "$root" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0) > "$T/initrd" || fail "cpio"
vm_start dolly_tls -machine pc -cpu max -m 1024 -no-reboot -kernel "$NETBOOT/vmlinuz" -initrd "$T/initrd" -append "no_timer_check console=ttyS0 quiet panic=-1"
vm_sees dolly_tls 300 'DOLLY: [0-9]* failures'
vm_ends dolly_tls 60
sed 's/\r$//' "$LOGS/dolly_tls.log" | grep -a -E '^(ok|FAIL): '
check "no failure in the machine" grep -q -a '^DOLLY: 0 failures' "$LOGS/dolly_tls.log"
finish
