#!/usr/bin/env bash
# Who may load and upload what: tokens, which are proved and never sent, and links in the folder for uploads.
. "$(dirname "$0")/master_lib.sh"
lab_up 4
mkdir "$T/images" "$T/uploads" "$T/outside"
disk_and_image 400000 "$T/disk" "$T/images/open.ndz"
cp "$T/images/open.ndz" "$T/images/secret.ndz"
for key in load.token upload.token wrong.token; do "$BIN/imagekey" -q --token "$T/$key" || fail imagekey; done
cat > "$T/conf" << CONF
images $T/images
uploads $T/uploads
group 239.192.50.1
allow 10.9.0.0/24 open*
allow 10.9.0.11 load token=$T/load.token secret*
allow 10.9.0.12 load token=$T/load.token secret*
allow 10.9.0.11 upload token=$T/upload.token web*
allow 10.9.0.13 upload
allow 10.9.0.13 load
allow 10.9.0.14 replace token=$T/upload.token open*
allow 10.9.0.13 replace open-2*
state $T/state
interface eth0
rate 8M
CONF
master

echo "== tokens"
check "an image that needs none" get 1 open.ndz "$T/out"
status 1 get 1 secret.ndz "$T/out"; check "without its token nothing" grep -q "does not allow it" "$T/stderr"
check "the log names what is missing" grep -q "refused from=10.9.0.11 name=secret.ndz: .* this host without the token of a rule" "$T/master.log"
status 1 get 1 secret.ndz "$T/out" --token "$T/wrong.token"; check "with another one nothing" grep -q "does not allow it" "$T/stderr"
status 1 get 4 secret.ndz "$T/out" --token "$T/load.token"; check "from another host nothing" grep -q "does not allow it" "$T/stderr"
check "nor with any token" grep -q "refused from=10.9.0.14 name=secret.ndz: .* this host\$" "$T/master.log"
rm -f "$T/out"
check "with its token it is loaded" get 1 secret.ndz "$T/out" --token "$T/load.token"
check "it is the disk" cmp "$T/disk" "$T/out"
on 1 "$BIN/frisbee" -S 10.9.0.1 -Q secret.ndz --token "$T/load.token" > "$T/query" || fail "-Q"
check "-Q with it" grep -q "is served at" "$T/query"
to() { on 1 timeout 240 "$BIN/imagezip" -q -r --to="frisbee://10.9.0.1/$1" "${@:2}" "$T/disk"; }
status 1 to web; check "no upload without a token" grep -q "does not allow it" "$T/stderr"
status 1 to web --token "$T/load.token"; check "nor with one for something else" grep -q "does not allow it" "$T/stderr"
status 1 to mail --token "$T/upload.token"; check "nor of another name" grep -q "does not allow it" "$T/stderr"
check "nothing is there" [ -z "$(ls "$T/uploads")" ]
check "an upload with its token" to web --token "$T/upload.token"
check "it is there" "$BIN/imagedump" -q --verify "$T/uploads/web"
chmod 644 "$T/load.token"
status 1 get 1 secret.ndz "$T/out" --token "$T/load.token"; check "a token that others can read is not used" grep -q "accessible to others" "$T/stderr"
chmod 600 "$T/load.token"

echo "== what the network sees"
cat > "$T/proxy.py" << 'PY'
import binascii, socket, sys, threading
token = binascii.unhexlify(open(sys.argv[1]).read().split()[1])
l = socket.create_server(("127.0.0.1", 7777)); seen = []
print("ready", flush=True)
for _ in range(2):
    c, _ = l.accept(); c.settimeout(100); s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100)
    q = c.recv(4096); seen.append(q); s.sendall(q); a = b""
    while True:
        d = s.recv(4096)
        if not d: break
        a += d
    seen.append(a); c.sendall(a); c.close()
assert token not in b"".join(seen) and token.hex().encode() not in b"".join(seen)
def again(q, where):
    s = socket.socket(); s.settimeout(100); s.connect(("10.9.0.1", 64494)); s.sendall(q); return s.recv(4096)[10:12]
print(again(seen[2], 0).hex(), again(seen[2].replace(b"secret.ndz", b"secret.xdz"), 0).hex())
open(sys.argv[2], "wb").write(seen[2])
PY
on 1 timeout 240 python3 "$T/proxy.py" "$T/load.token" "$T/replay" > "$T/proxy.out" 2>&1 & proxy=$!
begins $proxy grep -q ready "$T/proxy.out"
check "a query through a stranger's hands" quietly on 1 "$BIN/frisbee" -S 127.0.0.1:7777 -Q secret.ndz --token "$T/load.token"
wait $proxy || fail "proxy: $(cat "$T/proxy.out")"
check "the token was not there, and the proof is for one name" [ "$(tail -n 1 "$T/proxy.out")" = "0000 0004" ]
cat > "$T/replay.py" << 'PY'
import socket, sys
s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100); s.sendall(open(sys.argv[1], "rb").read()); print(s.recv(4096)[10:12].hex())
PY
check "from another host it proves nothing" [ "$(on 2 python3 "$T/replay.py" "$T/replay")" = 0004 ]

echo "== links in the folder for uploads"
put() { on 3 timeout 240 "$BIN/imagezip" -q -r --to="frisbee://10.9.0.1/$1" "$T/disk"; }
ln -s "$T/outside" "$T/uploads/elsewhere"; ln -s "$T/outside/file" "$T/uploads/link"; mkdir "$T/uploads/folder"
for name in elsewhere/x link folder web/x; do
	status 1 put $name; check "not to $name" grep -q "does not understand the request" "$T/stderr"
done
check "nothing came there" [ -z "$(ls "$T/outside")" ]
check "to a new folder" put some/where/x
check "it is there" [ -f "$T/uploads/some/where/x" ]

echo "== an image that is there already"
cp "$T/disk" "$T/newer"; spoil_byte "$T/newer" 20000
newer() { on "$1" timeout 240 "$BIN/imagezip" -q -r --to=frisbee://10.9.0.1/open.ndz "${@:2}" "$T/newer"; }
status 1 newer 3; check "is not hidden behind one that was taken" grep -q "does not allow it" "$T/stderr"
check "the log says why" settled "no upload: open.ndz: there is such an image"
check "nothing was taken" [ ! -e "$T/uploads/open.ndz" ]
status 1 newer 4; check "nor without the token" grep -q "does not allow it" "$T/stderr"
check "who may replace it does" newer 4 --token "$T/upload.token"
check "and there is one of this name" [ ! -e "$T/uploads/open.ndz" ]
check "which is served" get 2 open.ndz "$T/out.newer"; check "it is the newer one" cmp "$T/newer" "$T/out.newer"

echo "== a load goes on with the image that it began with"
disk_and_image 8000000 "$T/disk.old" "$T/images/open-2.ndz"
cp "$T/disk.old" "$T/disk.new"; spoil_byte "$T/disk.new" 3900000
rm -f "$T/old.out"
FRISBEE_TEST_TIMES=statistics=0.2 get 2 open-2.ndz "$T/old.out" --stats "$T/stats2" & load=$!
check "it loads" begins $load has_chunks 2
check "another one takes its place" on 3 timeout 240 "$BIN/imagezip" -q -r --to=frisbee://10.9.0.1/open-2.ndz "$T/disk.new"
check "while it loads" kill -0 $load
get 1 open-2.ndz "$T/new.out" & other=$!
check "it is loaded" wait $load; check "as it was" cmp "$T/disk.old" "$T/old.out"
check "and by whoever comes later" wait $other; check "as it is" cmp "$T/disk.new" "$T/new.out"

# The image is replaced by an upload while its server is stopped, so that the stream lacks some of it then.
streams_on() {
	local at p server= nbd load
	"$BIN/imagezip" -q -r "$T/disk.old" "$T/images/open-2s.ndz" || fail imagezip
	FRISBEE_TEST_TIMES=statistics=0.2 get 2 open-2s.ndz "$T/old.out2" --stats "$T/stats3" & load=$!
	check "a session begins" begins $load has_chunks 3
	at=$(on 4 "$BIN/frisbee" -S 10.9.0.1 -Q open-2s.ndz | sed 's/.* is served at \(.*\), port /\1:/')
	mkdir "$T/work"
	ip netns exec "${LAB}4" nbdkit -f -P "$T/nbd.pid" -U "$T/nbd" "$(dirname "$BIN")/lib/nbdkit-ndz-plugin.so" image="frisbee://10.9.0.1@$at" work="$T/work" 2> "$T/nbd.log" & nbd=$!
	check "a disk of it is there" begins $nbd [ -s "$T/nbd.pid" ]
	for p in $(ip netns pids "${LAB}s"); do ! tr '\0' '\n' < "/proc/$p/cmdline" | grep -q "/open-2s.ndz@" || server=$p; done
	kill -STOP "$server"
	check "another image takes its place" on 3 timeout 240 "$BIN/imagezip" -q -r --to=frisbee://10.9.0.1/open-2s.ndz "$T/disk.new"
	check "whoever comes has it, and all of the rate, which the sessions share" eval 'get 1 open-2s.ndz "$T/new.out2" && cmp "$T/disk.new" "$T/new.out2"'
	kill -CONT "$server"
	check "the disk is read as it was, to its end" eval 'nbdcopy "nbd+unix:///?socket=$T/nbd" "$T/stream.out" && cmp "$T/disk.old" "$T/stream.out"'
	check "and loaded" eval "wait $load && cmp '$T/disk.old' '$T/old.out2'"
	kill $nbd; wait $nbd
}
echo "== a stream goes on with the image that it began with"
# nbdkit cannot run a plugin that is instrumented.
if command -v nbdkit nbdcopy > /dev/null && ! instrumented; then streams_on; fi

echo "== as Emulab's frisupload does it"
disk_and_image 8000000 "$T/disk.up" "$T/up.ndz"
cat > "$T/frisupload.py" << 'PY'
import socket, struct, sys, time
name, path, mtime = sys.argv[1].encode(), sys.argv[2], int(sys.argv[3])
data = open(path, "rb").read()
def put(status):
    s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100)
    s.sendall(b"V01\0" + struct.pack(">I4xBH", 3, status, len(name)) + name.ljust(256, b"\0") +
              struct.pack(">QII", len(data), mtime, 60))
    r = s.recv(291, socket.MSG_WAITALL)
    error, port, exists, kind, time_of, size = struct.unpack(">8xH4xHBHI252xQ8x", r)
    return error, port, exists, size, time_of
error, port = put(0)[:2]
if error: print("error", error); sys.exit()
s = socket.create_connection(("10.9.0.1", port), 60); s.sendall(data); s.close()
print(*put(1)[2:], len(data))
PY
cat > "$T/slow.py" << 'PY'
import socket, struct, sys, time
name = sys.argv[1].encode()
s = socket.create_connection(("10.9.0.1", 64494), 60); s.settimeout(100)
s.sendall(b"V01\0" + struct.pack(">I4xBH", 3, 0, len(name)) + name.ljust(256, b"\0") + struct.pack(">QII", int(sys.argv[2]), 0, 60))
error, port = struct.unpack(">8xH4xH", s.recv(291, socket.MSG_WAITALL)[:16])
to = socket.create_connection(("10.9.0.1", port), 60); to.sendall(b".ndzsig")
print("ready", error, flush=True); time.sleep(600)
PY
said=$(on 3 timeout 240 python3 "$T/frisupload.py" up.ndz "$T/up.ndz" 1234567890)
size=$(stat -c %s "$T/up.ndz")
check "the status is that of what was sent, with its time: $said" [ "$said" = "1 $size 1234567890 $size" ]
check "a time in the future" [ "$(on 3 python3 "$T/frisupload.py" up.ndz "$T/up.ndz" 4200000000)" = "error 9" ]

echo "== signatures"
"$BIN/imagehash" -q -c -o "$T/up.sig" "$T/up.ndz" || fail imagehash
now=$(date +%s)
sent() { on "$1" timeout 240 python3 "$T/frisupload.py" "$2" "$3" "$now"; }
said=$(sent 3 up.ndz,sig "$T/up.sig")
check "one is taken, and has its time: $said" [ "$said" = "1 $(stat -c %s "$T/up.sig") $now $(stat -c %s "$T/up.sig")" ]
check "it is beside the image" "$BIN/imagehash" -q -S "$T/uploads/up.ndz"
head -c 500 "$T/up.sig" > "$T/short.sig"
sent 3 up.ndz.sig "$T/short.sig" > /dev/null
check "what is none is not" settled "upload failed name=up.ndz.sig: "
sent 3 up.ndz.sig "$T/up.ndz" > /dev/null
check "nor is an image" [ "$(grep -c "upload failed name=up.ndz.sig" "$T/master.log")" = 2 ]
check "and the one that is there stays" cmp "$T/up.sig" "$T/uploads/up.ndz.sig"
check "not without an image" [ "$(sent 3 down.ndz,sig "$T/up.sig")" = "error 6" ]
check "not beside an image that the host may not replace" [ "$(sent 3 secret.ndz.sig "$T/up.sig")" = "error 4" ]
check "nor one that it may not upload" [ "$(sent 1 up.ndz.sig "$T/up.sig")" = "error 4" ]
check "nothing else is there" [ "$(ls "$T/images" "$T/uploads" | grep -c sig)" = 1 ]

head -c 100000 "$T/up.ndz" > "$T/up.cut"
sent 3 up.ndz "$T/up.cut" > /dev/null; check "an image that is not taken" settled "upload failed name=up.ndz: "
check "leaves the signature of the one that is there" cmp "$T/up.sig" "$T/uploads/up.ndz.sig"
ip netns exec "${LAB}3" python3 "$T/slow.py" up.ndz.sig 500 > "$T/slow" & slow=$!
check "while a signature comes" begins $slow grep -q "ready 0" "$T/slow"
check "its image is not replaced" [ "$(sent 3 up.ndz "$T/up.ndz")" = "error 7" ]
kill $slow; wait $slow 2> /dev/null
check "which ends with who sends it" settled "upload failed name=up.ndz.sig: .*500 were announced"
check "another image" on 3 timeout 240 "$BIN/imagezip" -q -r --to=frisbee://10.9.0.1/up.ndz "$T/disk.new"
check "has no signature of the one before" [ ! -e "$T/uploads/up.ndz.sig" ]

echo "== a token that is withdrawn"
status 1 get 2 secret.ndz "$T/out"
cp -p "$T/load.token" "$T/kept.token"; rm -f "$T/load.token" "$T/out"
status 1 get 1 secret.ndz "$T/out" --token "$T/kept.token"
check "does not count for the next request" grep -q "does not allow it" "$T/stderr"
"$BIN/imagekey" -q --token "$T/load.token"
status 1 get 1 secret.ndz "$T/out" --token "$T/kept.token"
check "nor when there is another one" grep -q "does not allow it" "$T/stderr"
check "which counts" get 1 secret.ndz "$T/out" --token "$T/load.token"

echo "== a token that is not there"
rm "$T/upload.token"; kill -HUP $MASTER
check "is named in the log" settled "nobody has this token: .*upload.token"
check "the other tokens count" get 1 secret.ndz "$T/out" --token "$T/load.token"
sed -i "/^allow 10.9.0.11 load /d" "$T/conf"; kill -HUP $MASTER
soon eval '[ "$(grep -c "the settings were read again" "$T/master.log")" = 2 ]'
status 1 get 1 secret.ndz "$T/out" --token "$T/load.token"
check "and a rule that has gone does not" grep -q "does not allow it" "$T/stderr"
status 1 "$BIN/mfrisbeed" --check -c "$T/conf"; check "--check says it" grep -q "upload.token" "$T/stderr"
finish
