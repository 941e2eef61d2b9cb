#!/usr/bin/env python3
"""Metadata at the end of a disk, made up to the byte as their formats have it.

    endings.py make FILE KIND [OFFSET SIZE]    at the end of the file, or of an area
    endings.py md1 FILE                        what its superblock of version 1.0 says
"""
import os, struct, sys


def md1_sum(sb):
    n = 256 + 2 * struct.unpack_from("<I", sb, 220)[0]
    b = sb[:216] + bytes(4) + sb[220:n]
    words = struct.unpack(f"<{n // 4}I", b[:n // 4 * 4])
    total = sum(words) + (struct.unpack_from("<H", b, n - 2)[0] if n % 4 else 0)
    return ((total & 0xffffffff) + (total >> 32)) & 0xffffffff


def md1(size):
    """A member of a mirror: data up to 144 sectors from the end, a bitmap, bad blocks, the superblock."""
    at = (size // 512 - 16) // 8 * 8
    sb, data = bytearray(4096), at - 128
    struct.pack_into("<III", sb, 0, 0xA92B4EFC, 1, 1 | 8)
    sb[16:32] = b"0123456789abcdef"
    sb[32:64] = b"host:mirror".ljust(32, b"\0")
    struct.pack_into("<QIIQIIi", sb, 64, 1700000000, 1, 0, data, 0, 2, -16)
    struct.pack_into("<QQQ", sb, 128, 0, data, at)
    struct.pack_into("<BHi", sb, 185, 9, 8, -8)
    struct.pack_into("<QQQ", sb, 192, 1700000000, 17, 2**64 - 1)
    struct.pack_into("<I3H", sb, 220, 3, 0, 0, 0)
    struct.pack_into("<H", sb, 256, 0)
    struct.pack_into("<I", sb, 216, md1_sum(sb))
    return [(at * 512, bytes(sb)), ((at - 16) * 512, b"bitm" + b"\1" * 4000), ((at - 8) * 512, b"\xff" * 4096)]


def md0(size):
    n = size // 65536 * 65536 - 65536
    sb = bytearray(4096)
    struct.pack_into("<13I", sb, 0, 0xA92B4EFC, 0, 90, 0, 0, 0x11111111, 1700000000, 1, n >> 10, 2, 2, 0, 0)
    return [(n, bytes(sb)), (n + 4096, b"bitm" + bytes(252))]


def drbd(size):
    at = size // 4096 * 4096 - 4096
    sb = bytearray(4096)
    struct.pack_into(">Q", sb, 0, (size >> 9) - 256)
    struct.pack_into(">IIiIiI", sb, 60, 0x8374026B, 256, -64, 127, -72, 4096)
    return [(at, bytes(sb)), (at - 200 * 512, b"activity log")]


def ddf(size):
    last = size // 512 - 1
    h = bytearray(512)
    h[:4] = b"\xde\x11\xde\x11"
    h[8:32] = b"LSI     made up by hand "
    h[32:40] = b"01.02.00"
    struct.pack_into(">QQB", h, 96, last - 300, last - 200, 0)
    struct.pack_into(">IQ", h, 116, 100, last - 400)
    h[4:8] = b"\xff" * 4
    import zlib
    struct.pack_into(">I", h, 4, zlib.crc32(bytes(h)))
    return [(last * 512, bytes(h)), ((last - 300) * 512, bytes(h)), ((last - 400) * 512, b"workspace")]


def ldm(size):
    end = size // 512
    h = bytearray(512)
    h[:8] = b"PRIVHEAD"
    struct.pack_into(">QQQQ", h, 0x11B, 63, end - 2048 - 63, end - 2048, 2048)
    return [((end - 1) * 512, bytes(h)), ((end - 2048 + 1856) * 512, bytes(h)), ((end - 2047) * 512, b"TOCBLOCK"),
            ((end - 2030) * 512, b"VMDB"), (6 * 512, bytes(h))]


def via():
    b = bytearray(512)
    b[:3] = b"\x55\xaa\1"
    b[50] = sum(b[:50]) & 255
    return bytes(b)


def jmicron():
    b = bytearray(512)
    b[:4] = b"JM\1\0"
    struct.pack_into("<H", b, 4, -sum(struct.unpack("<64H", b[:128])) & 0xffff)
    return bytes(b)


def silicon():
    b = bytearray(512)
    b[0x60:0x64] = b"\0\0\0\x2f"
    struct.pack_into("<H", b, 0x13e, -sum(struct.unpack("<159H", b[:0x13e])) & 0xffff)
    return bytes(b)


def imsm():
    b = bytearray(512)
    b[:32] = b"Intel Raid ISM Cfg Sig. 1.1.00\0\0"
    struct.pack_into("<I", b, 36, 700)      # more than a sector: the rest is in front of it
    return bytes(b)


LAST = {
    "vhd": b"conectix" + struct.pack(">IIQ", 2, 0x10000, 2**64 - 1), "lsi": b"$XIDE$", "via": via(), "jmicron": jmicron(),
    "silicon": silicon(), "adaptec": b"\x37\xfc\x4d\x1e" + bytes(4) + b"DPTM", "geom": b"GEOM::MIRROR\0\0\0\0",
}


def make(kind, size):
    if kind in ("md0", "md1", "drbd", "ddf", "ldm"):
        return globals()[kind](size)
    if kind in LAST:
        return [(size - 512, LAST[kind])]
    return {
        "imsm": [(size - 1024, imsm()), (size - 1536, b"the rest of it")],
        "nvidia": [(size - 1024, b"NVIDIA  ")],
        "promise": [(size - 63 * 512, b"Promise Technology, Inc.")],
        "highpoint": [(size - 11 * 512, b"\xf3\x16\x78\x5a")],
        "uboot": [(size - 131072, b"\x12\x34\x56\x78bootdelay=3\0console=ttyS0\0\0")],
    }[kind]


if sys.argv[1] == "make":
    at = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    size = int(sys.argv[5]) if len(sys.argv) > 4 else os.path.getsize(sys.argv[2]) - at
    with open(sys.argv[2], "r+b") as f:
        for off, data in make(sys.argv[3], size):
            f.seek(at + off)
            f.write(data)
else:
    with open(sys.argv[2], "rb") as f:
        end = os.path.getsize(sys.argv[2]) // 512
        at = (end - 16) // 8 * 8
        f.seek(at * 512)
        sb = f.read(4096)
        magic, major = struct.unpack_from("<II", sb)
        place, total = struct.unpack_from("<Q", sb, 144)[0], struct.unpack_from("<I", sb, 216)[0]
        f.seek((at - 16) * 512)
        ok = (magic, major, place, total) == (0xA92B4EFC, 1, at, md1_sum(sb)) and f.read(4) == b"bitm"
        print("good" if ok else f"magic {magic:x}, version {major}, names sector {place}, is in {at}, sum {total:x}")
