#!/usr/bin/env bash
# frisbee --doctor: what is wrong at the server's machine, or that there is another one.
. "$(dirname "$0")/doctor_lib.sh"
doctor_up 10	# 5 to 10 serve, too

echo "== nobody serves: the machine is up, or is not there at all"
examine 1; examine 2 -S 10.9.0.1; examine 3 -S 10.9.0.77
told 1 1; says "not ok" server "nothing answers.*-S ADDR"; summed "nothing answers"
told 1 2; says "not ok" server "10.9.0.1 is up, but no frisbeed answers there"; never "no frisbeed listens"; never firewall; summed "10.9.0.1 is up"
told 1 3; says "not ok" server "10.9.0.77 does not answer"; summed "10.9.0.77 does not answer"

echo "== the server's firewall: all that comes in; the group out; the second port only; the port of another program"
another 5 in -m $GROUP -p 5007 "$T/disk.ndz"
rules 5 <<< 'table ip f { chain i { type filter hook input priority 0; udp dport 5007-5008 drop; }; }'
another 6 out -m $GROUP -p 5107 "$T/disk.ndz"
rules 6 <<< 'table ip f { chain o { type filter hook output priority 0; ip daddr 239.0.0.0/8 drop; }; }'
another 7 second -m $GROUP -p 5207 "$T/disk.ndz"
rules 7 <<< 'table ip f { chain i { type filter hook input priority 0; udp dport 5208 drop; }; }'
examine 1 -S 10.9.0.15; examine 2 -p 5107 -S 10.9.0.16; examine 3 -p 5207; examine 4 -p 5107
told 1 1; says "not ok" server "10.9.0.15 is up, but nothing at its UDP port 5008 answers"; summed "10.9.0.15 is up"
told 1 2; says "not ok" multicast "frisbeed runs at 10.9.0.16.*the firewall or the network of that machine"; summed "the firewall or the network of that machine"
told 1 3; says ok server "serves an image of"; says "not ok" "second port" "UDP port 5208"; summed "loads work, but more slowly"
told 1 4; says "not ok" multicast "frisbeed runs at 10.9.0.16.*the firewall or the network of that machine"
no_more "${SERVERS[@]}"; for i in 5 6 7; do norules $i; done

echo "== it hangs; it serves on another interface; each client by itself; by broadcast"
another 5 hangs -m $GROUP -p 5007 "$T/disk.ndz"; kill -STOP "${SERVERS[hangs]}"
on 6 ip link set lo multicast on; on 6 ip route replace 239.192.7.8 dev lo
another 6 lo -i lo -m 239.192.7.8 -p 5107 "$T/disk.ndz"
another 7 unicast --unicast -m 10.9.0.17 -p 5207 "$T/disk.ndz"
another 8 broadcast -b -m 10.9.0.255 -p 5307 "$T/disk.ndz"
examine 1 -S 10.9.0.15; examine 2 -m 239.192.7.8 -p 5107 -S 10.9.0.16; examine 3 -p 5207 -S 10.9.0.17; examine 4 -p 5307
told 1 1; says "not ok" server "10.9.0.15 is up, but nothing at its UDP port 5008 answers"
told 1 2; says "not ok" server "10.9.0.16 is up, but no frisbeed answers there"; never "no frisbeed listens"
told 1 3; says "not ok" server "10.9.0.17 serves by unicast: use -m 10.9.0.17"; summed "use -m 10.9.0.17"
told 1 4; says "not ok" server "10.9.0.18 serves by broadcast: use -b -m 10.9.0.255"; summed "use -b -m 10.9.0.255"
kill -CONT "${SERVERS[hangs]}"; no_more "${SERVERS[@]}"

echo "== two servers, with different images and with the same; another machine has the server's address; a plain file; an old server"
head -c 3M /dev/urandom > "$T/disk2"; "$BIN/imagezip" -q -r "$T/disk2" "$T/disk2.ndz" || fail "imagezip"
another 5 one -m $GROUP -p 5007 "$T/disk.ndz"; another 6 two --force -m $GROUP -p 5007 "$T/disk2.ndz"
another 5 same -m $GROUP -p 5107 "$T/disk.ndz"; another 6 copy --force -m $GROUP -p 5107 "$T/disk.ndz"
another 7 twice -m $GROUP -p 5207 "$T/disk.ndz"; on 10 ip addr add 10.9.0.17/32 dev eth0
another 8 plain -m $GROUP -p 5307 "$T/disk"
another 9 old --base -T -1 -m $GROUP -p 5407 "$T/disk.ndz"
examine 1; examine 2 -p 5107; examine 3 -p 5207; examine 4 -p 5307; examine s -p 5407; examine 9 -p 5307 -S 10.9.0.77
told 1 1; says "not ok" servers "10.9.0.1[56] and 10.9.0.1[56] serve different images"; summed "different images"
told 0 2; says ok servers "10.9.0.1[56] and 10.9.0.1[56] serve the same image"
told 1 3; says "not ok" address "two machines.* 10.9.0.17"; summed "two machines"
told 0 4; says ok server "10.9.0.18 serves a file, not an image: use -N"; summed "use -N"
told 0 s; says ok multicast arrive; says unknown loss "not measured"
check "it said to the old server that it left" grep -q "left" "$T/old.log"
told 1 9; summed "10.9.0.18 serves this group and port, not 10.9.0.77"
no_more "${SERVERS[@]}"

echo "== its packets are changed on the way: address translation"
another 5 port -m $GROUP -p 5007 "$T/disk.ndz"; another 6 address -m $GROUP -p 5107 "$T/disk.ndz"
rules 5 <<< 'table ip f { chain o { type filter hook output priority -150; udp sport 5007 udp sport set 40007; }; }'
rules 6 <<< 'table ip f { chain o { type filter hook output priority -150; udp sport { 5107, 5207 } ip saddr set 10.9.0.99; }; }'
another 8 right -m $GROUP -p 5207 "$T/disk.ndz"; another 6 wrong --force -m $GROUP -p 5207 "$T/disk.ndz"
examine 1; examine 2 -p 5107; examine 3 -p 5207 -S 10.9.0.18
told 1 1; says "not ok" source "come from port 40007 instead of 5007"
told 1 2; says "not ok" source "come from 10.9.0.99 but say that they are from 10.9.0.16"
told 0 3; says ok source "sends from the port and address that it should"	# those of another server are not its own
finish
