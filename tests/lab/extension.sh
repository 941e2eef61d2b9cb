#!/usr/bin/env bash
# Our clients and old ones in one session; parity; a second port that is closed; an
# image that changes under the session.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 6

take striped:96.5 disk disk.ndz; take striped:96.6 disk=disk2 disk.ndz=disk2.ndz
parity=$("$B/tests/unit/test_parity" > /dev/null && echo yes)

echo "== old and new, early and late, with loss"
lab_loss 2 20; lab_loss 3 50
serve -T -1 -W 80M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"; load 3 "$T/d3"; load 4 --base "$T/d4"
begun 1; load 5 "$T/d5"; load 6 --base "$T/d6"
for i in 1 2 3 4 5 6; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
for i in 1 2 3 5; do check "client $i with the extension" [ "$(stat_of "$T/client$i.json" extension)" = true ]; done
for i in 4 6; do check "client $i without" [ "$(stat_of "$T/client$i.json" extension)" = false ]; done

echo "== parity in place of what was lost"
load 1 "$T/d1"; load 2 "$T/d2"; load 3 "$T/d3"
waiting 1 2 3; excused 1 2 3
serve -T -1 -W 80M "$T/disk.ndz"
for i in 1 2 3; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
[ -z "$parity" ] || for i in 2 3; do
	check "client $i used parity" [ "$(stat_of "$T/client$i.json" parity_used)" -gt 50 ]
done
excused 1 2 3
[ -z "$parity" ] || check "few blocks were sent twice" [ "$(stat_of "$T/server.json" blocks_resent)" -lt $((4096 + EXCUSED)) ]

echo "== the second port is closed"
on 4 nft -f - << NFT || skip "nft rules are not allowed here"
table netdev closed {
	chain ing {
		type filter hook ingress device "eth0" priority 0;
		udp dport != $PORT drop
	}
}
NFT
serve -T -1 "$T/disk.ndz"
load 4 "$T/d4"; load 1 "$T/d1"
for i in 1 4; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
on 4 nft delete table netdev closed

echo "== an old server"
serve_one --base "$T/disk.ndz"
load 1 "$T/d1"; loaded 1; check "client 1" cmp "$T/disk" "$T/d1"
check "without the extension" [ "$(stat_of "$T/client1.json" extension)" = false ]
wait $SERVER

echo "== the server starts anew, with the same file"
serve -W 40M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"
begun 2; kill "$SERVER"; wait "$SERVER" 2> /dev/null
serve -W 40M "$T/disk.ndz"
for i in 1 2; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
kill "$SERVER"; wait "$SERVER"

echo "== ... with another one"
serve -W 20M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"
begun 2; kill "$SERVER"; wait "$SERVER" 2> /dev/null
serve -W 20M "$T/disk2.ndz"
for i in 1 2; do
	wait "${LOADS[$i]}"; check "client $i ends with 3" [ $? = 3 ]
	check "and says why" grep -q "another image" "$T/client$i.log" || cat "$T/client$i.log"
done
kill "$SERVER"; wait "$SERVER"

echo "== the file is replaced: the open one is served on"
cp "$T/disk.ndz" "$T/file.ndz"
serve -T -1 -W 15M "$T/file.ndz"
load 1 "$T/d1"; begun 1
cp "$T/disk2.ndz" "$T/new"; mv "$T/new" "$T/file.ndz"
loaded 1; check "client 1 has the old one" cmp "$T/disk" "$T/d1"
wait $SERVER; check "the server says so" grep -q "belongs to another file" "$T/server.log"

echo "== the file is written to"
cp "$T/disk.ndz" "$T/file.ndz"
serve -W 20M "$T/file.ndz"
load 1 "$T/d1"; load 2 "$T/d2"; begun 2
spoil_byte "$T/file.ndz" 9000000
for i in 1 2; do
	wait "${LOADS[$i]}"; check "client $i ends with 3" [ $? = 3 ]
	check "and says why" grep -q "was changed" "$T/client$i.log"
done
wait $SERVER; check "the server ends with 1" [ $? = 1 ]
check "and says why" grep -q "was changed" "$T/server.log"
finish
