"""Benchmarks of imagezip: its speed, its images and its memory, against partclone."""
import os, time, zlib

from bench_files import allocated_bytes, report
from measure import BIN, ROOTFS, answer, pairs, run


def bench_capture(f):
    raw = allocated_bytes() / 1e6
    run(f"cat {ROOTFS} > /dev/null")        # the page cache is the disk: codecs are compared
    a, b = pairs(f.capture_ours(), f.capture_rival())
    report("capture", raw / a, raw / b, "partclone.ext4 | pigz -4 -p2", "MB/s")
    report("image size", os.path.getsize(f.ndz) / 1e6, os.path.getsize(f.pc) / 1e6,
           "partclone.ext4 | pigz -4 -p2", "MB", False)
    zst = f.dir + "/rival.zst"
    c = f"partclone.ext4 -q -c -F -L /dev/null -s {ROOTFS} -o - | zstd -q -3 -T2 > {zst}"
    a, b = pairs(f.capture_ours(), c)
    report("capture", raw / a, raw / b, "partclone.ext4 | zstd -3 -T2", "MB/s")
    report("image size", os.path.getsize(f.ndz) / 1e6, os.path.getsize(zst) / 1e6,
           "partclone.ext4 | zstd -3 -T2", "MB", False)
    os.unlink(zst)


def bench_capture_2tb(f):
    """A disk of which nearly nothing is in use, against the capture of the one filesystem that has files."""
    disk, image = f.need_large_disk(), f.dir + "/2tb.ndz"
    raw = allocated_bytes() / 1e6
    run(f"cat {ROOTFS} > /dev/null")
    a, b = pairs(f"{BIN}/imagezip -q -j2 {disk} {image}", f.capture_rival())
    report("capture 4 GB on a 2 TB disk", raw / a, raw / b, "partclone.ext4 of the 4 GB alone | pigz -4 -p2", "MB/s")
    report("image size, 2 TB disk", os.path.getsize(image) / 1e6, os.path.getsize(f.pc) / 1e6,
           "partclone.ext4 of the 4 GB alone | pigz -4 -p2", "MB", False)
    os.unlink(disk), os.unlink(image)


def bench_codecs(f):
    """zstd:3 against the default, --fast against partclone with zstd: throughput and size."""
    raw = allocated_bytes() / 1e6
    run(f"cat {ROOTFS} > /dev/null")
    other = f.dir + "/rival.image"
    default = f"{BIN}/imagezip -j2 {ROOTFS} {other}"
    partclone = f"partclone.ext4 -q -c -F -L /dev/null -s {ROOTFS} -o - | "
    for options, rival, name in (("--codec=zstd:3", default, "imagezip, the default"),
                                 ("--codec=zstd:3", partclone + f"zstd -q -3 -T2 > {other}", "partclone.ext4 | zstd -3 -T2"),
                                 ("--fast", default, "imagezip, the default"),
                                 ("--fast", partclone + f"zstd -q -3 -T2 > {other}", "partclone.ext4 | zstd -3 -T2"),
                                 ("--fast", partclone + f"pigz -1 -p2 > {other}", "partclone.ext4 | pigz -1 -p2")):
        ours = f.dir + "/codec.ndz"
        a, b = pairs(f"{BIN}/imagezip -j2 {options} {ROOTFS} {ours}", rival)
        report(f"capture {options}", raw / a, raw / b, name, "MB/s")
        report(f"image size {options}", os.path.getsize(ours) / 1e6, os.path.getsize(other) / 1e6, name, "MB", False)
        os.unlink(ours), os.unlink(other)


def original(disk, image):
    """Bytes of the image that the original imagezip makes of what this image stores, and the seconds that zlib takes for it: a stream
    a chunk at level 4, flushed after pieces of 128 KiB at most, and a new chunk where fewer than 8 KiB are left."""
    ranges = []
    for c in answer(f"{BIN}/imagedump", "--json", "-dd", image)[0]["chunk_list"]:
        for r in c["regions"]:
            if ranges and sum(ranges[-1]) == r["first_sector"] * 512:
                ranges[-1][1] += r["sectors"] * 512
            else:
                ranges.append([r["first_sector"] * 512, r["sectors"] * 512])
    chunks, left, regions, seconds = 0, 0, 0, 0
    with open(disk, "rb", buffering=0) as source:
        for at, n in ranges:
            source.seek(at)
            regions += 1
            while n > 0:
                if left < 8192 or regions > 469:
                    chunks, left, regions, z = chunks + 1, 1044480, 1, zlib.compressobj(4)
                data = source.read(min(131072, n, (left - 1024) // 512 * 512))
                start = time.process_time()
                left -= len(z.compress(data)) + len(z.flush(zlib.Z_SYNC_FLUSH))
                seconds += time.process_time() - start
                n -= len(data)
    return chunks << 20, seconds


LEVELS = ("-z 4", "-z 5", "-z 6", "--codec=zstd", "--codec=zstd:3 --windows=store", "--fast")


def bench_levels(f):
    """Each level in turn with partclone and zstd: image and rate, and beside the original's default, for which one processor's
    zlib stands."""
    raw = allocated_bytes() / 1e6
    run(f"cat {ROOTFS} > /dev/null")
    zst, ours = f.dir + "/rival.zst", f.dir + "/level.ndz"
    partclone = f"partclone.ext4 -q -c -F -L /dev/null -s {ROOTFS} -o - | zstd -q -3 -T2 > {zst}"
    for level in LEVELS:
        a, b = pairs(f"{BIN}/imagezip -q -j2 {level} {ROOTFS} {ours}", partclone)
        size = os.path.getsize(ours) / 1e6
        if level == LEVELS[0]:
            original_bytes, original_seconds = original(ROOTFS, ours)
        report(f"capture {level}", raw / a, raw / b, "partclone.ext4 | zstd -3 -T2", "MB/s")
        report(f"capture {level}", raw / a, raw / original_seconds, "zlib as the original has it", "MB/s", runs=1)
        report(f"image size {level}", size, os.path.getsize(zst) / 1e6, "partclone.ext4 | zstd -3 -T2", "MB", False)
        report(f"image size {level}", size, original_bytes / 1e6, "the original's default", "MB", False, 1)
    os.unlink(zst), os.unlink(ours)


def bench_memory(f):
    _, ours = run("exec " + f.capture_ours())
    report("imagezip memory", ours / 1e6, 200, "the limit set", "MB", False, 1)


BENCHES = dict(capture=bench_capture, capture_2tb=bench_capture_2tb, codecs=bench_codecs, levels=bench_levels, memory=bench_memory)
