"""Benchmarks of disks that stream: what a request costs when its sectors are there.

The rival is the same path over NBD without streaming, over the very file that is below the disk: two files in memory may differ by
half, since some pages of a virtual machine are large ones of its host and others are not.  On tmpfs that is nbdkit's plugin
`file`, and on a disk a plugin that passes the page cache by, as a disk that streams does: `file` would write to memory alone.  fio asks
both in turn, one of them first and then the other one, for SECONDS_EACH seconds (1) at a time.  The processor's time that the server
took is told beside the speed: it depends less on what else the machine does.
"""
import os, random, shutil, statistics, tempfile, time

from bench_files import report
from measure import BIN, RUNS, TOP, run
from stream_lab import blank, client, over_nbd, plain_file, processor_s, served, streaming
from stream_tables import FRAME_BYTES, read_all, spread, table_in_turn

SECONDS = float(os.environ.get("SECONDS_EACH", "1"))
MIB = 256
RIVAL = "the same path, a plain file"


def measured(sock, rw, kib, flight):
    """Requests a second, and microseconds of the server's processor for each."""
    before = processor_s(sock)
    per_second, requests = over_nbd(sock, f"--rw={rw}", f"--bs={kib}k", f"--iodepth={flight}", f"--size={MIB - 1}M", f"--runtime={int(1000 * SECONDS)}ms",
                                    "--time_based", "--norandommap")
    return per_second / (kib << 10) * 1e6, (processor_s(sock) - before) / requests * 1e6


def both(socks, name, rw, kib, flight):
    got = []
    for i in range(RUNS):
        pair = [measured(sock, rw, kib, flight) for sock in (socks if i % 2 == 0 else socks[::-1])]
        got.append(pair if i % 2 == 0 else pair[::-1])
    speed, processor = ([statistics.median(pair[i][k] for pair in got) for i in (0, 1)] for k in (0, 1))
    report(f"stream: {name}", *speed, RIVAL, "a second")
    report(f"  processor for one", *processor, RIVAL, "us", higher_is_better=False)


def present_in(folder, what):
    """All sectors are present, but for the last MiB, so that the table is still asked."""
    data, image, disk = (f"{folder}/stream{end}" for end in ("", ".ndz", ".disk"))
    with open(data, "wb") as out:
        out.writelines(random.Random(i).randbytes(1 << 20) for i in range(MIB))
    run(f"{BIN}/imagezip -q -r {data} {image}")
    blank(disk, MIB << 20)
    with streaming(image, disk, fill="no", table=f"{folder}/stream.table") as (ours, status), served(*plain_file(disk)) as plain:
        while status()["present_bytes"] < MIB - 1 << 20:  # a disk that is slower than its reader has some left
            read_all(ours, MIB << 20)
            time.sleep(1)
        for kib, flight in ((4, 1), (4, 16), (32, 16)):
            for rw in ("randread", "randwrite"):
                both((ours, plain), f"{rw[4:]} {kib} KB, {flight}{what}", rw, kib, flight)
    for path in (data, image, disk, f"{folder}/stream.table"):
        os.unlink(path)


def bench_present(f):
    """Figures 4 and 5 of the paper, on tmpfs where there is room."""
    present_in(f.dir, "")


def bench_direct(f):
    """The same on the disk that build/ is on, where both pass the page cache by."""
    folder = tempfile.mkdtemp(prefix="stream.", dir=os.path.join(TOP, "build"))
    try:
        present_in(folder, ", disk")
    finally:
        shutil.rmtree(folder)


def bench_table(f):
    """Table 3 of the paper: each read needs another page of the table, of which half fit into memory."""
    places, image, disk, table = 512, f"{f.dir}/spread.ndz", f"{f.dir}/spread.disk", f"{f.dir}/spread.table"
    spread(f"{f.dir}/spread", places)
    run(f"{BIN}/imagezip -q -r {f.dir}/spread {image}")
    blank(disk, places * FRAME_BYTES)
    with streaming(image, disk, fill="no", table=table, table_memory="1M") as (ours, _), served(*plain_file(disk)) as plain:
        with client(ours) as a, client(plain) as b:
            for at in range(places):
                a.read(at * FRAME_BYTES, 32 << 10)  # of 64 KB: the rest stays absent
            for kib in (32, 16, 8, 4):
                rates, processor, _ = table_in_turn(((a.read, ours), (b.read, plain)), kib, places, RUNS * 2 * SECONDS)
                report(f"stream: a page each, {kib} KB", *rates, RIVAL, "MB/s")
                report("  processor for one", *processor, RIVAL, "us", higher_is_better=False)
    for path in (f"{f.dir}/spread", image, disk, table):
        os.unlink(path)


BENCHES = {"stream_present": bench_present, "stream_direct": bench_direct, "stream_table": bench_table}
