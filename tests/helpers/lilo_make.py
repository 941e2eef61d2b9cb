#!/usr/bin/env python3
"""Writes LILO 21 into an ext partition, made from the description of its tables.

lilo_make.py FILE OFFSET START FIRST TABLE [FLAG]
    OFFSET  of the partition in FILE, in sectors
    START   sector of the disk that addresses count the partition from
    FIRST   first sector (of the partition) of 600 that belong to a file
    TABLE   the sector of these (of the partition) where the descriptors begin
    FLAG    byte of every address: 0x40 linear (default), 0x20, 0x10, or 0 (CHS)
"""
import struct
import sys

path, offset, start, first, table = sys.argv[1], *map(int, sys.argv[2:6])
flag = int(sys.argv[6], 0) if len(sys.argv) > 6 else 0x40
NONE = bytes(5)


def address(sector, count=1):
    n = start + sector
    last = n >> 24 if flag & 0x10 else count
    return bytes([n & 255, n >> 8 & 255, 0x80 | flag, n >> 16 & 255, last])


free = iter(s for s in range(first, first + 600) if s not in (table, table + 1))
sectors = {}


def map_of(n):
    """A chain of map sectors for n sectors of data; where it begins."""
    begin = at = next(free)
    while True:
        here = min(n, 101)
        n -= here
        body = b"".join(address(first + (7 * i) % 600) for i in range(here))
        after = next(free) if n else None
        body += address(after) if n else b""
        sectors[at] = body.ljust(512, b"\0")
        if not n:
            return begin
        at = after


descr = bytearray(1024)
for i, (kernel, initrd) in enumerate([(250, 30), (101, 0), (1, 5)] + [(2, 0)] * 9):
    at = 2 + 52 * i
    descr[at:at + 7] = b"linux%02d" % i
    if initrd:
        descr[at + 36:at + 41] = address(map_of(initrd), initrd)
    descr[at + 41:at + 46] = address(map_of(kernel), kernel)
descr[992:1000] = b"the rest"
total = 0xabcd
for (word,) in struct.iter_unpack("<H", descr[2:]):
    total ^= word
struct.pack_into("<H", descr, 0, total)
sectors[table], sectors[table + 1] = bytes(descr[:512]), bytes(descr[512:])

boot = bytearray(b"\xfa\xeb\x7c\x6c\0\0LILO" + struct.pack("<HH", 1, 21))
boot = boot.ljust(24, b"\0") + address(table) + address(table + 1) + address(next(free))
boot += b"\0" + struct.pack("<H", 300) + address(map_of(1)) + address(next(free))
boot += b"".join(address(next(free)) for _ in range(9)) + NONE
sectors[0] = bytes(boot.ljust(510, b"\x90") + b"\x55\xaa")
with open(path, "r+b") as f:
    for at, body in sectors.items():
        f.seek((offset + at) * 512)
        f.write(body)
