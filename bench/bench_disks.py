"""Benchmarks of images as disks: the plugin of nbdkit against qemu-nbd on a qcow2 that is compressed with zstd."""
import contextlib, os, random, shutil, statistics, subprocess, sys, tempfile, time

from bench_files import report
from measure import BIN, ROOTFS, RUNS, TOP, answer, run

sys.path.insert(0, os.path.join(TOP, "tests/helpers"))
from nbd_reads import Nbd

PLUGIN = os.path.join(TOP, "build/lib/nbdkit-ndz-plugin.so")
READ_BYTES, READS = 4096, 3000
SESSION_MBIT, SESSION_CLIENTS = 300, 8
MOST_MEDIAN_MS, MOST_99_MS = 20, 200     # of reads while a session comes


@contextlib.contextmanager
def served(f, command):
    """A server that is started anew, so that it has nothing in memory: its socket, and its process."""
    folder = tempfile.mkdtemp(dir=f.dir)
    sock = folder + "/nbd"
    p = subprocess.Popen([*command(sock)], stderr=subprocess.DEVNULL)
    try:
        for _ in range(1000):
            if os.path.exists(sock):
                break
            time.sleep(0.01)
        time.sleep(0.1)
        yield sock, p
    finally:
        p.terminate()
        p.wait()
        shutil.rmtree(folder)


def ours(f, image=None):
    image = image or f.need()
    return lambda sock: ("nbdkit", "-f", "-r", "-U", sock, PLUGIN, image)


def rival(f):
    path = f.dir + "/rival.qcow2"
    f.made(path, f"qemu-img convert -c -O qcow2 -o compression_type=zstd {ROOTFS} {path}")
    return lambda sock: ("qemu-nbd", "-r", "-t", "-e", "8", "-f", "qcow2", "-k", sock, path)


def places(f):
    """Where 4 KiB are read, the same for all: where the image stores something."""
    with served(f, ours(f)) as (sock, _):
        runs = answer("nbdinfo", "--map", "--json", f"nbd+unix:///?socket={sock}")
    stored = [r for r in runs if r["type"] == 0 and r["length"] >= READ_BYTES]
    r = random.Random(1)
    for run in r.choices(stored, [s["length"] for s in stored], k=READS):
        yield run["offset"] + r.randrange(run["length"] // READ_BYTES) * READ_BYTES


def read_all(sock, where, flight):
    nbd, todo = Nbd(sock), list(where)
    start = time.monotonic()
    while todo or nbd.asked:
        while todo and len(nbd.asked) < flight:
            nbd.ask(todo.pop(), READ_BYTES)
        assert nbd.answer()[2] is not None
    return time.monotonic() - start


def peak_bytes(p):
    with open(f"/proc/{p.pid}/status") as status:
        return next(int(l.split()[1]) << 10 for l in status if l.startswith("VmHWM"))


def in_turn(f, measure, image=None):
    """Medians of what measure(socket, process) says of each, run in turn."""
    got = ([], [])
    for _ in range(RUNS):
        for command, values in ((ours(f, image), got[0]), (rival(f), got[1])):
            with served(f, command) as (sock, p):
                values.append(measure(sock, p))
    return [statistics.median(v) for v in got]


def bench_random(f, flight, image=None, codec=""):
    where = list(places(f))
    a, b = in_turn(f, lambda sock, p: READS / read_all(sock, where, flight), image)
    report(f"disk: 4 KiB anywhere, {flight}{codec}", a, b, "qemu-nbd, qcow2 by zstd", "reads/s")


def bench_random_zstd(f):
    """A fragment that is compressed by zstd is four times as long, and a read decodes and proves all of it."""
    bench_random(f, 16, f.need_zstd(), ", zstd:3")


def bench_memory(f):
    where = list(places(f))

    def memory(sock, p):
        read_all(sock, where, 16)
        return peak_bytes(p) / 1e6
    a, b = in_turn(f, memory)
    report("disk: memory of that", a, b, "qemu-nbd, qcow2 by zstd", "MB", higher_is_better=False)


def bench_sequential(f):
    def seconds(sock, p):
        return run(f"nbdcopy 'nbd+unix:///?socket={sock}' null:")[0]
    a, b = in_turn(f, seconds)
    report("disk: all of it in order", a, b, "qemu-nbd, qcow2 by zstd", "s", higher_is_better=False)


def bench_mount(f):
    """Mounted, by FUSE and a loop device: find, and tar of all files."""
    def seconds(sock, p):
        where = tempfile.mkdtemp(dir=f.dir)
        try:
            return run(f"cd {where}; touch disk; mkdir m; nbdfuse -r -P pid disk 'nbd+unix:///?socket={sock}' & "
                       f"until [ -s {where}/pid ]; do sleep 0.01; done; mount -o ro,noload,loop {where}/disk {where}/m && "
                       f"find {where}/m > /dev/null && tar -C {where}/m -cf - . | cat > /dev/null; rc=$?; "
                       f"umount {where}/m; kill $(cat {where}/pid); wait; exit $rc")[0]
        finally:
            shutil.rmtree(where, ignore_errors=True)
    if os.geteuid() != 0:
        print("disk: mounting needs root")
        return
    a, b = in_turn(f, seconds)
    report("disk: mount, find, tar", a, b, "qemu-nbd, qcow2 by zstd", "s", higher_is_better=False)


def bench_session(f):
    """Reads while a session fills 8 clients: no rival does that, so the limits are what counts."""
    r = answer("bash", os.path.join(TOP, "bench/disks_session"), f.need_zstd(), SESSION_CLIENTS, f"{SESSION_MBIT}M")
    print(f"disk: while a session comes: the first read was answered after {r['open_s']:.2f} s; {r['tables']} fragment tables came in the "
          f"background in {r['tables_s']:.2f} s; median of the first 100 reads {r['early_ms']:.1f} ms; {r['reads']} reads, of which "
          f"{r['waited']} waited for the network; besides {r['urgent_mb']:.0f} MB were sent, of an image of {r['image_mb']:.0f} MB")
    report("disk: a read then, median", r["median_ms"], MOST_MEDIAN_MS, "what it may take", "ms", higher_is_better=False, runs=1)
    report("disk: 99 of 100", r["most_ms"], MOST_99_MS, "what it may take", "ms", higher_is_better=False, runs=1)


BENCHES = {
    "disks_random": lambda f: bench_random(f, 1),
    "disks_random16": lambda f: bench_random(f, 16),
    "disks_random_zstd": bench_random_zstd,
    "disks_memory": bench_memory,
    "disks_sequential": bench_sequential,
    "disks_mount": bench_mount,
    "disks_session": bench_session,
}
