#!/usr/bin/env bash
# A partition whose type names an owner is stored completely, whatever filesystem a former
# use has left in it: what that calls free may hold the owner's data.  It is not grown.
. "$(dirname "$0")/lib.sh"
requires sfdisk mke2fs
mke2fs -q -F -t ext4 "$T/fs" 16m 2> "$T/quiet" || fail mke2fs
disk() {	# LABEL TYPE
	rm -f "$T/disk"; truncate -s 40M "$T/disk"
	printf '%s\n' "label: $1" "start=2048,size=32768,type=$2" | sfdisk -q "$T/disk" ||
	    fail sfdisk
	dd if="$T/fs" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
}
info() { "$BIN/imagezip" -i --json "$T/disk" > "$T/json" 2> "$T/said"; }
all() { json "$T/json" "partitions[0].used_sectors=32768"; }
while read -r label type owner; do
	disk $label $type; info
	check "$label $type: every sector of it" all
	check "it is $owner's" \
	    grep -q "it belongs to $owner.*every sector is stored" "$T/said"
	"$BIN/growfs" --dry-run "$T/disk" > "$T/said" 2>&1
	check "growfs leaves it alone" \
	    grep -q "left alone: it belongs to $owner" "$T/said"
done << 'TYPES'
gpt E75CAF8F-F680-4CEE-AFA3-B001E56EFC2D a pool of Windows Storage Spaces
gpt 53746F72-6167-11AA-AA11-00306543ECAC Apple Core Storage
gpt 381CFCCC-7288-11E0-92EE-000C2911D0B2 VMware's Virtual SAN
gpt 52414944-0000-11AA-AA11-00306543ECAC an Apple RAID
gpt 7FFEC5C9-2D00-49B7-8941-3EA10A5586B7 dm-crypt
gpt CAFECAFE-9B03-4F30-B4C6-B4B80CEFF106 Ceph
dos bf Solaris
dos fc VMware
TYPES

echo "== what begins like a pool of Storage Spaces, of the usual type"
disk gpt 0FC63DAF-8483-4772-8E79-3D69D8477DE4; info
check "without it, by the filesystem" json "$T/json" "partitions[0].used_sectors<10000"
printf 'SPACEDB ' | dd of="$T/disk" bs=1M seek=1 conv=notrunc status=none; info
check "with it, every sector" all
check "it is said" grep -q "and a member of a pool of Windows Storage Spaces" "$T/said"
finish
