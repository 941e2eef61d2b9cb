#!/usr/bin/env bash
# What is said when packets take another way than the user thinks: another address of the
# server, a port that an original server answers to, a route that lacks, a kernel that drops
# requests.
. "$(dirname "$0")/lib.sh"
lab_up 2
take random:3000000 disk disk.ndz
ip -n "${LAB}s" addr add 10.9.0.2/32 dev eth0
export FRISBEE_TEST_TIMES=$TIMES,unheard=0.3

echo "== -S names another address of the server"
serve "$T/disk.ndz"
on 1 timeout 240 "$BIN/frisbee" -T 2 -S 10.9.0.2 -m $GROUP -p $PORT "$T/d1" 2> "$T/stderr"
check "the load gives up" [ $? = 110 ]
check "it says which one answers" \
    grep -q "10.9.0.1 serves this group and port, and not 10.9.0.2, which -S names" "$T/stderr"
load 1 -S 10.9.0.1 "$T/d1"; loaded 1
check "that one is right" cmp "$T/disk" "$T/d1"
kill $SERVER; wait $SERVER 2> /dev/null

echo "== a server that sends to its own port number at one client, as original ones do"
ip netns exec "${LAB}s" "$BIN/frisbeed" -d --base -m 10.9.0.11 -p 7411 "$T/disk.ndz" \
    2> "$T/server.log" &
SERVER=$!; PIDS+=($SERVER)
begins $SERVER grep -q serving "$T/server.log" || fail "the server did not start"
check "a load" \
    on 1 timeout 240 "$BIN/frisbee" -q --base --unicast -m 10.9.0.1 -p 7411 "$T/d2"
check "its data" cmp "$T/disk" "$T/d2"
kill $SERVER; wait $SERVER 2> /dev/null

echo "== a route that lacks"
printf 'images %s\ngroup 239.192.1.1\nallow 10.9.0.0/24\nstate %s\n' \
    "$T" "$T/state" > "$T/conf"
ip -n "${LAB}s" route del 224.0.0.0/4
status 0 on s "$BIN/mfrisbeed" --check -c "$T/conf"
check "mfrisbeed names its statement" \
    grep -q "no route to 239.192.1.1.*the statement interface" "$T/stderr"
status 1 on s "$BIN/frisbeed" -q -m 239.192.1.1 -p 7412 "$T/disk.ndz"
check "frisbeed names -i" \
    grep -q "no route to 239.192.1.1: name the interface (-i;" "$T/stderr"
echo "interface eth0" >> "$T/conf"
status 0 on s "$BIN/mfrisbeed" --check -c "$T/conf"
check "with it all is well" [ ! -s "$T/stderr" ]

echo "== a kernel that drops requests: two cards in one network"
ip link add pt type veth peer name eth1 netns "${LAB}s"
ip link set pt master br0 up
ip -n "${LAB}s" addr add 10.9.0.3/24 brd + dev eth1
ip -n "${LAB}s" link set eth1 up
on s sh -c 'echo 1 > /proc/sys/net/ipv4/conf/eth1/rp_filter'
serve -i eth1 "$T/disk.ndz"
check "the server says so" soon grep -q \
    "requests that come to eth1 (rp_filter).*through eth0.*eth1.rp_filter=2" "$T/server.log"
kill $SERVER; wait $SERVER 2> /dev/null
sed -i 's/interface eth0/interface eth1/' "$T/conf"
status 0 on s "$BIN/mfrisbeed" --check -c "$T/conf"
check "mfrisbeed --check says so" \
    grep -q "drops requests that come to eth1 (rp_filter)" "$T/stderr"
ip link add p1b type veth peer name eth1 netns "${LAB}1"
ip link set p1b master br0 up
ip -n "${LAB}1" addr add 10.9.0.13/24 brd + dev eth1
ip -n "${LAB}1" link set eth1 up
on 1 sh -c 'echo 1 > /proc/sys/net/ipv4/conf/eth1/rp_filter'
on 1 timeout 240 "$BIN/frisbee" -T 1 -i eth1 -m $GROUP -p $PORT "$T/d3" 2> "$T/stderr"
check "a client says so, too" grep -q \
    "packets that come to eth1 (rp_filter).*through eth0.*eth1.rp_filter=2" "$T/stderr"
on s sh -c 'echo 2 > /proc/sys/net/ipv4/conf/eth1/rp_filter'
status 0 on s "$BIN/mfrisbeed" --check -c "$T/conf"
check "loose is well" [ ! -s "$T/stderr" ]
finish
