# stream_lib.sh: what the tests of machines whose disk streams share: a web server with the image
# $T/disk.ndz, and a machine with the disk $T/a.
# Most of a slow machine's disk is to be absent, too, when somebody logs in: with SLOWLY what it reads
# comes at once, and the rest within an hour.  READ_ALL, typed into it, lets it read the rest.
declare -F vm_start > /dev/null || . "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires nbdkit python3
vm_accel
PORT=8080 SLOWLY=rate=200k
READ_ALL='dd if=/dev/mapper/frisbee of=/dev/null bs=1M 2> /dev/null'
FIRMWARE=()	# options of QEMU; none: BIOS
LOOK='ls -d /sys/firmware/efi || echo none' SHOWN='^none'	# typed into a machine, and what a line of the answer is
ip link set lo up
serve_disk() {	# NAME: the image of $T/NAME, for an empty disk
	ln "$T/$1" "$T/disk"; ln "$T/$1.ndz" "$T/disk.ndz"
	serve 1000000000
	truncate -s "$(stat -c %s "$T/disk")" "$T/a"
}
serve() {	# BYTES in a second, until $T/rate says another number
	echo "$1" > "$T/rate"
	"$PYTHON" -E -S "$TOP/tests/helpers/http_slow.py" "$T/disk.ndz" $PORT "$T/rate" > "$LOGS/streaming-http.log" 2>&1 &
	PIDS+=($!)
}
machine() {	# NAME QEMU-OPTIONS...
	local name=$1; shift
	vm_start "$name" -machine "${CHIPS:-pc}" "${FIRMWARE[@]}" -cpu max -m 1024 -no-reboot -netdev user,id=n -device "${NIC:-virtio-net-pci},netdev=n,romfile=" \
	    -drive file="$T/a",format=raw,if=none,id=disk,cache=unsafe -device "virtio-blk-pci,drive=disk,serial=${DISK_SERIAL:-disk}" "$@"
}
streams() {	# NAME WORDS...
	local name=$1; shift
	machine "$name" -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" \
	    -append "$KERNEL_WORDS console=ttyS0,115200 quiet frisbee.action=stream frisbee.source=http://10.0.2.2:$PORT/disk.ndz frisbee.disk=vda $*"
}
# How much of what the image stores is on the machine's disk, in per cent.
present() {
	python3 - "$T/disk" "$T/a" << 'PY'
import sys
a, b = (open(p, "rb") for p in sys.argv[1:3])
same = stored = 0
while True:
    x, y = a.read(65536), b.read(65536)
    if not x: break
    if x.strip(b"\0"):
        stored += 1; same += x == y
print(100 * same // stored)
PY
}
tree_of() {	# DISK OUT: the files of the ext4 at $OFFSET, its filesystem checked
	quietly e2fsck -fn "$1?offset=$OFFSET" || fail "$1: e2fsck"
	mkdir "$2"; debugfs -R "rdump / $2" "$1?offset=$OFFSET" > /dev/null 2>&1
}
# The same of an XFS or a btrfs, which this machine mounts.
mounted_tree_of() {	# DISK OUT CHECK...
	dd if="$1" of="$T/fs" bs=1M skip=$((OFFSET >> 20)) conv=sparse status=none
	check "$FS is whole" quietly "${@:3}" "$T/fs"
	mkdir "$2" "$T/mounted"
	mount -t "$FS" -o loop,ro${SUBVOLUME:+,subvol=$SUBVOLUME} "$T/fs" "$T/mounted" || { fail "mount"; return; }
	cp -a "$T/mounted/." "$2"; umount "$T/mounted"; rm "$T/fs"
}
# A machine with UEFI firmware works while its disk, which has a GPT, arrives, and its firmware starts that
# disk afterwards.
needs_uefi() {
	EFI=$NETBOOT/signed/gcdx64.efi
	requires mformat mmd mcopy
	[ -e "$OVMF" ] || skip "needs the package ovmf"
	[ -e "$EFI" ] || skip "the signed boot loaders cannot be fetched"
}
needs_mount() {	# FS
	modprobe -q "$1" 2> /dev/null
	grep -q -w "$1" /proc/filesystems || skip "the kernel here does not mount $1"
}
uefi_disk() {	# MB more; as made_disk
	OFFSET=$((2048 * 25 * 512))
	cp "${OVMF/CODE/VARS}" "$T/vars"
	CHIPS=q35 FIRMWARE=(-drive "if=pflash,format=raw,readonly=on,file=$OVMF" -drive "if=pflash,format=raw,file=$T/vars")
	SHOWN='^/sys/firmware/efi'
	export EFI
	made_disk "$1"
}
made_disk() {	# MB more; what else it is, make-disk has from the environment
	export FS SUBVOLUME
	STREAMS=$1 "$TOP/tests/vm/make-disk" "${KERNEL:-$NETBOOT/kernel}" $PAYLOAD "$T/disk" "$T/files" || { fail make-disk; finish; }
	"$BIN/imagezip" -q "$T/disk" "$T/disk.ndz" || { fail imagezip; finish; }
	serve 1000000000
	truncate -s "$(stat -c %s "$T/disk")" "$T/a"
}
logged_in() {	# NAME ROOT: until somebody is, while most is absent
	vm_sees "$1" 600 'starting the kernel of the image'
	vm_sees "$1" 600 "vda is being filled; starting the system on $2"
	vm_sees "$1" 600 'node login:'
	share=$(present)
	check "most is absent: $share % are there" [ "$share" -lt 60 ]
	check "the disk does not look whole" [ "$("$BIN/imageunzip" --status "$T/a" > /dev/null 2>&1; echo $?)" = 1 ]
	vm_types "$1" root; vm_sees "$1" 200 '# '
	vm_types "$1" "$LOOK; echo written while it streams > /made-here; sync"
	vm_sees "$1" 200 "$SHOWN"
}
becomes_whole() {	# NAME: and is switched off
	vm_types "$1" "$READ_ALL"
	vm_sees "$1" 600 'frisbee: DONE: vda is whole, and the system uses it directly'
	check "nothing says that it is not whole" quietly "$BIN/imageunzip" --status "$T/a"
	vm_types "$1" 'md5sum < /srv/more; sync; reboot'
	vm_sees "$1" 300 "$(md5sum < "$T/files/srv/more" | cut -d' ' -f1)"
	vm_ends "$1" 300
	if [ -n "${EFI:-}" ]; then check "both tables of the GPT" quietly sgdisk --verify "$T/a"
	else check "the boot loader and the table" cmp -n $((2048 * 512)) "$T/disk" "$T/a"; fi
}
starts_from_disk() {
	machine disk
	vm_sees disk 600 'node login:'
	vm_types disk root; vm_sees disk 200 '# '; vm_types disk "$LOOK; cat /made-here; poweroff"
	vm_sees disk 200 "$SHOWN"
	vm_sees disk 200 'written while it streams'
	vm_ends disk 60
}
