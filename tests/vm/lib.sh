# lib.sh: virtual machines on a network of their own.
# Needs root.  Namespaces of network, mounts and processes: nothing of the host
# is touched, and whatever happens, nothing is left running.  Logs are in a folder
# of the test, so that others may run beside it: build/vm/TEST.
#	vm_start NAME QEMU-OPTIONS...	its console goes to NAME.log
#	vm_sees NAME SECONDS PATTERN	wait until the console shows it
#	vm_program FOLDER PROGRAM	for a ramdisk or a disk
#	vm_types NAME TEXT		into its console
#	vm_presses NAME SECONDS KEY PATTERN	again and again, until the console shows it
#	vm_ends NAME SECONDS		wait until it is switched off
#	vm_soon SECONDS COMMAND...	wait until the command succeeds
#	vm_ramdisk INIT PROGRAM...	$T/initrd: this script, programs, and the modules that stdin lists
#	vm_fio FILE			a disk with fio in it
#	vm_guest NAME WORDS OPTIONS...	a machine that starts with $T/initrd; it says "ok: " and "FAIL: "
#	vm_guest_is_good NAME SECONDS LAST	wait for its last line, "LAST: 0 failures", and its end
#	vm_server [OPTIONS]		the server of netboot/setup, in /srv/netboot, on lan0
#	vm_order MAC WORDS...		for this machine's next boot
# VM_PATIENCE=1 waits a fifth as long for everything: the usual 5 is for a host that does much else.
# Kernels get KERNEL_WORDS.  no_timer_check: on a busy host the timer of an emulated machine can be too late for the
# check, and the kernel panics ("IO-APIC + timer doesn't work").  mitigations=off: they cost an emulator most of all.
# VM_ACCEL=kvm or tcg says how to run them; without it KVM is taken where it works.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
[ "$(uname -m)" = x86_64 ] || skip "the environment is made for x86-64"
requires qemu-system-x86_64 dnsmasq grub-mkimage busybox cpio depmod zstd ip sfdisk mke2fs e2fsck debugfs python3
[ -d /usr/lib/grub/i386-pc ] || skip "needs GRUB for BIOS machines"
VM_PATIENCE=${VM_PATIENCE:-5}
export KERNEL_WORDS="no_timer_check mitigations=off"
NETBOOT=$TOP/build/netboot
LOGS=$TOP/build/vm/$(basename "$0" .sh)
OVMF=/usr/share/OVMF/OVMF_CODE_4M.fd
PAYLOAD=drivers/net/ethernet/intel	# of the kernel's modules: files to fill a disk with

# The environment, made when it is not there or older than its sources; before
# the namespaces, because the kernel may have to be fetched.
vm_environment() {
	"$TOP/netboot/build"
	case $? in
	0) "$TOP/netboot/build" signed || echo "going on without signed boot loaders" ;;
	77) skip "the kernel's package cannot be fetched" ;;
	*) fail "netboot/build"; finish ;;
	esac
}
if [ -z "${VM_INSIDE:-}" ]; then
	unshare -nmp --fork --mount-proc true 2> /dev/null || skip "namespaces are not allowed here"
	vm_environment
	if declare -F vm_prepare > /dev/null; then vm_prepare; fi	# what else a test needs a network for
	rmdir "$T"	# the next start makes its own
	VM_INSIDE=1 exec unshare -nmp --fork --kill-child --mount-proc bash "$0" "$@"
fi
rm -rf "$LOGS"; mkdir -p "$LOGS"
# A disk that boots, its image and the tree that is on it: $D/disk, $D/disk.ndz and $D/files.  Nobody changes them.
fixture_bootable() { "$TOP/tests/vm/make-disk" "$NETBOOT/kernel" $PAYLOAD disk files && "$BIN/imagezip" -q disk disk.ndz; }
vm_bootable() { D=$(fixture bootable:disk); [ -e "$D/disk.ndz" ] || { fail "make-disk"; finish; }; }
declare -A VM_PID VM_KEYS VM_SEEN
vm_kill() { local p; for p in "${VM_PID[@]}" "${PIDS[@]}"; do kill "$p" 2> /dev/null; done; wait; }
PIDS=()
CLEANUP+=(vm_kill)

# KVM may be there and hang: it has to show a kernel's first line within seconds.
kvm_works() {
	local i pid
	[ -w /dev/kvm ] || return 1
	qemu-system-x86_64 -accel kvm -m 256 -display none -serial "file:$T/kvm.log" -kernel "$NETBOOT/vmlinuz" \
	    -append "$KERNEL_WORDS console=ttyS0 panic=-1" -no-reboot < /dev/null > /dev/null 2>&1 &
	pid=$!
	for ((i = 0; i < 150; i++)); do
		sleep 0.1
		grep -q "Kernel panic" "$T/kvm.log" 2> /dev/null && break
		kill -0 $pid 2> /dev/null || break
	done
	{ kill -9 $pid; wait $pid; } 2> /dev/null
	grep -q "Kernel panic" "$T/kvm.log" 2> /dev/null
}
vm_accel() {
	if [ -z "${VM_ACCEL:-}" ]; then if kvm_works; then VM_ACCEL=kvm; else VM_ACCEL=tcg; fi; fi
	echo "machines run with $VM_ACCEL, $(nproc) processors"
}

# A bridge as the server's network card, that forwards multicast to those who asked.
vm_lan() {
	ip link set lo up
	ip link add lan0 type bridge forward_delay 0 mcast_snooping 1 mcast_querier 1 mcast_query_interval 500 \
	    mcast_startup_query_interval 50 || skip "no bridges here"
	ip addr add 10.9.0.1/24 brd + dev lan0
	ip addr add fd88::1/64 dev lan0 nodad
	ip link set lan0 up
	ip route add 224.0.0.0/4 dev lan0
}
# /srv is this test's own.  KEYS: files for the ramdisk.
vm_server_words() {
	local f
	for f in environment.ipxe grub/grub.cfg; do
		[ ! -e "/srv/netboot/boot/$f" ] || sed -i "s/ quiet / quiet $KERNEL_WORDS /" "/srv/netboot/boot/$f"
	done
	grep -q "$KERNEL_WORDS" /srv/netboot/boot/environment.ipxe || fail "the kernel's words"
}
vm_server() {
	[ -e /usr/lib/ipxe/ipxe.efi ] || skip "needs the package ipxe"
	mount -t tmpfs none /srv
	OUT=$NETBOOT quietly "$TOP/netboot/setup" "$@" lan0 || { fail "netboot/setup"; finish; }
	vm_server_words
	if [ -n "${KEYS:-}" ]; then
		OUT=$T/keys "$TOP/netboot/build" keys && cat "$T/keys/keys.zst" >> /srv/netboot/boot/initrd.img || fail "the keys' archive"
	fi
	/srv/netboot/serve > "$LOGS/server.log" 2>&1 &
	PIDS+=($!)
}
vm_order() { quietly /srv/netboot/order "$@" || fail "order $*"; }
vm_reported() {	# MAC PHASE TEXT: there is this line in the reports
	grep -q -x -F "${1//:/-} $2 $3" <(cut -d ' ' -f 2- /srv/netboot/reports)
}
vm_tap() {	# NAME
	ip tuntap add "$1" mode tap || skip "no TAP devices here"
	ip link set "$1" master lan0 up
}

vm_program() {	# FOLDER PROGRAM: into its bin/, with what it is linked with
	local lib
	mkdir -p "$1/bin"
	cp -L "$2" "$1/bin/$(basename "$2")"; strip "$1/bin/$(basename "$2")"
	ldd "$2" 2> /dev/null | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | while read -r lib; do
		mkdir -p "$1$(dirname "$lib")"; cp -Lu "$lib" "$1$lib"
	done
}
vm_start() {	# NAME QEMU-OPTIONS...
	local name=$1 keys=$T/$1.keys fd; shift
	[ -e "$keys" ] || mkfifo "$keys"
	exec {fd}<> "$keys"
	: > "$LOGS/$name.log"
	qemu-system-x86_64 -accel "$VM_ACCEL" -m 512 -display none -monitor none -no-user-config -nodefaults \
	    -chardev stdio,id=con,signal=off,logfile="$LOGS/$name.log" -serial chardev:con \
	    "$@" < "$keys" > "$T/$name.out" 2> "$T/$name.err" &
	VM_PID[$name]=$! VM_KEYS[$name]=$fd VM_SEEN[$name]=0
}
vm_log() { echo "--- the end of $1's console:"; sed "s/\r*\$//; s/.*\r//" "$LOGS/$1.log" | tr -d "\033" | tail -n 25; cat "$T/$1.err"; }
vm_log_more() { :; }	# of a test's own servers
vm_gives_up() { fail "$1: $2"; for m in "${!VM_PID[@]}"; do vm_log "$m"; done; vm_log_more; finish; }
# Only what came after the last thing seen counts.
vm_new() { tail -c +$((VM_SEEN[$1] + 1)) "$LOGS/$1.log"; }
vm_sees() {	# NAME SECONDS PATTERN [KEY: one that is pressed every five seconds]
	local at ended= end=$((SECONDS + $2 * $VM_PATIENCE)) start=$SECONDS press=$SECONDS
	while :; do
		kill -0 "${VM_PID[$1]}" 2> /dev/null || ended=yes	# its log has all then
		if [ -z "$ended" ] && [ -n "${4:-}" ] && [ $SECONDS -ge $press ]; then printf "$4" >&"${VM_KEYS[$1]}"; press=$((SECONDS + 5)); fi
		at=$(vm_new "$1" | grep -a -b -o -m 1 -E -- "$3|Kernel panic" | head -n 1)
		[ "${at#*:}" != "Kernel panic" ] || vm_gives_up "$1" "its kernel panicked before \"$3\""
		[ -z "$at" ] || break
		[ -z "$ended" ] || vm_gives_up "$1" "it ended before \"$3\""
		[ $SECONDS -lt $end ] || vm_gives_up "$1" "no \"$3\" within $2 s"
		sleep 0.5	# each look costs some milliseconds
	done
	VM_SEEN[$1]=$((VM_SEEN[$1] + ${at%%:*} + $(printf %s "${at#*:}" | wc -c)))
	echo "ok: $1 shows \"${at#*:}\" (after $((SECONDS - start)) s, at $SECONDS s)"
}
# Menus of firmware and boot loaders lose keys when the machine is slow.  A key more must do no harm.
vm_presses() { vm_sees "$1" "$2" "$4" "$3"; }
vm_types() { printf '%s\n' "$2" >&"${VM_KEYS[$1]}"; }
vm_soon() { SOON=$(($1 * VM_PATIENCE)) soon "${@:2}"; }	# SECONDS COMMAND...
vm_is_off() { ! kill -0 "${VM_PID[$1]}" 2> /dev/null; }
vm_ends() {	# NAME SECONDS
	vm_soon "$2" vm_is_off "$1" || vm_gives_up "$1" "still on after $2 s"
	echo "ok: $1 is off (at $SECONDS s)"
}

vm_ramdisk() {	# INIT PROGRAM... < MODULES
	local root=$T/root p init=$1; shift
	mkdir -p "$root"/{bin,sbin,dev,proc,sys,lib}
	"$TOP/netboot/copy-modules" "$NETBOOT/kernel" "$root" || fail "modules"
	for p in "$@" cmp busybox; do vm_program "$root" "$(type -P "$p")"; done
	install -m 755 "$init" "$root/init"
	install -m 644 "$TOP/tests/vm/guest_lib" "$root/lib.sh"
	(cd "$root" && find . -mindepth 1 | cpio --quiet -o -H newc -R 0:0) > "$T/initrd" || fail "cpio"
	rm -rf "$root"
}
# A disk with fio, whose libraries are larger than a ramdisk should be, and folders for mounts.
vm_fio() {	# FILE
	mkdir -p "$T/tools"/{dev,proc,sys,tmp,work}
	vm_program "$T/tools" "$(command -v fio)"
	truncate -s 160M "$1"; mke2fs -q -F -t ext4 -O ^has_journal -d "$T/tools" "$1" || fail "mke2fs"
	rm -r "$T/tools"
}
vm_drive() { DRIVES+=(-drive "file=$1,format=raw,if=virtio,cache=unsafe"); }	# FILE: for the next vm_guest
DRIVES=()
vm_guest() {	# NAME WORDS QEMU-OPTIONS...
	local name=$1 words=$2; shift 2
	vm_start "$name" -machine pc -cpu max -no-reboot -kernel "$NETBOOT/vmlinuz" -initrd "$T/initrd" \
	    -append "$KERNEL_WORDS console=ttyS0 quiet panic=-1 $words" "${DRIVES[@]}" "$@"
}
vm_said() { sed 's/\r$//' "$LOGS/$1.log" | grep -a -E '^(ok|FAIL|note): '; }	# NAME
vm_guest_is_good() {	# NAME SECONDS LAST
	vm_sees "$1" "$2" "$3: [0-9]* failures"
	vm_ends "$1" 60
	vm_said "$1"
	check "no failure in the machine" grep -q -a "^$3: 0 failures" "$LOGS/$1.log"
}
