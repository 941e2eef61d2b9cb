#!/usr/bin/env bash
# A loaded disk becomes a machine of its own: the memory-root environment finds the system on a
# real ext4, and changes what has to be.  New UUIDs are in netboot_newids.
. "$(dirname "$0")/lib.sh"
requires busybox mke2fs e2fsck blkid losetup mkswap
[ "$(id -u)" = 0 ] || skip "needs root"
[ -n "${MOUNTS_ARE_OWN:-}" ] || skip "needs a namespace of mounts"
LOOPS=()
CLEANUP+=('for m in /boot /dev /proc /sys ""; do umount -l "$T/run/system$m" 2> /dev/null; done' 'for l in "${LOOPS[@]}"; do losetup -d "$l"; done')
mkdir -p "$T"/{bin,run,dev,proc,keys} "$T"/sys/class/net/eth0 "$T"/sys/block/sda/sda{1,2,3}
busybox --install -s "$T/bin"
for p in blkid e2fsck; do ln -sf "$(command -v $p)" "$T/bin/$p"; done
cp "$TOP/netboot/personalise" "$T/bin"
touch "$T"/sys/block/sda/sda{1,2,3}/partition
echo 52:54:00:00:00:0a > "$T/sys/class/net/eth0/address"
echo node7 > "$T/run/hostname.eth0"
: > "$T/proc/cmdline"
ln -s /proc/self/mounts "$T/proc/mounts"
OLD=11111111-2222-3333-4444-555555555555 BOOT=66666666-2222-3333-4444-555555555555 SWAP=77777777-2222-3333-4444-555555555555

tree() {	# FOLDER
	mkdir -p "$1"/{etc/ssh,etc/network,bin,usr/bin,boot/grub,proc,sys,dev,var/lib/dbus,var/lib/systemd,etc/udev/rules.d,root}
	cp "$(command -v busybox)" "$1/bin/busybox"; ln -s busybox "$1/bin/sh"
	printf '#!/bin/sh\n[ "$1" = -A ] && [ ! -e /etc/ssh/ssh_host_rsa_key ] && [ -c /dev/null ] && echo new > /etc/ssh/ssh_host_ed25519_key\n' > "$1/usr/bin/ssh-keygen"
	chmod 755 "$1/usr/bin/ssh-keygen"
	echo golden > "$1/etc/hostname"; chmod 640 "$1/etc/hostname"
	printf '# golden is written here\n127.0.0.1\tlocalhost\n127.0.1.1\tgolden.lab golden\n10.0.0.1 boss golden\n' > "$1/etc/hosts"
	echo 0123456789abcdef0123456789abcdef > "$1/etc/machine-id"
	cp "$1/etc/machine-id" "$1/var/lib/dbus/machine-id"
	echo seed > "$1/var/lib/systemd/random-seed"
	echo old > "$1/etc/ssh/ssh_host_rsa_key"; echo conf > "$1/etc/ssh/sshd_config"
	echo 'iface enp1s0 inet dhcp' > "$1/etc/network/interfaces"
	echo 'root:x:0:0:root:/root:/bin/sh' > "$1/etc/passwd"
	printf 'UUID=%s / ext4 defaults 0 1\nLABEL=boot /boot ext4 defaults 0 2\nUUID=%s none swap sw 0 0\n' $OLD $SWAP > "$1/etc/fstab"
}
loop() {	# FILE NAME
	local l
	l=$(losetup --show -f "$1") || skip "no loop devices here"
	LOOPS+=("$l"); ln -sfn "$l" "$T/dev/$2"
}
node() {
	PERSONAL=$T/personal SYS=$T/sys PROC=$T/proc RUN=$T/run DEV=$T/dev LIB=$TOP/netboot/node PATH=$T/bin:$PATH busybox sh -c '. "$1"; netif=eth0 disk=sda
		say() { echo "say $*"; }; fail() { echo "fail $*"; exit 1; }; load_drivers() { :; }; eval "$2"' sh "$TOP/netboot/init" "$1"
}
words() { echo "$*" > "$T/proc/cmdline"; }

echo "== a disk of three partitions"
tree "$T/tree"
mkdir "$T/boot"
truncate -s 24M "$T/root.img"; mke2fs -q -F -t ext4 -U $OLD -d "$T/tree" "$T/root.img" || fail mke2fs
truncate -s 8M "$T/boot.img"; mke2fs -q -F -t ext4 -L boot -U $BOOT -d "$T/boot" "$T/boot.img" || fail mke2fs
truncate -s 4M "$T/swap.img"; quietly mkswap -U $SWAP "$T/swap.img" || fail mkswap
loop "$T/boot.img" sda1; loop "$T/root.img" sda2; loop "$T/swap.img" sda3
cp -a "$T/tree" "$T/was"

echo "== without a word nothing is done"
before=$(sha256sum "$T"/*.img)
check "nothing" [ -z "$(node personalise_disk)" ]
check "not a byte" [ "$before" = "$(sha256sum "$T"/*.img)" ]

meant() { node "for s in UUID=$BOOT LABEL=boot LABEL=other UUID=$SWAP /dev/sda1; do ! means \$s sda1 || echo \$s; done" | tr '\n' ' '; }
check "by its UUID and its label" [ "$(meant)" = "UUID=$BOOT LABEL=boot " ]

echo "== all of it"
mkdir -p "$T/personal/files/root"; echo mine > "$T/personal/files/root/mine"
printf '#!/bin/sh\necho "$(busybox cat /etc/hostname)" > /root/script-ran\n[ ! -e /personal ]\n' > "$T/personal/script"
words frisbee.hostname=dhcp frisbee.personalise=machine-id,ssh-keys frisbee.network=10.1.0.7/16,10.1.0.1,10.1.0.2
node personalise_disk > "$T/said" || fail "personalise_disk"
check "no other word of failure" eval '! grep -q ^fail "$T/said"'
check "nothing is mounted any more" eval '! grep -q " $T/run/system" /proc/self/mounts'
check "the filesystem is whole" quietly e2fsck -fn "$T/root.img"
mkdir "$T/m"
mount -o ro "$T/dev/sda2" "$T/m" && CLEANUP=('umount "$T/m"' "${CLEANUP[@]}")
is() { check "$1" [ "$(cat "$T/m/$2")" = "$3" ]; }
is "its name" etc/hostname node7
check "the file's mode stays" [ "$(stat -c %a "$T/m/etc/hostname")" = 640 ]
is "hosts" etc/hosts "# golden is written here
127.0.0.1	localhost
127.0.1.1	node7
10.0.0.1 boss node7"
check "a machine-id is still to be made" eval '[ -e "$T/m/etc/machine-id" ] && [ ! -s "$T/m/etc/machine-id" ]'
check "everywhere" [ ! -e "$T/m/var/lib/dbus/machine-id" ]
check "no random seed of another" [ ! -e "$T/m/var/lib/systemd/random-seed" ]
check "the old host key is gone" [ ! -e "$T/m/etc/ssh/ssh_host_rsa_key" ]
is "a new one is there" etc/ssh/ssh_host_ed25519_key new
is "the rest of ssh stays" etc/ssh/sshd_config conf
is "the address" etc/network/interfaces "auto lo
iface lo inet loopback

auto lan0
iface lan0 inet static
	address 10.1.0.7/16
	gateway 10.1.0.1
	dns-nameservers 10.1.0.2"
is "of this card" etc/systemd/network/10-frisbee.link "[Match]
MACAddress=52:54:00:00:00:0a
[Link]
Name=lan0"
is "files" root/mine mine
is "the script ran in the system" root/script-ran node7
check "and left nothing" [ ! -e "$T/m/personalise.script" ]
check "everything else as it was" eval 'for f in bin/busybox usr/bin/ssh-keygen etc/passwd etc/fstab; do cmp "$T/was/$f" "$T/m/$f" || exit 1; done'
umount "$T/m"; CLEANUP=("${CLEANUP[@]:1}")

echo "== what fails is said"
words frisbee.hostname=bad_name
node personalise_disk > "$T/said"
check "a wrong name" grep -qx 'say personalise: "bad_name" is no name of a host' "$T/said"
check "is a failure" grep -qx 'fail sda is loaded, but not a machine of its own' "$T/said"
words frisbee.hostname=dhcp; echo > "$T/run/hostname.eth0"
node personalise_disk > "$T/said"
echo bad > "$T/run/hostname.eth0"	# busybox's udhcpc says this in the place of a name that cannot be one
check "a wrong name from DHCP, neither" [ -z "$(node name_by_dhcp)" ]
check "no name from DHCP" grep -qx 'fail sda is loaded, but the DHCP server gives this machine no name' "$T/said"
words frisbee.hostname=good
printf '#!/bin/sh\nexit 5\n' > "$T/personal/script"
node personalise_disk > "$T/said"
check "a script that fails" grep -qx 'say personalise: the script ended with status 5' "$T/said"
check "nothing is mounted any more" eval '! grep -q " $T/run/system" /proc/self/mounts'
rm -r "$T/personal"; rm "$T/sys/block/sda/sda2/partition"
node personalise_disk > "$T/said"
check "no system" grep -q '^fail sda is loaded, but no Linux system was found' "$T/said"

echo "== the files of other systems"
personalise() { PATH=$T/bin:$PATH busybox sh "$TOP/netboot/personalise" "$@"; }
for kind in etc/netplan etc/NetworkManager/system-connections etc/systemd/system/multi-user.target.wants; do
	r=$T/root-${kind##*/}; tree "$r"; mkdir -p "$r/$kind" "$r/etc/systemd/network"
done
ln -s /lib/systemd/system/systemd-networkd.service "$T/root-multi-user.target.wants/etc/systemd/system/multi-user.target.wants/systemd-networkd.service"
for r in "$T"/root-*; do check "${r##*/}" personalise "$r" network=52:54:00:00:00:0b,dhcp; done
check "netplan" grep -q 'macaddress: "52:54:00:00:00:0b"' "$T/root-netplan/etc/netplan/99-frisbee.yaml"
check "NetworkManager, for root alone" eval 'f=$T/root-system-connections/etc/NetworkManager/system-connections/frisbee.nmconnection; grep -qx "mac-address=52:54:00:00:00:0b" "$f" && [ "$(stat -c %a "$f")" = 600 ]'
check "systemd-networkd" grep -qx 'DHCP=yes' "$T/root-multi-user.target.wants/etc/systemd/network/05-frisbee.network"
# A folder in the place of the new file: what cannot be written is a failure, also behind a pipe.
r=$T/root-multi-user.target.wants
mkdir "$r"/etc/hosts.personalise "$r/etc/systemd/network/05-frisbee.network.personalise"
unwritten() {	# FILE WORD
	if personalise "$r" "$2" > /dev/null 2> "$T/said"; then fail "$2: well, without $1"
	else check "$2: $(tail -n 1 "$T/said")" grep -q "cannot write $r/$1" "$T/said"; fi
}
unwritten etc/hosts hostname=x
unwritten etc/systemd/network/05-frisbee.network network=52:54:00:00:00:0b,dhcp
r=$T/root-netplan
echo outside > "$T/outside"; ln -sf "$T/outside" "$r/etc/hostname"
check "a link that leads out is not followed" eval '! personalise "$r" hostname=x 2> /dev/null && [ "$(cat "$T/outside")" = outside ]'
echo "== what leads out of the system"
r=$T/root-hostile; tree "$r"; mkdir "$T/away"
leads_out() {	# WHAT FILE-THERE WORD...
	local what=$1 there=$2; shift 2
	personalise "$r" "$@" > /dev/null 2>&1
	check "$what" [ "$(cat "$there")" = outside ] && [ -z "$(ls -A "$T/away")" ]
}
ln -s "$T/outside" "$r/etc/hostname.personalise"
leads_out "in the place of a new file" "$T/outside" hostname=x
check "the file is written all the same" [ "$(cat "$r/etc/hostname") $(readlink "$r/etc/hostname")" = "x " ]
ln -s "$T/outside" "$r/personalise.script"; echo "exit 0" > "$T/script"
leads_out "in the place of the script" "$T/outside" script="$T/script"
mkdir -p "$r/etc/netplan"; rmdir "$r/etc/netplan"; ln -s "$T/away" "$r/etc/netplan"
leads_out "a folder" "$T/outside" network=52:54:00:00:00:0b,dhcp
check "which is said" eval 'personalise "$r" network=52:54:00:00:00:0b,dhcp 2>&1 | grep -q "leads out of the system"'
rm -r "$r/proc"; ln -s "$T/away" "$r/proc"
leads_out "the place of a filesystem of the kernel" "$T/outside" ssh-keys
check "nothing is mounted there" eval '! grep -q "$T/away" /proc/self/mounts'
rm "$r/proc"; mkdir "$r/proc"; rm "$r/etc/hostname"; mkfifo "$r/etc/hostname"
check "a pipe is no file, and is not waited for" eval '! timeout 240 busybox sh "$TOP/netboot/personalise" "$r" hostname=x 2> "$T/said" && grep -q "hostname is not a regular file" "$T/said"'

echo "== files of the administrator's"
r=$T/root-files; tree "$r"; umask 022
mkdir -p "$T/mine/etc/new" "$T/mine/var/link"; chmod 700 "$T/mine" "$T/mine/etc" "$T/mine/etc/new"; echo mine > "$T/mine/etc/resolv.conf"; echo m > "$T/mine/etc/new/f"; chmod 640 "$T/mine/etc/new/f"
echo through > "$T/mine/var/link/f"; ln -s gone "$T/mine/etc/localtime"; echo mine > "$T/mine/etc/hostname"
chmod 755 "$r" "$r/etc"; ln -s "$T/outside" "$r/etc/resolv.conf"; ln -s /usr/share/zoneinfo/UTC "$r/etc/localtime"; mkdir "$r/target"; ln -s /target "$r/var/link"
check "they are copied" quietly personalise "$r" files="$T/mine"
check "one takes the place of a link" [ "$(cat "$r/etc/resolv.conf") $(readlink "$r/etc/resolv.conf") $(cat "$T/outside")" = "mine  outside" ]
check "a link does, too" [ "$(readlink "$r/etc/localtime")" = gone ]
check "a folder that is a link is that of the system" [ "$(cat "$r/target/f")" = through ]
check "a new folder and its file have their modes" [ "$(stat -c %a "$r/etc/new" "$r/etc/new/f" | tr '\n' ' ')" = "700 640 " ]
check "folders that are there keep theirs" [ "$(stat -c %a "$r" "$r/etc" | tr '\n' ' ')" = "755 755 " ]
check "and nothing else is there" [ "$(ls -A "$r" | tr '\n' ' ')" = "bin boot dev etc proc root sys target usr var " ]

echo "== a system with SELinux"
mkdir "$r/etc/selinux"; echo SELINUX=disabled > "$r/etc/selinux/config"
check "that is off" eval 'personalise "$r" hostname=x && [ ! -e "$r/.autorelabel" ]'
echo SELINUX=enforcing > "$r/etc/selinux/config"
check "that is on: it gives the new files their labels" eval 'personalise "$r" hostname=x && [ -e "$r/.autorelabel" ]'

r=$T/root-netplan
check "an unknown word" eval '! personalise "$r" colour=red 2> /dev/null'
for w in 10.1.0.7 10.1.0.7/255.255.0.0 10.1.0.7/16,,10.1.0.2; do
	check "an address that no system takes, or takes for another: $w" eval '! personalise "$r" "network=52:54:00:00:00:0b,$w" 2> /dev/null'
done
check "but one with gateway and server of names" personalise "$r" network=52:54:00:00:00:0b,10.1.0.7/16,10.1.0.1,10.1.0.2
check "no system" eval '! personalise "$T/keys" machine-id 2> /dev/null'
finish
