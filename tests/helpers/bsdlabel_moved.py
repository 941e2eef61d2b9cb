#!/usr/bin/env python3
"""Is the disklabel of one disk right for another place?

bsdlabel_moved.py WAS WAS_AT BASE IS IS_AT IS_SECTORS [openbsd]: of slices that begin
at these sectors; BASE: what the old one's offsets count from.
"""
import struct
import sys


def label(path, at):
    with open(path, "rb") as f:
        f.seek((at + 1) * 512)
        return bytearray(f.read(512))


was, was_at, base, new, new_at, sectors = sys.argv[1:7]
base, new_at, sectors = int(base), int(new_at), int(sectors)
b, got = label(was, int(was_at)), label(new, new_at)
for i in range(struct.unpack_from("<H", b, 138)[0]):
    at = 148 + 16 * i
    size, off = struct.unpack_from("<II", b, at)
    if size == 0 or (len(sys.argv) > 7 and (i == 2 or i >= 8)):
        continue
    off = off - base + new_at
    size = sectors if i == 2 else min(size, new_at + sectors - off)
    struct.pack_into("<II", b, at, size, off)
struct.pack_into("<H", b, 136, 0)
check = 0
for (word,) in struct.iter_unpack("<H", b[:148 + 16 * struct.unpack_from("<H", b, 138)[0]]):
    check ^= word
struct.pack_into("<H", b, 136, check)
sys.exit(b != got)
