#!/usr/bin/env bash
# A master server: clients ask by name, sessions are shared, uploads replace images only when they are whole, a
# restart disturbs nobody, strangers get nothing.
. "$(dirname "$0")/master_lib.sh"
lab_up 4
mkdir "$T/images" "$T/uploads" "$T/state"
for i in $(seq 20); do
	disk_and_image $((300000 + i * 50000)) "$T/disk$i" "$T/images/image$i.ndz"
done
cat > "$T/conf" << CONF
image first $T/images/image1.ndz
images $T/images
uploads $T/uploads max=4M
group 239.192.50.1
allow 10.9.0.0/24
allow 10.9.0.14 upload up*
state $T/state
interface eth0
idle 600
CONF
check "--check" quietly "$BIN/mfrisbeed" --check -c "$T/conf"
(cat "$T/conf"; echo "image gone $T/nope") > "$T/conf.gone"
"$BIN/mfrisbeed" --check -c "$T/conf.gone" > "$T/out" 2> "$T/stderr" || fail "a missing image is an error"
check "it warns of a missing image" grep -q "warning: .*conf.gone: image gone: $T/nope: No such file" "$T/stderr"
soft=$(ulimit -Sn) hard=$(ulimit -Hn); ulimit -Sn 256; master; ulimit -Sn "$soft"
check "it may open as many files as the system allows" awk '/^Max open files/ { exit $4 != $5 }' /proc/$MASTER/limits

echo "== one image, by both its names"
check "an image is loaded by its name" get 1 first "$T/out"
check "it is the disk" cmp "$T/disk1" "$T/out"
check "by its file" get 2 image1.ndz "$T/out"
on 1 "$BIN/frisbee" -S 10.9.0.1 -Q first > "$T/query" || fail "-Q"
on s ip addr add 10.9.0.77/24 dev eth0
FROM=10.9.0.77 check "by another address of the master than its sessions send from" get 3 first "$T/out"
on s ip addr del 10.9.0.77/24 dev eth0; check "it is the disk" cmp "$T/disk1" "$T/out"
check "-Q says where it is served" grep -q 'first: [0-9]* bytes, is served at 239.192.50.1, port' "$T/query"
status 1 on 1 "$BIN/frisbee" -S 10.9.0.1 -Q none; check "no such image" grep -q 'has no such image' "$T/stderr"
cp "$T/images/image1.ndz" "$T/images/image1.ndz.partial"	# as if it were being written
for name in ../conf image1.ndz/../../conf /etc/passwd .hidden image1.ndz.partial; do
	status 1 on 1 "$BIN/frisbee" -S 10.9.0.1 -Q "$name"
done
ln -s "$T/conf" "$T/images/outside"
status 1 on 1 "$BIN/frisbee" -S 10.9.0.1 -Q outside; check "a link that leads out of the folder" grep -q 'has no such image' "$T/stderr"

echo "== twenty images, sixty clients at once"
loads=()
for i in $(seq 20); do for n in 1 2 3; do get $n "image$i.ndz" "$T/out$i.$n" & loads+=($!); done; done
failed=0; for p in "${loads[@]}"; do wait "$p" || failed=$((failed + 1)); done
check "all loads ended well: $failed did not" [ $failed = 0 ]
for i in $(seq 20); do for n in 1 2 3; do cmp -s "$T/disk$i" "$T/out$i.$n" || fail "image $i at node $n"; rm -f "$T/out$i.$n"; done; done
check "a session for each image" [ "$(grep -c '^session ' "$T/state/sessions")" = 21 ]

echo "== messages of the original programs"
cat > "$T/talk.py" << 'PY'
import socket, struct, sys
NAME, what = sys.argv[1].encode(), sys.argv[2]
def ask(msg, n):
    s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100); s.sendall(msg); got = b""
    while len(got) < n:
        d = s.recv(n - len(got))
        if not d: break
        got += d
    return got
def get(name, status, claim=None):
    return b"V01\0" + struct.pack(">I4xBBH", 1, 7, status, len(name) if claim is None else claim) + name.ljust(256, b"\0")
def put(name, status, size):
    return b"V01\0" + struct.pack(">I4xBH", 3, status, len(name)) + name.ljust(256, b"\0") + struct.pack(">QII", size, 0, 5)
def put_reply(r): return struct.unpack(">H", r[8:10])[0], socket.inet_ntoa(r[10:14]), struct.unpack(">H", r[14:16])[0], r[16]
if what == "get":
    r = ask(get(NAME, 0), 288); method, running, error = struct.unpack(">BBH", r[8:12])
    assert r[:8] == b"V01\0\0\0\0\2" and (method, running, error) == (2, 1, 0), r[:16]
    print(socket.inet_ntoa(r[16:20]), struct.unpack(">H", r[20:22])[0])
elif what == "status":
    r = ask(get(NAME, 1), 288); print(*struct.unpack(">BBH", r[8:12]))
elif what == "long":
    r = ask(get(NAME, 0, 65535), 288); print(*struct.unpack(">BBH", r[8:12]))
elif what == "put":
    data = open(sys.argv[3], "rb").read(); claim = int(sys.argv[4]) if len(sys.argv) > 4 else len(data)
    error, addr, port, exists = put_reply(ask(put(NAME, 0, claim), 291))
    if error: print("error", error); sys.exit()
    s = socket.create_connection((addr, port), 60); s.sendall(data); s.close(); print("sent")
elif what == "slow":
    socks = [socket.create_connection(("10.9.0.1", 64494), 60) for _ in range(int(sys.argv[3]))]
    for s in socks: s.send(b"V01\0")
    r = ask(get(NAME, 1), 288); print(*struct.unpack(">BBH", r[8:12]))
elif what == "junk":
    for msg in (b"GET / HTTP/1.0\r\n\r\n" + bytes(300), b"V01\0\0\0\0\2" + bytes(280), b"V01\0\0\0\0\x09", b"V01"):
        s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100); got = b""
        try: s.sendall(msg); s.shutdown(1); got = s.recv(100)
        except (ConnectionError, OSError): pass	# it was closed while bytes were on their way
        assert got == b"", got
    print("nothing")
PY
talk() { local n=$1; shift; on "$n" python3 "$T/talk.py" "$@"; }
check "a status of an image that runs" [ "$(talk 1 first status)" = "3 1 0" ]
check "an unknown name is error 3" [ "$(talk 1 nope status)" = "0 0 3" ]
check "an id of 65,535 bytes is refused" [ "$(talk 1 x long)" = "0 0 6" ]
read -r group port < <(talk 1 first get)
check "a client of the base protocol loads from what the reply says" on 2 timeout 240 "$BIN/frisbee" --base -q -m "$group" -p "$port" "$T/out"
check "it is the disk" cmp "$T/disk1" "$T/out"
check "no request: no answer" [ "$(talk 1 x junk)" = nothing ]
silent() { bash -c "ulimit -n 4096; [ \"\$(ip netns exec ${LAB}3 '$PYTHON' '$T/talk.py' first slow 1500)\" = '3 1 0' ]"; }
check "1,500 connections that say nothing keep nobody out" silent
if command -v prlimit > /dev/null; then
	prlimit --pid $MASTER --nofile=512:
	check "nor where it may open fewer files than that" silent
	prlimit --pid $MASTER --nofile="$hard:"
fi

echo "== uploads"
check "who may not" [ "$(talk 1 up.ndz put "$T/images/image2.ndz")" = "error 4" ]
check "a name that is not allowed" [ "$(talk 4 other.ndz put "$T/images/image2.ndz")" = "error 4" ]
check "too large" [ "$(talk 4 up.ndz put "$T/images/image2.ndz" 5000000)" = "error 8" ]
check "a name that leaves the folder" [ "$(talk 4 up/../../x put "$T/images/image2.ndz")" = "error 6" ]
check "the name of a file that is being written" [ "$(talk 4 upx.partial put "$T/images/image2.ndz")" = "error 6" ]
check "an upload" [ "$(talk 4 up/new.ndz put "$T/images/image2.ndz")" = sent ]
settled "image was uploaded name=up/new.ndz"; check "it is there" cmp "$T/images/image2.ndz" "$T/uploads/up/new.ndz"
check "it can be loaded" get 1 up/new.ndz "$T/out"; check "it is the disk" cmp "$T/disk2" "$T/out"
head -c 700000 "$T/images/image3.ndz" > "$T/cut"
check "one that is cut" [ "$(talk 4 up/new.ndz put "$T/cut" 1048576)" = sent ]
settled "upload failed name=up/new.ndz"; check "replaces nothing" cmp "$T/images/image2.ndz" "$T/uploads/up/new.ndz"
cp "$T/images/image3.ndz" "$T/damaged"; spoil_byte "$T/damaged" 20000
check "one that is damaged" [ "$(talk 4 updamaged put "$T/damaged")" = sent ]
settled "upload failed name=updamaged"; check "leaves nothing" [ "$(find "$T/uploads" -type f | wc -l)" = 1 ]

echo "== imagezip --to"
to() { on "$1" timeout 240 "$BIN/imagezip" -q -r --to="frisbee://10.9.0.1/$2" "$3"; }
"$BIN/imagekey" -q --encrypt-key "$T/secret"
check "imagezip sends an encrypted image" on 4 timeout 240 "$BIN/imagezip" -q -r --encrypt "$T/secret" --to=frisbee://10.9.0.1/upzip "$T/disk7"
check "it is kept as it came" "$BIN/imageunzip" -q --decrypt "$T/secret" "$T"/uploads/upzip* "$T/decrypted"; check "its data" cmp "$T/disk7" "$T/decrypted"
check "imagezip sends an image" to 4 upzip "$T/disk7"
check "it is there at once" get 1 upzip "$T/out"; check "its data" cmp "$T/disk7" "$T/out"
status 1 to 1 upzip "$T/disk7"; check "who may not" grep -q "does not allow it" "$T/stderr"
head -c 6000000 /dev/urandom > "$T/large"; truncate -s %512 "$T/large"
status 1 to 4 upzip "$T/large"
check "one that is too long replaces nothing" get 1 upzip "$T/out"; check "its data" cmp "$T/disk7" "$T/out"

echo "== a disk that fails when the whole image has come: the next image is no delta to it"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
[ -e "$shim" ] || fail "no $shim"
kill -9 $MASTER; wait $MASTER 2> /dev/null; : > "$T/none"
FAULT=fsync:1:eio:$T/uploads LD_PRELOAD=$shim ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 master
since() { on 4 timeout 240 "$BIN/imagezip" -q -r --changed-since="$T/since" --since=ranges:"$T/none" --to=frisbee://10.9.0.1/upsince "$T/disk7"; }
status 1 since
check "no state is kept" [ ! -e "$T/since" -a ! -e "$T/since.sig" ]
check "the next one is taken" since; check "and its state is kept" [ -e "$T/since" -a -e "$T/since.sig" ]
check "it is a whole image" get 1 upsince "$T/out"; check "its data" cmp "$T/disk7" "$T/out"

echo "== killed in the middle of a load, and started again"
take random:30000000 disk=big disk.ndz=images/big.ndz
sed -i 's/^idle.*/&\nrate 60M/' "$T/conf"
kill -9 $MASTER; wait $MASTER 2> /dev/null; master
get 1 big.ndz "$T/out1" --stats "$T/stats1" & a=$!; get 2 big.ndz "$T/out2" --base & b=$!
settled "name=big.ndz"; begins $a has_chunks 1 || fail "it does not begin"
before=$(grep big.ndz "$T/state/sessions")
kill -9 $MASTER; wait $MASTER 2> /dev/null; master
check "the first load ends well" wait $a; check "and the second, of the base protocol" wait $b
check "the data" cmp "$T/big" "$T/out1"; check "and this" cmp "$T/big" "$T/out2"
check "it is served where it was: $before" grep -qx "$before" "$T/state/sessions"

echo "== one of two sessions is killed in the middle of their loads"
take random:30000000 disk=big2 disk.ndz=images/big2.ndz
pid_of() { grep -o "is served name=$1 .*" "$T/master.log" | tail -n 1 | sed 's/.*pid=//'; }	# NAME
served() { grep -c "is served name=$1 " "$T/master.log"; }
rm -f "$T/stats1" "$T/stats2"
get 1 big.ndz "$T/out1" --stats "$T/stats1" & a=$!; get 2 big2.ndz "$T/out2" --stats "$T/stats2" & b=$!
begins $a has_chunks 1 && begins $b has_chunks 2 || fail "they do not begin"
before=$(grep big.ndz "$T/state/sessions") pid=$(pid_of big.ndz) other=$(pid_of big2.ndz) times=$(served big2.ndz)
check "each is a process of its own: $pid, $other" [ "$pid" != "$other" ]
kill -9 "$pid"
check "the log says so" settled "session has failed name=big.ndz: its frisbeed was ended by signal 9"
check "the load of the other one ends well" wait $b; check "its data" cmp "$T/big2" "$T/out2"
check "and the load of the one that was killed" wait $a; check "its data" cmp "$T/big" "$T/out1"
check "it is served where it was: $before" grep -qx "$before" "$T/state/sessions"
check "by another process" [ "$(pid_of big.ndz)" != "$pid" ]
check "and the other one as before" [ "$(served big2.ndz)" = "$times" ]
check "which runs" kill -0 "$other"

echo "== the process that starts sessions is killed in the middle of a load"
rm -f "$T/stats1"; get 1 big.ndz "$T/out1" --stats "$T/stats1" & a=$!
begins $a has_chunks 1 || fail "it does not begin"
before=$(grep big.ndz "$T/state/sessions") pid=$(pid_of big.ndz)
kill -9 "$(awk '{ print $4 }' "/proc/$pid/stat")"
wait $MASTER; check "the master ends" [ $? = 1 ]
check "and says why" grep -q "the process that starts the sessions has ended" "$T/master.log"
check "no session goes on unseen" soon has_ended "$pid"
master
check "the load ends well" wait $a; check "its data" cmp "$T/big" "$T/out1"
check "it is served where it was: $before" grep -qx "$before" "$T/state/sessions"

echo "== settings are read again"
sed -i "s,^image first.*,image other $T/images/image5.ndz," "$T/conf"; kill -HUP $MASTER
settled "were read again"; check "a new name" get 3 other "$T/out"; check "its data" cmp "$T/disk5" "$T/out"
echo "idle 77" >> "$T/conf"; kill -HUP $MASTER
check "the log says what needs a restart" settled "another rate or idle takes effect only after a restart"
echo "nonsense" >> "$T/conf"; kill -HUP $MASTER
settled "are not changed"; check "wrong settings change nothing" get 3 other "$T/out"
kill $MASTER; wait $MASTER; check "SIGTERM ends it with 0" [ $? = 0 ]
check "and all of its sessions" [ ! -e /proc/"$(pid_of big.ndz)" ]
finish
