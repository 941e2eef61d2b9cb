#!/usr/bin/env bash
# With --json a run that fails prints a document, too: one, with ok, error, kind and exit;
# never among data.
. "$(dirname "$0")/lib.sh"
own_network
requires python3
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
# told EXIT KIND FACT COMMAND...: the document of standard output; the sentence is on standard error.
told() {
	local want=$1 kind=$2 and=$3 got; shift 3
	"$@" > "$T/stdout" 2> "$T/stderr" < "$T/null"; got=$?
	check "exit $got, $kind: $(basename "$1") ${*:2}" [ "$got" = "$want" ]
	json "$T/stdout" ok=false "exit=$want" "kind=$kind" "error[#]>10" "$and" || fail "$*: its document"
	grep -qF -e "$(json "$T/stdout" error)" "$T/stderr" || fail "$*: the sentence: $(cat "$T/stderr")"
}
: > "$T/null"; ln -s /proc/self/fd/1 "$T/fd1"	# as /dev/stdout
head -c 3000000 /dev/urandom > "$T/src"; "$BIN/imagezip" -q -f "$T/src" "$T/good.ndz" || fail "imagezip"
cp "$T/good.ndz" "$T/bad.ndz"; spoil_byte "$T/bad.ndz" 1200000
head -c 5000 /dev/urandom > "$T/junk"
no=$T/no/such out=$T/out

echo "== what is not there, what is damaged"
gone="error~such"
told 1 io "$gone" "$BIN/imagezip" --json "$no" "$out"
told 1 io "$gone" "$BIN/imagezip" --json -i "$no"
told 1 io "$gone" "$BIN/imageunzip" --json "$no" "$out"
told 1 io "$gone" "$BIN/imageunzip" --json --status "$no"
told 1 io "$gone" "$BIN/imagehash" --json -r "$no" "$T/src"
told 1 io "$gone" "$BIN/imagehash" --json -R "$no"
told 1 io "$gone" "$BIN/imagedelta" --json "$no" "$T/good.ndz" "$out"
told 1 io "$gone" "$BIN/imagerezip" --json "$no" "$out"
told 1 io "$gone" "$BIN/frisbeed" --json -m 127.0.0.1 -p 0 "$no"
told 1 io "$gone" "$BIN/frisbee" --json -i 127.0.0.1 -m 239.9.9.9 -p 5999 "$no"
# The statistics of an earlier load are replaced when the target is none, and when no master server is there.
for where in "-i 127.0.0.1 -m 239.9.9.9 -p 5999 $no" "-S 127.0.0.1:1 -F web.ndz $out"; do
	echo '{ "state": "done" }' > "$T/stale"
	status 1 "$BIN/frisbee" -q --stats "$T/stale" $where
	check "--stats of a load that has not begun" json "$T/stale" state=waiting
done
told 1 io "$gone" "$BIN/emustore" --json --store "$no" list
damaged="error~bad[.]ndz|junk"
told 3 damaged "$damaged" "$BIN/imageunzip" --json "$T/bad.ndz" "$out"
told 3 damaged "$damaged" "$BIN/imageunzip" --json -C "$T/bad.ndz"
told 3 damaged "$damaged" "$BIN/imagehash" --json -r "$T/bad.ndz" "$T/src"
told 3 damaged "$damaged" "$BIN/imagedelta" --json "$T/good.ndz" "$T/bad.ndz" "$out"
told 3 damaged "$damaged" "$BIN/imagerezip" --json "$T/bad.ndz" "$out"
told 3 damaged "$damaged" "$BIN/imagerezip" --json "$T/junk" "$out"
told 3 damaged "$damaged" "$BIN/imagehash" --json -R "$T/junk"

echo "== wrong use, wherever --json stands"
for p in imagezip imageunzip imagedump imagehash imagedelta imagerezip frisbeed frisbee emustore streamdisk; do
	told 2 usage "error~nonsense" "$BIN/$p" --json --nonsense
	told 2 usage "error~nonsense" "$BIN/$p" --nonsense --json --other
	told 2 usage 'error?' "$BIN/$p" --json
	"$BIN/$p" --nonsense > "$T/stdout" 2> /dev/null
	check "$p: nothing without --json" [ ! -s "$T/stdout" ]
done
told 2 usage "error~^-s: " "$BIN/imagezip" -s none --json "$T/src" "$out"
told 2 usage "error~the same file" "$BIN/imagezip" --json -f "$T/src" "$T/src"
told 2 usage "error~command" "$BIN/emustore" --json nonsense
quietly "$BIN/imagezip" --version --nonsense --json || fail "--version comes first"

echo "== full, taken, refused"
told 1 io "error~No space left" "$BIN/imagezip" --json -f "$T/src" /dev/full
told 1 io "error~No space left" "$BIN/imageunzip" --json "$T/good.ndz" /dev/full
told 1 io "error~No space left" "$BIN/imagerezip" --json "$T/good.ndz" /dev/full
if mkdir "$T/full" && mount -t tmpfs -o size=1m none "$T/full" 2> /dev/null; then
	CLEANUP=("umount '$T/full' 2> /dev/null" "${CLEANUP[@]}")
	told 1 io "error~No space left" "$BIN/imagezip" --json -f "$T/src" "$T/full/x.ndz"
	check "nothing is left" [ -z "$(ls "$T/full")" ]
fi
"$BIN/imagezip" --json -f "$T/src" "$T/x.ndz" > /dev/full 2> "$T/stderr"
check "the report itself does not fit: exit $?" [ "$(cat "$T/stderr" | wc -l)" = 1 ]

echo "== where the data goes to standard output, the document does not"
apart() {	# EXIT KIND COMMAND...: it is all of standard error
	local want=$1 kind=$2 got; shift 2
	"$@" > "$T/stdout" 2> "$T/stderr" < "$T/null"; got=$?
	check "exit $got, $kind: $(basename "$1") ${*:2}" [ "$got" = "$want" ]
	json "$T/stderr" ok=false "exit=$want" "kind=$kind" || fail "$*: its document"
	if grep -q '"ok"' "$T/stdout"; then fail "$*: among the data"; fi
}
apart 2 usage "$BIN/imagezip" --json -f "$T/src" -
apart 2 usage "$BIN/imagezip" --json -f "$T/src" "$T/fd1"
apart 2 usage "$BIN/imagezip" -f "$T/src" - --nonsense --json
apart 1 io "$BIN/imageunzip" --json "$no" -
apart 2 usage "$BIN/imageunzip" --json --nonsense "$T/good.ndz"
apart 3 damaged "$BIN/imageunzip" --json "$T/bad.ndz"
apart 3 damaged "$BIN/imageunzip" --json "$T/bad.ndz" "$T/fd1"
apart 2 usage "$BIN/imagerezip" --json "$T/good.ndz" -
apart 2 usage "$BIN/imagedelta" --json "$T/good.ndz" "$T/good.ndz" -
apart 2 usage "$BIN/frisbee" --json --nonsense -
apart 1 io "$BIN/emustore" --json --store "$no" get x -

echo "== reports that say what is wrong"
"$BIN/imagedump" --json "$T/good.ndz" "$T/junk" "$no" "$T/bad.ndz" > "$T/stdout" 2> "$T/stderr"; rc=$?
check "imagedump: the worst of all ($rc)" [ $rc = 3 ]
json "$T/stdout" "[#]=4" "[0].ok!?" "[0].chunks>0" "[1].kind=damaged" "[1].exit=3" \
	"[2].kind=io" "[2].image~such$" "[2].ok=false" || fail "imagedump"
"$BIN/imagedump" --json --verify -dd "$T/good.ndz" "$T/bad.ndz" > "$T/stdout" 2> "$T/stderr"; rc=$?
check "imagedump --verify -dd ($rc)" [ $rc = 3 ]
json "$T/stdout" "[0].verified=true" "[1].chunks!?" "[1].ok=false" "[1].error~bad[.]ndz: chunk 1" || fail "imagedump --verify"
cp "$T/src" "$T/other"; spoil_byte "$T/other" 100000
"$BIN/imagehash" --json -r "$T/good.ndz" "$T/other" > "$T/stdout"; rc=$?
check "imagehash: it differs ($rc)" [ $rc = 4 ]
json "$T/stdout" ok=false kind=differs exit=4 same=false "ranges[#]=1" || fail "imagehash"
"$BIN/imagehash" --json -r "$T/good.ndz" "$T/src" > "$T/stdout" || fail "imagehash"
json "$T/stdout" same=true 'ok!?' || fail "imagehash: the same"
"$BIN/imagehash" -c "$T/good.ndz"; "$BIN/imagehash" --json -S "$T/good.ndz" > "$T/stdout" || fail "imagehash -S"
json "$T/stdout" '={"ok":true}' || fail "imagehash -S"
"$BIN/imageunzip" --json -N "$T/good.ndz" "$T/copy.ndz" > "$T/stdout" || fail "imageunzip -N"
json "$T/stdout" '={"ok":true}' || fail "imageunzip -N"
"$BIN/imageunzip" --json -N "$T/good.ndz" > "$T/copy.ndz" 2> "$T/stderr" || fail "imageunzip -N, to standard output"
json "$T/stderr" '={"ok":true}' || fail "imageunzip -N, to standard output"
check "the data is not mixed with the document" cmp "$T/good.ndz" "$T/copy.ndz"
"$BIN/frisbee" --doctor --json -m 239.77.7.7 -p 5998 -i 127.0.0.1 > "$T/stdout" 2> "$T/stderr"; rc=$?
check "frisbee --doctor, and no server ($rc)" [ $rc = 1 ]
json "$T/stdout" well=false kind=network "error=$(json "$T/stdout" summary)" exit=1 || fail "frisbee --doctor: $(cat "$T/stderr")"
told 110 io 'error?' "$BIN/frisbee" --json -q -m 239.77.7.7 -p 5998 -i 127.0.0.1 -T 1 "$out"

echo "== stores"
es="$BIN/emustore --store $T/store --json"
$es init > "$T/stdout" && json "$T/stdout" '={"ok":true}' || fail "init"
mkdir "$T/images"; cp "$T/good.ndz" "$T/images/a.ndz"; cp "$T/good.ndz" "$T/images/b.ndz"
$es -q import "$T/images" > "$T/stdout" && json "$T/stdout" "[#]=2" "[0].name=a" "[1].name=b" || fail "import"
cp "$T/bad.ndz" "$T/images/b.ndz"; cp "$T/good.ndz" "$T/images/c.ndz"
$es -q import "$T/images" > "$T/stdout" 2> "$T/stderr"; rc=$?
check "import of a damaged one ($rc)" [ $rc = 3 ]
json "$T/stdout" "[#]=2" "[0].version=2" "[1].ok=false" "[1].kind=damaged" "[1].image~b[.]ndz$" || fail "import"
$es -q get a "$T/a.ndz" > "$T/stdout" && json "$T/stdout" name=a version=2 'ok!?' || fail "get"
check "the same" cmp "$T/a.ndz" "$T/good.ndz"
told 1 absent "error~none" $es get none "$T/a.ndz"
$es rm a:1 > "$T/stdout" && json "$T/stdout" '={"ok":true}' || fail "rm"
$es -q verify --data > "$T/stdout" && json "$T/stdout" "problems[#]=0" 'ok!?' || fail "verify"
pack=$(find "$T/store" -name '*.pack' -o -name 'pack*' -type f | head -n 1)
spoil_byte "$pack" 1500000
$es -q verify --data > "$T/stdout" 2> "$T/stderr"; rc=$?
check "verify finds it ($rc)" [ $rc = 3 ]
json "$T/stdout" ok=false kind=damaged exit=3 'problems_found>0' "problems[#]=$(json "$T/stdout" problems_found)" || fail "verify: $(cat "$T/stderr")"

echo "== a disk that is whole"
python3 - "$T/whole" << 'PY' & pid=$!
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.bind(sys.argv[1] + ".new"); s.listen(); os.rename(sys.argv[1] + ".new", sys.argv[1])
c = s.accept()[0]; c.sendall(b'{"complete": true}'); c.close()
PY
CLEANUP+=("kill $pid 2> /dev/null")
begins $pid [ -S "$T/whole" ]
timeout 240 "$BIN/streamswitch" --json wait "$T/whole" > "$T/stdout" 2> "$T/stderr" && json "$T/stdout" '={"ok":true}' || fail "streamswitch wait: $(cat "$T/stderr")"
wait $pid
told 1 absent 'error?' "$BIN/streamswitch" --json wait "$T/whole"

echo "== servers"
"$BIN/frisbeed" --json -q --unicast -m 127.0.0.1 -p 0 -T -1 -A "$T/where" "$T/good.ndz" "$no" > "$T/stdout" 2> "$T/stderr" & pid=$!
begins $pid [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/stderr")"
kill $pid; wait $pid; rc=$?
check "one of two sessions failed ($rc)" [ $rc = 1 ]
json "$T/stdout" ok=false kind=io "error~1 of 2" "sessions[#]=2" "sessions[0].state=ended" "sessions[1].state=failed" || fail "frisbeed"
rm "$T/where"
"$BIN/frisbeed" --json -q --unicast -m 127.0.0.1 -p 0 -A "$T/where" --stats "$T/stats" "$T/good.ndz" > "$T/stdout" 2> "$T/stderr" & pid=$!
begins $pid [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/stderr")"
port=$(tr -d '\0' < "$T/where" | sed 's/.*://')
told 98 io "error~^UDP port $port is taken by another program; -p or image@address:port chooses another one$" "$BIN/frisbeed" --json -q --unicast -m 127.0.0.1 -p "$port" --stats "$T/unserved" "$T/good.ndz"
json "$T/unserved" ok=false exit=98 "error~taken" "sessions[#]=1" "sessions[0].state=failed" || fail "--stats of what is not served"
kill -HUP $pid
check "SIGHUP means nothing to it" timeout 240 "$BIN/frisbee" -q --unicast -m 127.0.0.1 -p "$port" "$T/after-hangup"
check "and it serves on" kill -0 $pid
kill $pid; wait $pid; rc=$?
check "SIGTERM ($rc)" [ $rc = 0 ]
for f in stdout stats; do json "$T/$f" 'error!?' 'sessions?' || fail "SIGTERM: $f"; done

echo "== signals, lost sectors, an installation that is not complete"
sleeps() { [ "$(cat /proc/$pid/comm)" != bash ] && catches_term $pid && is_asleep $pid; }
stopped() {	# SIGNAL: $pid, told to end
	begins $pid sleeps || fail "it does not begin: $(cat "$T/stderr")"
	kill -"$1" $pid; wait $pid; rc=$?
	check "SIG$1: exit $rc" [ $rc = 1 ]
	json "$T/stdout" kind=interrupted "error~SIG$1" exit=1 ok=false || fail "SIG$1: $(cat "$T/stderr")"
}
mkfifo "$T/fifo"; exec 7<> "$T/fifo"
(exec "$BIN/imageunzip" --json -q - "$out" < "$T/fifo" > "$T/stdout" 2> "$T/stderr" 7>&-) & pid=$!
stopped TERM
(while :; do head -c 1000000 "$T/src"; done > "$T/fifo" 2> /dev/null 7>&-) & feeder=$!	# ends when nobody reads
(exec "$BIN/imagezip" --json -q -f - "$T/y.ndz" < "$T/fifo" > "$T/stdout" 2> "$T/stderr" 7>&-) & pid=$!
begins $pid has_read $pid 4000000 || fail "it reads nothing: $(cat "$T/stderr")"
stopped INT
kill $feeder; wait $feeder 2> /dev/null; exec 7>&-
case $(basename "$(dirname "$BIN")") in *thread*) finish; exit ;; esac # another library cannot come before the thread sanitizer's
FAULT=pread:9-10:bad:$T/src LD_PRELOAD=$shim "$BIN/imagezip" -X --json -f "$T/src" "$T/x.ndz" > "$T/stdout" 2> "$T/stderr"; rc=$?
check "lost sectors: exit $rc" [ $rc = 4 ]
json "$T/stdout" ok=false kind=lost exit=4 lost_sectors=2 'chunks>0' || fail "lost sectors"
poison "$T/target" 4194304
(exec env FRISBEE_NO_URING=1 FAULT="fsync:1:stall:$T/target" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/imageunzip" --json -q --in-place "$T/good.ndz" "$T/target" > "$T/stdout" 2> "$T/stderr") & pid=$!
begins $pid [ -e "$T/fired" ] || fail "the disk does not stall: $(cat "$T/stderr")"
stopped TERM
check "the disk does not answer" grep -q '"error": .*did not return' "$T/stdout"
truncate -s 4M "$T/disk"; dd if="$T/src" of="$T/disk" conv=notrunc status=none
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail "imagezip -r"
poison "$T/target" 4194304
FRISBEE_NO_URING=1 FAULT=pwrite:2:dead:$T/target LD_PRELOAD=$shim "$BIN/imageunzip" --json -q --in-place "$T/disk.ndz" "$T/target" > "$T/stdout" 2> "$T/stderr"; rc=$?
check "the disk fails: exit $rc" [ $rc = 1 ]
json "$T/stdout" kind=io exit=1 || fail "the disk fails: $(cat "$T/stderr")"
told 1 io unfinished=true "$BIN/imageunzip" --json --status "$T/target"
json "$T/stdout" "uuid[#]=32" || fail "--status: its document"
"$BIN/imageunzip" -q --in-place "$T/disk.ndz" "$T/target" || fail "imageunzip"
"$BIN/imageunzip" --json --status "$T/target" > "$T/stdout" && json "$T/stdout" '={"unfinished":false}' || fail "--status"
finish
