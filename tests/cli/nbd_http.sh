#!/usr/bin/env bash
# Images from web servers: nginx with ranges, a server without them, one that does everything wrong.
. "$(dirname "$0")/lib.sh"
own_network "$@"
. "$(dirname "$0")/nbd_lib.sh"
requires sfdisk mke2fs nginx
[ -n "${NETWORK_INSIDE:-}" ] || skip "needs root, for ports of its own"
a_disk sda

# serve COMMAND...: it runs until the end, and answers at the port.
serve() {	# PORT COMMAND...
	local port=$1; shift
	"$@" > "$T/server.log" 2>&1 &
	CLEANUP+=("kill $! 2> /dev/null; wait $! 2> /dev/null")
	begins $! answers "$port" || fail "no server: $(cat "$T/server.log")"
}
answers() { { : < "/dev/tcp/127.0.0.1/$1"; } 2> /dev/null; }	# PORT
six=; only_six web.six && six='listen [::1]:8080;'
mkdir "$T/www"; cp "$T/sda.ndz" "$T/www/"; echo hello > "$T/www/text"; : > "$T/www/empty"
cat > "$T/nginx.conf" << CONF
worker_processes 1; pid $T/nginx.pid; error_log stderr; user root;
events { worker_connections 2000; }
http { access_log $T/access.log; client_body_temp_path $T/b; proxy_temp_path $T/p; fastcgi_temp_path $T/f; uwsgi_temp_path $T/u; scgi_temp_path $T/s;
	keepalive_requests 100000;
	server { listen 127.0.0.1:8080; $six root $T/www; location /moved/ { return 302 /sda.ndz; } } }
CONF
serve 8080 nginx -c "$T/nginx.conf" -g "daemon off;"
check "from nginx" comes_out "$T/sda.out" image=http://127.0.0.1:8080/sda.ndz
check "requests for ranges alone" [ "$(grep -c ' 206 ' "$T/access.log")" -gt 3 -a -z "$(grep -v ' 206 ' "$T/access.log")" ]
for host in ${six:+'[::1]' web.six}; do
	check "by IPv6, from $host" comes_out "$T/sda.out" image="http://$host:8080/sda.ndz"
done
check "behind a redirect" comes_out "$T/sda.out" image=http://127.0.0.1:8080/moved/sda.ndz
refused "the server answers 404" image=http://127.0.0.1:8080/nothing
refused "0 bytes are not whole chunks" image=http://127.0.0.1:8080/empty
refused "onnect" image=http://127.0.0.1:8079/sda.ndz
refused "are not whole chunks" image=http://127.0.0.1:8080/text
nbd "nbdinfo \$uri" image=http://me:secret@127.0.0.1:8080/sda.ndz?key=hidden > "$T/info"
check "passwords are not shown" eval 'grep -q "127.0.0.1:8080/sda.ndz$" "$T/info" && ! grep -q "secret\|hidden" "$T/info" "$T/nbd.log"'
# imageunzip installs from there what it would from a file, and reads the image by sector for --dry-run.
echo "== imageunzip"
unzip_url() { "$BIN/imageunzip" -q "$@" "http://127.0.0.1:8080/sda.ndz?key=hidden" "$T/unzipped"; }
check "a URL" unzip_url; check "as from a file" cmp "$T/sda.out" "$T/unzipped"
spoil_byte "$T/unzipped" 6000000
check "with --skip-same" unzip_url --skip-same; check "the same again" cmp "$T/sda.out" "$T/unzipped"
check "--dry-run" quietly "$BIN/imageunzip" --dry-run http://127.0.0.1:8080/sda.ndz "$T/unzipped"
status 1 "$BIN/imageunzip" -q http://127.0.0.1:8080/none.ndz "$T/none"
check "what is not there: $(cat "$T/stderr")" eval 'grep -q "the server answers 404" "$T/stderr" && [ ! -e "$T/none" ]'
# The file becomes another one while it is read.
python3 - "$T" << 'PY'
import os, random, sys
os.mkdir(sys.argv[1] + "/big")
open(sys.argv[1] + "/big/disk", "wb").write(random.Random(1).randbytes(20 << 20))
PY
"$BIN/imagezip" -q -r "$T/big/disk" "$T/www/big.ndz" || fail "imagezip"
cat > "$T/changes.sh" << 'SH'
nbdcopy --requests=1 --connections=1 "$1" - 2> /dev/null | { head -c 1M > "$T/first"; cp "$T/www/sda.ndz" "$T/www/new"; mv "$T/www/new" "$T/www/big.ndz"; cat > "$T/rest"; }
nbdinfo --size "$1" > /dev/null
SH
export T; nbd "bash '$T/changes.sh' \$uri" image=http://127.0.0.1:8080/big.ndz
check "a changed file is noticed" grep -q "big.ndz: has changed since it was opened" "$T/nbd.log"
check "what came before is right" cmp -n "$(($(stat -c %s "$T/first") + $(stat -c %s "$T/rest")))" <(cat "$T/first" "$T/rest") "$T/big/disk"

serve 8081 "$PYTHON" -m http.server -b 127.0.0.1 -d "$T/www" 8081
refused "sends the whole file when a part of it is requested" image=http://127.0.0.1:8081/sda.ndz

# All that a server can do wrong: what comes is right, or an error.
serve 8082 "$PYTHON" -E -S "$TOP/tests/helpers/http_hostile.py" "$T/sda.ndz" 8082 "$T/fault"
patience() {	# FAULT: some take all of this time
	case $1 in down | stuck | busy) export STREAM_HTTP_SECONDS=3 ;; none) export STREAM_HTTP_SECONDS=60 ;; *) export STREAM_HTTP_SECONDS=10 ;; esac
}
wrong() {	# FAULT OUTCOME WORDS: well, or refused when opened
	echo "$1" > "$T/fault"
	patience "$1"
	if [ "$2" = well ]; then patience none; check "$1: comes out" comes_out "$T/sda.out" image=http://127.0.0.1:8082/x
	else refused "$3" image=http://127.0.0.1:8082/x; fi
}
wrong "" well
check "a date in the first answer alone: comes out" comes_out "$T/sda.out" image=http://127.0.0.1:8082/strict
for fault in busy drop short slow; do wrong $fault well; done
# An answer that takes longer than all tries may is waited for while it arrives.
echo trickle > "$T/fault"
export STREAM_HTTP_SECONDS=2; check "trickle: comes out" comes_out "$T/sda.out" image=http://127.0.0.1:8082/x
check "trickle: it did" [ -e "$T/fault.trickled" ]
wrong down refused "the server answers 500 (tries"
wrong gone refused "the server answers 404 (tries: 1)"
wrong loop refused "redirects"
wrong whole refused "sends the whole file"
wrong shifted refused "is not the 1 bytes at 0"
wrong unsaid refused "is not the 1 bytes at 0"
wrong zipped refused "is not the 1 bytes at 0"
wrong longer refused "is too long"
wrong head refused "is too long"
wrong total refused "has changed\|ends with chunk\|is .* chunks long"
wrong stuck refused "imeout"
# In the middle: behind the requests that opening takes.
reads() { nbd "nbdcopy \$uri '$T/copied'" image=http://127.0.0.1:8082/x; }
patience none
echo "none" > "$T/fault"; before=$(cat "$T/fault.requests"); nbd true image=http://127.0.0.1:8082/x
opening=$(($(cat "$T/fault.requests") - before))
later() {	# FAULT WORDS
	echo "$1 $opening" > "$T/fault"
	patience "$1"
	if reads; then fail "$1 later: copied"; else check "$1 later: $(head -n 1 "$T/nbd.log")" grep -q "$2" "$T/nbd.log"; fi
}
later changed "has changed since"
later shrunk "has changed since"
echo "replaced $opening" > "$T/fault"
if nbd "nbdcopy \$uri '$T/copied'" image=http://127.0.0.1:8082/dated; then fail "replaced later: copied"
else check "replaced later: $(head -n 1 "$T/nbd.log")" grep -q "has changed since" "$T/nbd.log"; fi
later total "has changed since"
# The server has the right file again, for the same nbdkit.  Other words than those of the last fault.
cat > "$T/again.sh" << 'SH'
nbdcopy "$1" "$T/copied" 2> /dev/null && exit 1
echo none > "$T/fault"; nbdcopy "$1" "$T/copied" 2>> "$T/nbdcopy.log"
SH
patience none
again() { rm -f "$T/copied"; echo "total $((opening + 1))" > "$T/fault"; nbd "bash '$T/again.sh' \$uri" image="http://127.0.0.1:8082/$1"; }
check "the right file again, with an ETag: comes out" eval 'again x && cmp "$T/sda.out" "$T/copied"'
check "and was changed before" grep -q "has changed since" "$T/nbd.log"
if again bare; then fail "without one, it cannot be told: copied"
else check "without one, it cannot be told" grep -q "has changed since" "$T/nbd.log"; fi
later whole "sends the whole file"
later shifted "is not the"
later longer "is too long"
later gone "answers 404"
later down "answers 500"
later lies "is not the\|ends too early\|transfer closed\|artial"
later junk "chunk 0"
later stuck "imeout"

# One that is stuck does not keep nbdkit from its end, also when the clock is set back
# meanwhile.
# Other words than those of the last fault: the server counts requests anew then.
echo "stuck $((opening + 1))" > "$T/fault"; export STREAM_HTTP_SECONDS=400
before=$(cat "$T/fault.requests")
LD_PRELOAD=${B:-$TOP/build/plain}/tests/preload/clockjump.so CLOCK_BACK=-3600 \
    nbdkit -f -U "$T/sock" -P "$T/pid" "$PLUGIN" http://127.0.0.1:8082/x 2> "$T/nbd.log" & server=$!
begins $server [ -s "$T/pid" ] || fail "nbdkit does not start: $(cat "$T/nbd.log")"
nbdcopy "nbd+unix:///?socket=$T/sock" "$T/copied" 2> /dev/null & client=$!
has_come() { [ "0$(cat "$T/fault.requests")" -gt $((before + opening + 1)) ]; }
check "the request comes that is not answered" begins $client has_come
check "a read waits" kill -0 $client
kill $server; started=$SECONDS; wait $server; kill $client 2> /dev/null; wait $client 2> /dev/null
check "ends soon when it is told to" [ $((SECONDS - started)) -lt 200 ]
rm -f "$T/sock"
finish
