# unicast_lib.sh: a frisbeed on this host and its clients: . "$(dirname "$0")/unicast_lib.sh", behind lib.sh.
SERVER=
CLEANUP+=('[ -z "$SERVER" ] || kill $SERVER 2> /dev/null')
serve() {	# IMAGE; $PORT is where it is
	rm -f "$T/where"
	"$BIN/frisbeed" -q --unicast -m 127.0.0.1 -p 0 -A "$T/where" "$@" 2> "$T/server.log" &
	SERVER=$!
	begins $SERVER [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/server.log")"
	PORT=$(tr -d '\0' < "$T/where" | sed 's/.*://')
}
served() { kill $SERVER; wait $SERVER 2> /dev/null; SERVER=; }
frisbee() { timeout 240 "$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$PORT" "$@"; }
