#!/usr/bin/env bash
# nbdkit ndz disk=: a disk that can be used while it arrives shows what an ordinary installation and its own writes make of
# it, before and after the end, and through restarts.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs
a_disk sda
U=$TOP/tests/helpers/nbd_stream.py
faulty=$B/tests/preload/faulty.so
# The table: in memory, in a file, on the disk.
for where in memory "$T/table" disk; do
	new_target "$where"
	[ "$where" = disk ] && export AVOID=$TABLE_AT-$((TABLE_AT + TABLE_BYTES)) || unset AVOID
	serve "$where" fill=no; check "$where: served" [ -s "$T/pid" ]
	check "written by four clients" python3 "$U" use "$T/sock" "$T/model" 1 300 4
	marked
	if [ "$where" = disk ]; then
		if python3 "$U" write "$T/sock" $((TABLE_AT + 600)) x 2> "$T/stderr"; then fail "the table can be written over"; fi
		check "which is said" grep -q "^PermissionError" "$T/stderr"
	fi
	if [ "$where" != memory ]; then
		stop; marked; serve "$where" fill=no
		check "after a restart" python3 "$U" same "$T/sock" "$T/model"
		stop
		serve "$where" fill=no; python3 "$U" write "$T/sock" 7000000 "written when it was complete"; stop
		printf "written when it was complete" | dd of="$T/model" bs=1 seek=7000000 conv=notrunc status=none
		check "all was read: a plain disk, which does not begin anew" same_but_header "$where"
		serve "$where" fill=no anew=yes; marked; stop
	else stop; fi
	new_target "$where"; serve "$where" fill=no
	check "as an ordinary installation" python3 "$U" same "$T/sock" "$T/model"
	stop
	new_target "$where"
	serve "$where" when-idle=0 rate=200M status="$T/status"
	check "written while it is filled" python3 "$U" use "$T/sock" "$T/model" 2 400 4
	check "complete" python3 "$U" wait "$T/status" 300
	[ "$where" = disk ] || check "as it was" python3 "$U" same "$T/sock" "$T/model"
	check "written when it is complete" python3 "$U" use "$T/sock" "$T/model" 3 100 4
	stop
	check "a plain disk" same_but_header "$where"
	check "its end is said: $(tail -n 1 "$T/nbd.log")" grep -q "is complete" "$T/nbd.log"
done

# Only what is read is fetched, and nothing of what is free.
new_target memory
serve memory fill=no status="$T/status"
check "free space" python3 - "$T/sock" "$T/model" << 'PY'
import os, sys
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client
nbd, model = Client(sys.argv[1]), open(sys.argv[2], "rb").read()
assert nbd.read(22 << 20, 1 << 20) == model[22 << 20:23 << 20] == b"\xa5" * (1 << 20)
nbd.read(5 << 20, 4096)
PY
check "4 KiB were fetched: $(python3 "$U" status "$T/status")" json <(python3 "$U" status "$T/status") fetched_bytes=4096 filled_bytes=0
# nbdkit's --swap locks them in full length.
check "no thread has a stack of the usual 8 MiB" eval '! grep -q -E "^Size: *81(88|92) kB" /proc/$server/smaps'
check "without a free descriptor the status waits, and takes no time of the processor" python3 - $server "$T/status" << 'PY'
import os, resource, socket, sys, time
pid = int(sys.argv[1])
used = {int(n) for n in os.listdir(f"/proc/{pid}/fd")}
free = next(n for n in range(10000) if n not in used)
hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)[1]
was = resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, hard))
ticks = lambda: sum(map(int, open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[11:13]))
before, client = ticks(), socket.socket(socket.AF_UNIX)
client.connect(sys.argv[2])
time.sleep(2)
took = ticks() - before
resource.prlimit(pid, resource.RLIMIT_NOFILE, was)
print(took, "ticks")
assert took < 20 and client.recv(1) == b"{"
PY
stop
for clear in zero discard; do
	new_target memory; poison "$T/disk" $DISK_BYTES
	serve memory fill=no $clear=yes
	rm -f "$T/zeros"; truncate -s $DISK_BYTES "$T/zeros"; installed_on "$T/zeros" "$T/zeroed"
	check "$clear: free space is cleared first" python3 "$U" same "$T/sock" "$T/zeroed"
	stop
done
"$BIN/imagezip" -q -I 2 "$T/sda" "$T/first.ndz" || fail "imagezip -I 2"
poison "$T/disk" $DISK_BYTES; IMAGE_AT=$T/first.ndz serve memory fill=no zero=yes
check "but no partition that the image leaves out" python3 - "$T/sock" << 'PY'
import os, sys
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client
nbd = Client(sys.argv[1])
assert nbd.read(22 << 20, 1 << 20) == bytes(1 << 20)
assert nbd.read(5 << 20, 16 << 20) == b"\xa5" * (16 << 20)
PY
stop

# A signature of an earlier use, in free space: an installation wipes it.
new_target memory
truncate -s 16M "$T/old"; mke2fs -q -F "$T/old"
dd if="$T/old" of="$T/disk" bs=1k skip=1 seek=$((22 * 1024 + 1)) count=1 conv=notrunc status=none
mkswap -q "$T/old" 2> /dev/null || mkswap "$T/old" > /dev/null; dd if="$T/old" of="$T/disk" bs=4k count=1 conv=notrunc status=none
installed_on "$T/disk" "$T/model"
serve memory fill=no status="$T/status"
check "stale signatures" python3 "$U" same "$T/sock" "$T/model"
stop

# What is refused is said, and nothing is written.
truncate -s 8M "$T/small"; cp "$T/small" "$T/small.was"
refused "is too small" "$T/sda.ndz" disk="$T/small" table=memory
truncate -s 16M "$T/exact"; cp "$T/exact" "$T/exact.was"; "$BIN/imagezip" -q "$T/sda.fs" "$T/fs.ndz"
refused "no place for the sector table" "$T/fs.ndz" disk="$T/exact"
check "nothing was written" eval 'cmp "$T/small" "$T/small.was" && cmp "$T/exact" "$T/exact.was"'
refused "which disk=DISK names" "$T/sda.ndz" table=memory
# An image of random data has more bytes than its disk, and would be room enough for that.
head -c 2M /dev/urandom > "$T/dense"; "$BIN/imagezip" -q -r "$T/dense" "$T/dense.ndz" || fail "imagezip"
cp "$T/dense.ndz" "$T/dense.was"; ln -s dense.ndz "$T/link"
refused "is the image .*dense.ndz, and cannot be the disk" "$T/dense.ndz" disk="$T/link" table=memory
refused "cannot be the disk" "$T/dense.ndz" image="$T/link" disk="$T/dense.ndz" table=memory
refused "cannot be the disk" "$T/sda.ndz" delta="$T/dense.ndz" disk="$T/dense.ndz" table=memory
check "the image was not written over" cmp "$T/dense.ndz" "$T/dense.was"
truncate -s $DISK_BYTES "$T/empty"; ln -s empty "$T/empty2"
refused "is the disk itself" "$T/sda.ndz" disk="$T/empty" table="$T/empty2"
check "nothing was written" cmp "$T/empty" <(head -c $DISK_BYTES /dev/zero)
refused "is no sector table" "$T/sda.ndz" disk="$T/disk" table="$T/sda.out"
# A filesystem that would become full when the table is written: the table has 20 KiB.
if [ "$(id -u)" = 0 ] && mkdir "$T/full" && mount -t tmpfs -o size=16k none "$T/full" 2> /dev/null; then
	CLEANUP+=("umount '$T/full' 2> /dev/null")
	new_target memory; cp "$T/disk" "$T/disk.was"
	refused "has no room for the sector table" "$T/sda.ndz" disk="$T/disk" table="$T/full/table"
	check "nothing was written" cmp "$T/disk" "$T/disk.was"
	check "the room is not taken" [ "$(stat -c %s-%b "$T/full/table")" = 0-0 ]
	umount "$T/full"
fi
new_target "$T/table"; serve "$T/table" fill=no; python3 "$U" write "$T/sock" 9000 kept; stop
head -c 1M /dev/urandom > "$T/other"; "$BIN/imagezip" -q "$T/other" "$T/other.ndz" 2> /dev/null
serve "$T/table" fill=no; poison "$T/second" $DISK_BYTES; cp "$T/second" "$T/second.was"
refused "disk is in use: .* has locked it" "$T/sda.ndz" disk="$T/disk" table=memory
refused "disk is in use: .* has locked it" "$T/sda.ndz" disk="$T/disk" table="$T/table"
refused "table is in use: .* has locked it" "$T/sda.ndz" disk="$T/second" table="$T/table"
check "nothing was written" cmp "$T/second" "$T/second.was"
stop
refused "from another image" "$T/other.ndz" disk="$T/disk" table="$T/table"
refused "its sector table is not on it" "$T/sda.ndz" disk="$T/disk"
refused "its sector table is not on it" "$T/sda.ndz" disk="$T/disk" table=memory
refused "is not the sector table of" "$T/sda.ndz" disk="$T/disk" table="$T/new"
cp "$T/disk" "$T/copy"; head -c 4096 /dev/zero | dd of="$T/copy" conv=notrunc status=none
refused "is not the sector table of" "$T/sda.ndz" disk="$T/copy" table="$T/table"
cp "$T/table" "$T/table.was"; spoil_byte "$T/table" 16500
refused "data that was written locally may be among them" "$T/sda.ndz" disk="$T/disk" table="$T/table"
cp "$T/table.was" "$T/table"; serve "$T/table" fill=no
check "what was written is there" [ "$(python3 -c "
import sys; sys.path.insert(0, '$TOP/tests/helpers')
from nbd_stream import Client
print(Client('$T/sock').read(9000, 4).decode())")" = kept ]
stop

# A disk that is complete is told from others of its size, and does not begin anew when a partition was enlarged.
filled() { new_target "$1"; serve "$1" when-idle=0 status="$T/status"; python3 "$U" wait "$T/status" 300; stop; }
grown() { echo ", +" | sfdisk -q --no-reread -N 2 "$T/disk" 2> /dev/null; }
filled "$T/table"; grown; cp "$T/disk" "$T/disk.was"
serve "$T/table" fill=no; stop
check "it is known, also with a larger partition" grep -q "is complete already" "$T/nbd.log"
# Nor when its boot sector was changed since: what the image stores is on it.
for table in "$T/table" disk; do
	[ $table != disk ] || filled disk
	for at in 440 448; do spoil_byte "$T/disk" $at; done
	cp "$T/disk" "$T/disk.was"; serve $table fill=no; stop
	check "it is served" grep -q "is complete already" "$T/nbd.log"
	check "and it is said what was seen" grep -q "its boot sector was changed since" "$T/nbd.log"
	check "nothing was written" cmp "$T/disk" "$T/disk.was"
done
filled "$T/table"; poison "$T/disk" $DISK_BYTES
refused "with another signature" "$T/sda.ndz" disk="$T/disk" table="$T/table"
filled disk; dd if=/dev/urandom of="$T/disk" bs=4k seek=$((TABLE_AT / 4096)) count=5 conv=notrunc status=none; grown; cp "$T/disk" "$T/disk.was"
refused "a partition was enlarged over" "$T/sda.ndz" disk="$T/disk"
check "nothing was written" cmp "$T/disk" "$T/disk.was"
serve disk fill=no anew=yes; marked; stop
# Nor when its size has changed, and the headers are found.
filled "$T/table"; truncate -s $((DISK_BYTES + (1 << 20))) "$T/disk"; cp "$T/disk" "$T/disk.was"
refused "its size has changed since" "$T/sda.ndz" disk="$T/disk" table="$T/table"
check "nothing was written" cmp "$T/disk" "$T/disk.was"
serve "$T/table" fill=no anew=yes; marked; stop
filled "$T/table"; truncate -s $((DISK_BYTES - (1 << 20))) "$T/disk"; cp "$T/disk" "$T/disk.was"
refused "its size has changed since" "$T/sda.ndz" disk="$T/disk" table="$T/table"
check "nothing was written" cmp "$T/disk" "$T/disk.was"
# A disk that has become shorter while it was being streamed, with or without its table.
for where in "$T/table" disk; do
	new_target "$where"; serve "$where" fill=no; python3 "$U" write "$T/sock" 9000 kept; kill -9 $server; wait $server 2> /dev/null
	table=(table="$where"); [ "$where" != disk ] || table=()
	for bytes in $((DISK_BYTES - 512)) $((DISK_BYTES - (1 << 20))); do
		truncate -s $bytes "$T/disk"; cp "$T/disk" "$T/disk.was"
		refused "had $DISK_BYTES bytes when it began to be streamed, and has $bytes" "$T/sda.ndz" disk="$T/disk" "${table[@]}"
	done
	truncate -s $((10 << 20)) "$T/disk"; cp "$T/disk" "$T/disk.was"
	refused "is too small" "$T/sda.ndz" disk="$T/disk" "${table[@]}"
	check "nothing was written" cmp "$T/disk" "$T/disk.was"
	truncate -s $DISK_BYTES "$T/disk"
	[ "$where" != disk ] || refused "no sector table begins at byte $TABLE_AT" "$T/sda.ndz" disk="$T/disk"
done

# The name of a new table is flushed before the disk begins.
new_target "$T/table"; mkdir "$T/fresh"; cp "$T/disk" "$T/disk.was"
FAULT=fsync:1:eio:$T/fresh LD_PRELOAD=$faulty begin_to_serve "$T/fresh/table" fill=no
check "its folder fails: $(tail -n 1 "$T/nbd.log")" grep -q "fresh: flushing the directory" "$T/nbd.log"
check "nothing was written" cmp "$T/disk" "$T/disk.was"

# Where the page cache cannot be passed by, that is said.
new_target memory; truncate -s $((DISK_BYTES + 512)) "$T/disk"; serve memory fill=no
check "the page cache: $(tail -n 1 "$T/nbd.log")" grep -q "through the page cache" "$T/nbd.log"
stop
# A block device that ends within a page can be used past it.
if [ "$(id -u)" = 0 ] && dev=$(losetup -f --show "$T/disk" 2> /dev/null); then
	CLEANUP+=("losetup -d '$dev' 2> /dev/null")
	DISK_AT=$dev serve memory fill=no
	check "an odd number of sectors" [ "$(grep -c "through the page cache" "$T/nbd.log")" = 0 ]
	check "its last one is written" python3 "$TOP/tests/helpers/nbd_stream.py" write "$T/sock" $DISK_BYTES last
	stop; losetup -d "$dev"
	check "and has that" [ "$(tail -c 512 "$T/disk" | head -c 4)" = last ]
fi

# Requests get no new memory from the kernel: it might have to be freed by writing to this disk.
new_target memory; serve memory fill=no
check "no page fault for each request" python3 - "$T/sock" $server << 'PY'
import os, sys
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client, WRITE
nbd, faults = Client(sys.argv[1]), lambda: int(open(f"/proc/{sys.argv[2]}/stat").read().rpartition(")")[2].split()[7])
def requests():
    for i in range(40):
        nbd.change(WRITE, 6 << 20, 1 << 20, bytes(1 << 20))
        nbd.read(6 << 20, 1 << 20)
requests()
before = faults()
requests()
print(faults() - before, "page faults")
assert faults() - before < 2000
PY
stop

# The last flush fails.
with_fault() { local fsync=$1; shift; FAULT=fsync:$fsync:eio:$T/disk FAULT_CALLS=$T/calls LD_PRELOAD=$faulty "$@"; }
new_target disk; with_fault 1000000 begin_to_serve disk fill=no
python3 "$U" write "$T/sock" 9000 kept; stop
last=$(cat "$T/calls")
new_target disk; with_fault $last begin_to_serve disk fill=no
python3 "$U" write "$T/sock" 9000 kept; kill $server; wait $server; got=$?
check "flush $last fails: status $got: $(tail -n 1 "$T/nbd.log")" [ $got = 1 ]
# A write with the flag FUA is answered when it is on the medium: one flush is its own.
for ((n = last; n > 0; n--)); do
	new_target disk; with_fault $n begin_to_serve disk fill=no || continue
	python3 "$U" through "$T/sock" 9000 kept 2> "$T/stderr"; got=$?; stop
	[ $got = 0 ] || break
done
check "flush $n fails, and the write, too" grep -q '^OSError: .*request 1,' "$T/stderr"
new_target disk; rm -f "$T/sock" "$T/attached"; mkdir "$T/run"
XDG_RUNTIME_DIR=$T/run FAULT=fsync:$last:eio:$T/disk LD_PRELOAD=$faulty "$BIN/streamdisk" --json --no-fill --socket="$T/sock" "$T/sda.ndz" "$T/disk" > "$T/attached" 2> "$T/sd.log" & sd=$!
CLEANUP+=("kill $sd 2> /dev/null; wait $sd 2> /dev/null")
begins $sd [ -s "$T/attached" ]
python3 "$U" write "$T/sock" 9000 kept; kill $sd; wait $sd; got=$?
check "streamdisk ends with status $got, too: $(tail -n 1 "$T/sd.log")" [ $got = 1 ]
check "it has printed one document" json "$T/attached" "attached_at[#]>0"

# A file where the status is to be is not removed, and the disk does not begin; nor without a folder for the status.
echo kept > "$T/status.txt"; new_target memory; cp "$T/disk" "$T/disk.was"
timeout 240 nbdkit -f -U "$T/sock2" "$PLUGIN" "$T/sda.ndz" disk="$T/disk" table=memory fill=no status="$T/status.txt" 2> "$T/nbd.log"; got=$?
check "is not served: $(tail -n 1 "$T/nbd.log")" [ $got = 1 ]
check "and is there" [ "$(cat "$T/status.txt")" = kept ]
check "nothing was written" cmp "$T/disk" "$T/disk.was"
refused "no socket can be made" "$T/sda.ndz" disk="$T/disk" table=memory status="$T/no-folder/status"
refused "too long for a socket" "$T/sda.ndz" disk="$T/disk" table=memory status="$T/$(printf %0120d 0)"
check "nothing was written" cmp "$T/disk" "$T/disk.was"
finish
