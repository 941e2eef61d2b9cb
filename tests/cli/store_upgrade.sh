#!/usr/bin/env bash
# A store of the older format becomes one of today's: every image, label and version is there, whatever was removed is not; cut
# short at any point it is begun again; what cannot be read is named, and left out only when that is asked for.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3 zstd
zstd -dqc "$GOLDEN/store-format-2.tar.zst" | tar -x -C "$T" || fail "the old store"
zstd -dqfc "$GOLDEN/img/ext2.ndz.zst" > "$T/e.ndz"
mv "$T/S" "$T/old"; export EMUSTORE=$T/S
fresh() { rm -rf "$T/S"; cp -r "$T/old" "$T/S"; }
all_there() {
	[ "$(all_names)" = "a:1 a:2 ext2:1 lab/b:1" ] && gets a:1 "$T/a.ndz" && gets a:2 "$T/b.ndz" && gets lab/b "$T/b.ndz" && gets ext2 "$T/e.ndz"
}

fresh
status 1 es list
check "says what to do" grep -q "emustore upgrade" "$T/stderr"
status 1 es put x "$T/a.ndz"
check "upgrade" [ "$(es upgrade --json | field images)" = 4 ]
check "all of it is there" all_there
check "verify --data" es -q verify --data
check "a label, and a parent" bash -c '"$0" info lab/b > "$1"; grep -q os=none "$1" && grep -q "derived from a:1" "$1"' "$BIN/emustore" "$T/info"
check "nothing of the old store is left" [ -z "$(ls "$T/S/packs" | grep -v '^[0-9a-f]\{64\}.pack$')" ]
check "nothing is new" [ "$(es put --json a "$T/a.ndz" | field new_bytes)" = 0 ]
check "again: nothing to do" [ "$(es upgrade --json | field already_current)" = true ]

echo "== packs that a gc has copied, and did not come to remove"
fresh
for p in "$T"/S/packs/*.pack; do cp "$p" "${p%/*}/9${p##*/0}"; done
check "upgrade" [ "$(es upgrade --json | field images)" = 4 ]
check "all of it is there" all_there
check "verify --data" es -q verify --data

echo "== cut short"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
case $(basename "$(dirname "$BIN")") in *thread*) n=0 ;; *) n=1 ;; esac
runs=0 step=3; instrumented && step=12
while [ $n -gt 0 ]; do
	fresh; rm -f "$T/fired"
	FAULT=fsync:$n:kill:$T/S FAULT_FIRED=$T/fired ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 LD_PRELOAD=$shim "$BIN/emustore" -q upgrade > "$T/out" 2>&1
	[ -e "$T/fired" ] || break
	runs=$((runs + 1)) n=$((n + step))
	es -q upgrade && all_there || fail "killed at sync $n"
	[ -z "$(ls "$T/S/packs" | grep -v '^[0-9a-f]\{64\}.pack$')" ] || fail "old packs are left"
done 2> "$T/shell"
check "killed $runs times" [ $runs -gt 2 -o $n = 0 ]

echo "== damaged"
fresh
printf 'XXXXXXXX' | dd of="$T/S/packs/00000004.pack" bs=1 seek=20000 conv=notrunc status=none
status 3 es upgrade
check "says how" grep -q -- --force "$T/stderr"
check "it is as it was" grep -qx "emustore 2" "$T/S/format"
es --json --force upgrade > "$T/json" 2> "$T/stderr" || fail "--force"
check "leaves out what is damaged" [ "$(all_names | wc -w)" -lt 4 ]
check "counts it" [ "$(($(field images < "$T/json") + $(field images_left_out < "$T/json")))" = 4 ]
check "the rest is whole" es -q verify --data

echo "== the record of an image is damaged, so that nothing has its name"
fresh
python3 - "$T/S/packs/00000008.pack" << 'PY'
import struct, sys
f = open(sys.argv[1], "r+b"); d = f.read(); at = 0
while d[at + 4] != 3: at += (32 + struct.unpack_from("<I", d, at + 16)[0] + 7) // 8 * 8
f.seek(at + 100); f.write(b"XXXXXXXX")
PY
status 3 es upgrade
check "says where, and how to go on" grep -q "00000008.pack.*--force" "$T/stderr"
check "it is as it was" grep -qx "emustore 2" "$T/S/format"
check "nothing is removed" [ -e "$T/S/packs/00000008.pack" ]
es --json --force upgrade > "$T/json" 2> "$T/stderr" || fail "--force"
check "leaves it out" [ "$(all_names | wc -w)" = 3 ]
check "says so" grep -q "left out: damaged places .*00000008.pack" "$T/stderr"
check "counts it" [ "$(for i in images images_left_out damaged_places; do field $i < "$T/json"; done | xargs)" = "3 1 1" ]

echo "== without its format it is not taken for a store of today's, whose old packs nobody needs"
for how in "truncate -s 0" "truncate -s 5"; do
	fresh; $how "$T/S/format"; cp "$T/S/format" "$T/was"
	status 3 es list
	status 3 es repair
	check "says how" grep -q "emustore upgrade" "$T/stderr"
	check "the format is as it was" cmp "$T/S/format" "$T/was"
	echo "emustore 2" > "$T/S/format"
	check "upgrade" [ "$(es upgrade --json | field images)" = 4 ]
	check "all of it is there" all_there
done
finish
