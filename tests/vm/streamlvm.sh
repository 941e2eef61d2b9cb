#!/usr/bin/env bash
# A machine whose Debian, as its packages make it, is on LVM works while its disk arrives: / is an XFS, and it has
# a /boot, a /home, a btrfs and swap space.  LVM of that system has a list of devices, which is left alone.  Amid
# the fill its journal becomes full, it sleeps and wakes, it is restarted, and it is switched off; systemd ends it
# in order, and nothing is lost.  Its disk is larger than the image's, and the volume of its root grows
# while it is used.  When the disk is whole, UEFI firmware starts the machine from it.
GUEST=streamlvm_guest
. "$(dirname "$0")/lvm_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires mkfs.xfs xfs_repair mkfs.btrfs
needs_mount xfs
DISK_SERIAL=streamlvm ROOT_FS=xfs ROOT=480 MORE=32 MODULES=fs/btrfs
more_files() {
	local root=$1
	# LVM's list, as the installed system has it: the disk by its serial number.
	mkdir -p "$root/etc/lvm/devices"
	sed -i 's/^[[:space:]#]*use_devicesfile *=.*/	use_devicesfile = 1/' "$root/etc/lvm/lvm.conf"
	grep -q '^	use_devicesfile = 1' "$root/etc/lvm/lvm.conf" || fail "lvm.conf"
	pv=$(lvm pvs --devices "$LOOP" --noheadings -o pv_uuid | tr -d ' -')
	printf 'VERSION=1.1.1\nIDTYPE=sys_serial IDNAME=%s DEVNAME=/dev/vda3 PVID=%s PART=3\n' "$DISK_SERIAL" "$pv" > "$root/etc/lvm/devices/system.devices"
	cp "$root/etc/lvm/devices/system.devices" "$root/srv"
	echo "LABEL=data /srv/data btrfs defaults 0 0" >> "$root/etc/fstab"
	mkdir -p "$root/srv/data" "$root/var/log/journal" "$root/etc/systemd/journald.conf.d"
	printf '[Journal]\nStorage=persistent\nSystemMaxUse=8M\nSystemMaxFileSize=1M\nRateLimitIntervalSec=0\n' > "$root/etc/systemd/journald.conf.d/small.conf"
	grep ' usr/bin/' "$root/srv/sums" | sed -n '1~40p' > "$root/srv/few-sums"
	# Of what systemd ends last: all is unmounted then, and / can only be read.  What this reads is not in memory.
	cat > "$root/usr/lib/systemd/system-shutdown/at-the-end" <<- 'I'
		#!/bin/sh
		echo 3 > /proc/sys/vm/drop_caches
		exec > /dev/console 2>&1
		cd / && sha256sum --quiet -c /srv/few-sums && grep -q ' / xfs ro,' /proc/mounts &&
			echo "AT THE END: $(pidof @streamswitch @nbdkit | wc -w) serve a root that is only read"
	I
	chmod 755 "$root/usr/lib/systemd/system-shutdown/at-the-end"
}
more_partitions() {	# DISK MIB
	truncate -s ${MORE}M "$T/data"; quietly mkfs.btrfs -q --mixed -L data "$T/data" || fail "mkfs.btrfs"
	dd if="$T/data" of="$1" bs=1M seek="$2" conv=notrunc,sparse status=none
}
debian_lvm
serve_disk lvmguest
truncate -s +200M "$T/a"
# Wakes the machine up as soon as it sleeps, by what QEMU has for that.
wakes() {	# SECONDS
	"$PYTHON" - "$T/qmp" $(($1 * VM_PATIENCE)) <<- 'PY'
		import json, socket, sys, time
		qmp = socket.socket(socket.AF_UNIX); qmp.connect(sys.argv[1])
		lines = qmp.makefile("r")
		def ask(command):
		    qmp.sendall(json.dumps({"execute": command}).encode() + b"\n")
		    while True:
		        answer = json.loads(lines.readline())
		        if "event" not in answer and "QMP" not in answer: return answer["return"]
		ask("qmp_capabilities")
		until = time.monotonic() + int(sys.argv[2])
		while ask("query-status")["status"] != "suspended":
		    if time.monotonic() > until: sys.exit("it does not sleep")
		    time.sleep(0.5)
		ask("system_wakeup")
	PY
}
streaming() {	# NAME
	streams "$1" "frisbee.fit=yes frisbee.stream=$SLOWLY"
	vm_sees "$1" 600 'starting the kernel of the image'
	vm_sees "$1" 600 'vda is being filled; starting the system on /dev/mapper/debian-root'
}
at_the_end() {	# NAME
	check "guardian and nbdkit serve until the end of $1" grep -a -q 'AT THE END: 2 serve' "$LOGS/$1.log"
	share=$(present)
	check "most is absent: $share % are there" [ "$share" -lt 80 ]
}
CHIPS=q35 FIRMWARE=(-qmp "unix:$T/qmp,server=on,wait=off")
streaming lvm
vm_sees lvm 600 'STREAMLVM: goes to sleep'
check "it has slept" wakes 300
vm_guest_is_good lvm 600 STREAMLVM
at_the_end lvm

echo "== restarted"
streaming again
vm_guest_is_good again 600 STREAMLVM
at_the_end again

echo "== switched on"
streaming whole
vm_sees whole 600 'READY: [0-9]* failures'
vm_guest_is_good whole 600 STREAMLVM
check "nothing says that it is not whole" quietly "$BIN/imageunzip" --status "$T/a"
check "both tables of the GPT" quietly sgdisk --verify "$T/a"

echo "== from its disk"
uefi; FIRMWARE=("${UEFI[@]}")
machine disk
vm_guest_is_good disk 600 STREAMLVM
finish
