"""A disk whose writes QEMU's storage daemon notes in dirty bitmaps, for bench/paper_dsync and bench/dsync_grain.

The disk is a file of raw bytes.  Writes go through a file that FUSE shows (writing()), which can be a loop device, and are
noted in one bitmap for each size of blocks that is asked for.  dmextract reads the disk and a bitmap by NBD (served()).
Not both at once: the one may make the disk longer, which the other does not allow.
"""
import contextlib, json, os, socket, subprocess, time


class Tracked:
    def __init__(self, folder, path, log=None):
        """log: a file for all that is written, as QEMU's blklogwrites logs it."""
        self.folder, self.path, self.noted = folder, path, []
        disk = f"driver=file,filename={path},node-name={'below' if log else 'disk'}"
        logged = ["--blockdev", f"driver=file,filename={log},node-name=log", "--blockdev", "driver=blklogwrites,file=below,log=log,node-name=disk"]
        for name in ("qmp", "nbd", "writes"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{folder}/{name}")
        open(f"{folder}/writes", "w", encoding="ascii").close()
        self.daemon = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", "qemu-storage-daemon", "--blockdev", disk, *(logged if log else []),
                                        "--chardev", f"socket,path={folder}/qmp,server=on,wait=off,id=asks", "--monitor", "chardev=asks",
                                        "--nbd-server", f"addr.type=unix,addr.path={folder}/nbd"], stdout=subprocess.DEVNULL)
        self.uri = f"nbd+unix:///disk?socket={folder}/nbd"
        self._connect()

    def _connect(self):
        for _ in range(1000):
            with contextlib.suppress(FileNotFoundError, ConnectionRefusedError):
                s = socket.socket(socket.AF_UNIX)
                s.connect(f"{self.folder}/qmp")
                self.asks = s.makefile("rw")
                self.asks.readline()
                return self.ask("qmp_capabilities")
            time.sleep(0.01)
        raise RuntimeError("qemu-storage-daemon does not answer")

    def ask(self, command, awaits=None, **arguments):
        """The answer; awaits: an event that is waited for, too."""
        self.asks.write(json.dumps({"execute": command, "arguments": {k.replace("_", "-"): v for k, v in arguments.items()}}) + "\n")
        self.asks.flush()
        answer, event = None, awaits is None
        while answer is None or not event:
            line = json.loads(self.asks.readline())
            if "error" in line:
                raise RuntimeError(f"{command}: {line['error']['desc']}")
            answer = line.get("return", answer)
            event = event or line.get("event") == awaits
        return answer

    def note(self, name, block_bytes):
        """From now on what is written is noted under this name, in blocks of this size."""
        self.ask("block-dirty-bitmap-add", node="disk", name=name, granularity=block_bytes, persistent=False)
        self.noted.append(name)

    def forget(self, name):
        """What was noted under this name, so that all counts as not written."""
        self.ask("block-dirty-bitmap-clear", node="disk", name=name)

    def forget_all(self):
        for name in self.noted:
            self.forget(name)

    def noted_bytes(self):
        """Of each name, the bytes of the blocks that were written."""
        nodes = self.ask("query-named-block-nodes")
        return {b["name"]: b["count"] for n in nodes if n["node-name"] == "disk" for b in n["dirty-bitmaps"]}

    @contextlib.contextmanager
    def _exported(self, **how):
        self.ask("block-export-add", id="shown", node_name="disk", **how)
        try:
            yield
        finally:
            self.ask("block-export-del", awaits="BLOCK_EXPORT_DELETED", id="shown")

    @contextlib.contextmanager
    def writing(self):
        """The path of a file; what is written to it is written to the disk, and noted."""
        with self._exported(type="fuse", mountpoint=f"{self.folder}/writes", writable=True):
            yield f"{self.folder}/writes"

    @contextlib.contextmanager
    def mounted(self, where):
        """The filesystem on the disk, mounted there; what is written to it is noted."""
        with self.writing() as path:
            loop = subprocess.run(["losetup", "-f", "--show", path], check=True, capture_output=True, text=True).stdout.strip()
            try:
                os.makedirs(where, exist_ok=True)
                subprocess.run(["mount", loop, where], check=True)
                try:
                    yield where
                finally:
                    subprocess.run(["umount", where], check=True)
            finally:
                subprocess.run(["losetup", "-d", loop], check=True)

    @contextlib.contextmanager
    def served(self):
        """The NBD export of the disk, with all that is noted; nothing is written meanwhile."""
        for name in self.noted:
            self.ask("block-dirty-bitmap-disable", node="disk", name=name)
        with self._exported(type="nbd", name="disk", bitmaps=self.noted):
            yield self.uri
        for name in self.noted:
            self.ask("block-dirty-bitmap-enable", node="disk", name=name)

    def end(self):
        self.daemon.terminate()
        self.daemon.wait()
