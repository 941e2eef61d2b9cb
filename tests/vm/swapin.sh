#!/usr/bin/env bash
# Three machines are swapped in by one command: one with BIOS, one with UEFI, and one whose plug is
# pulled while it loads.  The controller writes the orders, switches the machines on, serves them,
# and says which two are done, and at which step the third has failed.
. "$(dirname "$0")/swapin_lib.sh"
[ -e $OVMF ] || skip "needs UEFI firmware (ovmf)"

# What the controller's --power runs is only noted; this script switches the machines on.
power_on() {	# NODE NUMBER
	local card=virtio-net-pci,netdev=n,mac=$(mac_of "$2"),bootindex=1 firmware=(-machine pc,graphics=off)
	if [ "$1" = uefi ]; then
		cp "${OVMF/CODE/VARS}" "$T/vars"
		firmware=(-machine q35 -drive if=pflash,format=raw,readonly=on,file=$OVMF -drive if=pflash,format=raw,file="$T/vars")
		card=$card,romfile=
	fi
	vm_start "$1" "${firmware[@]}" -netdev tap,id=n,ifname="tap$2",script=no,downscript=no -device "$card" \
	    -drive file="$T/$1.disk",format=raw,if=none,id=d,cache=unsafe -device virtio-blk-pci,drive=d
}

poison "$T/disk" 40960000
head -c 16000000 /dev/urandom | dd of="$T/disk" conv=notrunc status=none
controller_lan bios uefi plug
"$BIN/imagezip" -q -r "$T/disk" /srv/netboot/images/lab.ndz || fail imagezip
truncate -s 40960000 "$T/bios.disk" "$T/uefi.disk" "$T/plug.disk"
controller_up -W 4M

"$BIN/swapin" --json --tries=1 --words="frisbee.after=poweroff" bios,uefi,plug lab.ndz > "$T/out" 2> "$T/err" &
SWAPIN=$!
wait_until 30 "the machines are not switched on" powered 3
check "each with its address" [ "$(sort "$T/power" | tr '\n' ' ')" = "bios cycle $(mac_of 1) plug cycle $(mac_of 3) uefi cycle $(mac_of 2) " ]
power_on bios 1; power_on uefi 2; power_on plug 3
vm_sees plug 600 'frisbee: loading'
wait_until 240 "nothing is loaded" eval '[ "$(stat -c %b "$T/plug.disk")" -gt 1000 ]'
echo "== the plug is pulled, at $SECONDS s"
kill -9 "${VM_PID[plug]}"
vm_sees bios 600 'frisbee: DONE: vda is loaded'
vm_sees uefi 600 'frisbee: DONE: vda is loaded'
vm_ends bios 60; vm_ends uefi 60
wait "$SWAPIN"; rc=$?
echo "== the end, at $SECONDS s"; cat "$T/err"
check "not all is done: status 1" [ $rc = 1 ]
check "two of three" said nodes.done=2 nodes.failed=1
check "which one has failed, and where" said "members[name=plug].phase=failed" "members[name=plug].last_words~^while loading(:|$)"
check "the times of the phases" said phases.loading.nodes=2 phases.booting.nodes=3
for m in bios uefi; do check "the disk of $m" cmp "$T/disk" "$T/$m.disk"; done
check "no order is left" [ -z "$(/srv/netboot/order)" ]
[ "$bad" = 0 ] || vm_log_more
finish
