"""What the parts of paper_stream share: streaming disks behind nbdkit, machines in QEMU that start from them, fio."""
import contextlib, json, os, re, shutil, socket, struct, subprocess, sys, tempfile, time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("BIN", os.path.join(TOP, "build/bin"))
PLUGIN = os.path.join(os.path.dirname(BIN), "lib/nbdkit-ndz-plugin.so")
FULL = os.environ.get("FULL", "") not in ("", "0")
SECTOR = 512
sys.path.insert(0, os.path.join(TOP, "tests/helpers"))
from dsync_lab import FAR
from nbd_reads import Nbd


def sh(command, **more):
    p = subprocess.run(["bash", "-c", "set -eo pipefail; " + command], capture_output=True, text=True, **more)
    if p.returncode != 0:
        sys.exit(f"paper_stream: failed: {command}\n{p.stdout}{p.stderr}")
    return p.stdout


@contextlib.contextmanager
def served(*parameters, netns=None):
    """nbdkit with a plugin and its parameters, in a network namespace if one is named: the socket, while it runs."""
    folder = tempfile.mkdtemp(prefix="paper-stream.")
    sock, log = f"{folder}/nbd", open(f"{folder}/log", "w+")
    p = subprocess.Popen([*(("ip", "netns", "exec", netns) if netns else ()), "nbdkit", "-f", "-t", "16", "-U", sock, "-P", f"{folder}/pid", *parameters], stderr=log)
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
def streaming(image, disk, netns=None, **parameters):
    """A disk that becomes the image: the socket, and a function that says its status."""
    with tempfile.TemporaryDirectory(prefix="paper-stream.") as d:
        values = {"table": "memory", "order": "none", "anew": "yes", **parameters}
        words = [f"{k.replace('_', '-')}={v}" for k, v in values.items()]
        with served(PLUGIN, f"image={image}", f"disk={disk}", f"status={d}/status", *words, netns=netns) as sock:
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


WEB = """daemon off; master_process off; user root; pid {d}/nginx.pid; error_log {d}/nginx.log;
events {{ }}
http {{ access_log off; sendfile on; keepalive_requests 1000000; server {{ listen {far}:8080; root {d}; }} }}
"""


@contextlib.contextmanager
def web(d, link):
    """A web server at the far end of a link, which has the files of a folder: its URL."""
    with open(f"{d}/nginx.conf", "w", encoding="ascii") as f:
        f.write(WEB.format(d=d, far=FAR))
    url = f"http://{FAR}:8080"
    p = subprocess.Popen(["ip", "netns", "exec", link.far, "nginx", "-e", f"{d}/nginx.log", "-c", f"{d}/nginx.conf"])
    try:
        while subprocess.run(["ip", "netns", "exec", link.near, "curl", "-s", "-o", "/dev/null", url]).returncode != 0:
            if p.poll() is not None:
                sys.exit(f"paper_stream: nginx has ended; {d}/nginx.log says why")
            time.sleep(0.05)
        yield url
    finally:
        p.terminate()
        p.wait()


def processor_of(pid):
    """The processor's time that this process has taken: seconds."""
    return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid(3) of glibc has it: exact, while /proc has hundredths


class Machine:
    """A machine that starts a system whose root filesystem is all of an NBD export."""

    def __init__(self, sock, kernel, ramdisk, words, memory="1024"):
        self.began, self.shown = time.monotonic(), ""
        self.moments, self.used = [self.began], [0.0]
        self.p = subprocess.Popen(
            ["qemu-system-x86_64", "-accel", os.environ.get("VM_ACCEL", "tcg,thread=multi"), "-cpu", "max", "-smp", "1", "-m", memory, "-display", "none", "-no-user-config",
             "-nodefaults", "-no-reboot", "-kernel", kernel, "-initrd", ramdisk, "-device", "virtio-rng-pci", "-serial", "stdio",
             "-append", f"root=/dev/vda rw console=ttyS0 systemd.show_status=1 systemd.log_target=kmsg printk.devkmsg=on net.ifnames=0 {words}",
             "-blockdev", f"driver=nbd,node-name=d,server.type=unix,server.path={sock}",
             "-device", "virtio-blk-pci,drive=d"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        os.set_blocking(self.p.stdout.fileno(), False)

    def sees(self, *patterns, most_s=1800):
        """Wait until the console has shown all of these: moments from the beginning on, and the processor's seconds until each."""
        while not all(re.search(p, self.shown) for p in patterns):
            if self.p.poll() is not None or time.monotonic() - self.began > most_s:
                sys.exit(f"paper_stream: the machine does not show {patterns}:\n{self.shown[-3000:]}")
            time.sleep(0.05)
            self.moments.append(time.monotonic())
            self.used.append(processor_of(self.p.pid))
            self.shown += (self.p.stdout.read() or b"").decode(errors="replace")
        return self.moments, self.used

    def end(self):
        self.p.kill()
        self.p.wait()


def processor_s(sock):
    """The processor's time that the server of this socket, which served() has started, has taken: seconds."""
    with open(os.path.join(os.path.dirname(sock), "pid")) as f:
        return processor_of(int(f.read()))


def fio(*arguments):
    """One job of fio: megabytes a second, and requests, reading and writing together."""
    out = subprocess.run(["fio", "--output-format=json", "--name=one", *arguments], capture_output=True, text=True)
    if out.returncode != 0:
        sys.exit(f"paper_stream: fio {' '.join(arguments)}: {out.stdout}{out.stderr}")
    job = json.loads(out.stdout[out.stdout.index("{"):])["jobs"][0]
    return (job["read"]["bw_bytes"] + job["write"]["bw_bytes"]) / 1e6, job["read"]["total_ios"] + job["write"]["total_ios"]


def over_nbd(sock, *arguments):
    return fio("--ioengine=nbd", f"--uri=nbd+unix:///?socket={sock}", *arguments)
