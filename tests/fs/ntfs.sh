#!/usr/bin/env bash
# NTFS made by mkntfs and aged through ntfs-3g: then ntfsfix, ntfsresize's check
# of all clusters, and every file.
. "$(dirname "$0")/lib.sh"
requires mkntfs ntfsinfo ntfscat ntfscluster ntfsfix ntfsresize ntfscp python3
make_files "$T/files" 5 80
mkdir "$T/a" "$T/b"
CLEANUP+=("umount -q $T/a $T/b")
free_of() { python3 "$TOP/tests/helpers/ntfs_free.py" "$@"; }
may_mount() { [ "$(id -u)" = 0 ] && [ -c /dev/fuse ] && command -v ntfs-3g > /dev/null; }

make() {	# IMG SIZE MKNTFS-OPTIONS...
	local img=$1 size=$2; shift 2
	rm -f "$img"; truncate -s "$size" "$img"
	mkntfs -q -F -Q -p 0 -H 0 -S 0 "$@" "$img" > "$T/mkntfs" 2>&1 || { fail "mkntfs $*: $(cat "$T/mkntfs")"; return 1; }
}
# Put files into a mounted volume, delete some, put more between, and what
# Windows would have: a pagefile in pieces, a hiberfil.sys of zeros.
age() {	# DIR [fill|shatter|mft]
	python3 - "$@" << 'PY'
import os, random, sys, time
top, r = sys.argv[1], random.Random(3)
def write(name, data):
    with open(f"{top}/{name}", "wb") as f:
        f.write(data)
os.mkdir(f"{top}/age")
names = [f"age/file-{i:03}" for i in range(200)]
for n in names:
    write(n, r.randbytes(9000))
for n in names[::2]:
    os.remove(f"{top}/{n}")
if "shatter" not in sys.argv:
    write("pagefile.sys", r.randbytes(1 << 20)) # into the gaps
write("swapfile.sys", r.randbytes(100000))
write("hiberfil.sys", bytes(300000))
for i in range(150):                            # a root directory of several blocks
    write(f"in the root, with a name that is long {i:03}", b"resident" * (i % 20))
with open(f"{top}/sparse", "wb") as f:
    f.write(b"begin"); f.seek(3 << 20); f.write(b"middle"); f.truncate(5 << 20)
os.mkdir(f"{top}/compressed")
try:
    os.setxattr(f"{top}/compressed", "system.ntfs_attrib_be", (0x810).to_bytes(4, "big"))
    os.setxattr(f"{top}/age/file-001", "user.stream", r.randbytes(60000))
except OSError as e:
    print(e)
write("compressed/text", b"the same again and again " * 40000)
def fill():
    try:
        with open(f"{top}/all the rest", "wb", buffering=0) as f:
            while True:
                f.write(r.randbytes(4096))
    except OSError:
        pass
def wait_free(size):
    for _ in range(1200):
        at = os.statvfs(top)
        if at.f_bavail * at.f_frsize >= size:
            return
        time.sleep(0.05)
    sys.exit(f"only {at.f_bavail * at.f_frsize} bytes became free")
if "shatter" in sys.argv:                       # a run list that needs an attribute list
    os.mkdir(f"{top}/shards")
    for i in range(2400):
        write(f"shards/{i}", bytes(800))
    fill()
    for i in range(2400):                       # neighbours have numbers two apart
        if i % 4 < 2:
            os.remove(f"{top}/shards/{i}")
    wait_free(1190 * 1024)                      # the driver may still be closing them
    with open(f"{top}/pagefile.sys", "wb", buffering=0) as f:
        for i in range(2100):
            f.write(r.randbytes(512))
if "mft" in sys.argv:                           # the MFT grows into many small gaps
    os.mkdir(f"{top}/shards")
    os.mkdir(f"{top}/empty")
    for i in range(2200):
        write(f"shards/{i}", bytes(8000))
    fill()
    for i in range(2200):
        if i % 4 < 2:
            os.remove(f"{top}/shards/{i}")
    try:
        for n in range(100000):
            write(f"empty/{n}", b"")
    except OSError:
        pass
    os.remove(f"{top}/shards/2")                # room for a pagefile with a late record
    os.remove(f"{top}/pagefile.sys")
    late = max(os.scandir(f"{top}/empty"), key=lambda f: f.stat().st_ino)
    os.rename(late.path, f"{top}/pagefile.sys")
    write("pagefile.sys", bytes(6000))
if "fill" in sys.argv:
    fill()
    os.remove(f"{top}/age/file-005")
PY
}
# umount returns before ntfs-3g has written all: its end is waited for, too.
declare -A NTFS_3G
mounted() {	# OPTIONS IMG DIR
	ntfs-3g -o "no_detach,$1" "$2" "$3" 2> "$T/ntfs-3g.log" & NTFS_3G[$3]=$!
	begins $! mountpoint -q "$3" || { cat "$T/ntfs-3g.log"; return 1; }
}
unmounted() {	# DIR...
	local dir
	for dir; do umount "$dir"; wait "${NTFS_3G[$dir]}"; done
}
same_files() {	# WHAT IMG TARGET
	mounted ro "$2" "$T/a" && mounted ro "$3" "$T/b" || { fail "$1: cannot mount"; return; }
	check "$1: every file" diff -r -x pagefile.sys -x swapfile.sys -x hiberfil.sys "$T/a" "$T/b"
	check "$1: there are files" [ "$(find "$T/b" -type f | wc -l)" -gt 80 ]
	unmounted "$T/a" "$T/b"
}
sound() {	# WHAT IMG
	check "$1: ntfsfix" quietly ntfsfix -n "$2"
	check "$1: ntfsresize counts the clusters" quietly ntfsresize --info -f "$2"
}
# Does its list of extents need an attribute list?
in_shards() { grep -q "0x20 - " <(ntfscluster -f -F pagefile.sys "$1"); }
round_trip() {	# WHAT FILL SIZE MKNTFS-OPTIONS...
	local what=$1 fill=$2 img=$T/fs; shift 2
	local k
	# The driver closes files when it has time to, so that what is free, and where, is not the same each time.
	for k in $(seq 20); do
		make "$img" "$@" || return
		mounted compression "$img" "$T/a" || { fail "$what: ntfs-3g"; return; }
		cp -r "$T/files/." "$T/a"; age "$T/a" $fill; unmounted "$T/a"
		[ "$fill" = shatter ] && ! in_shards "$img" || break
	done
	free_of "$img" pagefile.sys swapfile.sys hiberfil.sys > "$T/free" || { fail "$what: listing free space"; return; }
	fs_case ntfs "$what" "$img" "$T/free" || return
	check "$what: without a warning" [ -z "$(said_of warning "$img")" ]
	check "$what: a strict reader accepts it" python3 "$TOP/tests/helpers/strict_reader.py" "$T/case.ndz" /dev/null "$(stat -c %s "$img")"
	sound "$what" "$T/target"
	[ "$fill" != shatter ] || check "$what: there is one" in_shards "$T/target"
	check "$what: the backup boot sector" cmp <(tail -c 512 "$img") <(tail -c 512 "$T/target")
	same_files "$what" "$img" "$T/target"
}
if may_mount; then
	round_trip "defaults of mkntfs" "" 32M
	round_trip "512 byte clusters, attribute lists" shatter 16M -c 512
	round_trip "512 byte clusters, MFT in many pieces" mft 28M -c 512
	check "MFT in many pieces: it needs an attribute list" grep -q "0x20 - " <(ntfscluster -f -I 0 "$T/target")
	check "MFT in many pieces: a file of a late record is skipped" [ "$(ntfsinfo -f -F pagefile.sys "$T/target" | sed -n 's/^Dumping Inode \([0-9]*\).*/\1/p')" -gt 6000 ]
	round_trip "64k clusters" "" 48M -c 65536
	round_trip "4k sectors" "" 24M -s 4096
	round_trip "1k clusters, nearly full" fill 12M -c 1024

	# hiberfil.sys with holes: its header is read as Windows reads it, and the file itself is kept.
	holes() {	# BEGINNING: a new volume in $T/fs with such a file
		make "$T/fs" 12M || return
		mounted "" "$T/fs" "$T/a" || { fail "hiberfil.sys with holes: ntfs-3g"; return 1; }
		python3 -c 'import sys; f = open(sys.argv[1], "wb"); f.write(sys.argv[2].encode()); f.seek(1 << 20); f.write(b"end" * 9000); f.truncate(3 << 20)' "$T/a/hiberfil.sys" "$1"
		unmounted "$T/a"
	}
	if holes ""; then
		free_of "$T/fs" > "$T/free"
		fs_case ntfs "hiberfil.sys that begins with a hole" "$T/fs" "$T/free"
	fi
	if holes hibr; then kept_whole "hiberfil.sys with holes says hibr" "$T/fs" hibernated; fi
fi
# Clusters too large for the plain number in the boot sector.
make "$T/fs" 64M -c 2097152; head -c 3000000 /dev/urandom > "$T/file"
ntfscp -q -f "$T/fs" "$T/file" file; free_of "$T/fs" > "$T/free"
fs_case ntfs "2M clusters" "$T/fs" "$T/free" && sound "2M clusters" "$T/target"
check "2M clusters: the file" cmp "$T/file" <(ntfscat -f "$T/target" file)
# More than 8 Mi clusters, whose $Bitmap is read in two pieces.
make "$T/big" 5G -c 512
free=$(ntfsinfo -f -m "$T/big" | sed -n 's/.*Free Clusters: *\([0-9]*\) .*/\1/p')
check "10 Mi clusters: all that are free are skipped" \
    [ "$(said_of skipped_sectors "$T/big")" = "${free:-none}" ]
row ntfs "10 Mi clusters" "$((free / 2)) KiB free, skipped"
rm "$T/big"

# Without mounting: files come by ntfscp.
make "$T/fs2" 12M -c 2048
head -c 700000 /dev/zero > "$T/hiber"; head -c 90000 /dev/urandom > "$T/page"
{ printf wake; head -c 5000 /dev/urandom; } | dd of="$T/hiber" conv=notrunc status=none
ntfscp -q -f "$T/fs2" "$T/page" pagefile.sys; ntfscp -q -f "$T/fs2" "$T/hiber" hiberfil.sys
free_of "$T/fs2" pagefile.sys hiberfil.sys > "$T/free"
first=$(ntfscluster -f -F hiberfil.sys "$T/fs2" | awk '/^ +0 / { print $2 * 4 }')
capture_install "woken hiberfil.sys" "$T/fs2"
cp "$T/fs2" "$T/fs3"; dd if=/dev/zero of="$T/fs3" bs=512 seek="$first" count=8 conv=notrunc status=none
check "woken hiberfil.sys: zeros for its header, the rest skipped" compare installed "$T/fs3" "$T/target" "$T/free" 0
check "woken hiberfil.sys: as much as there is" [ "$(said_of skipped_sectors "$T/fs2")" = "$(awk '{ n += $2 } END { print n }' "$T/free")" ]
row ntfs "hiberfil.sys of a woken system" "zeros for its header, the rest skipped"

# What cannot be trusted is stored completely.
damaged() {	# WHAT PART-OF-THE-WARNING; the image is $T/fs3
	fs_damaged ntfs "$1" "$T/fs3" "$T/free"
	check "$1: stored completely" said_zero "$T/fs3"
	check "$1: says why" grep -q "$2" <(said_of warning "$T/fs3")
}
for word in hibr HIBR RSTR junk; do
	cp "$T/fs2" "$T/fs3"; printf %s "$word" | dd of="$T/fs3" bs=512 seek="$first" conv=notrunc status=none
	damaged "hiberfil.sys says $word" hibernated
done
make "$T/fs3" 8M; head -c 300 /dev/zero > "$T/short"; ntfscp -q -f "$T/fs3" "$T/short" hiberfil.sys
kept_whole "hiberfil.sys shorter than its header" "$T/fs3" hibernated
cp "$T/fs2" "$T/fs3"; quietly ntfsfix "$T/fs3"
damaged "marked dirty" "marked dirty"
cp "$T/fs2" "$T/fs3"; truncate -s 10M "$T/fs3"
damaged "cut short" "more than the partition"

# write_log VERSION CLIENT FLAGS [CLIENT FLAGS]: restart pages of $T/fs2's log, in $T/fs3.
write_log() {
	local at=$(ntfscluster -f -I 2 "$T/fs2" | awk '/^ +0 / { print $2 * 2048 }')
	cp "$T/fs2" "$T/fs3"
	python3 "$TOP/tests/helpers/ntfs_log.py" "$T/fs3" "$at" $((1 << 20)) "$@"
}
write_log 1 0 0; damaged "log in use" "to be replayed"
write_log 1 0xffff 0 0 0; damaged "log in use, says its newer page" "to be replayed"
write_log 2 0xffff 0; damaged "log of a fast start" "for a fast start"
write_log 1 7 0; damaged "log with a client that is not there" "overflowing client"
write_log 1 0 2
check "log closed by its flag: free space is skipped" [ "$(said_of skipped_sectors "$T/fs3")" -gt 10000 ]
write_log 1 0xffff 0
check "log without a client: free space is skipped" [ "$(said_of skipped_sectors "$T/fs3")" -gt 10000 ]

# Shadow copies: only with a catalog of them.
cp "$T/fs2" "$T/fs3"
printf '\x6b\x87\x08\x38\x76\xc1\x48\x4e\xb7\xae\x04\x04\x6e\x6c\xc7\x52\1\0\0\0\1\0\0\0' | dd of="$T/fs3" bs=1 seek=$((0x1e00)) conv=notrunc status=none
check "no shadow copies any more: not a word" [ -z "$(said_of warning "$T/fs3")" ]
printf '\0\0\1' | dd of="$T/fs3" bs=1 seek=$((0x1e00 + 48)) conv=notrunc status=none
check "shadow copies: says so" grep -q "has shadow copies (restore points)" <(said_of warning "$T/fs3")
check "shadow copies: free space is skipped" [ "$(said_of skipped_sectors "$T/fs3")" -gt 10000 ]
row ntfs "shadow copies" "$(said_of warning "$T/fs3")"

mft=$(ntfsinfo -f -m "$T/fs2" | awk '/LCN of Data Attribute for FILE_MFT:/ { print $NF * 2048 }')
bitmap=$(ntfscluster -f -I 6 "$T/fs2" | awk '/^ +0 / { print $2 * 2048 }')
poke() { printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }	# IMG BYTE BYTES
cp "$T/fs2" "$T/fs3"; poke "$T/fs3" $((bitmap + mft / 2048 / 8)) '\0'
damaged "bitmap calls the MFT free" "metadata and"
cp "$T/fs2" "$T/fs3"; poke "$T/fs3" $((mft + 200)) '\377\377'
damaged "MFT differs from its mirror" "MFTMirr does not match"
cp "$T/fs2" "$T/fs3"; poke "$T/fs3" $((mft + 6 * 1024 + 510)) '\1\2\3'
damaged "record of the bitmap is torn" "ncomplete multi-sector transfer"
cp "$T/fs2" "$T/fs3"; poke "$T/fs3" $((mft + 8 * 1024 + 6)) '\13'
damaged "record of bad clusters without fix-ups" "libntfs-3g complains"
# Flipped bits of the first 12 records and of the boot sector: whatever is
# skipped is free.
python3 - "$mft" > "$T/flips" << 'PY'
import random, sys
r = random.Random(11)
for _ in range(40):
    print(r.choice([r.randrange(11, 80), int(sys.argv[1]) + r.randrange(12) * 1024 + r.randrange(400)]), 1 << r.randrange(8))
PY
python3 - "$T" "$BIN/imagezip" << 'PY' && row ntfs "40 flipped bits in its own records" "nothing skipped that is not free" || fail "flipped bits: what is not free is skipped"
import re, subprocess, sys
t, imagezip = sys.argv[1:]
free = set()
for line in open(f"{t}/free"):
    a, n = map(int, line.split())
    free.update(range(a, a + n))
image, bad, whole = open(f"{t}/fs2", "rb").read(), 0, 0
for line in open(f"{t}/flips"):
    at, bit = map(int, line.split())
    with open(f"{t}/fs3", "wb") as f:
        f.write(image); f.seek(at); f.write(bytes([image[at] ^ bit]))
    out = subprocess.run([imagezip, "-q", "-i", "-d", "-F", "0", f"{t}/fs3"], capture_output=True, text=True)
    if out.returncode not in (0, 2, 3):
        bad += 1
    stored = set()
    for a, b in re.findall(r"^  (\d+)-(\d+)$", out.stdout, re.M):
        stored.update(range(int(a), int(b) + 1))
    skipped = set(range(len(image) // 512)) - stored if stored else set()
    whole += not skipped
    if skipped - free:
        print("byte", at, "bit", bit, ":", len(skipped - free), "sectors skipped wrongly", out.stderr)
        bad += 1
print(whole, "stored completely")
sys.exit(bad != 0)
PY
[ $bad -gt 0 ] || may_mount || skip "mounting NTFS needs root and /dev/fuse; the rest is good"
finish
