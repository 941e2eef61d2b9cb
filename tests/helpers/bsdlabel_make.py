#!/usr/bin/env python3
"""Makes a disk with a BSD disklabel, byte by byte.

bsdlabel_make.py DISK SECTORS SLICE STYLE PART...
    SLICE  first sector of the slice of an MBR; 0: no MBR, the disk is the slice
    STYLE  freebsd (c is the slice, offsets count from it), absolute (c is the slice
           at its place on the disk), openbsd (c is the disk, version 1), netbsd (as
           absolute, and d is the disk), none (no c), short (c is as long as the slice,
           but at 0, and offsets count from the disk; short1: of version 1)
    PART   LETTER:TYPE:FIRST:SECTORS[:IMAGE], relative to the slice
Sectors of swap, and what no image fills, are random.  With IMAGE "bad", a label
whose checksum is wrong.
"""
import random
import struct
import sys

MBR_TYPES = {"freebsd": 0xa5, "absolute": 0xa5, "openbsd": 0xa6, "netbsd": 0xa9, "none": 0xa5,
             "short": 0xa6, "short1": 0xa6}


def label(parts, version, broken):
    n = max(parts) + 1
    b = bytearray(148 + 16 * n)
    struct.pack_into("<IHH", b, 0, 0x82564557, 5, 0)
    b[8:13] = b"label"
    struct.pack_into("<IIIII", b, 40, 512, 63, 255, 8, 16065)
    struct.pack_into("<H", b, 114, version)
    struct.pack_into("<I", b, 132, 0x82564557)
    struct.pack_into("<HII", b, 138, n, 8192, 65536)
    for i, (kind, first, count) in parts.items():
        fsize = 0 if version else 1024
        struct.pack_into("<IIIBBH", b, 148 + 16 * i, count, first, fsize, kind, 8, 0)
    check = 0
    for (word,) in struct.iter_unpack("<H", b):
        check ^= word
    struct.pack_into("<H", b, 136, check ^ (1 if broken else 0))
    return b


def main(path, sectors, slice_at, style, *specs):
    sectors, slice_at, parts = int(sectors), int(slice_at), {}
    base = 0 if style in ("freebsd", "none") else slice_at
    disk = bytearray(random.Random(7).randbytes(sectors * 512))
    for spec in specs:
        letter, kind, first, count, *image = spec.split(":")
        parts[ord(letter) - ord("a")] = (int(kind), int(first) + base, int(count))
        if image and image[0] != "bad":
            with open(image[0], "rb") as f:
                data = f.read()
            at = (slice_at + int(first)) * 512
            disk[at:at + len(data)] = data
    if style != "none":
        c_at = 0 if style.startswith("short") else base
        parts[2] = (0, 0, sectors) if style == "openbsd" else (0, c_at, sectors - slice_at)
    if style == "netbsd":
        parts[3] = (0, 0, sectors)
    b = label(parts, 1 if style in ("openbsd", "short1") else 0, any(s.endswith(":bad") for s in specs))
    at = (slice_at + 1) * 512
    disk[at:at + 512] = b + bytes(512 - len(b))
    if slice_at:
        disk[:512] = bytes(512)
        struct.pack_into("<B3xB3xII", disk, 446, 0x80, MBR_TYPES[style], slice_at, sectors - slice_at)
        disk[510:512] = b"\x55\xaa"
    with open(path, "wb") as f:
        f.write(disk)


main(*sys.argv[1:])
