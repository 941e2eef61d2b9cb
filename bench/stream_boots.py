"""Machines that start: table 1 of the paper, how long it takes until somebody can log in, and recorded boots.

The system is a real Debian with a web, a mail and a database server (bench/rootfs), whose kernel and ramdisk QEMU starts, with
the root filesystem on a disk that streams over NBD: what `streamdisk bootimage` and kexec do on a machine.
"""
import contextlib, os, statistics, subprocess, time

from papers import STREAM
from stream_lab import BIN, FULL, SECTOR, TOP, Machine, blank, client, runs_of, served, sh, slow_web, streaming

PACKAGES = "systemd-sysv,udev,dbus,nginx-light,postfix,postgresql,openssh-server,python3,vim,man-db,locales"
SERVERS = {"web": "nginx", "mail": "postfix@-", "database": "postgresql@15-main"}
MASKED = ("nginx.service", "postfix.service", "postfix@-.service", "postgresql.service", "postgresql@15-main.service", "ssh.service")
LOGIN = r"login: "
LINK_BYTES = 12_500_000  # of a link of 100 Mbit/s, in a second
# A machine that QEMU emulates computes about so much slower than a real one: a replay goes faster than what was recorded.
FASTER = float(os.environ.get("FASTER", "10"))


class System:
    """The disk, its image, and its kernel, in a folder."""

    def __init__(self, d):
        self.d, self.disk, self.image = d, f"{d}/system.ext4", f"{d}/system.ndz"
        self.kernel, self.ramdisk = f"{d}/vmlinuz", f"{d}/initrd"
        subprocess.run([TOP + "/bench/rootfs", self.disk], check=True, env={**os.environ, "INCLUDE": PACKAGES})
        if not os.path.exists(self.image):
            # The tree was unpacked without its /dev, which the ramdisk needs as a place for its own.
            sh(f"debugfs -w -R 'mkdir /dev' {self.disk} 2> /dev/null")
            sh(f"{BIN}/imagezip -q {self.disk} {self.image}")
        for path, name in ((self.kernel, "vmlinuz"), (self.ramdisk, "initrd.img")):
            file = sh(f"debugfs -R 'ls -p /boot' {self.disk} 2> /dev/null | cut -d/ -f6 | grep '^{name}-' | tail -n 1").strip()
            sh(f"debugfs -R 'dump /boot/{file} {path}' {self.disk} 2> /dev/null")
        self.size = os.path.getsize(self.disk)
        self.boot_bytes = os.path.getsize(self.kernel) + os.path.getsize(self.ramdisk)

    def words(self, server):
        """Of the command line: no server but this one starts."""
        keep = {"web": ("nginx",), "mail": ("postfix",), "database": ("postgresql",)}.get(server, ())
        return " ".join(f"systemd.mask={m}" for m in MASKED if not m.startswith(keep or ("-",)))

    def start(self, sock, server, memory="1024"):
        """Start a machine until somebody can log in, and until this server has started, if one is named: the seconds."""
        m = Machine(sock, self.kernel, self.ramdisk, self.words(server), memory)
        try:
            wanted = [LOGIN] if server not in SERVERS else [LOGIN, f"Started .*{SERVERS[server]}"]
            return m.sees(*wanted)
        finally:
            m.end()


def record(system, name, server, memory="1024"):
    """Start a machine whose disk streams and has nothing yet: the record's path, its status, and the seconds."""
    path, disk = f"{system.d}/{name}.record", f"{system.d}/target"
    blank(disk, system.size)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    with streaming(system.image, disk, fill="no", record=path) as (sock, status):
        seconds = system.start(sock, server, memory)
        s = status()
    os.unlink(disk)
    return path, s, seconds


def table_1(system, results):
    """Returns the paths of the records."""
    paths = {}
    print("table 1: sectors that are read until the machine works, of those that the image stores")
    for name in os.environ.get("BOOTS", "login web mail database").split():
        paths[name], s, seconds = record(system, name, name)
        read = sum(n for _, n, _ in runs_of(paths[name])) * SECTOR
        if name == "login":
            row(results, "kernel and ramdisk", system.boot_bytes, s, 0)
        row(results, name, read + system.boot_bytes, s, seconds)
    return paths


def row(results, name, read, s, seconds):
    share, paper = 100 * read / s["stored_bytes"], STREAM[f"table 1: {name}: sectors"]
    print(f"  {name:20s} {share:6.2f} %   (the paper: {paper} %; {read / 1e6:.0f} of {s['stored_bytes'] / 1e6:.0f} MB, {seconds:.0f} s)", flush=True)
    results.append({"case": "table 1", "until": name, "percent": round(share, 3), "paper_percent": paper, "read_bytes": read,
                    "stored_bytes": s["stored_bytes"], "disk_bytes": s["disk_bytes"], "seconds": round(seconds, 1)})


def merged(system, name, records):
    path = f"{system.d}/{name}.order"
    sh(f"{BIN}/streamdisk -q --order={path} merge-records {' '.join(records)}")
    return path


# Replays of a boot.

def replay(nbd, runs):
    """Read what a machine read, in its order and with its pauses: milliseconds that each read took, and seconds in all."""
    waits, began, last_ms = [], time.monotonic(), 0
    for first, sectors, ms in runs:
        pause = (ms - last_ms) / 1000 / FASTER
        last_ms = ms
        if pause > 0:
            time.sleep(pause)
        at, left = first * SECTOR, sectors * SECTOR
        while left > 0:
            n, start = min(left, 1 << 20), time.monotonic()
            nbd.read(at, n)
            waits.append((time.monotonic() - start) * 1000)
            at, left = at + n, left - n
    return waits, time.monotonic() - began


def boots(system, paths, results):
    """A recorded boot, replayed behind a link of 100 Mbit/s: without an order, with the machine's own, with that of five others."""
    for name, server, memory in (("login2", "login", "1536"), ("login3", "login", "768"))[:2 if FULL else 1]:
        paths[name] = record(system, name, server, memory)[0]
    own = paths["login"]
    others = [p for n, p in paths.items() if n != "login"]
    orders = {"lazy": None, "none": "none", "own": merged(system, "own", [own]), f"of {len(others)} others": merged(system, "others", others)}
    print(f"recorded boots: reads of a boot at {LINK_BYTES * 8 // 1000000} Mbit/s, with a {FASTER:g}th of its pauses")
    print(f"  {'order':14s} {'there':>8s} {'median':>10s} {'99 of 100':>11s} {'most':>10s} {'in all':>9s}")
    runs, tails = runs_of(own), {}
    for name, order in orders.items():
        tails[name] = one_replay(system, name, order, runs, results)
    lazy, best = tails["lazy"], tails[f"of {len(others)} others"]
    print(f"  the 99th percentile of the wait with an order of others is {best / max(lazy, 1e-9):.2f} of lazy loading's (wanted: 0.1)")


def one_replay(system, name, order, runs, results):
    disk = f"{system.d}/target"
    blank(disk, system.size)
    how = {"fill": "no"} if order is None else {"order": order}
    with slow_web(system.image, LINK_BYTES) as url, streaming(url, disk, **how) as (sock, status):
        with client(sock) as nbd:
            waits, seconds = replay(nbd, runs)
        s = status()
    os.unlink(disk)
    there = 1 - (s["fetched_bytes"] + s["awaited_bytes"]) / s["read_bytes"]
    tail = statistics.quantiles(waits, n=100)[98]
    print(f"  {name:14s} {100 * there:7.1f} % {statistics.median(waits):7.2f} ms {tail:8.2f} ms {max(waits):7.1f} ms {seconds:7.1f} s", flush=True)
    results.append({"case": "recorded boots", "order": name, "share_there": round(there, 4), "median_ms": round(statistics.median(waits), 3),
                    "percentile_99_ms": round(tail, 3), "most_ms": round(max(waits), 3), "seconds": round(seconds, 2), "reads": len(waits),
                    "faster": FASTER, "ordered_bytes": s["ordered_bytes"], "fetched_bytes": s["fetched_bytes"],
                    "awaited_bytes": s["awaited_bytes"]})
    return tail


# How long until somebody can log in.

def logins(system, order, results):
    """At 100 Mbit/s: the whole disk is there; it streams, without an order and with one; it is loaded first."""
    disk = f"{system.d}/target"
    print("login at 100 Mbit/s")
    with served("--filter=cow", "file", system.disk) as sock:
        local = login_row(results, "the whole disk is there", system.start(sock, "login"), None)
    for name, how in (("it streams, no order", "none"), ("it streams, an order of others", order)):
        blank(disk, system.size)
        with slow_web(system.image, LINK_BYTES) as url, streaming(url, disk, order=how) as (sock, _):
            login_row(results, name, system.start(sock, "login"), local)
        os.unlink(disk)
    with slow_web(system.image, LINK_BYTES) as url:
        begun = time.monotonic()
        sh(f"curl -sf {url} | {BIN}/imageunzip -q - {disk}")
        loaded = time.monotonic() - begun
    os.unlink(disk)
    login_row(results, "it is loaded first", loaded + local, local)


def login_row(results, name, seconds, local):
    of = f"{seconds / local:6.2f} times" if local else ""
    print(f"  {name:32s} {seconds:8.1f} s {of}", flush=True)
    results.append({"case": "login", "disk": name, "seconds": round(seconds, 2), "times_local": round(seconds / local, 3) if local else 1})
    return seconds
