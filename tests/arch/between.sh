#!/usr/bin/env bash
# This machine's programs and another processor's understand each other: images, keys, hashes, stores, and the network.
# tests/arch/run starts it: NATIVE has this machine's programs, BIN starts the other's.
. "$(dirname "$0")/../cli/lib.sh"
own_network "$@"
[ -n "${NATIVE:-}" ] || skip "tests/arch/run starts this"
requires python3 mkfs.ext4 debugfs
FOREIGN=$BIN
both() { "$@" "$NATIVE" "$FOREIGN"; "$@" "$FOREIGN" "$NATIVE"; }
side() { if [ "$1" = "$NATIVE" ]; then echo here; else echo there; fi; }

echo "== one disk"
export SOURCE_DATE_EPOCH=1700000000
UUID=0123456789abcdef0123456789abcdef
truncate -s 24M "$T/ext"; mkfs.ext4 -qF -U 11111111-2222-3333-4444-555555555555 "$T/ext" || fail mkfs
python3 - "$T" << 'PY'
import random, sys
r = random.Random(9)
open(sys.argv[1] + "/file", "wb").write(r.randbytes(1 << 20) + bytes(1 << 19) + str(list(range(99999))).encode())
PY
debugfs -w -R "write $T/file file" "$T/ext" 2> /dev/null
truncate -s 40M "$T/disk"
printf 'label: gpt\nstart=2048, size=49152\nstart=53248, size=8192, type=swap\n' | quietly sfdisk "$T/disk" || fail sfdisk
dd if="$T/ext" of="$T/disk" bs=1M seek=1 conv=notrunc status=none
dd if=/dev/urandom of="$T/disk" bs=512 seek=61440 count=500 conv=notrunc status=none	# unpartitioned
for version in -u\ $UUID -3 --codec=zstd\ -u\ $UUID; do
	# shellcheck disable=SC2086
	for p in "$NATIVE" "$FOREIGN"; do "$p/imagezip" -q -f $version "$T/disk" "$T/$(side "$p").ndz" 2> "$T/stderr" || fail "imagezip $version $(side "$p"): $(cat "$T/stderr")"; done
	[ "$version" = -3 ] || check "the same image: $version" cmp "$T/here.ndz" "$T/there.ndz"
	for p in "$NATIVE" "$FOREIGN"; do
		for i in here there; do
			rm -f "$T/out"
			check "made $i, verified $(side "$p"): $version" "$p/imagedump" -q --verify "$T/$i.ndz"
			quietly "$p/imageunzip" -q "$T/$i.ndz" "$T/out" || fail "imageunzip"
			tail -c +1048577 "$T/out" | head -c 24M > "$T/fs"
			check "its filesystem is whole" quietly e2fsck -fn "$T/fs"
			debugfs -R "dump file $T/dumped" "$T/fs" 2> /dev/null; check "its file" cmp "$T/file" "$T/dumped"
		done
	done
done

echo "== keys, signatures, a delta"
"$NATIVE/imagekey" -q --sign-key "$T/n" && "$NATIVE/imagekey" -q --encrypt-key "$T/e" || fail imagekey
key_between() {	# MAKER READER
	local s; s=$(side "$1")
	"$1/imagezip" -q -f --sign "$T/n.key" --encrypt "$T/e" "$T/disk" "$T/s.ndz" || fail "sign $s"
	check "signed and encrypted $s" "$2/imagedump" -q --verify --verify-key "$T/n.pub" --decrypt "$T/e" "$T/s.ndz"
	"$1/imagehash" -c -q "$T/here.ndz" 2> /dev/null || "$1/imagehash" -c "$T/here.ndz" > /dev/null || fail "imagehash -c $s"
	check "a signature made $s" quietly "$2/imagehash" "$T/here.ndz" "$T/disk"
	"$2/imagezip" -q -f -H "$T/here.ndz.sig" "$T/disk2" "$T/delta.ndz" || fail "a delta with it"
	rm -f "$T/out"; "$2/imageunzip" -q "$T/here.ndz" "$T/out" && "$1/imageunzip" -q "$T/delta.ndz" "$T/out" || fail "a delta onto its base"
	tail -c +1048577 "$T/out" | head -c 24M > "$T/fs"
	debugfs -R "dump file2 $T/dumped" "$T/fs" 2> /dev/null; check "the delta's file" cmp "$T/disk3" "$T/dumped"
}
"$NATIVE/imagezip" -q -f -u $UUID "$T/disk" "$T/here.ndz"
head -c 300000 /dev/urandom > "$T/disk3"; cp "$T/disk" "$T/disk2"
cp "$T/ext" "$T/ext2"; debugfs -w -R "write $T/disk3 file2" "$T/ext2" 2> /dev/null
dd if="$T/ext2" of="$T/disk2" bs=1M seek=1 conv=notrunc status=none
both key_between

echo "== a store"
store_between() {	# MAKER READER
	local s; s=$(side "$1"); export EMUSTORE=$T/store-$s EMUSTORE_CACHE=$T/cache-$s
	"$1/emustore" init && "$1/emustore" -q put a "$T/here.ndz" && "$2/emustore" -q put b "$T/delta.ndz" || fail "put $s"
	rm -rf "$T/cache-$s"
	check "stored $s" cmp <("$2/emustore" -q get a -) "$T/here.ndz"
	check "and beside it" cmp <("$1/emustore" -q get b -) "$T/delta.ndz"
	check "verified" "$2/emustore" -q verify --data
}
both store_between

echo "== the network"
loads() {	# WHAT PORT OPTIONS...: from $SERVES to $LOADS
	local what=$1 port=$2 i server; shift 2
	rm -f "$T/where" "$T/node"
	# The size of datagrams that the kernel has joined is passed on by QEMU in this machine's byte order: each goes by itself.
	"$SERVES/frisbeed" --no-gso -q -T -1 -W 200M -A "$T/where" -p "$port" "$@" "$T/here.ndz" 2> "$T/server.log" & server=$!
	CLEANUP+=("kill $server 2> /dev/null")
	for ((i = 0; i < 1200; i++)); do [ -s "$T/where" ] && break; sleep 0.05; done
	port=$(tr -d '\0' < "$T/where" | sed 's/.*://')
	timeout 120 "$LOADS/frisbee" -q -p "$port" "$@" -T 60 "$T/node" || fail "frisbee, $what"
	wait $server || fail "frisbeed: $(cat "$T/server.log")"
	check "served $(side "$SERVES"), $what" quietly "$NATIVE/imagehash" "$T/here.ndz" "$T/node"
}
network_between() {
	SERVES=$1 LOADS=$2
	loads unicast 0 --unicast -m 127.0.0.1
	[ -z "$MULTICAST" ] || loads multicast 5009 --loopback -i 127.0.0.1 -m 239.192.7.9
}
"$NATIVE/imagehash" -c "$T/here.ndz" > /dev/null || fail "imagehash -c"
MULTICAST=
if [ -n "${NETWORK_INSIDE:-}" ]; then
	timeout 60 "$FOREIGN/frisbee" -q --loopback -i 127.0.0.1 -m 239.192.7.9 -p 5098 -T 1 "$T/none" 2> "$T/stderr"
	if grep -q "Protocol not available" "$T/stderr"; then echo "not by multicast: QEMU does not choose its interface here"; else MULTICAST=yes; fi
fi
both network_between

echo "== the protocol in virtual time"
# Without parity, which not every processor has a library for.
if [ -x "${NATIVE_B:-}/tests/sim/sim" ]; then
	for c in one stall x-all-old relay-outage "x-crowd --set clients=20 --set chunks=4"; do
		# shellcheck disable=SC2086
		"$NATIVE_B/tests/sim/sim" --case $c --json --set parity=0 > "$T/here.json"
		# shellcheck disable=SC2086
		${EMULATOR:-} "$B/tests/sim/sim" --case $c --json --set parity=0 > "$T/there.json"
		check "the same packets: $c" cmp "$T/here.json" "$T/there.json"
	done
fi
finish
