#!/usr/bin/env bash
# dolly --key: nobody on the way reads what is sent, and who has another key, or none, gets nothing and is told so.
. "$(dirname "$0")/lib.sh"
requires python3
own_network "$@"
PORT=$((20000 + OWN_NUMBER % 12000))
MARK="this sentence is in every block of the data, so it is on the wire"
python3 -c "
import sys
sys.stdout.buffer.write((sys.argv[1].encode() * 8)[:512] * (3 * 2048))" "$MARK" > "$T/data"
"$BIN/imagekey" --group-key "$T/key" > "$T/quiet" && "$BIN/imagekey" --group-key "$T/other" > "$T/quiet" || fail "imagekey"
serve() {	# OPTIONS...
	: > "$T/serve.log"
	"$BIN/dolly" serve --json --linger 0 -p $PORT --raw "$@" "$T/data" > "$T/table" 2> "$T/serve.log" &
	SERVER=$!
	begins $SERVER grep -q serving "$T/serve.log"
}
join() { timeout 240 "$BIN/dolly" join "$@"; }
cat > "$T/sniff.py" << 'PY'
import select, socket, sys
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)      # SO_RCVBUFFORCE
open(sys.argv[1], "w").close()                     # it listens
seen = packets = 0
while True:
    if select.select([s, sys.stdin], [], [])[0] == [sys.stdin]:
        break
    seen += sys.argv[2].encode() in s.recv(1 << 17)
    packets += 1
print(packets, seen)
PY
three() {	# OPTIONS...: three nodes; what a sniffer saw goes into $PACKETS and $SEEN
	local n nodes=() sniffer=
	mkfifo "$T/stop"
	if [ -n "${NETWORK_INSIDE:-}" ]; then
		rm -f "$T/listens"
		python3 "$T/sniff.py" "$T/listens" "$MARK" < "$T/stop" > "$T/sniffed" & sniffer=$!
		exec 8> "$T/stop"
		begins $sniffer [ -e "$T/listens" ]
	fi
	serve --wait 3 "$@"
	for n in 1 2 3; do join -q --force "$@" 127.0.0.1:$PORT "$T/got$n" 2> "$T/log$n" & nodes+=($!); done
	for n in 1 2 3; do
		wait "${nodes[n - 1]}"; check "node $n is whole" [ $? = 0 ]
		check "node $n has the data" cmp "$T/data" "$T/got$n"
	done
	wait $SERVER; check "the server" [ $? = 0 ]
	PACKETS=1 SEEN=
	[ -z "$sniffer" ] || { exec 8>&-; wait $sniffer; read -r PACKETS SEEN < "$T/sniffed"; echo "$SEEN of $PACKETS packets show the data"; }
	rm -f "$T/stop"
}
echo "== without a key"
three
check "it is said" grep -q "without --key nothing is encrypted: the network is trusted" "$T/serve.log"
[ -z "$SEEN" ] || check "a sniffer sees the data" [ "$SEEN" -gt 20 ]
echo "== with one"
three --key "$T/key"
member() { json "$T/table" "$1"; }
# Three nodes speak with the server, and the first of the chain also gets its data from there.
check "the table counts the encrypted connections" [ "$(member connections_encrypted)" -ge 4 ]
modprobe tls 2> "$T/quiet"
if grep -qw tls /proc/sys/net/ipv4/tcp_available_ulp; then
	check "the kernel encrypts all of them" [ "$(member connections_encrypted_by_kernel)" = "$(member connections_encrypted)" ]
else
	echo "this kernel has no TLS ($(tail -n 1 "$T/quiet")): the program encrypts"
	check "... and says so" [ "$(member connections_encrypted_by_kernel)" = 0 ]
fi
check "nothing is said of trust" [ "$(grep -c trusted "$T/serve.log")" = 0 ]
[ -z "$SEEN" ] || check "a sniffer sees packets" [ "$PACKETS" -gt 20 ] && check "... but nothing of the data" [ "${SEEN:-0}" = 0 ]

echo "== strangers"
serve --wait 1 --key "$T/key"
status 1 join --key "$T/other" 127.0.0.1:$PORT "$T/new"; check "another key" grep -q "another --key" "$T/stderr"
status 1 join 127.0.0.1:$PORT "$T/new"; check "none" grep -q "perhaps the other side has a --key" "$T/stderr"
python3 - $PORT << 'PY'
import random, socket, sys
r = random.Random(1)
for i in range(40):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    s.sendall([b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + r.randbytes(600), r.randbytes(2000), b""][i % 4])
    s.close()
PY
check "strangers got nothing" [ ! -e "$T/new" ]
check "who has the key does" quietly join --key "$T/key" 127.0.0.1:$PORT "$T/new"
wait $SERVER; check "the data is right" cmp "$T/data" "$T/new"; rm -f "$T/new"
serve --wait 1
status 1 join --key "$T/key" 127.0.0.1:$PORT "$T/new"; check "a server without a key is not believed" grep -q "another --key, or none" "$T/stderr"
kill $SERVER; wait $SERVER
if command -v openssl > /dev/null && openssl req -x509 -newkey rsa:2048 -nodes -keyout "$T/rsa" -out "$T/cert" -subj /CN=x -days 2 2> "$T/quiet"; then
	mkfifo "$T/open"; exec 7<> "$T/open"	# it ends when there is nothing more to read
	openssl s_server -accept 127.0.0.1:$PORT -key "$T/rsa" -cert "$T/cert" -quiet < "$T/open" > "$T/quiet" 2>&1 & rogue=$!
	answers() { (exec 3<> /dev/tcp/127.0.0.1/$PORT) 2> /dev/null; }
	begins $rogue answers || fail "openssl s_server: $(cat "$T/quiet")"
	status 1 join --key "$T/key" 127.0.0.1:$PORT "$T/new"; check "nor one with a certificate" grep -q "another --key, or none" "$T/stderr"
	kill $rogue; wait $rogue 2> /dev/null; exec 7>&-
fi
chmod 644 "$T/other"; status 1 join --key "$T/other" 127.0.0.1:$PORT "$T/new"
status 1 "$BIN/dolly" serve --wait 1 --key "$T/none" --raw "$T/data"
finish
