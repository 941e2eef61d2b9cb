# store_lib.sh: what the tests of stores share; after lib.sh.  EMUSTORE is the store.
export AWS_EC2_METADATA_DISABLED=true	# nobody's keys but those of a test
es() { "$BIN/emustore" "$@"; }
field() { json - "$1"; }
gets() { es -q get "$1" - | cmp - "$2"; }	# NAME FILE: the file comes out
versions() { es list --json | json -1 - "[name=$1].version" 2> /dev/null; }
all_names() { es list --json | json -1 - "[*].name,version"; }
zip_all() { local i; for i; do "$BIN/imagezip" -q -r "$T/$i" "$T/$i.ndz" || fail "imagezip $i"; done; }

# Three images, the second the first changed in places: random data, text, zeros; the third only random.
fixture_related() {
	python3 - << 'PY'
import random
r = random.Random(1)
data = bytearray(r.randbytes(6 << 20)) + bytes(5 << 20) + bytes(str(list(range(700000))), "ascii") + bytes(3 << 20)
data += bytes(-len(data) % 512)
open("a", "wb").write(data)
for at in (100000, 2500000, 12000000): data[at:at + 3000] = r.randbytes(3000)
open("b", "wb").write(data)
open("c", "wb").write(r.randbytes(3 << 20))
PY
	local i
	for i in a b c; do "$BIN/imagezip" -q -r --windows=store $i $i.ndz || return; done
}
related_images() { take related {a,b,c}{,.ndz}; }

# The image b, installed and multicast straight from the store, over loopback.
installs_b() { installs b "$T/b" "$1"; }	# PORT
installs() {	# NAME DISK PORT
	rm -f "$T/out" "$T/node" "$T/where"
	check "imageunzip --store" "$BIN/imageunzip" -q --store "$EMUSTORE" "$1" "$T/out"
	check "the disk is right" cmp "$2" "$T/out"
	rm -f "$T/out"	# where others get images to, which replace no disk
	command -v ip > /dev/null || return
	"$BIN/frisbeed" -q --loopback -i 127.0.0.1 -m 239.192.7.8 -p "$3" -A "$T/where" -T -1 -W 400M --store "$EMUSTORE" "$1" 2> "$T/server.log" & server=$!
	CLEANUP+=("kill $server 2> /dev/null")
	begins $server [ -s "$T/where" ]
	check "frisbee from frisbeed --store" "$BIN/frisbee" -q --loopback -i 127.0.0.1 -m 239.192.7.8 -p "$3" -T 100 "$T/node"
	check "its disk is right" cmp "$2" "$T/node"
	wait $server || fail "frisbeed: $(cat "$T/server.log")"
}

# Four writers at once, each with a cache of its own: put NAME, two of FILE1 and two of FILE2.
four_writers() {	# NAME FILE1 FILE2
	local i v c=0 d=0 pids=()
	for i in 1 2 3 4; do EMUSTORE_CACHE=$T/w$i es -q put "$1" "$([ $((i % 2)) = 0 ] && echo "$2" || echo "$3")" & pids[i]=$!; done
	for i in 1 2 3 4; do wait "${pids[i]}" || fail "writer $i"; done
	for v in $(versions "$1"); do
		es -q get "$1:$v" "$T/out"
		cmp -s "$T/out" "$2" && c=$((c + 1))
		cmp -s "$T/out" "$3" && d=$((d + 1))
	done
	check "four versions, two of each" [ $c$d = 22 ]
}

# How many seconds of grace a store in a bucket needs here: a put may take half of it, also on a busy machine.
measure_grace() {	# URL-OF-A-STORE-TO-TRY FILE LEAST: GRACE
	local started=$SECONDS
	es --store "$1" init && es --store "$1" -q put try "$2" || fail "a store to try"
	GRACE=$(($3 + 6 * (SECONDS - started)))
}

# All objects of it become older than its grace.
old() { find "$T/s/objects" -type f -exec touch -d '1 hour ago' {} +; }
# A small S3 server that does as $T/s/fault tells it: helpers/s3_hostile.py.
hostile_server() {	# [ADDRESS]
	mkdir "$T/s"
	"$PYTHON" -E -S "$TOP/tests/helpers/s3_hostile.py" "$T/s" "${1:-127.0.0.1}" 2> "$T/python.log" & local server=$!
	CLEANUP+=("kill $server 2> /dev/null")
	begins $server [ -s "$T/s/port" ] || fail "no server: $(cat "$T/python.log")"
	export AWS_ENDPOINT_URL=http://127.0.0.1:$(cat "$T/s/port") AWS_REGION=us-east-1 AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret
	export EMUSTORE_CACHE=$T/cache HOME=$T
}
