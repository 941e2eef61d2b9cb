#!/usr/bin/env python3
"""Reads a store as docs/store-format.md describes it, and nothing else.

    store_read.py STORE NAME [FILE]     rebuilds an image from packs and index; FILE: compares it
    store_read.py --check STORE         every record of every pack, and every row of the index against them
"""
import hashlib, os, sqlite3, struct, sys, zlib

CHUNK, HEADER = 1 << 20, 4096
PACK, FRAGMENT, IMAGE, REMOVED, REPLACES = 1, 2, 3, 4, 5


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
    """type, number, body, and where the padding behind it begins and ends"""
    head = pack[at:at + 32]
    need(len(head) == 32, f"no record at {at}")
    magic, kind, zeros, number, size, body_crc, zero, head_crc = struct.unpack("<IB3sQIIII", head)
    need(magic == 0x31524d45 and zeros == bytes(3) and zero == 0 and crc32c(head[:28]) == head_crc, f"no record at {at}")
    body = pack[at + 32:at + 32 + size]
    need(len(body) == size and crc32c(body) == body_crc, f"the body of the record at {at} is damaged")
    end = at + 32 + size
    return kind, number, body, end, (end + 7) // 8 * 8


def records(pack, end=None):
    at = 0
    while at < (len(pack) if end is None else end):
        kind, number, body, pad, after = read_record(pack, at)
        need(not any(pack[pad:after]), f"what is behind the record at {at} is not zero")
        yield at, kind, number, body, pad, after
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


class Store:
    def __init__(self, folder):
        self.folder = folder
        lines = open(os.path.join(folder, "format")).read().split("\n")
        need(lines[0] in ("emustore 1", "emustore 2") and lines[1].split()[0] == "pack-bytes", "format")
        self.db = sqlite3.connect(f"file:{folder}/index.db?mode=ro", uri=True)
        need(self.db.execute("PRAGMA user_version").fetchone() == (1,), "the index is of another format")
        self.packs = {}

    def pack(self, number):
        if number not in self.packs:
            self.packs[number] = open(os.path.join(self.folder, "packs", f"{number:08}.pack"), "rb").read()
        return self.packs[number]

    def recipe(self, name, version=None):
        row = self.db.execute("SELECT number, pack, at, bytes, chunks, data_bytes, put_at, sha256, parent, version FROM images WHERE name = ? "
                              "AND version = coalesce(?, version) ORDER BY version DESC LIMIT 1", (name, version)).fetchone()
        need(row, f"{name}: is not in the store")
        kind, number, body, _, _ = read_record(self.pack(row[1]), row[2])
        r = Reader(body)
        form = r.u(4)
        about = dict(version=r.u(4), put_at=r.u(8), data_bytes=r.u(8), chunks=r.u(4), sha256=r.bytes(32), name=r.text(), parent=r.text())
        about["labels"] = [(r.text(), r.text()) for _ in range(r.u(2))]
        need(kind == IMAGE and form in (1, 2) and (number, len(body), about["chunks"], about["data_bytes"], about["put_at"], about["sha256"],
             about["parent"], about["version"], about["name"]) == (row[0], row[3], *row[4:], name), f"{name}: its record is not what the index says")
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
        c = dict(codec=flags & 63, table=flags & 128, made=flags & 64, crc=r.u(4), header=r.bytes(r.number()), size=r.number(), pieces=[])
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
        row = self.db.execute("SELECT pack, at, bytes, sha256, raw_digest, raw_bytes, adler FROM fragments WHERE number = ?", (number,)).fetchone()
        need(row and row[0], f"fragment {number} is not there")
        kind, n, body, _, _ = read_record(self.pack(row[0]), row[1])
        data = body[56:]
        raw_bytes, adler = struct.unpack_from("<II", body, 48)
        need(kind == FRAGMENT and n == number and (len(data), body[:32], body[32:48], raw_bytes, adler) == row[2:], f"fragment {number} is not what the index says")
        need(hashlib.sha256(data).digest() == body[:32], f"fragment {number} has another SHA-256")
        return data, body[32:48], raw_bytes

    def rebuild(self, c):
        if c["made"]: return self.make(c)
        pieces, entries = [], []
        for p in c["pieces"]:
            if p[0] is None:
                data = (deflate_zeros if c["codec"] == 1 else zstd_zeros)(p[2])
                entries.append(struct.pack("<IQQ", len(data) | 1 << 31, p[1], 0))
            else:
                data, digest, _ = self.fragment(p[0])
                entries.append(struct.pack("<I16s", len(data), digest))
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
        """All records are whole, and every row of the index leads to its own."""
        fragments = images = 0
        for number, size in self.db.execute("SELECT number, bytes FROM packs"):
            pack = self.pack(number)
            need(len(pack) >= size, f"pack {number} is too short")
            first = True
            for at, kind, n, body, _, _ in records(pack, size):
                need(not first or (kind == PACK and n == number and body == struct.pack("<I", 1)), f"pack {number} does not begin as one")
                first = False
        for number, in self.db.execute("SELECT number FROM fragments WHERE pack != 0"):
            self.fragment(number)
            fragments += 1
        for name, version in self.db.execute("SELECT name, version FROM images"):
            images += 1
            for _ in self.recipe(name, version)[2]: pass
        for what, table in ((0, "fragments"), (1, "images"), (2, "packs")):
            top = self.db.execute(f"SELECT coalesce(max(number), 0) FROM {table}").fetchone()[0]
            given = (self.db.execute("SELECT number FROM next WHERE what = ?", (what,)).fetchone() or (1,))[0]
            need(given > top, f"next number of {table}")
        return fragments, images


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
