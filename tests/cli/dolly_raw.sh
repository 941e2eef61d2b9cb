#!/usr/bin/env bash
# dolly --raw: the bytes of any file along a chain of three nodes on one host, packed or not, to a file, a pipe and
# /dev/null; and what is refused.
. "$(dirname "$0")/lib.sh"
requires python3
own_network "$@"
PORT=$((20000 + OWN_NUMBER % 12000))
# No whole number of chunks, and half of it can be packed.
python3 - "$T/data" << 'PY'
import random, sys
r = random.Random(4)
with open(sys.argv[1], "wb") as f:
    for i in range(6):
        f.write(r.randbytes(512 * 1024) + bytes([i]) * (512 * 1024))
    f.write(b"the end")
PY
serve() {	# OPTIONS... FILE
	: > "$T/serve.log"
	"$BIN/dolly" serve --json --linger 0 -p $PORT "$@" > "$T/table" 2> "$T/serve.log" &
	SERVER=$!
	begins $SERVER grep -q serving "$T/serve.log"
}
join() { timeout 240 "$BIN/dolly" join "$@"; }
field() { json "$T/table" "$1"; }
size=$(stat -c %s "$T/data")
for zstd in "" --zstd; do
	echo "== --raw $zstd"
	rm -f "$T/got"
	serve --wait 3 --raw $zstd "$T/data"
	join 127.0.0.1:$PORT "$T/got" > "$T/out1" 2> "$T/log1" & a=$!
	join -q 127.0.0.1:$PORT - > "$T/piped" 2> "$T/log2" & b=$!
	join --json 127.0.0.1:$PORT /dev/null > "$T/out3" 2> "$T/log3"
	check "a node that discards" [ $? = 0 ]
	wait $a; check "a node with a file: $(tail -n 1 "$T/log1")" [ $? = 0 ]
	wait $b; check "a node with a pipe" [ $? = 0 ]
	wait $SERVER; check "the server" [ $? = 0 ]
	check "the file has the data" cmp "$T/data" "$T/got"
	check "the pipe has the data" cmp "$T/data" "$T/piped"
	check "all bytes were written" [ "$(json "$T/out3" bytes_written)" = "$size" ]
	sent=$(field bytes_sent)
	if [ -z "$zstd" ]; then check "all of it was sent, once" [ "$sent" -gt "$size" ] && check "... and not much more" [ "$sent" -lt $((size + 100000)) ]
	else check "what can be packed was" [ "$sent" -lt $((size * 6 / 10)) ]; fi
done

echo "== a named pipe"
mkfifo "$T/named"; cat "$T/named" > "$T/piped" & reader=$!
serve --wait 1 --raw "$T/data"
check "a node with a named pipe" quietly join 127.0.0.1:$PORT "$T/named"
wait $SERVER; wait $reader; check "the pipe has the data" cmp "$T/data" "$T/piped"

echo "== what is there already stays"
echo mine > "$T/got"
serve --wait 1 --raw "$T/data"
status 1 join 127.0.0.1:$PORT "$T/got"
check "it says so" grep -q "exists already; --force replaces it" "$T/stderr"
check "it stays" grep -q mine "$T/got"
wait $SERVER; check "the server knows that nobody is whole" [ $? = 1 ]
check "and why" grep -q "exists already" "$T/table"
serve --wait 1 --raw "$T/data"
check "--force" quietly join --force 127.0.0.1:$PORT "$T/got"
wait $SERVER; check "the data is there" cmp "$T/data" "$T/got"
for option in --skip-same --zero -s1; do
	serve --wait 1 --raw "$T/data"
	status 2 join $option 127.0.0.1:$PORT "$T/new"
	wait $SERVER; check "$option makes no sense, and nothing is made" [ ! -e "$T/new" ]
done

if [ "$(id -u)" = 0 ] && truncate -s 4M "$T/small" && disk=$(losetup -f --show "$T/small" 2> /dev/null); then
	echo "== a disk that is smaller, and one that is large enough"
	CLEANUP+=("losetup -d $disk")
	serve --wait 1 --raw "$T/data"
	status 1 join 127.0.0.1:$PORT "$disk"
	check "both sizes are said" grep -q "$disk: has 4194304 bytes, and the data needs $size" "$T/stderr"
	wait $SERVER
	truncate -s 8M "$T/small"; losetup -c "$disk"
	serve --wait 1 --raw --zstd "$T/data"
	check "it goes onto the disk" quietly join 127.0.0.1:$PORT "$disk"
	wait $SERVER; check "... which has it" cmp -n "$size" "$T/data" "$disk"
fi

echo "== what cannot be served"
: > "$T/empty"; status 3 "$BIN/dolly" serve --wait 1 --raw "$T/empty"; check "said" grep -q "is empty" "$T/stderr"
mkfifo "$T/fifo"; exec 7<> "$T/fifo"
status 1 "$BIN/dolly" serve --wait 1 --raw "$T/fifo"; check "a pipe" grep -q "is a pipe" "$T/stderr"
exec 7>&-
status 3 "$BIN/dolly" serve --wait 1 "$T/data"
finish
