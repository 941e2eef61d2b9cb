"""What makes a disk a member of something else, as its tool would write it: leftover.py KIND FILE
The rest of the file stays, as it does then."""
import os, struct, sys

kind, path = sys.argv[1:3]
sectors = os.path.getsize(path) // 512


def md1(sector, level):
    b = struct.pack("<IIII", 0xA92B4EFC, 1, 0, 0) + bytes(range(16)) + b"host:0".ljust(32, b"\0")
    b += struct.pack("<QIIQIIII", 0, level, 0, sectors - 2048, 0, 2, 0, 0) + bytes(24)
    return sector * 512, b[:128].ljust(128, b"\0") + struct.pack("<QQQQ", 2048, sectors - 2048, sector, 0) + bytes(96)


def md0(order, level):
    words = [0xA92B4EFC, 0, 90, 0, 0, 7, 0, level & 0xFFFFFFFF] + [0] * 56
    return (sectors // 128 * 128 - 128) * 512, struct.pack(order + "64I", *words)


made = {
    "md1.1": lambda: md1(0, 5), "md1.2": lambda: md1(8, 1),
    "md1.0": lambda: md1((sectors - 16) // 8 * 8, 5), "md1.0-mirror": lambda: md1((sectors - 16) // 8 * 8, 1),
    "md0.90": lambda: md0("<", 0), "md0.90-big": lambda: md0(">", -1), "md0.90-mirror": lambda: md0("<", 1),
    "zfs": lambda: ((128 << 10) + 5 * 4096, struct.pack("<QQ", 0x00BAB10C, 5000)),
    "zfs-big": lambda: ((256 << 10) - 1024, struct.pack(">QQ", 0x00BAB10C, 5000)),
    "bcache": lambda: (4096 + 24, bytes.fromhex("c68573f64e1a45ca8265f57f48ba6d81")),
    "bcachefs": lambda: (4096 + 24, bytes.fromhex("c68573f666ce90a9d96a60cf803df7ef")),
    "integrity": lambda: (0, b"integrt\0"), "jfs": lambda: (32768, b"JFS1"), "udf": lambda: (32768, b"\0BEA01\1"),
    "reiserfs": lambda: (65588, b"ReIsEr2Fs"),
    "reiser4": lambda: (65536, b"ReIsEr4\0"), "refs": lambda: (3, b"ReFS" + bytes(4)), "bitlocker": lambda: (3, b"-FVE-FS-"),
    "apfs": lambda: (32, b"NXSB"), "hfs+": lambda: (1024, b"H+\0\4"), "hfsx": lambda: (1024, b"HX\0\5"),
    "nilfs2": lambda: (1024, struct.pack("<IHH", 2, 0, 0x3434)), "gfs2": lambda: (65536, struct.pack(">II", 0x01161970, 1)),
    "ocfs2": lambda: (8192, b"OCFSV2"), "vmfs": lambda: (1 << 20, struct.pack("<I", 0xC001D00D)),
    "hammer2": lambda: (0, struct.pack("<Q", 0x48414D3205172011)), "bluestore": lambda: (0, b"bluestore block device\n"),
    "asm": lambda: (32, b"ORCLDISK"), "stratis": lambda: (516, b"!Stra0tis\x86\xff\x02^\x41rh"),
    "geom": lambda: ((sectors - 1) * 512, b"GEOM::STRIPE".ljust(16, b"\0")),
    "geom-4096": lambda: ((sectors - 8) * 512, b"GEOM::ELI".ljust(16, b"\0")),
    "geom-mirror": lambda: ((sectors - 1) * 512, b"GEOM::MIRROR".ljust(16, b"\0")),
}
at, b = made[kind]()
with open(path, "r+b") as f:
    f.seek(at)
    f.write(b)
