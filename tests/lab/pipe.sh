#!/usr/bin/env bash
# Into pipes, in order and in bounded memory: alone, a slow reader among others, with
# loss, from an old server; files that are no images; what a pipe cannot do.
. "$(dirname "$0")/lib.sh"
requires python3
lab_up 3

python3 - "$T/disk" << 'PY'
import random, sys
r = random.Random(11)
with open(sys.argv[1], "wb") as f:
    for i in range(320):
        f.write(r.randbytes(128 * 1024) + bytes([i % 251]) * (128 * 1024))
    f.truncate(82 << 20)
PY
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail "imagezip"

# Runs a command and notes the most memory that it had, in KiB.
cat > "$T/measure.py" << 'PY'
import resource, subprocess, sys
rc = subprocess.run(sys.argv[2:]).returncode
with open(sys.argv[1], "w") as f:
    f.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(rc)
PY
cat > "$T/slow.py" << 'PY'
import sys, time
n = 0
while True:
    b = sys.stdin.buffer.read1(65536)
    if not b:
        break
    sys.stdout.buffer.write(b)
    n += len(b)
    if n >= 1 << 22:
        n = 0
        time.sleep(0.15)
PY

into_pipe() {	# NODE READER OPTIONS...: in the background, what came goes to $T/dNODE
	local n=$1 reader=$2; shift 2
	(set -o pipefail
	ip netns exec "$LAB$n" timeout 240 python3 "$T/measure.py" "$T/rss$n" "$BIN/frisbee" -q -m $GROUP -p $PORT --json \
	    "$@" - 2> "$T/client$n.json" | $reader > "$T/d$n") &
	LOADS[$n]=$!; PIDS+=($!)
	cp "$T/client$n.json" "$T/client$n.log" 2> /dev/null
}
piped() {	# NODE: wait for it
	wait "${LOADS[$1]}"; local rc=$?
	[ $rc = 0 ] || fail "client $1: exit $rc: $(cat "$T/client$1.json")"
	check "client $1 gave the disk out" cmp "$T/disk" "$T/d$1"
}
small() {	# NODE: 8 MB of chunks, 8 of decoded data, and the program
	case $BIN in *address*|*thread*) return ;; esac
	echo "client $1: $(cat "$T/rss$1") KiB"
	check "client $1 needed little memory" [ "$(cat "$T/rss$1")" -lt 40000 ]
}
slow="python3 $T/slow.py"

echo "== alone"
serve_one "$T/disk.ndz"
into_pipe 1 cat -M 16; piped 1; small 1
wait $SERVER || fail "server: $(tail -n 2 "$T/server.log")"
check "with the extension" [ "$(stat_of "$T/client1.json" extension)" = true ]
blocks=$(($(stat -c %s "$T/disk.ndz") / 1024)) sent=$(stat_of "$T/server.json" blocks_sent)
echo "sent $sent of $blocks"
excused 1
check "nothing was sent twice" [ "$sent" -le $((blocks + 1024 + EXCUSED)) ]

echo "== slowly, with another pipe and a file, and loss"
lab_loss 2 20; lab_loss 3 10
serve -T -1 -W 200M "$T/disk.ndz"
into_pipe 1 "$slow" -M 16; into_pipe 2 cat -M 16; load 3 "$T/d3"
loaded 3; check "client 3" cmp "$T/disk" "$T/d3"
piped 2; piped 1; small 1; small 2
wait $SERVER
echo "sent $(stat_of "$T/server.json" blocks_sent) of $blocks"

echo "== three slow pipes with loss"
serve -T -1 -W 400M "$T/disk.ndz"
for i in 1 2 3; do into_pipe $i "$slow" -M 16; done
for i in 1 2 3; do piped $i; small $i; done
wait $SERVER
echo "sent $(stat_of "$T/server.json" blocks_sent) of $blocks"

echo "== the base protocol, and few buffers"
serve --base -T -1 "$T/disk.ndz"
into_pipe 1 "$slow" -M 16; into_pipe 2 cat -C 2 -W 8
piped 1; piped 2; small 1
wait $SERVER

echo "== a file that is no image; free space with a pattern"
head -c 20000001 /dev/urandom > "$T/file"
serve_one "$T/file"
on 2 "$BIN/frisbee" -q -m $GROUP -p $PORT -N -C 4 - > "$T/copy" || fail "-N to a pipe"
check "the file" cmp "$T/file" "$T/copy"; wait $SERVER
truncate -s 8M "$T/holes"
printf 'X' | dd of="$T/holes" bs=1 seek=3000000 conv=notrunc 2> /dev/null
mke2fs -q -F -t ext4 "$T/holes" 2> /dev/null && {
	"$BIN/imagezip" -q "$T/holes" "$T/holes.ndz" || fail "imagezip"
	"$BIN/imageunzip" -q -p 0x41424344 "$T/holes.ndz" - > "$T/want" || fail "imageunzip"
	serve_one "$T/holes.ndz"
	on 1 "$BIN/frisbee" -q -m $GROUP -p $PORT --pattern 0x41424344 - > "$T/got" || fail "--pattern to a pipe"
	check "as imageunzip has it" cmp "$T/want" "$T/got"; wait $SERVER
}

serve "$T/disk.ndz"
on 1 sh -c "'$BIN/frisbee' -q -m $GROUP -p $PORT - 2> '$T/broken' | head -c 100000 > /dev/null"
check "a reader that goes away is an error" grep -q "incomplete" "$T/broken"
kill "$SERVER"; wait "$SERVER" 2> /dev/null
finish
