#!/usr/bin/env python3
"""An exFAT reader and writer for tests, independent of fsmods/exfat/exfat.c.

exfat.py put IMG FOLDER [NAME]   copy a folder's contents (into directory NAME of the root)
exfat.py rm IMG PATH...          delete files
exfat.py get IMG FOLDER          copy everything out
exfat.py free IMG                "first count" in sectors of 512 bytes: free and bad clusters
exfat.py count IMG               how many clusters the bitmap calls free
exfat.py fat IMG N VALUE         set an entry of the FAT
exfat.py bit IMG N 0|1           set a bit of the bitmap
exfat.py where IMG PATH          first cluster, how many, 1 when they have no chain, last cluster
exfat.py root IMG TYPE OFF HEX   write into the first entry of that type in the root directory
exfat.py boot IMG OFF HEX        write into the boot sector, and mend the checksums
Files get the first free clusters: in one piece when these are, else a chain.
"""
import os
import struct
import sys

END, BAD = 0xffffffff, 0xfffffff7


def checksum16(data, skip=()):
    total = 0
    for i, byte in enumerate(data):
        if i not in skip:
            total = ((total << 15 | total >> 1) + byte) & 0xffff
    return total


class Node:
    def __init__(self, name, is_dir, first, size, contiguous, at):
        self.name, self.is_dir, self.first, self.size = name, is_dir, first, size
        self.contiguous, self.at = contiguous, at	# at: offsets of its entries on the disk


class Volume:
    def __init__(self, path):
        self.f = open(path, "r+b")
        boot = self.f.read(512)
        (_, _, fat, self.fat_sectors, heap, self.count, self.root) = struct.unpack_from("<QQIIIII", boot, 64)
        self.sector = 1 << boot[108]
        self.cluster = self.sector << boot[109]
        self.fat_at, self.heap_at = fat * self.sector, heap * self.sector
        self.fat = list(struct.unpack("<%dI" % (self.count + 2), self.read(self.fat_at, 4 * (self.count + 2))))
        for at, e in self.entries(self.chain(self.root)):
            if e[0] == 0x81:
                self.map_at = self.offset(struct.unpack_from("<I", e, 20)[0])
        self.map = bytearray(self.read(self.map_at, (self.count + 7) // 8))

    def read(self, off, n):
        self.f.seek(off)
        return self.f.read(n)

    def write(self, off, data):
        self.f.seek(off)
        self.f.write(data)

    def close(self):
        self.write(self.fat_at, struct.pack("<%dI" % len(self.fat), *self.fat))
        self.write(self.map_at, bytes(self.map))
        self.f.close()

    def offset(self, n):
        return self.heap_at + (n - 2) * self.cluster

    def used(self, n):
        return self.map[(n - 2) // 8] >> (n - 2) % 8 & 1

    def mark(self, n, value):
        bit = 1 << (n - 2) % 8
        self.map[(n - 2) // 8] = self.map[(n - 2) // 8] & ~bit | (bit if value else 0)

    def chain(self, n):
        found = []
        while n != END:
            found.append(n)
            n = self.fat[n]
        return found

    def clusters(self, node):
        n = -(-node.size // self.cluster)
        if n == 0:
            return []
        return list(range(node.first, node.first + n)) if node.contiguous else self.chain(node.first)

    def allocate(self, n):
        found, at = [], 2
        while len(found) < n:
            if at >= self.count + 2:
                for c in found:
                    self.mark(c, 0)
                raise OSError("full")
            if not self.used(at):
                self.mark(at, 1)
                found.append(at)
            at += 1
        return found

    def link(self, clusters):
        for a, b in zip(clusters, clusters[1:] + [END]):
            self.fat[a] = b

    def entries(self, clusters):
        for c in clusters:
            data = self.read(self.offset(c), self.cluster)
            for i in range(0, len(data), 32):
                if data[i] == 0:
                    return
                yield self.offset(c) + i, data[i:i + 32]

    def list(self, clusters):
        node, nodes = None, []
        for at, e in self.entries(clusters):
            if e[0] == 0x85:
                node = Node("", bool(e[4] & 0x10), 0, 0, False, [at])
                nodes.append(node)
            elif e[0] == 0xc0:
                node.length = e[3]
                node.first, node.size = struct.unpack_from("<IQ", e, 20)
                node.contiguous = bool(e[1] & 2)
                node.at.append(at)
            elif e[0] == 0xc1:
                node.name = (node.name + e[2:].decode("utf-16-le"))[:node.length]
                node.at.append(at)
        return nodes

    def find(self, path):
        clusters = self.chain(self.root)
        for part in path.split("/"):
            node = next(x for x in self.list(clusters) if x.name == part)
            clusters = self.clusters(node)
        return node

    def store(self, data):
        n = -(-len(data) // self.cluster)
        clusters = self.allocate(n)
        contiguous = n > 0 and clusters == list(range(clusters[0], clusters[0] + n))
        if n > 0 and not contiguous:
            self.link(clusters)
        for i, c in enumerate(clusters):
            self.write(self.offset(c), data[i * self.cluster:(i + 1) * self.cluster])
        return clusters[0] if n else 0, len(data), contiguous

    def set_of(self, name, is_dir, first, size, contiguous):
        raw = name.encode("utf-16-le")
        names = [raw[i:i + 30].ljust(30, b"\0") for i in range(0, len(raw), 30)]
        hashed = checksum16(name.upper().encode("utf-16-le"))
        head = bytearray(32)
        struct.pack_into("<BBHHHIII", head, 0, 0x85, 1 + len(names), 0, 0x10 if is_dir else 0x20, 0,
                         0x5a215a21, 0x5a215a21, 0x5a215a21)
        stream = struct.pack("<BBBBHHQIIQ", 0xc0, 3 if contiguous else 1, 0, len(name), hashed, 0, size, 0,
                             first, size)
        whole = bytes(head) + stream + b"".join(b"\xc1\0" + n for n in names)
        return whole[:2] + struct.pack("<H", checksum16(whole, (2, 3))) + whole[4:]

    def add_tree(self, folder):
        out = b""
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if os.path.isdir(path):
                inner = self.add_tree(path)
                inner = inner.ljust(max(1, -(-len(inner) // self.cluster)) * self.cluster, b"\0")
                out += self.set_of(name, True, *self.store(inner))
            else:
                with open(path, "rb") as f:
                    out += self.set_of(name, False, *self.store(f.read()))
        return out

    def append_to_root(self, sets):
        clusters = self.chain(self.root)
        data = b"".join(e for _, e in self.entries(clusters)) + sets
        more = -(-len(data) // self.cluster) - len(clusters)
        if more > 0:
            clusters += self.allocate(more)
            self.link(clusters)
        data = data.ljust(len(clusters) * self.cluster, b"\0")
        for i, c in enumerate(clusters):
            self.write(self.offset(c), data[i * self.cluster:(i + 1) * self.cluster])

    def remove(self, path):
        node = self.find(path)
        for c in self.clusters(node):
            self.mark(c, 0)
        for at in node.at:
            self.write(at, bytes([self.read(at, 1)[0] & 0x7f]))

    def extract(self, clusters, folder):
        os.makedirs(folder, exist_ok=True)
        for node in self.list(clusters):
            path = os.path.join(folder, node.name)
            mine = self.clusters(node)
            if node.is_dir:
                self.extract(mine, path)
            else:
                with open(path, "wb") as f:
                    f.write(b"".join(self.read(self.offset(c), self.cluster) for c in mine)[:node.size])

    def free(self):
        start = None
        for n in range(2, self.count + 3):
            skip = n < self.count + 2 and (not self.used(n) or self.fat[n] == BAD)
            if skip and start is None:
                start = n
            elif not skip and start is not None:
                print(self.offset(start) // 512, (n - start) * self.cluster // 512)
                start = None

    def boot(self, off, data):
        self.write(off, data)
        raw = self.read(0, 11 * self.sector)
        total = 0
        for i, byte in enumerate(raw):
            if i not in (106, 107, 112):
                total = ((total << 31 | total >> 1) + byte) & 0xffffffff
        for base in (0, 12 * self.sector):
            self.write(base, raw + struct.pack("<I", total) * (self.sector // 4))


def main(what, img, *args):
    v = Volume(img)
    if what == "put":
        sets = v.add_tree(args[0])
        if len(args) > 1:
            sets = v.set_of(args[1], True, *v.store(sets.ljust(-(-len(sets) // v.cluster) * v.cluster, b"\0")))
        v.append_to_root(sets)
    elif what == "rm":
        for path in args:
            v.remove(path)
    elif what == "get":
        v.extract(v.chain(v.root), args[0])
    elif what == "free":
        v.free()
    elif what == "count":
        print(sum(not v.used(n) for n in range(2, v.count + 2)))
    elif what == "fat":
        v.fat[int(args[0])] = int(args[1], 16)
    elif what == "bit":
        v.mark(int(args[0]), int(args[1]))
    elif what == "where":
        node = v.find(args[0])
        print(node.first, len(v.clusters(node)), int(node.contiguous), v.clusters(node)[-1])
    elif what == "root":
        at = next(a for a, e in v.entries(v.chain(v.root)) if e[0] == int(args[0], 16))
        v.write(at + int(args[1]), bytes.fromhex(args[2]))
    elif what == "boot":
        v.boot(int(args[0]), bytes.fromhex(args[1]))
    if what in ("put", "rm", "fat", "bit"):
        v.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
