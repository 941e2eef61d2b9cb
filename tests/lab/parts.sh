#!/usr/bin/env bash
# Only what is lacking is sent: fragments that differ (--skip-same), chunks that an
# interrupted load did not get to (--state).
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 3

# 48 MB, half of it hard to compress; and the same with 2 % of the fragments changed.
python3 - "$T/disk" "$T/near" << 'PY'
import random, sys
r = random.Random(17)
with open(sys.argv[1], "wb") as f:
    for i in range(192):
        f.write(r.randbytes(128 * 1024) + bytes([i]) * (128 * 1024))
    f.truncate(50 << 20)
disk = bytearray(open(sys.argv[1], "rb").read())
for w in r.sample(range(len(disk) >> 16), (len(disk) >> 16) // 50):
    disk[(w << 16) + r.randrange(65536)] ^= 0x55
open(sys.argv[2], "wb").write(disk)
PY
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail "imagezip"
"$BIN/imagezip" -q -r --codec=zstd "$T/disk" "$T/zstd.ndz" 2> /dev/null || rm -f "$T/zstd.ndz"
# The same without extension areas, which have the digests.
python3 - "$T/disk.ndz" "$T/bare.ndz" << 'PY'
import struct, sys
image = bytearray(open(sys.argv[1], "rb").read())
for chunk in range(0, len(image), 1 << 20):
    at = chunk + (4096 + struct.unpack_from("<I", image, chunk + 4)[0] + 7 & ~7)
    image[at:at + 16] = bytes(16)
open(sys.argv[2], "wb").write(image)
PY
blocks=$(($(stat -c %s "$T/disk.ndz") / 1024)) fragments=$((50 * 16))

at_most() {	# SHARE-IN-PERCENT NODE...: of the image was sent
	local sent share=$1; shift
	sent=$(stat_of "$T/server.json" blocks_sent)
	echo "sent $sent of $blocks"
	excused "$@"
	check "at most $share % was sent" [ $((sent * 100)) -le $((blocks * share + EXCUSED * 100)) ]
}
# Of each differing block the fragment that has it: of 4 to 32 blocks of 4 KiB.
differing_written() { local n; n=$(stat_of "$T/client1.json" bytes_written); [ "$n" -ge $((fragments / 50 * 16384)) ] && [ "$n" -le $((fragments / 50 * 131072)) ]; }
ended() { wait $SERVER || fail "server: $(tail -n 2 "$T/server.log")"; }

echo "== nothing differs"
cp "$T/disk" "$T/d1"
serve_one "$T/disk.ndz"
load 1 --skip-same "$T/d1"; loaded 1; ended
check "the disk is right" cmp "$T/disk" "$T/d1"
at_most 2 1
check "nothing was written" [ "$(stat_of "$T/client1.json" bytes_written)" = 0 ]
check "what was not asked for is told" [ "$(stat_of "$T/client1.json" blocks_not_requested)" -gt $((blocks * 95 / 100)) ]
check "what was there is told" [ "$(stat_of "$T/client1.json" bytes_same)" = $((50 << 20)) ]
check "for people, too" grep -q "not requested" "$T/client1.log"

echo "== 2 % of the fragments differ"
cp "$T/near" "$T/d1"
serve_one "$T/disk.ndz"
load 1 --skip-same "$T/d1"; loaded 1; ended
check "the disk is right" cmp "$T/disk" "$T/d1"
at_most 10 1
check "what differs was written" differing_written

if [ -e "$T/zstd.ndz" ]; then
	echo "== zstd, whose fragments are larger"
	cp "$T/near" "$T/d1"
	serve_one "$T/zstd.ndz"
	load 1 --skip-same "$T/d1"; loaded 1; ended
	check "the disk is right" cmp "$T/disk" "$T/d1"
	at_most 40 1
fi

echo "== three with loss, one of them an empty disk"
cp "$T/near" "$T/d1"; cp "$T/disk" "$T/d2"; : > "$T/d3"; truncate -s 50M "$T/d3"
lab_loss 1 50; lab_loss 2 50; lab_loss 3 20
serve -T -1 -W 300M "$T/disk.ndz"
for i in 1 2 3; do load $i --skip-same "$T/d$i"; done
for i in 1 2 3; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
ended; at_most 130 1 2 3

echo "== with others that want everything, new and old"
cp "$T/near" "$T/d1"
serve -T -1 -W 300M "$T/disk.ndz"
load 1 --skip-same "$T/d1"; load 2 "$T/d2"; load 3 --base "$T/d3"
for i in 1 2 3; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
ended

echo "== an old server, loss"
cp "$T/near" "$T/d1"; cp "$T/disk" "$T/d2"
serve --base -T -1 "$T/disk.ndz"
load 1 --skip-same "$T/d1"; load 2 --skip-same "$T/d2"
for i in 1 2; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
ended; at_most 15 1 2

echo "== an image whose header is damaged is not believed"
cp "$T/near" "$T/d1"; cp "$T/disk.ndz" "$T/bad.ndz"
# Any bit of the header would do.
printf '\x01' | dd of="$T/bad.ndz" bs=1 seek=$((5 * 1048576 + 4095)) conv=notrunc status=none
serve "$T/bad.ndz"
status 3 on 2 "$BIN/frisbee" -q --skip-same -m $GROUP -p $PORT "$T/d1"
check "the chunk is named" grep -q "chunk 5" "$T/stderr"
kill "$SERVER"; wait "$SERVER" 2> /dev/null

echo "== a fragment is damaged"
cp "$T/near" "$T/d1"; cp "$T/disk.ndz" "$T/bad.ndz"
for ((i = 1; i < blocks / 1024 - 1; i++)); do
	head -c 700000 /dev/zero | dd of="$T/bad.ndz" bs=1k seek=$((i * 1024 + 5)) conv=notrunc status=none
done
serve "$T/bad.ndz"
status 3 on 2 "$BIN/frisbee" -q --skip-same -m $GROUP -p $PORT "$T/d1"
check "a chunk is named, and how often it came" grep -q "chunk [0-9]*, which came 4 times: " "$T/stderr"
kill "$SERVER"; wait "$SERVER" 2> /dev/null

echo "== what is damaged on the way is asked for again, and no more"
# A byte of a block's data, of one in 3000 blocks (a whole chunk must be able to pass) that are read at node 1, for a while.
damage_on() { on 1 nft -f - << NFT
table netdev damage {
	chain ing {
		type filter hook ingress device "eth0" priority 0;
		udp dport $PORT-$((PORT + 64)) udp length > 1000 numgen inc mod 3000 == 1 \
		    counter @th,1600,8 set 0x55 udp checksum set 0
	}
}
NFT
}
damage_off() { on 1 nft delete table netdev damage; }
hits() { on 1 nft list table netdev damage | sed -n 's/.* counter packets \([0-9]*\) .*/\1/p'; }
damaged() { [ "$(hits)" -ge 3 ]; }
# Three packets are damaged while node 1 loads, and then no more.
damage_some() { begins "${LOADS[1]}" damaged || fail "nothing was damaged"; damage_off; }
if damage_on 2> /dev/null && damage_off; then
	for how in "" --base; do
		rm -f "$T/d1"
		load 1 $how "$T/d1"; load 2 "$T/d2"
		waiting 1 2; excused 1 2
		damage_on; serve -T -1 -W 40M "$T/disk.ndz"
		damage_some
		loaded 1; loaded 2; ended
		check "the disk is right" cmp "$T/disk" "$T/d1"
		damaged=$(stat_of "$T/client1.json" blocks_damaged) sent=$(stat_of "$T/server.json" blocks_sent)
		echo "$how: $damaged blocks came again, $sent of $blocks sent"
		check "some were damaged" [ "$damaged" -gt 0 ]
		check "the other was not" [ "$(stat_of "$T/client2.json" blocks_damaged)" = 0 ]
		excused 1 2
		check "little more was sent" [ "$sent" -le $((blocks * 5 / 4 + 2 * damaged + EXCUSED)) ]
	done
	echo "== ... also of chunks without digests, as original images have them"
	rm -f "$T/d1"
	damage_on; serve_one -W 40M "$T/bare.ndz"
	load 1 "$T/d1"; damage_some; loaded 1; ended
	check "the disk is right" cmp "$T/disk" "$T/d1"
	check "some were damaged" [ "$(stat_of "$T/client1.json" blocks_damaged)" -gt 0 ]
	echo "== ... also of chunks that come in parts"
	# Every other fragment differs.
	python3 - "$T/disk" "$T/d1" << 'PY'
import sys
disk = bytearray(open(sys.argv[1], "rb").read())
for w in range(0, len(disk) >> 16, 2):
    disk[(w << 16) + 77] ^= 0x55
open(sys.argv[2], "wb").write(disk)
PY
	damage_on; serve_one -W 40M "$T/disk.ndz"
	load 1 --skip-same "$T/d1"; damage_some; loaded 1; ended
	check "the disk is right" cmp "$T/disk" "$T/d1"
	damaged=$(stat_of "$T/client1.json" blocks_damaged)
	echo "$damaged blocks came again"
	check "some were damaged" [ "$damaged" -gt 0 ]
	at_most 90
else
	echo "nft cannot change packets here: left out"
fi

echo "== ... but not for ever"
cp "$T/disk.ndz" "$T/bad.ndz"
printf '\x55\xaa\x55' | dd of="$T/bad.ndz" bs=1 seek=$((4 * 1048576 + 300000)) conv=notrunc status=none
serve "$T/bad.ndz"
for how in "" --base; do
	rm -f "$T/d1"
	status 3 on 2 "$BIN/frisbee" -q $how -m $GROUP -p $PORT "$T/d1"
	check "the chunk is named, and how often it came" grep -q "chunk 4, which came 4 times: " "$T/stderr"
	check "no half-made disk" [ ! -e "$T/d1" ]
done
nothing_for 0.3 "what was asked for in vain would still be sent"
kill "$SERVER"; wait "$SERVER" 2> /dev/null
check "only that chunk was sent again" [ "$(stat_of "$T/server.json" blocks_sent)" -le $((2 * blocks * 11 / 10 + 2 * (80 + 2 * 1024))) ]

printf '\x55\xaa\x55' | dd of="$T/bare.ndz" bs=1 seek=$((4 * 1048576 + 300000)) conv=notrunc status=none
serve "$T/bare.ndz"
rm -f "$T/d1"
status 3 on 2 "$BIN/frisbee" -q -m $GROUP -p $PORT "$T/d1"
check "nor is one without digests" grep -q "chunk 4, which came 4 times: " "$T/stderr"
check "no half-made disk" [ ! -e "$T/d1" ]
kill "$SERVER"; wait "$SERVER" 2> /dev/null

echo "== a signed image is proved whole"
"$BIN/imagekey" -q --sign-key "$T/key"
"$BIN/imagezip" -q -r --sign "$T/key.key" "$T/disk" "$T/signed.ndz" || fail "imagezip --sign"
cp "$T/near" "$T/d1"
serve_one "$T/signed.ndz"
load 1 --skip-same --verify-key "$T/key.pub" "$T/d1"; loaded 1; ended
check "the disk is right" cmp "$T/disk" "$T/d1"
check "only what differed was written" differing_written

echo "== an interrupted load asks for the rest alone"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
case $BIN in *thread*) echo "another library cannot come before the thread sanitizer's: left out" ;; *)
poison "$T/d2" $((50 << 20))
serve "$T/disk.ndz"
FAULT="pwrite:30:kill:$T/d2" FAULT_FIRED=$T/fired LD_PRELOAD=$shim ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 \
    on 2 "$BIN/frisbee" -q -m $GROUP -p $PORT --state "$T/d2.state" --state-interval 0 --in-place "$T/d2" 2> /dev/null
check "it was killed" [ -e "$T/fired" ]
kill "$SERVER"; wait "$SERVER" 2> /dev/null
for how in "" --base; do
	cp "$T/d2" "$T/d1"; cp "$T/d2.state" "$T/d1.state"
	serve_one $how "$T/disk.ndz"
	load 1 --state "$T/d1.state" --in-place "$T/d1"; loaded 1; ended
	check "the disk is right" cmp "$T/disk" "$T/d1"
	sent=$(stat_of "$T/server.json" blocks_sent) written=$(stat_of "$T/client1.json" bytes_written)
	echo "sent $sent of $blocks, wrote $written"
	check "not all was written" [ "$written" -lt $((40 << 20)) ]
	# Chunks of the disk hold about as much of it each.
	check "what was sent is what was lacking" [ $((sent * 100 / blocks)) -le $((written / (50 << 10) * 100 / 1024 + 12)) ]
done ;;
esac
finish
