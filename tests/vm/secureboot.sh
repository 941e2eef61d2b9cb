#!/usr/bin/env bash
# Secure Boot: firmware that starts nothing without Microsoft's signature starts shim, GRUB and
# the kernel of netboot/setup --secure-boot by network, and the disk is loaded.
# And firmware that boots by HTTP, without TFTP, gets iPXE and does its order.
. "$(dirname "$0")/lib.sh"
SECURE=/usr/share/OVMF/OVMF_CODE_4M.ms.fd
[ -e $SECURE ] && [ -e $OVMF ] || skip "needs the package ovmf"
vm_accel
vm_lan
A=52:54:00:00:00:0a B=52:54:00:00:00:0b
GROUP=239.192.7.9 PORT=5009
vm_log_more() { tail -n 30 "$LOGS/server.log"; cat /srv/netboot/reports; }

poison "$T/disk" 16000000
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail imagezip
[ -d "$NETBOOT/signed" ] || skip "the signed boot loaders cannot be fetched"
vm_server --own-network --secure-boot
"$BIN/frisbeed" -i lan0 -m $GROUP -p $PORT -W 60M -T 0 -q "$T/disk.ndz" > "$LOGS/frisbeed.log" 2>&1 &
PIDS+=($!)
truncate -s 16000000 "$T/a" "$T/b"
WORDS="frisbee.action=load frisbee.group=$GROUP frisbee.port=$PORT"
firmware() {	# NAME CODE VARS
	cp "$3" "$T/vars.$1"
	echo "-drive if=pflash,format=raw,readonly=on,file=$2 -drive if=pflash,format=raw,file=$T/vars.$1"
}
card() { echo "-netdev tap,id=n,ifname=$1,script=no,downscript=no -device virtio-net-pci,romfile=,netdev=n,mac=$2,bootindex=1"; }
disk() { echo "-drive file=$T/$1,format=raw,if=none,id=d,cache=unsafe -device virtio-blk-pci,drive=d"; }
vm_tap tapa; vm_tap tapb

echo "== Secure Boot"
# The machine has a card that others have, too: its order is that of its UUID.
U=4c4c4544-0042-3510-8054-b4c04f4a3132
vm_order $U $WORDS frisbee.after=shell
vm_start a -machine q35,smm=on -global driver=cfi.pflash01,property=secure,value=on \
    $(firmware a $SECURE ${SECURE/CODE/VARS}) $(card tapa $A) $(disk a) -smbios type=1,uuid=$U,serial=A7
vm_sees a 400 'frisbee: DONE: vda is loaded'
vm_sees a 30 'a shell; leaving it reboots'
vm_types a 'dmesg | grep -i "secureboot: Secure boot"'
vm_sees a 30 'Secure boot enabled'
check "the disk is loaded" cmp "$T/disk" "$T/a"
check "and its order put away" [ -z "$(/srv/netboot/order)" ]
check "its reports say which machine it is" grep -q " 52-54-00-00-00-0a,$U,serial:A7 done " /srv/netboot/reports
vm_types a 'poweroff -f'; vm_ends a 30

echo "== HTTP boot"
kill "${PIDS[0]}"; wait "${PIDS[0]}" 2> /dev/null
OUT=$NETBOOT quietly "$TOP/netboot/setup" --own-network lan0 || fail "netboot/setup"
vm_server_words
sed -i '/^enable-tftp/d; /^tftp-root/d; /tag:efi,\|tag:!efi,/d' /srv/netboot/dnsmasq.conf	# by HTTP or not at all
/srv/netboot/serve >> "$LOGS/server.log" 2>&1 &
PIDS+=($!)
vm_order $B $WORDS frisbee.after=poweroff
# So the firmware does not try the other ways first.
vm_start b -machine q35 $(firmware b $OVMF ${OVMF/CODE/VARS}) $(card tapb $B) $(disk b) \
    -fw_cfg name=opt/org.tianocore/IPv4PXESupport,string=no -fw_cfg name=opt/org.tianocore/IPv6PXESupport,string=no
vm_sees b 600 'frisbee: DONE: vda is loaded'
vm_ends b 60
check "the disk is loaded" cmp "$T/disk" "$T/b"
finish
