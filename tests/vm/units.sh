#!/usr/bin/env bash
# The units of systemd under a real one: a machine with a Debian of this release, whose systemd starts, restarts,
# reloads and stops each of them, while nodes and copies are served; units_guest says what is done there.
# make-debian makes the system, once.
vm_prepare() { "$TOP/tests/vm/make-debian" || skip "a Debian with systemd cannot be made here"; }
. "$(dirname "$0")/lib.sh"
vm_accel
vm_lan
[ -e /usr/lib/ipxe/ipxe.efi ] || skip "needs the package ipxe"
root=$T/root

install_libraries() {	# FILE...: what they need and the system lacks; nothing of it is replaced, since its links may lead out of it
	local lib
	ldd "$@" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { sub(/:$/, "", $1); print $1 }' | sort -u | while read -r lib; do
		[ -L "$root$lib" ] || [ -e "$root$lib" ] || cp -L "$lib" "$root/usr$lib"
	done
}
install_program() {	# PROGRAM
	cp "$1" "$root/usr/bin"; strip "$root/usr/bin/$(basename "$1")"
	install_libraries "$1"
}
# Programs load it when they need it.
libcurl() { PATH=$PATH:/sbin ldconfig -p | awk '$1 == "libcurl.so.4" { print $NF; exit }'; }
system_with_units() {
	local p f
	mkdir "$root"; tar -C "$root" -xf "$("$TOP/tests/vm/make-debian" name)"
	for p in imagezip imageunzip frisbee frisbeed mfrisbeed controllerd swapin dsync dmextract dmmerge; do install_program "$BIN/$p"; done
	cp -L "$(libcurl)" "$root/usr$(libcurl)"; install_libraries "$(libcurl)"
	for f in "$TOP"/docs/examples/*.service "$TOP"/docs/examples/*.timer; do
		sed 's,/usr/local/sbin/,/usr/bin/,' "$f" > "$root/usr/lib/systemd/system/${f##*/}"
	done
	cp "$TOP/docs/examples/frisbee-server.sysusers" "$root/usr/lib/sysusers.d/frisbee-server.conf"
	printf '%s\n' drivers/md/dm-era.ko drivers/md/dm-mod.ko drivers/md/dm-snapshot.ko drivers/net/veth.ko drivers/block/virtio_blk.ko drivers/virtio/virtio_pci.ko \
	    fs/ext4 crypto/crc32c_generic.ko > "$T/modules"
	"$TOP/netboot/copy-modules" "$NETBOOT/kernel" "$root" < "$T/modules" || fail "modules"
	echo units > "$root/etc/hostname"; echo '/dev/vda / ext4 rw 0 1' > "$root/etc/fstab"
	install -m 755 "$TOP/tests/vm/units_guest" "$root/usr/bin/units-test"
	cat > "$root/etc/systemd/system/units-test.service" <<- 'U'
		[Unit]
		After=multi-user.target
		[Service]
		ExecStart=/usr/bin/units-test
	U
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
	ln -s ../units-test.service "$root/etc/systemd/system/multi-user.target.wants/units-test.service"
	# The console is the test's; nothing waits for a network.
	for p in getty.target serial-getty@ttyS0.service systemd-networkd-wait-online.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer; do
		ln -sf /dev/null "$root/etc/systemd/system/$p"
	done
	ln -sf /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
}
server_of_netboot() {	# of netboot/setup, as on a host that has the packages
	mkdir "$T/made"; echo a kernel > "$T/made/vmlinuz"; head -c 300000 /dev/urandom > "$T/made/initrd.img"
	mount -t tmpfs none /srv
	OUT=$T/made BIN=/usr/bin quietly "$TOP/netboot/setup" --own-network lan0 || fail "netboot/setup"
	cp -a /srv/netboot "$root/srv"
	install_program "$(command -v dnsmasq)"; install_program "$(command -v busybox)"; install_program "$BIN/imagedump"; install_program "$BIN/imagehash"
	echo 'dnsmasq:x:990:990::/:/usr/sbin/nologin' >> "$root/etc/passwd"; echo 'dnsmasq:x:990:' >> "$root/etc/group"
}
ramdisk() {	# mounts the disk, and gives it to systemd
	cat > "$T/init" <<- 'I'
		#!/bin/busybox sh
		. /lib.sh
		modprobe -a crc32c_generic virtio_pci virtio_blk ext4
		mount -t ext4 /dev/vda /mnt
		umount /proc; umount /sys; mount --move /dev /mnt/dev
		exec switch_root /mnt /sbin/init
	I
	vm_ramdisk "$T/init" <<- 'I'
		drivers/block/virtio_blk.ko
		drivers/virtio/virtio_pci.ko
		fs/ext4
		crypto/crc32c_generic.ko
	I
}
system_with_units
server_of_netboot
# An image that leaves less than 1000 MB on the disk is refused (netboot/receive); nearly all of it are holes.
truncate -s 2G "$T/a"; mke2fs -q -F -t ext4 -d "$root" "$T/a" || fail "mke2fs"
rm -rf "$root"
ramdisk
truncate -s 24M "$T/b"; truncate -s 8M "$T/c"
for d in a b c; do vm_drive "$T/$d"; done
vm_guest units systemd.show_status=no -smp 2 -m 1024
vm_guest_is_good units "${VM_SECONDS:-800}" UNITS
finish
