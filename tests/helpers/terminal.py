"""The programs that run long, on terminals: terminal.py BIN FOLDER KEPT [only PART...]

FOLDER has disk, other (a disk that differs a little) and disk.ndz.  Each program runs on a terminal of 80 and of 120
columns, on one that cannot draw and wants no colour, and without one, and what is seen is compared with the
file KEPT: what stays is the same everywhere, and what stands there for a while is there only where it can be drawn,
and is removed.  On a terminal of 40 columns lines are cut."""
import fcntl, os, pty, re, signal, struct, subprocess, sys, termios, threading, time
import kept
from screen import Screen

BIN, FOLDER, KEPT = sys.argv[1:4]
ONLY = sys.argv[4:]
PATIENCE_S = 120
SHORT = "linger=0.2,neighbour=0.05,statistics=0.1,absent=0.2,hold=0.1"
# The form of a progress line in bytes, of growfs' step, of swapin's, and of the rows of frisbeed's table.
FORMS = (r"[a-z]+: [ \d]{2}\d %  \d[\d.]* [kMGT]?B, \d[\d.]* [kMGT]?B/s, (\d+:)?\d+:\d\d left",
         r"[a-z]+: \d[\d.]* [kMGT]?B, \d[\d.]* [kMGT]?B/s",
         r"growfs: [a-z0-9]+ grows from \d[\d.]* [kMGT]?B to \d[\d.]* [kMGT]?B",
         r"swapin: [ \d]{2}\d %  \d+ of \d+ nodes done, \d+\.\d Mbit/s(, (\d+:)?\d+:\d\d left)?",
         r"\S+  \S+  \d+\.\d Mbit/s  clients \d+  .*", r" {4}\S+ .*")
# What else the table says of a client that loads, on a machine that is slow.
LOADS = r"^(N\.N:N) (slow link|slow disk|flushing|left|gone) "
bad = []
said = threading.Lock()


def fail(what):
    with said:
        bad.append(what)
        print("FAIL: " + what, flush=True)


def until(what, question):
    end = time.monotonic() + PATIENCE_S
    while not question():
        if time.monotonic() > end:
            raise TimeoutError(what)
        time.sleep(0.02)


class Running:
    """A program on a terminal of its own, or with pipes."""
    def __init__(self, look, words):
        self.look, self.words, self.got = look, words, b""
        if look.columns:
            self.fd, other = pty.openpty()
            fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, look.columns, 0, 0))
            mode = termios.tcgetattr(other)
            mode[1] &= ~termios.OPOST
            termios.tcsetattr(other, termios.TCSANOW, mode)
        else:
            self.fd, other = os.pipe()
        reads = other if look.columns else subprocess.DEVNULL
        self.child = subprocess.Popen(words, cwd=look.folder, env=look.env, stdin=reads, stdout=other, stderr=other, start_new_session=True)
        os.close(other)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        while True:
            try:
                piece = os.read(self.fd, 65536)
            except OSError:	# as a terminal ends
                piece = b""
            if not piece:
                return
            self.got += piece

    def says(self, text):
        """Wait until it has said this."""
        until(f"{self.look.name}: {self.words[0]} says {text!r}", lambda: text.encode() in self.got or self.child.poll() is not None)

    def end(self, wanted=0, signal_number=0):
        """What it has said, when it has ended with this exit status."""
        if signal_number:
            self.child.send_signal(signal_number)
        try:
            status = self.child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.child.kill()
            status = "none"
        self.reader.join(10)
        os.close(self.fd)
        if status != wanted:
            fail(f"{self.look.name}: {' '.join(self.words)}: exit status {status}: {self.got[-300:]!r}")
        return self.got.decode()


class Look:
    def __init__(self, number, name, columns, draws, **env):
        self.number, self.name, self.columns, self.draws = number, name, columns, draws
        self.folder = os.path.join(FOLDER, name.replace(" ", "-"))
        self.text = kept.read(KEPT)
        self.counted = 0
        os.makedirs(self.folder + "/run")
        self.env = {"PATH": BIN + ":" + os.environ["PATH"], "TERM": "xterm", "LC_ALL": "C.UTF-8", "TMPDIR": FOLDER, "EMUSTORE": "store",
                    "XDG_RUNTIME_DIR": self.folder + "/run", "FRISBEE_TEST_TIMES": SHORT, **env}

    def port(self, i):
        return str(int(os.environ["PORT"]) + 20 * self.number + i)

    def path(self, name):
        return os.path.join(self.folder, name)

    def begin(self, *words):
        return Running(self, words)

    def run(self, part, *words):
        self.judge(part, self.begin(*words).end())

    def aside(self, *words, **more):
        """Nobody sees this one."""
        return subprocess.run(words, cwd=self.folder, env=self.env, capture_output=True, **more)

    def shell(self, command):
        self.aside("sh", "-c", command, check=True)

    def judge(self, part, text):
        """Compare with what is kept of this part."""
        screen = Screen()
        screen.feed(text)
        self.counted += 1
        where = f"{self.name}: {part}: "
        if screen.strange:
            fail(where + "no terminal is told " + ", ".join(sorted(set(screen.strange))))
        if not self.draws and ("\x1b" in text or "\r" in text):
            fail(where + f"it draws where nothing can be drawn: {text!r}")
        if screen.rows[-1] or screen.x:
            fail(where + f"the last line is not complete: {screen.rows[-1]!r}")
        for line in dict.fromkeys(screen.passed):
            if len(line) >= (self.columns or 1):
                fail(where + f"a line has {len(line)} columns: {line!r}")
            if self.columns and self.columns >= 80 and not any(re.fullmatch(f, line) for f in FORMS):
                fail(where + f"a line that is drawn anew has another form: {line!r}")
        if not self.columns or self.columns >= 80:
            self.compare(where, part, screen.stays(), screen.passed)
        elif not screen.passed:
            fail(where + "nothing is drawn")

    def compare(self, where, part, stays, passes):
        lines = self.text.get(part, [])
        for_a_while = [l for m, l in lines if m == "|"]
        seen = [kept.numberless(l.replace(self.folder + "/", "")) for l in stays]
        wrong = kept.order_differences(lines, seen)
        for raw in passes:
            line = re.sub(LOADS, r"\1 loading ", kept.numberless(raw))
            cut = len(raw) == self.columns - 1
            if not any(l == line or cut and l.startswith(line) for l in for_a_while):
                wrong.append("this is not kept as what is there for a while: " + line)
        if self.draws and for_a_while and not passes:
            wrong.append("nothing is there for a while")
        for w in dict.fromkeys(wrong):
            fail(where + w)
        if wrong:
            with said:
                print(f"seen, as it would be kept:\n== {part}", *dict.fromkeys("| " + kept.numberless(l) for l in passes), *seen, sep="\n")


def images(v):
    v.run("imagezip", "imagezip", "-r", "../disk", "a.ndz")
    v.run("imageunzip", "imageunzip", "a.ndz", "out")
    v.run("imagehash -c", "imagehash", "-c", "a.ndz")
    v.run("imagehash", "imagehash", "a.ndz", "out")
    v.run("imagerezip", "imagerezip", "-z", "1", "a.ndz", "b.ndz")
    v.shell("imagezip -q -r ../other c.ndz")
    v.run("imagedelta", "imagedelta", "a.ndz", "c.ndz", "d.ndz")
    v.run("imagedelta --onto", "imagedelta", "--onto", "a.ndz", "d.ndz", "e.ndz")


def store(v):
    v.run("emustore init", "emustore", "init")
    v.run("emustore put", "emustore", "put", "lab", "../disk.ndz")
    v.run("emustore get", "emustore", "get", "lab", "got.ndz")
    v.run("emustore verify", "emustore", "verify", "--data")
    v.run("emustore gc", "emustore", "gc")
    v.shell("imagezip -q -r ../other other.ndz; emustore -q put other other.ndz; emustore -q rm lab")
    v.run("emustore gc --all", "emustore", "gc", "--all")


def load(v):
    server = v.begin("frisbeed", "--unicast", "-m", "127.0.0.1", "-p", "0", "-A", "where", "-T", "-1", "-W", "40M", "../disk.ndz")
    until("frisbeed serves", lambda: os.path.exists(v.path("where")) and os.path.getsize(v.path("where")))
    port = open(v.path("where")).read().strip("\0\n").rsplit(":", 1)[1]
    v.run("frisbee", "frisbee", "--unicast", "-m", "127.0.0.1", "-p", port, "loaded")
    v.judge("frisbeed", server.end())


def chain(v):
    server = v.begin("dolly", "serve", "--wait", "1", "--linger", "0", "-p", v.port(0), "../disk.ndz")
    server.says("serving")
    v.run("dolly join", "dolly", "join", "-p", v.port(1), "127.0.0.1:" + v.port(0), "joined")
    v.judge("dolly serve", server.end())


def copy(v):
    v.shell("cp ../disk dev")
    words = ("--dmmerge=" + BIN + "/dmmerge", "--since=scan:state")
    v.run("dsync init", "dsync", *words, "init", "dev", "copy")
    v.shell("cp ../other dev")
    v.run("dsync once", "dsync", *words, "once", "dev", "copy")
    v.run("dsync verify", "dsync", *words, "verify", "dev", "copy")
    v.run("dmextract", "sh", "-c", "dmextract --since=scan:state2 dev > stream")
    v.run("dmmerge", "sh", "-c", "dmmerge copy2 < stream")


def stream(v):
    v.shell("truncate -r ../disk target")
    attached = v.begin("streamdisk", "--socket=sock", "--table=table", "--rate=8M", "../disk.ndz", "target")
    attached.says("until Ctrl-C")
    attached.says("is complete")
    v.judge("streamdisk", attached.end(signal_number=signal.SIGTERM))


def grow(v):
    v.shell("rm -f fs; truncate -s 4M fs; mke2fs -q -F fs; truncate -s 8M fs")
    v.run("growfs", "growfs", "fs")


def session(v):
    v.shell("mkdir -p netboot/boot/orders netboot/images; cp ../disk.ndz netboot/images; echo 'node node1 52:54:00:00:00:01' > netboot/nodes")
    server, net = "127.0.0.1:" + v.port(2), v.path("netboot")
    with open(v.path("controller.log"), "w") as log:
        controller = subprocess.Popen(["controllerd", "-i", "127.0.0.1", "--power=/bin/true", "--listen=" + server, "--reports=" + v.port(3),
                                       "-m", f"239.192.{80 + v.number}.1", "-p", v.port(4), net], stdout=log, stderr=log, env=v.env)
    try:
        until("the controller answers", lambda: v.aside("swapin", "--server=" + server, "--list").returncode == 0)
        here = ("--server=" + server, "--token-file=" + net + "/controller/token")
        node = v.begin("swapin", *here, "node1", "disk.ndz")
        node.says("has not booted")
        v.aside("swapin", *here, "--stop=1")
        v.judge("swapin", node.end(1))
    finally:
        controller.terminate()
        controller.wait(PATIENCE_S)


PARTS = (load, session, images, store, chain, copy, stream, grow)


def wanted(part):
    return part.__name__ in ONLY if ONLY else part.__name__ not in os.environ.get("WITHOUT", "").split()


def look(v, parts):
    for part in filter(wanted, parts):
        try:
            part(v)
        except Exception as e:	# the other parts are looked at, too
            fail(f"{v.name}: {part.__name__}: {e!r}")


def main():
    looks = [Look(0, "80 columns", 80, True), Look(1, "120 columns", 120, True),
             Look(2, "no colour", 80, False, TERM="dumb", NO_COLOR="1"), Look(3, "no terminal", 0, False), Look(4, "40 columns", 40, True)]
    threads = [threading.Thread(target=look, args=(v, PARTS if v.columns != 40 else (load, images))) for v in looks]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(f"{sum(v.counted for v in looks)} runs compared")
    sys.exit(bool(bad))


main()
