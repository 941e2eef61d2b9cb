#!/usr/bin/env bash
# Power cuts of a machine whose disk is tracked by dm-era: era_power_guest writes to the disk and copies it all the while.
# Its disks, that of the tracker's metadata among them, keep what was flushed; what was not is lost or torn.  After each cut
# the next sync makes disk and copy equal.
#	ROUNDS=50 SEED=7 tests/run vm/era_power	more cuts, others
. "$(dirname "$0")/lib.sh"
requires dmsetup era_invalidate nbdkit
F=$B/tests/nbdkit/nbdkit-faults-filter.so
vm_accel
vm_ramdisk "$TOP/tests/vm/era_power_guest" "$BIN"/{dmextract,dmmerge,dsync} dmsetup era_invalidate <<- 'I'
	drivers/md/dm-era.ko
	drivers/md/dm-snapshot.ko
	drivers/block/virtio_blk.ko
	drivers/virtio
	fs/ext4
	crypto/crc32c_generic.ko
I
# The tracked disk, the tracker's metadata, the copy, and /var/lib.
truncate -s 16M "$T/a" "$T/b" "$T/c"; truncate -s 64M "$T/d"; mke2fs -q -F -t ext4 "$T/d" || fail "mke2fs"

disks() {	# [DISK THAT LOSES POWER, AT WHICH OF ITS WRITES]
	local d faults
	rm -f "$T/cut"; DRIVES=() SERVERS=()
	for d in a b c d; do
		faults=(); [ "$d" != "${1:-}" ] || faults=("faults-crash-at=$2" "faults-seed=$2" "faults-mark=$T/cut")
		rm -f "$T/$d.sock"
		nbdkit -f -U "$T/$d.sock" --filter="$F" file "$T/$d" "${faults[@]}" 2> "$T/$d.log" & SERVERS+=($!); PIDS+=($!)
		begins $! listens_at "$T/$d.sock"
		DRIVES+=(-drive "file=nbd:unix:$T/$d.sock,format=raw,if=virtio")
	done
}
# The disks go first: what they have not flushed is lost with them.
power_goes() {	# NAME
	local p
	{ kill -9 "${SERVERS[@]}"; kill -9 "${VM_PID[$1]}"
	for p in "${SERVERS[@]}" "${VM_PID[$1]}"; do wait "$p"; done; } 2> /dev/null
	unset "VM_PID[$1]"
}
in_order() {	# NAME WORDS
	disks; vm_guest "$1" "$2"
	vm_sees "$1" 300 'POWER: [0-9]* failures'; vm_ends "$1" 60
	for p in "${SERVERS[@]}"; do kill "$p"; wait "$p"; done
}
said() { vm_said "$1"; sed 's/\r$//' "$LOGS/$1.log" | grep -a '^POWER: started'; }	# NAME
is_cut() { [ -e "$T/cut" ]; }
writes() { is_cut || grep -a -q "POWER: writing" "$LOGS/$1.log"; }	# NAME

RANDOM=${SEED:-1}
in_order power0 "first"
said power0
for round in $(seq 1 "${ROUNDS:-4}"); do
	disk=abcd; disk=${disk:RANDOM % 4:1} at=$((1 + RANDOM % 300)) seconds=$((RANDOM % 8))
	[ $round != 1 ] || disk=none
	name=power$round; disks $disk $at; vm_guest $name "seed=$RANDOM"
	vm_soon 300 writes $name || vm_gives_up $name "neither a cut nor a sync"
	SOON=$seconds soon is_cut	# the power goes at any time after the first sync
	echo "== round $round: the power goes $(is_cut && echo "at write $at of disk $disk" || echo "$seconds s after the first sync")"
	power_goes $name
	said $name
	check "no failure in round $round" sh -c "! grep -a -q '^FAIL' '$LOGS/$name.log'"
done
in_order power-last "last"
said power-last
check "no failure after the last cut" grep -q -a '^POWER: 0 failures' "$LOGS/power-last.log"
check "a cut is noticed" grep -q -a "not ended cleanly" "$LOGS"/power[1-9]*.log "$LOGS/power-last.log"
finish
