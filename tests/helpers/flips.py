"""Bits flipped one at a time in what a scan reads: flips.py IMG RECORD COUNT SEED IMAGEZIP
RECORD is record_fs's (which sectors a scan reads; those of zeros are not in it).  Whatever is skipped of an image with a
flipped bit must be skipped of the image as it is, which other tests compare with the filesystem's own tools."""
import random, re, struct, subprocess, sys

img, record, count, seed, imagezip = sys.argv[1:6]
r = random.Random(int(seed))
raw, at, read = open(record, "rb").read(), 8, []
(sectors,) = struct.unpack_from("<Q", raw)
while at < len(raw):
    first, n = struct.unpack_from("<QI", raw, at)
    read.append((first * 512, n))
    at += 12 + n


def skipped():
    """None: the program failed in a way that it must not."""
    out = subprocess.run([imagezip, "-q", "-i", "-d", "-F", "0", img], capture_output=True, text=True)
    if out.returncode not in (0, 2, 3):
        print("exit status", out.returncode, out.stderr)
        return None
    left = set(range(sectors))
    for a, b in re.findall(r"^  (\d+)-(\d+)$", out.stdout, re.M):
        left.difference_update(range(int(a), int(b) + 1))
    return left if len(left) < sectors else set()


free = skipped()
if not free:
    sys.exit("nothing is skipped")
bad = whole = 0
with open(img, "r+b", buffering=0) as f:
    for _ in range(int(count)):
        first, n = r.choice(read)
        place, bit = first + r.randrange(n), 1 << r.randrange(8)
        f.seek(place)
        was = f.read(1)[0]
        f.seek(place)
        f.write(bytes([was ^ bit]))
        now = skipped()
        f.seek(place)
        f.write(bytes([was]))
        wrong = (now or set()) - free
        whole += now == set()
        if now is None or wrong:
            print(f"byte {place}, bit {bit}: {len(wrong)} sectors are skipped that are not free, from {min(wrong, default=-1)} on")
            bad += 1
print(whole, "of", count, "stored completely")
sys.exit(bad != 0)
