#!/usr/bin/env bash
# nbdkit-ndz-plugin: an image served is the disk that imageunzip installs, holes and all.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
requires sfdisk mke2fs
a_disk sda
check "a disk with an ext4" comes_out "$T/sda.out" image="$T/sda.ndz"
check "no complaint" [ ! -s "$T/nbd.log" ]
check "by its name alone" comes_out "$T/sda.out" "$T/sda.ndz"

# What is free is a hole, as the image says it.
nbd "nbdinfo --map --json \$uri > '$T/map'" "$T/sda.ndz"
check "the map is what the image stores" python3 - "$T/map" "$T/sda.out" << 'PY'
import json, sys
runs, at = json.load(open(sys.argv[1])), 0
disk = open(sys.argv[2], "rb").read()
for r in runs:
    assert r["offset"] == at and r["type"] in (0, 3), r
    if r["type"] == 3: assert not any(disk[at:at + r["length"]])
    at += r["length"]
assert at == len(disk) and {r["type"] for r in runs} == {0, 3}
assert sum(r["length"] for r in runs if r["type"] == 3) > 8 << 20
PY
nbd "nbdinfo --size \$uri > '$T/size'; nbdinfo --can multi-conn \$uri && nbdinfo --is read-only \$uri" "$T/sda.ndz" || fail "several connections, read-only"
check "as large as the disk" [ "$(cat "$T/size")" = "$(stat -c %s "$T/sda")" ]

# Any place and size, by one client with many requests and by many clients, in little memory.
ulimit -n 4096
nbdkit -f -t 4 -U "$T/sock" -P "$T/pid" "$PLUGIN" "$T/sda.ndz" cache=2M 2> "$T/nbd.log" & server=$!
CLEANUP+=("kill $server 2> /dev/null; wait $server 2> /dev/null")
soon [ -s "$T/pid" ]
check "16 requests in flight" python3 "$TOP/tests/helpers/nbd_reads.py" random "$T/sock" "$T/sda.out" 2000
peak=$(awk '/VmHWM/ { print $2 }' "/proc/$server/status")
check "memory: $((peak / 1000)) MB" [ "$peak" -lt 100000 ]
check "1000 connections" python3 "$TOP/tests/helpers/nbd_reads.py" many "$T/sock" "$T/sda.out" 1000
kill $server; wait $server
check "no complaint" [ ! -s "$T/nbd.log" ]

# What is wrong is said before anything is served.
refused "No such file" "$T/nothing.ndz"
refused "not an ndz image" "$T/sda.fs"
refused "an image is needed" cache=2M
refused "which a disk of 1048576 bytes does not have" "$T/sda.ndz" size=1M
refused "unknown parameter \"imag\"" imag=x
refused "no store is given" store:x
refused "images are read from files" ftp://x/y
refused "not a pipe" image=-
check "what the plugin is" grep -q "^ndz_sources=file,store,http,https,nbd,frisbee" <(nbdkit --dump-plugin "$PLUGIN")
finish
