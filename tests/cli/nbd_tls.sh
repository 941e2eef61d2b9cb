#!/usr/bin/env bash
# A source behind TLS, nbds://, with the key that a file of tls-psk-file has: listed, streamed to a disk, read by imagezip.
# Another key is refused, as is none, and a server without TLS.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs e2fsck debugfs
[ "$(nbdkit --dump-config | sed -n 's/^tls=//p')" = yes ] || skip "needs nbdkit with TLS"
a_disk sda; take ext files files=files
export XDG_RUNTIME_DIR=$T/run DISK_NBD_SECONDS=5; mkdir -p "$T/run"
SD=$BIN/streamdisk U=$TOP/tests/helpers/nbd_stream.py
echo "node:$(printf '5a%.0s' {1..32})" > "$T/psk"; echo "node:$(printf 'a5%.0s' {1..32})" > "$T/other.psk"
export_disk() {	# NAME OPTION...: of nbdkit; it answers at $T/NAME
	nbdkit -f -r -U "$T/$1" "${@:2}" file "$T/sda" 2> "$T/$1.log" & local server=$!
	CLEANUP+=("kill $server 2> /dev/null; wait $server 2> /dev/null")
	begins $server listens_at "$T/$1" || fail "no server: $(cat "$T/$1.log")"
}
with() { echo "nbds+unix://node@/?socket=$T/$1&tls-psk-file=$2"; }	# NAME KEY
export_disk safe --tls=require --tls-psk="$T/psk"
export_disk open

status 0 "$SD" "$(with safe "$T/psk")"
check "with its key it is listed" grep -q "partition 2: sectors 10240-43007" "$T/stdout"
cd "$T" || fail cd
status 0 "$SD" "$(with safe psk)"	# the name of the file is relative
for uri in "$(with safe "$T/other.psk")" "$(with safe "$T/no.psk")" "nbd+unix:///?socket=$T/safe" "$(with open "$T/psk")"; do
	status 1 "$SD" "$uri"
	check "refused: $(tail -n 1 "$T/stderr")" grep -qF "$uri: connecting: " "$T/stderr"
done
status 1 "$SD" "nbd+unix:///?socket=$T/open&tls-psk-file=$T/psk"
check "without TLS no file is read" grep -q "local file access" "$T/stderr"

echo "== streamed"
for key in psk other.psk; do
	poison "$T/disk" $DISK_BYTES; cp "$T/disk" "$T/was"
	rm -f "$T/sock" "$T/status"
	"$SD" --quiet --table=memory --when-idle=0 --status="$T/status" --socket="$T/sock" "$(with safe $key)" "$T/disk" 2> "$T/sd.log" & sd=$!
	CLEANUP+=("kill $sd 2> /dev/null; wait $sd 2> /dev/null")
	if [ $key = psk ]; then
		begins $sd listens_at "$T/sock" "$T/status"
		check "all of it comes" python3 "$U" wait "$T/status" 300
		kill $sd; wait $sd; got=$?; check "it ends: $(cat "$T/sd.log")" [ $got = 0 ]
		dd if="$T/disk" of="$T/part" bs=1M skip=5 count=16 status=none
		check "its filesystem is sound" quietly e2fsck -fn "$T/part"
		debugfs -R "dump random $T/random" "$T/part" 2> "$T/quiet"
		check "and has its files" cmp "$T/random" "$T/files/random"
	else
		wait $sd; got=$?; check "with another key nothing begins: $(tail -n 1 "$T/sd.log")" [ $got = 1 ]
		check "and nothing is written" cmp "$T/disk" "$T/was"
	fi
done

echo "== imagezip"
"$BIN/imagezip" -q "$T/sda" "$T/file.ndz" && "$BIN/imagezip" -q "$(with safe "$T/psk")" "$T/tls.ndz" || fail "imagezip"
check "the same image" cmp <("$BIN/imageunzip" -q "$T/file.ndz" -) <("$BIN/imageunzip" -q "$T/tls.ndz" -)
status 1 "$BIN/imagezip" -q "$(with safe "$T/other.psk")" "$T/none.ndz"
check "no image is made with another key" [ ! -e "$T/none.ndz" ]
finish
