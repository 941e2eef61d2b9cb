#!/usr/bin/env bash
# Disks that fail at the n-th access, fill up, vanish or shrink, under whole
# programs: never success, one sentence that names the file, no new file left.
. "$(dirname "$0")/lib.sh"
own_network "$@"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
[ -e "$shim" ] || fail "no $shim"
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac

# 8 MB of which a third can be compressed, and its image.
{ head -c 5000000 /dev/urandom; head -c 3000000 /dev/zero; head -c 388608 /dev/urandom; } > "$T/src"
"$BIN/imagezip" -q -r "$T/src" "$T/good.ndz" || fail "imagezip"

faulty() { local fault=$1; shift; FAULT=$fault FAULT_FIRED=$T/fired LD_PRELOAD=$shim "$@"; }

# The first accesses, and then ever fewer, until the run needs no more.
each() {	# OP KIND PATH LEFT COMMAND...	(LEFT: the file that must be gone, or -)
	local op=$1 kind=$2 path=$3 left=$4 n=1 runs=0 rc; shift 4
	while :; do
		rm -f "$T/fired"; [ "$left" = - ] || rm -f "$left"
		faulty "$op:$n:$kind:$path" "$@" > "$T/stdout" 2> "$T/stderr" < /dev/null; rc=$?
		if [ ! -e "$T/fired" ]; then
			[ $rc = 0 ] || fail "$op $n $kind: exit $rc without a fault: $(cat "$T/stderr")"
			break
		fi
		runs=$((runs + 1))
		[ $rc = 1 ] || [ $rc = 3 ] || fail "$op $n $kind: exit $rc: $*: $(cat "$T/stderr")"
		[ "$(wc -l < "$T/stderr")" = 1 ] || fail "$op $n $kind: not one sentence: $(cat "$T/stderr")"
		grep -qF "$(basename "$path")" "$T/stderr" || fail "$op $n $kind: the file is not named: $(cat "$T/stderr")"
		[ "$left" = - ] || [ ! -e "$left" ] || fail "$op $n $kind: $left is left"
		if [ $n -lt 6 ]; then n=$((n + 1)); else n=$((n * 3 / 2)); fi
		[ $n -lt 100000 ] || { fail "$op $kind: no end"; break; }
	done
	check "$op, $kind, $(basename "$1"): $runs runs failed as they must" [ $runs -gt 0 ]
}

echo "== imagezip"
for kind in eio gone end; do each pread $kind "$T/src" "$T/out.ndz" "$BIN/imagezip" -q --retries 0 -r "$T/src" "$T/out.ndz"; done
for kind in eio full gone; do each pwrite $kind "$T/out.ndz" "$T/out.ndz" "$BIN/imagezip" -q -r "$T/src" "$T/out.ndz"; done
for op in fsync close; do each $op eio "$T/out.ndz" "$T/out.ndz" "$BIN/imagezip" -q -r "$T/src" "$T/out.ndz"; done

echo "== imageunzip to a new file"
for kind in dead full gone; do each pwrite $kind "$T/out" "$T/out" "$BIN/imageunzip" -q "$T/good.ndz" "$T/out"; done
for op in ftruncate fsync close; do each $op eio "$T/out" "$T/out" "$BIN/imageunzip" -q "$T/good.ndz" "$T/out"; done
for kind in eio end; do each pread $kind "$T/good.ndz" "$T/out" "$BIN/imageunzip" -q "$T/good.ndz" "$T/out"; done

echo "== imageunzip into a file as if it were a device"
truncate -s 9M "$T/dev"
for kind in dead full gone; do each pwrite $kind "$T/dev" - "$BIN/imageunzip" -q --in-place -z "$T/good.ndz" "$T/dev"; done
for op in fsync close; do each $op eio "$T/dev" - "$BIN/imageunzip" -q --in-place "$T/good.ndz" "$T/dev"; done

echo "== imagedump"
each pread eio "$T/good.ndz" - "$BIN/imagedump" --verify "$T/good.ndz"

if ! command -v ip > /dev/null; then echo "no ip: the network programs are left out"; finish; fi
echo "== frisbee and frisbeed"
# Both on one host: a wrong sector that the disk does not take, an image that cannot be read.
port=$((20000 + OWN_NUMBER % 12000))
serve() {	# FAULT OPTIONS... IMAGE: in the background
	rm -f "$T/where"
	local fault=$1; shift
	env FAULT="$fault" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/frisbeed" -d --loopback -i 127.0.0.1 -m 239.192.7.9 -p $port -A "$T/where" -T 120 -W 400M "$@" 2> "$T/server.log" & SERVER=$!
	begins $SERVER [ -s "$T/where" ] || fail "frisbeed did not start: $(cat "$T/server.log")"
}
PATIENCE=${PAT:-240}	# s; a busy machine takes its time
client() { faulty "$1" "$BIN/frisbee" -q --loopback -i 127.0.0.1 -m 239.192.7.9 -p $port -T "$PATIENCE" "$T/node" 2> "$T/stderr"; }
CLEANUP+=('[ -z "${SERVER:-}" ] || kill $SERVER 2> /dev/null')
serve none "$T/good.ndz"
client none; check "without a fault" cmp "$T/src" "$T/node"
for fault in pwrite:1:dead pwrite:4:full pwrite:2:gone ftruncate:1:eio fsync:1:eio close:1:eio; do
	rm -f "$T/node" "$T/fired"
	client "$fault:$T/node"; rc=$?
	check "client, $fault: exit $rc, $(head -n 1 "$T/stderr")" [ $rc = 1 ]
	check "the fault came, and no half-made disk is left" test -e "$T/fired" -a ! -e "$T/node"
done
kill $SERVER; wait $SERVER 2> /dev/null
rm -f "$T/node" "$T/fired"
serve "pread:5:eio:$T/good.ndz" -T -1 "$T/good.ndz"
client none; check "a read that fails once is tried again" cmp "$T/src" "$T/node"
check "the fault came, and was told" grep -q "trying again.*good.ndz" "$T/server.log"
wait $SERVER || fail "server: exit $?"
PATIENCE=6
for fault in pread:46:gone pread:52:end; do	# behind the reads by which the server knows the image
	rm -f "$T/node" "$T/fired"
	serve "$fault:$T/good.ndz" "$T/good.ndz"
	client none; crc=$?
	wait $SERVER; rc=$?
	check "server, $fault: exit $rc, client $crc" test $rc != 0 -a $rc != 98 -a $crc = 110
	check "it says why" grep -q "good.ndz" "$T/server.log"
	check "no half-made disk is left" [ ! -e "$T/node" ]
done
SERVER=
finish
