"""Disks of a family, as a laboratory has them: standard systems, and what users made of them.

Four bases: two systems, each in two releases, whose files are this machine's own, chosen by the hash of their names; of a
second release some files are other builds, and some are others.  From each base many are derived: packages are added, which
several users may have chosen, files are changed, a few are removed, and something of the user's own is added.  All is chosen by seed.
Needs root (loop mounts).
"""
import hashlib, os, random, shutil, subprocess

SWAP = bytes.maketrans(b"\x01\x48", b"\x48\x01")        # another build of a program: bytes differ all over it
PACKAGES = 12


def pool():
    """Files that there are, with their sizes, in one order on every run."""
    files = []
    for top in ("/usr/bin", "/usr/lib", "/usr/share"):
        for folder, _, names in os.walk(top):
            for n in names:
                path = os.path.join(folder, n)
                if os.path.isfile(path) and not os.path.islink(path) and 0 < os.path.getsize(path) < 4 << 20:
                    files.append((path, os.path.getsize(path)))
    return sorted(files)


def chosen(files, key, most_bytes):
    """Of the files so many bytes, in the order of the hash of key and name."""
    taken, n = [], 0
    for path, size in sorted(files, key=lambda f: hashlib.sha1(f"{key}:{f[0]}".encode()).digest()):
        if n + size > most_bytes:
            break
        taken.append((path, size))
        n += size
    return taken


def copy(path, tree, change=None):
    to = tree + path
    os.makedirs(os.path.dirname(to), exist_ok=True)
    with open(path, "rb") as f:
        data = f.read()
    with open(to, "wb") as f:
        f.write(data.translate(change) if change else data)


def fill(tree, files, system, release, most_bytes):
    """The files of one release of a system."""
    r = random.Random(f"{system} {release}")
    for path, _ in chosen(files, f"system {system}", most_bytes):
        lot = r.random()
        if release == 0 or lot < 0.75:
            copy(path, tree)
        elif lot < 0.9:
            copy(path, tree, SWAP)
    if release > 0:
        for path, _ in chosen(files, f"new in {system} {release}", most_bytes // 10):
            copy(path, tree)


class Mounted:
    def __init__(self, disk, at):
        self.disk, self.at = disk, at

    def __enter__(self):
        subprocess.run(["mount", "-o", "loop", self.disk, self.at], check=True)
        return self.at

    def __exit__(self, *unused):
        subprocess.run(["umount", self.at], check=True)


def derive(at, files, seed, most_bytes):
    """What a user made of the base that is mounted there."""
    r = random.Random(seed)
    own = [os.path.join(d, n) for d, _, names in os.walk(at) for n in names]
    own.sort()
    for package in r.sample(range(PACKAGES), r.randint(1, 3)):
        for path, _ in chosen(files, f"package {package}", most_bytes // 20):
            copy(path, at)
    for path in r.sample(own, len(own) // 50):
        with open(path, "r+b") as f:
            f.seek(r.randrange(max(1, os.path.getsize(path))))
            f.write(r.randbytes(r.randint(10, 3000)))
    for path in r.sample(own, len(own) // 100):
        if os.path.exists(path):
            os.unlink(path)
    os.makedirs(at + "/home", exist_ok=True)
    with open(at + "/home/data", "wb") as f:
        f.write(r.randbytes(most_bytes // 100))


def family(folder, derived, mb):
    """Yields (group, name, path) of each disk: group "base" or "user".  The disk is there until the next one is asked for."""
    files, most_bytes = pool(), mb * 1_000_000
    at, tree, base, disk = (f"{folder}/{n}" for n in ("at", "tree", "base.ext4", "user.ext4"))
    os.makedirs(at, exist_ok=True)
    for system in range(2):
        for release in range(2):
            shutil.rmtree(tree, ignore_errors=True)
            os.makedirs(tree)
            fill(tree, files, system, release, most_bytes)
            with open(base, "wb") as f:
                f.truncate(3 * most_bytes >> 20 << 20)
            subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", "-E", "nodiscard,lazy_itable_init=0", "-d", tree, base], check=True)
            name = f"system{system}-{release}"
            yield "base", name, base
            for i in range(derived):
                subprocess.run(["cp", "--sparse=always", base, disk], check=True)
                with Mounted(disk, at):
                    derive(at, files, f"{name} {i}", most_bytes)
                yield "user", f"{name}-user{i:02}", disk
    shutil.rmtree(tree)
    for path in (base, disk):
        if os.path.exists(path):
            os.unlink(path)
