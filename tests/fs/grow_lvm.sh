#!/usr/bin/env bash
# growfs and LVM: the physical volume is grown, and the volume that holds the root of a system,
# or the one that --fit-lv names, gets the room, with its filesystem.  LVM's own commands work on
# its metadata; the device mapper, which kernels of tests need not have, is a script that
# attaches loop devices to the extents.
. "$(dirname "$0")/resize_lib.sh"
requires lvm pvcreate vgcreate lvcreate
export LVM_SYSTEM_DIR=$T/lvm LVM_SUPPRESS_FD_WARNINGS=1 REAL_LVM DEVICES=$T/devices
REAL_LVM=$(command -v lvm)
mkdir -p "$T/lvm" "$T/bin"
cat > "$T/lvm/lvm.conf" << CONF
devices { use_devicesfile=0 obtain_device_list_from_udev=0 external_device_info_source="none"
	filter=[ "r|.*|" ] }
global { activation=0 locking_dir="$T/lvm/lock" event_activation=0 use_lvmpolld=0 }
backup { backup=0 archive=0 }
CONF
cat > "$T/bin/lvm" << 'SH'
#!/usr/bin/env bash
vol=${*: -1}; dev=; for ((i = 1; i < $#; i++)); do [ "${!i}" != --devices ] || { j=$((i + 1)); dev=${!j}; }; done
go() { [ ! -L "/dev/$1" ] || { losetup -d "$(readlink "/dev/$1")"; rm "/dev/$1"; }; }
come() {
	local start extent first n
	extent=$("$REAL_LVM" vgs --devices "$dev" --noheadings --nosuffix --units b -o vg_extent_size "${1%/*}")
	start=$("$REAL_LVM" pvs --devices "$dev" --noheadings --nosuffix --units b -o pe_start)
	IFS=:- read -r _ first n < <("$REAL_LVM" lvs --devices "$dev" --noheadings -o seg_pe_ranges "$1" | sed 's/^ *//')
	mkdir -p "/dev/${1%/*}"
	ln -s "$(losetup --show -f --offset $((start + first * extent)) --sizelimit $(((n - first + 1) * extent)) "$dev")" "/dev/$1"
}
echo "$*" >> "$DEVICES"
case "$*" in
lvchange*"-a y"*) come "$vol" ;;
lvchange*"-a n"*) go "$vol" ;;
vgchange*"-a n"*) for l in /dev/"$vol"/*; do go "${l#/dev/}"; done; rmdir "/dev/$vol" ;;
pvresize*) [ ! -e "$DEVICES.no_pvresize" ] || exit 1; exec "$REAL_LVM" "$@" ;;
lvextend*)
	[ ! -e "$DEVICES.stop" ] || exit 1
	[ ! -e "$DEVICES.wait" ] || { : > "$DEVICES.waits"; while [ -e "$DEVICES.wait" ]; do sleep 0.05; done; }
	"$REAL_LVM" "$@" && go "$vol" && come "$vol" ;;
*) exec "$REAL_LVM" "$@" ;;
esac
rc=$?
rmdir "/dev/${vol%/*}" 2> /dev/null
exit $rc
SH
# As busybox's: it tries no filesystem that is not named, when no module is loaded.
cat > "$T/bin/mount" << SH
#!/bin/sh
case " \$* " in *" -t "*) exec $(type -P mount) "\$@" ;; esac
exit 1
SH
chmod +x "$T/bin/lvm" "$T/bin/mount"
VG=grow$OWN_NUMBER
CLEANUP+=('for l in /dev/$VG/*; do losetup -d "$(readlink $l)"; done 2> /dev/null; rm -rf "/dev/$VG"')
# The kernel has a device mapper, as far as growfs looks.
echo '236 device-mapper' > "$T/misc"; mount --bind "$T/misc" /proc/misc || skip "no bind mounts"
CLEANUP+=('umount /proc/misc')
do_lvm() { "$REAL_LVM" "$@" > "$T/quiet" 2>&1 || fail "$*: $(cat "$T/quiet")"; }

mkdir -p "$T/files/etc"; echo 'ID=debian' > "$T/files/etc/os-release"
make_fs ext4 16M; mv "$T/fs" "$T/root"
(cd "$T/files" && find . -type f -exec sha256sum {} + | sort -k 2) > "$T/sums"
rm -r "$T/files/etc"; truncate -s 8M "$T/home"; mke2fs -q -F -t ext4 "$T/home"
rm -f "$T/small"; truncate -s 40M "$T/small"; table "$T/small" gpt 36
l=$(losetup --show -f -o 4M --sizelimit 32M "$T/small"); CLEANUP+=("losetup -d $l 2> /dev/null")
do_lvm pvcreate -y --devices "$l" "$l"
do_lvm vgcreate --devices "$l" -s 1m "$VG" "$l"
do_lvm lvcreate --devices "$l" -y -an -Zn -Wn -L 8M -n home "$VG"
do_lvm lvcreate --devices "$l" -y -an -Zn -Wn -L 16M -n root "$VG"
place() { DEVICES=/dev/null "$T/bin/lvm" lvchange --devices "$l" -a y "$VG/$1" && cp "$T/$1" "/dev/$VG/$1" && sync "/dev/$VG/$1"; DEVICES=/dev/null "$T/bin/lvm" lvchange --devices "$l" -a n "$VG/$1"; }
place home; place root; sync "$l"; losetup -d "$l"
export PATH=$T/bin:$PATH

bytes_of() { "$REAL_LVM" lvs --devices "$l" --noheadings --nosuffix --units m -o lv_size "$VG/$1" | sed 's/^ *//; s/\..*//'; }
looked_at() {	# WHAT ROOT-MIB HOME-MIB
	l=$(losetup --show -f -o 4M "$T/disk")
	check "$1: sizes $(bytes_of root) $(bytes_of home)" [ "$(bytes_of root) $(bytes_of home)" = "$2 $3" ]
	check "$1: no tag is left" [ -z "$("$REAL_LVM" vgs --devices "$l" --noheadings -o vg_tags | tr -d ' ')" ]
	"$T/bin/lvm" lvchange --devices "$l" -a y "$VG/root"
	check "$1: its own fsck" quietly e2fsck -f -n "/dev/$VG/root"
	mount -t ext4 -o ro "/dev/$VG/root" "$T/m"; check "$1: the files are the same" same_files; umount "$T/m"
	"$T/bin/lvm" lvchange --devices "$l" -a n "$VG/root"
	losetup -d "$l"
	check "$1: nothing is active" [ ! -e "/dev/$VG" ]
}
larger() { cp "$T/small" "$T/disk"; truncate -s 80M "$T/disk"; }

echo "== the volume that holds the root of a system"
larger; "$BIN/growfs" --json "$T/disk" > "$T/report"; check "growfs: $(cat "$T/report")" [ $? = 0 ]
check "it says so" json "$T/report" "partitions[1].volume=$VG/root" \
    'partitions[1].volume_filesystem=ext4' 'partitions[1].became=grew'
check "ext4: $(json "$T/report" 'partitions[1].volume_filesystem_is_bytes')" \
    [ "$(json "$T/report" 'partitions[1].volume_filesystem_is_bytes')" -gt $((50 << 20)) ]
looked_at root 59 8
check "once more: nothing is to do" json <("$BIN/growfs" --json "$T/disk") 'partitions[1].became=fills'
check "the partition alone is seen" [ "$(grep -v -c -e '--devices' "$T/devices")" = \
    "$(grep -c -e '^vgs --readonly' "$T/devices")" ]
echo "== the one that --fit-lv names"
larger; check "growfs" quietly "$BIN/growfs" --fit-lv="$VG/root" "$T/disk"; looked_at named 59 8
larger; before=$(sha256sum < "$T/disk")
status 1 "$BIN/growfs" --fit-lv="$VG/nobody" "$T/disk"
check "one that is not there: $(cat "$T/stderr")" grep -q "is no linear volume" "$T/stderr"
check "not a byte is changed" [ "$before" = "$(sha256sum < "$T/disk")" ]
larger
check "the group alone gets the room" grep -q "LVM2_member grew from .* the volume other/one is in another group" \
    <("$BIN/growfs" --fit-lv=other/one "$T/disk")
echo "== by the installation"
"$BIN/imagezip" -q "$T/small" "$T/small.ndz" 2> "$T/said" || fail "imagezip: $(cat "$T/said")"
onto() {	# WAY...
	rm -f "$T/disk"; truncate -s 80M "$T/disk"
	quietly "$BIN/imageunzip" "$@" "$T/small.ndz" "$T/disk"
}
check "--fit" onto --fit
check "it says so: $(grep LVM2 "$T/quiet")" grep -q \
    "partition 2: LVM2_member grew .*; volume $VG/root: ext4 grew" "$T/quiet"
looked_at --fit 59 8
check "--grow --fit-lv" onto --grow --fit-lv="$VG/home"; looked_at --fit-lv 16 51
: > "$T/devices.stop"; onto --fit > "$T/said"; check "a command that fails: $?" [ $? != 0 ]; rm "$T/devices.stop"
status 1 "$BIN/imageunzip" --status "$T/disk"
check "goes on" onto --fit; looked_at afterwards 59 8
echo "== a signal ends the installation while the volume grows"
: > "$T/devices.wait"; rm -f "$T/disk"; truncate -s 80M "$T/disk"
FRISBEE_TEST_TIMES=grace=60 "$BIN/imageunzip" -q --fit "$T/small.ndz" "$T/disk" > "$T/quiet" 2> "$T/said" & pid=$!
begins $pid [ -e "$T/devices.waits" ] || fail "imageunzip: $(cat "$T/said")"
kill $pid; wait $pid
check "what it has started has ended" [ -z "$(pgrep -f "$T/bin/lvm lvextend")" ]; rm "$T/devices.wait"
check "it says so: $(cat "$T/said")" grep -q "interrupted by SIGTERM; the target is incomplete" "$T/said"
check "nothing is active" [ ! -e "/dev/$VG" ]
check "the same command goes on" onto --fit; looked_at "the same command" 59 8
echo "== interrupted between the two"
larger; : > "$T/devices.stop"
status 1 "$BIN/growfs" "$T/disk"; rm "$T/devices.stop"
check "the table is not put back" grep -q "stays as long as it has become" "$T/stderr"
check "the tag is named" grep -q "; the next run goes on, as a tag says: vgchange --deltag growfs/root/7 $VG takes it away" "$T/stderr"
check "growfs goes on" quietly "$BIN/growfs" "$T/disk"; looked_at again 59 8
larger; : > "$T/devices.no_pvresize"
status 1 "$BIN/growfs" "$T/disk"; rm "$T/devices.no_pvresize"
check "a physical volume that does not grow: the table is put back" grep -q "the partition table is what it was before" "$T/stderr"
looked_at "and nothing is begun" 16 8
echo "== a group of this name is on the machine"
larger; mkdir "/dev/$VG"; before=$(sha256sum < "$T/disk")
"$BIN/growfs" "$T/disk" > "$T/said" 2>&1
check "status 4" [ $? = 4 ]
check "it is left alone" grep -q "this machine has a group $VG already" "$T/said"
check "not a byte is changed" [ "$before" = "$(sha256sum < "$T/disk")" ]
rmdir "/dev/$VG"
finish
