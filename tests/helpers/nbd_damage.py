#!/usr/bin/env python3
"""Damaged images behind the plugin: an error, or what is right; never other bytes, and never an end of nbdkit.

	nbd_damage.py files PLUGIN IMAGEUNZIP FILE...	each of these files as an image: what imageunzip makes of it, or an error
	nbd_damage.py flips PLUGIN IMAGE DISK ROUNDS	bits of the image flipped, of its headers and of its data
	nbd_damage.py cuts PLUGIN IMAGE DISK		the image cut at many lengths
	nbd_damage.py under PLUGIN IMAGE DISK OTHER	the file is cut short, or becomes another image, while it is served
"""
import os, random, subprocess, sys, tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nbd_reads import Nbd, serve

PIECE, MOST = 1 << 18, 24 << 20


def pieces(size):
    """Where a disk is read: all of a small one; of a large one both ends and some places between."""
    r = random.Random(2)
    if size <= MOST:
        starts = range(0, size, PIECE)
    else:
        starts = [*range(0, MOST // 4, PIECE), *(r.randrange(size - PIECE) for _ in range(40)), size - PIECE]
    return [(at, min(PIECE, size - at)) for at in starts]


def read_all(nbd):
    """What is read, by place; None is an error."""
    got, todo = {}, pieces(nbd.size)
    while todo or nbd.asked:
        while todo and len(nbd.asked) < 16:
            nbd.ask(*todo.pop())
        at, n, data = nbd.answer()
        got[at] = data
    return got


def end(p, nbd=None):
    """nbdkit's words.  It must be there until it is told to end."""
    if nbd is not None:
        nbd.end()
    assert p.poll() is None, f"nbdkit has ended: {p.returncode}"
    p.terminate()
    words = p.communicate()[1]
    assert p.returncode == 0, f"nbdkit ended with {p.returncode}: {words}"
    return words


def look(plugin, image, folder, disk=None):
    """"refused", "delta" (which is refused, too), "right" or "error"; disk: the file that is right, or None, if nobody knows."""
    p, sock = serve(plugin, folder, image)
    if p.poll() is not None:
        words = p.communicate()[1]
        assert p.returncode == 1 and "error: " in words, f"{image}: {p.returncode} {words}"
        return "delta" if "is a delta" in words else "refused"
    nbd = Nbd(sock)
    got = read_all(nbd)
    words = end(p, nbd)
    bad = [at for at, data in got.items() if data is None]
    assert not bad or "error: " in words, f"{image}: an error without a sentence"
    if disk is not None:
        with open(disk, "rb") as f:
            for at, data in got.items():
                f.seek(at)
                # What is behind the end of an installed file was not stored.
                want = f.read(PIECE if data is None else len(data))
                if data is not None and data != want.ljust(len(data), b"\0"):
                    sys.exit(f"{image}: other bytes at {at}")
    return "error" if bad else "right"


def count(results):
    print(", ".join(f"{results.count(w)} {w}" for w in ("right", "error", "refused", "delta")))
    return results


def files(plugin, unzip, *names):
    results = []
    with tempfile.TemporaryDirectory() as folder:
        image, out = folder + "/image", folder + "/out"
        for name in names:
            data = open(name, "rb").read()
            with open(image, "wb") as f:
                f.write(data.ljust(-(-len(data) // (1 << 20)) << 20, b"\0"))
            if os.path.exists(out):
                os.unlink(out)
            done = subprocess.run([unzip, "-q", image, out], capture_output=True, timeout=300).returncode == 0
            results.append(look(plugin, image, folder, out if done else None))
            assert not done or results[-1] in ("right", "delta"), f"{name}: imageunzip installs it, and here it is: {results[-1]}"
    assert {"right", "error"} <= set(count(results))


def cuts(plugin, image, disk):
    whole, results = open(image, "rb").read(), []
    lengths = [n for c in range(0, len(whole), 1 << 20) for n in (c, c + 1, c + 4096, c + 700000) if n < len(whole)]
    with tempfile.TemporaryDirectory() as folder:
        for n in lengths:
            with open(folder + "/cut", "wb") as f:
                f.write(whole[:n])
            results.append(look(plugin, folder + "/cut", folder, disk))
    assert count(results).count("refused") == len(lengths) > 20


def flips(plugin, image, disk, rounds):
    r, whole, results = random.Random(7), open(image, "rb").read(), []
    with tempfile.TemporaryDirectory() as folder:
        for n in range(int(rounds)):
            bad = bytearray(whole)
            for _ in range(r.choice((1, 1, 3))):
                chunk = r.randrange(len(whole) >> 20) << 20
                bad[chunk + r.choice((r.randrange(64), r.randrange(4096), r.randrange(1 << 20)))] ^= 1 << r.randrange(8)
            with open(folder + "/bad", "wb") as f:
                f.write(bad)
            results.append(look(plugin, folder + "/bad", folder, disk))
    assert {"error", "refused"} <= set(count(results))


def under(plugin, image, disk, other):
    want, whole, new = open(disk, "rb").read(), open(image, "rb").read(), open(other, "rb").read()
    results = []
    for change in ("short", "other", "chunk"):
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/image"
            open(path, "wb").write(whole)
            p, sock = serve(plugin, folder, path)
            assert p.poll() is None, p.stderr.read()
            nbd = Nbd(sock)
            assert nbd.read(0, 4096) == want[:4096]
            with open(path, "r+b") as f:
                if change == "short":
                    f.truncate(len(whole) // 2)
                elif change == "other":
                    f.write(new[:len(whole)].ljust(len(whole), b"\0"))
                else:   # a chunk of this image, whole, in another chunk's place
                    f.seek(2 << 20)
                    f.write(whole[3 << 20:4 << 20])
            got = read_all(nbd)
            words = end(p, nbd)
            for at, data in got.items():
                assert data is None or data == want[at:at + len(data)], f"{change}: other bytes at {at}"
            assert None in got.values() and "error: " in words, f"{change}: nothing was noticed"
            print(f"{change}: {sum(d is None for d in got.values())} of {len(got)} reads are errors: {words.splitlines()[0]}")
            results.append(change)


if __name__ == "__main__":
    {"files": files, "flips": flips, "cuts": cuts, "under": under}[sys.argv[1]](*sys.argv[2:])
