#!/usr/bin/env bash
# Real programs in namespaces: clients that come at once and late, loss, a
# killed client, a restarted server, unicast, broadcast, plain files, a partition.
. "$(dirname "$0")/lib.sh"
requires python3 zstd
lab_up 8

# A disk of 24 MB, half of it hard to compress; what it must look like installed.
take striped:96.5 disk disk.ndz
chunks=$(($(stat -c %s "$T/disk.ndz") >> 20))

echo "== two at once, one late"
serve -T -1 -W 100M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"; begun 1; load 3 "$T/d3"
for i in 1 2 3; do loaded $i; check "client $i has the disk" cmp "$T/disk" "$T/d$i"; done
wait $SERVER || fail "server: $(tail -n 2 "$T/server.log")"
# A JOIN reply serves every joiner that hears it, and LEAVE2 is sent once: on a
# machine that is short of time the server may not have counted all of them.
check "the server saw them come and go" [ "$(stat_of "$T/server.json" leaves)" -ge 1 ]

echo "== eight clients, 60 Mbit/s, few duplicates"
for i in 1 2 3 4 5 6 7 8; do load $i "$T/d$i"; done
waiting 1 2 3 4 5 6 7 8
excused 1 2 3 4 5 6 7 8	# what was before
serve -T -1 -W 60M "$T/disk.ndz"
for i in 1 2 3 4 5 6 7 8; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
check "its map of what it sent is full" [ "$(json "$T/server.json" 'sessions[0].chunk_map' |
    tr -d f | wc -c)" = 1 ]
sent=$(stat_of "$T/server.json" blocks_sent) resent=$(stat_of "$T/server.json" blocks_resent)
echo "sent $sent, again $resent"
excused 1 2 3 4 5 6 7 8
check "less than a chunk sent again" [ "$resent" -lt $((1024 + EXCUSED)) ]

echo "== loss"
lab_loss 4 10; lab_loss 5 100
serve -T -1 "$T/disk.ndz"
load 4 "$T/d4"; load 5 "$T/d5"
for i in 4 5; do loaded $i; check "client $i in spite of loss" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
check "lost blocks were asked for again" [ "$(stat_of "$T/client5.json" blocks_rerequested)" -gt 100 ]
check "each message counts once" [ "$(stat_of "$T/client5.json" control_messages)" = $(($(stat_of "$T/client5.json" requests) + $(stat_of "$T/client5.json" join_attempts))) ]

echo "== a client is killed, the server starts anew"
serve -W 40M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"; begun 1
kill -9 $(pgrep -P "${LOADS[2]}") "${LOADS[2]}"; { wait "${LOADS[2]}"; } 2> /dev/null
kill "$SERVER"; wait "$SERVER" 2> /dev/null
serve -W 40M "$T/disk.ndz"
loaded 1; check "client 1 in spite of it" cmp "$T/disk" "$T/d1"
kill "$SERVER"; wait "$SERVER"; check "SIGTERM ends the server with 0" [ $? = 0 ]

echo "== unicast, broadcast"
GROUP=10.9.0.11 serve_one "$T/disk.ndz"
GROUP=10.9.0.1 load 1 "$T/d1"; loaded 1; check "unicast" cmp "$T/disk" "$T/d1"; wait $SERVER
GROUP=10.9.0.255 serve_one -b "$T/disk.ndz"
GROUP=10.9.0.255 load 1 -b "$T/d1"; loaded 1; check "broadcast" cmp "$T/disk" "$T/d1"; wait $SERVER

echo "== files that are no images"
for size in 333333 307200 1 1048576 1049600; do
	head -c $size /dev/urandom > "$T/file"
	serve_one "$T/file"
	load 1 -N "$T/copy"; loaded 1; check "a file of $size bytes" cmp "$T/file" "$T/copy"; wait $SERVER
done

echo "== both on one host"
serve_one --loopback "$T/disk.ndz"
on s "$BIN/frisbee" -q --loopback -m $GROUP -p $PORT "$T/d1" || fail "loopback client"
check "loopback" cmp "$T/disk" "$T/d1"; wait $SERVER

echo "== into a partition"
zstd -q -d --long=28 -c "$GOLDEN/src/sources.tar.zst" | tar -C "$T" -xf - target-gpt.img
zstd -q -d -c "$GOLDEN/img/ext2.ndz.zst" > "$T/ext2.ndz"
serve_one "$T/ext2.ndz"
load 1 -s 2 -D 131 "$T/target-gpt.img"; loaded 1; wait $SERVER
check "the golden hash" same_hash "$T/target-gpt.img" 606d0e325cbd7bb0f3d004ef170264457b241d1a02c97c64a29906050973c527

echo "== an interrupted load is gone on with"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
case $BIN in *thread*) echo "another library cannot come before the thread sanitizer's: left out" ;; *)
poison "$T/d2" $((25 << 20))
serve "$T/disk.ndz"
FAULT="pwrite:30:kill:$T/d2" FAULT_FIRED=$T/fired LD_PRELOAD=$shim ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 \
    on 2 "$BIN/frisbee" -q -m $GROUP -p $PORT --state "$T/d2.state" --state-interval 0 --in-place "$T/d2" 2> /dev/null
check "it was killed" [ -e "$T/fired" ]
"$BIN/imageunzip" --status "$T/d2" 2> /dev/null && fail "the disk bears no mark"
load 2 --state "$T/d2.state" --in-place "$T/d2"; loaded 2
check "the rest was loaded" cmp -n "$(stat -c %s "$T/disk")" "$T/disk" "$T/d2"
check "and no more than the rest" [ "$(stat_of "$T/client2.json" bytes_written)" -lt "$(stat -c %s "$T/disk")" ]
check "the state is gone" [ ! -e "$T/d2.state" ]
kill "$SERVER"; wait "$SERVER" 2> /dev/null ;;
esac

echo "== only what differs is written"
poison "$T/d2" $((25 << 20)); "$BIN/imageunzip" -q --in-place "$T/disk.ndz" "$T/d2"
spoil_byte "$T/d2" 9000000
serve_one "$T/disk.ndz"
load 2 --skip-same "$T/d2"; loaded 2; wait "$SERVER"
check "the disk is right" cmp -n "$(stat -c %s "$T/disk")" "$T/disk" "$T/d2"
check "little was written" [ "$(stat_of "$T/client2.json" bytes_written)" -lt 1048576 ]

echo "== what goes wrong is said"
serve "$T/disk.ndz"
status 98 on s timeout 240 "$BIN/frisbeed" -m $GROUP -p $PORT "$T/disk.ndz"
kill "$SERVER"; wait "$SERVER"
ip -n "${LAB}8" route del 224.0.0.0/4
status 1 on 8 "$BIN/frisbee" -m $GROUP -p $PORT "$T/d8"
check "it names the remedy" grep -q "ip route add" "$T/stderr"
cp "$T/d7" "$T/d7.was"
status 110 on 7 "$BIN/frisbee" -T 1 -m $GROUP -p $PORT "$T/d7"
check "a file that nothing came for is as it was" cmp "$T/d7" "$T/d7.was"
rm -f "$T/d7"
status 110 on 7 "$BIN/frisbee" -T 1 -m $GROUP -p $PORT "$T/d7"
check "no new file is left" [ ! -e "$T/d7" ]
cp "$T/disk.ndz" "$T/bad.ndz"
spoil_byte "$T/bad.ndz" $((3 * 1048576 + 9000))
serve "$T/bad.ndz"
status 3 on 7 "$BIN/frisbee" -q -m $GROUP -p $PORT "$T/d7"
check "the chunk is named" grep -q "chunk 3" "$T/stderr"
check "no half-made disk" [ ! -e "$T/d7" ]
kill "$SERVER"; wait "$SERVER" 2> /dev/null
cp "$T/disk.ndz" "$T/short.ndz"
serve -W 8M "$T/short.ndz"
load 6 -T 3 "$T/d6"; begun 1; truncate -s 2M "$T/short.ndz"
# By a read behind the end, or by a look at the file now and then, of which clients are told.
wait $SERVER; rc=$?
check "the server notices a truncated image: $rc" [ $rc = 3 -o $rc = 1 ]
check "and says so" grep -q "short.ndz.*\(truncated\|too early\|changed while\)" "$T/server.log"
wait "${LOADS[6]}"; rc=$?
check "and its client gives up: $rc" [ $rc = 110 -o $rc = 3 ]
finish
