#!/usr/bin/env bash
# A store on a file system that is full, or read-only: nothing that was committed is lost, what is left behind does
# not grow, and it can be read.  Needs root, for a tmpfs.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3
mkdir "$T/fs"
[ "$(id -u)" = 0 ] && mount -t tmpfs -o size=8m none "$T/fs" 2> /dev/null || skip "needs root, to mount a tmpfs"
CLEANUP+=("umount '$T/fs'")
export EMUSTORE=$T/fs/S
used() { find "$T/fs/S" -type f -printf '%s\n' | awk '{ n += $1 } END { print int(n / 1024) }'; }
python3 - "$T" << 'PY'
import random, sys
r = random.Random(8)
open(sys.argv[1] + "/a", "wb").write(r.randbytes(3 << 20))
open(sys.argv[1] + "/b", "wb").write(r.randbytes(12 << 20))
open(sys.argv[1] + "/c", "wb").write(r.randbytes(1 << 19))
PY
zip_all a b c
mkdir "$T/dir"; cp "$T/b.ndz" "$T/dir"
leave() { rm -f "$T/fs/fill"; head -c $((($(df -k --output=avail "$T/fs" | tail -n 1) - $1) * 1024)) /dev/zero > "$T/fs/fill" 2> /dev/null; }	# KiB
echo "== init where there is no room"
refused=0
for left in 0 8 40 80 100; do
	leave $left
	if es init 2> "$T/stderr"; then rm -r "$T/fs/S"; continue; fi
	refused=$((refused + 1))
	[ "$(wc -l < "$T/stderr")" = 1 ] && grep -qE "full|No space" "$T/stderr" || fail "init with $left KiB: $(cat "$T/stderr")"
	[ ! -e "$T/fs/S" ] || fail "init with $left KiB has left $(ls "$T/fs/S")"
done
mkdir "$T/fs/S"; leave 0; status 1 es init
check "a folder that was there stays, and empty" [ "$(find "$T/fs/S" | wc -l)" = 1 ]
check "some had no room" [ $refused -ge 1 ]
rm -f "$T/fs/fill"

es init --pack-size 1M; check "put a" es -q put a "$T/a.ndz"; check "put c" es -q put c "$T/c.ndz"

echo "== full"
before=$(used)
for i in 1 2 3 4; do
	status 1 es -q put b "$T/b.ndz"
	quietly es -q import "$T/dir" 2> /dev/null && fail "import"
done
check "nothing is left behind: $(used) KiB, $before before" [ "$(used)" -le $((before + 200)) ]
check "verify --data" es -q verify --data
es -q rm c
for left in 0 8 40 100 400 1000; do	# KiB
	leave $left
	for c in "put b $T/b.ndz" "put d $T/c.ndz" "gc --all" "repair" "repair --index" "rm nobody"; do
		# shellcheck disable=SC2086
		es -q $c > /dev/null 2>&1; rc=$?
		[ $rc -le 3 ] || fail "exit $rc: $c with $left KiB"
		gets a "$T/a.ndz" || fail "a is not whole after $c with $left KiB"
	done
done
rm -f "$T/fs/fill"
check "verify --data" es -q verify --data
check "put goes on" es -q put c "$T/c.ndz"
check "get" gets c "$T/c.ndz"
check "gc" es -q gc --all
check "as small as before: $(used) KiB" [ "$(used)" -le $((before + 300)) ]

echo "== a store that fills its disk is made smaller"
rm -rf "$T/fs/S"; es init --pack-size 512k
for i in 1 2 3 4 5 6 7 8; do
	python3 -c 'import random, sys; i = int(sys.argv[2]); r = random.Random(i // 2); d = bytearray(r.randbytes(300000 // 512 * 512)); r = random.Random(100 + i); d += r.randbytes(100352); open(sys.argv[1], "wb").write(d)' "$T/m$i" $i
	"$BIN/imagezip" -q -r "$T/m$i" "$T/m$i.ndz"; es -q put m$i "$T/m$i.ndz" || fail "put m$i"
done
check "a reserve is there" [ -s "$T/fs/S/reserve" ]
leave 0
check "full" [ "$(df -k --output=avail "$T/fs" | tail -n 1)" -lt 8 ]
for i in 1 3 5 7; do check "rm m$i" es -q rm m$i; done
before=$(used)
check "gc" es -q gc --all
check "there is room again: $(used) KiB, $before before" [ "$(used)" -lt "$before" ]
for i in 2 4 6 8; do check "get m$i" gets m$i "$T/m$i.ndz"; done
check "verify --data" es -q verify --data
rm -f "$T/fs/fill"; rm -rf "$T/fs/S"; es init --pack-size 1M; for i in a c; do es -q put $i "$T/$i.ndz"; done

echo "== a pack at a time: no more room than for one is needed, whatever is dead"
rm -rf "$T/fs/S"; es init --pack-size 512k
for i in 1 2 3 4 5 6 7 8; do es -q put m$i "$T/m$i.ndz"; done
for i in 1 3 5 7; do es -q rm m$i; done
rm -f "$T/fs/S/reserve"; leave 700
check "gc" es -q gc --all
for i in 2 4 6 8; do check "get m$i" gets m$i "$T/m$i.ndz"; done
rm -f "$T/fs/fill"; rm -rf "$T/fs/S"; es init --pack-size 1M; for i in a c; do es -q put $i "$T/$i.ndz"; done

echo "== read-only"
mount -o remount,ro "$T/fs" || fail "remount"
check "list" [ "$(all_names | wc -w)" -ge 2 ]
for i in a c; do check "get $i" gets $i "$T/$i.ndz"; done
check "info" es -q info a
check "verify --data" es -q verify --data
check "imageunzip --store" "$BIN/imageunzip" -q --store "$EMUSTORE" a "$T/out"
check "the disk is right" cmp "$T/a" "$T/out"
status 1 es -q put d "$T/c.ndz"
status 1 es -q gc
finish
