#!/usr/bin/env python3
"""A strict reader of images that knows the base format and zlib, nothing else.

    strict_reader.py IMAGE OUT SIZE     installs onto SIZE bytes of 0xA5

Every rule that Emulab's installers rely on is checked; see the sections of
docs/image-format.md on the header and the regions.
"""
import struct, sys, zlib


def need(ok, what):
    if not ok:
        sys.exit("strict reader: " + what)


def header(c, k):
    magic, size, index, total, hsize, nreg = struct.unpack_from("<IIiiii", c, 0)
    need(magic in (0x6969696B, 0x6969696D), f"chunk {k}: magic {magic:x}")
    v5 = magic == 0x6969696D
    need(1 <= size <= 1044480, f"chunk {k}: size")
    need(index == k and total == 0 and hsize == 4096 and nreg >= 1, f"chunk {k}: header fields")
    nrel = struct.unpack_from("<i", c, 32)[0]
    if v5:
        need(c[24:32] == bytes(8) and c[36:40] == bytes(4), f"chunk {k}: V5 padding")
        first, last = struct.unpack_from("<QQ", c, 40)
        at, fmt, rfmt = 72, "<QQ", "<IIQQ"
    else:
        first, last = struct.unpack_from("<II", c, 24)
        at, fmt, rfmt = 36, "<II", "<IIII"
    regions = []
    for _ in range(nreg):
        regions.append(struct.unpack_from(fmt, c, at)); at += struct.calcsize(fmt)
    relocs = []
    for _ in range(nrel):
        t, a, b, n = struct.unpack_from(rfmt, c, at); at += struct.calcsize(rfmt)
        relocs.append((t, b if v5 else a, a if v5 else b, n))
    need(at <= 4096 and c[at:4096] == bytes(4096 - at), f"chunk {k}: header area")
    return size, first, last, regions, relocs


def main():
    image, out, total = open(sys.argv[1], "rb").read(), sys.argv[2], int(sys.argv[3])
    need(len(image) % 1048576 == 0 and image, "not whole chunks")
    disk, tile = bytearray(b"\xa5") * total, 0
    for k in range(len(image) >> 20):
        c = image[k << 20:(k + 1) << 20]
        size, first, last, regions, relocs = header(c, k)
        need(first == tile, f"chunk {k}: begins at {first}, not {tile}")
        tile = last
        end = -1
        for s, n in regions:
            need(n > 0 and s > end and s >= first and s + n <= last, f"chunk {k}: region {s}+{n}")
            end = s + n
        need(c[4096] == 0x78 and (c[4096] * 256 + c[4097]) % 31 == 0 and not c[4097] & 0x20, f"chunk {k}: zlib header")
        z = zlib.decompressobj()
        data = z.decompress(c[4096:4096 + size])
        need(z.eof and not z.unused_data and not z.unconsumed_tail, f"chunk {k}: stream")
        need(len(data) == 512 * sum(n for _, n in regions), f"chunk {k}: length of data")
        at = 0
        for s, n in regions:
            need((s + n) * 512 <= (total + 511) // 512 * 512, f"chunk {k}: beyond the disk")
            disk[s * 512:(s + n) * 512] = data[at:at + n * 512]
            for t, sec, off, length in relocs:
                if s <= sec < s + n:
                    raw = at + (sec - s) * 512 + off
                    need(raw // 262144 == (raw + length - 1) // 262144, f"chunk {k}: a relocation spans pieces")
                    if t == 6:      # only the first bytes of this sector are real
                        disk[sec * 512 + length:(sec + 1) * 512] = b"\xa5" * (512 - length)
            at += n * 512
        for t, sec, off, length in relocs:
            need(any(s <= sec < s + n for s, n in regions), f"chunk {k}: a relocation without data")
    need(tile == (total + 511) // 512, f"the chunks cover {tile} sectors")
    open(out, "wb").write(memoryview(disk)[:total])


main()
