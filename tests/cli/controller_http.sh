#!/usr/bin/env bash
# What strangers may send to the controller by HTTP: traversal, calls that may not change anything, slow,
# endless and thousands of connections, a token that was withdrawn.  It goes on answering others.
. "$(dirname "$0")/lib.sh"
requires python3 ip
own_network "$@"
[ -n "${NETWORK_INSIDE:-}" ] || skip "needs root, for a network of its own"
NET=$T/netboot
mkdir -p "$NET/boot/orders" "$NET/images"
echo secret > "$NET/images/hidden.txt"; : > "$NET/images/lab.ndz"
printf 'node node%d 52:54:00:00:00:%02x\n' 1 1 2 2 > "$NET/nodes"
for n in 1 2; do "$BIN/imagekey" -q --token "$T/token$n" || fail imagekey; done
(umask 077; cat "$T/token1" "$T/token2" > "$T/tokens"; echo secret-of-before > "$T/wrong")
status 3 "$BIN/controllerd" --token-file="$T/wrong" -i 127.0.0.1 "$NET"	# no token as imagekey makes it
mkfifo -m 600 "$T/pipe"
status 1 timeout 240 "$BIN/controllerd" --token-file="$T/pipe" -i 127.0.0.1 "$NET"	# nobody is waited for
check "which is said" grep -q "pipe: is a named pipe, and not a file" "$T/stderr"
status 1 timeout 240 "$BIN/controllerd" --nodes="$T/pipe" -i 127.0.0.1 "$NET"
status 2 "$BIN/controllerd" "$NET"	# which host it is on, it is not told
check "it says what may tell it" grep -q "environment.ipxe does not name this host (netboot/setup writes it): --address is needed" "$T/stderr"
mkfifo "$NET/boot/environment.ipxe"
status 1 timeout 240 "$BIN/controllerd" "$NET"
check "a pipe there is said" grep -q "boot/environment.ipxe: is a named pipe, and not a file" "$T/stderr"
rm "$NET/boot/environment.ipxe"; mkdir "$NET/boot/environment.ipxe"
status 1 "$BIN/controllerd" "$NET"
check "and what cannot be read" grep -q "boot/environment.ipxe: Is a directory" "$T/stderr"
rmdir "$NET/boot/environment.ipxe"
status 2 "$BIN/controllerd" --listen=0.0.0.0:8484 -i 127.0.0.1 "$NET"	# for others, and without a token file
status 2 "$BIN/controllerd" --group-key="$T/lab key" -i 127.0.0.1 "$NET"	# its name would be two words of an order
for made in images boot/orders; do
	status 1 "$BIN/controllerd" -i 127.0.0.1 "$T/second"
	check "it says who makes the folder $made" grep -q "second/$made: there is no such folder; netboot/setup makes it" "$T/stderr"
	mkdir -p "$T/second/$made"
done
echo "node n1 52:54" > "$T/second/nodes"
status 3 "$BIN/controllerd" -i 127.0.0.1 "$T/second"
check "and the line of the file of nodes" grep -q 'second/nodes: line 1: "52:54" is no MAC address' "$T/stderr"
cp "$NET/nodes" "$T/second"
"$BIN/controllerd" -i 127.0.0.1 --power=/bin/true --token-file="$T/tokens" "$NET" > "$T/log" 2>&1 & PID=$!
CLEANUP+=('kill $PID 2> /dev/null; wait $PID 2> /dev/null')
listens() { ss -Hltn | grep -q "127.0.0.1:8484 "; }
check "it listens" begins $PID listens
status 1 timeout 240 "$BIN/controllerd" -q -i 127.0.0.1 "$T/second"	# another one beside it, which would get some of the first one's calls
check "the port of reports is taken, and what chooses another one" grep -q "TCP port 5101 is taken by another program; --reports=PORT" "$T/stderr"
status 1 timeout 240 "$BIN/controllerd" -q --reports=0 -i 127.0.0.1 "$T/second"
check "and so is that of the page" grep -q "127.0.0.1:8484 is taken by another program; --listen=ADDR:PORT" "$T/stderr"
python3 "$TOP/tests/helpers/http_rude.py" "$PID" 8484 "$T/tokens" "$(instrumented && echo 100 || echo 2000)" || bad=$((bad + 1))
check "no order was written" [ -z "$(ls "$NET/boot/orders")" ]
kill $PID; wait $PID; check "SIGTERM ends it with 0" [ $? = 0 ]
check "nothing went wrong in it" eval '! grep -iE "assert|sanitizer|runtime error" "$T/log"'
finish
