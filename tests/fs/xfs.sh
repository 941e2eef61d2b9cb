#!/usr/bin/env bash
# XFS made by mkfs.xfs, populated by it (-p) or, as root, by the kernel, which
# also ages it: then xfs_repair, and every file.
. "$(dirname "$0")/lib.sh"
requires mkfs.xfs xfs_db xfs_repair xfs_io xfs_logprint python3
make_files "$T/files" 1
root=${MOUNTS_ARE_OWN:-}
# mkfs.xfs refuses to make what is smaller than 300 MB but for its own tests.
export TEST_DIR=$T TEST_DEV=$T QA_CHECK_FS=none
mkdir "$T/mnt" "$T/mnt2"
CLEANUP+=('umount -q "$T/mnt2" "$T/mnt" 2> /dev/null')

# Free extents as xfs_db tells them, less the blocks that groups have in reserve
# (it counts them among the free ones; they are kept): IMG
free_of() {
	python3 - "$1" << 'PY'
import re, subprocess, sys
def db(*cmds):
    args = [x for c in cmds for x in ("-c", c)]
    return subprocess.run(["xfs_db", "-r", *args, sys.argv[1]], capture_output=True, text=True).stdout
sb = dict(re.findall(r"(\w+) = (\d+)", db("sb 0", "p blocksize agblocks agcount")))
size, ag = int(sb["blocksize"]) // 512, int(sb["agblocks"])
reserve = set()
for n in range(int(sb["agcount"])):
    agf = dict(re.findall(r"(\w+) = (\d+)", db(f"agf {n}", "p flfirst fllast flcount")))
    bno = dict(re.findall(r"(\d+):(\d+)", db(f"agfl {n}", "p bno")))
    text = db(f"agfl {n}", "p bno")
    slots = int(re.search(r"bno\[0-(\d+)\]", text).group(1)) + 1
    reserve |= {(n, int(bno[str((int(agf["flfirst"]) + i) % slots)])) for i in range(int(agf["flcount"]))}
for line in db("freesp -d").splitlines():
    m = re.fullmatch(r"\s*(\d+)\s+(\d+)\s+(\d+)\s*", line)
    if m and (int(m[1]), int(m[2])) not in reserve:
        print((int(m[1]) * ag + int(m[2])) * size, int(m[3]) * size)
PY
}

# What mkfs.xfs -p wants to know of a tree of files: DIR
proto() {
	python3 - "$1" << 'PY'
import os, sys
def put(path, depth):
    for name in sorted(os.listdir(path)):
        at = f"{path}/{name}"
        if os.path.isdir(at):
            print(f"{' ' * depth}{name} d--755 0 0")
            put(at, depth + 1)
            print(f"{' ' * depth}$")
        else:
            print(f"{' ' * depth}{name} ---644 0 0 {at}")
print("/\n0 0\nd--755 0 0")
put(sys.argv[1], 1)
print("$")
PY
}
proto "$T/files" > "$T/proto"

make_fs() {	# WHAT IMG SIZE MKFS-OPTIONS...
	local what=$1 img=$2 size=$3; shift 3
	rm -f "$img"; truncate -s "$size" "$img"
	mkfs.xfs -q -K -f "$@" "$img" > "$T/mkfs" 2>&1 || { fail "$what: mkfs.xfs: $(head -n 2 "$T/mkfs")"; return 1; }
}
up() { mount -o "loop,$3" "$1" "$2"; }	# IMG DIR OPTIONS
same_files() {	# WHAT IMG
	[ -n "$root" ] || return 0
	up "$2" "$T/mnt" ro,norecovery,nouuid && up "$T/target" "$T/mnt2" ro,norecovery,nouuid || { fail "$1: mounting"; return; }
	check "$1: every file" diff -r --no-dereference "$T/mnt" "$T/mnt2"
	check "$1: there are files" [ "$(find "$T/mnt2" -type f | wc -l)" -ge "${3:-20}" ]
	umount "$T/mnt2" "$T/mnt"
}

# round_trip WHAT IMG [MOUNTABLE]
round_trip() {
	free_of "$2" > "$T/free"
	check "$1: the log is clean" sh -c 'xfs_logprint -t "$1" 2>&1 | grep -q "<CLEAN>"' sh "$2"
	fs_case xfs "$1" "$2" "$T/free" || return
	check "$1: xfs_repair" quietly xfs_repair -n -o force_geometry "$T/target"
	[ "${3:-yes}" = no ] || same_files "$1" "$2"
}
populated() {	# WHAT SIZE MKFS-OPTIONS...
	local what=$1 size=$2; shift 2
	make_fs "$what" "$T/fs" "$size" "$@" -p "$T/proto" && round_trip "$what" "$T/fs" "$mountable"
}
mountable=yes
populated "defaults of mkfs.xfs" 40M
populated "4 KiB sectors" 40M -s size=4096
mountable=no	# larger blocks than pages; version 4
populated "64 KiB blocks" 64M -b size=65536 -d agcount=1 -l size=32m
populated "version 4" 32M -m crc=0
populated "version 4, log of version 1" 32M -m crc=0 -l version=1,lazy-count=0

# Version 4 is aged without mounting it (not every kernel has it): every second
# inode is wiped, and xfs_repair gives back what it had.
python3 -c "
import os; os.mkdir('$T/small')
for i in range(600): open(f'$T/small/{i:03}', 'w').write('z' * 500)"
proto "$T/small" > "$T/proto2"
repaired() {	# WHAT MKFS-OPTIONS...
	local what=$1; shift
	make_fs "$what" "$T/fs" 32M "$@" -p "$T/proto2" || return
	xfs_db -r -c 'blockget -n' -c ncheck "$T/fs" 2> /dev/null |
	    awk '$2 ~ /^[0-9]*[02468]$/ { print "inode " $1; print "write -d core.mode 0" }' > "$T/wipe"
	quietly xfs_db -x "$T/fs" < "$T/wipe"
	xfs_repair -o force_geometry "$T/fs" > "$T/repair" 2>&1 || { fail "$what: $(tail -n 3 "$T/repair")"; return; }
	round_trip "$what" "$T/fs" no
	levels "$what" 2
}
levels() {	# WHAT MIN
	check "$1: a tree of $2 levels was read" [ "$(xfs_db -r -c 'agf 0' -c 'p bnolevel' "$T/fs" | grep -o '[0-9]*')" -ge "$2" ]
}
repaired "version 4, 512 byte blocks, many gaps" -m crc=0 -b size=512

# Files deleted, others made in the gaps, holes punched: DIR SEED
age() {
	python3 - "$1" "$2" << 'PY'
import ctypes, os, random, sys
top, r = sys.argv[1], random.Random(int(sys.argv[2]))
libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64]
files = sorted(os.path.join(d, n) for d, _, names in os.walk(top) for n in names)
for path in r.sample(files, len(files) // 2):
    os.unlink(path)
for i in range(60):
    with open(f"{top}/new-{i}", "wb") as f:
        f.write(r.randbytes(r.choice([100, 9000, 70000])))
fd = os.open(f"{top}/punched", os.O_RDWR | os.O_CREAT)
os.posix_fallocate(fd, 0, 6 << 20)
os.pwrite(fd, r.randbytes(2 << 20), 1 << 20)
step = os.fstatvfs(fd).f_bsize
for at in range(0, 6 << 20, 2 * step):
    libc.fallocate(fd, 3, at, step)   # KEEP_SIZE | PUNCH_HOLE
PY
}
churn() {	# DIR ROUNDS
	python3 - "$@" << 'PY'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for i in range(int(sys.argv[2])):
    names = [f"{sys.argv[1]}/{'w' * 100}{i}-{n}" for n in range(300)]
    for n in names:
        open(n, "w").close()
    os.fsync(fd)
    for n in names[1:]:
        os.unlink(n)
    os.fsync(fd)
PY
}
aged() {	# WHAT SIZE MKFS-OPTIONS...
	local what=$1 size=$2; shift 2
	make_fs "$what" "$T/fs" "$size" "$@" && up "$T/fs" "$T/mnt" rw || { fail "$what: mounting"; return; }
	cp -r "$T/files/." "$T/mnt" && age "$T/mnt" 5
	[ "$fill" = no ] || { cat /dev/zero > "$T/mnt/fill" 2> /dev/null; rm "$T/mnt/new-7" "$T/mnt/new-9"; }
	umount "$T/mnt"
	round_trip "$what" "$T/fs"
}
fill=no
if [ -n "$root" ]; then
	aged "aged, 1 KiB blocks, trees of all kinds" 48M -d agcount=1 -b size=1024 -m rmapbt=1,reflink=1,finobt=1,bigtime=1
	levels "aged, 1 KiB blocks" 2
	aged "aged, 6 groups, nrext64, sparse inodes" 96M -d agcount=6 -i nrext64=1,sparse=1
	aged "log in units of 256 KiB" 96M -b size=1024 -l su=256k
	fill=yes aged "nearly full" 32M

	# The log around its end: files made and deleted, many at a time.
	make_fs "log, written around" "$T/fs" 32M -b size=1024 -d agcount=1 && up "$T/fs" "$T/mnt" rw
	churn "$T/mnt" 40 && umount "$T/mnt"
	round_trip "log, written around" "$T/fs"
	check "it was written around" [ $(($(xfs_db -r -c 'agf 0' -c 'p lsn' "$T/fs" | grep -o '0x.*') >> 32)) -ge 2 ]
else
	echo "not root: nothing was mounted"
fi

# What cannot be trusted is stored completely.
make_fs "for damage" "$T/fs2" 36M -d agcount=2 -p "$T/proto"; free_of "$T/fs2" > "$T/free"
damaged() {	# WHAT CLAUSE XFS_DB-COMMAND...
	local what=$1 clause=$2 c; local -a args=(); shift 2
	for c; do args+=(-c "$c"); done
	cp "$T/fs2" "$T/fs3"; quietly xfs_db -x "${args[@]}" "$T/fs3"
	kept_whole "$what" "$T/fs3" "$clause"
	row xfs "$what" "$said"
}
damaged "not completely made" "not completely made" "sb 0" "write -d inprogress 1"
damaged "needs repair" "needing repair" "sb 0" "write -d features_incompat 0x1b"
damaged "unknown incompatible feature" "unknown incompatible" "sb 0" "write -d features_incompat 0x800b"
damaged "unknown read-only feature" "unknown features" "sb 0" "write -d features_ro_compat 0x8005"
damaged "realtime device" "realtime" "sb 0" "write -d rblocks 1000"
damaged "log elsewhere" "another device" "sb 0" "write -d logstart 0"
damaged "group's free count too small" "more free blocks" "agf 1" "write -d freeblks 5"
damaged "group's free count too large" "fewer free blocks" "agf 0" "write -d freeblks 4600"
damaged "superblock's free count" "superblock says" "sb 0" "write -d fdblocks 700"
damaged "levels of the tree" "header is damaged" "agf 0" "write -d bnolevel 200"
damaged "tree root outside" "leads outside" "agf 0" "write -d bnoroot 100000"
damaged "tree root is another tree" "damaged" "agf 0" "write -d bnoroot 2"
cp "$T/fs2" "$T/fs3"; truncate -s 30M "$T/fs3"
fs_damaged xfs "cut short" "$T/fs3" "$T/free"
kept_whole "cut short" "$T/fs3" "more than the partition"

# One wrong bit anywhere in what is looked at: the checksums tell.
flips() {
	python3 - "$BIN/imagezip" "$T/fs2" "$T/fs3" << 'PY'
import json, random, re, shutil, subprocess, sys
zip_, good, img = sys.argv[1:]
r = random.Random(3)
shutil.copy(good, img)
sb = dict(re.findall(r"(\w+) = (\d+)", subprocess.run(["xfs_db", "-r", "-c", "sb 0", "-c", "p agblocks", good], capture_output=True, text=True).stdout))
group = int(sb["agblocks"]) * 4096
places = [0, 512, 4096, group + 512, group + 4096]
bad = []
with open(img, "r+b", buffering=0) as f:
    for i in range(60):
        first = places[i % len(places)]
        at, bit = first + r.randrange(4 if first % 4096 == 0 and first % group == 0 else 0, 512), 1 << r.randrange(8)
        f.seek(at); old = f.read(1)[0]
        f.seek(at); f.write(bytes([old ^ bit]))
        out = subprocess.run([zip_, "-q", "-i", "--json", "-F", "0", img], capture_output=True, text=True)
        if json.loads(out.stdout)["partitions"][0]["skipped_sectors"] != 0:
            bad.append((at, bit))
        f.seek(at); f.write(bytes([old]))
sys.exit(f"not noticed: {bad}" if bad else 0)
PY
}
check "60 single wrong bits in headers and trees: all noticed" flips

if [ -n "$root" ]; then
	cp "$T/fs2" "$T/fs3"; up "$T/fs3" "$T/mnt" rw; cp -r "$T/files/many" "$T/mnt/more"; sync "$T/mnt"
	cp "$T/fs3" "$T/fs4"; xfs_io -x -c 'shutdown -f' "$T/mnt"; umount "$T/mnt"
	for i in 3 4; do
		fs_damaged xfs "dirty log ($i)" "$T/fs$i" "$T/free"
		kept_whole "dirty log ($i)" "$T/fs$i" "not clean"
	done
	xfs_repair -L "$T/fs3" > /dev/null 2>&1
	round_trip "log cleared by xfs_repair" "$T/fs3"
fi
finish
