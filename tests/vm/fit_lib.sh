# fit_lib.sh: what the tests of partitions that fit a larger disk share: disks with a Debian, which a
# machine in the memory root loads with frisbee.fit=yes, and then starts from.
#	debian_files NAME KERNEL-WORDS... < FSTAB	$T/NAME.files: a Debian with this fstab, whose
#			service fit-test is fit_guest, or $GUEST; with the kernel's $MODULES, too
#	fs_at DISK MIB MIB-LONG MKE2FS-OPTIONS...	an ext4 at this place
#	swap_at DISK MIB MIB-LONG UUID
#	esp_at DISK MIB MIB-LONG NAME		with GRUB, and what starts the Debian
#	grub_bios DISK NAME			between an MBR and the first partition
#	image NAME				$T/NAME.ndz of $T/NAME
#	served					the server, with all images; call it once
#	loaded NAME MIB				onto $T/NAME.disk, with this length
#	started NAME QEMU-OPTIONS...		from that disk, until all is looked at
#	size_of NAME PLACE			what the machine said df shows, in MiB
vm_prepare() { "$TOP/tests/vm/make-debian" || skip "a Debian cannot be made here"; }
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires sfdisk sgdisk mke2fs e2fsck mkswap mformat mmd mcopy
vm_accel
vm_lan
declare -A ROOT_WORDS SEARCH
vm_log_more() { echo "--- mfrisbeed:"; tail "$LOGS/mfrisbeed.log"; tail -n 20 "$LOGS/server.log"; }
BOOT_UUID=3c7d12c8-5b0c-4b3e-9d0f-000000000001 ROOT_UUID=3c7d12c8-5b0c-4b3e-9d0f-000000000002
SWAP_UUID=3c7d12c8-5b0c-4b3e-9d0f-000000000003 HOME_UUID=3c7d12c8-5b0c-4b3e-9d0f-000000000004
ESP_UUID=F17F-0001

modules_of_debian() {	# ROOT
	{ cat; echo "${MODULES:-}"; } <<- 'I' | "$TOP/netboot/copy-modules" "$NETBOOT/kernel" "$1"
		drivers/block/nbd.ko
		drivers/block/virtio_blk.ko
		drivers/net/virtio_net.ko
		drivers/virtio
		drivers/md/dm-mod.ko
		fs/ext4
		fs/xfs
		fs/fat
		fs/efivarfs
		fs/autofs
		fs/nls/nls_ascii.ko
		fs/nls/nls_cp437.ko
		fs/nls/nls_iso8859-1.ko
		arch/x86/crypto/crc32c-intel.ko
		crypto/crc32c_generic.ko
	I
}
ramdisk_of_debian() {	# ROOT: by its own initramfs-tools
	local version
	version=$(basename "$NETBOOT"/kernel/lib/modules/*)
	cp "$NETBOOT"/kernel/boot/config-* "$1/boot"
	cp "$NETBOOT"/kernel/boot/vmlinuz-* "$1/boot"
	ln -s "vmlinuz-$version" "$1/boot/vmlinuz"
	printf 'RESUME=UUID=%s\n' $SWAP_UUID > "$1/etc/initramfs-tools/conf.d/resume"
	quietly "$TOP/tests/vm/in-debian" "$1" mkinitramfs -o /boot/initrd.img "$version" || fail "mkinitramfs"
}
debian_files() {	# NAME KERNEL-WORDS... < FSTAB
	local root=$T/$1.files p
	mkdir "$root"; tar -C "$root" -xf "$("$TOP/tests/vm/make-debian" name)"
	ROOT_WORDS[$1]="$KERNEL_WORDS console=ttyS0,115200 quiet systemd.show_status=no ${*:2}"
	cat > "$root/etc/fstab"
	echo "$1" > "$root/etc/hostname"
	mkdir -p "$root/boot/efi"
	modules_of_debian "$root" || fail "modules"
	ramdisk_of_debian "$root"
	install -m 755 "$TOP/tests/vm/${GUEST:-fit_guest}" "$root/usr/bin/fit-test"
	cat > "$root/etc/systemd/system/fit-test.service" <<- 'U'
		[Unit]
		After=multi-user.target
		[Service]
		ExecStart=/usr/bin/fit-test
	U
	mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
	ln -s ../fit-test.service "$root/etc/systemd/system/multi-user.target.wants"
	# The console is the test's; nothing waits for a network.
	for p in getty.target serial-getty@ttyS0.service systemd-networkd-wait-online.service \
	    apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer fstrim.timer; do
		ln -sf /dev/null "$root/etc/systemd/system/$p"
	done
	ln -sf /usr/lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
	# A machine beside many others is slow.
	mkdir -p "$root/etc/systemd/system.conf.d"
	{ echo "[Manager]"; printf 'Default%sSec=900\n' TimeoutStart TimeoutStop DeviceTimeout; } > "$root/etc/systemd/system.conf.d/slow.conf"
	(cd "$root" && find boot usr/bin usr/lib/systemd -type f -exec sha256sum {} +) > "$T/sums"
	mv "$T/sums" "$root/srv/sums"
}

fs_at() {	# DISK MIB MIB-LONG MKE2FS-OPTIONS...
	quietly mke2fs -q -F -t ext4 -m 0 -E "offset=$(($2 << 20))" "${@:4}" "$1" "${3}M" || fail "mke2fs"
}
swap_at() {	# DISK MIB MIB-LONG UUID
	rm -f "$T/swap"; truncate -s "${3}M" "$T/swap"
	quietly mkswap -U "$4" "$T/swap" || fail "mkswap"
	dd if="$T/swap" of="$1" bs=1M seek="$2" conv=notrunc,sparse status=none
}
grub_cfg() {	# NAME FOLDER
	cat <<- I
		search --no-floppy --fs-uuid --set=root ${SEARCH[$1]}
		linux $2/vmlinuz ${ROOT_WORDS[$1]}
		initrd $2/initrd.img
		boot
	I
}
esp_at() {	# DISK MIB MIB-LONG NAME FOLDER
	rm -f "$T/esp"; truncate -s "${3}M" "$T/esp"
	mformat -N "${ESP_UUID/-/}" -i "$T/esp" :: && mmd -i "$T/esp" ::EFI ::EFI/BOOT || fail "mformat"
	grub_cfg "$4" "$5" > "$T/grub.cfg"
	mcopy -i "$T/esp" "$EFI" ::EFI/BOOT/BOOTX64.EFI && mcopy -i "$T/esp" "$T/grub.cfg" ::EFI/BOOT/grub.cfg ||
		fail "mcopy"
	dd if="$T/esp" of="$1" bs=1M seek="$2" conv=notrunc status=none
}
grub_bios() {	# DISK NAME
	grub_cfg "$2" /boot > "$T/grub.cfg"
	grub-mkimage -O i386-pc -p /boot/grub -c "$T/grub.cfg" -o "$T/core.img" \
	    biosdisk part_msdos ext2 linux search search_fs_uuid || fail "grub-mkimage"
	dd if=/usr/lib/grub/i386-pc/boot.img of="$1" bs=440 count=1 conv=notrunc status=none
	dd if="$T/core.img" of="$1" bs=512 seek=1 conv=notrunc status=none
}

image() {	# NAME
	"$BIN/imagezip" -q "$T/$1" "$T/$1.ndz" || fail "imagezip $1"
	IMAGES+=("image $1 $T/$1.ndz")
}
IMAGES=()
served() {
	vm_server --own-network
	printf '%s\n' "${IMAGES[@]}" "group 239.192.51.1" "allow 10.9.0.0/24" "state $T/state" \
	    "interface lan0" > "$T/conf"
	mkdir "$T/state"
	"$BIN/mfrisbeed" -c "$T/conf" > "$LOGS/mfrisbeed.log" 2>&1 &
	PIDS+=($!)
	vm_tap tapa
}
loaded() {	# NAME MIB
	truncate -s "${2}M" "$T/$1.disk"
	vm_start "load-$1" -machine pc,graphics=off -netdev tap,id=n,ifname=tapa,script=no,downscript=no \
	    -device virtio-net-pci,netdev=n,mac=52:54:00:00:00:0a,romfile= -kernel "$NETBOOT/vmlinuz" \
	    -initrd "$NETBOOT/initrd.img" -drive file="$T/$1.disk",format=raw,if=virtio,cache=unsafe \
	    -append "$KERNEL_WORDS console=ttyS0,115200 quiet frisbee.action=load frisbee.server=10.9.0.1 \
frisbee.image=$1 frisbee.fit=yes frisbee.after=poweroff frisbee.onfail=poweroff"
	vm_sees "load-$1" 400 'frisbee: (DONE|FAILED): .*'
	! grep -q -a 'frisbee: FAILED' "$LOGS/load-$1.log" || vm_gives_up "load-$1" "it is not loaded"
	vm_ends "load-$1" 60
	check "$1 is loaded, and all of it grown" \
	    grep -q -a $'^frisbee: DONE: vda is loaded\r*$' "$LOGS/load-$1.log"
	sed 's/\r$//' "$LOGS/load-$1.log" | grep -a 'partition [0-9]' | sed 's/^/   /'
	check "$1: the disk is whole" quietly "$BIN/imageunzip" --status "$T/$1.disk"
	check "$1: the table is right" quietly sfdisk --verify "$T/$1.disk"
}
UEFI=()	# QEMU-OPTIONS of a machine with UEFI firmware
uefi() {
	cp "${OVMF/CODE/VARS}" "$T/vars"
	UEFI=(-drive "if=pflash,format=raw,readonly=on,file=$OVMF" -drive "if=pflash,format=raw,file=$T/vars")
}
started() {	# NAME QEMU-OPTIONS...
	vm_start "$1" -cpu max -no-reboot -m 768 "${@:2}" -drive file="$T/$1.disk",format=raw,if=virtio,cache=unsafe
	vm_guest_is_good "$1" 400 FIT
}
size_of() { vm_said "$1" | sed -n "s,^note: $2 has \([0-9]*\) MiB\$,\1,p"; }	# NAME PLACE
# Of a partition, what sfdisk calls FIELD, in MiB.
part() { echo $(($(sfdisk -J "$T/$1" | json - "partitiontable.partitions[$2].$3") / 2048)); }	# DISK INDEX FIELD
