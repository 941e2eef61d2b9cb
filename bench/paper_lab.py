"""What of the Frisbee paper real programs can repeat on two cores: its tables 1 and 2, a few nodes of figure 3 over
namespaces, what servers cost (tables 5 and 6), and section 5.4, rsync that checks the data of all files.  Its machines and disks were others: the shares
and ratios are what can be compared.  The input is bench/rootfs's (ROOTFS), the page cache is the disk."""
import os, shutil, subprocess, tempfile

from measure import BIN, ROOTFS, TOP, answer, net, run
from papers import FRISBEE, published


def have(program):
    return shutil.which(program) is not None


def result(case, ours, paper=None, must=None, unit="s", least=False):
    ok = None if must is None else ours >= must if least else ours <= must
    return dict(case=case, paper=paper, ours=round(ours, 4), must=must, ok=ok, unit=unit, seeds=None, **published(paper))


def table_1(work):
    naive, aware = f"{work}/naive.ndz", f"{work}/image.ndz"
    naive_s, _ = run(f"{BIN}/imagezip -q -j2 -r {ROOTFS} {naive}")
    aware_s, _ = run(f"{BIN}/imagezip -q -j2 {ROOTFS} {aware}")
    saved = 1 - os.path.getsize(aware) / os.path.getsize(naive)
    os.unlink(naive)
    yield result("lab, table 1: saved by knowing the filesystem: size", saved, FRISBEE["table 1: saved, large: size"], 0, "of the naive image", True)
    yield result("lab, table 1: saved by knowing the filesystem: time", 1 - aware_s / naive_s, FRISBEE["table 1: saved, large: time"], unit="of the naive image's")


def table_2(work):
    image, disk = f"{work}/image.ndz", f"{work}/disk"
    seconds = {}
    for threads in (2, 1):
        for target, where in (("null", "/dev/null"), ("disk", disk)):
            alone = "-n -j1" if threads == 1 else "-j2"
            seconds[target, threads], _ = run(f"{BIN}/imageunzip -q {alone} {image} {where}")
            if target == "disk":
                os.unlink(disk)
    for (target, threads), s in seconds.items():
        yield result(f"lab, table 2: install to {target}, {threads} thread{'s' * (threads > 1)}", s)
    paper = 1 - FRISBEE["table 2: large, 2 threads: disk"] / FRISBEE["table 2: large, 1 thread: disk"]
    yield result("lab, table 2: threads save, to disk", 1 - seconds["disk", 2] / seconds["disk", 1], paper, unit="of the time")


def figure_3(work):
    for n in (1, 4, 8):
        # Nothing is kept: eight disks need not fit into memory.
        r = net("frisbee", n, work, f"{work}/image.ndz", TARGETS="null")
        yield result(f"lab, figure 3: {n} node{'s' * (n > 1)}", r["seconds"])
        yield result(f"lab, figure 3: {n} node{'s' * (n > 1)}: blocks sent", r["packets_sent"] * 1024 / os.path.getsize(f"{work}/image.ndz"), None, 1.1, "images")


def server_load(work):
    """Servers at the paper's rate, each of its own nodes: a tenth of the nodes, and less to load."""
    part, image = f"{work}/part", f"{work}/part.ndz"
    run(f"head -c 100M {ROOTFS} > {part}")
    run(f"{BIN}/imagezip -q -r {part} {image}")
    for servers in (1, 2, 4, 8):
        rate, cpu = FRISBEE[f"table 6: {servers}: data sent"], FRISBEE[f"table 6: {servers}: CPU"]
        r = answer(f"{TOP}/bench/servers", str(servers), "8", image, "-W", "70M")
        name = f"lab, table 6: {servers} server{'s' * (servers > 1)}, {8 // servers} node{'s' * (servers < 8)} each"
        yield result(f"{name}: data sent", r["sent_bytes"] / r["seconds"] / 1e6, rate, unit="MB/s")
        yield result(f"{name}: CPU", 100 * r["server_cpu_s"] / r["seconds"], cpu, cpu, "% of a processor")
    r = net("frisbee", 4, work, image, "-W", "70M", TARGETS="null", LATE="5")
    yield result("lab, table 5: half of the nodes 5 s late: data sent", r["packets_sent"] * 1024 / r["seconds"] / 1e6, FRISBEE["table 5: small, four groups: data sent"], unit="MB/s")
    cpu = FRISBEE["table 5: small, four groups: CPU"]
    yield result("lab, table 5: half of the nodes 5 s late: CPU", 100 * r["server_cpu"] / r["seconds"], cpu, cpu, "% of a processor")


def section_5_4(work):
    """The disk has all of it already: found out by rsync from the files, and by us from the fragments."""
    image, disk, a, b = f"{work}/image.ndz", f"{work}/disk", f"{work}/a", f"{work}/b"
    full, _ = run(f"{BIN}/imageunzip -q -j2 {image} {disk}")
    same, _ = run(f"{BIN}/imageunzip -q -j2 --skip-same --in-place {image} {disk}")
    yield result("lab, section 5.4: a full load", full, FRISBEE["section 5.4: a full load"])
    yield result("lab, section 5.4: --skip-same, nothing differs", same, None, full)
    if os.geteuid() != 0 or not have("rsync"):
        print("section 5.4: rsync needs root, for mounting: left out")
        return
    os.mkdir(a), os.mkdir(b)
    mounted = []
    try:
        for image, place in ((ROOTFS, a), (disk, b)):
            subprocess.run(["mount", "-o", "loop,ro,noload", image, place], check=True)
            mounted.append(place)
        hashed, _ = run(f"rsync -anc --delete {a}/ {b}/ > /dev/null")
        stamps, _ = run(f"rsync -an --delete {a}/ {b}/ > /dev/null")
    finally:
        for place in mounted:
            subprocess.run(["umount", place])
    yield result("lab, section 5.4: rsync by times and sizes", stamps, FRISBEE["section 5.4: rsync by times and sizes"])
    slow = FRISBEE["section 5.4: rsync that hashes all files"]
    yield result("lab, section 5.4: rsync that hashes all files", hashed, slow)
    yield result("lab, section 5.4: rsync that hashes, of a full load", hashed / full, slow / FRISBEE["section 5.4: a full load"], unit="times")
    yield result("lab, section 5.4: rsync that hashes, of --skip-same", hashed / same, None, 1, "times", True)


def results(word):
    """Those whose name may hold the word, one after the other."""
    parts = [("lab, table 1 2", (table_1, table_2)), ("lab, figure 3", (figure_3,)), ("lab, table 5 6", (server_load,)), ("lab, section 5.4", (section_5_4,))]
    if word and not any(word in name or name in word for name, _ in parts) and "lab" not in word:
        return
    if subprocess.run([TOP + "/bench/rootfs", ROOTFS]).returncode != 0:
        print(f"{ROOTFS} could not be made (bench/rootfs): what real programs do is left out")
        return
    work = tempfile.mkdtemp(prefix="paper.", dir="/dev/shm" if shutil.disk_usage("/dev/shm").free > 9 << 30 else None)
    try:
        run(f"cat {ROOTFS} > /dev/null")
        for name, some in parts:
            for part in some:
                for r in part(work):
                    if word in r["case"]:
                        yield r
    finally:
        shutil.rmtree(work, ignore_errors=True)
