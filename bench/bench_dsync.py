"""Benchmarks of dmextract and dmmerge, against what fio reads and writes on the same disk.

DSYNC_GIB=2 is the size of the device, a file of random bytes below build/bench, so on the disk that this folder is on.
Each row is of its own run, in turn with fio's, and the medians of RUNS are compared.
"""
import json, os, random, shutil

from bench_files import report
from dsync_changes import BLOCK, runs_of
from measure import BIN, TOP, pairs, run, spend

GIB = float(os.environ.get("DSYNC_GIB", "2"))
EXTRACT_SHARE, JOURNAL_SHARE, IN_PLACE_SHARE = 0.95, 0.45, 0.90  # of fio's rate: what is wanted
MEMORY_MB = 100  # of an extract of 10 TiB: what is allowed


class Device:
    """A file of random bytes, and lists of changed blocks of it for dmextract and for fio."""

    def __init__(self):
        self.dir = os.path.join(TOP, "build/bench/dsync")
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        self.path, self.size = self.dir + "/dev", int(GIB * 2**30) // BLOCK * BLOCK
        run(f"head -c {self.size} /dev/urandom > {self.path} && sync {self.path}")

    def lists(self, name, runs):
        """Runs of blocks (first, number) as ranges for dmextract, and as reads for fio: the same ones."""
        with open(f"{self.dir}/{name}.ranges", "w", encoding="ascii") as f:
            f.writelines(f"{first * 8} {n * 8}\n" for first, n in runs)
        with open(f"{self.dir}/{name}.fio", "w", encoding="ascii") as f:
            f.write(f"fio version 2 iolog\n{self.path} add\n{self.path} open\n")
            for first, n in runs:
                at, end = first * BLOCK, (first + n) * BLOCK
                while at < end:  # dmextract reads no further than to the next mebibyte
                    to = min(end, (at // 2**20 + 1) * 2**20)
                    f.write(f"{self.path} read {at} {to - at}\n")
                    at = to
            f.write(f"{self.path} close\n")
        return sum(n for _, n in runs) * BLOCK / 1e6

    def remove(self):
        shutil.rmtree(self.dir, ignore_errors=True)


def need(*programs):
    for p in programs:
        if not shutil.which(p):
            print(f"dsync: {p} is not here, so this row is left out")
            return False
    return True


def bench_extract(_):
    """The same reads by both: blocks at random, runs as a virtual machine's work has them, and all of the device."""
    if not need("fio"):
        return
    d, r = Device(), random.Random(1)
    n = d.size // BLOCK
    lengths = [2, 3, 4, *[5] * 12, 6, 8, 16, 32, 64, 128, 639]
    clusters = set()
    while len(clusters) < n // 10:
        first = r.randrange(n)
        clusters.update(range(first, min(first + r.choice(lengths), n)))
    for name, runs in (("random", runs_of(r.sample(range(n), n // 10))), ("clustered", runs_of(clusters)), ("all", [[0, n]])):
        mb = d.lists(name, runs)
        a, b = pairs(f"{BIN}/dmextract -q --since=ranges:{d.dir}/{name}.ranges {d.path} > /dev/null",
                     f"fio --name=x --read_iolog={d.dir}/{name}.fio --replay_no_stall=1 --ioengine=io_uring --iodepth=8 --direct=1")
        report(f"dsync extract, {name}", mb / a, EXTRACT_SHARE * mb / b, f"{100 * EXTRACT_SHARE:.0f} % of fio, the same reads", "MB/s")
    d.remove()


def bench_merge(_):
    """A full copy is merged over another one: the journal is beside the copy, so on the same disk; then in place."""
    if not need("fio"):
        return
    d = Device()
    stream, copy = d.dir + "/stream", d.dir + "/copy"
    run(f"{BIN}/dmextract -q --since=scan:{d.dir}/state {d.path} > {stream} && sync {stream}")
    mb = d.size / 1e6
    run(f"cp --reflink=never {d.path} {copy} && sync {copy}")
    forget = f"rm -f {copy}.dsync; cat {stream} > /dev/null; sync"
    write = f"fio --name=x --filename={copy} --size={d.size} --rw=write --bs=1M --ioengine=io_uring --iodepth=8 --direct=1 --end_fsync=1"
    for name, options, share in (("journal", "", JOURNAL_SHARE), ("in place", "--in-place", IN_PLACE_SHARE),
                                 ("in place, not read back", "--in-place --no-verify", IN_PLACE_SHARE)):
        a, b = pairs(f"{BIN}/dmmerge -q --force {options} {copy} < {stream}", write, before=forget)
        report(f"dsync merge, {name}", mb / a, share * mb / b, f"{100 * share:.0f} % of fio's writes", "MB/s")
    run(f"rm -f {copy}.dsync; {BIN}/dmmerge -q --force {copy} < {stream} && cmp {d.path} {copy}")
    d.remove()


def bench_memory(_):
    """An extract of 100,000 changed blocks of a device of 10 TiB, which is a sparse file."""
    folder = os.path.join(TOP, "build/bench/dsync")
    os.makedirs(folder, exist_ok=True)
    r = random.Random(10)
    run(f"truncate -s 10T {folder}/sparse")
    with open(folder + "/list", "w", encoding="ascii") as f:
        f.writelines(f"{b * 8} 8\n" for b in sorted(r.sample(range(10 << 28), 100000)))
    _, _, memory = spend(f"exec {BIN}/dmextract -q --since=ranges:{folder}/list {folder}/sparse > /dev/null")
    report("dsync memory, 10 TiB", memory / 1e6, MEMORY_MB, "the limit set", "MB", False, 1)
    shutil.rmtree(folder)


def bench_rsync(_):
    """What a virtual machine changes on 8 GiB: rsync against dsync, once, by bench/paper_dsync."""
    folder = os.path.join(TOP, "build/bench/paper-dsync")
    gib = os.environ.get("DSYNC_VM_GIB", "8")
    run(f"{TOP}/bench/paper_dsync {folder}", {"PARTS": "change", "PAPER_GB": gib, "BIN": BIN})
    with open(folder + "/dsync.json", encoding="utf-8") as f:
        rows = {x["method"]: x["seconds"] for x in json.load(f)["rows"] if x["case"] == "the paper's change" and x["link"] == "none"}
    report(f"dsync, {gib} GiB of a machine", rows["dsync"], rows["rsync-in-place"] / 100, "a hundredth of rsync's time", "s", False, 1)


BENCHES = dict(dsync_extract=bench_extract, dsync_merge=bench_merge, dsync_memory=bench_memory, dsync_vm=bench_rsync)
