#!/usr/bin/env python3
"""Reads a store as docs/store-format.md describes it, and nothing else.

    store_read.py STORE NAME [FILE]     rebuilds an image of a store in a folder; FILE: compares it
    store_read.py --check STORE         every table, block and record of every pack, and every recipe
"""
import hashlib, os, struct, sys, zlib

CHUNK, HEADER = 1 << 20, 4096
PACK, FRAGMENT, IMAGE, ABOUT, DIGESTS = 1, 2, 3, 6, 7
BLOCK = 1 << 20


class Damaged(Exception):
    pass


def need(good, why):
    if not good: raise Damaged(why)


def crc_table():
    for n in range(256):
        for _ in range(8): n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
        yield n


TABLE = list(crc_table())


def crc32c(data):
    c = 0xffffffff
    for b in data: c = TABLE[(c ^ b) & 255] ^ c >> 8
    return c ^ 0xffffffff


class Reader:
    def __init__(self, data): self.data, self.at = data, 0

    def bytes(self, n):
        need(self.at + n <= len(self.data), "ends too early")
        self.at += n
        return self.data[self.at - n:self.at]

    def u(self, n): return int.from_bytes(self.bytes(n), "little")
    def text(self): return self.bytes(self.u(2)).decode()
    def done(self): return self.at == len(self.data)

    def number(self):
        v = shift = 0
        while True:
            b = self.u(1)
            v |= (b & 127) << shift
            shift += 7
            if b < 128: return v


def read_record(pack, at):
    """type, body, and where the padding behind it begins and ends"""
    head = pack[at:at + 32]
    need(len(head) == 32, f"no record at {at}")
    magic, kind, zeros, number, size, body_crc, zero, head_crc = struct.unpack("<IB3sQIIII", head)
    need(magic == 0x31524d45 and zeros == bytes(3) and zero == 0 and crc32c(head[:28]) == head_crc, f"no record at {at}")
    body = pack[at + 32:at + 32 + size]
    need(len(body) == size and crc32c(body) == body_crc, f"the body of the record at {at} is damaged")
    end = at + 32 + size
    return kind, body, end, (end + 7) // 8 * 8


def records(pack):
    at = 0
    while at < len(pack):
        kind, body, pad, after = read_record(pack, at)
        need(not any(pack[pad:after]), f"what is behind the record at {at} is not zero")
        yield at, kind, body, pad, after
        at = after


def inflate(data, size):
    """A fragment of deflate: raw, without a final block."""
    d = zlib.decompressobj(-15)
    raw = d.decompress(data, size + 1)
    need(len(raw) == size, "a fragment inflates to another length")
    return raw


def deflate_zeros(n):
    """image-format.md: one block, whose codes are 285: 0, literal 0: 10, end: 11, and one distance."""
    bits = []
    def put(v, count): bits.extend(v >> i & 1 for i in range(count))
    def zero_lengths(count): put(0, 1), put(count - 11, 7)
    put(0, 1), put(2, 2), put(29, 5), put(0, 5), put(14, 4)
    lengths = [0] * 18
    lengths[2], lengths[15], lengths[17] = 1, 2, 2
    for length in lengths: put(length, 3)
    put(3, 2), zero_lengths(138), zero_lengths(117), put(3, 2), zero_lengths(28), put(1, 2), put(1, 2)
    put(1, 2)
    bits.extend([0, 0] * ((n - 1) // 258))
    bits.extend([1, 0] * ((n - 1) % 258))
    put(3, 2), put(0, 3)
    bits.extend([0] * (-len(bits) % 8))
    put(0, 16), put(0xffff, 16)
    text = "".join(map(str, bits))[::-1]
    return int(text, 2).to_bytes(len(bits) // 8, "little")


def zstd_zeros(n):
    out = b"\x28\xb5\x2f\xfd\0\x38"
    while n > 0:
        part = min(n, 131072)
        n -= part
        out += (part << 3 | 1 << 1 | (n == 0)).to_bytes(3, "little") + b"\0"
    return out


ENDS = {0: (0, 0), 1: (2, 6), 2: (0, 12)}


def header_regions(header):
    """Sectors of each region, of any version."""
    magic, = struct.unpack_from("<I", header)
    count, = struct.unpack_from("<i", header, 20)
    version = 5 if magic in (0x355a444e, 0x455a444e) else magic - 0x69696969 + 1
    at, form = {1: (24, "<II"), 5: (72, "<QQ")}.get(version, (36, "<II"))
    return [struct.unpack_from(form, header, at + i * struct.calcsize(form))[1] for i in range(count)]


class Table:
    """Of one pack: its fragments by their digest."""
    def __init__(self, name, data):
        need(name == hashlib.sha256(data).hexdigest() + ".toc", f"{name}: a table has another name than its SHA-256")
        r = Reader(data)
        need(r.u(4) == 0x31544d45 and r.u(4) == 1, f"{name}: no table")
        r.bytes(16)
        self.id, self.bytes, blocks, fragments = name[:64], r.u(8), r.u(4), r.u(4)
        self.blocks = [r.bytes(32) for _ in range(blocks)]
        self.fragments = []
        for _ in range(fragments):
            head = r.bytes(56)
            self.fragments.append((head, r.u(8), r.u(4)))
        need(r.done() and blocks == -(-self.bytes // BLOCK), f"{name}: a table of another length")


class Store:
    def __init__(self, folder):
        self.folder = folder
        lines = open(os.path.join(folder, "format")).read().split("\n")
        need(lines[0] == "emustore 3" and [l.split()[0] for l in lines[1:4]] == ["pack-bytes", "grace-seconds", "writers"], "format")
        need(lines[3] == "writers lock", "is not a folder's")
        self.tables = [Table(n, self.read("tables", n)) for n in sorted(os.listdir(os.path.join(folder, "tables")))]
        self.where = {head[:32]: (t, head, at, size) for t in self.tables for head, at, size in t.fragments}
        self.packs, self.digests = {}, []

    def read(self, *name): return open(os.path.join(self.folder, *name), "rb").read()

    def pack(self, id):
        if id not in self.packs: self.packs[id] = self.read("packs", id + ".pack")
        return self.packs[id]

    def names(self):
        for folder, _, files in os.walk(os.path.join(self.folder, "images")):
            for f in files: yield os.path.relpath(folder, os.path.join(self.folder, "images")), int(f)

    def recipe(self, name, version=None):
        """The digests that its numbers count become self.digests."""
        version = version or max((v for n, v in self.names() if n == name), default=None)
        need(version, f"{name}: is not in the store")
        object = self.read("images", name, f"{version:010}")
        three = [(kind, body) for _, kind, body, _, _ in records(object)]
        need([kind for kind, _ in three] == [ABOUT, IMAGE, DIGESTS], f"{name}: not its three records")
        self.digests = [three[2][1][i:i + 32] for i in range(0, len(three[2][1]), 32)]
        need(three[1][1].startswith(three[0][1]), f"{name}: its first two records do not agree")
        r = Reader(three[1][1])
        form = r.u(4)
        about = dict(version=r.u(4), put_at=r.u(8), data_bytes=r.u(8), chunks=r.u(4), sha256=r.bytes(32), name=r.text(), parent=r.text())
        about["labels"] = [(r.text(), r.text()) for _ in range(r.u(2))]
        need(form in (1, 2) and (about["name"], about["version"]) == (name, version) and r.at == len(three[0][1]), f"{name}: its recipe is another image's")
        return form, about, self.chunks_of(r, about["chunks"])

    def chunks_of(self, r, chunks):
        while not r.done():
            n, plain_bytes, packed_bytes = r.u(4), r.u(4), r.u(4)
            plain = zlib.decompress(r.bytes(packed_bytes))
            chunks -= n
            need(len(plain) == plain_bytes and (n == 64 or chunks == 0) and 0 < n <= 64, "a block of the recipe")
            block = Reader(plain)
            for _ in range(n): yield self.chunk_of(block)
            need(block.done(), "a block of the recipe is too long")
        need(chunks == 0, "the recipe lacks chunks")

    def chunk_of(self, r):
        flags = r.u(1)
        c = dict(codec=flags & 31, table=flags & 128, sectors=flags & 32, made=flags & 64, crc=r.u(4), header=r.bytes(r.number()), size=r.number(), pieces=[])
        expected = 0
        for _ in range(r.number()):
            v = r.number()
            if v & 1:
                c["pieces"].append((None, v >> 1, r.number()))
                continue
            v >>= 1
            number = expected + (v >> 1 if v % 2 == 0 else -(v + 1 >> 1))
            c["pieces"].append((number,))
            expected = number + 1
        if c["made"]:
            c.update(rule=r.u(1), level=r.u(1), memory=r.u(1), zlib=r.bytes(r.u(1)), adler=r.u(4), sha256=r.bytes(32))
            return c
        head, tail = ENDS[c["codec"]]
        c.update(head=r.bytes(head), tail=r.bytes(tail), rest=r.bytes(r.number()))
        c["table_at"] = r.number() if c["table"] else None
        return c

    def fragment(self, number):
        """Its data, raw digest and raw length."""
        need(number < len(self.digests) and self.digests[number] in self.where, f"fragment {number} is not there")
        table, head, at, size = self.where[self.digests[number]]
        kind, body, _, _ = read_record(self.pack(table.id), at)
        data = body[56:]
        need(kind == FRAGMENT and body[:56] == head and len(data) == size, f"fragment {number} is not what its table says")
        need(hashlib.sha256(data).digest() == head[:32], f"fragment {number} has another SHA-256")
        return data, head[32:48], struct.unpack_from("<I", head, 48)[0]

    def rebuild(self, c):
        if c["made"]: return self.make(c)
        pieces, entries = [], []
        for p in c["pieces"]:
            if p[0] is None:
                data = (deflate_zeros if c["codec"] == 1 else zstd_zeros)(p[2])
                entries.append(struct.pack("<IQQ", len(data) | 1 << 31, p[2] // 512 if c["sectors"] else p[1], 0))
            else:
                data, digest, raw_bytes = self.fragment(p[0])
                more = raw_bytes // 512 - 1 << 20 if c["sectors"] else 0
                entries.append(struct.pack("<I16s", len(data) | more, digest))
            pieces.append(data)
        stream = c["head"] + b"".join(pieces) + c["tail"]
        need(len(stream) == c["size"], "the fragments do not add up to the stream")
        rest = c["rest"]
        if c["table"]: rest = rest[:c["table_at"]] + b"".join(entries) + rest[c["table_at"]:]
        chunk = c["header"].ljust(HEADER, b"\0") + stream + rest
        need(crc32c(chunk) == c["crc"], "a chunk has another CRC-32C")
        return chunk.ljust(CHUNK, b"\0")

    def make(self, c):
        data = b""
        for p in c["pieces"]:
            if p[0] is None: data += bytes(p[2]); continue
            packed, digest, raw_bytes = self.fragment(p[0])
            raw = inflate(packed, raw_bytes)
            need(hashlib.sha256(raw).digest()[:16] == digest, f"fragment {p[0]} has other data")
            data += raw
        need(zlib.adler32(data) == c["adler"], "the data of a chunk have another Adler-32")
        header = c["header"].ljust(HEADER, b"\0")
        z = zlib.compressobj(c["level"], zlib.DEFLATED, 15, c["memory"])
        if c["rule"] == 2:
            stream = z.compress(data) + z.flush()
        else:
            stream, at = b"", 0
            for sectors in header_regions(header):
                end = at + sectors * 512
                while at < end:
                    left = CHUNK - HEADER - len(stream) - 1024
                    n = min(end - at, 131072)
                    if n > left: n = left // 512 * 512
                    need(n > 0, "the pieces do not fit")
                    stream += z.compress(data[at:at + n]) + z.flush(zlib.Z_SYNC_FLUSH)
                    at += n
            stream += z.flush()
        chunk = (header + stream).ljust(CHUNK, b"\0")
        need(len(stream) == c["size"] and hashlib.sha256(chunk).digest() == c["sha256"], "a chunk that is made again comes out otherwise (another zlib?)")
        return chunk

    def image(self, name, version=None):
        form, about, chunks = self.recipe(name, version)
        sha, made = hashlib.sha256(), False
        for c in chunks:
            chunk = self.rebuild(c)
            made |= bool(c["made"])
            sha.update(chunk)
            yield chunk
        need(sha.digest() == about["sha256"], f"{name}: another SHA-256")
        need(form == 2 or not made, "a recipe of version 1 has chunks that are made again")

    def check(self):
        """All blocks and records are whole and what the tables say, and every recipe leads to its own."""
        images = 0
        for t in self.tables:
            pack = self.pack(t.id)
            need(len(pack) == t.bytes, f"pack {t.id} has another length")
            need([hashlib.sha256(pack[i:i + BLOCK]).digest() for i in range(0, len(pack), BLOCK)] == t.blocks, f"a block of pack {t.id} has another SHA-256")
            found = []
            for at, kind, body, _, _ in records(pack):
                need(at > 0 or (kind == PACK and body == struct.pack("<I", 1)), f"pack {t.id} does not begin as one")
                if kind == FRAGMENT: found.append((body[:56], at, len(body) - 56))
            need(found == t.fragments, f"pack {t.id} has other fragments than its table")
        for name, version in self.names():
            images += 1
            for c in self.recipe(name, version)[2]:
                need(all(p[0] is None or self.digests[p[0]] in self.where for p in c["pieces"]), f"{name}: a fragment is not there")
        return len(self.where), images


def main():
    if sys.argv[1] == "--check":
        print("%d fragments, %d images" % Store(sys.argv[2]).check())
        return
    name, _, version = sys.argv[2].partition(":")
    like = open(sys.argv[3], "rb") if len(sys.argv) > 3 else None
    n = 0
    for chunk in Store(sys.argv[1]).image(name, int(version) if version else None):
        need(not like or like.read(CHUNK) == chunk, f"{name}: chunk {n} is not that of the file")
        n += 1
    need(not like or like.read(1) == b"", f"{name}: is shorter than the file")
    print(f"{name}: {n} chunks")


if __name__ == "__main__":
    try: main()
    except Damaged as e: sys.exit(f"store_read: {e}")
