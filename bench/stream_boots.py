"""Machines that start: table 1 of the paper, and how long it takes until somebody can log in or a service has started.

The system is a real Debian with a web, a mail and a database server (bench/rootfs), whose kernel and ramdisk QEMU starts, with
the root filesystem on a disk that streams over NBD: what `streamdisk bootimage` and kexec do on a machine.  What each boot reads
is recorded once, with the processor's time that it had taken until then, and stays in the folder.
"""
import bisect, contextlib, json, os, statistics, subprocess, sys, time

from dsync_lab import Link
from papers import STREAM
from stream_document import LINKS, NAMES, OTHERS
from stream_lab import BIN, SECTOR, TOP, Machine, blank, client, plain_file, runs_of, served, sh, streaming, web

PACKAGES = "systemd-sysv,udev,dbus,nginx-light,postfix,postgresql,openssh-server,python3,vim,man-db,locales"
# What is on the line that says that it has started, in the kernel's log: systemd itself says no more when the console has its getty.
SERVERS = {"web": "nginx", "mail": "Postfix Mail", "database": "PostgreSQL Cluster"}
MASKED = ("nginx.service", "postfix.service", "postfix@-.service", "postgresql.service", "postgresql@15-main.service", "ssh.service")
LOGIN = r"login: "
# The next version of the system has these packages anew: files of the same names in other places, as dpkg puts them.
NEXT = "bash base-files dbus libc6 libc-bin libssl3 libsystemd0 libudev1 nginx openssh-server perl-base postgresql-15 systemd udev"
# The machines that are recorded: what starts on each, its memory in MB, and the system.
BOOTS = {"login": ("login", 1024, "system"), "web": ("web", 1024, "system"), "mail": ("mail", 1024, "system"),
         "database": ("database", 1024, "system"), "large": ("login", 1536, "system"), "small": ("login", 768, "system"),
         "next": ("login", 1024, "next")}
# A machine that QEMU emulates computes about so much slower than a real one.
FASTER = float(os.environ.get("FASTER", "10"))
ROUNDS = int(os.environ.get("ROUNDS", "3"))
RATES = os.environ.get("RATES", "100mbit 1gbit").split()
TARGETS = os.environ.get("TARGETS", "login web mail database").split()
RECORDER_S = 900  # as stream/record/recorder.h has it


class System:
    """Disks, their images, and the kernel, in a folder."""

    def __init__(self, d):
        self.d, self.disk, self.image = d, f"{d}/system.ext4", f"{d}/system.ndz"
        self.kernel, self.ramdisk = f"{d}/vmlinuz", f"{d}/initrd"
        subprocess.run([TOP + "/bench/rootfs", self.disk], check=True, env={**os.environ, "INCLUDE": PACKAGES})
        if not os.path.exists(self.image):
            # The tree was unpacked without its /dev, which the ramdisk needs as a place for its own.
            sh(f"debugfs -w -R 'mkdir /dev' {self.disk} 2> /dev/null")
            for path, name in ((self.kernel, "vmlinuz"), (self.ramdisk, "initrd.img")):
                file = sh(f"debugfs -R 'ls -p /boot' {self.disk} 2> /dev/null | cut -d/ -f6 | grep '^{name}-' | tail -n 1").strip()
                sh(f"debugfs -R 'dump /boot/{file} {path}' {self.disk} 2> /dev/null")
            self.make_image("system")
        self.size = os.path.getsize(self.disk)
        self.boot_bytes = os.path.getsize(self.kernel) + os.path.getsize(self.ramdisk)

    def make_image(self, name):
        sh(f"{BIN}/imagezip -q {self.d}/{name}.ext4 {self.d}/{name}.new && mv {self.d}/{name}.new {self.d}/{name}.ndz")

    def image_of(self, name):
        """The image of the system, or of its next version, which is made when it is first asked for."""
        if not os.path.exists(f"{self.d}/{name}.ndz"):
            self.make_next(f"{self.d}/{name}.ext4")
            self.make_image(name)
        return f"{self.d}/{name}.ndz"

    def make_next(self, disk):
        anew = (f"dpkg-query -L {NEXT} | sort -u | while read -r f; do [ ! -f \"$f\" ] || [ -L \"$f\" ] || "
                "{ cp -a \"$f\" \"$f.dpkg-new\" && mv \"$f.dpkg-new\" \"$f\"; } || exit 1; done")
        sh(f"cp --sparse=always {self.disk} {disk}; at=$(mktemp -d); mount -o loop {disk} $at; "
           f"r=0; chroot $at bash -c '{anew}' || r=$?; umount $at; rmdir $at; exit $r")

    def words(self, server):
        """Of the command line: no server but this one starts."""
        keep = {"web": ("nginx",), "mail": ("postfix",), "database": ("postgresql",)}.get(server, ())
        return " ".join(f"systemd.mask={m}" for m in MASKED if not m.startswith(keep or ("-",)))

    def start(self, sock, server, memory):
        """Start a machine until somebody can log in, and until this server has started, if one is named.  Moments, and the
        processor's seconds that it has taken until each of them."""
        m = Machine(sock, self.kernel, self.ramdisk, self.words(server), str(memory))
        try:
            wanted = [LOGIN] if server not in SERVERS else [LOGIN, f"Started .*{SERVERS[server]}"]
            return m.sees(*wanted)
        finally:
            m.end()


class Boot:
    """A recorded boot: runs of sectors in the order of reading, with the processor's seconds until each read; those until the end;
    and the status of the disk at the end."""

    def __init__(self, d, name):
        self.name, self.path = name, f"{d}/{name}.record"
        with open(f"{d}/{name}.json", encoding="utf-8") as f:
            kept = json.load(f)
        self.status, moments, used = kept["status"], kept["moments"], kept["processor_s"]
        self.processor_s = used[-1]

        def until(t):
            i = bisect.bisect(moments, t)
            if i in (0, len(moments)):
                return used[-1] if i else 0
            share = (t - moments[i - 1]) / (moments[i] - moments[i - 1])
            return used[i - 1] + share * (used[i] - used[i - 1])
        self.steps = [(first * SECTOR, n * SECTOR, until(ms / 1000)) for first, n, ms in runs_of(self.path)]
        if self.steps[0][0] == 0:  # the firmware's read, before the kernel has started
            del self.steps[0]
        self.read_bytes = sum(n for _, n, _ in self.steps)


def recorded(system, name):
    """Start a machine whose disk streams and has nothing yet, if that was not done before."""
    d, disk = system.d, f"{system.d}/{name}.target"
    if not os.path.exists(f"{d}/{name}.json"):
        server, memory, of = BOOTS[name]
        image = system.image_of(of)
        blank(disk, system.size)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{d}/{name}.record")
        with streaming(image, disk, fill="no", record=f"{d}/{name}.record") as (sock, status):
            opened = time.monotonic()
            moments, used = system.start(sock, server, memory)
            s = status()
        os.unlink(disk)
        if moments[-1] - opened > RECORDER_S:
            sys.exit(f"paper_stream: the machine {name} took {moments[-1] - opened:.0f} s to start, and a record ends after {RECORDER_S} s")
        with open(f"{d}/{name}.new", "w", encoding="utf-8") as f:
            json.dump({"status": s, "moments": [round(m - opened, 3) for m in moments], "processor_s": [round(u, 4) for u in used]}, f)
        os.rename(f"{d}/{name}.new", f"{d}/{name}.json")
        print(f"  recorded: {name}, {used[-1]:.0f} s of the processor in {moments[-1] - opened:.0f} s", flush=True)
    return Boot(d, name)


def table_1(system, results):
    print("table 1: sectors that are read until the machine works, of those that the image stores")
    for name in ("login", *SERVERS):
        boot = recorded(system, name)
        if name == "login":
            row(results, "kernel and ramdisk", system.boot_bytes, boot.status, 0)
        row(results, name, boot.read_bytes + system.boot_bytes, boot.status, boot.processor_s)


def row(results, name, read, s, seconds):
    share, paper = 100 * read / s["stored_bytes"], STREAM[f"table 1: {name}: sectors"]
    print(f"  {name:20s} {share:6.2f} %   (the paper: {paper} %; {read / 1e6:.0f} of {s['stored_bytes'] / 1e6:.0f} MB, "
          f"{seconds:.0f} s of an emulated processor)", flush=True)
    results.append({"case": "table 1", "until": name, "percent": round(share, 3), "paper_percent": paper, "read_bytes": read,
                    "stored_bytes": s["stored_bytes"], "disk_bytes": s["disk_bytes"], "processor_s": round(seconds, 1)})


# Replays of a boot.

def merged(system, name, boots):
    path = f"{system.d}/{name}.order"
    sh(f"{BIN}/streamdisk -q --order={path} merge-records {' '.join(b.path for b in boots)}")
    return path


class Reads:
    """The times of reads, and of those that waited: something was fetched for them, or they waited for what was on its way."""

    def __init__(self, status=None):
        self.took, self.waits, self.status, self.absent = [], [], status, 0

    def note(self, took):
        self.took.append(took)
        if self.status:
            s = self.status()
            absent = s["fetched_bytes"] + s["awaited_bytes"]
            if absent > self.absent:
                self.waits.append(took)
            self.absent = absent


def kernel_starts(boot):
    """Until the first read, which is when its ramdisk has the disk."""
    time.sleep(boot.steps[0][2] / FASTER)


def replay(nbd, boot, reads):
    """Read what a machine has read, in its order, one read after the other; between them goes by a FASTERth of the processor's
    time that it took there."""
    used, ended = boot.steps[0][2], time.monotonic()
    for at, left, until in boot.steps:
        time.sleep(max(0, ended + (until - used) / FASTER - time.monotonic()))  # the status was asked for meanwhile
        used = until
        while left > 0:
            n, began = min(left, 1 << 20), time.monotonic()
            nbd.read(at, n)
            ended = time.monotonic()
            reads.note(ended - began)
            at, left = at + n, left - n
    time.sleep((boot.processor_s - used) / FASTER)


class Lab:
    """What replays need: the system, a link, and a web server at its far end."""

    def __init__(self, system, link):
        self.system, self.link, self.disk = system, link, f"{system.d}/target"

    def near(self, command):
        sh(f"ip netns exec {self.link.near} {command}")

    def local(self, boot):
        """All of the disk is there."""
        began, reads = time.monotonic(), Reads()
        sh(f"for f in {self.system.kernel} {self.system.ramdisk}; do dd if=$f of=/dev/null bs=1M iflag=direct status=none; done")
        kernel_starts(boot)
        with served(*plain_file(self.system.disk)) as sock, client(sock) as nbd:
            replay(nbd, boot, reads)
        return time.monotonic() - began, reads, {}

    def streamed(self, boot, url, how):
        blank(self.disk, self.system.size)
        began = time.monotonic()
        self.near(f"curl -sf -o /dev/null {url}/vmlinuz -o /dev/null {url}/initrd")
        kernel_starts(boot)
        starts = time.monotonic()
        with streaming(f"{url}/system.ndz", self.disk, netns=self.link.near, **how) as (sock, status):
            opened, reads = time.monotonic() - starts, Reads(status)
            with client(sock) as nbd:
                replay(nbd, boot, reads)
            found = time.monotonic() - began, reads, {**status(), "open_s": round(opened, 3)}
        os.unlink(self.disk)
        return found

    def loaded(self, url):
        """Seconds until the whole disk is there."""
        began = time.monotonic()
        sh(f"ip netns exec {self.link.near} curl -sf {url}/system.ndz | {BIN}/imageunzip -q - {self.disk}; sync {self.disk}")
        seconds = time.monotonic() - began
        os.unlink(self.disk)
        return seconds


HEADS = ("link", "until", "disk", "s", "times the local disk", "reads that need not wait, %", "sum of waits, s",
         "99 of 100 reads within, ms")


def found_row(results, rate, target, way, runs, local):
    """Medians of several runs, each of which has its seconds, its reads, and the status of its disk."""
    took = [t for _, reads, _ in runs for t in reads.took]
    f = {"seconds": statistics.median(s for s, _, _ in runs), "reads": len(runs[0][1].took),
         "waits": statistics.median(len(reads.waits) for _, reads, _ in runs),
         "waits_s": statistics.median(sum(reads.waits) for _, reads, _ in runs),
         "percentile_99_ms": 1000 * statistics.quantiles(took, n=100)[98], "most_ms": 1000 * max(took)}
    f["there"] = 1 - f["waits"] / f["reads"]
    last = {k: runs[-1][2].get(k) for k in ("fetched_bytes", "awaited_bytes", "ordered_bytes", "read_bytes", "open_s")}
    results.append({"case": "replay", "link": rate, "until": target, "disk": way, "runs": len(runs), "faster": FASTER, **f, **last})
    streams = way.startswith("streams")
    cells = (LINKS[rate], NAMES[target], way, f"{f['seconds']:.1f}", f"{f['seconds'] / (local or f['seconds']):.2f}",
             f"{100 * f['there']:.1f}" if streams else "", f"{f['waits_s']:.2f}" if streams else "", f"{f['percentile_99_ms']:.1f}")
    print("  " + " | ".join(cells), flush=True)
    return f


def orders_of(system, target, boots):
    """For each way to stream: how."""
    others = [b for n, b in boots.items() if n not in (target, "next")]
    return {"streams, lazily": {"fill": "no"}, "streams, no order": {"order": "none"},
            "streams, its own order": {"order": merged(system, f"{target}-own", [boots[target]])},
            OTHERS: {"order": merged(system, f"{target}-others", others)},
            "streams, another version's order": {"order": merged(system, "version", [boots["next"]])}}


def replays_at(lab, rate, target, boots, url, results):
    """The ways in turn, so that a machine whose speed drifts is fair to all."""
    boot, ways = boots[target], orders_of(lab.system, target, boots)
    runs = {"local disk": [], **{way: [] for way in ways}}
    for _ in range(ROUNDS):
        runs["local disk"].append(lab.local(boot))
        for way, how in ways.items():
            runs[way].append(lab.streamed(boot, url, how))
    local = found_row(results, rate, target, "local disk", runs.pop("local disk"), 0)["seconds"]
    load = lab.loaded(url)
    print(f"  {LINKS[rate]} | {NAMES[target]} | loaded, then started | {load + local:.1f} | {(load + local) / local:.2f}", flush=True)
    results.append({"case": "replay", "link": rate, "until": target, "disk": "loaded, then started", "seconds": load + local,
                    "load_s": load})
    found = {way: found_row(results, rate, target, way, r, local) for way, r in runs.items()}
    lazy, best = found["streams, lazily"], found[OTHERS]
    print(f"  with an order of others: {best['seconds'] / local:.2f} times the local disk (wanted: 1.3 at 1 Gbit/s), "
          f"{100 * best['there']:.1f} % of the reads need not wait (95), and they wait "
          f"{best['waits_s'] / max(lazy['waits_s'], 1e-9):.3f} of what lazy ones do (0.1)", flush=True)


def replays(system, results):
    boots = {name: recorded(system, name) for name in BOOTS}
    print(f"replays: a {FASTER:g}th of the processor's time, medians of {ROUNDS}: {'; '.join(HEADS)}")
    link = Link(system.d)
    try:
        with web(system.d, link) as url:
            for rate in RATES:
                link.shape(rate)
                for target in TARGETS:
                    replays_at(Lab(system, link), rate, target, boots, url, results)
    finally:
        link.remove()
