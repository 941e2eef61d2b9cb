#!/usr/bin/env bash
# WRITERS (4) programs at one store in a folder, KILLS (40) of them killed at any moment, while verify runs: nothing is lost, nothing comes
# back, verify is right at every moment, and repair finds nothing.  Then DAMAGES (10) times something is damaged by lot, and repaired.
# With DISK="MKE2FS-OPTIONS" the store is on a small disk of its own, which is filled to its last block by turns (needs root).
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3
export BIN EMUSTORE=$T/S
many=40; instrumented && many=8
KILLS=${KILLS:-$many} WRITERS=${WRITERS:-4} SEED=${SEED:-1} DAMAGES=${DAMAGES:-10}
python3 - "$T" << 'PY'
import random, sys
r = random.Random(3)
data = bytearray(r.randbytes(900000 // 512 * 512))
for n in "abcdef":
    open(sys.argv[1] + "/" + n, "wb").write(data)
    at = r.randrange(len(data) - 70000)
    data[at:at + 65536] = r.randbytes(65536)
PY
zip_all a b c d e f
mkdir "$T/w"
if [ -n "${DISK:-}" ]; then
	[ "$(id -u)" = 0 ] || skip "needs root, to mount"
	# shellcheck disable=SC2086
	truncate -s 48M "$T/disk" && mke2fs -q -F -m 0 $DISK "$T/disk" && mkdir "$T/m" && mount -o loop "$T/disk" "$T/m" || skip "cannot be mounted"
	CLEANUP+=("umount '$T/m'")
	export EMUSTORE=$T/m/S FILL=$T/m/fill
fi
es init --pack-size 300k && es -q put always "$T/a.ndz" || fail "a store"
check "writers that are killed" "$PYTHON" "$TOP/tests/helpers/store_torture.py" "$WRITERS" "$KILLS" "$SEED" "$T/w" "$T"/[a-f].ndz
check "verify --data" es -q verify --data
check "gc" es -q gc --all
check "nothing is left below new/" [ -z "$(ls "$EMUSTORE/new")" ]

echo "== damage by lot, and repair"
for i in a b c d e f; do es -q put last-$i "$T/$i.ndz" || fail "put last-$i"; done
RANDOM=$SEED
for ((n = 0; n < DAMAGES; n++)); do
	# packs without a table are no part of the store
	mapfile -t files < <(for t in "$EMUSTORE"/tables/*.toc; do t=${t##*/}; echo "$EMUSTORE/tables/$t"; ls "$EMUSTORE/packs/${t%.toc}.pack"; done 2> /dev/null)
	f=${files[RANDOM % ${#files[@]}]}
	case $((RANDOM % 4)) in
	0) rm "$f" ;;
	1) truncate -s $((RANDOM * 32768 % $(stat -c %s "$f"))) "$f" ;;
	*) printf 'XXXXXXXX' | dd of="$f" bs=1 seek=$(((RANDOM * 32768 + RANDOM) % $(stat -c %s "$f"))) conv=notrunc status=none ;;
	esac
	es -q verify --data > /dev/null 2>&1 && fail "damage $n of ${f#"$EMUSTORE/"}: verify --data says nothing"
	es -q repair > /dev/null 2> "$T/stderr"; rc=$?
	[ $rc = 0 ] || [ $rc = 3 ] || fail "damage $n of ${f#"$EMUSTORE/"}: repair: exit $rc: $(cat "$T/stderr")"
	put=0
	for i in a b c d e f; do	# right, or refused, and a put brings back what was lost
		if es -q get last-$i "$T/out" 2> /dev/null; then cmp -s "$T/out" "$T/$i.ndz" || fail "damage $n: wrong bytes of last-$i"; continue; fi
		es -q put again "$T/$i.ndz" && es -q rm again && put=1 || fail "damage $n: put"
		gets last-$i "$T/$i.ndz" || fail "damage $n: last-$i after a put"
	done
	[ $put = 1 ] || { es -q put again "$T/a.ndz" && es -q rm again; } || fail "damage $n: put"
	check "damage $n of ${f#"$EMUSTORE/"}: whole again" es -q verify --data
done
for i in a b c d e f; do check "last-$i at the end" gets last-$i "$T/$i.ndz"; done
finish
