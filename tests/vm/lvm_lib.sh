# lvm_lib.sh: what the tests of a Debian on LVM share: a GPT with an EFI system partition, /boot, and a
# physical volume with /home, swap space and /.
#	debian_lvm			$T/lvmguest, and its image; the root is $ROOT_FS, ext4 unless it is set
#	more_files ROOT			what a test adds to the files, when the physical volume is $LOOP
#	more_partitions DISK MIB	what it puts into a fourth partition, of $MORE MiB, at this place
#	on_pv DISK COMMAND...		LVM's own commands, for the physical volume on a disk
#	list_volumes; volume NAME FIELD	where they lie, and how long they are
. "$(dirname "${BASH_SOURCE[0]}")/fit_lib.sh"
requires lvm
EFI=$NETBOOT/signed/gcdx64.efi
[ -e "$OVMF" ] || skip "needs the package ovmf"
[ -e "$EFI" ] || skip "the signed boot loaders cannot be fetched"
PV=76 HOME_MIB=48 SWAP=24 ROOT=352 MORE=	# MiB; the physical volume's first, the lengths of volumes, and of a fourth partition
ROOT_FS=ext4
export LVM_SYSTEM_DIR=$T/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir "$T/lvm"
cat > "$T/lvm/lvm.conf" << CONF
devices { use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none" }
global { activation=0 locking_dir="$T/lvm/lock" event_activation=0 use_lvmpolld=0 }
backup { backup=0 archive=0 }
CONF
pv_mib() { echo $((HOME_MIB + SWAP + ROOT + 5)); }	# of the physical volume, if something is behind it
# LVM's own commands, which see one loop device: the physical volume on a disk.
on_pv() {	# DISK COMMAND...
	local loop rc
	loop=$(losetup --show -f -o $((PV << 20)) ${MORE:+--sizelimit $(($(pv_mib) << 20))} "$1") || { fail losetup; return 1; }
	LOOP=$loop "${@:2}"; rc=$?
	losetup -d "$loop"
	return $rc
}
do_lvm() { quietly lvm "$1" --devices "$LOOP" "${@:2}" || fail "lvm $*"; }
make_group() {
	do_lvm pvcreate -y "$LOOP"
	do_lvm vgcreate debian "$LOOP"
	do_lvm lvcreate -y -an -Zn -Wn -L ${HOME_MIB}M -n home debian
	do_lvm lvcreate -y -an -Zn -Wn -L ${SWAP}M -n swap debian
	do_lvm lvcreate -y -an -Zn -Wn -L ${ROOT}M -n root debian
}
# Where the volumes lie on the disk, and how long they are, in MiB: "home 77 48".
list_volumes() {
	local start
	start=$(lvm pvs --devices "$LOOP" --noheadings --nosuffix --units m -o pe_start 2> "$T/said")
	lvm lvs --devices "$LOOP" --noheadings --nosuffix --units m --separator ' ' \
	    -o lv_name,seg_start_pe,seg_pe_ranges,seg_size debian 2> "$T/said" |
		awk -v start="$start" -v pv=$PV '{ split($3, r, /[:-]/); print $1, pv + start + r[2] * 4, int($4), $2 }'
}
volume() { awk -v "n=$1" -v "f=$2" '$1 == n { print $f; exit }' "$T/volumes"; }	# NAME FIELD

more_files() { :; }
more_partitions() { :; }
root_of_debian() {	# ROOT MIB: the filesystem, with these files
	if [ "$ROOT_FS" = ext4 ]; then fs_at "$T/lvmguest" "$2" $ROOT -U $ROOT_UUID -d "$1"; return; fi
	truncate -s ${ROOT}M "$T/fs"; mkdir "$T/mounted"
	quietly mkfs.xfs -q -m uuid=$ROOT_UUID "$T/fs" && mount -o loop "$T/fs" "$T/mounted" || { fail "mkfs.xfs"; return; }
	cp -a "$1/." "$T/mounted" || fail "filling the XFS"
	umount "$T/mounted"; rmdir "$T/mounted"
	dd if="$T/fs" of="$T/lvmguest" bs=1M seek="$2" conv=notrunc,sparse status=none; rm "$T/fs"
}
debian_lvm() {
	local root=$T/lvmguest.files
	SEARCH[lvmguest]=$BOOT_UUID
	debian_files lvmguest "root=/dev/mapper/debian-root ro" <<- I
		/dev/mapper/debian-root / $ROOT_FS defaults 0 1
		UUID=$BOOT_UUID /boot ext4 defaults 0 2
		UUID=$ESP_UUID /boot/efi vfat umask=0077 0 1
		/dev/mapper/debian-home /home ext4 defaults 0 2
		/dev/mapper/debian-swap none swap sw 0 0
	I
	local end=$((PV + $(pv_mib)))
	truncate -s $((end + ${MORE:-0} + 1))M "$T/lvmguest"
	sfdisk -q "$T/lvmguest" <<- I || fail sfdisk
		label: gpt
		1: start=1MiB, size=24MiB, type=U
		2: start=25MiB, size=$((PV - 25))MiB
		3: start=${PV}MiB, ${MORE:+size=$(pv_mib)MiB, }type=E6D6D379-F507-44C2-A23C-238F2A3DF928
		${MORE:+4: start=${end}MiB, size=${MORE}MiB}
	I
	more_partitions "$T/lvmguest" $end
	on_pv "$T/lvmguest" make_group
	on_pv "$T/lvmguest" list_volumes > "$T/volumes"
	on_pv "$T/lvmguest" more_files "$root"
	esp_at "$T/lvmguest" 1 24 lvmguest ""
	mv "$root/boot" "$T/boot"; mkdir "$root/boot" "$T/empty"
	fs_at "$T/lvmguest" 25 $((PV - 25)) -U $BOOT_UUID -d "$T/boot"
	fs_at "$T/lvmguest" "$(volume home 2)" $HOME_MIB -U $HOME_UUID -d "$T/empty"
	root_of_debian "$root" "$(volume root 2)"
	swap_at "$T/lvmguest" "$(volume swap 2)" $SWAP $SWAP_UUID
	rm -rf "$root" "$T/boot"
	image lvmguest
}

