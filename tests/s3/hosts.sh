#!/usr/bin/env bash
# HOSTS (3) machines at one bucket of a real S3 server, KILLS (12) of whose commands are killed at any moment, while the server is
# killed and started again SERVERS (4) times: nothing is lost, nothing wrong is given out, and verify is right at every moment.
. "$(dirname "$0")/../cli/lib.sh"
own_network "$@"
. "$(dirname "$0")/../cli/store_lib.sh"
. "$(dirname "$0")/lib.sh"
requires python3 swift-proxy-server
export KILLS=${KILLS:-12} HOSTS=${HOSTS:-3} SEED=${SEED:-1} SERVERS=${SERVERS:-4} MOMENT=6
start_server $((20000 + OWN_NUMBER % 12000))
python3 - "$T" << 'PY'
import random, sys
r = random.Random(3)
data = bytearray(r.randbytes(900000 // 512 * 512))
for n in "abcdef":
    open(sys.argv[1] + "/" + n, "wb").write(data)
    at = r.randrange(len(data) - 70000)
    data[at:at + 65536] = r.randbytes(65536)
PY
zip_all a b c d e f
export EMUSTORE=s3://images/hosts EMUSTORE_CACHE=$T/cache BIN
mkdir "$T/w"
measure_grace s3://images/try "$T/a.ndz" 30
es init --pack-size 300k --grace $GRACE && es -q put always "$T/a.ndz" || fail "a store"
"$PYTHON" "$TOP/tests/helpers/store_torture.py" "$HOSTS" "$KILLS" "$SEED" "$T/w" "$T"/[a-f].ndz > "$T/torture.log" 2>&1 & torture=$!
started=$SECONDS
for ((n = 0; n < SERVERS; n++)); do
	sleep $((5 + n % 3))
	kill -0 $torture 2> /dev/null || break
	"$helpers/swift_server.sh" again "$T/server" || fail "the server is not there again"
done
check "machines and servers that are killed" wait $torture
cat "$T/torture.log"; echo "the server was killed $n times in $((SECONDS - started)) s; a grace of $GRACE s"
check "the server was killed" [ "$n" -ge 1 ]
check "from a machine that had no part in it" bash -c '"$0" -q --cache "$1" get always - | cmp - "$2"' "$BIN/emustore" "$T/fresh" "$T/a.ndz"
check "gc" es -q gc --all
check "verify --data" es -q verify --data
check "the image of the beginning" gets always "$T/a.ndz"
finish
