"""Benchmarks of dmextract and dmmerge, against what fio reads and writes on the same disk.

DSYNC_GIB=2 is the size of the device, a file of random bytes below build/bench, so on the disk that this folder is on.
Each row is of its own run, in turn with fio's, and the medians of RUNS are compared.
"""
import json, os, random, shlex, shutil, subprocess, sys

import dsync_tables
from bench_files import report
from dsync_changes import BLOCK, runs_of
from measure import BIN, RUNS, TOP, pairs, run, spend

GIB = float(os.environ.get("DSYNC_GIB", "2"))
EXTRACT_SHARE, JOURNAL_SHARE, IN_PLACE_SHARE = 0.95, 0.45, 0.90  # of fio's rate: what is wanted
CLAIMED_MB = 1000  # a second: where fio reads faster, its share is printed, and not wanted
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
    """The same reads by both: blocks at random, runs as a virtual machine's work has them, and all of the device.  KEEP and BUSY are
    those of bench_merge."""
    if not need("fio"):
        return
    d, r, rows = Device(), random.Random(1), []
    n = d.size // BLOCK
    lengths = [2, 3, 4, *[5] * 12, 6, 8, 16, 32, 64, 128, 639]
    clusters = set()
    while len(clusters) < n // 10:
        first = r.randrange(n)
        clusters.update(range(first, min(first + r.choice(lengths), n)))
    for name, runs in (("random", runs_of(r.sample(range(n), n // 10))), ("clustered", runs_of(clusters)), ("all", [[0, n]])):
        mb = d.lists(name, runs)
        extract = f"{BIN}/dmextract -q --since=ranges:{d.dir}/{name}.ranges {d.path} > /dev/null"
        a, b = pairs(extract, f"fio --name=x --read_iolog={d.dir}/{name}.fio --replay_no_stall=1 --ioengine=io_uring --iodepth=8 --direct=1")
        claim = "" if mb / b < CLAIMED_MB else ", where fio reads too fast for a claim"
        rows.append(dict(how=name, mb_per_second=mb / a, fio_mb_per_second=mb / b, bytes=int(mb * 1e6), **profile(extract, "true", d.dir)))
        report(f"dsync extract, {name}", mb / a, EXTRACT_SHARE * mb / b, f"{100 * EXTRACT_SHARE:.0f} % of fio, the same reads{claim}", "MB/s")
    dsync_tables.keep("dsync-extract", f"DSYNC_GIB={GIB:g} RUNS={RUNS} bench/run dsync_extract", dict(rows=rows), d.dir)
    d.remove()


PROFILED = {"[kernel.kallsyms]": "kernel", "libcrypto": "SHA-256", "libc.so": "copies in memory"}


def profile(command, before, folder):
    """A command alone: bytes that the disk read and wrote for it, seconds of processor, and where perf, if it is here, sees them."""
    run(before)
    p = subprocess.Popen(["bash", "-c", f"exec {command}"])
    _, status, usage = os.wait4(p.pid, 0)
    if status != 0:
        sys.exit(f"bench: failed: {command}")
    found = dict(read_bytes=usage.ru_inblock * 512, written_bytes=usage.ru_oublock * 512, cpu_seconds=usage.ru_utime + usage.ru_stime, shares={})
    if need("perf"):
        run(before)
        run(f"perf record -q -e cpu-clock -F 999 -o {folder}/perf -- bash -c {shlex.quote('exec ' + command)}")
        out = subprocess.run(["perf", "report", "-q", "-i", f"{folder}/perf", "--stdio", "-s", "dso", "-t", ";"], capture_output=True, text=True, check=True).stdout
        for line in out.splitlines():
            share, _, dso = line.partition(";")
            if dso:
                part = next((name for begins, name in PROFILED.items() if dso.strip().startswith(begins)), "the program itself")
                found["shares"][part] = found["shares"].get(part, 0) + float(share.strip().rstrip("%"))
    return found


def bench_merge(_):
    """A full copy is merged over another one: the journal is beside the copy, so on the same disk; then in place.  With KEEP=yes, the
    rates and the profile go to docs/dsync.md; BUSY=yes says that the rates mean nothing."""
    if not need("fio"):
        return
    d = Device()
    stream, copy, rows = d.dir + "/stream", d.dir + "/copy", []
    run(f"{BIN}/dmextract -q --since=scan:{d.dir}/state {d.path} > {stream} && sync {stream}")
    mb = d.size / 1e6
    run(f"cp --reflink=never {d.path} {copy} && sync {copy}")
    forget = f"rm -f {copy}.dsync; cat {stream} > /dev/null; sync"
    write = f"fio --name=x --filename={copy} --size={d.size} --rw=write --bs=1M --ioengine=io_uring --iodepth=8 --direct=1 --end_fsync=1"
    for name, options, share in (("journal", "", JOURNAL_SHARE), ("journal, not read back", "--no-verify", JOURNAL_SHARE),
                                 ("in place", "--in-place", IN_PLACE_SHARE), ("in place, not read back", "--in-place --no-verify", IN_PLACE_SHARE)):
        merge = f"{BIN}/dmmerge -q --force {options} {copy} < {stream}"
        a, b = pairs(merge, write, before=forget)
        report(f"dsync merge, {name}", mb / a, share * mb / b, f"{100 * share:.0f} % of fio's writes", "MB/s")
        rows.append(dict(how=name, wanted=share, mb_per_second=mb / a, fio_mb_per_second=mb / b, bytes=d.size, **profile(merge, forget, d.dir)))
    run(f"rm -f {copy}.dsync; {BIN}/dmmerge -q --force {copy} < {stream} && cmp {d.path} {copy}")
    dsync_tables.keep("dsync-merge", f"DSYNC_GIB={GIB:g} RUNS={RUNS} bench/run dsync_merge", dict(rows=rows), d.dir)
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
