#!/usr/bin/env bash
# A store on small filesystems that are full: ext4 with blocks of 1 KiB, and ext2, which keeps room for nothing that was not
# written: rm and gc make room, nobody is killed by a signal, nothing is lost.  Needs root.  IMAGES=N (6), more for a longer run.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3 mke2fs
[ "$(id -u)" = 0 ] || skip "needs root, to mount"
IMAGES=${IMAGES:-6} SEED=${SEED:-1}
python3 - "$T" "$IMAGES" "$SEED" << 'PY'
import random, sys
for i in range(int(sys.argv[2])):	# half of an image is the half of the one before
    r = random.Random(f"{sys.argv[3]} {i // 2}")
    open(f"{sys.argv[1]}/k{i}", "wb").write(r.randbytes(614400) + random.Random(f"{sys.argv[3]} own {i}").randbytes(614400))
PY
for ((i = 0; i < IMAGES; i++)); do zip_all k$i; done
full() { dd if=/dev/zero of="$T/m/fill" bs=1024 conv=notrunc oflag=append status=none 2> /dev/null; [ "$(df -k --output=avail "$T/m" | tail -n 1)" -lt 8 ]; }
on_a_full_disk() {	# MKE2FS-OPTIONS...
	local i
	echo "== mke2fs $*"
	truncate -s $((16 + 2 * IMAGES))M "$T/fs"; mke2fs -q -F -m 0 "$@" "$T/fs" || fail "mke2fs"
	mkdir -p "$T/m"; mount -o loop "$T/fs" "$T/m" 2> "$T/mount.log" || { echo "cannot be mounted: $(cat "$T/mount.log")"; return; }
	CLEANUP+=("umount '$T/m' 2> /dev/null")
	export EMUSTORE=$T/m/S
	check "init" es init --pack-size 512k 2> "$T/stderr"
	check "says nothing of a reserve that lacks" [ ! -s "$T/stderr" ]
	check "a reserve with room" [ "$(du -k "$EMUSTORE/reserve" | cut -f 1)" -ge 1536 ]
	for ((i = 0; i < IMAGES; i++)); do es -q put k$i "$T/k$i.ndz" || fail "put k$i"; done
	check "full" full
	for left in 0 4 8 10 12 16 20 24 32; do	# KiB
		truncate -s -${left}K "$T/m/fill"; sync -f "$T/m"
		for c in list "get k1 $T/out.ndz" "put again $T/k1.ndz" "rm again" "rm --all again"; do
			# shellcheck disable=SC2086
			es -q $c > "$T/out" 2>&1; rc=$?
			[ $rc -le 2 ] || fail "$c with $left KiB: exit $rc: $(cat "$T/out")"
		done
		full
	done
	for ((i = 0; i < IMAGES; i += 2)); do
		es -q rm k$i > "$T/out" 2>&1 || fail "rm k$i: exit $?: $(cat "$T/out")"
		full
		for c in "gc --all" list stats "get k$((i + 1)) $T/out.ndz"; do
			# shellcheck disable=SC2086
			es -q $c > "$T/out" 2>&1 || fail "$c: exit $?: $(cat "$T/out")"
		done
		full
	done
	for ((i = 1; i < IMAGES; i += 2)); do check "k$i" gets k$i "$T/k$i.ndz"; done
	check "verify --data" es -q verify --data
	rm "$T/m/fill"; check "put goes on, with the next number" es -q put k0 "$T/k0.ndz"
	check "k0:2" gets k0:2 "$T/k0.ndz"
	umount "$T/m"
}
on_a_full_disk -t ext4 -b 1024
on_a_full_disk -t ext2 -b 1024
on_a_full_disk -t ext2 -b 4096

echo "== no room for a reserve is said"
mkdir "$T/tmpfs" && mount -t tmpfs -o size=8m none "$T/tmpfs" || fail "a tmpfs"
CLEANUP+=("umount '$T/tmpfs'")
es --store "$T/tmpfs/S" init 2> "$T/stderr" || fail "init"
check "by init" grep -q "has no reserve, so gc cannot free room once the disk is full.*No space left" "$T/stderr"
es --store "$T/tmpfs/S" gc 2> "$T/stderr" || fail "gc"
check "by gc" grep -q "has no reserve" "$T/stderr"
finish
