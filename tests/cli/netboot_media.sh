#!/usr/bin/env bash
# Images on a web server, on other disks and at /image (netboot/node/media): what the words mean, which
# disk an image may be on, and what is asked.  With a made-up /sys, and filesystems in files.
. "$(dirname "$0")/lib.sh"
sh=sh; command -v busybox > /dev/null && sh="busybox sh"
export SYS=$T/sys PROC=$T/proc RUN=$T/run DEV=$T/dev IMAGES=$T/image LIB=$TOP/netboot/node DISK_WAIT=2
mkdir -p "$SYS/block" "$SYS/class/net" "$SYS/class/block" "$SYS/devices" "$PROC" "$RUN" "$DEV" "$IMAGES"

# init SAYS: run a piece of it; say and fail print.  Filesystems are what tags has, mounting a folder of that name.
init() {
	$sh -c '. "$1"; say() { echo "say $*"; }; fail() { echo "fail $*"; exit 1; }
		load_drivers() { :; }; sleep() { command sleep 0.1; }
		tag_of() { sed -n "s/^$1 $2 //p" "'"$T"'/tags"; }
		mount() { echo "mount $2 $4 ${5##*/} ${6#$RUN/}"; rm -rf "$RUN/media"; ln -sfn "$DEV/tree-${5##*/}" "$RUN/media"; }
		umount() { rm "$RUN/media"; }; modprobe() { :; }
		df() { case $2 in "$RUN"/media*) printf "x\n%s\n" "$DEV/$media_part" ;; *) printf "x\n%s\n" "$(cat "'"$T"'/below")" ;; esac; }
		eval "$2"' sh "$TOP/netboot/init" "$1" 2>&1
}
says() {	# WHAT WANTED CODE
	local got
	got=$(init "$3")
	check "$1" [ "$got" = "$2" ] || true
	[ "$got" = "$2" ] || echo "got: $got"
}
# ntfs-3g falls back to ro when it may not write.
mkdir "$T/bin"; PATH=$T/bin:$PATH
cat > "$T/bin/ntfs-3g" << I
#!/bin/sh
echo "ntfs-3g \$2 \${3##*/} \${4##*/}" >&2
rm -rf "\$4"; ln -sfn "$DEV/tree-\${3##*/}" "\$4"; echo "\$3 \$4 fuseblk \${NTFS:-\${2%%,*}},x 0 0" >> "$PROC/mounts"
I
chmod 755 "$T/bin/ntfs-3g"
cmdline() { echo "$*" > "$PROC/cmdline"; rm -f "$RUN/answers"; }
disk() {	# NAME SECTORS REMOVABLE SERIAL [WWN]
	mkdir -p "$SYS/block/$1/device"
	echo "$2" > "$SYS/block/$1/size"; echo "$3" > "$SYS/block/$1/removable"; echo "$4" > "$SYS/block/$1/device/serial"
	[ -z "${5:-}" ] || echo "$5" > "$SYS/block/$1/wwid"
}
part() {	# DISK PARTITION TYPE UUID [LABEL]
	mkdir -p "$SYS/block/$1/$2" "$DEV/tree-$2"; echo 1 > "$SYS/block/$1/$2/partition"
	printf '%s TYPE %s\n%s UUID %s\n' "$2" "$3" "$2" "$4" >> "$T/tags"
	[ -z "${5:-}" ] || echo "$2 LABEL $5" >> "$T/tags"
}
# node NAME IN-SYS DEVICE: /dev/NAME has the number of DEVICE here, which the kernel calls IN-SYS.
node() {
	mkdir -p "$SYS/dev/block" "$DEV/$(dirname "$1")" "$SYS/devices/$2"
	ln -sfn "$3" "$DEV/$1"; ln -sfn "$SYS/devices/$2" "$SYS/dev/block/$(stat -L -c '%Hr:%Lr' "$3")"
}
node sdb1 sdb1 /dev/zero; node sdc1 sdc1 /dev/full; node mapper/vg-lv dm-0 /dev/null
echo none > "$T/below"
disk sda 4000000 0 inner; disk sdb 2000000 0 usb; disk sdc 2000000 1 stick
part sda sda1 ext4 aaaa-1; part sdb sdb1 ext4 bbbb-1 "MY IMAGES"; part sdc sdc1 vfat CCCC-1 STICK; part sdc sdc2 ntfs 77

echo "== what the word means"
while read -r image place; do
	cmdline "frisbee.image=$image"
	says "$image" "$place" 'action=load; choose_place; echo $place'
done << 'PLACES'
lab.ndz server
http://10.9.0.1/lab.ndz web
https://host/a/b.ndz web
disk:STICK/a/b.ndz disk
/image/b.ndz mounted
PLACES
for image in disk:STICK disk:STICK/ disk:/b.ndz disk:STICK/a/ disk:STICK/../b.ndz disk:STICK/a/.. /etc/passwd /image/ /image/../b.ndz /images/b; do
	cmdline "frisbee.image=$image"
	says "not $image" "fail frisbee.image=$image: an image is a name, http://..., https://..., disk:NAME/PATH with the label or the UUID of a filesystem, or /image/PATH" 'action=capture; choose_place'
done
for words in 'frisbee.group=239.192.7.7' 'frisbee.server=10.9.0.1'; do
	cmdline "frisbee.image=/proj/lab/b.ndz $words"
	says "a name of a master server may begin with a slash: $words" server 'action=load; choose_place; echo $place'
done
cmdline 'frisbee.image=https://me:secret@host/b.ndz'
says "a web server takes no image, and a password is not shown" "fail frisbee.image=https://host/b.ndz: a web server takes no image" 'action=capture; choose_place'
says "its host is what the network has to reach" "host" 'web_host'
cmdline 'frisbee.image=disk:STICK/b.ndz frisbee.server=10.9.0.1'
says "a server counts for nothing then" "fail frisbee.server=10.9.0.1 has no effect with frisbee.image=disk:STICK/b.ndz" 'action=load; choose_place; check_place_words'
cmdline 'frisbee.image=disk:STICK/b.ndz frisbee.group-key=k'
says "nor does a group's key" "fail frisbee.group-key=k has no effect with frisbee.image=disk:STICK/b.ndz" 'action=load; choose_place; check_place_words'
cmdline 'frisbee.image=disk:STICK/b.ndz'
says "no network is needed" no 'action=load; choose_place; if needs_network; then echo yes; else echo no; fi'
for w in report=10.9.0.1 network=dhcp hostname=dhcp syslog=10.9.0.1; do
	cmdline "frisbee.image=disk:STICK/b.ndz frisbee.$w"
	says "but with $w" yes 'action=load; choose_place; if needs_network; then echo yes; else echo no; fi'
done

echo "== which filesystem"
finds() {	# WORD PARTITION
	cmdline "frisbee.image=disk:$1/b.ndz"
	says "$1" "$2" 'place=disk; find_media; echo $media_part'
}
finds STICK sdc1; finds CCCC-1 sdc1; finds MY_IMAGES sdb1; finds 'MY*' sdb1; finds 'bbbb*' sdb1
cmdline 'frisbee.image=disk:NONE/b.ndz'
says "none" 'say   sda1 (ext4) on sda: 2048 MB, no model, serial inner
say   sdb1 (ext4 "MY IMAGES") on sdb: 1024 MB, no model, serial usb
say   sdc1 (vfat "STICK") on sdc: 1024 MB, no model, serial stick
say   sdc2 (ntfs) on sdc: 1024 MB, no model, serial stick
fail frisbee.image=disk:NONE/b.ndz: 0 filesystems have the label or the UUID NONE' 'place=disk; find_media'
cmdline 'frisbee.image=disk:*/b.ndz'
says "never one of several" "fail frisbee.image=disk:*/b.ndz: 4 filesystems have the label or the UUID *" 'place=disk; find_media | grep fail'
says "its disk is not among those that can be meant" "sda" "cmdline=; echo frisbee.image=disk:MY_IMAGES/b.ndz > $PROC/cmdline; place=disk; find_media; choose_disk ''; echo \$disk"

cmdline frisbee.image=disk:MY_IMAGES/b.ndz
says "which is said" 'say   sda: 2048 MB, no model, serial inner
say   but not sdb: 1024 MB, no model, serial usb, which has the image
fail frisbee.disk=serial:usb: 0 disks are like this' 'place=disk; find_media; choose_disk serial:usb'

echo "== the image is on another disk"
same() {	# WHAT WANTED ONE TWO
	says "$1" "$2" "if same_disk $3 $4; then echo same; else echo other; fi"
}
same "another serial number" other sda sdb
same "the disk itself" same sda sda
disk sdd 4000000 0 inner
same "the same one, reached in two ways" same sda sdd
disk sdd 4000008 0 inner
same "a serial number that two disks have, of other sizes" other sda sdd
disk sdd 4000000 0 ''
same "no serial number, and nothing else: another one" other sda sdd
printf 'sda PTUUID 1234\nsdd PTUUID 1234\n' >> "$T/tags"
same "no serial number, the same partition table" same sda sdd
disk sdd 4000000 0 second
same "a copy with a number of its own" other sda sdd
disk sda 4000000 0 inner naa.5; disk sdd 4000000 0 inner naa.6
same "another WWN" other sda sdd
disk sdd 4000000 0 second naa.5
same "the same WWN" same sda sdd
rm "$SYS/block/sda/wwid" "$SYS/block/sdd/wwid"
usb() {	# DISK DEVICE SERIAL: the disk tells no number itself, but the device does that it is in
	mkdir -p "$SYS/devices/usb1/$2/$2:1.0/host-$1"
	echo 1234 > "$SYS/devices/usb1/$2/idVendor"; echo "$3" > "$SYS/devices/usb1/$2/serial"
	rm -r "$SYS/block/$1/device"; ln -s "$SYS/devices/usb1/$2/$2:1.0/host-$1" "$SYS/block/$1/device"
}
usb sda 1-1 AB1; usb sdd 1-2 AB2
says "a disk at USB has the serial number of its device" AB1 "disk_serial sda"
same "other numbers, a copy of all data" other sda sdd
usb sdd 1-2 AB1
same "the same number, the same partition table" same sda sdd
sed -i 's/^sdd PTUUID .*/sdd PTUUID 5678/' "$T/tags"
same "one number that a maker gives all, other tables" other sda sdd
sed -i 's/^sdd PTUUID .*/sdd PTUUID 1234/' "$T/tags"; usb sdd 1-1 AB1
same "two in one dock, a copy of all data" other sda sdd
rm -r "$SYS/block/sdd"; rm "$SYS/block/sda/device"; disk sda 4000000 0 inner
cmdline 'frisbee.image=disk:MY_IMAGES/b.ndz frisbee.disk=sdb'
says "the disk that is written" "fail sdb1 is on sdb itself: the image has to be on another disk" \
    'action=load; choose_place; find_media; choose_disk "$(arg disk)"; choose_image; echo on'
says "the disk that is captured" "fail sdb1 is on sdb itself: the image has to be on another disk" \
    'action=capture; choose_place; find_media; choose_disk "$(arg disk)"; open_place rw; echo on'
cp -r "$SYS/block/sdb" "$SYS/block/sdx"; mv "$SYS/block/sdx/sdb1" "$SYS/block/sdx/sdx1"
says "under another name" "fail sdb1 is on sdb, which is the same disk as sdx, or a copy that cannot be told from it: the image has to be on another disk" \
    'place=disk disk=sdx action=load; find_media; choose_image; echo on'
rm -r "$SYS/block/sdx"
# A volume of LVM on sda2, and a loop device of a file on it.
mkdir -p "$SYS/class/block/dm-0/slaves/sda2" "$SYS/class/block/loop0/loop" "$SYS/block/sda/sda2"; echo 2 > "$SYS/block/sda/sda2/partition"
echo /image/file > "$SYS/class/block/loop0/loop/backing_file"; echo "$DEV/mapper/vg-lv" > "$T/below"
mkdir -p "$SYS/block/loop0/loop0p1"; echo 1 > "$SYS/block/loop0/loop0p1/partition"; echo 0 > "$SYS/block/loop0/size"
says "what a volume is on" sda 'disks_below dm-0'
says "what a loop device is on" sda 'disks_below loop0'
says "and a partition of it" sda 'disks_below loop0p1'
says "a disk that is unknown" "" 'disks_below sdz'
echo "none /image tmpfs rw 0 0" | sed "s| /image| $IMAGES|" > "$PROC/mounts"
cmdline 'frisbee.image=/image/b.ndz'
says "a mounted volume of it" "fail dm-0 is on sda itself: the image has to be on another disk" 'action=capture disk=sda; choose_place; open_place rw; echo on'
echo server:/export > "$T/below"; : > "$IMAGES/b.ndz"
says "what is on no disk of this machine" "$IMAGES/b.ndz" 'action=load disk=sda; choose_place; open_place ro; echo $image_file'
: > "$PROC/mounts"
says "nothing is mounted" "fail nothing is mounted at /image: a hook of before/ can do it" 'action=load disk=sda; choose_place; open_place ro; echo on'
echo "none $IMAGES tmpfs rw 0 0" > "$PROC/mounts"

echo "== a load"
printf 'data' | tee "$DEV/tree-sdb1/one.ndz" > "$DEV/tree-sdb1/two words.ndz"
with="action=load disk=sda patience=300 keys=; place=disk; find_media; imageunzip() { echo imageunzip \"\$@\"; };"
loads() {	# WORD FILE
	cmdline "frisbee.image=$1 frisbee.options=-z"
	says "$1" "mount ext4 ro,nodev,nosuid,noexec,noload sdb1 media
imageunzip --progress=3 -z $RUN/media/$2 $DEV/sda" "$with open_place ro; load_from_place"
}
loads disk:MY_IMAGES/one.ndz one.ndz; loads disk:MY_IMAGES/o*.ndz one.ndz; loads disk:MY_IMAGES/two*words.ndz "two words.ndz"
cmdline frisbee.image=disk:MY_IMAGES/*.ndz
says "never one of several" "fail frisbee.image=disk:MY_IMAGES/*.ndz: 2 files are like this" "$with open_place ro | grep fail"
cmdline frisbee.image=https://host/b.ndz frisbee.fit=yes
says "from a web server, which is waited for" "300 --progress=3 --fit https://host/b.ndz $DEV/sda" \
    "action=load disk=sda patience=300 keys=; choose_place; imageunzip() { echo \$STREAM_HTTP_SECONDS \"\$@\"; }; open_place ro; load_from_place"

printf 'data' > "$DEV/tree-sdc1/b.ndz"
cmdline frisbee.image=disk:STICK/b.ndz
says "FAT, with names of any letters" "mount vfat ro,nodev,nosuid,noexec,utf8 sdc1 media" "$with open_place ro"
sed -i 's/^sdc1 TYPE .*/sdc1 TYPE ext2/' "$T/tags"
says "ext2, which has no journal to be left alone" "mount ext2 ro,nodev,nosuid,noexec sdc1 media" "$with open_place ro"
sed -i 's/^sdc1 TYPE .*/sdc1 TYPE vfat/' "$T/tags"; rm "$DEV/tree-sdc1/b.ndz"
printf 'data' > "$DEV/tree-sdc2/b.ndz"; node sdc2 sdc2 /dev/random
cmdline frisbee.image=disk:77/b.ndz
says "NTFS, by a program" "ntfs-3g ro,nodev,nosuid,noexec sdc2 media
$RUN/media/b.ndz" "$with open_place ro; cat $RUN/ntfs >&2; echo \$image_file"
: > "$PROC/mounts"
says "NTFS of a Windows that was not shut down" "fail sdc2 (ntfs) on sdc: 1024 MB, no model, serial stick: a Windows has it that was not shut down (fast startup counts as not): nothing is written to it" "export NTFS=ro; action=capture disk=sda place=disk; open_place rw"
: > "$PROC/mounts"; rm "$DEV/tree-sdc2/b.ndz"

echo "== a capture"
with="action=capture disk=sda; place=disk; find_media; report() { :; }; with_progress() { shift; \"\$@\"; }; df() { printf '%s\n' x 'x 9 9 52000 9'; }; stat() { case \$2 in -c) echo \$fs ;; *) echo 77 ;; esac; };
	imagezip() { echo imagezip \"\$@\" >&2; : > \"\$RUN/media/new.ndz\"; return \$rc; }; sync() { :; };"
rm -f "$RUN/said_last"
words='frisbee.image=disk:MY_IMAGES/new.ndz'
mounted='mount ext4 rw,nodev,nosuid,noexec sdb1 media'
heading="say capturing sda to disk:MY_IMAGES/new.ndz, with 52 MB free there"
verified="imagezip --progress=3 --verify --signature=$RUN/media/new.ndz.sig $DEV/sda $RUN/media/new.ndz"
captures() {	# WHAT WANTED [CODE]
	rm -f "$DEV/tree-sdb1/new.ndz"
	says "$1" "$mounted
$2" "$with fs=ext2/ext3 rc=0; ${3:-} capture_to_place; echo \$done_line"
}
cmdline "$words"
captures "read back and compared" "$heading
$verified
sda is captured: 77 bytes in disk:MY_IMAGES/new.ndz, read back and compared"
captures "sectors that were lost are said" "$heading
$verified
sda is captured: 77 bytes in disk:MY_IMAGES/new.ndz, read back and compared; sectors that could not be read are zeros" 'rc=4;'
captures "what failed" "$heading
$verified
fail sda is not captured: imagezip's exit status is 3" 'rc=3;'
cmdline "$words frisbee.options=--encrypt,k"
: > "$DEV/tree-sdb1/new.ndz.sig"
captures "one that is encrypted is not read back" "say the image can have no signature here, so it is not read back and compared
$heading
imagezip --progress=3 --encrypt k $DEV/sda $RUN/media/new.ndz
sda is captured: 77 bytes in disk:MY_IMAGES/new.ndz"
check "and has no signature of an older one" [ ! -e "$DEV/tree-sdb1/new.ndz.sig" ]
cmdline "$words"
captures "onto FAT, with a limit, and advice when it fails" "$heading
imagezip --progress=3 --limit=4000 ${verified#*progress=3 }
fail sda is not captured: imagezip's exit status is 1: FAT has no files of 4 GiB; use a disk with exFAT, NTFS, ext4 or XFS" 'fs=msdos rc=1;'
: > "$DEV/tree-sdb1/new.ndz"
says "an image is not replaced" "$mounted
fail there is an image disk:MY_IMAGES/new.ndz: frisbee.capture=replace replaces it" "$with fs=ext2/ext3 rc=0; capture_to_place"
cmdline "$words frisbee.capture=replace"
says "but if that is meant" "sda is captured: 77 bytes in disk:MY_IMAGES/new.ndz, read back and compared" "$with fs=ext2/ext3 rc=0; capture_to_place > /dev/null 2>&1; echo \$done_line"
part sdb sdb9 swsuspend 99
says "beside a suspended system" "fail a system is suspended on sdb: nothing is written to it" "$with capture_to_place | grep fail"
sed -i /^sdb9/d "$T/tags"; rm -r "$SYS/block/sdb/sdb9"
cmdline frisbee.image=disk:MY_IMAGES/n*.ndz
says "a pattern" "fail frisbee.image=disk:MY_IMAGES/n*.ndz: an image that is made has a name without * and ?" "$with capture_to_place | grep fail"
cmdline frisbee.image=disk:MY_IMAGES/none/new.ndz
says "a folder that is not there" "fail there is no folder $RUN/media/none for the image" "$with fs=ext2/ext3 rc=0; capture_to_place | grep fail"

echo "== several disks as one set"
disk sde 3900000 0 second
with="confirm() { :; }; choose_place; check_place_words; choose_set;"
set_of() {	# WHAT WANTED SET [ACTION]
	cmdline "frisbee.set=$3"
	says "$1" "$2" "action=${4:-load}; { $with run_set :; } > $T/set; grep -v '^mount' $T/set; echo \$place \$set"
}
one=disk:MY_IMAGES/one.ndz two=disk:MY_IMAGES/two*words.ndz
set_of "of images on one disk" "disk $one@sda $two@sde" "$one@sda+$two@sde"
set_of "the disk that has the images does not count" "disk $one@sda $two@sde" "$one@size:largest+$two@size:smallest"
set_of "of images on a web server" "web http://u@h/a.ndz@sda http://h/b.ndz@sde" "http://u@h/a.ndz@sda+http://h/b.ndz@sde"
set_of "of new images" "disk disk:MY_IMAGES/n.ndz@sda disk:MY_IMAGES/m.ndz@sde" disk:MY_IMAGES/n.ndz@sda+disk:MY_IMAGES/m.ndz@sde capture
refused() {	# WHAT SENTENCE SET [ACTION] [WORD]
	cmdline "frisbee.set=$3 ${5:-}"
	says "$1" "fail $2" "action=${4:-load}; { $with run_set :; } | grep fail"
}
refused "an image that is not there" "frisbee.image=disk:MY_IMAGES/none.ndz: 0 files are like this" "$one@sda+disk:MY_IMAGES/none.ndz@sde"
refused "an image on a disk of the set" "sdb1 is on sdb itself: the image has to be on another disk" "$one@sda+$two@sdb"
refused "an image that is there already" "there is an image $one: frisbee.capture=replace replaces it" "disk:MY_IMAGES/n.ndz@sda+$one@sde" capture
cmdline "frisbee.set=disk:MY_IMAGES/n.ndz@sda+$one@sde frisbee.capture=replace"
says "but if that is meant" "disk disk:MY_IMAGES/n.ndz@sda $one@sde" "action=capture; choose_place; check_words; { $with run_set :; } > $T/set; grep -v '^mount' $T/set; echo \$place \$set"
refused "two disks of images" "frisbee.set=$one@sda+disk:STICK/b.ndz@sde: the images are on sdb and on sdc" "$one@sda+disk:STICK/b.ndz@sde"
refused "two kinds of places" "frisbee.set=$one@sda+b.ndz@sde: the images are in several places" "$one@sda+b.ndz@sde"
refused "captures to a web server" "frisbee.image=http://h/b.ndz: a web server takes no image" "http://u:p@h/b.ndz@sda" capture
refused "a server that counts for nothing" "frisbee.server=10.9.0.1 has no effect with frisbee.set=$one@sda" "$one@sda" load frisbee.server=10.9.0.1
cmdline "frisbee.set=/image/a.ndz@sda+/image/b.ndz@sde"
: > "$IMAGES/a.ndz"; : > "$IMAGES/b.ndz"
says "of images below /image, which a hook mounts when the disks are chosen" "load sda /image/a.ndz
load sde /image/b.ndz" "action=load; load() { echo load \$disk \$(arg image); };
	{ $with echo 'server:/x $IMAGES nfs ro 0 0' >> $PROC/mounts; run_set load; } | grep '^load\|fail'"
: > "$PROC/mounts"; rm "$IMAGES"/?.ndz
cmdline "frisbee.set=$one@sda+$two@sde"
says "each disk is loaded with its image" "imageunzip --progress=3 $RUN/media/one.ndz $DEV/sda
imageunzip --progress=3 $RUN/media/two words.ndz $DEV/sde
sda is loaded, sde is loaded" "action=load; for f in report forget_ids note_partitions grow_disk personalise_disk make_it_start give_new_ids; do eval \"\$f() { :; }\"; done; with_progress() { shift 2; \"\$@\"; }; imageunzip() { echo imageunzip \"\$@\"; };
	{ $with run_set load; echo \$done_line; } | grep -v '^say\|^mount'"
rm -r "$SYS/block/sde"

echo "== what is asked"
rm -r "$DEV/tree-sdb1"; mkdir -p "$DEV/tree-sdb1" "$DEV/tree-sdc1/lab"
random_bytes 300000 1 > "$T/source"; "$BIN/imagezip" -q -f -U "" "$T/source" "$DEV/tree-sdb1/a b.ndz" || fail imagezip
cp "$DEV/tree-sdb1/a b.ndz" "$DEV/tree-sdc1/lab/z.ndz"; echo "no image" > "$DEV/tree-sdc1/text.ndz"
asked() {	# WHAT ANSWERS WANTED CODE: what is offered, and which image it becomes
	cmdline "frisbee.ask=yes"
	printf '%b' "$2" > "$T/typed"
	says "$1" "$3" "ask() { local answer; read -r answer || { echo nothing more is typed >&2; exit 1; }; [ -z \"\$answer\" ] || echo \"frisbee.\$1=\$answer\" >> $RUN/answers; }; exec < $T/typed; $4"
}
asked "a load from a disk" 'what\ndisk\n9\n0\n2\n' 'disk:CCCC-1/lab/z.ndz' 'action=load disk=sda; { choose_place; choose_image; } > /dev/null; arg image'
cmdline "frisbee.ask=yes"
asked "the disk that is loaded is not among them" '1\n' 'disk:CCCC-1/lab/z.ndz' 'action=load place=disk disk=sdb; choose_image > /dev/null; arg image'
asked "what is offered" '1\n' 'say   1  a b.ndz: 1 MB, with its signature, on sdb1 (ext4 "MY IMAGES") on sdb: 1024 MB, no model, serial usb
say   2  lab/z.ndz: 1 MB, on sdc1 (vfat "STICK") on sdc: 1024 MB, no model, serial stick
disk:bbbb-1/a*b.ndz' 'action=load place=disk disk=sda; choose_image | grep -v "^mount"; arg image'
asked "a capture" 'web\ndisk\n1\nnew\n' 'disk:bbbb-1/new.ndz' 'action=capture disk=sda; { choose_place; choose_image; } > /dev/null; arg image'
asked "a web server" 'web\nnonsense\nhttp://h/a.ndz\n' 'web http://h/a.ndz' 'action=load; choose_place > /dev/null; echo $place $(arg image)'
cp "$T/source" "$IMAGES/none.ndz"; cp "$DEV/tree-sdc1/lab/z.ndz" "$IMAGES/m.ndz"
asked "something that is mounted" 'mounted\n1\n' '/image/m.ndz' 'setsid() { :; }; action=load disk=sda; { choose_place; choose_image; } > /dev/null; arg image'
cmdline 'frisbee.ask=yes frisbee.server=10.9.0.1'
says "nothing, if a server is named" server 'action=load; choose_place; echo $place'
finish
