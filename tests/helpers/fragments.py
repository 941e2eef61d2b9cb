#!/usr/bin/env python3
"""The fragments of an image, as docs/image-format.md has record 13: a reader made from its text.

    fragments.py IMAGE            a line for each: first sector, sectors, bytes, digest ("zero" for zeros)
    fragments.py --shared A B     how many bytes of the fragments of B that are not zero are not in A, and of how many
"""
import struct, sys

CHUNK, HEADER = 1 << 20, 4096


def regions(c):
    magic, = struct.unpack_from("<I", c, 0)
    n, = struct.unpack_from("<i", c, 20)
    v5 = magic in (0x6969696D, 0x355A444E)
    return [struct.unpack_from("<QQ" if v5 else "<II", c, (72 if v5 else 36) + i * (16 if v5 else 8)) for i in range(n)]


def records(c):
    size, = struct.unpack_from("<I", c, 4)
    at = (HEADER + size + 7) // 8 * 8
    assert c[at:at + 8] == b"NDZ-EXT1", "no extension area"
    end = at + struct.unpack_from("<I", c, at + 8)[0]
    at += 16
    while at < end:
        kind, _, n = struct.unpack_from("<HHI", c, at)
        yield kind, c[at + 8:at + 8 + n]
        at += 8 + (n + 7) // 8 * 8


def fragments(path):
    for c in iter(lambda f=open(path, "rb"): f.read(CHUNK), b""):
        body = dict(records(c))[13]
        places = iter([s for start, n in regions(c) for s in range(start, start + n)])
        count, = struct.unpack_from("<I", body, 4)
        for i in range(count):
            word, digest = struct.unpack_from("<I16s", body, 8 + i * 20)
            zero = word >> 31
            sectors = struct.unpack("<QQ", digest)[0] if zero else (word >> 20 & 2047) + 1
            mine = [next(places) for _ in range(sectors)]
            yield mine, word & 0xFFFFF, None if zero else digest.hex()
        assert next(places, None) is None, "sectors are left over"


if __name__ == "__main__":
    if sys.argv[1] == "--shared":
        have = {d for _, _, d in fragments(sys.argv[2])}
        all = {d: n for _, n, d in fragments(sys.argv[3]) if d}
        print(sum(n for d, n in all.items() if d not in have), sum(all.values()))
    else:
        for mine, n, digest in fragments(sys.argv[1]):
            print(mine[0], len(mine), n, digest or "zero")
