#!/usr/bin/env bash
# Disks that have less room than they say, so that writes behind their end are dropped or
# wrap round: an installation finds it in the end, and its mark stays.
. "$(dirname "$0")/lib.sh"
requires python3 nbdkit nbdfuse mkswap
[ -c /dev/fuse ] && { : < /dev/fuse; } 2> /dev/null || skip "needs FUSE"
L=${B:-$TOP/build/plain}/tests/nbdkit/nbdkit-lying-filter.so
MIB=1048576
says() { check "it says: $1" grep -q "$1" "$T/stderr"; }

# Disks that are full in front and behind; where they wrap round, the end comes to lie on
# the first partition.  Swap between them is not stored, so nothing else is written over.
disk_of() {	# MIB NAME: its last partition begins 9 MiB before the end
	truncate -s $(($1 - 18))M "$T/swap"; mkswap -q "$T/swap" 2> /dev/null
	python3 - "$1" "$T/$2" "$T/swap" << 'PY'
import random, struct, sys
size, name, swap = sys.argv[1:]
r, last = random.Random(42), int(size) - 9
parts = [(1, 8, 0x83), (9, last - 9, 0x82), (last, 9, 0x83)]
with open(name, "wb") as f:
    f.truncate(int(size) << 20)
    for i, (first, n, kind) in enumerate(parts):
        f.seek(446 + 16 * i)
        f.write(struct.pack("<4xB3xII", kind, first << 11, n << 11))
        f.seek(first << 20)
        f.write(open(swap, "rb").read(1 << 20) if kind == 0x82 else r.randbytes(n << 20))
    f.seek(510); f.write(b"\x55\xaa")
PY
	"$BIN/imagezip" -q "$T/$2" "$T/$2.ndz" || fail "imagezip"
}
disk_of 70 src; disk_of 498 large

mkdir "$T/m"
attach() {	# SIZE FILTER'S ARGUMENTS: $T/m/disk is such a disk
	nbdfuse "$T/m/disk" --command nbdkit -s --exit-with-parent --filter="$L" \
	    memory "$@" 2> "$T/nbd.log" & FUSE=$!
	begins $FUSE [ -e "$T/m/disk" ] && return
	fail "nbdfuse: $(cat "$T/nbd.log")"; finish
}
detach() { soon fusermount3 -u "$T/m" 2> /dev/null; wait $FUSE; FUSE=; }
FUSE=
CLEANUP+=('[ -z "$FUSE" ] || { fusermount3 -u -z "$T/m"; wait $FUSE; } 2> /dev/null')
install() { "$BIN/imageunzip" -q --in-place "$@" "$T/$IMAGE.ndz" "$T/m/disk"; }
IMAGE=src
marked() { status 1 "$BIN/imageunzip" --status "$T/m/disk"; }

echo "== an honest disk"
attach 70M lying-room=70M
for how in "" --read-back; do
	check "is installed ${how}" install $how
	check "is right" cmp "$T/src" "$T/m/disk"
done
detach

echo "== disks that wrap round"
# Few places are looked at again, at random, but the end comes to lie over all that the image
# stores of 16 MiB: so each try finds it, also with -f, by which several threads write.
wraps() {	# ROOM SIZE TRIES: with -f
	local how try
	for how in "" --read-back -f; do
		attach "$2" lying-room="$1"
		for ((try = 1; try == 1 || (try <= $3 && ${#how} == 2); try++)); do
			status 1 install $how
			says "what was written at sector .* less room than it"
			[ $(($1 % MIB)) != 0 ] || says "what is read $(($1 / 512)) sectors away"
		done
		marked
		detach
	done
}
wraps $((60 * MIB)) 70M 20
wraps $((64 * MIB)) 70M 1
IMAGE=large wraps $((1000003 * 512)) 498M 1

echo "== disks that drop what is written behind their end"
for how in "" --read-back; do
	attach 70M lying-room=60M lying-drops=true
	status 1 install $how
	says "less room than it"
	marked
	detach
done

echo "== a state of such a disk is not gone on with"
attach 70M lying-room=60M lying-drops=true
status 1 install --state="$T/state" --state-interval 0
check "the state is gone" [ ! -e "$T/state" ]
status 1 install --state="$T/state" --state-interval 0
says "less room than it"
status 1 install --state=target --state-interval 0
status 1 install --state=target --state-interval 0
says "less room than it"
detach
finish
