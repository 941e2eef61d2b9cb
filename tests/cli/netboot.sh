#!/usr/bin/env bash
# What the memory-root environment decides (netboot/init, with a made-up /sys),
# and what netboot/receive takes and refuses.
. "$(dirname "$0")/lib.sh"
sh=sh; command -v busybox > /dev/null && sh="busybox sh"
export SYS=$T/sys PROC=$T/proc RUN=$T/run LIB=$TOP/netboot/node DISK_WAIT=20
mkdir -p "$SYS/block" "$SYS/class/net" "$SYS/devices" "$PROC" "$RUN"

# init SAYS: run a piece of it; say and fail print.
init() {
	$sh -c '. "$1"; say() { echo "say $*"; }; fail() { echo "fail $*"; exit 1; }
		load_drivers() { :; }; sleep() { command sleep 0.2; }; uptime_s() { date +%s; }; eval "$2"' sh "$TOP/netboot/init" "$1"
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

echo "== parts"
# They are one program: of two functions with one name, the one of the last part counts.
check "no function is there twice" [ -z "$(cat "$TOP"/netboot/init "$LIB"/* | grep -o '^[a-z_]*()' | sort | uniq -d)" ]

echo "== words"
cmdline 'quiet frisbee.port=1 xfrisbee.port=9 frisbee.port=22 frisbee.options=-z,-T,9 frisbee.image=*'
says "the last one counts" 22 'arg port 7'
says "a default" 7 'arg nothing 7'
says "options" "-z -T 9" 'options'
says "no file names" '*' 'arg image'
cmdline 'quiet BOOTIF=01-2 frisbee.order=7-7 frisbee.verify-key=lab.pub frisbee.grow=yes frisbee.set= x.frisbee.y=1'
says "those that there are" "on" 'check_words; echo on'
for w in frisbee.verify_key=lab.pub frisbee.verify-key frisbee. frisbee.x=1; do
	cmdline "quiet $w"
	says "one that there is not: $w" "fail $w is none of the words of this system" 'check_words; echo on'
done
for w in verify-key decrypt group-key; do
	cmdline "frisbee.$w=lab.pub frisbee.$w="
	says "a key without a name: $w" "fail frisbee.$w= names no key" 'check_words; echo on'
done
while read -r action w; do
	cmdline "frisbee.action=$action frisbee.$w=x"
	says "what means nothing: $action $w" "fail frisbee.$w=x has no effect on frisbee.action=$action" \
	    "action=$action; check_words; echo on"
done << 'ACTIONS'
capture verify-key
capture decrypt
capture group-key
doctor verify-key
doctor decrypt
stream server
stream-root server
stream options
stream fit-lv
stream bootentry
capture bootentry
ACTIONS
# The words are in three places: where a machine reads them, where orders are written, and in the controller.
names_in() {	# FILE
	sed -n '/action=\*/,/verify-key=\*/p' "$1" | grep -o '[a-z-]*=\*' | sort
}
check "order knows the same words" [ "$(names_in "$TOP/netboot/node/words")" = "$(names_in "$TOP/netboot/server/order")" ]
of_controller() {	# those that it writes itself, and those that it takes
	printf '%s\n' action capture group group-key image order port report server source
	sed -n '/^is_of_order/,/^}/p' "$TOP/controller/engine/swap.c" | grep -o '"[a-z-]*"' | tr -d '"'
}
check "the controller, too" [ "$(of_controller | sort)" = "$(names_in "$TOP/netboot/node/words" | tr -d '=*' | sort)" ]
for w in onfail=halt grow=true fit=1 after=halt ask=1; do
	cmdline "frisbee.$w"
	says "a value that there is not: $w" "fail frisbee.$w: ${w#*=} is none of$(sed -n "s/.*one_of ${w%=*} \([a-z ]*\).*/ \1/p" "$TOP/netboot/node/words")" 'check_words; echo on'
done
cmdline 'frisbee.newids=yes frisbee.set=a@sda+b@sdb'
says "new identities of a set, in which one disk names the filesystems of another" "fail frisbee.newids=yes is for one disk, and not for a set" 'check_words; echo on'
cmdline 'frisbee.personalise=machine-id,uuids frisbee.set=a@sda+b@sdb'
says "nor those that another disk has" "fail frisbee.personalise=uuids is for one disk, and not for a set" 'check_words; echo on'
cmdline 'frisbee.personalise=machine-id,ssh-keys frisbee.set=a@sda+b@sdb'
says "but the system on the first disk is its own" on 'check_words; echo on'
cmdline 'frisbee.newids=yes frisbee.source=http://boss/a.ndz'
says "of a disk whose system runs" "fail frisbee.newids=yes has no effect on frisbee.action=stream" 'action=stream; check_words; echo on'
cmdline 'frisbee.fit=no frisbee.fit-lv=vg/root'
says "a volume that nothing makes larger" "fail frisbee.fit-lv=vg/root has no effect without frisbee.fit=yes or frisbee.grow=yes" 'check_words; echo on'
cmdline 'frisbee.fit=no frisbee.grow=yes frisbee.fit-lv=vg/root'
says "one that grows" on 'check_words; echo on'
cmdline 'frisbee.port=22 frisbee.image=*'
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
say   sda: 1 MB, A model, serial 1234
fail 2 disks: say which with frisbee.disk=" 'choose_disk ""'
says "the one that is named" sda 'choose_disk sda; echo $disk'
says "by its path" sda 'choose_disk /dev/sda; echo $disk'
says "even one that can be pulled out" sdz 'choose_disk sdz; echo $disk'
says "never another one" "fail there is no disk sdb" 'DISK_WAIT=1; choose_disk sdb | grep fail'
says "a partition is no disk" "fail there is no disk sda1" 'mkdir -p $SYS/block/sda/sda1; DISK_WAIT=1; choose_disk sda1 | grep fail'

echo "== which disk, by what it is"
disk sdb 976773168; echo "Samsung SSD 970 EVO" > "$SYS/block/sdb/device/model"
printf '\0\200\0\010  S4EV01' > "$SYS/block/sdb/device/vpd_pg80"
disk sdc 937703088; echo "INTEL SSDSC2KB48" > "$SYS/block/sdc/device/model"; echo "BTYF9" > "$SYS/block/sdc/device/serial"
echo "naa.55cd2e4151" > "$SYS/block/sdc/device/wwid"
chosen() {	# CONDITIONS NAME
	says "$1" "$2" "choose_disk '$1'; echo \$disk"
}
chosen serial:1234 sda
chosen 'serial:S4E*' sdb
chosen model:A_model sda
chosen 'model:Samsung*' sdb
chosen 'model:*[Ss][Ss][Dd]*,size:smallest' sdc
chosen size:largest sdb
chosen size:smallest sda
chosen size:2097M nvme0n1
chosen size:490G-510G sdb
chosen size:480G sdc
chosen 'wwn:naa.55*' sdc
chosen size:1G-3G,model:* nvme0n1
refuses() { says "$1" "fail $2" "choose_disk '$1' | grep fail"; }
refuses size:1T "frisbee.disk=size:1T: 0 disks are like this"
refuses 'model:*SSD*' "frisbee.disk=model:*SSD*: 2 disks are like this"
refuses serial:123 "frisbee.disk=serial:123: 0 disks are like this"
refuses size:large 'frisbee.disk=: "size:large" is none of size:, serial:, model: and wwn:, or its value is wrong'
refuses size:1G-x 'frisbee.disk=: "size:1G-x" is none of size:, serial:, model: and wwn:, or its value is wrong'
refuses vendor:x 'frisbee.disk=: "vendor:x" is none of size:, serial:, model: and wwn:, or its value is wrong'
refuses size:08G 'frisbee.disk=: "size:08G" is none of size:, serial:, model: and wwn:, or its value is wrong'
refuses size:1G-09G 'frisbee.disk=: "size:1G-09G" is none of size:, serial:, model: and wwn:, or its value is wrong'
refuses serial: 'frisbee.disk=: "serial:" is none of size:, serial:, model: and wwn:, or its value is wrong'
disk sdd 2000
refuses size:smallest "frisbee.disk=size:smallest: 2 disks are like this"
rm -r "$SYS/block"/sd[bcd]
rm -r "$SYS/block/sda"
# With the third look.
cp -r "$SYS/block/nvme0n1" "$T/late_disk"; echo 2000 > "$T/late_disk/size"
says "a second disk that comes late is seen" "fail 2 disks: say which with frisbee.disk=" \
    "nth=0; load_drivers() { nth=\$((nth + 1)); [ \$nth != 3 ] || cp -r $T/late_disk $SYS/block/sda; }; choose_disk '' | grep fail"

echo "== which network"
nic() { mkdir -p "$SYS/class/net/$1"; echo "$2" > "$SYS/class/net/$1/type"; echo "$3" > "$SYS/class/net/$1/address"; }
nic lo 772 00:00:00:00:00:00; nic eth0 1 52:54:00:00:00:0a; nic eth1 1 52:54:00:00:00:0b
says "all Ethernet" "eth0 eth1" interfaces
cmdline 'quiet BOOTIF=01-52-54-00-00-00-0B'
says "the one booted from" eth1 interfaces
cmdline 'BOOTIF=01-52-54-00-00-00-0c'
says "or all" "eth0 eth1" interfaces

says "the one that is named" eth1 'arg() { echo eth1; }; interfaces'
says "the one with this address" eth1 'arg() { echo 52:54:00:00:00:0B; }; interfaces'
says "one that is named and not there: none" "" 'arg() { echo eth7; }; interfaces'

echo "== a load with a group's key"
mkdir "$T/keys"; : > "$T/keys/lab.group"; : > "$T/keys/lab.pub"
with="disk=sda; KEYS=$T/keys; frisbee() { echo frisbee \"\$@\"; };"
cmdline 'frisbee.group=239.1.2.3 frisbee.port=7 frisbee.group-key=lab.group frisbee.verify-key=lab.pub'
says "it is given to frisbee" "say loading an image onto sda from 239.1.2.3
say frisbee -m 239.1.2.3 -p 7 --group-key=$T/keys/lab.group --verify-key=$T/keys/lab.pub -T 43200 --progress=3 /dev/sda" "$with load"
cmdline 'frisbee.group=239.1.2.3 frisbee.port=7 frisbee.server=10.1.1.1 frisbee.retry=10m'
says "without the word there is none" "say loading an image onto sda from 239.1.2.3
say frisbee -m 239.1.2.3 -p 7 -S 10.1.1.1 -T 600 --progress=3 /dev/sda" "$with load"
cmdline 'frisbee.server=boss frisbee.image=ubuntu frisbee.options=-T,9'
says "from a master server" "say loading ubuntu onto sda from boss
say frisbee -S boss -F ubuntu -T 43200 --progress=3 -T 9 /dev/sda" "$with load"
cmdline 'frisbee.server=boss frisbee.image=ubuntu frisbee.options=-T,9 frisbee.fit=yes'
says "with partitions that fit the disk" "say loading ubuntu onto sda from boss
say frisbee -S boss -F ubuntu -T 43200 --progress=3 --fit -T 9 /dev/sda" "$with growfs() { :; }; load"
cmdline 'frisbee.server=boss frisbee.image=ubuntu frisbee.fit=yes frisbee.fit-lv=vg/root'
says "and a volume that gets the room" "say loading ubuntu onto sda from boss
say frisbee -S boss -F ubuntu -T 43200 --progress=3 --fit --fit-lv=vg/root /dev/sda" "$with growfs() { :; }; load"
cmdline 'frisbee.group=239.1.2.3 frisbee.port=7 frisbee.group-key=other'
says "nothing is loaded without the key that is wanted" "fail there is no key other in this ramdisk: netboot/build puts it there" "$with load"
says "and nothing is streamed" "fail there is no key other in this ramdisk: netboot/build puts it there" \
    "$with pack_programs() { :; }; STREAM_BOOT=$T/boot; make_boot_image http://a/"
cmdline 'frisbee.group=239.1.2.3 frisbee.port=7'
says "a load that fails" "say loading an image onto sda from 239.1.2.3
say frisbee: no luck
fail sda is not loaded: frisbee's exit status is 3" "disk=sda; frisbee() { echo 'frisbee: no luck' >&2; return 3; }; load"

echo "== several disks as one set"
disk sdb 976773168; echo "BIG 1" > "$SYS/block/sdb/device/model"
disk sda 2000; echo "A  model " > "$SYS/block/sda/device/model"; echo 1234 > "$SYS/block/sda/device/serial"
chosen_set() { says "$1: $2" "$3" "action=${4:-load}; confirm() { :; }; (choose_set; echo \$set) | grep -v '^say'"; }
cmdline 'frisbee.server=boss frisbee.set=web@serial:1234+data@size:largest'
chosen_set "each its own" "by what they are" "web@sda data@sdb"
says "one after the other; the system is on the first" "web onto sda, rest: 
personalised sda
data onto sdb, rest: yes
sda is loaded, sdb is loaded" "load_one() { echo \"\$(arg image) onto \$disk, rest: \$set_rest\"; [ -n \"\$set_rest\" ] || echo personalised \$disk; done_line=\"\$disk is loaded\"; }; set='web@sda data@sdb'; run_set load_one; echo \$done_line"
rm -f "$RUN/answers"
says "frisbee gets each image" "say loading web onto sda from boss
say frisbee -S boss -F web -T 43200 --progress=3 /dev/sda
say loading data onto sdb from boss
say frisbee -S boss -F data -T 43200 --progress=3 /dev/sdb" "frisbee() { echo frisbee \"\$@\"; }; set='web@sda data@sdb'; run_set load"
rm -f "$RUN/answers"
says "the first that fails ends it" "say loading web onto sda from boss
fail sda is not loaded: frisbee's exit status is 3" "frisbee() { return 3; }; set='web@sda data@sdb'; run_set load"
rm -f "$RUN/answers"
cmdline 'frisbee.set=web@sda+data@serial:1234'
chosen_set "one disk twice" "refused" "fail frisbee.set=web@sda+data@serial:1234: sda is meant for web and for data"
cmdline 'frisbee.set=web@sda+data@serial:9'
chosen_set "one that is not there" "refused" "fail frisbee.disk=serial:9: 0 disks are like this"
cmdline 'frisbee.set=web@sda+data'
chosen_set "no disk" "refused" 'fail frisbee.set=web@sda+data: "data" is not IMAGE@DISK'
cmdline 'frisbee.set=web@sda+web@sdb'
chosen_set "one image for two disks" "loads" "web@sda web@sdb"
chosen_set "two disks as one image" "refused" "fail frisbee.set=web@sda+web@sdb: web is named twice" capture
cmdline 'frisbee.group=239.1.2.3 frisbee.set=web@sda'
chosen_set "a group" "refused" "fail frisbee.set=web@sda: a set is loaded from a master server (frisbee.server=), which knows a group for each image"
cmdline 'frisbee.set=web@sda'
says "images are not asked for again" "" one_image
# What is asked for one disk is asked for the next one, too: RETURN alone is no yes.
says "each disk is confirmed" "sda yes
fail nothing was written: the answer was not yes" "action=load; asks() { :; }; describe() { :; }; ask() { [ \$disk != sda ] || echo frisbee.sure=yes >> $RUN/answers; }
	for disk in sda sdb; do confirm; echo \$disk \$(arg sure); done"
rm -f "$RUN/answers"
rm -r "$SYS/block/sda" "$SYS/block/sdb"

echo "== a larger disk"
with='disk=sda;'
cmdline 'frisbee.group=239.1.2.3'
says "not grown unless that is asked for" "" "$with growfs() { echo grown; }; grow_disk"
cmdline 'frisbee.group=239.1.2.3 frisbee.fit=yes'
says "the load lets filesystems follow partitions that fit the disk" "" "$with growfs() { echo grown; }; grow_disk"
cmdline 'frisbee.group=239.1.2.3 frisbee.grow=yes'
says "what growfs says" "say /dev/sda: partition 2: ext4 grew from 1 GB to 2 GB" "$with growfs() { echo \"\$1: partition 2: ext4 grew from 1 GB to 2 GB\"; }; grow_disk"
cmdline 'frisbee.group=239.1.2.3 frisbee.grow=yes frisbee.fit-lv=vg/root'
says "it gets the volume, too" "say --fit-lv=vg/root /dev/sda" "$with growfs() { echo \"\$@\"; }; grow_disk"
cmdline 'frisbee.group=239.1.2.3 frisbee.grow=yes'
says "left alone is no failure" "say left alone: swap
0" "$with growfs() { echo 'left alone: swap'; return 4; }; grow_disk; echo \$?"
fails="growfs() { echo 'growfs: /dev/sda2: no' >&2; return 1; }"
loads="frisbee() { :; }; personalise_disk() { :; }; load; echo \$done_line"
says "nor is a tool that fails, but it is said at the end" "say loading an image onto sda from 239.1.2.3
say growfs: /dev/sda2: no
sda is loaded, but not all of its filesystems are grown: growfs's exit status is 1" "$with $fails; $loads"
cmdline 'frisbee.group=239.1.2.3'
says "which says nothing of it otherwise" "say loading an image onto sda from 239.1.2.3
sda is loaded" "$with $fails; $loads"

echo "== what the consoles show"
mkdir -p "$SYS/class/tty/console" "$T/consoles"; echo "one two" > "$SYS/class/tty/console/active"
said() { rm -f "$T"/consoles/* "$RUN/log"; SYS=$SYS RUN=$RUN DEV=$T/consoles syslog='' $sh -c '. "$1"; say "$2"' sh "$LIB/console" "$1"; cat "$T/consoles/two"; }
check "all of them the same" eval '[ "$(said "two  words")" = "frisbee: two  words" ] && cmp "$T/consoles/one" "$T/consoles/two"'
check "no terminal is told what to do" [ "$(said "$(printf 'ok a\033[2J\rb\177 ä')")" = "frisbee: ok a?[2J?b? ä" ]
check "nor by the log" grep -qxF 'ok a?[2J?b? ä' "$RUN/log"

cmdline frisbee.syslog=10.9.0.1
with='syslogd() { echo "syslogd $*"; }; logger() { echo "logger $3"; };'
says "syslog gets what was said before" "syslogd -R 10.9.0.1
logger ok a?[2J?b? ä" "$with start_syslog"
check "and not again when the machine begins anew" [ -z "$(SYSLOG_TO=10.9.0.1 init "$with start_syslog")" ]
cmdline

echo "== progress for a slow line"
numbers='printf "%s\\n" "0 0" "0 0"; for i in 1 2 3; do echo "$((i * 100000000)) 1000000000"; done'
says "a line now and then, with what is left" "say loading: 30 %, 300 MB, 10 MB/s, 1:10 left" \
    "uptime_s() { wc -l < $T/asked | awk '{ print \$1 * 10 }'; echo >> $T/asked; }; : > $T/asked; PROGRESS_S=20; { $numbers; } | show_progress loading"
says "what has to come again is not counted" "say loading: 30 %, 300 MB, 10 MB/s, 1:10 left" \
    "uptime_s() { wc -l < $T/asked | awk '{ print \$1 * 10 }'; echo >> $T/asked; }; : > $T/asked; PROGRESS_S=20
    { echo 990000000 1000000000; for i in 1 2 3; do echo \$((i * 100000000)) 1000000000; done; } | show_progress loading"
says "no words of others" "" 'printf "%s\n" x "1 y" "" | show_progress loading'
says "without room for pipes, a load all the same" "done" 'RUN=/dev/null/full; with_progress loading echo done'

if [ "$(id -u)" = 0 ] && [ -n "${MOUNTS_ARE_OWN:-}" ] && mkdir "$T/full" && mount -t tmpfs -o size=8k,nr_inodes=2 none "$T/full" 2> /dev/null; then
	echo "== memory is full"
	CLEANUP+=('umount "$T/full"')
	head -c 1M /dev/zero > "$T/full/fill" 2> /dev/null
	cmdline 'frisbee.group=239.1.2.3 frisbee.port=7'
	says "a load goes on" "say loading an image onto sda from 239.1.2.3
sda is loaded" "RUN=$T/full; disk=sda; frisbee() { : > $T/ran; }; load 2> /dev/null; echo \$done_line"
	check "frisbee ran" [ -e "$T/ran" ]
	says "a set does not, since nothing would say which image is whose" "fail sda is not touched: memory is full" "RUN=$T/full; frisbee() { echo frisbee; }; set='web@sda data@sdb'; run_set load 2> /dev/null"
	umount "$T/full"; CLEANUP=("${CLEANUP[@]:0:${#CLEANUP[@]}-1}")
fi

echo "== times"
says "hours, minutes, seconds" "43200 900 7 7" 'echo $(seconds_of 12h) $(seconds_of 15m) $(seconds_of 7) $(seconds_of 7s)'
# The shell would end, and the machine with it, at a number that it takes for an octal one.
says "and nothing else" "on" 'for t in "" h 1d -1 1.5h x 08 09m 010h; do seconds_of "$t"; done; echo on'
cmdline 'frisbee.retry=12x'
says "a wrong one is named" "fail frisbee.retry=12x: a time is a number and s, m or h" 'persist 1 2 true'
cmdline 'frisbee.retry=2s'
says "again and again, until the time is over" "75" "uptime_s() { echo \$now; }; sleep() { now=\$((now + \$1)); }; now=0; persist 2 4 sh -c 'exit 75' > $T/again; echo \$?"
check "with what is missing" grep -q '^say .*; trying again in [12] s$' "$T/again"
cmdline 'frisbee.retry=5m'
says "what succeeds ends it" "0" "n=0; twice() { n=\$((n + 1)); [ \$n = 2 ] || return 75; }; persist 2 4 twice > /dev/null; echo \$?"
cmdline 'frisbee.retry=2s'

echo "== hooks"
mkdir -p "$T/hooks/before"
printf '#!/bin/sh\necho "$FRISBEE_ACTION $FRISBEE_DISK"\n' > "$T/hooks/before/10-a"
printf '#!/bin/sh\nexit 4\n' > "$T/hooks/before/20-b"
chmod 755 "$T/hooks/before"/*
says "in their order; one that fails ends it" "say running before/10-a
say load /dev/sda
say running before/20-b
fail the hook before/20-b ended with status 4" "HOOKS=$T/hooks action=load disk=sda; run_hooks before"
says "none" "" "HOOKS=$T/hooks; run_hooks after"
mkdir "$T/hooks/daemon"; printf '#!/bin/sh\nsleep 100 &\necho $! > %s\necho started\n' "$T/left-running" > "$T/hooks/daemon/10-a"; chmod 755 "$T/hooks/daemon/10-a"
says "a program that one leaves running is not waited for" "say running daemon/10-a
say started
on" "HOOKS=$T/hooks; run_hooks daemon; grep -q sleep /proc/\$(cat $T/left-running)/cmdline && kill \$(cat $T/left-running) && echo on"
rm -r "$T/hooks/daemon"

if command -v cpio > /dev/null && command -v zstd > /dev/null; then
	"$BIN/imagekey" -q --group-key "$T/lab.group" || fail "imagekey"
	KEYS=$T/lab.group OUT=$T/netboot "$TOP/netboot/build" keys || fail "netboot/build keys"
	HOOKS=$T/hooks OUT=$T/netboot "$TOP/netboot/build" hooks || fail "netboot/build hooks"
	mkdir "$T/ramdisk"
	check "the ramdisk has it" eval 'zstd -q -d -c "$T/netboot/keys.zst" | (cd "$T/ramdisk" && cpio --quiet -i -d)'
	check "as it is" cmp "$T/lab.group" "$T/ramdisk/etc/keys/lab.group"
	check "and the hooks" eval 'zstd -q -d -c "$T/netboot/hooks.zst" | cpio --quiet -t | grep -qx etc/hooks/before/20-b'
	status 1 env HOOKS="$T/keys" OUT="$T/netboot" "$TOP/netboot/build" hooks
	check "for root alone" [ "$(stat -c %a "$T/ramdisk/etc/keys/lab.group")" = 600 ]
fi

echo "== what of the ramdisk is made anew"
eval "$(sed -n '/^fresh()/,/^}/p' "$TOP/netboot/build")"
touch -d '1 hour ago' "$T/made"; touch -d '3 days ago' "$T/program"; ln -s program "$T/linked"
check "what was installed since, however old it is" eval '! fresh "$T/made" "$T/linked"'
touch -d '1 hour' "$T/made"
check "and nothing else" fresh "$T/made" "$T/linked"

echo "== a disk that streams"
with='disk=sda;'
printf 'virtio_net 1 0\nahci 2 1\n' > "$PROC/modules"
says "the drivers of this machine" "virtio_net,ahci" "$with loaded_drivers"
# driven PATH MODULE MODALIAS: a device of /sys, which a module drives, or with "-" the kernel itself.
driven() {
	mkdir -p "$T/tree/devices/$1" "$T/tree/module/${2#-}"
	[ "$2" = -none ] || { mkdir -p "$T/tree/drivers/$1"; ln -s "$T/tree/module/${2#-}" "$T/tree/drivers/$1/module"; ln -s "$T/tree/drivers/$1" "$T/tree/devices/$1/driver"; }
	[[ $2 = -* ]] || : > "$T/tree/module/$2/initstate"
	[ -z "$3" ] || echo "$3" > "$T/tree/devices/$1/modalias"
}
driven pci0 -none acpi:PNP0A08:
driven pci0/bridge -pcieport pci:v1bc06
driven pci0/bridge/vmd vmd pci:v2
driven pci0/bridge/vmd/host0 -none ''
driven pci0/bridge/vmd/host0/target sd_mod scsi:t-0x00
driven pci0/card mlx5_core pci:v3
driven pci0/card/usb usbcore ''
driven pci0/card/usb/if asix 'usb:a name with blanks'
mkdir -p "$T/tree/block/sda" "$T/tree/class/net/eth7"
ln -s "$T/tree/devices/pci0/bridge/vmd/host0/target" "$T/tree/block/sda/device"; ln -s "$T/tree/devices/pci0/card/usb/if" "$T/tree/class/net/eth7/device"
says "the devices that it cannot do without, and what drives them, as far as that are modules" "--device=eth7,asix,
--device=eth7,usbcore,
--device=eth7,mlx5_core,pci:v3
--device=sda,sd_mod,scsi:t-0x00
--device=sda,vmd,pci:v2" "$with netif=eth7; SYS=$T/tree; needed_devices"
cmdline 'quiet frisbee.action=stream frisbee.source=nbd://a/ BOOTIF=01-2 console=ttyS0,115200 frisbee.stream=rate=1M,fill=no splash'
says "words for the image's kernel, which may call the only disk otherwise" "frisbee.source=nbd://a/ BOOTIF=01-2 console=ttyS0,115200 frisbee.stream=rate=1M,fill=no frisbee.action=stream-root" "$with stream_words"
says "parameters of the plugin" "rate=1M fill=no" "$with echo \$(stream_options)"
cmdline 'frisbee.source=http://a/ frisbee.stream=rate=1M frisbee.verify-key=lab.pub frisbee.group-key=lab.group'
says "with keys" "group-key=$T/keys/lab.group verify-key=$T/keys/lab.pub rate=1M" \
    "$with KEYS=$T/keys; echo \$(stream_options)"
says "which make the files to start from, too" \
    "bootimage -q --drivers=virtio_net,ahci --device=sda,sd_mod,scsi:t-0x00 --device=sda,vmd,pci:v2 --programs=$T/boot/programs.cpio --group-key=$T/keys/lab.group --verify-key=$T/keys/lab.pub http://a/ $T/boot" \
    "$with KEYS=$T/keys; SYS=$T/tree; STREAM_BOOT=$T/boot; pack_programs() { :; }; streamdisk() { echo \$*; return 1; }; make_boot_image http://a/; echo \$why"
cmdline 'frisbee.fit=yes frisbee.stream=rate=1M'
says "partitions as large as the disk" "fit=yes rate=1M" "$with echo \$(stream_options)"
cmdline 'frisbee.action=stream frisbee.source=nbd://a/ frisbee.disk=serial:S4*'
says "a disk that was described is described there, too: it may have another name" "frisbee.source=nbd://a/ frisbee.disk=serial:S4* frisbee.action=stream-root frisbee.disk=serial:S4*" "$with stream_words"
cmdline 'quiet frisbee.action=stream frisbee.source=nbd://a/ BOOTIF=01-2 console=ttyS0,115200 frisbee.stream=rate=1M,fill=no splash'
with="$with STREAM_BOOT=$T/boot; mkdir -p $T/boot; : > $T/boot/programs.cpio; attach_image() { return 1; }; pack_programs() { :; }; start_daemon() { echo daemon \$*; }; wait_until_whole() { echo wait; }; end_daemon() { :; };"
says "an image that cannot be started so is loaded first, which is said before" "say sda is going to be filled from nbd://a/ while its system runs
say its kernel 1: has no module nbd
say so sda is loaded first, and its system is started from it then
daemon - nbd://a/
wait
sda is loaded" "$with streamdisk() { echo 'its kernel 1: has no module nbd'; return 4; }; stream; echo \$done_line"
says "so is one with a suspended system, which is not mounted before" "say sda is going to be filled from nbd://a/ while its system runs
say a system is suspended in partition 3
say so sda is loaded first, and its system is started from it then
daemon - nbd://a/
wait" "$with attach_image() { echo attached; }; streamdisk() { echo 'a system is suspended in partition 3'; return 5; }; stream"
says "another failure is one" "say sda is going to be filled from nbd://a/ while its system runs
fail nbd://a/: no route" "$with streamdisk() { echo 'nbd://a/: no route'; return 1; }; stream"
says "programs that do not fit into memory are a failure" "say sda is going to be filled from nbd://a/ while its system runs
fail the programs for the ramdisk cannot be packed: memory may be full" "$with pack_programs() { return 1; }; streamdisk() { echo streamdisk; }; stream"
says "one that can is started" "say sda is going to be filled from nbd://a/ while its system runs
say starting the kernel of the image
streamdisk boot --append=frisbee.source=nbd://a/ BOOTIF=01-2 console=ttyS0,115200 frisbee.stream=rate=1M,fill=no frisbee.action=stream-root $T/boot
fail the kernel of nbd://a/ does not start" "$with streamdisk() { case \$1 in boot) echo streamdisk \$*;; esac; }; stream"
says "one whose root the kernel here has to mount is told where that is" "say sda is going to be filled from nbd://a/ while its system runs
say starting the kernel of the image
streamdisk boot --append=frisbee.source=nbd://a/ BOOTIF=01-2 console=ttyS0,115200 frisbee.stream=rate=1M,fill=no frisbee.action=stream-root frisbee.root=1 rootflags=subvol=@ $T/boot
fail the kernel of nbd://a/ does not start" "$with attach_image() { parts=loop9; }; find_system() { root_words='frisbee.root=1 rootflags=subvol=@'; }
	streamdisk() { case \$1:\$* in boot:*) echo streamdisk \$*;; *nbd://a/*) return 4 ;; esac; }; stream"
says "one where it finds no root is loaded first, and it says why" "say sda is going to be filled from nbd://a/ while its system runs
say the volume a/b is not linear
say so sda is loaded first, and its system is started from it then
daemon - nbd://a/
wait" "$with attach_image() { parts=loop9; }; find_system() { why='the volume a/b is not linear'; return 1; }
	streamdisk() { echo 'has no ext2, ext3 or ext4 filesystem'; return 4; }; stream"
cmdline 'frisbee.source=nbd://a/ frisbee.fit=yes'
says "with partitions that fit the disk, it says that filesystems do not follow then" "and its filesystems keep their length" \
    "$with streamdisk() { return 4; }; stream > $T/said; echo \$done_line | grep -o 'and its filesystems keep their length'"

echo "== filesystems that grow while a system uses them"
mkdir -p "$T/grown/mapper" "$PROC/1"
for d in frisbee frisbee-disk frisbee1 frisbee2 frisbee3 frisbee4 frisbee5; do : > "$T/grown/mapper/$d"; done
ln -s mapper/frisbee5 "$T/grown/dm-5"
cat > "$PROC/1/mountinfo" << I
25 1 253:2 / / rw,relatime shared:1 - ext4 $T/grown/mapper/frisbee2 rw,errors=remount-ro
26 25 253:3 / /srv rw,relatime - xfs $T/grown/mapper/frisbee3 ro,attr2
27 25 0:30 /@home /home rw,relatime shared:2 master:3 - btrfs $T/grown/dm-5 rw
I
blkids='blkid() { case $6 in *1) echo vfat ;; *2) echo ext4 ;; *3|*4) echo xfs ;; *5) echo btrfs ;; esac; }'
with="DEV=$T/grown; GROW_WAIT_S=2; $blkids; streamdisk() { printf '{\n\"fetched_bytes\": 5000,\n\"awaited_bytes\": 2000\n}\n'; }
mount() { echo mount \$*; }; umount() { echo umount \$*; }; xfs_growfs() { echo xfs_growfs \$*; }
resize2fs() { echo resize2fs \$*; }; btrfs() { echo btrfs \$*; echo 'ERROR: no' >&2; return 1; };"
says "those that the system writes to; others keep their length, which is said" "frisbee: the ext4 of frisbee2 has the room of its partition: the system had waited for 7 kB before, and for 7 kB afterwards
frisbee: the btrfs of frisbee5 does not grow: ERROR: no
frisbee: what is in $T/grown/mapper/frisbee3 $T/grown/mapper/frisbee4 keeps its length, since the system does not write there" \
    "$with grow_mounted frisbee"
says "nothing is said of waits when nbdkit has ended" "frisbee: the ext4 of frisbee2 has the room of its partition" \
    "$with streamdisk() { return 1; }; grow_when_written $T/grown/mapper/frisbee2"
says "by the filesystem's own tool, mounted here, too" "mount -t btrfs $T/grown/mapper/frisbee5 $RUN/grow
btrfs filesystem resize max $RUN/grow
umount $RUN/grow" "$with grow_one $T/grown/mapper/frisbee5 btrfs 2> /dev/null; :"
mkdir "$T/grown/debian"; : > "$T/grown/dm-9"; ln -s ../dm-9 "$T/grown/debian/root"
echo "25 1 253:9 / / rw shared:1 - xfs $T/grown/debian/root rw" > "$PROC/1/mountinfo"
with="$with GROW_WAIT_S=1; blkid() { [ -e \$6 ] || return 2; case \$6 in *3) echo LVM2_member ;; *root) echo xfs ;; esac; }
	lvm() { local w before last; for w; do before=\$last last=\$w; done
		case \$1\ \$last in
		vgs*free_count) echo \"  other:7\"; echo \"  debian:\$(cat $T/free)\"; return ;;
		vgs*) echo \"  other:growfs/root/9\"; echo \"  debian:\$tags\"; return ;;
		pvs*) echo \"  debian:$T/grown/mapper/frisbee3\"; echo \"  other:$T/grown/mapper/frisbee4\"; return ;;
		pvresize*) echo \$((\$(cat $T/free) + gains)) > $T/free ;;
		esac
		case \$* in *locking_dir=\\\"$PROC/1/root/run/lock/lvm\\\"*) echo lvm \$1 \$before \$last ;; *) echo other locks ;; esac; }; gains=0 tags=;"
grows() { echo 7 > "$T/free"; says "$1" "$2
mount -t xfs $T/grown/dm-0 $RUN/grow
xfs_growfs $RUN/grow
umount $RUN/grow" "$with $3; parts='mapper/frisbee2 mapper/frisbee3'; grow_one $T/grown/debian/root xfs"; }	# WHAT WANTED CODE
cmdline 'frisbee.root=debian/root'
grows "the volume of the root gets what its physical volume gains" "lvm vgchange growfs/root/7 debian
lvm pvresize -q $T/grown/mapper/frisbee3
lvm lvextend +25 debian/root
lvm vgchange growfs/root/7 debian" gains=25
grows "which is done once" "lvm vgchange growfs/root/7 debian
lvm pvresize -q $T/grown/mapper/frisbee3
lvm vgchange growfs/root/7 debian" gains=0
grows "a machine that was reset amid it goes on" "lvm pvresize -q $T/grown/mapper/frisbee3
lvm lvextend +4 debian/root
lvm vgchange growfs/root/3 debian" tags=a,growfs/root/3,growfs/swap/1
says "as the filesystems of partitions" "frisbee: the xfs of debian/root has the room of its partition: the system had waited for 7 kB before, and for 7 kB afterwards" "$with grow_mounted frisbee"
rm "$T/grown/debian/root"
says "also when its link comes later" "frisbee: the xfs of debian/root has the room of its partition: the system had waited for 7 kB before, and for 7 kB afterwards" \
    "$with GROW_WAIT_S=3; sleep() { ln -sf ../dm-9 $T/grown/debian/root; }; grow_mounted frisbee"
says "and says why it does not" "frisbee: the xfs of debian/root does not grow: no such group" "$with lvm() { echo 'no such group' >&2; return 5; }; grow_mounted frisbee"
rm "$PROC/1/mountinfo"

# An attached image whose partitions the kernel does not read is not waited for without end.
mkdir -p "$T/attached/block/nbd0"; echo 8 > "$T/attached/block/nbd0/size"
with="SYS=$T/attached; STREAM_WAIT=2; modprobe() { :; }; streamdisk() { command sleep 3; }; attach_it() { attach_image nbd://a/; echo \$why; command kill \$attached; };
	sleep() { slept=x\$slept; [ \$slept != xxxxx ] || { echo waits; exit; }; };"
says "an image without partitions for the kernel" "the kernel does not read the partitions of the image: nbd0: Invalid argument" \
    "$with blockdev() { echo 'nbd0: Invalid argument' >&2; return 1; }; attach_it"
says "one that is still being opened is waited for" "waits" "echo 0 > $T/attached/block/nbd0/size; $with blockdev() { return 1; }; attach_it"
mkdir -p "$T/own/udev/rules.d"; : > "$T/own/log"; : > "$T/own/udev/rules.d/rules"
says "no file of ours is where the system has a folder, and udev's rules stay" "$T/own/udev/rules.d/rules" "RUN=$T/own; clear_run; find $T/own -type f"

mkdir "$T/dev"
with="disk=sda; netif=; DEV=$T/dev; STREAM_ROOT=$T/slow; STREAM_WAIT=2; modprobe() { :; }; streamswitch() { :; }; fill_daemon_root() { mkdir -p \$STREAM_ROOT/run; };"
says "a daemon that does not start" "fail the daemon does not start: dmesg has its log" "$with unshare() { :; }; start_daemon - http://a/"
says "one that has started is waited for, while the image is opened" "opened" "$with mkdir -p $T/slow/run; : > $T/slow/run/started; unshare() { command sleep 1.5; \
	$PYTHON -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' \$STREAM_ROOT/run/status; }; start_daemon - http://a/; echo opened"

with="disk=sda; STREAM_ROOT=$T/ends; kill() { rm -f \$STREAM_ROOT/run/server.pid; }; mkdir -p $T/ends/run; echo 7 > $T/ends/run/server.pid;"
says "a daemon that has ended well" "ended" "$with end_daemon; echo ended"
says "one whose last flush has failed" "fail sda: it may be lost" "$with echo 'it may be lost' > $T/ends/run/failed; end_daemon; echo ended"
# A wait for a daemon that was killed is not without end.
mkdir "$PROC/77" "$PROC/78"; printf 'State:\tS (sleeping)\n' > "$PROC/77/status"; printf 'State:\tZ (zombie)\n' > "$PROC/78/status"
with="disk=sda; netif=; DEV=$T/dev; STREAM_ROOT=$T/killed; modprobe() { :; }; streamswitch() { :; }; fill_daemon_root() { :; }; unshare() { :; }
	FILL_REPORT_S=1000; kill() { :; }; sleep() { slept=x\$slept; [ \$slept != xxxxx ] || { echo waits; exit; }; }; mkdir -p $T/killed/run; echo 7 > $T/killed/run/server.pid;"
for pid in 76 78; do
	says "a daemon that is killed before it serves the disk ($pid)" "fail sda: the daemon was killed: dmesg may say why" "$with echo $pid > $T/killed/run/started; start_daemon - http://a/"
	says "while the disk is loaded" "fail sda: the daemon was killed: dmesg may say why" "$with echo $pid > $T/killed/run/started; wait_until_whole"
	says "at the end" "fail sda: the daemon was killed, and what was written last may be lost" "$with echo $pid > $T/killed/run/started; end_daemon"
done
says "one that lives is waited for" "waits" "$with echo 77 > $T/killed/run/started; wait_until_whole"
says "in the end, too" "waits" "$with echo 77 > $T/killed/run/started; end_daemon"
# What it holds, or has left, would be in the way of another one: the machine reboots.
cmdline frisbee.onfail=retry; : > "$PROC/mounts"
with='eval "$(sed -n "/^fail()/,/^}/p" "$LIB/../init")"; report() { :; }; pause_after_failure() { :; }; reboot() { echo "reboot $*"; exit; };'
says "what begins anew, where there is an /init" "say FAILED: why" "DEV=$T/dev; $with fail why"
mkdir "$T/dev/mapper"; : > "$T/dev/mapper/frisbee-disk"
says "not beside a disk that is streamed to" "say FAILED: why
reboot -f" "DEV=$T/dev; $with fail why"

echo "== what a machine that streams reports"
cmdline 'frisbee.report=10.9.0.1 frisbee.image=a.ndz frisbee.source=frisbee://239.1.2.3:7 frisbee.stream=rate=1M'
with="disk=sda; STREAM_BOOT=$T/boot; attach_image() { return 1; }; pack_programs() { :; }; report() { echo report \$*; }; say() { :; }; start_daemon() { :; }; end_daemon() { :; };"
says "that it begins, before the kernel is started" "report streaming a.ndz onto sda
report failed the kernel of frisbee://239.1.2.3:7 does not start" "$with fail() { report failed \$*; exit 1; }; streamdisk() { :; }; stream"
says "that it loads first, and how far it is" "report streaming a.ndz onto sda
report loading its kernel 1: has no module nbd
report loading 41 % of sda is there" "$with FILL_REPORT_S=0 STREAM_ROOT=$T/daemon
	streamdisk() { case \$1 in status) printf '{\n  \"stored_bytes\": 1000,\n  \"present_bytes\": 419,\n}\n' ;; *) echo 'its kernel 1: has no module nbd'; return 4 ;; esac; }
	sleep() { mkdir -p \$STREAM_ROOT/run; : > \$STREAM_ROOT/run/whole; }; stream"
says "no more in one line than a server takes" "fits" "netif=eth0; set_clock() { :; }; timeout() { wc -c > $T/sent; echo ok 1; }
	send_report done \$(head -c 2000 /dev/zero | tr '\\0' x) && [ \$(cat $T/sent) -gt 800 ] && [ \$(cat $T/sent) -le 1000 ] && echo fits"
mkdir -p "$PROC/1"; ln -s "$T" "$PROC/1/root"
first() { printf '%s\0' "$@" > "$PROC/1/cmdline"; }
runs="ramdisk=\$(stat -L -c %d $T); system_runs && echo runs"
first /bin/busybox sh /init
says "in the ramdisk, its system does not run" "" "$runs"
ln -sfn /proc "$PROC/1/root"; first switch_root -c /dev/console /new /sbin/init
says "on the way to it, neither" "" "$runs"
first /sbin/init
says "then it does" "runs" "$runs"
with="disk=sda; filled() { echo \"\$1: 7 %\"; }; : > $T/slept; rm -f $RUN/whole $RUN/failed
	uptime_s() { echo \$((\$(wc -l < $T/slept) * 2)); }; send_report() { echo \"at \$(uptime_s): \$*\"; [ \$(uptime_s) != 4 ]; }
	system_runs() { [ \$(uptime_s) -ge 4 ]; }"
says "that it is usable, again if that is lost, and each minute how far it is" "at 4: usable $RUN/status: 7 %
at 10: usable $RUN/status: 7 %
at 70: usable $RUN/status: 7 %" "$with; sleep() { echo >> $T/slept; [ \$(uptime_s) -lt 100 ] || : > $RUN/whole; }; report_use"
says "nothing after a failure" "at 4: usable $RUN/status: 7 %
at 10: usable $RUN/status: 7 %" "$with; sleep() { echo >> $T/slept; [ \$(uptime_s) -lt 30 ] || : > $RUN/failed; }; report_use"
rm -f "$RUN/whole" "$RUN/failed"

echo "== a capture"
cmdline 'frisbee.server=10.9.0.1 frisbee.port=51 frisbee.image=a.ndz frisbee.retry=0'
heading='say capturing sda to 10.9.0.1:51 as a.ndz'
with='disk=sda; imagezip() { echo data; };'
says "nobody takes it" "$heading
fail sda is not captured: no connection to 10.9.0.1:51" "$with nc() { return 1; }; capture"
says "it is refused" "$heading
fail sda is not captured: the receiver said \"failed: a.ndz is there already\"" "$with nc() { cat > /dev/null; echo 'failed: a.ndz is there already'; }; capture"
says "it is taken" "$heading
sda is captured: a.ndz, 1 MB" "$with nc() { [ \"\$(cat)\" != 'capture a.ndz
data' ] || echo 'ok a.ndz, 1 MB'; }; capture; echo \$done_line"

words=$(cat "$PROC/cmdline")
cmdline "$words frisbee.order=s-1-1 frisbee.capture=new"
proved="$with own_machine() { echo 52-54-00-00-00-01; }; uptime_s() { echo 7; };"
says "with an order, its signature follows" "$heading
sda is captured: a.ndz, 1 MB" "$proved imagezip() { echo data; printf proof > \"\${2#--signature=}\"; }; nc() { [ \"\$(cat)\" != 'capture a.ndz 52-54-00-00-00-01 s-1-1 new
data
proofsignature 000000000000005' ] || echo 'ok a.ndz, 1 MB'; }; capture; echo \$done_line"
says "what the receiver takes no more of is its refusal" "$heading
fail sda is not captured: the receiver said \"failed: no room\"" "$proved imagezip() { echo 'Broken pipe' > $RUN/said_last; return 1; }; nc() { cat > /dev/null; echo 'failed: no room'; }; capture"
says "imagezip's own failure has its last words" "$heading
fail sda is not captured: imagezip's exit status is 1: sector 7 is bad" "$proved imagezip() { return 1; }; with_progress() { shift; \"\$@\"; echo sector 7 is bad > $RUN/said_last; }; nc() { cat > /dev/null; echo 'failed: damaged'; }; capture"
says "sectors that were lost are said" "$heading
sda is captured: a.ndz, 1 MB; sectors that could not be read are zeros" "$proved imagezip() { return 4; }; nc() { cat > /dev/null; echo 'ok a.ndz, 1 MB'; }; capture; echo \$done_line"
says "a signature has no place for a disk of 2 TiB and more, or for an encrypted image" "no
no
yes" "disk=sdbig; mkdir -p $SYS/block/sdbig; echo 4294967297 > $SYS/block/sdbig/size; try() { if has_signature; then echo yes; else echo no; fi; }
try; disk=sda; (options() { echo; }; echo frisbee.options=--encrypt,k > $RUN/answers; try); rm -f $RUN/answers; try"
rm -rf "$SYS/block/sdbig"
says "how far it is" "0 % of sda is read
30 % of sda is read, 3.0 MB/s, 23 s left
30 % of sda is read, 1.5 MB/s, 46 s left" "disk=sda; began=5; uptime_s() { cat $T/now; }
echo 5 > $T/now; echo 10000000 100000000 > $RUN/amount; read_so_far; echo 15 > $T/now; echo 30000000 100000000 > $RUN/amount; read_so_far
echo 25 > $T/now; read_so_far"
cmdline "frisbee.action=capture frisbee.capture=new frisbee.set=a@sda"
says "of one disk only" "fail frisbee.capture=new is for one disk, and not for a set that a server receives" 'action=capture; check_words; echo on'
cmdline "$words"
says "a receiver that loses its power while it looks at the image is not waited for without end" "$heading
fail sda is not captured: no answer from 10.9.0.1:51" "$with ANSWER_S=1; nc() { cat > /dev/null; exec sleep 100; }; capture"

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
# The name of an image is flushed before the answer says that the image is there.
mkdir "$T/no-sync"; printf '#!/bin/sh\nfor f; do [ ! -d "$f" ] || exit 1; done\nexec %s "$@"\n' "$(command -v sync)" > "$T/no-sync/sync"; chmod 755 "$T/no-sync/sync"
PATH=$T/no-sync:$PATH receives "failed: cannot write to the folder of images" "capture e.ndz" "$T/disk.ndz"
receives "failed: a name is*" "capture ../b.ndz" "$T/disk.ndz"
receives "failed: a name is*" "capture .b.ndz" "$T/disk.ndz"
receives "failed: a name is*" "capture" "$T/disk.ndz"
receives "failed: the first line is neither a capture nor a report" "GET / HTTP/1.1" "$T/disk.ndz"
echo "== images that an order names"
mkdir "$T/orders"
ordered() {	# WORDS: the order of the machine
	echo "set order frisbee.order=s-1-1 frisbee.action=capture $*" > "$T/orders/52-54-00-00-00-01.ipxe"
}
of_order() {	# WANTED LINE IMAGE...: the files one behind the other
	local got
	got=$({ printf 'capture %s\n' "$2"; cat "${@:3}"; } | "$TOP/netboot/receive" "$T/images" "$T/orders" 2> /dev/null)
	case $got in $1) echo "ok: \"$2\": $got" ;; *) fail "\"$2\": $got, not $1" ;; esac
}
"$BIN/imagehash" -q -c -o "$T/disk.sig" "$T/disk.ndz" || fail "imagehash"
printf 'signature %015d\n' "$(stat -c %s "$T/disk.sig")" > "$T/size"; printf 'signature %015d\n' 0 > "$T/none"
whole=("$T/disk.ndz" "$T/disk.sig" "$T/size") m=52-54-00-00-00-01
of_order "failed: there is no order to capture o.ndz*" "o.ndz $m s-1-1 new" "${whole[@]}"
ordered frisbee.image=o.ndz frisbee.capture=new
of_order "failed: there is no order to capture o.ndz*" "o.ndz $m s-1-2 new" "${whole[@]}"
of_order "failed: there is no order to capture p.ndz*" "p.ndz $m s-1-1 new" "${whole[@]}"
of_order "failed: there is no order to capture o.ndz*" "o.ndz $m s-1-1 replace" "${whole[@]}"
of_order "failed: this is no order" "o.ndz ../$m s-1-1 new" "${whole[@]}"
of_order "failed: this is no order" "o.ndz $m .* new" "${whole[@]}"
of_order "failed: this is no order" "o.ndz $m s-1-1 anew" "${whole[@]}"
receives "failed: there are no orders here" "capture o.ndz $m s-1-1 new" "$T/disk.ndz"
of_order "failed: the image has not come to its end" "o.ndz $m s-1-1 new" "$T/disk.ndz"
of_order "failed: the image has not come to its end" "o.ndz $m s-1-1 new" "$T/size"
of_order "failed: the image has not come to its end" "o.ndz $m s-1-1 new" /dev/null
of_order "failed: *" "o.ndz $m s-1-1 new" "$T/disk.ndz" "$T/size"
of_order "failed: *" "o.ndz $m s-1-1 new" "$T/bad.ndz" "$T/disk.sig" "$T/size"
cp "$T/disk.sig" "$T/wrong.sig"; spoil_byte "$T/wrong.sig" $(($(stat -c %s "$T/wrong.sig") - 9))
of_order "failed: the image is not what was read from the disk*" "o.ndz $m s-1-1 new" "$T/disk.ndz" "$T/wrong.sig" "$T/size"
check "nothing of them is left" [ "$(ls -A "$T/images")" = a.ndz ]
of_order "ok o.ndz, * MB" "o.ndz $m s-1-1 new" "${whole[@]}"
check "the image and its signature" eval 'cmp "$T/disk.ndz" "$T/images/o.ndz" && cmp "$T/disk.sig" "$T/images/o.ndz.sig"'
of_order "failed: o.ndz is there already" "o.ndz $m s-1-1 new" "${whole[@]}"
head -c 1024000 "$T/disk" > "$T/smaller"
"$BIN/imagezip" -q -r "$T/smaller" "$T/smaller.ndz" || fail "imagezip"
ordered frisbee.image=o.ndz frisbee.capture=replace
of_order "ok o.ndz, * MB" "o.ndz $m s-1-1 replace" "$T/smaller.ndz" "$T/none"
check "replaced, and no signature of the one before" eval 'cmp "$T/smaller.ndz" "$T/images/o.ndz" && [ ! -e "$T/images/o.ndz.sig" ]'
rm "$T/images/o.ndz"; mkdir "$T/images/o.ndz"
of_order "failed: o.ndz cannot be replaced" "o.ndz $m s-1-1 replace" "$T/smaller.ndz" "$T/none"
check "a folder is replaced by nothing, and nothing is put into it" rmdir "$T/images/o.ndz"
# The order is taken back when all has come, and while it comes.
mkdir "$T/late"; printf '#!/bin/sh\nrm -f %q\nexec %q "$@"\n' "$T/orders/$m.ipxe" "$BIN/imagehash" > "$T/late/imagehash"; chmod 755 "$T/late/imagehash"
ordered frisbee.image=o.ndz frisbee.capture=new
PATH=$T/late:$PATH of_order "failed: the order was taken back" "o.ndz $m s-1-1 new" "${whole[@]}"
check "no image has the name" [ "$(ls -A "$T/images")" = a.ndz ]
# The machine's connection is never ended.  Each hour is a call of this sleep; in three of them something comes.
mkdir "$T/hours"; mkfifo "$T/line"; exec 9<> "$T/line"
cat > "$T/hours/sleep" << EOF
#!/bin/bash
[ "\$1" = 3600 ] || exec $(command -v sleep) "\$1"
echo "\$1" >> "$T/hours/slept"
n=\$(wc -l < "$T/hours/slept")
[ "\$n" -le 3 ] || exit 0
printf %s "\$n" >&9
until [ "\$(cat "$T"/images/.f.ndz.*)" = "half of it \$(seq -s '' "\$n")" ]; do $(command -v sleep) 0.05; done
EOF
chmod 755 "$T/hours/sleep"
printf 'capture f.ndz\nhalf of it ' >&9
check "a machine that has lost its power" \
	[ "$(PATH=$T/hours:$PATH timeout 300 "$TOP/netboot/receive" "$T/images" < "$T/line" 2> /dev/null)" = "failed: nothing has come for 3600 s" ]
check "and none whose image comes slowly" [ "$(uniq -c "$T/hours/slept" | tr -s ' ')" = " 4 3600" ]
printf 'capture f.ndz\nhalf of it ' >&9
"$TOP/netboot/receive" "$T/images" < "$T/line" > /dev/null 2>&1 9>&- & receiver=$!
begins $receiver eval 'children=$(pgrep -P $receiver) && [ $(echo "$children" | wc -l) = 4 ] && sleeper=$(pgrep -x sleep -P "$(echo $children | cut -d " " -f 2- | tr " " ,)") && [ $(echo "$sleeper" | wc -l) = 3 ]' || fail "it does not wait"
kill $receiver; wait $receiver
check "no process is left of one that is ended" soon eval '! ps -o pid= -p "$(echo $children $sleeper | tr " " ,)" > /dev/null'
exec 9>&-
check "nothing else is left" [ "$(ls -A "$T/images")" = a.ndz ]

echo "== limits of what is received"
RECEIVE_FREE_MB=99999999999 receives "failed: less than 99999999999 MB are free" \
	"capture g.ndz" "$T/disk.ndz"
RECEIVE_FROM='10.9.0.* 0.0.0.1' receives "failed: nothing is taken from 0.0.0.0" \
	"capture g.ndz" "$T/disk.ndz"
RECEIVE_FROM='10.9.0.* 0.0.0.*' receives "ok g.ndz, * MB" "capture g.ndz" "$T/disk.ndz"
rm "$T/images/g.ndz"
endless() {	# FOLDER WHY: with the programs of this folder, an image that does not end is refused
	local got
	exec 9<> "$T/line"
	printf 'capture g.ndz\nhalf of it ' >&9
	got=$(PATH=$1:$PATH "$TOP/netboot/receive" "$T/images" < "$T/line" 2> /dev/null)
	check "an image that does not end: $got" [ "$got" = "failed: $2" ]
	exec 9>&-
}
# There is room when the image begins, and none any more later.
mkdir -p "$T/full" "$T/day"
printf '#!/bin/sh\n[ -e %s ] && echo 999 || echo 1000\ntouch %s\n' "$T/full/looked" "$T/full/looked" > "$T/full/df"
printf '#!/bin/sh\n[ "$1" = 86400 ] || exec %s "$1"\n' "$(command -v sleep)" > "$T/day/sleep"
# Nobody waits for what is sent after that.
printf '#!/bin/sh\n' | tee "$T/full/timeout" > "$T/day/timeout"
chmod 755 "$T/full"/* "$T/day"/*
endless "$T/full" "less than 1000 MB are free"
endless "$T/day" "it has taken longer than 86400 s"
mkfifo "$T/silent"; exec 8<> "$T/silent"
silent=()
for i in {1..17}; do
	"$TOP/netboot/receive" "$T/images" < "$T/silent" > /dev/null 2>&1 8>&- & silent+=($!)
	begins $! [ -e "$T/images/.places/0.0.0.0-$!" ]
done
wait "${silent[0]}"; got=$?
check "the oldest one of an address that says nothing gives way" [ $got = 143 ]
check "the others stay" kill -0 "${silent[@]:1}"
receives "ok g.ndz, * MB" "capture g.ndz" "$T/disk.ndz"
kill "${silent[@]:2}"; wait "${silent[@]}" 2> /dev/null; exec 8>&-
check "and no place is left" [ "$(ls -A "$T/images" | tr '\n' ' ')" = "a.ndz g.ndz " ]
finish
