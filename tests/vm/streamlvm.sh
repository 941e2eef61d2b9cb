#!/usr/bin/env bash
# A machine with UEFI firmware whose Debian is on LVM works while its disk arrives: / is an XFS, and it has a
# /boot, a /home and swap space.  LVM of that system has a list of devices, which is left alone.  When the disk
# is whole, the machine starts from it.
GUEST=streamlvm_guest
. "$(dirname "$0")/lvm_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires mkfs.xfs xfs_repair
needs_mount xfs
DISK_SERIAL=streamlvm ROOT_FS=xfs ROOT=480
list_of_devices() {	# as the installed system has it: the disk by its serial number
	local root=$1
	mkdir -p "$root/etc/lvm/devices"
	sed -i 's/^[[:space:]#]*use_devicesfile *=.*/	use_devicesfile = 1/' "$root/etc/lvm/lvm.conf"
	grep -q '^	use_devicesfile = 1' "$root/etc/lvm/lvm.conf" || fail "lvm.conf"
	pv=$(lvm pvs --devices "$LOOP" --noheadings -o pv_uuid | tr -d ' -')
	printf 'VERSION=1.1.1\nIDTYPE=sys_serial IDNAME=%s DEVNAME=/dev/vda3 PVID=%s PART=3\n' "$DISK_SERIAL" "$pv" > "$root/etc/lvm/devices/system.devices"
	cp "$root/etc/lvm/devices/system.devices" "$root/srv"
}
debian_lvm
serve_disk lvmguest
uefi; CHIPS=q35 FIRMWARE=("${UEFI[@]}")
streams lvm "frisbee.stream=$SLOWLY"
vm_sees lvm 600 'starting the kernel of the image'
vm_sees lvm 600 'vda is being filled; starting the system on /dev/mapper/debian-root'
vm_sees lvm 600 'READY: [0-9]* failures'
share=$(present)
check "most is absent: $share % are there" [ "$share" -lt 80 ]
vm_guest_is_good lvm 600 STREAMLVM
check "nothing says that it is not whole" quietly "$BIN/imageunzip" --status "$T/a"
check "both tables of the GPT" quietly sgdisk --verify "$T/a"

echo "== from its disk"
machine disk
vm_guest_is_good disk 600 STREAMLVM
finish
