#!/usr/bin/env bash
# Whole programs stay within the memory that -W and -M give them, whatever comes:
# chunks that decode to as much as ours do, and to hundreds of MB; files and pipes.
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires python3
case $(basename "$(dirname "$BIN")") in *address* | *thread* | *undefined*) skip "an instrumented program takes more memory than it asks for" ;; esac
OWN_MB=20	# code, libraries, stacks, chunks on their way

# peak COMMAND...: its exit status; the most memory that it had, in MB, in $T/peak
cat > "$T/peak.py" << 'PY'
import resource, subprocess, sys
rc = subprocess.call(sys.argv[2:])
open(sys.argv[1], "w").write(str(-(-resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)))
sys.exit(rc)
PY
peak() { python3 "$T/peak.py" "$T/peak" "$@"; }
within() {	# WHAT MB COMMAND...
	local what=$1 mb=$2; shift 2
	peak "$@" > /dev/null 2> "$T/stderr"; local rc=$?
	[ $rc = 0 ] || { fail "$what: exit $rc: $(cat "$T/stderr")"; return; }
	check "$what: $(cat "$T/peak") MB of $mb and $OWN_MB of its own" [ "$(cat "$T/peak")" -le $((mb + OWN_MB)) ]
}

# 96 MB that compress so well that each chunk decodes to 16 MiB, and not to zeros.
python3 - "$T/src" << 'PY'
import random, sys
r = random.Random(3)
words = [bytes(r.choices(b"abcdefghij", k=200)) for _ in range(50)]
with open(sys.argv[1], "wb") as f:
    for i in range(96): f.write(b"".join(r.choices(words, k=5243))[:1 << 20])
PY
"$BIN/imagezip" -q -r "$T/src" "$T/img.ndz" || fail "imagezip"
# A chunk of another program that decodes to 300 MB, by Emulab's header of version 3.
python3 - "$T/large.ndz" << 'PY'
import struct, sys, zlib
size = 300 << 20
z = zlib.compressobj(9)
body = b"".join(z.compress(b"x" * (1 << 20)) for _ in range(300)) + z.flush()
sectors = size // 512
head = struct.pack("<IIiiiiIIi", 0x69696969 + 2, len(body), 0, 0, 4096, 1, 0, sectors, 0) + struct.pack("<II", 0, sectors)
open(sys.argv[1], "wb").write((head.ljust(4096, b"\0") + body).ljust(1 << 20, b"\0"))
PY
[ "$(stat -c %s "$T/large.ndz")" = 1048576 ] || fail "the large chunk"
"$BIN/imagedump" "$T/large.ndz" > /dev/null || fail "the large chunk is none"
truncate -s 300M "$T/disk"

echo "== imageunzip"
for w in 4 48; do
	for options in "-j2" "-j8" "-n"; do
		within "-W $w $options, a file" $w "$BIN/imageunzip" -q -W $w $options --in-place "$T/img.ndz" "$T/disk"
		check "is right" cmp -n $((96 << 20)) "$T/src" "$T/disk"
	done
done
within "from a pipe" 16 sh -c "cat '$T/img.ndz' | '$BIN/imageunzip' -q -W 16 -j2 --in-place - '$T/disk'"
within "to a pipe" 16 sh -c "'$BIN/imageunzip' -q -W 16 -j2 '$T/img.ndz' - | cat > /dev/null"
within "a chunk of 300 MB" 16 "$BIN/imageunzip" -q -W 16 "$T/large.ndz" /dev/null
within "the same from a pipe" 16 sh -c "cat '$T/large.ndz' | '$BIN/imageunzip' -q -W 16 - /dev/null"
within "compared first" 16 "$BIN/imageunzip" -q -W 16 --skip-same "$T/img.ndz" "$T/disk"
within "compared first, a chunk of 300 MB" 16 "$BIN/imageunzip" -q -W 16 --skip-same "$T/large.ndz" "$T/disk"
within "read back" 16 "$BIN/imageunzip" -q -W 16 --read-back --in-place "$T/img.ndz" "$T/disk"
within "with a state on the target" 16 "$BIN/imageunzip" -q -W 16 --state=target --in-place "$T/img.ndz" "$T/disk"
peak "$BIN/imageunzip" -q -W 160 -j8 --in-place "$T/img.ndz" "$T/disk"
check "more is taken when it may be: $(cat "$T/peak") MB" [ "$(cat "$T/peak")" -gt 60 ]

echo "== an image of 500 GB in a store"
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(4).randbytes(70 << 20))' > "$T/random"
es() { "$BIN/emustore" -q --store "$T/store" "$@"; }
"$BIN/imagezip" -q -r "$T/random" "$T/random.ndz" && es init && es put small "$T/random.ndz" || fail "a store"
check fill_large "${B:-$TOP/build/plain}/bench/fill_large" "$T/store" small large 500000
within "its description" 60 "$BIN/emustore" -q --store "$T/store" info large
within "a chunk of it" 60 "$BIN/emustore" -q --store "$T/store" get large "$T/chunk" --chunk 400003
check "is right" cmp <(tail -c +$((3 * 1048576 + 1)) "$T/random.ndz" | head -c 1048576) "$T/chunk"

if ! command -v ip > /dev/null; then echo "no ip: frisbee is left out"; finish; fi
echo "== frisbee"
port=$((20000 + OWN_NUMBER % 12000))
CLEANUP+=('[ -z "${SERVER:-}" ] || kill $SERVER 2> /dev/null')
for image in img large; do
	for m in 16 64; do
		rm -f "$T/where" "$T/node"
		"$BIN/frisbeed" -d --loopback -i 127.0.0.1 -m 239.192.7.8 -p $port -A "$T/where" -T 0 -W 400M "$T/$image.ndz" 2> "$T/server.log" & SERVER=$!
		begins $SERVER [ -s "$T/where" ]
		within "-M $m, $image" $m "$BIN/frisbee" -q --loopback -i 127.0.0.1 -m 239.192.7.8 -p $port -T 240 -M $m "$T/node"
		[ $image = large ] || check "is right" cmp "$T/src" "$T/node"
		kill $SERVER; wait $SERVER 2> /dev/null
	done
done
SERVER=
finish
