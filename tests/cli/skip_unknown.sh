#!/usr/bin/env bash
# imagezip --skip-unknown leaves out partitions in which nothing is recognised, and says
# so; what is recognised, belongs to somebody by its type, or starts the machine, is kept.
. "$(dirname "$0")/lib.sh"
requires sfdisk mke2fs
truncate -s 40M "$T/disk"
sfdisk -q "$T/disk" << 'TABLE' || fail sfdisk
label: gpt
start=2048,size=2048,type=21686148-6449-6E6F-744E-656564454649
start=4096,size=20480
start=24576,size=20480
start=45056,size=4096,type=7FFEC5C9-2D00-49B7-8941-3EA10A5586B7
TABLE
noise() {	# BYTES MIB
	head -c "$1" /dev/urandom |
	    dd of="$T/disk" bs=1M seek=$2 conv=notrunc status=none
}
noise 18M 12; noise 1M 1
mke2fs -q -F -E offset=$((4096 * 512)) "$T/disk" 10m 2> "$T/quiet"
info() { "$BIN/imagezip" -i -q --json "$@" "$T/disk"; }
check "without it, all is stored" json <(info) "partitions[2].used_sectors=20480"
"$BIN/imagezip" --skip-unknown "$T/disk" "$T/i.ndz" 2> "$T/said"
check "with it" [ $? = 0 ]
why="no known filesystem: it is left out, as --skip-unknown says (-R 3 stores it)"
check "it is said" grep -q "warning: partition 3 (Linux filesystem): $why" "$T/said"
check "of one partition" [ "$(grep -c skip-unknown "$T/said")" = 1 ]
info --skip-unknown > "$T/json"
check "BIOS boot is stored" json "$T/json" "partitions[0].used_sectors=2048"
check "ext4 is stored" json "$T/json" "partitions[1].filesystem=ext4"
check "dm-crypt is stored" json "$T/json" "partitions[3].used_sectors=4096"
check "the unknown one is not" \
    json "$T/json" "partitions[2].used_sectors=0" "partitions[2].filesystem=ignored"
check "-R counts" json <(info --skip-unknown -R 3) "partitions[2].used_sectors=20480"
poison "$T/was" $((40 << 20)); cp "$T/was" "$T/target"
"$BIN/imageunzip" -q --in-place "$T/i.ndz" "$T/target" || fail imageunzip
same() { cmp -s -n "$1" -i $(($2 * 512)) "$T/target" "$3"; }
check "what the target has there stays" same $((10 << 20)) 24576 "$T/was"
check "the rest is there" same $((2 << 20)) 45056 "$T/disk"
finish
