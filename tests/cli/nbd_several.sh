#!/usr/bin/env bash
# Several sources of one image: what one does not give, another one does.
. "$(dirname "$0")/lib.sh"
own_network "$@"
. "$(dirname "$0")/nbd_lib.sh"
requires sfdisk mke2fs
a_disk sda
"$BIN/imagezip" -q -U "" "$T/sda" "$T/same.ndz"; cp "$T/sda.ndz" "$T/copy.ndz"
check "two of the same" comes_out "$T/sda.out" image="$T/sda.ndz" image="$T/copy.ndz"
check "one of them is not there" comes_out "$T/sda.out" image="$T/nothing.ndz" image="$T/copy.ndz"
check "which is said" grep -q "warning: .*nothing.ndz: No such file" "$T/nbd.log"
refused "No such file" image="$T/nothing.ndz" image="$T/nothing2.ndz"
refused "is not the same image as\|is not as long as" image="$T/sda.ndz" image="$T/same.ndz"
truncate -s 2M "$T/long.ndz"; refused "is not as long as" image="$T/sda.ndz" image="$T/long.ndz"

# A disk of several chunks, each copy of its image damaged elsewhere.
python3 -c 'import random, sys; open(sys.argv[1], "wb").write(random.Random(1).randbytes(6 << 20))' "$T/rnd"
"$BIN/imagezip" -q -r "$T/rnd" "$T/rnd.ndz" || fail "imagezip"
cp "$T/rnd.ndz" "$T/b.ndz"; cp "$T/rnd.ndz" "$T/c.ndz"
spoil_byte "$T/b.ndz" 1500000; spoil_byte "$T/c.ndz" 3500000
check "damaged in different places" comes_out "$T/rnd" image="$T/b.ndz" image="$T/c.ndz"
cp "$T/rnd.ndz" "$T/d.ndz"; spoil_byte "$T/d.ndz" 500000
check "one whose first chunk is damaged" comes_out "$T/rnd" image="$T/d.ndz" image="$T/rnd.ndz"
cp "$T/rnd.ndz" "$T/e.ndz"; spoil_byte "$T/e.ndz" 0
check "... so that it says nothing" comes_out "$T/rnd" image="$T/rnd.ndz" image="$T/e.ndz"
spoil_byte "$T/c.ndz" 1500000
if comes_out "$T/rnd" image="$T/b.ndz" image="$T/c.ndz" 2> /dev/null; then fail "damaged in the same place"; fi
check "damage in all of them is an error" grep -q "b.ndz: chunk 1" "$T/nbd.log"

[ -n "${NETWORK_INSIDE:-}" ] || { echo "not root: web servers are left out"; finish; }
export STREAM_SESSION_SECONDS=1
check "a session of which nothing is heard" comes_out "$T/sda.out" image=frisbee://127.0.0.1:5999 image="$T/copy.ndz"
check "is left out" grep -q "warning: .*nothing was heard" "$T/nbd.log"
export STREAM_HTTP_SECONDS=300
"$PYTHON" -E -S "$TOP/tests/helpers/http_hostile.py" "$T/rnd.ndz" 8082 "$T/fault" & CLEANUP+=("kill $! 2> /dev/null; wait $! 2> /dev/null")
answers() { { : < /dev/tcp/127.0.0.1/8082; } 2> /dev/null; }
soon answers || fail "no server"
for fault in stuck down gone changed junk; do
	echo "$fault 40" > "$T/fault"	# when it is open
	started=$SECONDS
	check "a server that is $fault, and a file" comes_out "$T/rnd" image=http://127.0.0.1:8082/x image="$T/rnd.ndz"
	check "without waiting for it" [ $((SECONDS - started)) -lt 200 ]
done
finish
