#!/usr/bin/env python3
"""The free space of a FAT filesystem, read independently of fsmods/fat/fat.c.

fatfree.py free IMG          "first count" in sectors of 512 bytes: free and bad clusters
fatfree.py counts IMG        FREE BAD ALL BYTES: clusters, and how large one is
fatfree.py width IMG | bad IMG   12, 16 or 32; the value of a bad cluster
fatfree.py linked IMG        a cluster that another one leads to
fatfree.py first IMG         the first cluster of a file in the root directory (FAT12, FAT16)
fatfree.py set IMG N VALUE [COPY]  change the entry of cluster N in all copies, or in one
"""
import struct
import sys


class Fat:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as f:
            b = f.read(512)
            (self.sector, self.per, self.reserved, self.fats, roots, small, _, each) = \
                struct.unpack_from("<HBHBHHBH", b, 11)
            total = small or struct.unpack_from("<I", b, 32)[0]
            self.each = each or struct.unpack_from("<I", b, 36)[0]
            self.data = self.reserved + self.fats * self.each + -(-roots * 32 // self.sector)
            self.count = (total - self.data) // self.per
            self.width = 32 if each == 0 else 16 if self.count >= 4085 else 12
            f.seek(self.reserved * self.sector)
            self.table = f.read(self.each * self.sector)
            f.seek((self.reserved + self.fats * self.each) * self.sector)
            self.root = f.read(roots * 32)

    def entries(self):
        n = self.count + 2
        if self.width == 12:
            for i in range(n):
                pair = int.from_bytes(self.table[i // 2 * 3:i // 2 * 3 + 3], "little")
                yield pair >> 12 if i & 1 else pair & 0xfff
        else:
            kind = "<%dH" if self.width == 16 else "<%dI"
            for v in struct.unpack_from(kind % n, self.table):
                yield v & 0xfffffff

    def bad(self):
        return {12: 0xff7, 16: 0xfff7, 32: 0xffffff7}[self.width]

    def free_ranges(self):
        unit = self.sector // 512
        start = None
        for i, v in enumerate(list(self.entries()) + [1]):
            skip = i >= 2 and v in (0, self.bad())
            if skip and start is None:
                start = i
            elif not skip and start is not None:
                yield (self.data + (start - 2) * self.per) * unit, (i - start) * self.per * unit
                start = None

    def set(self, n, value, copies):
        at = n * self.width // 8
        size = 2 if self.width < 32 else 4
        with open(self.path, "r+b") as f:
            for c in copies:
                f.seek((self.reserved + c * self.each) * self.sector + at)
                old = int.from_bytes(f.read(size), "little")
                new = value
                if self.width == 12:
                    new = (old & 0xf | value << 4) if n & 1 else (old & 0xf000 | value)
                elif self.width == 32:
                    new = old & 0xf0000000 | value
                f.seek(-size, 1)
                f.write(new.to_bytes(size, "little"))


if __name__ == "__main__":
    what, fat = sys.argv[1], Fat(sys.argv[2])
    if what == "free":
        for r in fat.free_ranges():
            print(*r)
    elif what == "counts":
        values = list(fat.entries())[2:]
        print(values.count(0), values.count(fat.bad()), fat.count, fat.per * fat.sector)
    elif what == "width":
        print(fat.width)
    elif what == "bad":
        print("%x" % fat.bad())
    elif what == "linked":
        print(next(v for v in list(fat.entries())[2:] if 2 <= v < fat.count))
    elif what == "first":
        print(next(struct.unpack_from("<H", fat.root, i + 26)[0] for i in range(0, len(fat.root), 32)
                   if fat.root[i] != 0xe5 and fat.root[i + 11] & 0x18 == 0))
    elif what == "set":
        copies = [int(sys.argv[5])] if len(sys.argv) > 5 else range(fat.fats)
        fat.set(int(sys.argv[3]), int(sys.argv[4], 16), copies)
