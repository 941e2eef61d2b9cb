# stream_lib.sh: what the tests of machines whose disk streams share: a web server with the image
# $T/disk.ndz, and a machine with the disk $T/a.
# Most of a slow machine's disk is to be absent, too, when somebody logs in: with SLOWLY what it reads
# comes at once, and the rest within an hour.  READ_ALL, typed into it, lets it read the rest.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires nbdkit nbd-client python3
vm_accel
PORT=8080 SLOWLY=rate=200k
READ_ALL='dd if=/dev/mapper/frisbee of=/dev/null bs=1M 2> /dev/null'
FIRMWARE=()	# options of QEMU; none: BIOS
ip link set lo up
serve() {	# BYTES in a second, until $T/rate says another number
	echo "$1" > "$T/rate"
	"$PYTHON" -E -S "$TOP/tests/helpers/http_slow.py" "$T/disk.ndz" $PORT "$T/rate" > "$LOGS/streaming-http.log" 2>&1 &
	PIDS+=($!)
}
machine() {	# NAME QEMU-OPTIONS...
	local name=$1; shift
	vm_start "$name" -machine "${CHIPS:-pc}" "${FIRMWARE[@]}" -cpu max -m 1024 -no-reboot -netdev user,id=n -device virtio-net-pci,netdev=n,romfile= \
	    -drive file="$T/a",format=raw,if=virtio,cache=unsafe "$@"
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
