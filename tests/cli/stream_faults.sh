#!/usr/bin/env bash
# Power cuts and kills of the daemon under a filesystem that is being written: attached again, the filesystem is whole, and
# what was synced is there.
#	POINTS=100 tests/cli/stream_faults.sh	so many (3); POINTS_SEED=N others
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs e2fsck debugfs nbdfuse losetup
[ "$(id -u)" = 0 ] && [ -n "$(losetup -f 2> /dev/null)" ] && { : < /dev/fuse; } 2> /dev/null || skip "needs root, loop devices and FUSE"
POINTS=${POINTS:-3} RANDOM=${POINTS_SEED:-11}
shim=$B/tests/preload/powercut.so
a_disk sda
# With a journal.
truncate -s 16M "$T/sda.fs"; mke2fs -q -F -t ext4 -d "$T/files" "$T/sda.fs"
dd if="$T/sda.fs" of="$T/sda" bs=1M seek=5 conv=notrunc status=none
"$BIN/imagezip" -q "$T/sda" "$T/sda.ndz" || fail "imagezip"
mkdir "$T/m" "$T/mnt"

# write_files SEED: files are written and synced, and their names and sums noted when they are.
cat > "$T/write.py" << 'PY'
import hashlib, os, random, sys
folder, log, r = sys.argv[1], open(sys.argv[2], "w"), random.Random(int(sys.argv[3]))
try:
    for i in range(40):
        name, data = f"{folder}/new{r.randrange(12)}", r.randbytes(r.randrange(1, 150000))
        fd = os.open(name, os.O_WRONLY | os.O_CREAT, 0o644)
        print("begun", os.path.basename(name), file=log, flush=True)
        os.ftruncate(fd, 0)
        for at in range(0, len(data), 20000):
            os.write(fd, data[at:at + 20000])
        os.fsync(fd)
        os.close(fd)
        d = os.open(folder, os.O_RDONLY)
        os.fsync(d)
        os.close(d)
        print("synced", os.path.basename(name), hashlib.sha256(data).hexdigest(), file=log, flush=True)
except OSError as e:
    print("ended", e, file=log, flush=True)
PY
let_go() {	# of the filesystem, whatever state it is in
	umount "$T/mnt" 2> /dev/null || umount -l "$T/mnt" 2> /dev/null
	[ -z "${loop:-}" ] || losetup -d "$loop" 2> /dev/null
	loop=
	kill "${fuse:-0}" 2> /dev/null; umount -l "$T/m" 2> /dev/null; wait "${fuse:-0}" 2> /dev/null
}
CLEANUP+=("let_go")
mounted() {
	rm -f "$T/fuse.pid"
	nbdfuse -P "$T/fuse.pid" "$T/m" "nbd+unix:///?socket=$T/sock" 2> /dev/null & fuse=$!
	begins $fuse [ -s "$T/fuse.pid" ] || return 1
	loop=$(losetup -f --show -o $((5 << 20)) --sizelimit $((16 << 20)) "$T/m/nbd") && mount -t ext4 "$loop" "$T/mnt" 2> /dev/null
}
# what_was_synced COPY: after fsck, each file that was synced last and not begun again has its sum; the image's files are there.
what_was_synced() {
	tail -c +$(((5 << 20) + 1)) "$1" | head -c $((16 << 20)) > "$T/part"
	e2fsck -p "$T/part" > "$T/fsck" 2>&1; [ $? -le 1 ] || { cat "$T/fsck"; return 1; }
	e2fsck -fn "$T/part" > "$T/fsck" 2>&1 || { cat "$T/fsck"; return 1; }
	rm -rf "$T/got"; mkdir "$T/got"; debugfs -R "rdump / $T/got" "$T/part" > /dev/null 2>&1
	python3 - "$T/written" "$T/got" "$T/files" << 'PY'
import hashlib, os, sys
last = {}
for line in open(sys.argv[1]):
    kind, name, *more = line.split()
    if kind == "synced": last[name] = more[0]
    elif kind == "begun": last.pop(name, None)
for name, sum in last.items():
    if hashlib.sha256(open(f"{sys.argv[2]}/{name}", "rb").read()).hexdigest() != sum: sys.exit(f"{name} is not what was synced")
for at, _, names in os.walk(sys.argv[3]):
    for name in names:
        path = os.path.join(at, name)
        other = sys.argv[2] + path[len(sys.argv[3]):]
        if open(path, "rb").read() != open(other, "rb").read(): sys.exit(f"{path} is not the image's")
print(f"{len(last)} files were synced")
PY
}
has_synced() { [ "$(grep -c ^synced "$T/written")" -ge "$1" ]; }	# FILES
cuts=0 kills=0
for ((point = 1; point <= POINTS; point++)); do
	seed=$((RANDOM * 32768 + RANDOM)) at=$((20 + RANDOM % 500))
	where=$T/table; ((point % 2)) || where=disk
	fill=fill=no; ((point % 4 < 2)) || fill=rate=100M
	new_target "$where"; : > "$T/written"
	what="point $point: seed $seed, write $at, $where, $fill"
	POWERCUT_AT=$at POWERCUT_SEED=$seed POWERCUT_FILES=$T/disk:$T/table LD_PRELOAD=$shim begin_to_serve "$where" $fill
	if builtin kill -0 $server 2> /dev/null && mounted; then
		python3 "$T/write.py" "$T/mnt" "$T/written" $seed & writer=$!
		if [ $((point % 3)) = 0 ]; then begins $writer has_synced $((RANDOM % 3 + 1)); builtin kill -9 $server 2> /dev/null; fi
		wait $writer
	fi
	if builtin kill -0 $server 2> /dev/null; then kill -9 $server; kills=$((kills + 1)); else cuts=$((cuts + 1)); fi
	wait $server 2> /dev/null
	let_go
	serve "$where" fill=no
	rm -f "$T/copied"; nbdcopy "nbd+unix:///?socket=$T/sock" "$T/copied" || fail "$what: cannot be read"
	check "$what: $(grep -c synced "$T/written") synced" what_was_synced "$T/copied"
	stop
	mv "$T/copied" "$T/model"; check "$what: a plain disk when all was read" same_but_header "$where"
done
echo "$cuts power cuts, $kills kills"
finish
