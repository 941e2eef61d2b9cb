#!/usr/bin/env python3
"""The free space of a btrfs on one device, as `btrfs inspect-internal` tells it;
and a way to change bytes of it with the checksums (CRC-32C) put right.

btrfs_space.py free IMG                    lines "first count", sectors of 512 bytes
btrfs_space.py super IMG OFFSET HEX [COPY] bytes of the superblock, COPY 0 to 2
btrfs_space.py node IMG LOGICAL OFFSET HEX bytes of a node, all copies
btrfs_space.py root IMG TREE               logical address of a tree's root

The free space comes from the extent tree; where the free space tree has plain
extents for a block group, both must be the same.
"""
import re
import struct
import subprocess
import sys

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SUPERS = [64 * KIB, 64 * MIB, 256 * GIB]
RESERVED = [(0, MIB), (64 * MIB, 64 * MIB + 64 * KIB), (256 * GIB, 256 * GIB + 64 * KIB)]
ITEM = re.compile(r"item \d+ key \((\S+) (\S+) (\d+)\)")


def inspect(*args):
    return subprocess.run(["btrfs", "inspect-internal", *args], check=True, capture_output=True,
                          text=True).stdout


def dump_super(img):
    return {k: v for k, v in re.findall(r"^(\S+)\s+(\S+)", inspect("dump-super", img), re.M)}


def items(img, tree):
    """(objectid, type, offset, text) of every item."""
    out = inspect("dump-tree", "-t", tree, img)
    found = list(ITEM.finditer(out))
    for m, after in zip(found, found[1:] + [None]):
        yield m.group(1), m.group(2), int(m.group(3)), out[m.end():after.start() if after else None]


def chunks(img):
    """(logical, length, [places])"""
    return [(off, int(re.search(r"length (\d+)", text).group(1)),
             [int(p) for p in re.findall(r"stripe \d+ devid \d+ offset (\d+)", text)])
            for _, kind, off, text in items(img, "chunk") if kind == "CHUNK_ITEM"]


def used_extents(img, node):
    return sorted((int(obj), off if kind == "EXTENT_ITEM" else node)
                  for obj, kind, off, _ in items(img, "extent")
                  if kind in ("EXTENT_ITEM", "METADATA_ITEM"))


def free_by_extents(chunk, used):
    logical, length, _ = chunk
    at = logical
    for lo, n in used + [(logical + length, 0)]:
        if logical <= lo <= logical + length:
            if lo > at:
                yield at, lo - at
            at = max(at, lo + n)


def free_by_free_space_tree(img):
    """{block group: [(logical, length)]} of those without bitmaps."""
    groups, bitmaps, current = {}, set(), 0
    for obj, kind, off, _ in items(img, "10"):
        if kind == "FREE_SPACE_INFO":
            current = int(obj)
            groups[current] = []
        elif kind == "FREE_SPACE_EXTENT":
            groups[current].append((int(obj), off))
        elif kind == "FREE_SPACE_BITMAP":
            bitmaps.add(current)
    return {group: ranges for group, ranges in groups.items() if group not in bitmaps}


def without_reserved(ranges):
    for lo, hi in ranges:
        for a, b in RESERVED:
            if lo < b and a < hi:
                if lo < a:
                    yield lo, a
                lo = b
        if lo < hi:
            yield lo, hi


def device_free(chunk_list, total):
    at = 0
    for place, length in sorted((p, length) for _, length, places in chunk_list for p in places):
        if place > at:
            yield at, place
        at = place + length
    yield at, total


def free(img):
    sb = dump_super(img)
    all_chunks = chunks(img)
    used = used_extents(img, int(sb["nodesize"]))
    tree = free_by_free_space_tree(img) if "FREE_SPACE_TREE" in inspect("dump-super", img) else {}
    ranges = list(device_free(all_chunks, int(sb["dev_item.total_bytes"])))
    for chunk in all_chunks:
        gaps = list(free_by_extents(chunk, used))
        mapped = sorted(r for p in chunk[2] for r in without_reserved(
            (p + lo - chunk[0], p + lo - chunk[0] + n) for lo, n in gaps))
        if chunk[0] in tree:
            known = sorted(r for p in chunk[2] for r in without_reserved(
                (p + lo - chunk[0], p + lo - chunk[0] + n) for lo, n in tree[chunk[0]]))
            if known != mapped:
                sys.exit(f"block group {chunk[0]}: extent tree and free space tree differ")
        ranges += mapped
    for lo, hi in sorted(without_reserved(ranges)):
        print(lo // 512, hi // 512 - lo // 512)


def crc32c(data):
    table = []
    for b in range(256):
        for _ in range(8):
            b = b >> 1 ^ (0x82f63b78 if b & 1 else 0)
        table.append(b)
    c = 0xffffffff
    for b in data:
        c = c >> 8 ^ table[(c ^ b) & 0xff]
    return c ^ 0xffffffff


def change(img, at, size, off, new):
    with open(img, "r+b") as f:
        f.seek(at)
        block = bytearray(f.read(size))
        block[off:off + len(new)] = new
        block[:4] = struct.pack("<I", crc32c(block[32:]))
        f.seek(at)
        f.write(block)


def change_node(img, logical, off, new):
    size = int(dump_super(img)["nodesize"])
    for base, length, places in chunks(img):
        if base <= logical < base + length:
            for p in places:
                change(img, p + logical - base, size, off, new)


def root_of(img, tree):
    out = inspect("dump-tree", "-t", tree, img)
    print(re.search(r"^(?:leaf|node) (\d+)", out, re.M).group(1))


if __name__ == "__main__":
    a = sys.argv[2:]
    if sys.argv[1] == "free":
        free(a[0])
    elif sys.argv[1] == "super":
        change(a[0], SUPERS[int(a[3]) if len(a) > 3 else 0], 4096, int(a[1]), bytes.fromhex(a[2]))
    elif sys.argv[1] == "node":
        change_node(a[0], int(a[1]), int(a[2]), bytes.fromhex(a[3]))
    elif sys.argv[1] == "root":
        root_of(*a)
