#!/usr/bin/env python3
"""ntfs_log.py IMG AT BYTES VERSION CLIENT FLAGS [CLIENT FLAGS]: restart pages of an NTFS log.

The log has BYTES bytes, which is a power of two, and begins at byte AT of the image.  Its two
restart pages get the major VERSION; each has the first CLIENT in use (0xffff: none) and FLAGS,
of which 2 says that the log was closed.  Without the second pair, both pages are alike.
"""
import struct
import sys

at, size, major = (int(v) for v in sys.argv[2:5])
values = [int(v, 0) for v in sys.argv[5:]]
with open(sys.argv[1], "r+b") as f:
    for i in range(2):
        client, flags = values[2 * i:2 * i + 2] or values[:2]
        page = bytearray(4096)
        struct.pack_into("<4sHHQIIHHHH", page, 0, b"RSTR", 30, 9, 0, 4096, 4096, 48, 2 - major, major, 0x7777)
        struct.pack_into("<QHHHHIHHQIHHI", page, 48, 1000 + i, 1, 0xffff if client == 0 else 0, client, flags,
                         67 - size.bit_length(), 48 + 160, 48, size, 0, 48, 64, 1)
        struct.pack_into("<QQHHH", page, 96, 0, 0, 0xffff, 0xffff, 0)
        for k in range(1, 9):
            page[30 + 2 * k:32 + 2 * k] = page[512 * k - 2:512 * k]
            page[512 * k - 2:512 * k] = b"\x77\x77"
        f.seek(at + 4096 * i)
        f.write(page)
