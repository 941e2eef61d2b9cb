# lib.sh: virtual machines on a network of their own.
# Needs root.  Namespaces of network, mounts and processes: nothing of the host
# is touched, and whatever happens, nothing is left running.
#	vm_start NAME QEMU-OPTIONS...	its console goes to build/vm/NAME.log
#	vm_sees NAME SECONDS PATTERN	wait until the console shows it
#	vm_program FOLDER PROGRAM	for a ramdisk or a disk
#	vm_types NAME TEXT		into its console
#	vm_presses NAME SECONDS KEY PATTERN	again and again, until the console shows it
#	vm_ends NAME SECONDS		wait until it is switched off
#	vm_server [OPTIONS]		the server of netboot/setup, in /srv/netboot, on lan0
#	vm_order MAC WORDS...		for this machine's next boot
# VM_PATIENCE=1 waits a third as long for everything: the usual 3 is for a host that does much else.
# Kernels get the word no_timer_check: on a busy host the timer of an emulated machine can be too late for the check, and
# the kernel panics ("IO-APIC + timer doesn't work").
# VM_ACCEL=kvm or tcg says how to run them; without it KVM is taken where it works.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
[ "$(uname -m)" = x86_64 ] || skip "the environment is made for x86-64"
requires qemu-system-x86_64 dnsmasq grub-mkimage busybox cpio depmod zstd ip sfdisk mke2fs e2fsck debugfs python3
[ -d /usr/lib/grub/i386-pc ] || skip "needs GRUB for BIOS machines"
VM_PATIENCE=${VM_PATIENCE:-3}
NETBOOT=$TOP/build/netboot
LOGS=$TOP/build/vm
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
mkdir -p "$LOGS"
declare -A VM_PID VM_KEYS VM_SEEN
vm_kill() { local p; for p in "${VM_PID[@]}" "${PIDS[@]}"; do kill "$p" 2> /dev/null; done; wait; }
PIDS=()
CLEANUP+=(vm_kill)

# KVM may be there and hang: it has to show a kernel's first line within seconds.
kvm_works() {
	local i pid
	[ -w /dev/kvm ] || return 1
	qemu-system-x86_64 -accel kvm -m 256 -display none -serial "file:$T/kvm.log" -kernel "$NETBOOT/vmlinuz" \
	    -append "no_timer_check console=ttyS0 panic=-1" -no-reboot < /dev/null > /dev/null 2>&1 &
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
vm_server() {
	[ -e /usr/lib/ipxe/ipxe.efi ] || skip "needs the package ipxe"
	mount -t tmpfs none /srv
	OUT=$NETBOOT quietly "$TOP/netboot/setup" "$@" lan0 || { fail "netboot/setup"; finish; }
	sed -i 's/ quiet / quiet no_timer_check /' /srv/netboot/boot/environment.ipxe
	[ ! -e /srv/netboot/boot/grub/grub.cfg ] || sed -i 's/ quiet / quiet no_timer_check /' /srv/netboot/boot/grub/grub.cfg
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
	ldd "$2" | awk '$2 == "=>" { print $3 } $1 ~ /^\// { print $1 }' | while read -r lib; do
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
	local at end=$((SECONDS + $2 * $VM_PATIENCE)) start=$SECONDS press=$SECONDS
	while :; do
		if [ -n "${4:-}" ] && [ $SECONDS -ge $press ]; then printf "$4" >&"${VM_KEYS[$1]}"; press=$((SECONDS + 5)); fi
		at=$(vm_new "$1" | grep -a -b -o -m 1 -E -- "$3" | head -n 1)
		[ -z "$at" ] || break
		! vm_new "$1" | grep -a -q "Kernel panic" || vm_gives_up "$1" "its kernel panicked before \"$3\""
		kill -0 "${VM_PID[$1]}" 2> /dev/null || vm_gives_up "$1" "it ended before \"$3\""
		[ $SECONDS -lt $end ] || vm_gives_up "$1" "no \"$3\" within $2 s"
		sleep 0.2
	done
	VM_SEEN[$1]=$((VM_SEEN[$1] + ${at%%:*} + $(printf %s "${at#*:}" | wc -c)))
	echo "ok: $1 shows \"${at#*:}\" (after $((SECONDS - start)) s, at $SECONDS s)"
}
# Menus of firmware and boot loaders lose keys when the machine is slow.  A key more must do no harm.
vm_presses() { vm_sees "$1" "$2" "$4" "$3"; }
vm_types() { printf '%s\n' "$2" >&"${VM_KEYS[$1]}"; }
vm_ends() {	# NAME SECONDS
	local end=$((SECONDS + $2 * $VM_PATIENCE))
	while kill -0 "${VM_PID[$1]}" 2> /dev/null; do
		[ $SECONDS -lt $end ] || vm_gives_up "$1" "still on after $2 s"
		sleep 0.2
	done
	echo "ok: $1 is off (at $SECONDS s)"
}
