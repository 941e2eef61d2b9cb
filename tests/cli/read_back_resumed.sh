#!/usr/bin/env bash
# --read-back of an installation that was interrupted: what the first run has written is
# compared by the digests in its state, or with the image; or it is said that it was not.
. "$(dirname "$0")/lib.sh"
own_network "$@"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
export FRISBEE_NO_URING=1
case $(basename "$(dirname "$BIN")") in
*thread*) skip "another library cannot come before the thread sanitizer's" ;;
esac
requires python3
take random:12M disk disk.ndz
says() { check "it says: $1" grep -q "$1" "$T/stderr"; }
state=(--state="$T/kept" --state-interval 0)

# killed WAY COMMAND...: a run on a fresh target dies at its sixth flush. Then one byte is
# another one in each MiB but the first: what was not installed yet will be written over.
killed() {
	poison "$T/node" $((12 << 20)); rm -f "$T/fired" "$T/kept"
	( FAULT="fsync:6:kill:$T/node" FAULT_FIRED=$T/fired LD_PRELOAD=$shim "$@" ) 2> "$T/quiet"
	check "it was killed, and has a state" [ -e "$T/fired" -a -s "$T/kept" ]
}
spoilt() {
	killed "$@"
	for ((i = 1; i < 12; i++)); do spoil_byte "$T/node" $((i << 20)); done
}
right() { cmp "$T/disk" "$T/node"; }

echo "== imageunzip"
install() { "$BIN/imageunzip" -q --in-place "${state[@]}" "$@" "$T/disk.ndz" "$T/node"; }
for first in "" --read-back; do
	spoilt install $first
	check "what is wrong of a run $first is mended" install --read-back
	check "the disk is right" right
done

echo "== the mark stands while it is read back"
reads() {	# FAULT: of --read-back on a fresh target
	poison "$T/node" $((12 << 20)); rm -f "$T/kept"
	( FAULT="pread:$1:$T/node" FAULT_CALLS=$T/calls LD_PRELOAD=$shim \
	    "$BIN/imageunzip" -q --in-place --read-back "$T/disk.ndz" "$T/node" ) 2> "$T/quiet"
}
check "it is read $(reads 1000000:eio; cat "$T/calls") times" right
# The last time, it is the first 4 KiB.
reads $(($(cat "$T/calls") - 1)):kill
status 1 "$BIN/imageunzip" --status "$T/node"

command -v ip > /dev/null || { echo "no ip: frisbee is left out"; finish; }
echo "== frisbee"
net=(--loopback -i 127.0.0.1 -m 239.192.7.9 -p $((20000 + OWN_NUMBER % 12000)))
"$BIN/frisbeed" -d "${net[@]}" -A "$T/where" -T 0 -W 400M "$T/disk.ndz" \
    2> "$T/server.log" & SERVER=$!
CLEANUP+=('kill $SERVER 2> /dev/null; wait $SERVER 2> /dev/null')
begins $SERVER [ -s "$T/where" ]
load() { "$BIN/frisbee" -q "${net[@]}" -T 100 --in-place "${state[@]}" "$@" "$T/node"; }
spoilt load --read-back
status 1 load --read-back
says "what was written at sector .* less room than it"
status 1 "$BIN/imageunzip" --status "$T/node"
check "the state is not gone on with" load --read-back
check "the disk is right" right
killed load --read-back
check "what is right is gone on with" load --read-back
check "the disk is right" right
killed load
check "without digests, too" load --read-back 2> "$T/stderr"
says "were written before the interruption, and were not compared"
check "the disk is right" right
finish
