#!/usr/bin/env bash
# --state=target: the state in free space of the target itself: found again after a
# kill at any write, and nothing of it is left at the end.
. "$(dirname "$0")/lib.sh"
own_network "$@"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
requires python3 mke2fs debugfs sfdisk
faulty() { local fault=$1; shift; env FAULT="$fault" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$@"; }
stat_of() { json "$T/json" "$1"; }
leftovers() { LC_ALL=C grep -c -a NDZSTATE "$1"; }

# An ext4 with files, in a GPT; behind it a partition that is left out of the image.
mkdir "$T/d"
python3 - "$T/d" << 'PY'
import random, sys
r = random.Random(5)
for i in range(32): open(f"{sys.argv[1]}/f{i}", "wb").write(r.randbytes(500000) + b"text " * 60000)
PY
MB=50 SIZE=$((50 << 20))
truncate -s 40M "$T/fs"; mke2fs -q -F -t ext4 -d "$T/d" "$T/fs"
for i in {0..31..4}; do debugfs -w -R "rm f$i" "$T/fs" > /dev/null 2>&1; done	# so that most chunks have gaps
truncate -s ${MB}M "$T/src"; printf 'label: gpt\nstart=4096,size=81920\nstart=90112,size=8192\n' | sfdisk -q "$T/src"
dd if="$T/fs" of="$T/src" bs=1M seek=2 conv=notrunc status=none
"$BIN/imagezip" -q -I 2 "$T/src" "$T/img.ndz" || fail "imagezip"
chunks=$(($(stat -c %s "$T/img.ndz") >> 20))
[ $chunks -gt 6 ] || fail "only $chunks chunks"
poison "$T/poison" $SIZE
fresh_target() { cp --sparse=never "$T/poison" "$T/disk"; }
unzip() { "$BIN/imageunzip" -q --in-place "$@"; }
# What a plain installation makes of it, with free space in each of the ways.
for fill in "" "-z" "-p 0x12345678"; do
	fresh_target; unzip $fill "$T/img.ndz" "$T/disk"; mv "$T/disk" "$T/want${fill%% *}"
done
# In free space that is left as it was, the state's own bytes are zeros at the end.
differs() {	# FILE WANT: how many bytes do, none of them in an area that is not zeros now
	cmp -l "$1" "$2" | awk '{ n++; if ($2 != 0 || $3 != 245) bad = 1 } END { print bad ? "wrong" : n + 0 }'
}

# Two places at most: a run that began anew may have taken another one.
few() { local d; d=$(differs "$1" "$T/want"); [ "$d" != wrong ] && [ "$d" -le 16384 ]; }

echo "== from the beginning to the end"
fresh_target; check "with room" quietly unzip --state=target --state-interval 0 "$T/img.ndz" "$T/disk"
check "nothing is said" [ ! -s "$T/quiet" ]
check "the state is gone" [ "$(leftovers "$T/disk")" = 0 ]
check "its bytes are zeros, all else is as it is without" [ "$(differs "$T/disk" "$T/want")" = 8192 ]
check "they are not in the partition that the image leaves out" cmp <(tail -c +$((44 << 20)) "$T/disk") <(tail -c +$((44 << 20)) "$T/want")
for fill in "-z" "-p 0x12345678"; do
	fresh_target; unzip --state=target --state-interval 0 $fill "$T/img.ndz" "$T/disk"
	check "$fill: free space is what it ought to be, all of it" cmp "$T/disk" "$T/want${fill%% *}"
done
fresh_target; unzip --discard "$T/img.ndz" "$T/disk"; mv "$T/disk" "$T/want-discard"
fresh_target; unzip --discard --state=target --state-interval 0 "$T/img.ndz" "$T/disk"
check "--discard: no block more than without" [ "$(stat -c %b "$T/disk")" -le "$(stat -c %b "$T/want-discard")" ]
check "--discard: the same" cmp "$T/disk" "$T/want-discard"
rm -f "$T/out"; "$BIN/imageunzip" -q --state=target --state-interval 0 "$T/img.ndz" "$T/out"
"$BIN/imageunzip" -q "$T/img.ndz" "$T/out2"
check "a new file" cmp "$T/out" "$T/out2"

echo "== killed at a write, then gone on with"
for fill in "" "-z"; do
	n=1 kills=0 resumed=0
	while :; do
		rm -f "$T/fired"; fresh_target
		( faulty "pwrite:$n:kill:$T/disk" "$BIN/imageunzip" -q --in-place --state=target --state-interval 0 $fill "$T/img.ndz" "$T/disk" ) 2> /dev/null
		[ -e "$T/fired" ] || break
		"$BIN/imageunzip" --json --in-place --state=target $fill "$T/img.ndz" "$T/disk" > "$T/json" || fail "write $n: it cannot be gone on with"
		if [ -n "$fill" ]; then cmp "$T/disk" "$T/want$fill" || fail "write $n: wrong disk"
		else
			few "$T/disk" || fail "write $n: wrong disk"
		fi
		[ "$(stat_of chunks)" -lt $chunks ] && resumed=$((resumed + 1))
		kills=$((kills + 1)); n=$((n + (n < 6 ? 1 : 5)))
	done
	check "${fill:-plain}: $kills kills, after $resumed of them not all chunks were written again" [ $resumed -gt 3 ]
done

echo "== a state that is not of this installation"
interrupted() {	# [IMAGE]
	fresh_target
	( faulty "pwrite:20:kill:$T/disk" "$BIN/imageunzip" -q -j1 --in-place --state=target --state-interval 0 "${1:-$T/img.ndz}" "$T/disk" ) 2> /dev/null
}
interrupted; check "the kill left a state" [ "$(leftovers "$T/disk")" -ge 1 ]
"$BIN/imagezip" -q -I 2 "$T/src" "$T/img2.ndz"
"$BIN/imageunzip" --json --in-place --state=target "$T/img2.ndz" "$T/disk" > "$T/json" || fail "another image"
check "another image begins anew" [ "$(stat_of chunks)" = "$(($(stat -c %s "$T/img2.ndz") >> 20))" ]
check "and is right" few "$T/disk"
interrupted; "$BIN/imageunzip" -q --in-place "$T/img.ndz" "$T/disk" || fail "without --state"
check "without --state, what is left of it is wiped" [ "$(leftovers "$T/disk")" = 0 ]
interrupted
python3 - "$T/disk" << 'PY'
import sys
b = bytearray(open(sys.argv[1], "rb").read()); at = 0
while (at := b.find(b"NDZSTATE", at)) >= 0: b[at + 200] ^= 1; at += 1
open(sys.argv[1], "wb").write(b)
PY
"$BIN/imageunzip" --json --in-place --state=target "$T/img.ndz" "$T/disk" > "$T/json" || fail "a damaged state"
check "a damaged state is none" [ "$(stat_of chunks)" = $chunks ]
check "the disk is right" few "$T/disk"

echo "== no room"
"$BIN/imagezip" -q -r "$T/fs" "$T/raw.ndz"
poison "$T/disk2" $((40 << 20))
"$BIN/imageunzip" -q --in-place --state=target "$T/raw.ndz" "$T/disk2" 2> "$T/said"; rc=$?
check "exit $rc, and one sentence" [ $rc = 0 -a "$(wc -l < "$T/said")" = 1 ]
check "it names the way out: $(cat "$T/said")" grep -q "no space for --state=target.*--skip-same" "$T/said"
check "installed all the same" cmp "$T/fs" "$T/disk2"
status 2 sh -c "'$BIN/imageunzip' -q --state=target '$T/img.ndz' - > /dev/null"
if [ "$(id -u)" = 0 ] && fresh_target && dev=$(losetup -f --show "$T/disk" 2> /dev/null); then
	CLEANUP+=("losetup -d '$dev' 2> /dev/null")
	echo "== a loop device"
	for n in 2 9; do
		cp --sparse=never "$T/poison" "$T/copy"; dd if="$T/copy" of="$dev" bs=4M conv=fsync status=none
		( faulty "fsync:$n:kill:$dev" "$BIN/imageunzip" -q --state=target --state-interval 0 "$T/img.ndz" "$dev" ) 2> /dev/null
		"$BIN/imageunzip" --json --state=target "$T/img.ndz" "$dev" > "$T/json" || fail "fsync $n"
		dd if="$dev" of="$T/copy" bs=4M status=none
		check "killed at flush $n, $(stat_of chunks) chunks of $chunks were left" few "$T/copy"
	done
else echo "not root, or no loop device: left out"; fi
if ! command -v ip > /dev/null; then echo "no ip: frisbee is left out"; finish; fi
echo "== frisbee, chunks in any order"
port=$((20000 + OWN_NUMBER % 12000))
CLEANUP+=('[ -z "${SERVER:-}" ] || kill $SERVER 2> /dev/null')
serve() {	# IMAGE
	rm -f "$T/where"
	"$BIN/frisbeed" -d --loopback -i 127.0.0.1 -m 239.192.7.10 -p $port -A "$T/where" -T 0 -W 400M "$1" 2> "$T/server.log" & SERVER=$!
	begins $SERVER [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/server.log")"
}
serve "$T/img.ndz"
client() { local fault=$1; shift; faulty "$fault" "$BIN/frisbee" -q --loopback -i 127.0.0.1 -m 239.192.7.10 -p $port -T 240 --in-place --state=target --state-interval 0 "$@" "$T/disk"; }
fresh_target; client none --json > "$T/json" || fail "frisbee"
total=$(stat_of bytes_written) fewer=0 killed=0
# How many writes there are depends on where the server was when the client came, and what
# was safely on the disk by then on how busy the machine is.
killed_at() {	# WRITE
	rm -f "$T/fired"; fresh_target
	( client "pwrite:$1:kill:$T/disk" ) 2> /dev/null
	[ -e "$T/fired" ] || return
	killed=$((killed + 1))
	client none --json > "$T/json" || fail "write $1: it cannot be gone on with"
	check "killed at write $1; $(stat_of bytes_written) bytes of $total were written then" few "$T/disk"
	[ "$(stat_of bytes_covered)" = $SIZE ] || fail "write $1: $(stat_of bytes_covered) bytes answered for: not each sector once"
	[ "$(stat_of bytes_written)" -lt "$total" ] && fewer=$((fewer + 1))
}
for n in 3 12 18 24 28 31 34; do killed_at $n; done
for n in 26 {27..34} {28..34}; do [ $fewer -ge 1 ] || killed_at $n; done
check "killed $killed times" [ $killed -ge 3 ]
check "$fewer times less than all was written" [ $fewer -ge 1 ]

echo "== frisbee, and the state of another image"
python3 -c 'import sys; open(sys.argv[2], "wb").write(open(sys.argv[1], "rb").read().replace(b"text ", b"TEXT "))' "$T/src" "$T/src3"
"$BIN/imagezip" -q -I 2 "$T/src3" "$T/img3.ndz"
interrupted "$T/img3.ndz"; check "the kill left a state" [ "$(leftovers "$T/disk")" -ge 1 ]
check "the chunks that it names are asked for all the same" client none
check "the disk is right" few "$T/disk"
kill $SERVER; wait $SERVER 2> /dev/null; SERVER=
# As another program makes it: without extension areas.
python3 - "$T/img.ndz" "$T/plain.ndz" << 'PY'
import struct, sys
b = bytearray(open(sys.argv[1], "rb").read())
for at in range(0, len(b), 1 << 20):
    end = at + 4096 + struct.unpack_from("<I", b, at + 4)[0]
    b[end:at + (1 << 20)] = bytes(at + (1 << 20) - end)
open(sys.argv[2], "wb").write(b)
PY
serve "$T/plain.ndz"
interrupted "$T/img3.ndz"
check "those of an image that keeps no state, too" quietly client none
check "the disk is right" few "$T/disk"
kill $SERVER; wait $SERVER 2> /dev/null; SERVER=
finish
