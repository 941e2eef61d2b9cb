"""The two ends of bench/paper_dsync, on one machine: a source and a copy, a link between two network namespaces, and how each
method brings the copy to the state of the source."""
import os, resource, shutil, subprocess, sys, threading, time

from dsync_changes import BLOCK
from tracked import Tracked

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "build/bin"))
PORT, FAR = 7000, "10.77.0.2"
BITS = {"none": None, "1gbit": 1e9, "100mbit": 1e8}  # a second


def sh(command, **how):
    return subprocess.run(["bash", "-c", f"set -eo pipefail; {command}"], check=True, **how)


class Link:
    """Two namespaces with a link between them; what it carries is counted at the near end, with all headers."""

    def __init__(self, folder):
        self.script = f"{folder}/far"
        self.near, self.far = (f"dsync{os.getpid()}{end}" for end in "nf")
        for name in (self.near, self.far):
            sh(f"ip netns add {name} && ip -n {name} link set lo up")
        sh(f"ip -n {self.near} link add eth0 type veth peer name eth0 netns {self.far} && "
           f"ip -n {self.near} addr add 10.77.0.1/24 dev eth0 && ip -n {self.far} addr add {FAR}/24 dev eth0 && "
           f"ip -n {self.near} link set eth0 up && ip -n {self.far} link set eth0 up")

    def shape(self, rate):
        for name in (self.near, self.far):
            subprocess.run(["tc", "-n", name, "qdisc", "del", "dev", "eth0", "root"], stderr=subprocess.DEVNULL)
            if BITS[rate]:
                sh(f"tc -n {name} qdisc add dev eth0 root tbf rate {rate} burst 256k limit 1m")

    def carried(self):
        out = sh(f"ip netns exec {self.near} cat /sys/class/net/eth0/statistics/{{tx,rx}}_bytes", capture_output=True, text=True)
        return sum(int(n) for n in out.stdout.split())

    def listens(self):
        out = sh(f"ip netns exec {self.far} ss -Htln", capture_output=True, text=True)
        return f":{PORT} " in out.stdout

    def remove(self):
        for name in (self.near, self.far):
            sh(f"ip netns del {name}")


def busy():
    """Seconds that processors worked or waited for disks, and seconds in all, since the machine began."""
    with open("/proc/stat", encoding="ascii") as f:
        t = [int(x) for x in f.readline().split()[1:9]]
    return (sum(t) - t[3]) / os.sysconf("SC_CLK_TCK"), sum(t) / os.sysconf("SC_CLK_TCK")


class Trace(threading.Thread):
    """How busy the processors are, all together, and what the link has carried, a few times a second."""

    def __init__(self, link):
        super().__init__(daemon=True)
        self.link, self.ended, self.cpu, self.began = link, threading.Event(), [], time.monotonic()
        self.carried = [(0.0, link.carried())]

    def run(self):
        before = busy()
        while not self.ended.wait(0.2):
            now, at = busy(), time.monotonic() - self.began
            self.cpu.append((at, (now[0] - before[0]) / max(now[1] - before[1], 1e-9)))
            self.carried.append((at, self.link.carried()))
            before = now


def forget(*paths):
    """What the page cache has of these files."""
    for p in paths:
        fd = os.open(p, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def transfer(link, near, far, listening=True, trace=False):
    """Runs a shell command at each end: that of the far end has the connection as standard input and output, or waits for it
    itself.  Wall and processor seconds until both have ended, bytes that the link carried, and the trace."""
    if listening:
        with open(link.script, "w", encoding="ascii") as f:
            f.write(far + "\n")
        far = f"exec socat TCP-LISTEN:{PORT},reuseaddr EXEC:'bash {link.script}',nofork"
    end = subprocess.Popen(["ip", "netns", "exec", link.far, "bash", "-c", far])
    while not link.listens():
        if end.poll() is not None:
            sys.exit(f"paper_dsync: failed: {far}")
        time.sleep(0.02)
    cpu, carried, tracer = resource.getrusage(resource.RUSAGE_CHILDREN), link.carried(), Trace(link) if trace else None
    if tracer:
        tracer.start()
    start = time.monotonic()
    subprocess.run(["ip", "netns", "exec", link.near, "bash", "-c", f"set -eo pipefail; {near}"], check=True)
    if not listening:
        end.terminate()
    elif end.wait() != 0:
        sys.exit(f"paper_dsync: failed: {far}")
    wall = time.monotonic() - start
    end.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if tracer:
        tracer.ended.set()
        tracer.join()
    return wall, after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime, link.carried() - carried, tracer


def fill(path, size):
    with open(path, "wb") as f:
        for _ in range(0, size, 1 << 24):
            f.write(os.urandom(min(1 << 24, size - f.tell())))


def put(path, runs, data):
    """data() gives the bytes of each run."""
    with open(path, "r+b", buffering=0) as f:
        for first, n in runs:
            os.pwrite(f.fileno(), data(n * BLOCK), first * BLOCK)
        os.fsync(f.fileno())


def same(a, b, size, runs):
    """All of a small disk is compared, of a larger one what was changed and one MiB of 64."""
    if size <= 2 << 30:
        return subprocess.run(["cmp", a, b]).returncode == 0
    places = [(first * BLOCK, n * BLOCK) for first, n in runs] + [(at, 1 << 20) for at in range(0, size, 64 << 20)]
    with open(a, "rb") as f, open(b, "rb") as g:
        return all(os.pread(f.fileno(), n, at) == os.pread(g.fileno(), n, at) for at, n in places)


class Files:
    """A source that QEMU tracks, full of random bytes, and a full copy of it, made by dmextract and dmmerge."""

    def __init__(self, d, size):
        self.d, self.size, self.dev, self.copy = d, size, f"{d}/dev", f"{d}/copy"
        fill(self.dev, size)
        self.disk = Tracked(d, self.dev)
        self.disk.note("base", BLOCK)
        self.extract = f"{BIN}/dmextract -q --state={d}/state --since=nbd:base '{self.disk.uri}'"
        with self.disk.served():
            sh(f"{self.extract} | {BIN}/dmmerge -q --no-verify {self.copy} && {BIN}/dmextract -q --done --state={d}/state --since=nbd:base '{self.disk.uri}'")
        for name in ("state", "copy.dsync"):
            shutil.copy(f"{d}/{name}", f"{d}/{name}.kept")

    def change(self, runs):
        """New bytes for these runs of blocks; the old ones are kept."""
        self.runs = runs
        with open(self.dev, "rb") as f, open(f"{self.d}/undo", "wb") as old:
            for first, n in runs:
                old.write(os.pread(f.fileno(), n * BLOCK, first * BLOCK))
        self.disk.forget("base")
        with self.disk.writing() as path:
            put(path, runs, os.urandom)

    def take_back(self, path):
        with open(f"{self.d}/undo", "rb") as old:
            put(path, self.runs, old.read)

    def ends(self, method):
        """The commands of both ends, and whether the far one is given the connection."""
        to, there = f"> /dev/tcp/{FAR}/{PORT}", self.copy
        merge = f"exec {BIN}/dmmerge -q {{}} {there}"
        rsync = f"rsync --ignore-times --fsync {{}} {self.dev} rsync://{FAR}:{PORT}/all/copy"
        daemon = f"exec rsync --daemon --no-detach --port={PORT} --config={self.d}/rsyncd.conf"
        hashes = f"exec {sys.executable} -I -S {TOP}/bench/blockmd5"
        return {"dsync": (f"{self.extract} {to}", merge.format(""), True),
                "dsync-in-place": (f"{self.extract} {to}", merge.format("--in-place"), True),
                "hashes": (f"exec 3<> /dev/tcp/{FAR}/{PORT}; {hashes} near {self.dev} <&3 >&3", f"{hashes} far {there}", True),
                "rsync": (rsync.format(""), daemon, False),
                "rsync-in-place": (rsync.format("--inplace --no-whole-file"), daemon, False),
                "copy": (f"cat {self.dev} {to}", f"exec dd of={there} bs=1M iflag=fullblock conv=notrunc,fsync status=none", True)}[method]

    def run(self, link, method, trace=False):
        """The copy is brought to the state of the source, cold, and back again; what transfer() returns."""
        with open(f"{self.d}/rsyncd.conf", "w", encoding="ascii") as f:
            f.write(f"uid = root\ngid = root\nuse chroot = no\n[all]\npath = {self.d}\nread only = no\n")
        for name in ("state", "copy.dsync"):
            shutil.copy(f"{self.d}/{name}.kept", f"{self.d}/{name}")
        forget(self.dev, self.copy)
        near, far, listening = self.ends(method)
        with self.disk.served():
            found = transfer(link, near, far, listening, trace)
        if not same(self.dev, self.copy, self.size, self.runs):
            sys.exit(f"paper_dsync: {method}: the copy is wrong")
        self.take_back(self.copy)
        return found

    def undo(self):
        with self.disk.writing() as path:
            self.take_back(path)

    def remove(self):
        self.disk.end()
        shutil.rmtree(self.d)


class Snapshots:
    """The same disk as a file on btrfs, and a copy of its filesystem at the far end: btrfs send and receive, as the paper's ZFS."""

    def __init__(self, d, size):
        self.d, self.size, self.mounts = d, size, []
        for end in ("near", "far"):
            sh(f"truncate -s {size * 5 // 4 + (1 << 30)} {d}/{end}.img && mkfs.btrfs -q {d}/{end}.img > /dev/null 2>&1 && mkdir {d}/{end} && "
               f"mount -o loop,noatime {d}/{end}.img {d}/{end}")
            self.mounts.append(f"{d}/{end}")
        sh(f"btrfs subvolume create {d}/near/now > /dev/null")
        fill(f"{d}/near/now/dev", size)
        sh(f"btrfs subvolume snapshot -r {d}/near/now {d}/near/s0 > /dev/null && sync -f {d}/near && "
           f"btrfs send -q {d}/near/s0 | btrfs receive -q {d}/far && sync -f {d}/far")

    def change(self, runs):
        self.runs = runs
        put(f"{self.d}/near/now/dev", runs, os.urandom)
        sh(f"btrfs subvolume snapshot -r {self.d}/near/now {self.d}/near/s1 > /dev/null && sync -f {self.d}/near")

    def run(self, link):
        for end in self.mounts:
            sh(f"umount {end} && mount -o loop,noatime {end}.img {end}")
            forget(f"{end}.img")
        found = transfer(link, f"btrfs send -q -p {self.d}/near/s0 {self.d}/near/s1 > /dev/tcp/{FAR}/{PORT}",
                         f"btrfs receive -q {self.d}/far && sync -f {self.d}/far")
        if not same(f"{self.d}/near/s1/dev", f"{self.d}/far/s1/dev", self.size, self.runs):
            sys.exit("paper_dsync: btrfs: the copy is wrong")
        sh(f"btrfs subvolume delete -c {self.d}/far/s1 > /dev/null")
        return found

    def undo(self):
        """The next change begins at the first snapshot again."""
        sh(f"btrfs subvolume delete -c {self.d}/near/s1 {self.d}/near/now > /dev/null && "
           f"btrfs subvolume snapshot {self.d}/near/s0 {self.d}/near/now > /dev/null")

    def remove(self):
        for end in self.mounts:
            sh(f"umount {end}")
        shutil.rmtree(self.d)
