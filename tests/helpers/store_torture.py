#!/usr/bin/env python3
"""Writers at one store that are killed at any moment: store_torture.py WRITERS KILLS SEED WORK IMAGE...
EMUSTORE is the store, BIN the folder of the programs.  With HOSTS each writer is a machine that has a cache of its own, and
MOMENT is within how many seconds commands are killed (0.4).  With FILL, a file on the store's disk, that file fills the disk by
turns: then put and gc may lack room, and everything else succeeds.  Each writer puts, gets and removes images of its own, and collects, while
verify runs all the time; most of its commands are killed, until there were KILLS.  An image that was put and not removed is there,
byte for byte, one that was being put is there wholly or not at all, and verify says 0 at every moment."""
import json, os, random, subprocess, sys, threading, time

writers, kills, seed, work = (int(a) if a.isdigit() else a for a in sys.argv[1:5])
images = sys.argv[5:]
moment = float(os.environ.get("MOMENT", "0.4"))
emustore = os.path.join(os.environ["BIN"], "emustore")
killed, verified, failures, lock = 0, 0, [], threading.Lock()


def say_wrong(text):
    with lock:
        failures.append(text)
        print("wrong:", text, flush=True)


def ended():
    return killed >= kills or failures


def lacks_room(rc, err):
    return "FILL" in os.environ and rc == 1 and (b"No space left" in err or b"full" in err)


def fill_and_free():
    """The disk is filled to its last block, and some of that is given back, at any moment."""
    r, block = random.Random(seed), bytes(1024)
    with open(os.environ["FILL"], "wb", buffering=0) as f:
        while not ended():
            try:
                while not ended() and f.write(block) == len(block):
                    pass
            except OSError:
                pass
            time.sleep(r.random() * 0.3)
            f.truncate(max(0, f.tell() - r.choice((1, 8, 12, 16, 20, 24, 32, 64, 300, 4000)) * 1024))
            f.seek(0, 2)
            time.sleep(r.random() * 0.3)
    os.unlink(os.environ["FILL"])


def machine(i):
    return dict(os.environ, EMUSTORE_CACHE=f"{work}/host{i}") if "HOSTS" in os.environ else None


def run(r, *args, env=None, may_die=True):
    """The exit status (None: it was killed) and what the command printed."""
    global killed
    p = subprocess.Popen([emustore, "-q", "--wait", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    if may_die and r.random() < 0.8:
        try:
            out, err = p.communicate(timeout=r.random() ** 2 * moment)
        except subprocess.TimeoutExpired:
            p.kill()
            p.communicate()
            with lock:
                killed += 1
            return None, b"", b""
    else:
        out, err = p.communicate()
    return p.returncode, out, err


def same(r, name, image, env):
    """Does the image come out as this file?  Gets are not killed."""
    path = f"{work}/{name.replace(':', '.')}"
    rc, _, err = run(r, "get", name, path, env=env, may_die=False)
    if rc == 0:
        with open(path, "rb") as a, open(image, "rb") as b:
            rc = 0 if a.read() == b.read() else 100
        os.unlink(path)
    return rc, err.decode()


class Writer(threading.Thread):
    """Knows of its names what must be there (True), and what may be."""
    def __init__(self, i):
        super().__init__()
        self.r, self.own, self.i, self.n = random.Random(f"{seed} {i}"), {}, i, 0
        self.env = machine(i)

    def put(self):
        self.n += 1
        name, image = f"w{self.i}-{self.n}", self.r.choice(images)
        rc, _, err = run(self.r, "put", name, image, env=self.env)
        slow = rc == 1 and b"grace period" in err       # of a bucket: the image was not made
        if rc not in (0, None) and not slow and not lacks_room(rc, err):
            say_wrong(f"put {name}: exit {rc}: {err.decode()}")
        self.own[name] = (image, rc == 0)

    def remove(self):
        if not self.own:
            return
        name = self.r.choice(sorted(self.own))
        image, sure = self.own[name]
        rc, _, err = run(self.r, "rm", name, env=self.env)
        if rc == 0:
            del self.own[name]
        elif rc is None:
            self.own[name] = (image, False)
        elif sure:
            say_wrong(f"rm {name}: exit {rc}: {err.decode()}")

    def get(self):
        if self.own:
            self.check(self.r.choice(sorted(self.own)))

    def check(self, name):
        image, sure = self.own[name]
        rc, err = same(self.r, name, image, self.env)
        if rc != 0 and (sure or "is not in the store" not in err):
            say_wrong(f"get {name}: exit {rc}: {err}")

    def collect(self):
        rc, _, err = run(self.r, "gc", *self.r.choice(([], ["--all"])), env=self.env)
        if rc not in (0, None) and not (rc == 1 and b"grace period" in err) and not lacks_room(rc, err):
            say_wrong(f"gc: exit {rc}: {err.decode()}")

    def run(self):
        while not ended():
            self.r.choices((self.put, self.remove, self.get, self.collect), (5, 2, 2, 1))[0]()


def verify_all_the_time():
    global verified
    r = random.Random(seed)
    while not ended():
        rc, _, err = run(r, "verify", env=machine("v"), may_die=False)
        verified += 1
        if rc != 0:
            say_wrong(f"verify: exit {rc}: {err.decode()}")


threads = [Writer(i) for i in range(writers)]
verifier = threading.Thread(target=verify_all_the_time)
filler = [threading.Thread(target=fill_and_free)] if "FILL" in os.environ else []
for t in (*threads, verifier, *filler):
    t.start()
for t in (*threads, verifier, *filler):
    t.join()
for t in threads:
    for name in t.own:
        t.check(name)
names = {n for t in threads for n in t.own}
listed = {i["name"] for i in json.loads(run(random.Random(seed), "list", "--json", may_die=False)[1])}
if listed - names - {"always"}:
    say_wrong(f"removed images are back: {listed - names}")
print(f"{killed} kills of {writers} writers, {verified} times verify, {sum(len(t.own) for t in threads)} images at the end")
sys.exit(1 if failures else 0)
