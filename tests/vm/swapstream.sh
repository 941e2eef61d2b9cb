#!/usr/bin/env bash
# swapin --stream with a whole machine: its firmware boots from the network, it is usable when it has
# started the image's kernel and init while most of its disk is absent, and done when it uses the
# disk itself; the controller knows both.
. "$(dirname "$0")/swapin_lib.sh"
requires nbdkit curl
MORE=48
STREAMS=$MORE "$TOP/tests/vm/make-disk" "$NETBOOT/kernel" $PAYLOAD "$T/disk" "$T/files" || { fail make-disk; finish; }
controller_lan node
"$BIN/imagezip" -q "$T/disk" /srv/netboot/images/lab.ndz || fail imagezip
poison "$T/a" $(((160 + MORE + 32) << 20))
controller_up -W 8M
node_is() { curl -s http://127.0.0.1:8484/api/v1/nodes/node | grep -q "\"phase\": \"$1\""; }

# What the machine reads comes at once, and the rest within an hour, until it reads that, too.
"$BIN/swapin" --stream --json --tries=1 --words=frisbee.stream=rate=200k node lab.ndz > "$T/out" 2> "$T/err" &
SWAPIN=$!
wait_until 30 "the machine is not switched on" powered 1
vm_start node -machine pc,graphics=off -cpu max -m 1024 -no-reboot -netdev tap,id=n,ifname=tap1,script=no,downscript=no \
    -device virtio-net-pci,netdev=n,mac="$(mac_of 1)",bootindex=1 -drive file="$T/a",format=raw,if=virtio,cache=unsafe
vm_sees node 600 'vda is going to be filled from frisbee://.*@239.192.77.1:7701'
wait_until 60 "it does not report that it streams" node_is streaming
vm_sees node 600 'starting the kernel of the image'
vm_sees node 600 'vda is being filled; starting the system on /dev/mapper/frisbee1'
vm_sees node 600 'node login:'
wait_until 120 "it does not report that it is usable" node_is usable
check "the disk does not look whole" [ "$("$BIN/imageunzip" --status "$T/a" > /dev/null 2>&1; echo $?)" = 1 ]
check "the order is there, for a machine that is reset" [ -n "$(/srv/netboot/order)" ]
vm_types node root; vm_sees node 120 '# '
vm_types node 'echo written while it streams > /made-here; sync; echo synced'
vm_sees node 120 'synced'
vm_types node 'dd if=/dev/mapper/frisbee of=/dev/null bs=1M 2> /dev/null'
vm_sees node 900 'frisbee: DONE: vda is whole, and the system uses it directly'
wait "$SWAPIN"; rc=$?
echo "== the end, at $SECONDS s"; cat "$T/err"
check "status 0" [ $rc = 0 ]
usable=$(said "members[name=node].usable_after_s") whole=$(said "members[name=node].done_after_s")
check "both times: usable after $usable s, whole after $whole s" said "members[name=node].usable_after_s>0" \
    "members[name=node].done_after_s>$usable" usable_after.nodes=1
check "no order is left" [ -z "$(/srv/netboot/order)" ]
vm_types node 'md5sum < /srv/more; poweroff'
vm_sees node 120 "$(md5sum < "$T/files/srv/more" | cut -d' ' -f1)"
vm_ends node 120
check "nothing says that it is not whole" quietly "$BIN/imageunzip" --status "$T/a"
quietly e2fsck -fn "$T/a?offset=$((2048 * 512))" || fail "e2fsck"
check "what was written is there" [ "$(debugfs -R 'cat /made-here' "$T/a?offset=$((2048 * 512))" 2> /dev/null)" = "written while it streams" ]
[ "$bad" = 0 ] || vm_log_more
finish
