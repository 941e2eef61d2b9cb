"""What the parts of paper_stream share: streaming disks behind nbdkit, machines in QEMU that start from them, fio."""
import contextlib, json, os, re, shutil, socket, struct, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "build/bin"))
PLUGIN = os.path.join(os.path.dirname(BIN), "lib/nbdkit-ndz-plugin.so")
FULL = os.environ.get("FULL", "") not in ("", "0")
SECTOR = 512
sys.path.insert(0, os.path.join(TOP, "tests/helpers"))
from nbd_reads import Nbd


def sh(command, **more):
    p = subprocess.run(["bash", "-c", "set -eo pipefail; " + command], capture_output=True, text=True, **more)
    if p.returncode != 0:
        sys.exit(f"paper_stream: failed: {command}\n{p.stdout}{p.stderr}")
    return p.stdout


@contextlib.contextmanager
def served(*parameters):
    """nbdkit with a plugin and its parameters: the socket, while it runs."""
    folder = tempfile.mkdtemp(prefix="paper-stream.")
    sock, log = f"{folder}/nbd", open(f"{folder}/log", "w+")
    p = subprocess.Popen(["nbdkit", "-f", "-t", "16", "-U", sock, "-P", f"{folder}/pid", *parameters], stderr=log)
    try:
        while not os.path.exists(f"{folder}/pid"):
            if p.poll() is not None:
                log.seek(0)
                sys.exit(f"paper_stream: nbdkit: {log.read()}")
            time.sleep(0.02)
        yield sock
    finally:
        p.terminate()
        p.wait()
        shutil.rmtree(folder)


def on_tmpfs(path):
    return sh(f"stat -f -c %T {path}").strip() == "tmpfs"


def plain_file(path):
    """Parameters of served() for a file without streaming.  A disk that streams passes the page cache by; so does this, but on tmpfs,
    which is itself the page cache."""
    return ("file", path) if on_tmpfs(path) else (os.path.join(TOP, "build/plain/bench/nbdkit/nbdkit-direct-plugin.so"), f"file={path}")


@contextlib.contextmanager
def streaming(image, disk, **parameters):
    """A disk that becomes the image: the socket, and a function that says its status."""
    with tempfile.TemporaryDirectory(prefix="paper-stream.") as d:
        values = {"table": "memory", "order": "none", "anew": "yes", **parameters}
        words = [f"{k.replace('_', '-')}={v}" for k, v in values.items()]
        with served(PLUGIN, f"image={image}", f"disk={disk}", f"status={d}/status", *words) as sock:
            while not os.path.exists(f"{d}/status"):  # it is made a little after nbdkit's number is written
                time.sleep(0.02)
            yield sock, lambda: status(f"{d}/status")


@contextlib.contextmanager
def client(sock):
    """A client, which nbdkit waits for when it ends."""
    nbd = Nbd(sock)
    try:
        yield nbd
    finally:
        nbd.s.close()


def status(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        return json.loads(b"".join(iter(lambda: s.recv(65536), b"")))


def blank(path, size):
    with open(path, "wb") as f:
        f.truncate(size)


def runs_of(record):
    """(first sector, sectors, milliseconds) of a record or an order, in its order."""
    with open(record, "rb") as f:
        data = f.read()
    n = struct.unpack_from("<I", data, 28)[0]
    return [struct.unpack_from("<QII", data, 32 + 20 * i) for i in range(n)]


@contextlib.contextmanager
def slow_web(image, rate_bytes):
    """A web server that sends the image, and the order beside it, at this rate: its URL."""
    with tempfile.NamedTemporaryFile("w") as rate, socket.socket() as s:
        rate.write(str(rate_bytes))
        rate.flush()
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
        s.close()
        p = subprocess.Popen([sys.executable, f"{TOP}/tests/helpers/http_slow.py", image, str(port), rate.name])
        try:
            while True:
                with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                    break
                time.sleep(0.05)
            yield f"http://127.0.0.1:{port}/{os.path.basename(image)}"
        finally:
            p.terminate()
            p.wait()


class Machine:
    """A machine that starts a system whose root filesystem is all of an NBD export."""

    def __init__(self, sock, kernel, ramdisk, words, memory="1024"):
        self.began, self.shown = time.monotonic(), ""
        self.p = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", os.environ.get("VM_ACCEL", "tcg,thread=multi"), "-cpu", "max", "-smp", "2", "-m", memory, "-display", "none", "-no-user-config",
             "-nodefaults", "-no-reboot", "-kernel", kernel, "-initrd", ramdisk, "-device", "virtio-rng-pci", "-serial", "stdio",
             "-append", f"root=/dev/vda rw console=ttyS0 systemd.show_status=1 net.ifnames=0 {words}",
             "-blockdev", f"driver=nbd,node-name=d,server.type=unix,server.path={sock}",
             "-device", "virtio-blk-pci,drive=d"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.p.stdout.fileno(), False)

    def sees(self, *patterns, most_s=1800):
        """Seconds from the beginning until the console has shown all of these."""
        while not all(re.search(p, self.shown) for p in patterns):
            if self.p.poll() is not None or time.monotonic() - self.began > most_s:
                sys.exit(f"paper_stream: the machine does not show {patterns}:\n{self.shown[-3000:]}")
            self.shown += (self.p.stdout.read() or b"").decode(errors="replace")
            time.sleep(0.05)
        return time.monotonic() - self.began

    def end(self):
        self.p.kill()
        self.p.wait()


def processor_s(sock):
    """The processor's time that the server of this socket, which served() has started, has taken: seconds."""
    with open(os.path.join(os.path.dirname(sock), "pid")) as f:
        pid = int(f.read())
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid(3) of glibc has it: exact, while /proc has hundredths


def fio(*arguments):
    """One job of fio: megabytes a second, and requests, reading and writing together."""
    out = subprocess.run(["fio", "--output-format=json", "--name=one", *arguments], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"paper_stream: fio {' '.join(arguments)}: {out.stdout}{out.stderr}")
    job = json.loads(out.stdout[out.stdout.index("{"):])["jobs"][0]
    return (job["read"]["bw_bytes"] + job["write"]["bw_bytes"]) / 1e6, job["read"]["total_ios"] + job["write"]["total_ios"]


def over_nbd(sock, *arguments):
    return fio("--ioengine=nbd", f"--uri=nbd+unix:///?socket={sock}", *arguments)
