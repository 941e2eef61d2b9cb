#!/usr/bin/env python3
"""Reads UFS1 and UFS2 by their inodes, not by their bitmaps.

ffs_read.py free IMG        lines "first count", sectors of 512 bytes: what no inode
    uses and is no metadata; its amount must be what the superblock says
ffs_read.py files IMG       path and SHA-256 of every file, target of every link
ffs_read.py remove IMG N    remove every N-th regular file
ffs_read.py set IMG OFFSET HEX    bytes of the superblock
ffs_read.py group IMG C OFFSET HEX    bytes of cylinder group C
ffs_read.py sums IMG        give every cylinder group a check hash, as FreeBSD does
"""
import hashlib
import struct
import sys

UFS1, UFS2 = 0x011954, 0x19540119


class Ffs:
    def __init__(self, path):
        self.f = open(path, "r+b")
        for self.sb_at in (65536, 8192):
            for self.order in "<>":
                if self.sb32(1372) in (UFS1, UFS2) and self.u("q", self.sb_at + 1000) == self.sb_at:
                    self.load()
                    return
        sys.exit(f"{path}: no superblock")

    def u(self, fmt, at, count=1):
        self.f.seek(at)
        v = struct.unpack(self.order + str(count) + fmt, self.f.read(struct.calcsize(fmt) * count))
        return v[0] if count == 1 else v

    def put(self, fmt, at, *v):
        self.f.seek(at)
        self.f.write(struct.pack(f"{self.order}{len(v)}{fmt}", *v))

    def sb32(self, at):
        return self.u("I", self.sb_at + at)

    def load(self):
        self.two = self.sb32(1372) == UFS2
        self.sblk, self.cblk, self.iblk, self.dblk = (self.sb32(o) for o in (8, 12, 16, 20))
        self.ncg, self.bsize, self.fsize, self.frag = (self.sb32(o) for o in (44, 48, 52, 56))
        self.ipg, self.fpg, self.cgsize = self.sb32(184), self.sb32(188), self.sb32(160)
        self.size = self.u("q", self.sb_at + 1080) if self.two else self.sb32(36)
        self.totals = (1016, 1032, "q") if self.two else (196, 204, "i")
        self.csaddr = self.u("q", self.sb_at + 1096) if self.two else self.sb32(152)
        self.cssize = self.sb32(156)

    def start(self, c):
        if self.two:
            return c * self.fpg
        return c * self.fpg + self.sb32(24) * (c & ~self.sb32(28) & 0xffffffff)

    def cg(self, c):
        return (self.start(c) + self.cblk) * self.fsize

    def inode_at(self, ino):
        c, i = divmod(ino, self.ipg)
        return (self.start(c) + self.iblk) * self.fsize + i * (256 if self.two else 128)

    def inode(self, ino):
        """mode, links, size, flags of short links: (inline bytes), direct, indirect"""
        at = self.inode_at(ino)
        mode, nlink = self.u("H", at), self.u("H", at + 2)
        if self.two:
            return mode, nlink, self.u("Q", at + 16), at + 112, self.u("q", at + 112, 12), self.u("q", at + 208, 3)
        return mode, nlink, self.u("Q", at + 8), at + 40, self.u("i", at + 40, 12), self.u("i", at + 88, 3)

    def indirect(self, frag, level, used):
        if frag == 0:
            return
        used.append((frag, self.frag))
        fmt, width = ("q", 8) if self.two else ("i", 4)
        for p in self.u(fmt, frag * self.fsize, self.bsize // width):
            if level > 1:
                yield from self.indirect(p, level - 1, used)
            else:
                yield p

    def blocks(self, ino):
        """[(fragment or 0, bytes)] of the contents; and [(fragment, count)] in use"""
        mode, _, size, _, direct, indirect = self.inode(ino)
        used, data, left = [], [], size
        for i, p in enumerate(self.pointers(direct, indirect, used)):
            if left <= 0:
                break
            n = min(left, self.bsize)
            frags = -(-n // self.fsize) if i < 12 and size <= 12 * self.bsize else self.frag
            if p:
                used.append((p, frags))
            data.append((p, n))
            left -= n
        return data, used

    def pointers(self, direct, indirect, used):
        yield from direct
        for level, p in enumerate(indirect):
            yield from self.indirect(p, level + 1, used)

    def contents(self, ino):
        mode, _, size, inline, _, _ = self.inode(ino)
        if mode >> 12 == 10 and size < (120 if self.two else 60):
            self.f.seek(inline)
            return self.f.read(size)
        out = b""
        for p, n in self.blocks(ino)[0]:
            self.f.seek(p * self.fsize)
            out += self.f.read(n) if p else bytes(n)
        return out

    def entries(self, ino):
        """(name, inode, byte of the entry on the disk)"""
        for p, n in self.blocks(ino)[0]:
            at = p * self.fsize
            end = at + n
            while at < end:
                child, reclen, namlen = self.u("I", at), self.u("H", at + 4), self.u("B", at + 7)
                self.f.seek(at + 8)
                name = self.f.read(namlen)
                if child and name not in (b".", b".."):
                    yield name, child, at
                at += reclen

    def walk(self, ino=2, path=b""):
        for name, child, at in self.entries(ino):
            yield path + b"/" + name, child, at
            if self.inode(child)[0] >> 12 == 4:
                yield from self.walk(child, path + b"/" + name)

    def in_use(self):
        used = bytearray(self.size)
        def mark(first, n):
            used[first:first + n] = b"\1" * len(used[first:first + n])
        for c in range(self.ncg):
            first = self.start(c) + (self.sblk if c else 0)
            mark(first, self.start(c) + self.dblk - first)
        mark(self.csaddr, -(-self.cssize // self.fsize))
        for ino in [2] + [child for _, child, _ in self.walk()]:
            for first, n in self.blocks(ino)[1]:
                mark(first, n)
        return used

    def free(self):
        used = self.in_use()
        counted = used.count(0)
        said = self.u(self.totals[2], self.sb_at + self.totals[0]) * self.frag + self.u(self.totals[2], self.sb_at + self.totals[1])
        if counted != said:
            sys.exit(f"inodes leave {counted} fragments free, the superblock says {said}")
        for c in range(self.ncg if self.two else 0):
            per = self.bsize // 256
            inited = -(-self.u("I", self.cg(c) + 120) // per)
            first = self.start(c) + self.iblk + inited * self.frag
            last = self.start(c) + self.iblk + -(-self.ipg // per) * self.frag
            used[first:last] = bytes(max(0, last - first))
        at = 0
        while (at := used.find(0, at)) >= 0:
            end = used.find(1, at)
            end = end if end >= 0 else self.size
            print(at * self.fsize // 512, (end - at) * self.fsize // 512)
            at = end

    def files(self):
        for path, ino, _ in sorted(self.walk()):
            kind = self.inode(ino)[0] >> 12
            if kind != 4:
                print(path.decode(), hashlib.sha256(self.contents(ino)).hexdigest())

    def remove(self, every):
        files = [(i, at) for _, i, at in self.walk()
                 if self.inode(i)[0] >> 12 == 8 and self.inode(i)[1] == 1]
        for ino, at in files[::every]:
            for first, n in self.blocks(ino)[1]:
                for frag in range(first, first + n):
                    c, bit = divmod(frag, self.fpg)
                    byte = self.cg(c) + self.u("I", self.cg(c) + 96) + bit // 8
                    self.put("B", byte, self.u("B", byte) | 1 << bit % 8)
            c, i = divmod(ino, self.ipg)
            byte = self.cg(c) + self.u("I", self.cg(c) + 92) + i // 8
            self.put("B", byte, self.u("B", byte) & ~(1 << i % 8))
            self.f.seek(self.inode_at(ino))
            self.f.write(bytes(256 if self.two else 128))
            self.put("I", at, 0)
        self.recount()

    def free_inodes(self):
        """byte of every free inode that was initialised"""
        for c in range(self.ncg):
            inited = self.u("I", self.cg(c) + 120) if self.two else self.ipg
            self.f.seek(self.cg(c) + self.u("I", self.cg(c) + 92))
            bits = self.f.read(-(-self.ipg // 8))
            for i in range(min(self.ipg, inited)):
                if not bits[i // 8] >> i % 8 & 1:
                    yield self.inode_at(c * self.ipg + i)

    def stain(self):
        for at in list(self.free_inodes()):
            self.f.seek(at)
            self.f.write(b"\xa5" * (256 if self.two else 128))

    def blank(self):
        n, keep = 0, 80 if self.two else 108
        for at in list(self.free_inodes()):
            self.f.seek(at)
            inode = bytearray(256 if self.two else 128)
            self.f.seek(at + keep)
            inode[keep:keep + 4] = self.f.read(4)
            self.f.seek(at)
            self.f.write(inode)
            n += 1
        print(n)

    def recount(self):
        total = [0, 0]
        for c in range(self.ncg):
            n = min(self.fpg, self.size - c * self.fpg)
            self.f.seek(self.cg(c) + self.u("I", self.cg(c) + 96))
            bits = self.f.read(-(-n // 8))
            flags = [bits[i // 8] >> i % 8 & 1 for i in range(n)]
            blocks = [sum(flags[i:i + self.frag]) for i in range(0, n, self.frag)]
            whole = blocks.count(self.frag)
            rest = sum(blocks) - whole * self.frag
            for at in (self.cg(c) + 24, self.csaddr * self.fsize + c * 16):
                self.put("i", at + 4, whole)
                self.put("i", at + 12, rest)
            total = [total[0] + whole, total[1] + rest]
        for at, v in zip(self.totals, total):
            self.put(self.totals[2], self.sb_at + at, v)

    def sums(self):
        sys.path.insert(0, sys.path[0])
        from btrfs_space import crc32c
        self.put("I", self.sb_at + 1308, 2)
        self.put("I", self.sb_at + 1312, self.sb32(1312) | 0x200)
        for c in range(self.ncg):
            self.put("I", self.cg(c) + 132, 0)
            self.f.seek(self.cg(c))
            self.put("I", self.cg(c) + 132, crc32c(self.f.read(self.cgsize)) ^ 0xffffffff)


if __name__ == "__main__":
    verb, fs, args = sys.argv[1], Ffs(sys.argv[2]), sys.argv[3:]
    if verb == "set":
        fs.f.seek(fs.sb_at + int(args[0]))
        fs.f.write(bytes.fromhex(args[1]))
    elif verb == "group":
        fs.f.seek(fs.cg(int(args[0])) + int(args[1]))
        fs.f.write(bytes.fromhex(args[2]))
    else:
        getattr(fs, verb)(*[int(a) for a in args])
    fs.f.close()
