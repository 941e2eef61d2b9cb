#!/usr/bin/env bash
# New identities of clones (netboot/node/newids): on a disk with FAT, ext4, swap space and XFS, cut off at each of its
# commands and in the middle of its tools, and gone on with from what had reached the disk.  vm/newids starts such a disk.
#	STEP=1 tests/cli/netboot_newids.sh	at each of them (5: at every fifth)
. "$(dirname "$0")/lib.sh"
requires busybox mke2fs e2fsck tune2fs debugfs blkid losetup mkswap swaplabel mformat fatlabel sfdisk mkfs.xfs xfs_db xfs_repair
[ "$(id -u)" = 0 ] || skip "needs root"
[ -n "${MOUNTS_ARE_OWN:-}" ] || skip "needs a namespace of mounts"
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
export SHIM=${B:-$TOP/build/plain}/tests/preload/faulty.so
STEP=${STEP:-5} LOOPS=()
detach() {
	local m
	for m in system/boot/efi system/boot system/dev system/proc system/sys system/etc/fstab system/etc/initramfs-tools/conf.d/resume system part; do umount -l "$T/run/$m" 2> /dev/null; done
	umount -l "$T/m" 2> /dev/null
	for m in "${LOOPS[@]}"; do losetup -d "$m"; done
	LOOPS=()
}
CLEANUP+=(detach)
mkdir -p "$T"/{bin,run,dev,m,proc/sys/kernel/random} "$T/sys/class/net/eth0" "$T/sys/block/sda" "$T/sys/block/sdb/sdb1"
busybox --install -s "$T/bin"
for p in blkid e2fsck xfs_repair; do ln -sf "$(command -v $p)" "$T/bin/$p"; done
cp "$TOP/netboot/personalise" "$T/bin"
ln -s /proc/sys/kernel/random/uuid "$T/proc/sys/kernel/random/uuid"
ln -s /proc/self/mounts "$T/proc/mounts"
echo 1 > "$T/sys/block/sdb/sdb1/partition"; echo 2048 > "$T/sys/block/sdb/sdb1/start"
ROOT=11111111-2222-3333-4444-555555555555 SWAP=77777777-2222-3333-4444-555555555555 SRV=88888888-2222-3333-4444-$(printf %012d "$OWN_NUMBER")	# an XFS that another run of this test has mounted counts
BOOT=99999999-2222-3333-4444-555555555555 FAT=4444-5555
# Commands that change something are counted, and everything is cut off before the CUT-th of them, or in it, at its access N: CUT=12@pwrite:N.
# Those whose numbers are in FAILS fail, and do nothing.
counted() {	# NAME REAL...
	cat > "$T/bin/$1" <<- I
		#!/bin/bash
		case "$1 \$*" in 'dd '*of="$T/dev"*|'tune2fs -U'*|mv*|'swaplabel -U'*|'fatlabel -i'*|xfs_db*|umount*|sync*) ;; *) exec ${@:2} "\$@" ;; esac
		n=\$((\$(cat "$T/count") + 1)); echo \$n > "$T/count"; echo "\$n $1 \$*" >> "$T/commands"
		[ "\$CUT" != \$n ] || kill -9 0
		case " \$FAILS " in *" \$n "*) exit 1 ;; esac
		case \$CUT in \$n@*) export FAULT=\${CUT#*@}:kill:/dev/loop FAULT_FIRED="$T/fired" LD_PRELOAD="$SHIM" ;; esac
		${@:2} "\$@"; s=\$?
		[ ! -e "$T/fired" ] || kill -9 0
		exit \$s
	I
	chmod 755 "$T/bin/$1"
}
for p in dd mv umount sync; do rm "$T/bin/$p"; counted $p busybox $p; done
for p in tune2fs swaplabel fatlabel xfs_db; do counted $p "$(command -v $p)"; done

tree() {	# FOLDER
	mkdir -p "$1"/{etc/initramfs-tools/conf.d,etc/default,usr/sbin,bin,boot,proc,sys,dev,srv,lib/modules/6.1}
	cp "$(command -v busybox)" "$1/bin/busybox"; ln -s busybox "$1/bin/sh"
	# It makes "an initramfs" of what the system says of itself then.
	printf '#!/bin/sh\n[ "$1 $3" = "-o 6.1" ] && [ -c /dev/null ] && cd / && /bin/busybox cat etc/fstab etc/initramfs-tools/conf.d/* > "$2"\n' > "$1/usr/sbin/mkinitramfs"
	chmod 755 "$1/usr/sbin/mkinitramfs"
	echo 'root:x:0:0:root:/root:/bin/sh' > "$1/etc/passwd"
	printf 'UUID=%s / ext4 defaults 0 1\nUUID=%s /boot ext4 defaults 0 2\nUUID=%s /data vfat umask=77 0 1\n/dev/disk/by-uuid/%s none swap sw 0 0\nUUID=%s /srv xfs defaults 0 0\n' $ROOT $BOOT $FAT $SWAP $SRV > "$1/etc/fstab"
	echo "cswap UUID=$SWAP /dev/urandom swap" > "$1/etc/crypttab"
	echo "RESUME=UUID=$SWAP" > "$1/etc/initramfs-tools/conf.d/resume"
	echo "also $SRV" > "$1/etc/other"
	for i in $(seq 300); do echo "file $i" > "$1/srv/f$i"; done
	mkdir "$1/many"; cp "$1"/srv/f* "$1/many"
}
boot() {	# FOLDER
	mkdir -p "$1"/{grub,efi/EFI/debian}
	echo "an old one, $ROOT" > "$1/initrd.img-6.1"; ln -s initrd.img-6.1 "$1/initrd.img"
	printf 'search --fs-uuid %s\nlinux /vmlinuz root=UUID=%s resume=UUID=%s x-%s\n' $BOOT $ROOT $SWAP $FAT > "$1/grub/grub.cfg"
	printf 'MZ\0\0search.fs_uuid %s root \0\0x' $BOOT > "$1/efi/EFI/debian/grubx64.efi"
}
MB=400
put() { dd if="$T/fs" of="$T/golden" bs=1M seek="$1" conv=notrunc,sparse status=none; rm "$T/fs"; }
golden() {
	tree "$T/tree"; boot "$T/boot"
	truncate -s ${MB}M "$T/golden"
	printf 'label: gpt\nstart=1MiB,size=4MiB,type=U\nstart=5MiB,size=24MiB\nstart=29MiB,size=4MiB,type=S\nstart=33MiB,size=6MiB\nstart=40MiB,size=310MiB\n' | sfdisk -q "$T/golden" || fail sfdisk
	truncate -s 4M "$T/fs"; mformat -N ${FAT/-/} -i "$T/fs" :: || fail mformat; put 1
	truncate -s 24M "$T/fs"; mke2fs -q -F -t ext4 -m 0 -O metadata_csum -U $ROOT -d "$T/tree" "$T/fs" || fail mke2fs; put 5
	truncate -s 4M "$T/fs"; quietly mkswap -U $SWAP "$T/fs" || fail mkswap; put 29
	truncate -s 6M "$T/fs"; mke2fs -q -F -t ext4 -m 0 -O ^has_journal -U $BOOT -d "$T/boot" "$T/fs" || fail mke2fs; put 33
	truncate -s 310M "$T/fs"; mkfs.xfs -q -m uuid=$SRV "$T/fs" || fail mkfs.xfs
	mount -o loop "$T/fs" "$T/m" || skip "no loop devices, or no XFS here"
	cp "$T/tree"/srv/* "$T/m" && umount "$T/m"; put 40
}
loop() {	# FILE NAME MIB LENGTH
	local l
	l=$(losetup --show -f -o $(($3 << 20)) --sizelimit $(($4 << 20)) "$1") || skip "no loop devices here"
	LOOPS+=("$l"); ln -sfn "$l" "$T/dev/$2"
}
attach() {	# FILE
	loop "$1" sda 0 $MB; loop "$1" sda1 1 4; loop "$1" sda2 5 24; loop "$1" sda3 29 4; loop "$1" sda4 33 6; loop "$1" sda5 40 310
}
places=(0 1 5 29 33 40)
for i in 1 2 3 4 5; do mkdir "$T/sys/block/sda/sda$i"; echo $i > "$T/sys/block/sda/sda$i/partition"; echo $((places[i] * 2048)) > "$T/sys/block/sda/sda$i/start"; done
words() { echo "$*" > "$T/proc/cmdline"; }
node() {
	echo 0 > "$T/count"; rm -f "$T/fired" "$T/commands" "$T/run"/{newids,said}*
	SYS=$T/sys PROC=$T/proc RUN=$T/run DEV=$T/dev LIB=$TOP/netboot/node PATH=$T/bin:$PATH /usr/bin/setsid -w busybox sh -c '. "$1"; netif= disk=sda system=
		say() { echo "say $*"; }; fail() { echo "fail $*"; exit 1; }; load_drivers() { :; }; esp() { :; }; report() { :; }
		for c in dd mv umount sync; do eval "$c() { \"$3/$c\" \"\$@\"; }"; done
		frisbee() { echo loads >&2; }; grow_disk() { exit; }; eval "$2"' sh "$TOP/netboot/init" "$1" "$T/bin" > "$T/said" 2>&1
} 2> /dev/null
ids() { for i in 1 2 3 4 5; do blkid -p -o value -s UUID "$T/dev/sda$i"; done | tr '\n' ' '; }
said() { check "says: $1" grep -qxF "$1" "$T/said" || sed 's/^/	/' "$T/said"; }
fresh() { detach; cp "$T/golden" "$T/disk"; attach "$T/disk"; }
no_list() { [ "$(dd if="$T/dev/sda" bs=512 skip=$((2048 - 64)) count=64 status=none | tr -d '\0' | wc -c)" = 0 ]; }
look() {	# everything in the mounted system is that of the new ones; prints what is not
	local new=("" $(ids)) left
	[ ${#new[@]} = 6 ] || { echo "identities: ${new[*]}"; return; }
	for p in 1:$FAT 2:$ROOT 3:$SWAP 4:$BOOT 5:$SRV; do [ "${new[${p%:*}]}" != "${p#*:}" ] || echo "partition ${p%:*} has the old identity"; done
	e2fsck -fn "$T/dev/sda2" > "$T/fsck" 2>&1 && e2fsck -fn "$T/dev/sda4" > "$T/fsck" 2>&1 || echo "ext4 is damaged"
	mount -o ro "$T/dev/sda5" "$T/m" || { echo "XFS cannot be mounted"; return; }
	diff -r "$T/tree/srv" "$T/m" > /dev/null || echo "files of XFS"
	umount "$T/m"
	mount -o ro "$T/dev/sda2" "$T/m" && mount -o ro "$T/dev/sda4" "$T/m/boot" || { echo "ext4 cannot be mounted"; return; }
	diff -r "$T/tree/many" "$T/m/many" > /dev/null || echo "files of ext4"
	[ "$(cat "$T/m/etc/fstab")" = "$(sed "s/$ROOT/${new[2]}/; s/=$FAT/=${new[1]}/; s/$SWAP/${new[3]}/; s/$BOOT/${new[4]}/; s/$SRV/${new[5]}/" "$T/tree/etc/fstab")" ] || echo "fstab"
	[ "$(cat "$T/m/boot/initrd.img-6.1")" = "$(cat "$T/m/etc/fstab" "$T/m/etc/initramfs-tools/conf.d/resume")" ] || echo "initramfs"
	[ "$(cat "$T/m/etc/initramfs-tools/conf.d/resume") $(cat "$T/m/etc/crypttab")" = "RESUME=UUID=${new[3]} cswap UUID=${new[3]} /dev/urandom swap" ] || echo "resume or crypttab"
	[ "$(cat "$T/m/boot/grub/grub.cfg")" = "$(sed "s/$ROOT/${new[2]}/g; s/$SWAP/${new[3]}/; s/$BOOT/${new[4]}/" "$T/boot/grub/grub.cfg")" ] || echo "grub.cfg"
	left=$(find "$T/m" -name '.newids*'); [ -z "$left" ] || echo "there is $left"
	cmp -s <(sed "s/$BOOT/${new[4]}/" "$T/boot/efi/EFI/debian/grubx64.efi") "$T/m/boot/efi/EFI/debian/grubx64.efi" || echo "GRUB with a UUID in it"
	umount "$T/m/boot" "$T/m"
	no_list || echo "the list is still there"
}
golden
OLD_IDS="$FAT $ROOT $SWAP $BOOT $SRV "

echo "== all of it"
words frisbee.order=1-2
fresh; before=$(sha256sum < "$T/disk"); node give_new_ids
check "without a word, nothing" [ -z "$(cat "$T/said")" -a "$before" = "$(sha256sum < "$T/disk")" ]
words frisbee.order=1-2 frisbee.newids=yes
CUT= node give_new_ids; COMMANDS=$(cat "$T/count"); cp "$T/commands" "$T/all"
said "say the filesystems of sda have new identities"
said "say personalise: /etc/other names an old identity of a filesystem, and stays as it is"
check "all is new: $(look)" [ -z "$(look)" ]
check "the serial of a FAT inside of another word stays"  eval 'debugfs -R "cat /grub/grub.cfg" "$T/dev/sda4" 2> /dev/null | grep -q "x-$FAT"'

echo "== $COMMANDS commands, cut off before each, and in the middle of tools"
cuts=0 goes=0
cut() {	# CUT
	local wrong l
	fresh
	CUT=$1 node give_new_ids
	! grep -q 'new identities$' "$T/said" || return 0
	cuts=$((cuts + 1))
	# What has reached the disk: of a tool that is cut off, all that it has written.
	case $1 in *@*) for l in "${LOOPS[@]}"; do blockdev --flushbufs "$l"; done ;; esac
	[ -z "${TORN:-}" ] || head -c 16 /dev/urandom | dd of="$T/dev/sda2" bs=1 seek=1128 conv=notrunc,fsync status=none
	cp "$T/disk" "$T/cut"
	detach; mv "$T/cut" "$T/disk"; attach "$T/disk"
	node load
	if grep -qx "say loads" "$T/said"; then
		# When all is done, half of the list may have been taken away.
		[ "$(ids)" = "$OLD_IDS" ] || [ "$1" = "$COMMANDS" ] || fail "cut $1: changed, and loaded again"
		no_list || fail "cut $1: there is something of a list"
		return
	fi
	goes=$((goes + 1))
	wrong=$(look)
	[ -z "$wrong" ] || { fail "cut $1: $wrong"; cat "$T/said"; }
}
tool() { sed -n "s/^\([0-9]*\) $1 .*/\1/p" "$T/all" | head -n 1; }
for ((i = STEP; i <= COMMANDS; i += STEP)); do cut $i; done
# tune2fs writes the superblock last, in pieces: with the first of them alone it is none.
TORN=yes cut "$(tool tune2fs)@pwrite:200"
for n in 1 2 20 60 100 300; do
	[ $STEP != 1 ] && [ $n != 60 ] || { cut "$(tool tune2fs)@pwrite:$n"; cut "$(tool xfs_db)@change:$n"; }
done
check "$cuts cuts, after $goes of them it went on with the list" [ $((cuts * STEP)) -ge 34 -a $((goes * 2)) -ge $cuts ]

echo "== another order loads again, and the list of the old one is wiped"
fresh; CUT=$(tool swaplabel) node give_new_ids; detach; attach "$T/disk"
words frisbee.order=1-3 frisbee.action=capture
node 'place=disk; capture_to_place() { echo reads; }; capture'
said "fail sda is not captured: only some of its filesystems have new identities; the order that was to give them can go on, or the disk is loaded anew"
words frisbee.order=1-3 frisbee.newids=yes
ANOTHER="a list of new identities of another load" HALF="half a list of new identities"
loads_again() {	# WHAT THE-DISK-HAS
	detach; attach "$T/disk"
	node load
	said "say sda has $2, which is taken away"
	check "$1: it loads" grep -qx "say loads" "$T/said"
	check "without a list" no_list
}
loads_again "another order" "$ANOTHER"
begun() { fresh; CUT=$(tool "$1") node give_new_ids; }	# TOOL that is not run any more
begun swaplabel; words frisbee.order=1-3 frisbee.newids=yes frisbee.image=other
loads_again "the same order, of another image" "$ANOTHER"
begun swaplabel; node 'mkdir "$RUN/newids.load"; load'; rmdir "$T/run/newids.load"
check "also when it cannot be compared" grep -qx "say loads" "$T/said"
words frisbee.order=1-3 frisbee.newids=yes
begun fatlabel; dd if="$T/golden" of="$T/disk" bs=1M skip=1 seek=1 conv=notrunc,sparse status=none; dd if="$T/golden" of="$T/disk" bs=1M skip=5 seek=5 count=24 conv=notrunc status=none
loads_again "the same order, when the disk was loaded in between" "$ANOTHER"
begun fatlabel; mount "$T/dev/sda2" "$T/m" && umount "$T/m"
loads_again "the same order, when the system was started in between" "$ANOTHER"
begun swaplabel; sfdisk -q --disk-id "$T/disk" 12345678-2222-3333-4444-555555555555
loads_again "the same order, of another table" "$ANOTHER"
begun fatlabel; quietly mkswap "$T/dev/sda2"
loads_again "the same order, when something else than ext4 is there now" "$ANOTHER"
begun fatlabel; dd if=/dev/zero of="$T/dev/sda" bs=512 seek=1986 count=1 conv=notrunc,fsync status=none
loads_again "a list of which one sector is missing" "$HALF"
begun swaplabel; dd if="$T/disk" of="$T/list" bs=512 skip=1984 count=64 status=none
words frisbee.order=1-4
fresh; node "frisbee() { command dd if='$T/list' of='$T/dev/sda' bs=512 seek=1984 conv=notrunc,fsync status=none; }; load"
said "say sda has $ANOTHER, which is taken away"
check "nor is one that the image has brought" no_list
words frisbee.order=1-3 frisbee.newids=yes

echo "== XFS that was used in between has what was written then"
begun xfs_db; mount "$T/dev/sda5" "$T/m"; echo new > "$T/m/new"; sync -f "$T/m"; cp "$T/disk" "$T/cut"; umount "$T/m"
detach; mv "$T/cut" "$T/disk"; attach "$T/disk"; node load
said "say the filesystems of sda have new identities"
mount "$T/dev/sda5" "$T/m"; check "a new file" [ "$(cat "$T/m/new")" = new ]; rm -f "$T/m/new"; umount "$T/m"
check "all is new: $(look)" [ -z "$(look)" ]

echo "== a list that cannot be written leaves nothing"
nothing_left() {
	mount -o ro "$T/dev/sda2" "$T/m"; mount -o ro "$T/dev/sda4" "$T/m/boot"
	check "nothing is left" [ -z "$(find "$T/m" -name '.newids*')" ]
	umount "$T/m/boot" "$T/m"
}
head=$(tool "dd.*seek=1984") body=$(tool "dd.*seek=1985")
fresh; FAILS="$head" node give_new_ids
said "fail sda is loaded, but its filesystems have their old identities: the list of changes cannot be written"
nothing_left; check "no list" no_list
fresh; FAILS="$body" node give_new_ids
said "fail sda is loaded, but its filesystems have their old identities: the list of changes cannot be written"
nothing_left; check "no list" no_list
fresh; FAILS="$body $((body + 1))" node give_new_ids
said "fail sda is loaded, but its filesystems have their old identities: the list of changes cannot be written, nor be taken away; files whose names begin with .newids- are left on it"
loads_again "half a list" "$HALF"
fresh; mount "$T/dev/sda2" "$T/m"; printf '#!/bin/sh\n/bin/busybox mount -o remount,ro /; exit 1\n' > "$T/m/usr/sbin/mkinitramfs"; umount "$T/m"; node give_new_ids
said "fail sda is loaded, but its filesystems have their old identities: personalise: /boot/initrd.img-6.1: mkinitramfs of the system failed; files whose names begin with .newids- are left on it"

begun swaplabel; detach; attach "$T/disk"
node 'streamswitch() { ! read_ids || echo "the list is there"; false; }; start_daemon - x'
check "before a stream, too" [ "$(cat "$T/said")" = "say sda has $ANOTHER, which is taken away
fail sda cannot be kept for streaming" ]

echo "== what is refused before the first change"
refused() {	# SENTENCE CHANGE...: CHANGE is made in the mounted ext4
	local sentence=$1; shift
	fresh
	mount "$T/dev/sda2" "$T/m"; mount "$T/dev/sda4" "$T/m/boot"; (cd "$T/m" && "$@") || fail "$*"; umount "$T/m/boot" "$T/m"
	node give_new_ids
	said "fail sda is loaded, but its filesystems have their old identities: $sentence"
	check "nothing has changed" [ "$(ids)" = "$OLD_IDS" ]
	mount -o ro "$T/dev/sda2" "$T/m"; mount -o ro "$T/dev/sda4" "$T/m/boot"
	check "nothing is left" [ -z "$(find "$T/m" -name '.newids*')" -a "$(grep -c $ROOT "$T/m/etc/fstab")" = 1 ]
	umount "$T/m/boot" "$T/m"
}
refused "personalise: /boot/initrd.img-6.1: mkinitramfs of the system failed" sh -c 'echo exit 1 > usr/sbin/mkinitramfs'
refused "personalise: /boot/initrd.img-6.1: the system has neither mkinitramfs nor dracut, which would make it anew" rm usr/sbin/mkinitramfs
refused "personalise: /boot/initrd.img-6.1: the system has no modules of the kernel that it is for" rm -r lib/modules/6.1
refused "personalise: there is no room for a new /etc/fstab" sh -c '{ cat /dev/zero > full; i=0; while echo full > full$i; do i=$((i + 1)); done; } 2> /dev/null; sync; while echo full > full$i; do i=$((i + 1)); done 2> /dev/null; :'
refused "personalise: there is no room for a new /boot/initrd.img-6.1" sh -c 'head -c 3M /dev/urandom > boot/initrd.img-6.1'
refused "personalise: the system is suspended: its memory is in /swapfile" sh -c 'echo "/swapfile none swap sw 0 0" >> etc/fstab; { head -c 4086 /dev/zero; echo S1SUSPEND; } > swapfile'
refused "personalise: /boot/grub/i386-pc/load.cfg: GRUB in front of the first partition finds its files by this UUID" sh -c "mkdir boot/grub/i386-pc; echo search.fs_uuid $ROOT > boot/grub/i386-pc/load.cfg"
refused "personalise: /etc/systemd/system/a.swap: systemd wants this UUID in the name of the unit, too" sh -c "mkdir -p etc/systemd/system; echo What=/dev/disk/by-uuid/$SWAP > etc/systemd/system/a.swap"
refused "the /boot of the system (LABEL=else) is not on sda" sed -i "s/UUID=$BOOT/LABEL=else/" etc/fstab
fresh; printf 'S1SUSPEND\0' | dd of="$T/dev/sda3" bs=1 seek=4086 conv=notrunc status=none; node give_new_ids
said "fail sda is loaded, but its filesystems have their old identities: the system is suspended: its memory is on sda3"
fresh; echo core | dd of="$T/dev/sda" bs=512 seek=2040 conv=notrunc status=none; node give_new_ids
said "fail sda is loaded, but its filesystems have their old identities: there are no 64 free sectors in front of the first partition, where the list of changes is kept"
check "nothing has changed" [ "$(ids)" = "$OLD_IDS" ]

echo "== a memory that is full"
full() {	# WHAT CODE [LEFT]
	fresh; node "$2; give_new_ids"
	said "fail sda is loaded, but its filesystems have their old identities: memory is full${3:-}"
	check "$1: nothing has changed" [ "$(ids)" = "$OLD_IDS" ]
}
full "identities" 'ln -s /dev/full "$IDS_LIST"'
full "files" 'with_progress() { shift 2; "$@" && ln -sf /dev/full "$IDS_LIST"; }' "; files whose names begin with .newids- are left on it"
full "superblocks" 'ln -s /dev/full "$RUN/newids.starts"'

echo "== an initramfs of dracut"
fresh; mount "$T/dev/sda2" "$T/m"; mkdir -p "$T/m/usr/bin"
sed 's/"$1 $3" = "-o 6.1"/"$*" = "--quiet --force --no-hostonly --no-hostonly-cmdline \/boot\/.newids-initrd.img-6.1 6.1"/; s/"$2"/"$5"/' "$T/m/usr/sbin/mkinitramfs" > "$T/m/usr/bin/dracut"
chmod 755 "$T/m/usr/bin/dracut"; printf '#!/bin/sh\nexit 1\n' > "$T/m/usr/sbin/mkinitramfs"; umount "$T/m"
node give_new_ids
said "say the filesystems of sda have new identities"
check "all is new: $(look)" [ -z "$(look)" ]
check "whatever its name is" [ "$(eval "$(sed -n '/^version_of/,/^}/p' "$TOP/netboot/personalise")"; for f in /boot/initrd.img-6.1-a /boot/initrd-6.1-a /boot/initramfs-6.1-a.img; do version_of $f; done | sort -u)" = 6.1-a ]

echo "== what begins anew leaves nothing mounted"
fresh
words frisbee.onfail=retry
node '. "$LIB/../init"; say() { echo "say $*"; }; pause_after_failure() { :; }; reboot() { echo reboot; exit; }
	mkdir -p "$RUN/system" "$RUN/part"; command mount "$DEV/sda2" "$RUN/system"; command mount "$DEV/sda4" "$RUN/system/boot"; command mount "$DEV/sda5" "$RUN/part"; fail why'
said "say FAILED: why"
check "nothing: $(grep " $T/run/" /proc/self/mounts)" eval '! grep -q " $T/run/" /proc/self/mounts && ! grep reboot "$T/said"'

echo "== only what another disk has, too"
words frisbee.order=1-2 frisbee.personalise=uuids
fresh; truncate -s 4M "$T/other"; quietly mkswap -U $SWAP "$T/other"; loop "$T/other" sdb1 0 4
node give_new_ids
now=($(ids))
check "one identity is new: ${now[*]}" [ "${now[0]} ${now[1]} ${now[3]} ${now[4]}" = "$FAT $ROOT $BOOT $SRV" -a "${now[2]}" != $SWAP ]
finish
