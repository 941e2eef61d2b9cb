#!/usr/bin/env bash
# What netboot/README.md says to enter in ISC's and Kea's DHCP server, taken out of it and given to these servers, and
# netboot/setup's own dnsmasq: a client that asks as BIOS, UEFI, HTTP boot and iPXE do hears which file to boot, and
# one whose processor has no file here hears of none.
. "$(dirname "$0")/../cli/lib.sh"
requires ip unshare python3 dhcpd kea-dhcp4 dnsmasq
command -v busybox > /dev/null && busybox udhcpc --help 2>&1 | grep -q udhcpc || skip "needs busybox with udhcpc"
[ "$(id -u)" = 0 ] || skip "only root can make a network here"
own_network
NODE=
at_end() { [ -z "$NODE" ] || kill "$NODE" 2> /dev/null; }
CLEANUP+=(at_end)
unshare -n sleep 1000 & NODE=$!
in_its_network() { [ "$(readlink /proc/$NODE/ns/net)" != "$(readlink /proc/self/ns/net)" ]; }
begins $NODE in_its_network || fail "no network for the node"
ip link add lan0 type veth peer name eth0 netns "$NODE" || skip "no veth here"
ip address add 10.9.0.1/24 dev lan0; ip link set lan0 up
node() { nsenter -t "$NODE" -n "$@"; }
node ip link set eth0 up

# The indented lines of README behind a heading, with HOST filled in.
block() { sed -n "/^$1/,/^[^ ].*:\$/p" "$TOP/netboot/README.md" | grep '^    ' | sed 's/^    //; s/HOST/10.9.0.1/g'; }
cat > "$T/heard" << 'SH'
#!/bin/sh
[ "$1" = bound ] && echo "file=${boot_file:-$bootfile} server=$siaddr class=$vendor$opt60" > "$HEARD"
exit 0
SH
chmod 755 "$T/heard"
hears() {	# WHAT FILE OPTIONS...
	local what=$1 file=$2; shift 2
	rm -f "$T/answer"
	HEARD=$T/answer node timeout 100 busybox udhcpc -i eth0 -f -n -q -t 20 -T 2 -s "$T/heard" -O bootfile -O 60 "$@" > "$T/udhcpc" 2>&1 || { fail "$what: no address"; cat "$T/udhcpc"; return; }
	check "$what boots $file: $(cat "$T/answer")" grep -q "^file=$file " "$T/answer"
	[ "$what" = "${what%HTTP boot}" ] || check "$what: its class is answered" grep -q "class=HTTPClient" "$T/answer"
	[ -z "$file" ] || check "$what: the server" grep -q "server=10.9.0.1" "$T/answer"
}
all_hear() {
	hears "$1: BIOS" undionly.kpxe -x 0x5d:0000 -V PXEClient:Arch:00000
	hears "$1: UEFI" ipxe.efi -x 0x5d:0007 -V PXEClient:Arch:00007
	hears "$1: UEFI that says EBC" ipxe.efi -x 0x5d:0009 -V PXEClient:Arch:00009
	local arch
	for arch in 6 8 10 11 15 27; do	# 32-bit UEFI, XScale, ARM, ARM64, HTTP boot of 32-bit UEFI, RISC-V
		hears "$1: architecture $arch" "" -x "0x5d:$(printf %04x $arch)" -V "PXEClient:Arch:$(printf %05d $arch)"
	done
	hears "$1: HTTP boot" http://10.9.0.1/ipxe.efi -x 0x5d:0010 -V HTTPClient:Arch:00016
	hears "$1: iPXE" http://10.9.0.1/boot.ipxe -x 0x5d:0007 -x 0x4d:69505845 -x 0xaf:b105018086100e -V PXEClient:Arch:00007
}
serves() {	# LOG: until it does, or ends
	begins "$SERVER" grep -qE "$2" "$1" || { fail "the server does not start"; tail "$1"; }
}

echo "== ISC dhcpd"
{ block "ISC dhcpd:"; echo 'subnet 10.9.0.0 netmask 255.255.255.0 { range 10.9.0.100 10.9.0.120; }'; } > "$T/dhcpd.conf"
: > "$T/leases"
# As root: an ordinary user's server could not read this folder.
dhcpd -4 -f -d -cf "$T/dhcpd.conf" -lf "$T/leases" -pf "$T/dhcpd.pid" -user root -group root lan0 > "$T/isc" 2>&1 & SERVER=$!
CLEANUP+=("kill $SERVER 2> /dev/null")
serves "$T/isc" "Sending on|Server starting"
all_hear ISC
kill "$SERVER"; wait "$SERVER" 2> /dev/null

echo "== Kea"
{ echo '{ "Dhcp4": { "interfaces-config": { "interfaces": ["lan0"] }, "lease-database": { "type": "memfile", "persist": false },'
  echo '"loggers": [{ "name": "kea-dhcp4", "output_options": [{ "output": "stdout" }], "severity": "INFO" }],'
  echo '"subnet4": [{ "subnet": "10.9.0.0/24", "pools": [{ "pool": "10.9.0.100 - 10.9.0.120" }] }],'
  block "Kea, in"; echo '} }'; } > "$T/kea.conf"
KEA_PIDFILE_DIR=$T KEA_LOCKFILE_DIR=$T kea-dhcp4 -c "$T/kea.conf" > "$T/kea" 2>&1 & SERVER=$!
CLEANUP+=("kill $SERVER 2> /dev/null")
serves "$T/kea" "DHCP4_STARTED"
all_hear Kea
kill "$SERVER"; wait "$SERVER" 2> /dev/null

echo "== dnsmasq, as netboot/setup makes it for a network of its own"
mkdir "$T/boot"; chmod 755 "$T"
for f in vmlinuz initrd.img ipxe.efi undionly.kpxe; do echo $f > "$T/boot/$f"; done
OUT=$T/boot IPXE=$T/boot "$TOP/netboot/setup" --own-network lan0 "$T/server" > "$T/setup" 2>&1 || { fail "no server is made"; cat "$T/setup"; }
dnsmasq --keep-in-foreground --conf-file="$T/server/dnsmasq.conf" --pid-file= --log-facility=- > "$T/dnsmasq" 2>&1 & SERVER=$!
CLEANUP+=("kill $SERVER 2> /dev/null")
serves "$T/dnsmasq" "started"
all_hear dnsmasq
kill "$SERVER"; wait "$SERVER" 2> /dev/null
finish
