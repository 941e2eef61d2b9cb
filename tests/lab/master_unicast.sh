#!/usr/bin/env bash
# A master and clients that cannot hear multicast: a stream for each, at an address and port that stay when the master
# is killed and started again; an image that still arrives is loaded when it is here.
. "$(dirname "$0")/master_lib.sh"
lab_up 3	# client 3 is a master that has a parent
mkdir "$T/images" "$T/kept"
disk_and_image 500000 "$T/disk" "$T/images/small.ndz"
take random:20000000 disk=bigdisk disk.ndz=images/big.ndz
cat > "$T/conf" << CONF
images $T/images
group 239.192.50.1
allow 10.9.0.0/24
state $T/state
interface eth0
rate 60M
CONF
cat > "$T/conf3" << CONF
parent 10.9.0.1 $T/kept
group 239.192.60.1
allow 10.9.0.0/24
state $T/state3
interface eth0
CONF
master
cat > "$T/get.py" << 'PY'
import socket, struct, sys
n = sys.argv[1].encode(); s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100)
s.sendall(b"V01\0" + struct.pack(">I4xBBH", 1, int(sys.argv[2]), 0, len(n)) + n.ljust(256, b"\0")); r = b""
while len(r) < 288:
    d = s.recv(288 - len(r))
    if not d: break
    r += d
print(*struct.unpack(">BBH", r[8:12]), socket.inet_ntoa(r[16:20]), struct.unpack(">H", r[20:22])[0])
PY

echo "== by unicast"
get 1 small.ndz "$T/out1" --unicast & a=$!
check "a load" get 2 small.ndz "$T/out2" --unicast; check "another at once" wait $a
check "its data" cmp "$T/disk" "$T/out1"; check "and the other's" cmp "$T/disk" "$T/out2"
read -r method running error addr port < <(on 1 python3 "$T/get.py" small.ndz 1)
check "what a request for unicast alone gets" [ "$method $running $error $addr" = "1 1 0 10.9.0.1" ]
check "a client of the base protocol" on 2 timeout 240 "$BIN/frisbee" --base -q --unicast -m "$addr" -p "$port" "$T/out2"
check "its data" cmp "$T/disk" "$T/out2"
check "a request for both gets multicast" [ "$(on 1 python3 "$T/get.py" small.ndz 3 | cut -d' ' -f1-3)" = "2 1 0" ]
check "a request for broadcast alone is error 5" [ "$(on 1 python3 "$T/get.py" small.ndz 4 | cut -d' ' -f1-3)" = "0 0 5" ]

echo "== killed in the middle of a load, and started again"
get 1 big.ndz "$T/out1" --unicast --stats "$T/stats1" & a=$!
settled "name=big.ndz"; begins $a has_chunks 1 || fail "it does not begin"
before=$(grep big.ndz "$T/state/sessions")
kill -9 $MASTER; wait $MASTER 2> /dev/null; master
check "the load ends well" wait $a; check "its data" cmp "$T/bigdisk" "$T/out1"
check "it is served where it was: $before" grep -qx "$before" "$T/state/sessions"

echo "== while it arrives"
master_at 3
FROM=10.9.0.13
check "a client asks again until the image is here" get 1 big.ndz "$T/out1" --unicast -B 1; check "its data" cmp "$T/bigdisk" "$T/out1"
finish
