#!/usr/bin/env bash
# frisbeed --store: the memory for chunks that were put together is bounded as --store-cache says, and counted.
. "$(dirname "$0")/lib.sh"
own_network "$@"
. "$(dirname "$0")/store_lib.sh"
requires python3 zstd
export EMUSTORE=$T/S
SERVER=
CLEANUP+=('[ -z "$SERVER" ] || kill $SERVER 2> /dev/null')
python3 -c 'import random, sys; open(sys.argv[1], "wb").write(random.Random(3).randbytes(9 << 20))' "$T/own"
zip_all own
zstd -dqfc "$GOLDEN/img/mbr.ndz.zst" > "$T/mbr.ndz"; "$BIN/imageunzip" -q "$T/mbr.ndz" "$T/mbr" || fail imageunzip
es init && es -q put own "$T/own.ndz" && es -q put mbr "$T/mbr.ndz" || fail "put"
of() { json -d none "$T/json" "$1"; }

# serve CLIENTS IMAGE OPTIONS...: so many unicast clients at once take the image out of the store; statistics in $T/json.
serve() {
	local n=$1 image=$2 i pids=(); shift 2
	rm -f "$T/where" "$T"/node*
	"$BIN/frisbeed" -q --unicast -m 127.0.0.1 -p 0 -A "$T/where" -W 400M --store "$T/S" --json "$@" "$image" > "$T/json" 2> "$T/server.log" &
	SERVER=$!
	begins $SERVER [ -s "$T/where" ]
	for ((i = 1; i <= n; i++)); do
		timeout 400 "$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$(tr -d '\0' < "$T/where" | sed 's/.*://')" "$T/node$i" & pids[i]=$!
	done
	for ((i = 1; i <= n; i++)); do wait "${pids[i]}" || fail "client $i"; check "$image, $*: client $i" cmp "$T/$image" "$T/node$i"; done
	kill -INT $SERVER; wait $SERVER || fail "server: $(cat "$T/server.log")"; SERVER=
	echo "hits $(of cache_hits) misses $(of cache_misses) bytes $(of cache_bytes)"
}
chunks=$(($(stat -c %s "$T/own.ndz") >> 20))
serve 1 own
check "each chunk is put together once" [ "$(of cache_misses)" = $chunks ]
check "its other parts are there" [ "$(of cache_hits)" -ge $((15 * chunks)) ]
kept() { echo $(($(of cache_bytes) >> 20)); }	# chunks; there are some bytes more for each
check "they stay" [ "$(kept)" = $chunks ]
serve 1 own --store-cache=3M
check "no more than 3 MiB" [ "$(of cache_bytes)" -le $((3 << 20)) ]
check "which is as many as fit" [ "$(kept)" = 2 ]
check "so some are put together again, or were at hand" [ $(($(of cache_misses) + $(of cache_hits))) -ge $((16 * chunks)) ]
serve 2 own --store-cache=0
check "only those that are being read: $(kept)" [ "$(kept)" -le 2 ]
check "a session has the same numbers" [ "$(of cache_misses)" = "$(json "$T/json" 'sessions[0].cache_misses')" ]
for size in 0 2M 64M; do
	serve 2 mbr --store-cache=$size
	check "what is made again: counted, and bounded by its 3 chunks" [ "$(of cache_bytes)" -gt 0 -a "$(of cache_bytes)" -le $((9 << 20)) ]
	check "hits" [ "$(of cache_hits)" -gt 0 ]
done
finish
