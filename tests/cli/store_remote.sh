#!/usr/bin/env bash
# A store in a folder that several machines have over a network filesystem: each keeps its own index, and never in the
# store; what one puts the others see; writers wait for each other, also for one whose machine dies; a mount that keeps
# locks to its machine is refused by whoever writes.  With bindfs each mount is a machine, which passes locks on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3
python3 - "$T" << 'PY'
import random, sys
r = random.Random(5)
data = bytearray(r.randbytes(900000 // 512 * 512))
for n in "abcd":
    open(f"{sys.argv[1]}/{n}", "wb").write(data)
    data[100000:170000] = r.randbytes(70000)
PY
zip_all a b c d
no_index() { [ -z "$(find "$1" -name 'index*')" ]; }	# STORE

echo "== a folder on NFS, by what the system says of it"
shim=${B:-$TOP/build/plain}/tests/preload/netmount.so
[ -e "$shim" ] || fail "no $shim"
share="$T/a share"; mkdir "$share"
export NETMOUNT_TABLE=$T/mounts NETMOUNT=$share EMUSTORE=$share/S EMUSTORE_CACHE=$T/cache ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
over() { LD_PRELOAD="$(ldd "$BIN/emustore" | awk '/lib[at]san/ { print $3 }') $shim" "$BIN/emustore" -q "$@"; }
mounted() {	# OPTIONS: of the share, which is mounted behind a root filesystem
	printf '%s\n' "disk / ext4 rw 0 0" "server:/x $T/a\\040share nfs4 $1 0 0" "other:/y $T nfs4 rw,nolock 0 0" > "$T/mounts"
}
if instrumented; then echo "another library cannot come before sanitizers"; else
	mounted rw,local_lock=none
	check "init" over init --pack-size 300k
	check "put" over put a "$T/a.ndz"
	check "put another" over put b "$T/b.ndz"
	check "no index, and no log of SQLite's, is in the store" no_index "$EMUSTORE"
	check "but in the cache" [ -n "$(find "$T/cache" -name index.db)" ]
	check "gc" over gc --all
	for options in rw,nolock rw,hard,local_lock=all,vers=3 rw,local_lock=flock rw,localflock,lazystatfs; do
		mounted $options
		for c in "put c $T/c.ndz" "rm a" gc repair; do
			# shellcheck disable=SC2086
			status 1 over $c
			check "says why" grep -q "do not see its locks (nolock, local_lock, localflock)" "$T/stderr"
		done
		check "$options: who reads can read" bash -c 'cmp "$1" -' _ "$T/b.ndz" < <(over get b -)
		check "verify" over verify
	done
	printf '%s\n' "server:/x $T/a\\040share nfs4 rw,nolock 0 0" "server:/x $T/a\\040share nfs4 rw 0 0" > "$T/mounts"
	check "of two mounts at one place the last counts" over put c "$T/c.ndz"
	mounted rw
	NETMOUNT_LOST=1 check "put where answers are lost" over put lost "$T/d.ndz"
	check "it is there" bash -c 'cmp "$1" -' _ "$T/d.ndz" < <(over get lost:1 -)
	status 1 over get lost:2 "$T/out"
	for kind in 0x0bd00bd0 0x47504653 0x7461636f 0x6b414653; do	# Lustre, GPFS, OCFS2, the kernel's AFS
		NETMOUNT_TYPE=$kind over --store "$share/$kind" init && NETMOUNT_TYPE=$kind over --store "$share/$kind" put a "$T/a.ndz" || fail "put on $kind"
		check "no index is in the store on $kind" no_index "$share/$kind"
	done
	check "verify --data" over verify --data
fi
unset NETMOUNT NETMOUNT_TABLE EMUSTORE EMUSTORE_CACHE

echo "== two machines"
[ "$(id -u)" = 0 ] && [ -c /dev/fuse ] && command -v bindfs > /dev/null || { echo "needs root, /dev/fuse and bindfs"; finish; }
mkdir "$T/disk"
server=()
machine() {	# N: has the disk of the server at $T/mN
	mkdir -p "$T/m$1"
	bindfs -f --multithreaded --enable-lock-forwarding "$T/disk" "$T/m$1" 2> "$T/bindfs.log" & server[$1]=$!
	CLEANUP=("umount -l '$T/m$1' 2> /dev/null" "kill ${server[$1]} 2> /dev/null" "${CLEANUP[@]}")
	begins "${server[$1]}" mountpoint -q "$T/m$1" || fail "no mount: $(cat "$T/bindfs.log")"
}
on() { EMUSTORE=$T/m$1/S EMUSTORE_CACHE=$T/cache$1 "$BIN/emustore" -q "${@:2}"; }	# N COMMAND...
names_on() { on "$1" list --json | json -1 - "[*].name,version"; }
comes_out() { on "$1" get "$2" - | cmp - "$3"; }	# N NAME FILE
machine 1; machine 2
check "init" on 1 init --pack-size 300k
check "put on the first" on 1 put a "$T/a.ndz"
check "the second gets it" comes_out 2 a "$T/a.ndz"
check "put on the second" on 2 put b "$T/b.ndz"
check "the first gets it" comes_out 1 b "$T/b.ndz"
check "rm on the second" on 2 rm b
check "the first knows" [ "$(names_on 1)" = a:1 ]
check "gc on the first" on 1 gc --all
check "the second gets what was moved" comes_out 2 a "$T/a.ndz"
check "no index is in the store" no_index "$T/disk/S"

mkfifo "$T/slow"
on 1 put slow - < "$T/slow" & writer=$!
exec 9> "$T/slow"; head -c 500000 "$T/c.ndz" >&9
is_locked() { ! flock -n "$T/disk/S/lock" true; }
soon is_locked || fail "the writer does not begin"
status 1 on 2 put x "$T/d.ndz"
check "says that another one writes" grep -q "another program is writing" "$T/stderr"
check "who reads goes on" comes_out 2 a "$T/a.ndz"
tail -c +500001 "$T/c.ndz" >&9; exec 9>&-
check "the writer" wait $writer
pids=()
for i in 1 2; do (for n in 1 2 3; do on $i -w put "n$i" "$T/d.ndz" && on $i verify && on $i -w gc || exit 1; done) & pids[i]=$!; done
for i in 1 2; do check "writers on machine $i, in turn" wait "${pids[i]}"; done
all="a:1 n1:1 n1:2 n1:3 n2:1 n2:2 n2:3 slow:1"
for i in 1 2; do check "all of it, on $i" [ "$(names_on $i)" = "$all" ]; done

echo "== a machine dies while it writes"
on 1 put late - < "$T/slow" 2> /dev/null & writer=$!
exec 9> "$T/slow"; head -c 500000 "$T/c.ndz" >&9
soon is_locked || fail "the writer does not begin"
kill -9 "${server[1]}"; tail -c +500001 "$T/c.ndz" >&9; exec 9>&-
wait $writer && fail "a put without its disk succeeds"
check "the other one writes" on 2 -w put after "$T/b.ndz"
check "all of it, and nothing of the other" [ "$(names_on 2)" = "a:1 after:1 ${all#a:1 }" ]
umount -l "$T/m1"; machine 1
check "the first is back" comes_out 1 after "$T/b.ndz"
for i in 1 2; do check "verify --data on $i" on $i verify --data; done
check "gc" on 1 gc --all
check "nothing is left of the put that died" [ -z "$(ls "$T/disk/S/new")" ]
for i in n1:2:d slow:c a:a; do check "${i%:*}" comes_out 2 "${i%:*}" "$T/${i##*:}.ndz"; done
finish
