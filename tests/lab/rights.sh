#!/usr/bin/env bash
# Servers with few rights: --user, what somebody who has taken them over can do, and that all that they are for works.
. "$(dirname "$0")/master_lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/intruder.so
[ -e "$shim" ] || skip "no intruder.so"
[ "$(stat -c %u /etc)" = 0 ] && [ "$(awk 'NR == 1 { print $3 }' /proc/self/uid_map)" != 1 ] || skip "needs root: there are no other users here"
case ${BIN} in */address*|*/thread*) skip "instrumented programs make all system calls" ;; esac
lab_up 2
chmod 755 "$T"
mkdir "$T/images" "$T/uploads" "$T/kept" "$T/outside"; chown nobody "$T/uploads" "$T/kept"; chmod 777 "$T/outside"
take random:3000000 disk disk.ndz=images/web.ndz
"$BIN/emustore" -q --store "$T/store" init || fail "emustore init"
"$BIN/emustore" -q --store "$T/store" put web "$T/images/web.ndz" || fail "emustore put"
has_landlock() { python3 -c "import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(444, 0, 0, 1) < 1)"; }
held() {	# LOG: nothing was done
	local what
	for what in packets trace process program root; do check "no $what" grep -q "intruder: $what: Operation not permitted" "$1"; done
	if has_landlock; then for what in write remove; do check "no $what" grep -q "intruder: $what: \(Permission denied\|No such file\)" "$1"; done; fi
	check "nothing was done" [ "$(grep -c "intruder: .*: done" "$1")" = 0 ]
	check "nothing is there" [ -z "$(ls "$T/outside")" ]
}
# PID: its calls are filtered in each of its threads.
filtered() { [ -z "$(grep -L "^Seccomp:[[:space:]]*2" "/proc/$1/task/"*/status 2> /dev/null)" ]; }

echo "== mfrisbeed"
cat > "$T/conf" << CONF
images $T/images
store $T/store
image stored store:web
uploads $T/uploads
group 239.192.50.1
allow 10.9.0.0/24 all *
state $T/state
interface eth0
idle 5
CONF
LD_PRELOAD=$shim INTRUDER=$T/outside/x master --user nobody
check "it is another user" [ "$(stat -c %U /proc/$MASTER)" = nobody ]
check "no thread keeps its rights" filtered $MASTER
check "its state was made" [ "$(stat -c %U "$T/state")" = nobody ]
check "a load" get 1 web.ndz "$T/out"; check "its data" cmp "$T/disk" "$T/out"
held "$T/master.log"
check "an image of a store" get 1 stored "$T/out"; check "its data" cmp "$T/disk" "$T/out"
check "an upload" on 2 "$BIN/imagezip" -q -r --to=frisbee://10.9.0.1/some/new "$T/disk"
check "it is loaded" get 2 some/new "$T/out"; check "its data" cmp "$T/disk" "$T/out"
settled "session has ended name=web.ndz"
"$BIN/mfrisbeed" --report -c "$T/conf" > "$T/report" || fail "--report"
check "its history" grep -q "^web.ndz  *1  *1 " "$T/report"
check "sessions are in its state" grep -q "^session " "$T/state/sessions"
sed -i "s,^uploads.*,uploads $T/outside," "$T/conf"; kill -HUP $MASTER
settled "are not changed: $T/outside: another folder"; check "another folder to write to is refused while it runs" grep -q "only after a restart" "$T/master.log"
kill $MASTER; wait $MASTER; check "SIGTERM ends it with 0" [ $? = 0 ]
chown -R root "$T/state" "$T/uploads"; chmod 755 "$T/uploads"; sed -i "s,^uploads.*,uploads $T/uploads," "$T/conf"
status 1 on s "$BIN/mfrisbeed" --user nobody -c "$T/conf"; check "a state that it may not write is said" grep -q "state/lock: Permission denied" "$T/stderr"
chown -R nobody "$T/state"; master --user nobody
status 1 on 2 "$BIN/imagezip" -q -r --to=frisbee://10.9.0.1/other/new "$T/disk"; check "no upload" settled "other/new: .*Permission denied"
kill $MASTER; wait $MASTER
status 1 on s "$BIN/mfrisbeed" --user no-such-user -c "$T/conf"

echo "== frisbeed"
mkdir "$T/said"; chown nobody "$T/said"
f() { LD_PRELOAD=$shim INTRUDER=$T/outside/x serve --user nobody -T -1 -A "$T/said/where" --stats "$T/said/stats" "$@"; }
f "$T/images/web.ndz"
check "it is another user" [ "$(stat -c %U /proc/$SERVER)" = nobody ]
load 1 "$T/out1"; load 2 "$T/out2"; loaded 1; loaded 2
check "a load" cmp "$T/disk" "$T/out1"; check "another" cmp "$T/disk" "$T/out2"
wait $SERVER; check "it ends well" [ $? = 0 ]
held "$T/server.log"
check "where it was" grep -q "^$GROUP:$PORT" "$T/said/where"
check "statistics" [ "$(stat_of "$T/said/stats" blocks_sent)" -gt 1000 ]
TIMES=$TIMES,linger=0.2 f --store "$T/store" web
load 1 "$T/out1"; loaded 1; check "out of a store" cmp "$T/disk" "$T/out1"; wait $SERVER
status 1 on s "$BIN/frisbeed" -q --user nobody -m $GROUP -p $PORT --stats "$T/stats.root" "$T/images/web.ndz"
check "statistics where it may not write" grep -q "stats.root" "$T/stderr"
LD_PRELOAD=${shim%/*}/badlib.so BADLIB=nofilter serve_one "$T/images/web.ndz"; load 1 "$T/out1"; loaded 1
check "a system that filters no calls: a load" cmp "$T/disk" "$T/out1"; wait $SERVER
check "it is said" grep -q "no filter of system calls (seccomp)" "$T/server.log"
finish
