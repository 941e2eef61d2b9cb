#!/usr/bin/env bash
# The server for network boot: what netboot/setup makes for an interface, what dnsmasq says to it,
# orders, and reports, which put away the order that was done and no other.
. "$(dirname "$0")/lib.sh"
requires busybox
own_network
[ -n "${NETWORK_INSIDE:-}" ] || skip "needs root and namespaces"
ip link add lan7 type bridge && ip addr add 10.7.0.9/24 dev lan7 && ip link set lan7 up || skip "no bridges here"
ip link add wide7 type bridge && ip addr add 10.8.0.9/16 dev wide7 && ip link set wide7 up

chmod 755 "$T"	# dnsmasq gives up root
mkdir -p "$T/netboot" "$T/ipxe"
for f in netboot/vmlinuz netboot/initrd.img ipxe/ipxe.efi ipxe/undionly.kpxe; do echo $f > "$T/$f"; done
export OUT=$T/netboot IPXE=$T/ipxe
setup() { "$TOP/netboot/setup" "$@"; }
understood() {	# FOLDER: dnsmasq reads the file
	command -v dnsmasq > /dev/null || return 0
	quietly dnsmasq --test --conf-file="$1/dnsmasq.conf"
}
complete() { ! grep -q '@' "$1/dnsmasq.conf" "$1/serve" "$1/boot/environment.ipxe" "$1/boot/boot.ipxe"; }

echo "== what setup makes"
check "beside another DHCP server" quietly setup lan7 "$T/a"
check "nothing is left to fill in" complete "$T/a"
check "no addresses are given" eval '[ "$(grep ^dhcp-range= "$T/a/dnsmasq.conf")" = dhcp-range=10.7.0.9,proxy ]'
check "dnsmasq understands it" understood "$T/a"
check "kernel and ramdisk by HTTP" grep -q '^pxe-service=tag:ipxe,x86PC,.*,http://10.7.0.9/boot.ipxe$' "$T/a/dnsmasq.conf"
check "the files are there" eval 'for f in vmlinuz initrd.img ipxe.efi undionly.kpxe; do [ -s "$T/a/boot/$f" ] || exit 1; done'
check "on an own network" quietly setup --own-network lan7 "$T/b"
check "nothing is left to fill in" complete "$T/b"
check "dnsmasq understands it" understood "$T/b"
check "addresses of the network" grep -qx 'dhcp-range=10.7.0.100,10.7.0.199,12h' "$T/b/dnsmasq.conf"
check "a range is taken" quietly setup --own-network --range 10.8.1.1,10.8.2.1 --tftp wide7 "$T/c"
check "as it is" grep -qx 'dhcp-range=10.8.1.1,10.8.2.1,12h' "$T/c/dnsmasq.conf"
check "a range is taken, written as the manual has it" quietly setup --own-network --range=10.8.1.1,10.8.2.1 wide7 "$T/c2"
check "as it is" grep -qx 'dhcp-range=10.8.1.1,10.8.2.1,12h' "$T/c2/dnsmasq.conf"
BIN="$T/my programs" check "paths with blanks" quietly setup lan7 "$T/my network"
check "the programs are found there" eval '[[ "$(bash -c "$(grep ^PATH= "$T/my network/serve"); echo \"\$PATH\"")" = "$T/my programs:"* ]]'
status 1 setup lan7 "$T/you&me"
check "which is said" grep -q "a path must not have" "$T/stderr"
check "by TFTP" grep -qx 'dhcp-boot=tag:ipxe,boot.ipxe' "$T/c/dnsmasq.conf"
status 1 setup --own-network wide7 "$T/d"
check "and says what is missing" grep -q 'range FIRST,LAST' "$T/stderr"
status 1 setup nothere7 "$T/d"
OUT=$T/none status 1 setup lan7 "$T/d"
setup 2> /dev/null; check "without arguments: usage" [ $? = 2 ]
check "which --help prints, too" eval 'setup --help 2> /dev/null | grep -q -e --secure-boot && setup --help > /dev/null'
echo old > "$T/a/images/old.ndz"
exec 8< "$T/a/boot/initrd.img"; echo "a newer one" > "$T/netboot/initrd.img"
check "again" quietly setup lan7 "$T/a"
check "a machine that is fetching the ramdisk gets all of the old one" [ "$(cat <&8)" = netboot/initrd.img ]
exec 8<&-
check "those after it the new one" cmp "$T/netboot/initrd.img" "$T/a/boot/initrd.img"
check "images stay" [ "$(cat "$T/a/images/old.ndz")" = old ]

# dnsmasq and a controller are not root.
check "for an administrator whose files are for root alone" eval '(umask 077; touch "$T/netboot/vmlinuz"; chmod 600 "$T/netboot/vmlinuz"; quietly setup lan7 "$T/e"
	"$T/e/order" 52:54:00:00:00:0a frisbee.action=load)'
check "all may read it: $(cd "$T/e" && find . ! -perm -004 | tr '\n' ' ')" [ -z "$(find "$T/e" ! -perm -004)" ]
check "again" eval '(umask 077; quietly setup lan7 "$T/e") && [ -z "$(find "$T/e" ! -perm -004)" ]'

echo "== orders"
order() { "$T/a/order" "$@"; }
O=$T/a/boot/orders
check "two machines" order 52:54:00:00:00:0A,52-54-00-00-00-0b frisbee.action=load frisbee.disk=model:A*,size:1G
check "for iPXE" grep -Eqx 'set order frisbee.order=[0-9]+-[0-9]+ frisbee.action=load frisbee.disk=model:A\*,size:1G' "$O/52-54-00-00-00-0a.ipxe"
check "for GRUB" grep -Eqx 'set order="frisbee.order=[0-9]+-[0-9]+ frisbee.action=load frisbee.disk=model:A\*,size:1G"' "$O/52:54:00:00:00:0b.cfg"
check "they are listed" [ "$(order | grep -c 'frisbee.action=load')" = 2 ]
status 2 order 52:54:00:00:00 frisbee.action=load
status 2 order 52:54:00:00:00:0a
status 2 order 52:54:00:00:00:0a 'frisbee.action=${x}'
status 2 order 52:54:00:00:00:0a 'a" b'
for w in frisbee.verify_key=lab.pub frisbee.verify-key= frisbee.disc=sda frisbee.disk; do
	status 2 order 52:54:00:00:00:0c frisbee.action=load $w
	check "$w is refused, before an order is written" [ ! -e "$O/52-54-00-00-00-0c.ipxe" ]
done
check "no other file" [ "$(ls -A "$O" | wc -l)" = 4 ]
check "taken back" order 52:54:00:00:00:0b cancel
check "it is gone" [ "$(ls -A "$O" | wc -l)" = 2 ]

echo "== machines that share a network card"
U=4c4c4544-0042-3510-8054-b4c04f4a3132
check "by its UUID" order 4C4C4544-0042-3510-8054-B4C04F4A3132 frisbee.action=load
check "for iPXE and for GRUB, as Linux writes it" eval '[ -s "$O/$U.ipxe" ] && [ -s "$O/$U.cfg" ]'
check "as DHCP has it" order 00:44:45:4c:4c:42:00:10:35:80:54:b4:c0:4f:4a:31:32 cancel
check "it is gone" [ "$(ls -A "$O" | wc -l)" = 2 ]
check "by its serial number" order serial:5B4TJ12 frisbee.action=load
check "for both" eval '[ -s "$O/serial:5B4TJ12.ipxe" ] && [ -s "$O/serial:5B4TJ12.cfg" ]'
check "taken back" order serial:5B4TJ12 cancel
for m in 00000000-0000-0000-0000-000000000000 FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF 03000200-0400-0500-0006-000700080009 \
    00:00:02:00:03:00:04:00:05:00:06:00:07:00:08:00:09 serial:None serial:To-Be-Filled-By-O.E.M. serial:Default_string serial:000; do
	status 2 order $m frisbee.action=load
	check "$m is a placeholder" grep -q "is a placeholder" "$T/stderr"
done
for m in serial: serial:a/b serial:a,b ../x 4c4c4544-0042-3510-8054-b4c04f4a313 4c4c45-440042-3510-8054-b4c04f4a3132; do
	status 2 order "$m" frisbee.action=load
done
status 2 order $U,4C4C4544-0042-3510-8054-B4C04F4A3132 frisbee.action=load
check "no file is left of them" [ "$(ls -A "$O" | wc -l)" = 2 ]

echo "== a machine that has two orders, by GRUB: its commands are functions of the shell here"
played() {	# what GRUB of the machine with UUID $U, serial number 5B4TJ12 and MAC address ...:0a says or boots
	bash -c 'smbios() { case $3 in --get-uuid) uuid=$UUID ;; *) serial=5B4TJ12 ;; esac; }
		set() { local word="$*"; printf -v "${word%%=*}" %s "${word#*=}"; }
		source() { [ ! -e "$O/${1#/orders/}" ] || . "$O/${1#/orders/}"; }
		linux() { printf "%s\n" "$*"; }; initrd() { :; }; sleep() { :; }; boot() { exit; }
		net_default_mac=52:54:00:00:00:0a; . "$1"' bash "$TOP/netboot/server/grub.cfg"
}
plays() { case $(O=$O UUID=$U played) in *$1*) ;; *) false ;; esac; }
check "grub.cfg is GRUB's" eval '! command -v grub-script-check > "$T/tools" || grub-script-check "$TOP/netboot/server/grub.cfg"'
check "one order, by its MAC address" plays frisbee.disk=model:A
check "one by its UUID" order $U frisbee.action=load frisbee.image=uuid
check "and one by its MAC address" plays "Two orders for this machine, one of them by its MAC address 52:54:00:00:00:0a: it obeys neither."
mv "$O/52:54:00:00:00:0a.cfg" "$T/kept"
check "the one by its UUID" plays frisbee.image=uuid
check "one by its serial number" order serial:5B4TJ12 frisbee.action=load frisbee.image=serial
check "and one by its UUID" plays "Two orders for this machine, one of them by its serial number 5B4TJ12: it obeys neither."
check "taken back" order $U cancel
check "the one by its serial number" plays frisbee.image=serial
mv "$T/kept" "$O/52:54:00:00:00:0a.cfg"
check "and one by its MAC address" plays "one of them by its MAC address"
check "taken back" order serial:5B4TJ12 cancel

echo "== the file of nodes"
cat > "$T/a/nodes" << EOF
# docks
node pc1 52:54:00:00:00:77 4C4C4544-0042-3510-8054-B4C04F4A3132
node pc2 52:54:00:00:00:77 serial:5B4TJ12
node pc3 52:54:00:00:00:78 serial:Twice
node pc4 52:54:00:00:00:79 serial:Twice
node pc5 52:54:00:00:00:7a
EOF
check "names from the table" order $U,serial:5B4TJ12,52:54:00:00:00:7a frisbee.action=load frisbee.hostname=table
check "each has its own" [ "$(sed -n 's/.*frisbee.hostname=//p' "$O/$U.ipxe" "$O/serial:5B4TJ12.ipxe" "$O/52-54-00-00-00-7a.ipxe" | tr '\n' ' ')" = "pc1 pc2 pc5 " ]
status 2 order 52:54:00:00:00:77 frisbee.action=load
check "a second order for one machine" grep -q "has an order by .*, which must be taken back" "$T/stderr"
check "which is not written" [ ! -e "$O/52-54-00-00-00-77.ipxe" ]
check "all are taken back" order $U,serial:5B4TJ12,52:54:00:00:00:7a cancel
check "the card's" order 52:54:00:00:00:77 frisbee.action=load
status 2 order $U frisbee.action=load
check "nor one behind it" [ ! -e "$O/$U.ipxe" ]
check "taken back" order 52:54:00:00:00:77 cancel
status 2 order $U,52:54:00:00:00:77 frisbee.action=load
check "both at once" grep -q "two orders for one machine" "$T/stderr"
status 2 order serial:Twice frisbee.action=load
check "what two nodes have" grep -q "two nodes have serial:Twice" "$T/stderr"
status 2 order 52:54:00:00:00:7b frisbee.action=load frisbee.hostname=table
check "who is not in the table has no name" grep -q "has no name for 52-54-00-00-00-7b" "$T/stderr"
status 2 order 52:54:00:00:00:77 frisbee.action=load frisbee.hostname=table
check "nor has who may be two" [ "$(ls -A "$O" | wc -l)" = 2 ]
rm "$T/a/nodes"

echo "== reports"
reports() {	# WANTED LINE
	local got
	got=$(printf '%s\n' "$2" | "$T/a/receive" "$T/a/images" "$O" "$T/a/reports" 2> /dev/null)
	case $got in $1) echo "ok: \"$2\": $got" ;; *) fail "\"$2\": $got, not $1" ;; esac
}
number=$(sed -n 's/.*frisbee.order=\([0-9-]*\) .*/\1/p' "$O/52-54-00-00-00-0a.ipxe")
here() { [ -e "$O/52-54-00-00-00-0a.ipxe" ] && [ -e "$O/52:54:00:00:00:0a.cfg" ]; }
reports "ok [0-9]*" "report 52-54-00-00-00-0a $number loading disk.ndz onto sda"
check "an order that is not done stays" here
reports "ok [0-9]*" "report 52-54-00-00-00-0a $number failed 2 disks: say which"
check "also after a failure" here
reports "ok [0-9]*" "report 52-54-00-00-00-0b $number done sda is loaded"
reports "ok [0-9]*" "report 52-54-00-00-00-0a 7-7 done sda is loaded"
check "another one's, or an older one's report leaves it" here
mkdir -p "$O/52-54-00-00-00-0a.ipxe.done/52-54-00-00-00-0a.ipxe"
reports "failed: cannot put the order away" "report 52-54-00-00-00-0a $number done sda is loaded"
check "what cannot be put away is there" here
rm -r "$O/52-54-00-00-00-0a.ipxe.done"
reports "ok [0-9]*" "report 52-54-00-00-00-0a $number done sda is loaded"
check "done: it is put away" eval '! here && [ -z "$(order)" ]'
check "all are noted" [ "$(cut -d ' ' -f 2-3 "$T/a/reports" | tr '\n' ';')" = "52-54-00-00-00-0a loading;52-54-00-00-00-0a failed;52-54-00-00-00-0b done;52-54-00-00-00-0a done;52-54-00-00-00-0a done;52-54-00-00-00-0a done;" ]
reports "failed: the report names no machine's MAC address" "report ../../../x $number done x"
reports "failed: this is not a report" "report 52-54-00-00-00-0a a/b done x"
reports "failed: this is not a report" "report 52-54-00-00-00-0a"
reports "failed: the first line is too long" "report 52-54-00-00-00-0a - done $(printf %01000d 0)"
reports "ok [0-9]*" "report 52-54-00-00-00-0a - failed $(printf 'a\033[2Jb')"
check "no terminal is told what to do" eval 'tail -n 1 "$T/a/reports" | grep -q "failed a?\[2Jb$"'
got=$(printf 'report 52-54-00-00-00-0a - done x\n' | "$T/a/receive" "$T/a/images" 2> /dev/null)
check "who takes no reports says so" [ "$got" = "failed: reports are not taken here" ]
order $U frisbee.action=load; order serial:5B4TJ12 frisbee.action=load
number=$(sed -n 's/.*frisbee.order=\([0-9-]*\) .*/\1/p' "$O/$U.ipxe")
reports "ok [0-9]*" "report 52-54-00-00-00-77,4c4c4544-0042-3510-8054-b4c04f4a3133,serial:5B4TJ13 $number done x"
check "done by another machine of the card: the order stays" eval '[ -e "$O/$U.ipxe" ] && [ -e "$O/serial:5B4TJ12.ipxe" ]'
reports "ok [0-9]*" "report 52-54-00-00-00-77,$U,serial:5B4TJ13 $number done x"
check "done by this one" eval '[ ! -e "$O/$U.ipxe" ] && [ ! -e "$O/$U.cfg" ] && [ -e "$O/serial:5B4TJ12.ipxe" ]'
check "the report says which" grep -q " 52-54-00-00-00-77,$U,serial:5B4TJ13 done x" "$T/a/reports"
number=$(sed -n 's/.*frisbee.order=\([0-9-]*\) .*/\1/p' "$O/serial:5B4TJ12.ipxe")
reports "ok [0-9]*" "report 52-54-00-00-00-77,serial:5B4TJ12 $number done x"
check "by its serial number" eval '[ ! -e "$O/serial:5B4TJ12.ipxe" ] && [ ! -e "$O/serial:5B4TJ12.cfg" ]'
for m in 52-54-00-00-00-77,../x "$U" 52-54-00-00-00-77,serial:a/b "52-54-00-00-00-77,$U,$U"; do
	reports "failed: the report names no machine's MAC address" "report $m - done x"
done

echo "== two machines with one UUID or serial number"
for key in $U serial:5B4TJ12; do
	case $key in serial*) own=4c4c4544-0042-3510-8054-b4c04f4a3133,$key ;; *) own=$key,serial:5B4TJ13 ;; esac
	check "an order by $key" order $key frisbee.action=load
	number=$(sed -n 's/.*frisbee.order=\([0-9-]*\) .*/\1/p' "$O/$key.ipxe")
	reports "ok [0-9]*" "report 52-54-00-00-00-81,$own $number loading x"
	reports "failed: this order is not for this machine: 52-54-00-00-00-81 has $key, too" "report 52-54-00-00-00-82,$own $number loading x"
	reports "failed: this order is not for this machine: *" "report 52-54-00-00-00-82,$own $number done x"
	check "its order stays" [ -e "$O/$key.ipxe" ]
	check "both are noted" [ "$(tail -n 3 "$T/a/reports" | cut -d ' ' -f 2-3 | tr '\n' ' ')" = "52-54-00-00-00-81,$own loading 52-54-00-00-00-82,$own loading 52-54-00-00-00-82,$own done " ]
	reports "ok [0-9]*" "report 52-54-00-00-00-82,$own - failed of no order"
	reports "ok [0-9]*" "report 52-54-00-00-00-81,$own $number done x"
	check "done by the first" [ ! -e "$O/$key.ipxe" ]
	reports "failed: this order is not for this machine: *" "report 52-54-00-00-00-82,$own $number loading late"
	check "an order is for any of them again" order $key frisbee.action=load
	number=$(sed -n 's/.*frisbee.order=\([0-9-]*\) .*/\1/p' "$O/$key.ipxe")
	reports "ok [0-9]*" "report 52-54-00-00-00-82,$own $number loading x"
	check "taken back" order $key cancel
	check "nothing is left of them: $(ls "$O")" [ -z "$(find "$O" -name "$key.seen-*")" ]
done
check "an order by one MAC address" order 52:54:00:00:00:81,52:54:00:00:00:82 frisbee.action=load
number=$(sed -n 's/.*frisbee.order=\([0-9-]*\) .*/\1/p' "$O/52-54-00-00-00-81.ipxe")
for n in 1 2; do reports "ok [0-9]*" "report 52-54-00-00-00-8$n,$U $number done x"; done
truncate -s 16M "$T/a/reports"
reports "ok [0-9]*" "report 52-54-00-00-00-0a - failed y"
check "the file of reports does not grow for ever" eval '[ "$(wc -l < "$T/a/reports")" = 1 ] && [ -s "$T/a/reports.before" ]'

if command -v dnsmasq > /dev/null; then
	echo "== it serves"
	"$T/a/serve" > "$T/log" 2>&1 & pid=$!
	CLEANUP+=("kill $pid 2> /dev/null; wait $pid 2> /dev/null")
	begins $pid busybox wget -q -O "$T/got" http://10.7.0.9/vmlinuz 2> /dev/null
	check "the kernel by HTTP" cmp "$T/netboot/vmlinuz" "$T/got"
	check "iPXE by TFTP" eval 'busybox tftp -g -r ipxe.efi -l "$T/got" 10.7.0.9 && cmp "$T/ipxe/ipxe.efi" "$T/got"'
	got=$(printf 'report 52-54-00-00-00-0c - booted x\n' | busybox nc 10.7.0.9 5100)
	case $got in "ok "*) echo "ok: reports are taken" ;; *) fail "the report: $got" ;; esac
	# old.ndz is there, and the machine sends its disk while it is told so.
	for n in 1 2 3 4 5; do
		got=$({ echo capture old.ndz; head -c 50M /dev/zero; } | busybox nc 10.7.0.9 5100 2> /dev/null)
		check "an image that is refused: $got" [ "$got" = "failed: old.ndz is there already" ]
	done
	kill $pid; wait $pid
	[ "$bad" = 0 ] || cat "$T/log"
	check "all of it ends" soon eval '! busybox nc -w 1 10.7.0.9 5100 < /dev/null 2> /dev/null'
fi
finish
