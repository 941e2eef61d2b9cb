#!/usr/bin/env bash
# Images of partclone, as Clonezilla and FOG keep them, come in as docs/tour.md has it.
. "$(dirname "$0")/lib.sh"
requires partclone.ext4 partclone.restore sfdisk mke2fs e2fsck debugfs gzip zstd losetup
[ "$(id -u)" = 0 ] && [ -n "$(losetup -f 2> /dev/null)" ] || skip "needs root and loop devices"
mkdir "$T/files" "$T/clonezilla"; cp -r "$TOP/docs" "$T/files"
truncate -s 40M "$T/fs"; mke2fs -q -F -d "$T/files" "$T/fs"
truncate -s 48M "$T/disk"; printf 'start=2048,size=81920,type=83\n' | sfdisk -q "$T/disk"
dd if="$T/fs" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
head -c 440 /dev/urandom > "$T/boot"; dd if="$T/boot" of="$T/disk" conv=notrunc status=none

# What the two programs leave in their folders.
saved() { partclone.ext4 -q -c -F -L /dev/null -s "$T/fs" -o - 2> "$T/err"; }
sfdisk -d "$T/disk" > "$T/clonezilla/sda-pt.sf"; dd if="$T/disk" of="$T/clonezilla/sda-mbr" count=1 status=none
saved | gzip -1 | split -b 50000 - "$T/clonezilla/sda1.ext4-ptcl-img.gz."
saved | zstd -q > "$T/d1p1.img" || fail "partclone: $(cat "$T/err")"
check "in several pieces" [ "$(ls "$T/clonezilla" | wc -l)" -gt 3 ]

restore() {	# WHAT COMMAND: the partition comes from the command
	truncate -s 0 "$T/new"; truncate -s 48M "$T/new"
	dd if="$T/clonezilla/sda-mbr" of="$T/new" bs=440 count=1 conv=notrunc status=none; sfdisk -q "$T/new" < "$T/clonezilla/sda-pt.sf"
	local loop
	loop=$(losetup -f --show -o 1048576 --sizelimit 41943040 "$T/new") || fail "losetup"
	bash -c "$2" | partclone.restore -q -L /dev/null -s - -o "$loop" > "$T/restore.log" 2>&1 || fail "partclone.restore: $(tail -n 3 "$T/restore.log")"
	losetup -d "$loop"
	"$BIN/imagezip" -q --force "$T/new" "$T/new.ndz" || fail "imagezip"
	truncate -s 0 "$T/out"; truncate -s 48M "$T/out"; "$BIN/imageunzip" -q "$T/new.ndz" "$T/out" || fail "imageunzip"
	check "$1: the boot code" cmp -n 440 "$T/boot" "$T/out"
	check "$1: the table" cmp <(sfdisk -d "$T/disk" | grep start) <(sfdisk -d "$T/out" | sed "s|$T/out|$T/disk|" | grep start)
	dd if="$T/out" of="$T/part" bs=1M skip=1 status=none
	check "$1: the filesystem" quietly e2fsck -fn "$T/part"
	rm -rf "$T/came"; mkdir "$T/came"; debugfs -R "rdump /docs $T/came" "$T/part" 2> /dev/null
	check "$1: the files" diff -r "$T/files/docs" "$T/came/docs"
}
export T
restore Clonezilla 'cat "$T"/clonezilla/sda1.ext4-ptcl-img.gz.* | gunzip'
restore FOG 'zstd -dc "$T/d1p1.img"'
finish
