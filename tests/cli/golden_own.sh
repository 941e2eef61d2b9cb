#!/usr/bin/env bash
# What earlier versions of this suite have written is read as it was meant: images, a store, streams, installations that
# have stopped half way, the folder of a master server (tests/golden/own).
. "$(dirname "$0")/lib.sh"
requires zstd
own_network "$@"
OWN=$GOLDEN/own
for f in "$OWN"/*.zst; do zstd -dqf "$f" -o "$T/$(basename "$f" .zst)" || fail "zstd $f"; done
tar -C "$T" -xf "$T/store.tar"
sum_of() { awk -v n="$1" 'length($1) == 64 && $2 == n { print $1 }' "$OWN/README.md"; }
is() { check "$1: the $3" same_hash "$2" "$(sum_of "$3")"; }	# WHAT FILE DISK
for i in deflate zstd signed later; do
	quietly "$BIN/imagedump" --verify "$T/$i.ndz" || fail "imagedump --verify $i"
	quietly "$BIN/imageunzip" -q "$T/$i.ndz" "$T/$i" || fail "imageunzip $i"
	if [ $i = later ]; then is $i "$T/$i" later; else is $i "$T/$i" disk; fi
done
check "signed" quietly "$BIN/imagedump" --verify --verify-key "$OWN/lab.pub" "$T/signed.ndz"
quietly "$BIN/imageunzip" -q "$T/delta.ndz" "$T/deflate" || fail "imageunzip delta"
is "delta over its base" "$T/deflate" later
cp "$OWN/deflate.ndz.sig" "$T"
check "signature" quietly "$BIN/imagehash" "$T/deflate.ndz.sig" "$T/zstd"
check "... of no other disk" eval '! quietly "$BIN/imagehash" "$T/deflate.ndz.sig" "$T/later" > /dev/null'

echo "== the store"
for i in disk:1=disk disk:2=later z=disk; do
	quietly "$BIN/emustore" -q --store "$T/store" get "${i%=*}" "$T/got.ndz" || fail "emustore get ${i%=*}"
	rm -f "$T/got"; quietly "$BIN/imageunzip" -q "$T/got.ndz" "$T/got"
	is "${i%=*}" "$T/got" "${i#*=}"
done
check "put there" quietly "$BIN/emustore" -q --store "$T/store" put new "$T/later.ndz"
check "verify" quietly "$BIN/emustore" --store "$T/store" verify

echo "== the streams"
: > "$T/copy"
quietly "$BIN/dmmerge" -q "$T/copy" < "$T/full.dsync" || fail "dmmerge full"
is "full.dsync" "$T/copy" disk
cp "$T/copy" "$T/half.copy"
quietly "$BIN/dmmerge" -q "$T/copy" < "$T/changed.dsync" || fail "dmmerge changed"
is "changed.dsync" "$T/copy" later

echo "== a merge that was killed"
mv "$T/half.dsync-journal" "$T/half.copy.dsync"
check "is interrupted" grep -q "^condition interrupted" <("$BIN/dmmerge" --status "$T/half.copy")
quietly "$BIN/dmmerge" -q --recover "$T/half.copy" || fail "dmmerge --recover"
is "it is finished" "$T/half.copy" later

echo "== a disk that was streamed to when nbdkit was killed"
if [ -n "${EMULATOR:-}" ] || instrumented || ! command -v nbdkit > /dev/null || ! command -v python3 > /dev/null; then
	echo "   (no nbdkit for this plugin: not tried)"
else
	"$BIN/imageunzip" -q "$T/zstd.ndz" "$T/model"
	printf "written before the kill" | dd of="$T/model" bs=1 seek=1000000 conv=notrunc status=none
	check "what was killed does not look whole" eval '! cmp -s "$T/half-streamed.disk" "$T/model"'
	nbdkit -f -U "$T/sock" "$(dirname "$BIN")/lib/nbdkit-ndz-plugin.so" "$T/deflate.ndz" disk="$T/half-streamed.disk" table="$T/half-streamed.table" \
	    when-idle=0 status="$T/status" 2> "$T/nbd.log" & server=$!
	CLEANUP+=('kill $server 2> /dev/null; wait $server')
	begins $server listens_at "$T/status"
	check "it becomes complete" python3 "$TOP/tests/helpers/nbd_stream.py" wait "$T/status" 60
	check "without what was there" json <(python3 "$TOP/tests/helpers/nbd_stream.py" status "$T/status") 'filled_bytes<2950000'
	kill $server; wait $server
	check "what was written stays" cmp "$T/half-streamed.disk" "$T/model"
fi

echo "== installations that were killed, with one of three chunks done"
check "the image" quietly "$BIN/imagedump" --verify "$T/long.ndz"
check "what was killed does not look whole" eval '! same_hash "$T/half.disk" "$(sum_of long)"'
resumes() {	# WHAT DISK OPTION
	"$BIN/imageunzip" --json --in-place "$3" "$T/long.ndz" "$2" > "$T/json" 2> "$T/said" || fail "$1: $(cat "$T/said")"
	check "$1: only the other chunks are installed" eval 'grep -q "1 of the 3 chunks are on the target already" "$T/said" && grep -q "\"chunks\": 2," "$T/json"'
	is "$1" "$2" long
}
resumes "a state in a file" "$T/half.disk" "--state=$T/half.state"
resumes "a state on the target" "$T/half-target.disk" --state=target
check "... is gone at the end" [ ! -e "$T/half.state" ]

echo "== the folder of a master server that was killed"
tar -C "$T" -xf "$T/mfrisbeed.tar"
printf 'image %s %s\n' first "$T/deflate.ndz" second "$T/deflate.ndz" 'lab/third%one' "$T/deflate.ndz" > "$T/conf"
printf 'group 239.192.50.1\nallow 127.0.0.0/8\nstate %s\ninterface lo\n' "$T/state" >> "$T/conf"
"$BIN/mfrisbeed" --report --json -c "$T/conf" > "$T/report" || fail "mfrisbeed --report"
check "its history: images" [ "$(json -1 "$T/report" "images[*].name,loads_done,last_begun_at")" = \
    "first:1:1795445242 lab/third%one:2:1795445243 second:1:1795445242" ]
check "its history: events" json "$T/report" "events[*].kind=load" "events[*].bytes=3231744" "events[*].outcome=done"
check "its history: hosts" [ "$(json -1 "$T/report" "events[*].host")" = "10.9.0.12 10.9.0.11 10.9.0.12 10.9.0.11" ]
if [ -z "${NETWORK_INSIDE:-}" ]; then echo "   (no network of its own: the sessions are not tried)"
elif [ -n "${EMULATOR:-}" ]; then echo "   (QEMU does not choose the interface of multicast: the sessions are not tried)"
else
	"$BIN/mfrisbeed" -c "$T/conf" 2> "$T/log" & MASTER=$!
	CLEANUP+=('kill $MASTER 2> /dev/null; wait $MASTER')
	is_at() { "$BIN/frisbee" -S 127.0.0.1 -Q "$1" > "$T/said" 2>&1 && grep -q "is served at $2\$" "$T/said"; }
	served_at() { soon is_at "$1" "$2" || { cat "$T/said" "$T/log"; return 1; }; }	# NAME PLACE
	while read -r name place; do
		check "$name is served where it was, $place" served_at "$name" "$place"
	done <<- 'I'
		lab/third%one 239.192.50.3, port 41014
		second 239.192.50.2, port 46309
		first 239.192.50.1, port 40133
	I
fi
finish
