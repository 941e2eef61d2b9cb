#!/usr/bin/env bash
# Keys of a machine's role: asked for where neither the environment nor files have any, sent with requests, asked for again before
# they expire; a server that says something else is refused with a sentence.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3
hostile_server
related_images
export EMUSTORE=s3://bucket/role
es init && es -q put c "$T/c.ndz" || fail "a store"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_EC2_METADATA_DISABLED

# Who knows the role: what it was asked is in $T/asked; $T/life: how long keys last, in seconds; $T/says: another answer than the keys.
cat > "$T/role.py" << 'PY'
import datetime, http.server, json, os, sys
T = sys.argv[1]
class Role(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args): pass
    def give(self, status, text):
        self.send_response(status); self.send_header("Content-Length", str(len(text))); self.end_headers(); self.wfile.write(text.encode())
    def note(self):
        with open(T + "/asked", "a") as f: f.write(f"{self.command} {self.path}\n")
    def keys(self):
        if os.path.exists(T + "/says"): return self.give(200, open(T + "/says").read())
        life = int(open(T + "/life").read())
        until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=life)
        self.give(200, json.dumps(dict(Code="Success", AccessKeyId="ROLEKEY", SecretAccessKey="secret/of+role", Token="TOKEN=", Expiration=until.strftime("%Y-%m-%dT%H:%M:%SZ"))))
    def do_PUT(self):
        self.note()
        self.give(200, "word") if self.path == "/latest/api/token" and self.headers["X-aws-ec2-metadata-token-ttl-seconds"] else self.give(400, "")
    def do_GET(self):
        self.note()
        if self.path == "/container": return self.keys() if self.headers["Authorization"] == "Basic me" else self.give(403, "")
        if self.headers["X-aws-ec2-metadata-token"] != "word": return self.give(401, "")
        at = "/latest/meta-data/iam/security-credentials/"
        self.give(200, "lab-role\n") if self.path == at else self.keys() if self.path == at + "lab-role" else self.give(404, "")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Role)
open(T + "/role.port", "w").write(str(server.server_port))
server.serve_forever()
PY
"$PYTHON" -E -S "$T/role.py" "$T" 2> "$T/role.log" & CLEANUP+=("kill $! 2> /dev/null")
soon [ -s "$T/role.port" ] || fail "no server: $(cat "$T/role.log")"
here=http://127.0.0.1:$(cat "$T/role.port")
asked() { grep -c "$1" "$T/asked"; }

echo "== of an instance"
export AWS_EC2_METADATA_SERVICE_ENDPOINT=$here
echo 3600 > "$T/life"; : > "$T/asked"; : > "$T/s/requests"
check "list" [ "$(all_names)" = "c:1" ]
check "get" gets c "$T/c.ndz"
check "a word first, the role, its keys" [ "$(head -n 3 "$T/asked" | tr '\n' ' ')" = "PUT /latest/api/token GET /latest/meta-data/iam/security-credentials/ GET /latest/meta-data/iam/security-credentials/lab-role " ]
check "once for each command" [ "$(asked lab-role)" = 2 ]
AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret es list > /dev/null
check "nobody is asked where there are keys" [ "$(asked lab-role)" = 2 ]
echo 100 > "$T/life"; : > "$T/asked"
check "keys that expire soon" gets c "$T/c.ndz"
check "are asked for again, not with every request: $(asked lab-role) times" [ "$(asked lab-role)" -ge 2 -a "$(asked lab-role)" -le 4 ]

echo "== said wrongly, or not at all"
for says in '' '{}' '<html>' '{"AccessKeyId": "x y", "SecretAccessKey": "z"}' "$(printf '{"AccessKeyId": "x", "SecretAccessKey": "%03000d"}' 7)"; do
	printf '%s' "$says" > "$T/says"
	status 3 es list
	check "says what" grep -q "the answer with the keys of this machine's role" "$T/stderr"
done
rm "$T/says"
AWS_EC2_METADATA_SERVICE_ENDPOINT=$here/nothing status 1 es list
check "says what the server answers" grep -q "answers 400" "$T/stderr"
AWS_EC2_METADATA_DISABLED=true status 2 es list
check "no key" grep -q "no key for the object store" "$T/stderr"
AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1 status 2 es list
check "nobody there" grep -q "no key for the object store" "$T/stderr"

echo "== of a container"
echo 3600 > "$T/life"
export AWS_CONTAINER_CREDENTIALS_FULL_URI=$here/container AWS_CONTAINER_AUTHORIZATION_TOKEN="Basic me"
check "list" [ "$(all_names)" = "c:1" ]
AWS_CONTAINER_AUTHORIZATION_TOKEN=other status 1 es list
check "says what the server answers" grep -q "answers 403" "$T/stderr"
finish
