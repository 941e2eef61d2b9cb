"""What the benchmarks share: commands that are timed, the disks that they work on."""
import json, os, resource, statistics, subprocess, sys, time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.path.join(TOP, "build/bin")
STUDY = os.path.join(TOP, "build/plain/bench")
RUNS = int(os.environ.get("RUNS", "5"))
ROOTFS = os.environ.get("ROOTFS", os.path.join(TOP, "build/bench/rootfs.ext4"))
RELATED = ("base", "packages", "upgrade", "sources")
SIX = ("base", "upgrade", "moved", "frag", "rebuilt", "renamed")
# Of the disks that bench/families makes, in the order in which a store gets them.
FAMILIES = ("minimal-old", "minimal-next", "web-upgraded", "database-old", "web-old-anna", "development-old", "web-backports",
            "web-upgraded-bert", "database-upgraded-bert", "development-old-anna", "desktop-old", "desktop-old-anna")




def spend(command, env=None):
    """Wall seconds, CPU seconds (all processes), peak memory (bytes, the largest one) of a shell command."""
    start = time.monotonic()
    p = subprocess.Popen(["bash", "-c", "set -o pipefail; " + command], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, env={**os.environ, **(env or {})})
    out = p.stdout.read().decode(errors="replace")
    _, status, usage = os.wait4(p.pid, 0)
    if status != 0:
        sys.exit(f"bench: failed: {command}\n{out}")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def run(command, env=None):
    """Wall seconds and peak memory of a shell command."""
    wall, _, memory = spend(command, env)
    return wall, memory


def pairs(ours, rival, before=""):
    """Median wall seconds of both, run in turn; the first pair warms up."""
    a, b = [], []
    for i in range(RUNS + 1):
        for command, times in ((ours, a), (rival, b)):
            if before:
                run(before)
            t, _ = run(command)
            if i > 0:
                times.append(t)
    return statistics.median(a), statistics.median(b)


def answer(*command):
    """The JSON that a program prints."""
    p = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if p.returncode != 0:
        sys.exit(f"bench: failed: {' '.join(map(str, command))}\n{p.stdout}{p.stderr}")
    return json.loads(p.stdout)


def study(name, *arguments):
    """One of the small programs in this folder."""
    return answer(os.path.join(STUDY, name), *arguments)


def net(kind, clients, folder, file, *options, **env):
    """One run of bench/net: the figures that it prints as JSON.  A rival that fails may try twice more: udpcast
    waits for ever when the packets that begin a session are lost."""
    tries = 1 if kind in ("frisbee", "dolly") else 3
    for i in range(tries):
        out = subprocess.run([TOP + "/bench/net", kind, str(clients), folder, file, *options],
                             capture_output=True, text=True, env={**os.environ, **env})
        if out.returncode == 0:
            return json.loads(out.stdout.strip().splitlines()[-1])
        print(f"bench/net {kind} {clients} failed ({i + 1} of {tries} tries): {out.stdout.strip()}", flush=True)
    sys.exit(f"bench/net {kind} {clients} failed:\n{out.stdout}{out.stderr}")


def cpu_per_gb(figures):
    """Seconds of the server's CPU for a gigabyte that it sent."""
    return figures["server_cpu"] / (figures["packets_sent"] * 1024 / 1e9)


def related():
    """Filesystems of 1 GiB that have a past in common: their paths, in the order of RELATED."""
    folder = os.path.join(TOP, "build/bench/related")
    subprocess.run([TOP + "/bench/related", folder], check=True)
    return [f"{folder}/{n}.ext4" for n in RELATED]


def six():
    """Six filesystems of one family, whose files were changed, moved, and put into new ones: their paths, in the order of SIX."""
    folder = os.path.join(TOP, "build/bench/six")
    subprocess.run([TOP + "/bench/six", folder], check=True)
    return [f"{folder}/{n}.ext4" for n in SIX]


def families():
    """Twelve real Debian systems, in FAMILIES=DIR or build/bench/families: their paths, in the order of FAMILIES."""
    folder = os.environ.get("FAMILIES", os.path.join(TOP, "build/bench/families"))
    paths = [f"{folder}/{n}.ext4" for n in FAMILIES]
    if not all(map(os.path.exists, paths)):
        subprocess.run([TOP + "/bench/families", folder, *FAMILIES], check=True)
    return paths


def as_original(disk, image, scratch):
    """An image of a disk as the original programs write it."""
    run(f"{BIN}/imagezip -q -j2 -z 1 --windows=aligned {disk} {scratch} && {STUDY}/as_original {scratch} {image} && rm {scratch}")


def folder_bytes(folder):
    """But for room that a store has only set aside."""
    return sum(os.path.getsize(os.path.join(d, n)) for d, _, names in os.walk(folder) for n in names if n != "reserve")


def peak_memory(command, until, use="true"):
    """Bytes that a server needed at most, once the file `until` was there and the shell command `use` had ended."""
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    for _ in range(1200):
        if os.path.exists(until) and os.path.getsize(until) > 0:
            break
        if p.poll() is not None:
            sys.exit(f"bench: failed: {' '.join(command)}\n{p.stderr.read().decode()}")
        time.sleep(0.1)
    run(use)
    p.terminate()
    _, _, usage = os.wait4(p.pid, 0)
    p.returncode = 0
    return usage.ru_maxrss * 1024
