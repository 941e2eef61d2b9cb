#!/usr/bin/env bash
# dolly --key in a machine whose kernel has TLS: the kernel encrypts; dolly_tls_guest says what is done there.
. "$(dirname "$0")/lib.sh"
vm_accel
vm_ramdisk "$TOP/tests/vm/dolly_tls_guest" "$BIN/dolly" "$BIN/imagekey" <<- 'I'
	net/tls
	crypto/gcm.ko
	crypto/ctr.ko
	crypto/ghash-generic.ko
I
vm_guest dolly_tls "" -m 512
vm_guest_is_good dolly_tls 300 DOLLY
finish
