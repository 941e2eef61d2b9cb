#!/usr/bin/env python3
"""Change an F2FS image in ways that no tool at hand does, checksums and all.

f2fs_edit.py IMG super OFF BYTES VALUE   a field in both copies of the superblock
f2fs_edit.py IMG cp OFF BYTES VALUE      a field of the valid checkpoint
f2fs_edit.py IMG only                    the other checkpoint is destroyed
f2fs_edit.py IMG torn                    the valid checkpoint's last block is destroyed
f2fs_edit.py IMG second                  the SIT's second copies become valid
f2fs_edit.py IMG journal                 some entries of the SIT move to the journal
f2fs_edit.py IMG synced                  a node as if synced after the checkpoint
f2fs_edit.py IMG sit SEGMENT             flips one bit of a segment's bitmap
"""
import struct
import sys
import zlib

MAGIC, BLOCK, SEGMENT, ENTRY, PER_BLOCK = 0xF2F52010, 4096, 512, 74, 55
path, command, args = sys.argv[1], sys.argv[2], [int(a, 0) for a in sys.argv[3:]]
f = open(path, "r+b")


def crc(data, seed=MAGIC):
    return zlib.crc32(data, seed ^ 0xFFFFFFFF) ^ 0xFFFFFFFF


def read(block, n=1):
    f.seek(block * BLOCK)
    return bytearray(f.read(n * BLOCK))


def write(block, data):
    f.seek(block * BLOCK)
    f.write(data)


sb = struct.unpack_from("<18I", read(0), 1024 + 36 + 8 + 4)
segments, n_cp, n_sit, n_nat, n_ssa, n_main, seg0, cp_at, sit_at, nat_at, ssa_at, main_at = sb[:12]
packs = [(struct.unpack_from("<Q", read(at))[0], at) for at in (cp_at, cp_at + SEGMENT)]
version, at = max(packs, key=lambda p: (p[0], -p[1]))
other = 2 * cp_at + SEGMENT - at
cp = read(at)
blocks, first_summary = struct.unpack_from("<II", cp, 136)


def write_cp():
    assert struct.unpack_from("<I", cp, 164)[0] == 4092
    struct.pack_into("<I", cp, 4092, crc(cp[:4092]))
    write(at, cp)
    write(at + blocks - 1, cp)


def sit_block(i):
    second = cp[192 + i // 8] >> (7 - i % 8) & 1
    return sit_at + (n_sit // 2 * SEGMENT if second else 0) + i


if command == "super":
    for block in (0, 1):
        b = read(block)
        b[1024 + args[0]:1024 + args[0] + args[1]] = args[2].to_bytes(args[1], "little")
        write(block, b)
elif command == "cp":
    cp[args[0]:args[0] + args[1]] = args[2].to_bytes(args[1], "little")
    write_cp()
elif command == "only":
    write(other, b"\x55" * BLOCK)
elif command == "torn":
    write(at + blocks - 1, b"\x55" * BLOCK)
elif command == "second":
    for i in range((n_main + PER_BLOCK - 1) // PER_BLOCK):
        was, now = sit_block(i), sit_at + n_sit // 2 * SEGMENT + i
        write(now, read(was))
        write(was, b"\x55" * BLOCK)
        cp[192 + i // 8] |= 0x80 >> i % 8
    write_cp()
elif command == "journal":
    compact = struct.unpack_from("<I", cp, 132)[0] & 4
    assert not compact
    summary, n = read(at + first_summary + 2), 0
    # Segments that are being written are kept whatever the journal says, so the last entry is
    # that of another one.
    written = struct.unpack_from("<3I", cp, 36) + struct.unpack_from("<3I", cp, 84)
    for seg in sorted(range(n_main), key=lambda seg: seg not in written):
        block = sit_block(seg // PER_BLOCK)
        sit, off = read(block), seg % PER_BLOCK * ENTRY
        if n == 6 or not struct.unpack_from("<H", sit, off)[0] & 0x3ff:
            continue
        struct.pack_into("<I", summary, 3584 + 2 + n * 78, seg)
        summary[3584 + 6 + n * 78:3584 + 80 + n * 78] = sit[off:off + ENTRY]
        sit[off:off + ENTRY] = bytes(ENTRY)
        write(block, sit)
        n, last = n + 1, seg
    assert last not in written
    struct.pack_into("<H", summary, 3584, n)
    write(at + first_summary + 2, summary)
elif command == "synced":
    segment, = struct.unpack_from("<I", cp, 36 + 4)
    offset, = struct.unpack_from("<H", cp, 68 + 2)
    node = bytearray(BLOCK)
    struct.pack_into("<Q", node, BLOCK - 12, version)
    write(main_at + segment * SEGMENT + offset, node)
elif command == "sit":
    b = read(sit_block(args[0] // PER_BLOCK))
    b[args[0] % PER_BLOCK * ENTRY + 2] ^= 1
    write(sit_block(args[0] // PER_BLOCK), b)
else:
    sys.exit(__doc__)
