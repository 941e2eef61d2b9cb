"""COUNT sessions in a row, some of them at the same time (tests/soak/sessions.sh).

    sessions.py COUNT SEED

Each session loads an image onto some of the nodes.  Meanwhile, by chance, a node is unplugged and its
controller tries it again, a disk fails, an image is replaced by another one of the same name, or the
controller is killed by SIGKILL and started anew.  When the session has ended:

  * each node that is said to be done has the disk of the image, as it was at some moment of the session
  * a node that nothing happened to is done; only a node whose disk fails may have failed
  * no order of the session is left

After each 50 sessions none runs for a moment.  Then no frisbeed, no file of one and no process of a machine is left, and
the controller, its mfrisbeed and the starter of that have the descriptors and the memory that they had at their beginning.
"""
import hashlib, json, os, random, signal, subprocess, sys, time, urllib.error, urllib.request

COUNT, SEED = int(sys.argv[1]), int(sys.argv[2])
T, NET, STATE, URL, BIN = (os.environ[k] for k in ("T", "NET", "STATE", "URL", "BIN"))
AT_ONCE = 8
QUIET_EVERY = 50
KILLED, OF = 100, 500	# of 500 sessions, the first 100 see controllers die: one has to live long enough to show a leak
LOOKED_AT = ("controllerd", "mfrisbeed", "starter")
MOST_S = 240	# for one session
KB_A_SESSION = 24	# those that have ended last are kept in memory, up to a hundred
chance = random.Random(SEED)
http = urllib.request.build_opener(urllib.request.ProxyHandler({}))
bad = 0
happened = {"sessions": 0, "nodes done": 0, "nodes failed": 0, "unplugged": 0, "disks that failed": 0, "images replaced": 0, "controller killed": 0}


def wrong(what):
    global bad
    bad += 1
    print("FAIL:", what, flush=True)


def call(method, path, body=None):
    """What the controller answers, as often as it takes until it does: it may be dead just now."""
    headers = {} if body is None else {"Content-Type": "application/json", "Authorization": "Bearer " + open(STATE + "/token").readline().split()[1]}
    for _ in range(300):
        try:
            request = urllib.request.Request(URL + path, None if body is None else json.dumps(body).encode(), headers, method=method)
            with http.open(request, timeout=10) as a:
                return json.loads(a.read())
        except urllib.error.HTTPError as e:
            text = e.read().decode(errors="replace")
            if e.code < 500:
                raise SystemExit(f"FAIL: {method} {path}: {e.code}: {text}")
        except (OSError, ValueError):
            pass
        time.sleep(0.1)
    raise SystemExit(f"FAIL: {method} {path}: no answer for half a minute")


def sha(path):
    try:
        return hashlib.sha256(open(path, "rb").read()).hexdigest()
    except OSError:
        return ""


class Look:
    """Descriptors and memory of a process, looked at when no session runs."""
    def __init__(self, name):
        self.name, self.pid, self.most_files, self.most_growth, self.longest = name, None, 0, 0, 0

    def look(self, pid):
        files = len(os.listdir(f"/proc/{pid}/fd"))
        kb = int(next(line for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS")).split()[1])
        if pid != self.pid:
            self.pid, self.files, self.kb, self.since = pid, files, kb, happened["sessions"]
        n = happened["sessions"] - self.since
        if files > self.files + 2:
            wrong(f"{self.name} has {files} descriptors, {self.files} at its beginning")
        if kb > self.kb + 2048 + KB_A_SESSION * min(n, 100):
            wrong(f"{self.name} has {kb} kB after {n} sessions, {self.kb} kB at its beginning")
        if n > self.longest:
            self.longest, self.most_growth = n, kb - self.kb
        self.most_files = max(self.most_files, files)

    def said(self):
        return f"{self.name}: at most {self.most_files} descriptors; {self.most_growth:+} kB in {self.longest} sessions without a kill"


class Controller:
    """The process: it is killed and started anew."""
    def __init__(self):
        self.child, self.pid = None, int(open(T + "/controller.pid").read())

    def kill_and_start(self):
        os.kill(self.pid, signal.SIGKILL)
        if self.child:
            self.child.wait()
        log = open(T + "/controller.log", "a")
        self.child = subprocess.Popen(["bash", "-c", "exec " + open(T + "/controller.command").read()], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self.child.pid
        open(T + "/controller.pid", "w").write(str(self.pid))
        happened["controller killed"] += 1


class Images:
    """Some images, of which each name has had several contents."""
    def __init__(self, names):
        self.contents = {name: [] for name in names}
        for name in names:
            self.replace(name)

    def replace(self, name):
        disk, new = f"{T}/disk.new", f"{NET}/images/.{name}.new"
        open(disk, "wb").write(chance.randbytes(1 << 18) + bytes([chance.randrange(256)]) * (3 << 18))
        subprocess.run([BIN + "/imagezip", "-q", "-r", disk, new], check=True)
        os.rename(new, f"{NET}/images/{name}")
        self.contents[name].append(sha(disk))


def machine(node, name, text=None):
    path = f"{T}/machines/{node}/{name}"
    if text is None:
        if os.path.exists(path):
            os.unlink(path)
    else:
        open(path, "w").write(text)


def unplug(node):
    try:
        pid = int(open(f"{T}/machines/{node}/pid").read())
        if b"helpers/machine" in open(f"/proc/{pid}/cmdline", "rb").read():
            os.killpg(pid, signal.SIGKILL)
            happened["unplugged"] += 1
    except OSError:
        pass


class Session:
    """One session, from its request until nothing of it is left."""
    def __init__(self, number, images, free):
        self.chosen = sorted(chance.sample(free, chance.randint(1, min(len(free), 4))))
        self.image = chance.choice(list(images.contents))
        self.broken = {n for n in self.chosen if chance.random() < 0.08}
        self.images, self.first = images, len(images.contents[self.image]) - 1
        for node in self.chosen:
            machine(node, "disk")
            machine(node, "broken", "100" if node in self.broken else None)
        happened["disks that failed"] += len(self.broken)
        self.body = {"nodes": ",".join(self.chosen), "image": self.image, "request": f"soak-{SEED}-{number}", "tries": 4}
        self.seen = call("POST", "/api/v1/sessions", self.body)
        self.id = self.seen["id"]
        shares = {"unplug": 0.3, "replace": 0.2, "kill": 0.5 if number % OF < KILLED else 0}
        self.begun, self.over = time.monotonic(), None
        self.plans = {plan: self.begun + chance.random() * 1.5 for plan, share in shares.items() if chance.random() < share}

    def same_request(self):
        if call("POST", "/api/v1/sessions", self.body)["id"] != self.id:
            wrong(f"session {self.id}: the same request has started another one")

    def due(self):
        """The plan whose time has come, or None."""
        for plan, at in self.plans.items():
            if time.monotonic() >= at:
                del self.plans[plan]
                return plan
        return None

    def ended(self):
        """True when it has ended and was judged, and nothing of it is left."""
        if self.over is None:
            self.seen = call("GET", f"/api/v1/sessions/{self.id}")
            if self.seen["state"] == "running" and time.monotonic() < self.begun + MOST_S:
                return False
            self.judge()
            self.over = time.monotonic()
        left = [o for o in map(order_of, self.chosen) if os.path.exists(o)]
        if left and time.monotonic() < self.over + 15:
            return False
        if left:
            wrong(f"session {self.id}: left over: {left}")
        happened["sessions"] += 1
        return True

    def judge(self):
        expected = "failed" if self.broken else "done"
        if self.seen["state"] != expected:
            wrong(f"session {self.id} is {self.seen['state']}, with broken disks {sorted(self.broken)}: {self.seen.get('last_words')}")
        members = {m["name"]: m for m in self.seen["members"]}
        if sorted(members) != self.chosen:
            wrong(f"session {self.id} has the nodes {sorted(members)}, not {self.chosen}")
        for node, m in members.items():
            self.judge_node(node, m)

    def judge_node(self, node, m):
        expected = "failed" if node in self.broken else "done"
        happened["nodes " + m["phase"]] = happened.get("nodes " + m["phase"], 0) + 1
        if m["phase"] != expected:
            wrong(f"session {self.id}: {node} is {m['phase']}, not {expected}: {m.get('last_words')}")
        if m["phase"] == "done" and sha(f"{T}/machines/{node}/disk") not in self.images.contents[self.image][self.first:]:
            wrong(f"session {self.id}: {node} is said to be done, and has a wrong disk")


def order_of(node):
    return f"{NET}/boot/orders/52-54-00-00-00-{int(node[4:]):02x}.ipxe"


def obey(plan, session, controller, running):
    if plan == "unplug":
        unplug(chance.choice(session.chosen))
    elif plan == "replace":
        session.images.replace(session.image)
        happened["images replaced"] += 1
    else:
        controller.kill_and_start()
        for s in running:
            s.same_request()


def processes():
    """Those in the networks of this lab."""
    lists = [subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True).stdout for name in os.listdir("/run/netns")]
    return " ".join(lists).split()


def named():
    """The processes in the lab's networks, by name, without this program's own."""
    found = {}
    for pid in processes():
        try:
            found.setdefault(open(f"/proc/{pid}/comm").read().strip(), []).append(int(pid))
        except OSError:
            continue
    return {name: [p for p in pids if p != os.getpid()] for name, pids in found.items()}


def others():
    """The names of those that are neither the controller, its mfrisbeed, the starter nor this program's own."""
    return [name for name, pids in named().items() if pids and name not in (*LOOKED_AT, "ip", "bash")]


def served():
    """The files of its mfrisbeed."""
    try:
        return os.listdir(STATE + "/mfrisbeed")
    except OSError:
        return []


def quiet(looks):
    """Nothing runs: is anything left?"""
    for _ in range(100):
        left = os.listdir(NET + "/boot/orders") + [f for f in served() if f.startswith("session-")] + others()
        if not left:
            break
        time.sleep(0.1)
    else:
        wrong(f"left over: {left}")
    for look in looks:
        for pid in named().get(look.name, []):
            look.look(pid)


def go(controller, images, nodes, looks):
    """All sessions, AT_ONCE of them at the same time, on nodes of their own."""
    running, begun, looked = [], 0, 0
    start = time.monotonic()
    while happened["sessions"] < COUNT and bad < 10:
        taken = {n for s in running for n in s.chosen}
        free = [n for n in nodes if n not in taken]
        if len(running) < AT_ONCE and begun < min(COUNT, looked + QUIET_EVERY) and free:
            running.append(Session(begun, images, free))
            begun += 1
        for s in running:
            while (plan := s.due()) is not None:
                obey(plan, s, controller, running)
        running = [s for s in running if not s.ended()]
        if not running and begun >= min(COUNT, looked + QUIET_EVERY):
            looked = begun
            quiet(looks)
            print(f"{time.monotonic() - start:.0f} s: {happened}", flush=True)
        time.sleep(0.05)
    took = time.monotonic() - start
    print(f"{took:.0f} s, {took / max(1, happened['sessions']):.2f} s a session: {happened}; {'; '.join(look.said() for look in looks)}", flush=True)


def main():
    controller, images, looks = Controller(), Images(["a.ndz", "b.ndz"]), [Look(name) for name in LOOKED_AT]
    call("GET", "/api/v1/nodes")
    quiet(looks)
    go(controller, images, sorted(os.listdir(T + "/machines")), looks)
    os.kill(controller.pid, signal.SIGTERM)
    if controller.child:
        controller.child.wait(30)
    sys.exit(bad != 0)


main()
