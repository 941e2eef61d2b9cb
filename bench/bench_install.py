"""Benchmarks of imageunzip: onto files, a loop device and nowhere, against partclone, dd and decoding alone."""
import os, statistics, subprocess

from bench_files import allocated_bytes, report
from measure import BIN, ROOTFS, RUNS, TOP, pairs, run


def bench_install(f):
    f.need(), f.need_rival()
    raw = allocated_bytes() / 1e6
    run(f"cat {ROOTFS} > {f.out}")          # an existing file, all its pages there
    a, b = pairs(f"{BIN}/imageunzip -q -j2 --in-place {f.ndz} {f.out}",
                 f"pigz -dc {f.pc} | partclone.restore -q -W -L /dev/null -s - -O {f.out}")
    report("install", raw / a, raw / b, "pigz -dc | partclone.restore -W", "MB/s")
    os.unlink(f.out)


def decode_seconds(f):
    out = subprocess.run([TOP + "/build/plain/bench/decode", f.ndz, "2"], capture_output=True, text=True, check=True)
    return float(out.stdout)


def bench_install_null(f):
    """To nowhere, against decoding alone."""
    f.need()
    raw = allocated_bytes() / 1e6
    ours, limit = [], []
    for _ in range(RUNS + 1):
        ours.append(run(f"{BIN}/imageunzip -q -j2 {f.ndz} /dev/null")[0])
        limit.append(decode_seconds(f))
    report("install to /dev/null", raw / statistics.median(ours[1:]), raw / statistics.median(limit[1:]),
           "two threads that only decode", "MB/s")


def bench_skip_same(f):
    """A disk that has the image already, against a plain installation of it."""
    f.need()
    raw = allocated_bytes() / 1e6
    run(f"cat {ROOTFS} > {f.out}")
    a, b = pairs(f"{BIN}/imageunzip -q -j2 --skip-same {f.ndz} {f.out}",
                 f"{BIN}/imageunzip -q -j2 --in-place {f.ndz} {f.out}")
    report("install --skip-same", raw / a, raw / b, "a plain installation", "MB/s")
    os.unlink(f.out)


def bench_install_loop(f):
    """On a loop device, against dd of as many bytes."""
    f.need()
    if os.geteuid() != 0:
        print("install on a loop device: needs root, left out")
        return
    raw = allocated_bytes()
    back = os.path.join(TOP, "build/bench/loop.img")        # on a disk, not on tmpfs
    run(f"truncate -s {os.path.getsize(ROOTFS)} {back}")
    dev = subprocess.run(["losetup", "-f", "--show", "--direct-io=on", back], capture_output=True, text=True, check=True).stdout.strip()
    try:
        run(f"dd if=/dev/zero of={dev} bs=4M oflag=direct 2> /dev/null || true")      # all blocks are there
        a, b = pairs(f"{BIN}/imageunzip -q -j2 {f.ndz} {dev}",
                     f"dd if={ROOTFS} of={dev} bs=4M count={raw >> 22} oflag=direct conv=fsync status=none")
        report("install, loop device", raw / 1e6 / a, (raw >> 22 << 22) / 1e6 / b, "dd bs=4M oflag=direct", "MB/s")
        # What dd does not do, and what no installation of this image can be faster than.
        a, limit = [], []
        for _ in range(RUNS + 1):
            a.append(run(f"{BIN}/imageunzip -q -j2 {f.ndz} {dev}")[0])
            limit.append(decode_seconds(f))
        report("install, loop device", raw / 1e6 / statistics.median(a[1:]), raw / 1e6 / statistics.median(limit[1:]),
               "two threads that only decode", "MB/s")
    finally:
        subprocess.run(["losetup", "-d", dev])
        os.unlink(back)


BENCHES = dict(install=bench_install, install_null=bench_install_null, skip_same=bench_skip_same, install_loop=bench_install_loop)
