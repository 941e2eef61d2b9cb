#!/usr/bin/env bash
# A machine with UEFI firmware whose Debian is on LVM: an EFI system partition, /boot, and a physical
# volume with /home, swap space and /.  Its image is made for a smaller disk.  With frisbee.fit=yes the
# physical volume grows, and so does the volume that holds /; then the machine starts, and mounts all.
. "$(dirname "$0")/lvm_lib.sh"
debian_lvm
served
echo "== UEFI and LVM, onto 900 MiB, at $SECONDS s"
loaded lvmguest 900
check "the physical volume is longer: $(part lvmguest.disk 2 size) MiB" [ "$(part lvmguest.disk 2 size)" -gt 820 ]
check "/boot is as long as it was" [ "$(part lvmguest.disk 1 size)" = $((PV - 25)) ]
on_pv "$T/lvmguest.disk" list_volumes > "$T/volumes"; sed 's/^/   /' "$T/volumes"
check "/home and swap are as long as they were" [ "$(volume home 3) $(volume swap 3)" = "$HOME_MIB $SWAP" ]
uefi
started lvmguest -machine q35 "${UEFI[@]}"
check "df shows the room: $(size_of lvmguest /) MiB" [ "$(size_of lvmguest /)" -gt 680 ]
check "/home is as large as it was: $(size_of lvmguest /home) MiB" [ "$(size_of lvmguest /home)" -lt $HOME_MIB ]
for p in /boot / /home; do [ -n "$(size_of lvmguest $p)" ] || fail "nothing is said of $p"; done
check "/boot is whole" quietly e2fsck -f -n "$T/lvmguest.disk?offset=$((25 << 20))"
check "/home is whole" quietly e2fsck -f -n "$T/lvmguest.disk?offset=$(($(volume home 2) << 20))"
echo "all of it took $SECONDS s"
finish
