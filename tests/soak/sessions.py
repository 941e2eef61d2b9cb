"""COUNT sessions in a row (tests/soak/sessions.sh).

    sessions.py COUNT SEED

Each session loads an image onto some of the nodes. Meanwhile, by chance, a node is unplugged and its
controller tries it again, a disk fails, an image is replaced by another one of the same name, or the
controller is killed by SIGKILL and started anew. When the session has ended:

  * each node that is said to be done has the disk of the image, as it was at some moment of the session
  * a node that nothing happened to is done; only a node whose disk fails may have failed
  * no order, no frisbeed, no file of a session, and no process of a machine is left

Descriptors and memory of the controller are compared with those of its beginning.
"""
import hashlib, json, os, random, signal, subprocess, sys, time, urllib.error, urllib.request

COUNT, SEED = int(sys.argv[1]), int(sys.argv[2])
T, NET, STATE, URL, BIN = (os.environ[k] for k in ("T", "NET", "STATE", "URL", "BIN"))
MOST_S = 180	# for one session
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
    headers = {} if body is None else {"Content-Type": "application/json", "Authorization": "Bearer " + open(STATE + "/token").readline().strip()}
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


class Controller:
    def __init__(self):
        self.child, self.pid = None, int(open(T + "/controller.pid").read())
        self.begin()

    def begin(self):
        self.files = self.kb = None

    def kill_and_start(self):
        os.kill(self.pid, signal.SIGKILL)
        if self.child:
            self.child.wait()
        log = open(T + "/controller.log", "a")
        self.child = subprocess.Popen(["bash", "-c", "exec " + open(T + "/controller.command").read()], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.pid = self.child.pid
        open(T + "/controller.pid", "w").write(str(self.pid))
        self.begin()
        happened["controller killed"] += 1

    def look(self):
        """Descriptors and kB, when nothing runs."""
        files = len(os.listdir(f"/proc/{self.pid}/fd"))
        kb = int(next(line for line in open(f"/proc/{self.pid}/status") if line.startswith("VmRSS")).split()[1])
        if self.files is None:
            self.files, self.kb, self.since = files, kb, happened["sessions"]
        if files > self.files + 2:
            wrong(f"the controller has {files} descriptors, {self.files} at its beginning")
        n = happened["sessions"] - self.since
        if kb > self.kb + 4096 + 8 * n:
            wrong(f"the controller has {kb} kB after {n} sessions, {self.kb} kB at its beginning")


class Images:
    """Some images, of which each name has had several contents."""
    def __init__(self, names):
        self.contents = {name: [] for name in names}
        for name in names:
            self.replace(name)

    def replace(self, name):
        disk, new = f"{T}/disk.new", f"{NET}/images/.{name}.new"
        open(disk, "wb").write(chance.randbytes(1 << 20) + bytes([chance.randrange(256)]) * (1 << 20))
        subprocess.run([BIN + "/imagezip", "-q", "-r", disk, new], check=True)
        os.rename(new, f"{NET}/images/{name}")
        self.contents[name].append(sha(disk))


def processes(word):
    """Those of the server's network that have this name."""
    out = subprocess.run(["ps", "-e", "-o", "pid=,comm="], capture_output=True, text=True).stdout
    mine = os.readlink("/proc/self/ns/net")
    found = []
    for line in out.splitlines():
        pid, name = line.split(None, 1)
        try:
            if name == word and os.readlink(f"/proc/{pid}/ns/net") == mine:
                found.append(pid)
        except OSError:
            pass
    return found


def machine(node, name, text=None):
    path = f"{T}/machines/{node}/{name}"
    if text is None:
        if os.path.exists(path):
            os.unlink(path)
    else:
        open(path, "w").write(text)


def unplug(node):
    try:
        os.killpg(int(open(f"{T}/machines/{node}/pid").read()), signal.SIGKILL)
        happened["unplugged"] += 1
    except OSError:
        pass


def one_session(controller, images, nodes):
    chosen = sorted(chance.sample(nodes, chance.randint(1, len(nodes))))
    name = chance.choice(list(images.contents))
    broken = {n for n in chosen if chance.random() < 0.08}
    first = len(images.contents[name]) - 1
    for node in chosen:
        machine(node, "disk")
        machine(node, "broken", "100") if node in broken else machine(node, "broken")
    happened["disks that failed"] += len(broken)
    request = f"soak-{SEED}-{happened['sessions']}"
    body = {"nodes": ",".join(chosen), "image": name, "request": request, "tries": 3}
    session = call("POST", "/api/v1/sessions", body)
    plans = [p for p, share in (("unplug", 0.3), ("replace", 0.2), ("kill", 0.3)) if chance.random() < share]
    at = {p: time.monotonic() + chance.random() * 1.5 for p in plans}
    end = time.monotonic() + MOST_S
    while session["state"] == "running" and time.monotonic() < end:
        for plan in [p for p, t in at.items() if time.monotonic() >= t]:
            del at[plan]
            if plan == "unplug":
                unplug(chance.choice(chosen))
            elif plan == "replace":
                images.replace(name)
                happened["images replaced"] += 1
            else:
                controller.kill_and_start()
                if call("POST", "/api/v1/sessions", body)["id"] != session["id"]:
                    wrong(f"session {session['id']}: the same request has started another one")
        time.sleep(0.15)
        session = call("GET", f"/api/v1/sessions/{session['id']}")
    check_session(session, chosen, broken, images.contents[name][first:])
    happened["sessions"] += 1


def check_session(session, chosen, broken, contents):
    number = session["id"]
    if session["state"] != ("failed" if broken else "done"):
        wrong(f"session {number} is {session['state']}, with broken disks {sorted(broken)}: {session.get('last_words')}")
    members = {m["name"]: m for m in session["members"]}
    if sorted(members) != chosen:
        wrong(f"session {number} has the nodes {sorted(members)}, not {chosen}")
    for node, m in members.items():
        expected = "failed" if node in broken else "done"
        happened["nodes " + m["phase"]] = happened.get("nodes " + m["phase"], 0) + 1
        if m["phase"] != expected:
            wrong(f"session {number}: {node} is {m['phase']}, not {expected}: {m.get('last_words')}")
        if m["phase"] == "done" and sha(f"{T}/machines/{node}/disk") not in contents:
            wrong(f"session {number}: {node} is said to be done, and has a wrong disk")


def nothing_is_left(controller):
    for _ in range(100):
        left = os.listdir(NET + "/boot/orders") + [f for f in os.listdir(STATE) if f.startswith("session-")] + processes("frisbeed")
        if not left:
            break
        time.sleep(0.1)
    else:
        wrong(f"left over: {left}")
    controller.look()


def main():
    nodes = sorted(os.listdir(T + "/machines"))
    controller, images = Controller(), Images(["a.ndz", "b.ndz"])
    call("GET", "/api/v1/nodes")
    begun = time.monotonic()
    while happened["sessions"] < COUNT and bad < 10:
        one_session(controller, images, nodes)
        nothing_is_left(controller)
        if happened["sessions"] % 20 == 0:
            print(f"{time.monotonic() - begun:.0f} s: {happened}", flush=True)
    print(f"{time.monotonic() - begun:.0f} s: {happened}; controller: {controller.files} descriptors, {controller.kb} kB at its beginning")
    os.kill(controller.pid, signal.SIGTERM)
    if controller.child:
        controller.child.wait(30)
    sys.exit(bad != 0)


main()
