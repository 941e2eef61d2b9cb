"""What a disk that streams costs while it works: tables 2 and 3 of the paper, and figures 4 and 5.

All of it runs on this machine.  The same path over NBD, without streaming, is nbdkit's plugin `file` over a plain file beside
ours; the file itself, without NBD, is the plain disk.
"""
import contextlib, mmap, os, shutil, statistics, subprocess, time

import plot
from papers import STREAM
from stream_lab import BIN, FULL, blank, client, fio, on_tmpfs, over_nbd, plain_file, processor_s, served, sh, streaming

SECONDS = float(os.environ.get("SECONDS_EACH", "30" if FULL else "3"))
PROFILE_SECONDS = int(os.environ.get("PROFILE_SECONDS", "600" if FULL else "20"))
MIB = int(os.environ.get("MIB", "3072" if FULL else "256"))
FRAME_BYTES = 30720 * 512  # of the disk: what a page of the sector table describes


# Table 3: the worst case of the sector table.

def spread(path, places):
    """A disk that stores 64 KiB at the beginning of each page of the sector table."""
    with open(path, "wb") as f:
        for i in range(places):
            f.seek(i * FRAME_BYTES)
            f.write(os.urandom(65536))
        f.truncate(places * FRAME_BYTES)


def one_pass(read, kib, places):
    """One read in each page of the table: megabytes a second."""
    began = time.monotonic()
    for i in range(places):
        read(i * FRAME_BYTES, kib << 10)
    return places * (kib << 10) / (time.monotonic() - began) / 1e6


def table_in_turn(paths, kib, places, seconds):
    """Passes of each path in turn; a path is what reads, and the socket of its server, or None.  The medians of their speeds, the
    microseconds of the server's processor for a read, and the median of what the first one loses to the second one, pass by pass."""
    rates, processor, began = [], [0] * len(paths), time.monotonic()
    while len(rates) < 3 or time.monotonic() - began < seconds:
        rates.append([])
        for i, (read, sock) in enumerate(paths):
            before = processor_s(sock) if sock else 0
            rates[-1].append(one_pass(read, kib, places))
            processor[i] += processor_s(sock) - before if sock else 0
    return ([statistics.median(column) for column in zip(*rates)], [1e6 * p / places / len(rates) for p in processor],
            statistics.median(1 - r[0] / r[1] for r in rates))


def from_file(path):
    fd = os.open(path, os.O_RDONLY if on_tmpfs(path) else os.O_RDONLY | os.O_DIRECT)
    aligned = memoryview(mmap.mmap(-1, 65536))
    return lambda at, n: os.preadv(fd, [aligned[:n]], at)


def table_3(d, results):
    """The smallest memory for the table has 256 of its pages; as many again are read in turn, so each read needs one from the disk."""
    places, image, disk = 512, f"{d}/spread.ndz", f"{d}/spread-target"
    spread(f"{d}/spread", places)
    sh(f"{BIN}/imagezip -q -r {d}/spread {image}")
    print("table 3: one read in each page of the sector table, MB/s; the paper varies the page, which has 4 KB here, and reads 4 KB of each")
    print(f"  {'read':>6s} {'first':>8s} {'steady':>8s} {'NBD, file':>10s} {'file':>8s} {'lost':>7s}   (the paper's loss)")
    with served(*plain_file(f"{d}/spread")) as plain:
        for kib in (32, 16, 8, 4):
            blank(disk, places * FRAME_BYTES)
            with streaming(image, disk, fill="no", table=f"{d}/table", table_memory="1M") as (sock, _):
                # Something must stay absent, or the table is not asked any more: of each place the last KiBs are.
                with client(sock) as ours, client(plain) as nbd:
                    first = one_pass(ours.read, kib, places)
                    time.sleep(1)  # what was read is written to the disk
                    rates, processor, lost = table_in_turn(((ours.read, sock), (nbd.read, plain), (from_file(f"{d}/spread"), None)), kib, places, 3 * SECONDS)
            os.unlink(disk), os.unlink(f"{d}/table")
            paper = 1 - STREAM[f"table 3: {kib}: streaming"] / STREAM[f"table 3: {kib}: disk"]
            print(f"  {kib:3d} KB {first:8.1f} {rates[0]:8.1f} {rates[1]:10.1f} {rates[2]:8.1f} {100 * lost:5.1f} %   ({100 * paper:.0f} %); {processor[0]:6.1f} {processor[1]:6.1f} us of the processor", flush=True)
            results.append({"case": "table 3", "read_kib": kib, "first_mb_s": round(first, 2), "steady_mb_s": round(rates[0], 2),
                            "same_path_mb_s": round(rates[1], 2), "file_mb_s": round(rates[2], 2), "lost": round(lost, 4), "paper_lost": round(paper, 4),
                            "ours_processor_us": round(processor[0], 2), "same_path_processor_us": round(processor[1], 2)})
    os.unlink(f"{d}/spread"), os.unlink(image)


# Figures 4 and 5: all sectors are present.

OPERATIONS = {"write": "--rw=write", "rewrite": "--rw=write", "read": "--rw=read", "reread": "--rw=read",
              "random write": "--rw=randwrite", "random read": "--rw=randread"}


ROUNDS = 3


def nbd_path(sock):
    """One run of fio over NBD: megabytes a second, and milliseconds of the server's processor for a gigabyte."""
    def run(kib, *arguments):
        before = processor_s(sock)
        speed, requests = over_nbd(sock, f"--bs={kib}k", *arguments)
        return speed, 1e12 * (processor_s(sock) - before) / (requests * kib << 10)
    return run


def file_path(path):
    how = () if on_tmpfs(path) else ("--direct=1",)
    return lambda kib, *arguments: (fio("--ioengine=psync", f"--filename={path}", *how, f"--bs={kib}k", *arguments)[0], 0)


def in_turn(paths, kib, mib):
    """Each operation over each path, in turn, so that a machine whose speed drifts is fair to all.  Medians for each path, and of
    what the first one loses to the second one, turn by turn."""
    size, table = [f"--size={mib}M", f"--runtime={max(1, int(SECONDS / ROUNDS))}", "--time_based", "--iodepth=8"], {}
    for name, how in OPERATIONS.items():
        turns = [[run(kib, how, *size) for run in paths] for _ in range(ROUNDS)]
        speeds, processor = ([statistics.median(t[i][k] for t in turns) for i in range(len(paths))] for k in (0, 1))
        table[name] = speeds, processor, statistics.median(1 - t[0][0] / t[1][0] for t in turns)
    return table


def read_all(sock, size):
    """All but the last MiB, so that the table is still asked."""
    with client(sock) as nbd:
        for at in range(0, size - (1 << 20), 1 << 20):
            nbd.read(at, 1 << 20)


def figure_row(results, name, kib, speeds, processor, lost):
    print(f"  {name:14s} {kib:5d} KB {speeds[0]:9.1f} {speeds[1]:9.1f} {speeds[2]:9.1f}   {100 * lost:5.1f} % lost; "
          f"{processor[0]:6.0f} {processor[1]:6.0f}", flush=True)
    results.append({"case": "figures 4, 5", "operation": name, "record_kib": kib, "ours_mb_s": round(speeds[0], 2), "same_path_mb_s": round(speeds[1], 2),
                    "file_mb_s": round(speeds[2], 2), "lost": round(lost, 4), "ours_processor_ms_gb": round(processor[0], 1),
                    "same_path_processor_ms_gb": round(processor[1], 1)})


def figures(d, results):
    """Each operation over the disk that streams, the same path over a file, and the file, for each size of a record."""
    size, data, image, disk = MIB << 20, f"{d}/data", f"{d}/data.ndz", f"{d}/data-target"
    sh(f"head -c {size} /dev/urandom > {data}; {BIN}/imagezip -q -r {data} {image}")
    kibs = (4, 16, 64, 128, 512, 2048) if FULL else (4, 128, 1024)
    blank(disk, size)
    print(f"figures 4, 5: all sectors are present, {MIB} MiB, MB/s: ours, the same path over a file, the file; and milliseconds of the server's "
          "processor for a GB: ours, the same path")
    with streaming(image, disk, fill="no", table=f"{d}/table") as (sock, _), served(*plain_file(disk)) as plain:
        read_all(sock, size)
        paths = nbd_path(sock), nbd_path(plain), file_path(data)
        table = {k: in_turn(paths, k, MIB - 1) for k in kibs}
    for name in OPERATIONS:
        for k in kibs:
            figure_row(results, name, k, *table[k][name])
    plot.lines(f"{d}/5.svg", f"A disk whose sectors are all present, {MIB} MiB", "KB in a request", "MB/s", kibs,
               {f"{n}, {w}": [table[k][n][0][i] for k in kibs] for i, w in enumerate(("ours", "NBD, file")) for n in ("write", "read", "random write", "random read")})
    os.unlink(f"{d}/table")
    for f in (data, image, disk):
        os.unlink(f)


# Table 2: sectors over the network.

PROFILES = {
    "mail": ["--nrfiles=1000", "--filesize=16k", "--rw=randrw", "--bs=16k", "--fsync=1", "--file_service_type=random", "--openfiles=16", "--numjobs=4"],
    "web": ["--nrfiles=1000", "--filesize=16k", "--rw=randrw", "--rwmixread=91", "--bs=16k", "--file_service_type=random", "--openfiles=100", "--numjobs=4"],
    "database": ["--filesize=192M", "--rw=randrw", "--rwmixread=70", "--bs=8k", "--fsync=16", "--numjobs=2"],
}


@contextlib.contextmanager
def little_memory(mib):
    """Programs of this block have so much memory, with the page cache, where control groups can be made, of either version."""
    root, limit = "/sys/fs/cgroup", "memory.max"
    if not os.path.exists(f"{root}/cgroup.controllers"):
        root, limit = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
    group = f"{root}/paper-stream-{os.getpid()}"
    try:
        os.mkdir(group)
        with open(f"{group}/{limit}", "r+") as f:
            f.write(str(mib << 20))
    except OSError:
        with contextlib.suppress(OSError):
            os.rmdir(group)
        yield ""
        return
    try:
        yield f"echo $BASHPID > {group}/cgroup.procs; "
    finally:
        os.rmdir(group)


@contextlib.contextmanager
def mounted(sock, d):
    where, file = f"{d}/mnt", f"{d}/fuse"
    os.makedirs(where, exist_ok=True)
    blank(file, 0)
    p = subprocess.Popen(["nbdfuse", "-P", f"{d}/fuse.pid", file, f"nbd+unix:///?socket={sock}"])
    try:
        while not (os.path.exists(f"{d}/fuse.pid") and os.path.getsize(f"{d}/fuse.pid")):
            time.sleep(0.05)
        sh(f"mount -o loop {file} {where}")
        try:
            yield where
        finally:
            sh(f"umount {where}")
    finally:
        p.terminate()
        p.wait()
        os.unlink(f"{d}/fuse.pid")


def table_2(system, results):
    """One run has both figures: a remote root sends every request of the machine over the network, and streaming what it fetches."""
    d, disk = system.d, f"{system.d}/target"
    if os.geteuid() != 0 or not os.path.exists("/dev/fuse") or not shutil.which("nbdfuse"):
        print("table 2: mounting needs root, FUSE and nbdfuse: left out")
        return
    print(f"table 2: sectors over the network in {PROFILE_SECONDS} s (the paper: 600 s): remote root, read and written; streaming, read and written")
    for name, words in PROFILES.items():
        blank(disk, system.size)
        with streaming(system.image, disk, fill="no") as (sock, status), little_memory(500) as limited:
            with mounted(sock, d) as where:
                sh(f"mkdir {where}/work; ({limited}fio --name={name} --directory={where}/work {' '.join(words)} --time_based --runtime={PROFILE_SECONDS} --group_reporting > {d}/fio.log)")
            s = status()
        os.unlink(disk)
        paper = [STREAM[f"table 2: {name}: {w}"] for w in ("read", "written")]
        remote, ours = (s["read_bytes"] // 512, s["written_bytes"] // 512), s["fetched_bytes"] // 512
        print(f"  {name:10s} {remote[0]:10d} {remote[1]:10d}   {ours:10d} {0:6d}   (the paper's remote root: {paper[0]:.0f} and {paper[1]:.0f}){'' if limited else '; memory was not limited'}", flush=True)
        results.append({"case": "table 2", "profile": name, "seconds": PROFILE_SECONDS, "remote_read_sectors": remote[0], "remote_written_sectors": remote[1],
                        "streaming_read_sectors": ours, "streaming_written_sectors": 0, "memory_limited": bool(limited), "paper_remote": paper})
