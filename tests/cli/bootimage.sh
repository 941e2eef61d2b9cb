#!/usr/bin/env bash
# streamdisk bootimage: the kernel and its modules out of an image, on MBR and GPT, with and
# without a partition for /boot; images that cannot be started so are refused.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/boot_lib.sh"
requires sfdisk mke2fs mkswap cpio zstd xz gzip
# disk NAME LABEL PARTITION FOLDER...: a filesystem in each of these partitions, of 16 MB each; its image.
disk() {
	local name=$1 label=$2 n; shift 2
	rm -f "$T/$name"*; truncate -s 64M "$T/$name"
	printf 'label: %s\nstart=2048,size=32768\nstart=34816,size=32768\nstart=67584,size=32768\n' "$label" | sfdisk -q "$T/$name"
	while [ $# -gt 0 ]; do
		n=$1
		truncate -s 16M "$T/fs"; mke2fs -q -F -t ext4 -d "$2" "$T/fs" || fail "mke2fs"
		dd if="$T/fs" of="$T/$name" bs=1M seek=$((1 + (n - 1) * 16)) conv=notrunc status=none; rm "$T/fs"
		shift 2
	done
	"$BIN/imagezip" -q "$T/$name" "$T/$name.ndz" || fail "imagezip"
}

version 6.1.0-9-amd64; version 6.1.0-10-amd64
mkdir -p "$T/root/lib/modules/7.0-without-a-kernel" "$T/root/boot/grub" "$T/other"
cat > "$T/root/boot/grub/grub.cfg" << 'I'
menuentry 'other' {
	linux	/boot/vmlinuz-6.1.0-9-amd64 root=UUID=1 ro old
}
menuentry 'this' {
	linux	/boot/vmlinuz-6.1.0-10-amd64 root=UUID=1 ro quiet console=ttyS0
}
I
disk sda dos 1 "$T/other" 2 "$T/root"
check "MBR" boot --json "$T/sda.ndz"
check "the newest kernel" cmp "$T/out/vmlinuz" "$T/root/boot/vmlinuz-6.1.0-10-amd64"
check "what is needed, what that needs, and drivers" [ "$(in_ramdisk)" = "ahci.ko dm-mod.ko ext4.ko jbd2.ko nbd.ko net_failover.ko virtio_net.ko " ]
check "the same bytes" diff -r -x noise.ko -x sound -x modules.builtin "$T/root/lib/modules/6.1.0-10-amd64" "$T/there/lib/modules/6.1.0-10-amd64"
check "its words" [ "$(cat "$T/out/cmdline")" = "root=UUID=1 ro quiet console=ttyS0 nohibernate frisbee.root=2" ]
check "a report" json <("$SD" --json bootimage "$T/sda.ndz" "$T/out") kernel=6.1.0-10-amd64 root_partition=2 modules=7 "ramdisk_bytes=$(stat -c %s "$T/out/initrd.img")"
check "drivers of a machine" boot --drivers=virtio_net,not_there "$T/sda.ndz"
check "no others" [ "$(in_ramdisk)" = "dm-mod.ko ext4.ko jbd2.ko nbd.ko net_failover.ko virtio_net.ko " ]
check "what drives a device of the machine, too" boot --drivers=not_there --device=eth0,other,pci:v00001AF4 "$T/sda.ndz"
check "however many devices there are, and whatever their names" boot --drivers=not_there $(printf -- '--device=name-of-a-network-card-that-is-rather-long,virtio_net,pci:v00001AF4 %.0s' {1..100}) "$T/sda.ndz"
check "with what that needs" [ "$(in_ramdisk)" = "dm-mod.ko ext4.ko jbd2.ko nbd.ko net_failover.ko virtio_net.ko " ]
(cd "$T/other" && echo program > init && echo init | cpio --quiet -o -H newc > "$T/programs")
rm -rf "$T/out"; check "with programs" quietly "$SD" bootimage --programs="$T/programs" "$T/sda.ndz" "$T/out"
check "behind the modules" cmp <(tail -c "$(stat -c %s "$T/programs")" "$T/out/initrd.img") "$T/programs"

mkdir "$T/boot"; mv "$T/root/boot"/* "$T/boot"
disk gpt gpt 1 "$T/boot" 3 "$T/root"
check "GPT, with a partition for /boot" boot "$T/gpt.ndz"
check "its kernel" cmp "$T/out/vmlinuz" "$T/boot/vmlinuz-6.1.0-10-amd64"
check "its words" grep -q "console=ttyS0 nohibernate frisbee.root=3$" "$T/out/cmdline"
rm -r "$T/boot/grub"
for v in 6.1.0-9-amd64 6.1.0-10-amd64; do mv "$T/boot/vmlinuz-$v" "$T/root/lib/modules/$v/vmlinuz"; done
disk lib gpt 3 "$T/root"
check "a kernel beside its modules" boot "$T/lib.ndz"
check "without GRUB" [ "$(cat "$T/out/cmdline")" = "ro nohibernate frisbee.root=3" ]

refused() {	# WORDS IMAGE OPTION...
	rm -rf "$T/out"; status "${STATUS:-4}" "$SD" bootimage "${@:3}" "$2" "$T/out"
	check "it says why" grep -q "$1" "$T/stderr"
	check "nothing is made" [ ! -e "$T/out" ]
}
refused "its kernel 6.1.0-10-amd64: has no driver for sda, which mpt3sas drives here: pci:v00001000d00000097" "$T/gpt.ndz" \
    --device=eth0,virtio_net,pci:v00001AF4 --device=sda,mpt3sas,pci:v00001000d00000097
words=$(printf 'word%.0s ' {1..500}); mkdir -p "$T/root/boot/grub"
echo "linux /boot/vmlinuz-6.1.0-10-amd64 ${words}last" > "$T/root/boot/grub/grub.cfg"
disk long dos 2 "$T/root"; refused "a command line of 2504 characters" "$T/long.ndz"
rm -r "$T/root/boot/grub"
sed -i /nbd/d "$T/root/lib/modules/6.1.0-10-amd64/modules.dep"
disk nonbd dos 2 "$T/root"
refused "its kernel 6.1.0-10-amd64: has no module nbd" "$T/nonbd.ndz"
echo kernel/drivers/block/nbd.ko >> "$T/root/lib/modules/6.1.0-10-amd64/modules.builtin"
own=$T/root/lib/modules/6.1.0-10-amd64
printf 'mpt3sas.license=GPL\0mpt3sas.alias=pci:v00001000d00000097*\0' > "$own/modules.builtin.modinfo"
disk builtin dos 2 "$T/root"; check "in the kernel itself is fine" boot "$T/builtin.ndz"
check "a driver, too" boot --device=sda,other,pci:v00001000d00000097sv "$T/builtin.ndz"
check "by its name alone" boot --device=nbd,nbd,pci:v1 "$T/builtin.ndz"
rm "$own/modules.builtin.modinfo"
# A system that has hibernated goes on with what it knew of its filesystems.
truncate -s 16M "$T/fs"; quietly mkswap "$T/fs" && printf S1SUSPEND | dd of="$T/fs" bs=1 seek=4086 conv=notrunc status=none || fail "mkswap"
cp "$T/builtin" "$T/asleep"; dd if="$T/fs" of="$T/asleep" bs=1M seek=33 conv=notrunc status=none
"$BIN/imagezip" -q "$T/asleep" "$T/asleep.ndz" 2> "$T/said" || fail "imagezip: $(cat "$T/said")"
STATUS=5 refused "asleep.ndz: a system is suspended in partition 3" "$T/asleep.ndz"
# An image that cannot be read, for whatever reason, could not be loaded first either.
quietly "$BIN/imagekey" --sign-key "$T/other" || fail "imagekey"
STATUS=1 refused "asleep.ndz: chunk 0: is not signed, as --verify-key demands" "$T/asleep.ndz" --verify-key="$T/other.pub"
random_bytes 2M 1 > "$T/noise"; lay "$T/noise" "$T/asleep" $((1 << 20)); "$BIN/imagezip" -q "$T/asleep" "$T/asleep.ndz" 2> "$T/said" || fail "imagezip: $(cat "$T/said")"
spoil_byte "$T/asleep.ndz" $(($(stat -c %s "$T/asleep.ndz") - (1 << 20) + 600))	# in the last chunk, not in that of the table
STATUS=3 refused "asleep.ndz: partition 2 may hold a suspended system: " "$T/asleep.ndz"
# Modules that are compressed, each in one of the three ways, are plain in the ramdisk, and so are the lists.
cp -a "$own" "$T/plain"; sed 's/^/kernel\/fs\/ext4\/ext4.ko\n/; q' "$own/modules.builtin" > "$T/plain/modules.order"; cp "$T/plain/modules.order" "$own"
packed() {	# ENDING MODULE COMMAND...
	local ending=$1 m=$own/kernel/$2; shift 2
	"$@" < "$m" > "$m.$ending" && rm "$m" || fail "$*"
	sed -i "s|$(basename "$m")\b|&.$ending|" "$own"/modules.{dep,order}
}
packed zst fs/ext4/ext4.ko zstd -q; packed xz fs/jbd2/jbd2.ko xz --check=crc32; packed gz drivers/net/virtio_net.ko gzip; packed xz sound/pci/noise.ko xz
check "the lists name them" grep -q "ext4.ko.zst: kernel/fs/jbd2/jbd2.ko.xz" "$own/modules.dep"
disk packed dos 2 "$T/root"; check "compressed modules" boot "$T/packed.ndz"
check "are decompressed" diff -r -x noise.ko -x sound -x vmlinuz -x modules.builtin -x block "$T/plain" "$T/there/lib/modules/6.1.0-10-amd64"
echo junk >> "$own/kernel/fs/jbd2/jbd2.ko.xz"; truncate -s -10 "$own/kernel/fs/ext4/ext4.ko.zst"
disk cut dos 2 "$T/root"; rm -rf "$T/out"; status 3 "$SD" bootimage "$T/cut.ndz" "$T/out"
check "which is damaged is said" grep -q "kernel/fs/ext4/ext4.ko.zst: cannot be decompressed by zstd" "$T/stderr"
check "nothing is made" [ ! -e "$T/out" ]
rm -r "$own"; mv "$T/plain" "$own"; rm "$own/kernel/fs/jbd2/jbd2.ko"
disk nofile dos 2 "$T/root"; rm -rf "$T/out"; status 4 "$SD" bootimage "$T/nofile.ndz" "$T/out"
check "it says which module is not there" grep -q "jbd2.ko" "$T/stderr"
check "nothing is made" [ ! -e "$T/out" ]
# A member of a mirror: the filesystem ends in front of the superblock, which does not count as its free space.
truncate -s 16M "$T/fs"; mke2fs -q -F -t ext4 -d "$T/root" "$T/fs" 15M && endings make "$T/fs" md1 || fail "a mirror"
cp "$T/sda" "$T/mirror"; dd if="$T/fs" of="$T/mirror" bs=1M seek=17 conv=notrunc status=none
"$BIN/imagezip" -q "$T/mirror" "$T/mirror.ndz" || fail "imagezip"
refused "has no ext2, ext3 or ext4 filesystem with the modules" "$T/mirror.ndz"
rm "$own/modules.dep"; disk nolist dos 2 "$T/root"; refused "modules.dep" "$T/nolist.ndz"
rm -f "$T/root/lib/modules"/*/vmlinuz
disk nokernel dos 2 "$T/root"; refused "has modules, but no kernel" "$T/nokernel.ndz"
disk nosystem dos 1 "$T/other"; refused "has no ext2, ext3 or ext4 filesystem with the modules" "$T/nosystem.ndz"
# Words that a kernel would cut off are not cut off here either; no kernel is there to be started.
mkdir "$T/words"; printf 'word%.0s ' {1..500} > "$T/words/cmdline"
status 2 "$SD" boot "$T/words"
check "it says why" grep -q "the kernel takes 2047 characters" "$T/stderr"
status 1 "$SD" bootimage --programs="$T" "$T/sda.ndz" "$T/out"
finish
