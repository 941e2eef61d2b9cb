#!/usr/bin/env bash
# Packets of several blocks where all links carry them, of one where one does not; a
# link that becomes narrow; the empty ends of chunks; old clients among ours.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 4

# Chunks of a small file end in zeros.
take striped:96.5 disk disk.ndz
blocks=$(($(stat -c %s "$T/disk.ndz") >> 10))
# More than half of the blocks came in packets of several.
large() { [ $(($(stat_of "$T/server.json" data_packets_sent) * 2)) -lt "$(stat_of "$T/server.json" blocks_sent)" ]; }

echo "== an MTU of 1500"
serve -T -1 -W 80M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"
for i in 1 2; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
check "packets of one block" [ "$(stat_of "$T/server.json" data_packets_sent)" -gt $((blocks / 2)) ]
check "the empty ends were left out" [ "$(stat_of "$T/server.json" blocks_left_out)" -gt 0 ]
check "and known to the client" [ "$(stat_of "$T/client1.json" blocks_left_out)" -gt 0 ]

echo "== an MTU of 9000"
for i in s 1 2 3 4; do lab_mtu $i 9000; done
serve -T -1 -W 80M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"
for i in 1 2; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
check "packets of several blocks" large

echo "== ... but one node's link has 1500"
lab_mtu 2 1500
fragments() { on 2 awk '/^Ip:/ { n++; if (n == 2) print $15 }' /proc/net/snmp; }
before=$(fragments)
serve -T -1 -W 80M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"; begun 1; load 3 "$T/d3"
for i in 1 2 3; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
check "packets of one block for all" [ "$(stat_of "$T/server.json" data_packets_sent)" -gt $((blocks / 2)) ]
check "no fragments" [ "$(fragments)" = "$before" ]
lab_mtu 2 9000

echo "== a link becomes narrow while it is used"
serve -T -1 -W 40M "$T/disk.ndz"
load 1 "$T/d1"; load 3 "$T/d3"; begun 1; lab_mtu 3 1500
for i in 1 3; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
check "there were packets of several blocks" [ "$(stat_of "$T/server.json" data_packets_sent)" -lt "$(stat_of "$T/server.json" blocks_sent)" ]
lab_mtu 3 9000

echo "== the server's own link becomes narrow"
serve -T -1 -W 40M "$T/disk.ndz"
load 1 "$T/d1"; load 3 "$T/d3"; begun 1; lab_mtu s 1500
for i in 1 3; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
lab_mtu s 9000

echo "== an old client comes later"
serve -T -1 -W 40M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"; begun 1; load 4 --base "$T/d4"
for i in 1 2 4; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER

echo "== loss"
lab_loss 2 20; lab_loss 3 50
serve -T -1 -W 80M "$T/disk.ndz"
load 1 "$T/d1"; load 2 "$T/d2"; load 3 "$T/d3"
for i in 1 2 3; do loaded $i; check "client $i" cmp "$T/disk" "$T/d$i"; done
wait $SERVER
check "packets of several blocks" large
finish
