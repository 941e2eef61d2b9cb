# boot_lib.sh: systems from which streamdisk bootimage takes a kernel and its modules.
#	version VERSION		in $T/root: a kernel, with the modules that are needed, and drivers
#	boot OPTION... SOURCE	bootimage, into $T/out; its ramdisk is unpacked in $T/there
#	in_ramdisk		the names of the modules there
SD=$BIN/streamdisk
module() { mkdir -p "$T/root/lib/modules/$1/$(dirname "$2")"; echo "module $2 of $1" > "$T/root/lib/modules/$1/$2"; }
version() {
	local v=$1 m
	mkdir -p "$T/root/boot" "$T/root/etc"
	for m in drivers/block/nbd drivers/md/dm-mod drivers/net/virtio_net drivers/net/net_failover drivers/ata/ahci fs/ext4/ext4 fs/jbd2/jbd2 sound/pci/noise; do
		module "$v" kernel/$m.ko
	done
	cat > "$T/root/lib/modules/$v/modules.dep" <<- 'I'
		kernel/drivers/block/nbd.ko:
		kernel/drivers/md/dm-mod.ko:
		kernel/drivers/net/virtio_net.ko: kernel/drivers/net/net_failover.ko
		kernel/drivers/net/net_failover.ko:
		kernel/drivers/ata/ahci.ko:
		kernel/fs/ext4/ext4.ko: kernel/fs/jbd2/jbd2.ko
		kernel/fs/jbd2/jbd2.ko:
		kernel/sound/pci/noise.ko:
	I
	echo "alias pci:v00001AF4 virtio_net" > "$T/root/lib/modules/$v/modules.alias"
	echo kernel/lib/crc32c_generic.ko > "$T/root/lib/modules/$v/modules.builtin"
	head -c 300000 /dev/urandom > "$T/root/boot/vmlinuz-$v"
}
boot() { rm -rf "$T/out" "$T/there"; "$SD" bootimage "$@" "$T/out" 2> "$T/said" || return; mkdir "$T/there"; (cd "$T/there" && cpio --quiet -i -d < "$T/out/initrd.img"); }
in_ramdisk() { (cd "$T/there" && find . -name '*.ko' | sed 's|.*/||' | LC_ALL=C sort | tr '\n' ' '); }
