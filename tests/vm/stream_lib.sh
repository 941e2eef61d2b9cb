# stream_lib.sh: what the tests of machines whose disk streams share: a web server with the image
# $T/disk.ndz, and a machine with the disk $T/a.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
requires nbdkit nbd-client python3
vm_accel
PORT=8080
ip link set lo up
serve() {	# BYTES in a second, until $T/rate says another number
	echo "$1" > "$T/rate"
	"$PYTHON" -E -S "$TOP/tests/helpers/http_slow.py" "$T/disk.ndz" $PORT "$T/rate" > "$LOGS/streaming-http.log" 2>&1 &
	PIDS+=($!)
}
machine() {	# NAME QEMU-OPTIONS...
	local name=$1; shift
	vm_start "$name" -machine pc -cpu max -m 1024 -no-reboot -netdev user,id=n -device virtio-net-pci,netdev=n,romfile= \
	    -drive file="$T/a",format=raw,if=virtio,cache=unsafe "$@"
}
streams() {	# NAME WORDS...
	local name=$1; shift
	machine "$name" -kernel "$NETBOOT/vmlinuz" -initrd "$NETBOOT/initrd.img" \
	    -append "console=ttyS0,115200 quiet frisbee.action=stream frisbee.source=http://10.0.2.2:$PORT/disk.ndz frisbee.disk=vda $*"
}
