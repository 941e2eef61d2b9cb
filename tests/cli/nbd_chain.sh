#!/usr/bin/env bash
# An image and its deltas as one disk: the plugin, streamdisk, and deltas that do not belong there.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
requires mke2fs debugfs
# Three days of one filesystem, whose files lie in several chunks.
python3 - "$T" << 'PY'
import random, sys
r = random.Random(3)
for name, n in ("one", 3 << 20), ("two", 2 << 20), ("three", 1 << 20):
    open(f"{sys.argv[1]}/{name}", "wb").write(r.randbytes(n))
PY
truncate -s 24M "$T/fs"; mke2fs -q -F -t ext4 -E nodiscard "$T/fs"
change() { for c; do echo "$c"; done | debugfs -w -f - "$T/fs" > "$T/debugfs" 2>&1 || fail "debugfs: $(cat "$T/debugfs")"; }
day() { "$BIN/imagezip" -q "$T/fs" "$T/$1.ndz" || fail "imagezip $1"; }
change "write $T/one one" "write $T/two two"; day mon
change "rm one" "write $T/three three"; day tue
change "rm two" "write $T/one again"; day wed
delta() { "$BIN/imagedelta" -q "$@" || fail "imagedelta $*"; }
delta "$T/mon.ndz" "$T/tue.ndz" "$T/tue.delta"; delta "$T/tue.ndz" "$T/wed.ndz" "$T/wed.delta"
for d in mon tue wed; do "$BIN/imageunzip" -q "$T/$d.ndz" "$T/$d.out" || fail "imageunzip $d"; done

check "a base alone" comes_out "$T/mon.out" image="$T/mon.ndz"
check "a base and a delta" comes_out "$T/tue.out" image="$T/mon.ndz" delta="$T/tue.delta"
check "a base and two deltas" comes_out "$T/wed.out" image="$T/mon.ndz" delta="$T/tue.delta" delta="$T/wed.delta"
check "no complaint" [ ! -s "$T/nbd.log" ]
nbd "nbdinfo --map --totals \$uri > '$T/map'" image="$T/mon.ndz" delta="$T/tue.delta" delta="$T/wed.delta"
nbd "nbdinfo --map --totals \$uri > '$T/map.whole'" image="$T/wed.ndz"
check "what is stored is what the newest image stores" cmp "$T/map" "$T/map.whole"

refused "is a delta, which cannot be read without its base" image="$T/tue.delta"
refused "is a whole image, not a delta" image="$T/mon.ndz" delta="$T/tue.ndz"
refused "is a delta of" image="$T/mon.ndz" delta="$T/wed.delta"
refused "is a delta of" image="$T/mon.ndz" delta="$T/tue.delta" delta="$T/tue.delta"
refused "No such file" image="$T/mon.ndz" delta="$T/nothing"
refused "no store is given" image="$T/mon.ndz" delta=store:x
# Damage in any of them is an error, and only where it is.
cp "$T/wed.delta" "$T/bad.delta"; spoil_byte "$T/bad.delta" $(($(stat -c %s "$T/bad.delta") / 3))
if comes_out "$T/wed.out" image="$T/mon.ndz" delta="$T/tue.delta" delta="$T/bad.delta" 2> /dev/null; then fail "a damaged delta"; fi
check "which is said: $(head -n 1 "$T/nbd.log")" grep -q "bad.delta" "$T/nbd.log"

SD=$BIN/streamdisk
check "streamdisk lists it" quietly "$SD" --delta "$T/tue.delta" --delta "$T/wed.delta" "$T/mon.ndz"
status 1 "$SD" "$T/tue.delta"
[ -c /dev/fuse ] && { : < /dev/fuse; } 2> /dev/null && command -v nbdfuse > /dev/null || { echo "no FUSE here: attaching is left out"; finish; }
export XDG_RUNTIME_DIR=$T; mkdir "$T/m"
"$SD" --json --ro --file --delta "$T/tue.delta" --delta "$T/wed.delta" "$T/mon.ndz" "$T/m" > "$T/attached" 2> "$T/sd.log" & sd=$!
CLEANUP+=("kill $sd 2> /dev/null; wait $sd 2> /dev/null")
begins $sd [ -s "$T/attached" ]
check "streamdisk attaches it" cmp "$T/wed.out" "$T/m/disk"
kill $sd; wait $sd; check "and ends well" [ $? = 0 ]
finish
