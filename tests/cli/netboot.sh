#!/usr/bin/env bash
# What the memory-root environment decides (netboot/init, with a made-up /sys),
# and what netboot/receive takes and refuses.
. "$(dirname "$0")/lib.sh"
sh=sh; command -v busybox > /dev/null && sh="busybox sh"
export SYS=$T/sys PROC=$T/proc DISK_WAIT=20
mkdir -p "$SYS/block" "$SYS/class/net" "$SYS/devices" "$PROC"

# init SAYS: run a piece of it; say and fail print.
init() {
	$sh -c '. "$1"; say() { echo "say $*"; }; fail() { echo "fail $*"; exit 1; }
		load_drivers() { :; }; sleep() { command sleep 0.2; }; eval "$2"' sh "$TOP/netboot/init" "$1"
}
says() {	# WHAT WANTED CODE
	local got
	got=$(init "$3")
	check "$1" [ "$got" = "$2" ] || true
	[ "$got" = "$2" ] || echo "got: $got"
}
cmdline() { echo "$*" > "$PROC/cmdline"; }
disk() {	# NAME SECTORS [REMOVABLE]
	mkdir -p "$SYS/block/$1/device"
	echo "$2" > "$SYS/block/$1/size"
	echo "${3:-0}" > "$SYS/block/$1/removable"
}

echo "== words"
cmdline 'quiet frisbee.port=1 xfrisbee.port=9 frisbee.port=22 frisbee.options=-z,-T,9 frisbee.image=*'
says "the last one counts" 22 'arg port 7'
says "a default" 7 'arg nothing 7'
says "options" "-z -T 9" 'options'
says "no file names" '*' 'arg image'
says "what is needed is asked for" "fail frisbee.group= is needed to load" 'action=load; need port group'

echo "== which disk"
disk loop0 99; disk sr0 99 1; disk sdz 99 1; disk sdy 0; disk mmcblk0boot0 99; disk nvme0c0n1 99
echo 1 > "$SYS/block/nvme0c0n1/hidden"
says "none" "fail there is no disk, or no driver for it" 'DISK_WAIT=1; choose_disk ""'
disk nvme0n1 4096000
says "the only one" nvme0n1 'choose_disk ""; echo $disk'
disk sda 2000
echo "A  model " > "$SYS/block/sda/device/model"; echo 1234 > "$SYS/block/sda/device/serial"
says "of two none" "say   nvme0n1: 2097 MB, no model, serial unknown
say   sda: 1 MB, A model , serial 1234
fail 2 disks: say which with frisbee.disk=" 'choose_disk ""'
says "the one that is named" sda 'choose_disk sda; echo $disk'
says "by its path" sda 'choose_disk /dev/sda; echo $disk'
says "even one that can be pulled out" sdz 'choose_disk sdz; echo $disk'
says "never another one" "fail there is no disk sdb" 'DISK_WAIT=1; choose_disk sdb | grep fail'
says "a partition is no disk" "fail there is no disk sda1" 'mkdir -p $SYS/block/sda/sda1; DISK_WAIT=1; choose_disk sda1 | grep fail'
rm -r "$SYS/block/sda"
(sleep 0.4; disk sda 2000) &
says "a second disk that comes late is seen" "fail 2 disks: say which with frisbee.disk=" 'choose_disk "" | grep fail'
wait

echo "== which network"
nic() { mkdir -p "$SYS/class/net/$1"; echo "$2" > "$SYS/class/net/$1/type"; echo "$3" > "$SYS/class/net/$1/address"; }
nic lo 772 00:00:00:00:00:00; nic eth0 1 52:54:00:00:00:0a; nic eth1 1 52:54:00:00:00:0b
says "all Ethernet" "eth0 eth1" interfaces
cmdline 'quiet BOOTIF=01-52-54-00-00-00-0B'
says "the one booted from" eth1 interfaces
cmdline 'BOOTIF=01-52-54-00-00-00-0c'
says "or all" "eth0 eth1" interfaces

echo "== a load with a group's key"
mkdir "$T/keys"; : > "$T/keys/lab.group"
with="disk=sda KEYS=$T/keys; frisbee() { echo frisbee \"\$@\"; };"
cmdline 'frisbee.group=239.1.2.3 frisbee.port=7 frisbee.group-key=lab.group'
says "it is given to frisbee" "say loading an image onto sda from 239.1.2.3:7
frisbee -m 239.1.2.3 -p 7 --group-key $T/keys/lab.group -T 300 /dev/sda" "$with load"
cmdline 'frisbee.group=239.1.2.3 frisbee.port=7'
says "without the word there is none" "say loading an image onto sda from 239.1.2.3:7
frisbee -m 239.1.2.3 -p 7 -T 300 /dev/sda" "$with load"
cmdline 'frisbee.group=239.1.2.3 frisbee.port=7 frisbee.group-key=other'
says "nothing is loaded without the key that is wanted" "fail there is no key other in this ramdisk: netboot/build puts it there" "$with load"
if command -v cpio > /dev/null && command -v zstd > /dev/null; then
	"$BIN/imagekey" -q --group-key "$T/lab.group" || fail "imagekey"
	KEYS=$T/lab.group OUT=$T/netboot "$TOP/netboot/build" keys || fail "netboot/build keys"
	mkdir "$T/ramdisk"
	check "the ramdisk has it" eval 'zstd -q -d -c "$T/netboot/keys.zst" | (cd "$T/ramdisk" && cpio --quiet -i -d)'
	check "as it is" cmp "$T/lab.group" "$T/ramdisk/etc/keys/lab.group"
	check "for root alone" [ "$(stat -c %a "$T/ramdisk/etc/keys/lab.group")" = 600 ]
fi

echo "== a capture"
cmdline 'frisbee.server=10.9.0.1 frisbee.port=51 frisbee.image=a.ndz'
heading='say capturing sda to 10.9.0.1:51 as a.ndz'
with='disk=sda; imagezip() { echo data; };'
says "nobody takes it" "$heading
fail sda is not captured: no connection to 10.9.0.1:51" "$with nc() { return 1; }; capture"
says "it is refused" "$heading
fail sda is not captured: the receiver said \"failed: a.ndz is there already\"" "$with nc() { cat > /dev/null; echo 'failed: a.ndz is there already'; }; capture"
says "it is taken" "$heading
sda is captured: a.ndz, 1 MB" "$with nc() { cat > /dev/null; echo 'ok a.ndz, 1 MB'; }; capture; echo \$done_line"

echo "== received images"
mkdir "$T/images"
head -c 3072000 /dev/urandom > "$T/disk"
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail "imagezip"
export PATH=$BIN:$PATH
receives() {	# WANTED FIRST-LINE IMAGE
	local got
	got=$({ printf '%s\n' "$2"; cat "$3"; } | "$TOP/netboot/receive" "$T/images" 2> /dev/null)
	case $got in $1) echo "ok: \"$2\": $got" ;; *) fail "\"$2\": $got, not $1" ;; esac
}
receives "ok a.ndz, * MB" "capture a.ndz" "$T/disk.ndz"
check "as it was sent" cmp "$T/disk.ndz" "$T/images/a.ndz"
head -c 2097152 "$T/disk.ndz" > "$T/short.ndz"
cp "$T/disk.ndz" "$T/bad.ndz"
spoil_byte "$T/bad.ndz" 9000
receives "failed: *" "capture short.ndz" "$T/short.ndz"
receives "failed: *" "capture bad.ndz" "$T/bad.ndz"
receives "failed: *" "capture empty.ndz" /dev/null
receives "failed: a.ndz is there already" "capture a.ndz" "$T/short.ndz"
receives "failed: a name is*" "capture ../b.ndz" "$T/disk.ndz"
receives "failed: a name is*" "capture .b.ndz" "$T/disk.ndz"
receives "failed: a name is*" "capture" "$T/disk.ndz"
receives "failed: not a capture" "GET / HTTP/1.1" "$T/disk.ndz"
check "nothing else is left" [ "$(ls -A "$T/images")" = a.ndz ]
finish
