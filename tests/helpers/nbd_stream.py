#!/usr/bin/env python3
"""Clients of a streaming disk, compared with a model of what it must show.

	nbd_stream.py use SOCKET MODEL SEED REQUESTS CLIENTS	reads and writes of all kinds by several
		clients at once; the model, a file, becomes what the disk must show afterwards
	nbd_stream.py same SOCKET MODEL		the disk is what the model says
	nbd_stream.py wait SOCKET SECONDS	until the disk is complete, by its status
	nbd_stream.py status SOCKET		print the status
	nbd_stream.py write SOCKET AT TEXT	write, and flush
	nbd_stream.py read SOCKET AT BYTES	read, and forget
	nbd_stream.py unflushed SOCKET AT TEXT	write alone
	nbd_stream.py through SOCKET AT TEXT	write with the flag FUA

With AVOID=FROM-TO in the environment, `use` leaves these bytes alone.
"""
import json, os, random, socket, struct, sys, threading, time
from nbd_reads import Nbd

WRITE, FLUSH, TRIM, ZERO = 1, 3, 4, 6
FUA, NO_HOLE = 1, 2
SECTOR = 512
AVOID = [int(n) for n in os.environ.get("AVOID", "0-0").split("-")]


class Client(Nbd):
    def change(self, kind, at, n, data=b"", flags=0):
        self.s.sendall(struct.pack(">IHHQQI", 0x25609513, flags, kind, 1, at, n) + data)
        magic, error, handle = struct.unpack(">IIQ", self.take(16))
        assert (magic, handle) == (0x67446698, 1)
        if error:
            raise OSError(error, f"request {kind}, {n} bytes at {at}")


class User(threading.Thread):
    """One client.  Its are the sectors whose number modulo `step` is `own`, within any page, so that
    all clients write to the same pages at the same time, and each knows what its sectors hold."""

    def __init__(self, path, model, seed, requests, own, step):
        super().__init__()
        self.path, self.model, self.r, self.requests = path, model, random.Random(seed * 1000 + own), requests
        self.own, self.step, self.problem = own, step, None

    def place(self, disk_bytes):
        sector = self.r.randrange(disk_bytes // SECTOR // self.step) * self.step + self.own
        at = sector * SECTOR
        if self.r.random() < 0.5:
            return at, SECTOR
        in_sector = self.r.randrange(SECTOR)
        return at + in_sector, self.r.randrange(1, SECTOR - in_sector + 1)

    def one(self, nbd):
        at, n = self.place(len(self.model))
        while at < AVOID[1] and at + n > AVOID[0]:
            at, n = self.place(len(self.model))
        kind, fua = self.r.random(), FUA if self.r.random() < 0.02 else 0
        if kind < 0.5:
            got = nbd.read(at, n)
            assert got == self.model[at:at + n], f"{n} bytes at {at}: {got[:8].hex()}, not {bytes(self.model[at:at + 8]).hex()}"
        elif kind < 0.85:
            data = self.r.randbytes(n)
            nbd.change(WRITE, at, n, data, fua)
            self.model[at:at + n] = data
        elif kind < 0.95:
            nbd.change(ZERO, at, n, flags=fua | (NO_HOLE if self.r.random() < 0.5 else 0))
            self.model[at:at + n] = bytes(n)
        elif kind < 0.98:
            nbd.change(TRIM, at, n, flags=fua)
            self.model[at:at + n] = nbd.read(at, n)
        else:
            nbd.flush()

    def run(self):
        try:
            nbd = Client(self.path)
            assert nbd.size == len(self.model), f"a disk of {nbd.size} bytes"
            for _ in range(self.requests):
                self.one(nbd)
            nbd.flush()
            nbd.end()
        except Exception as e:
            self.problem = e


def use(path, file, seed, requests, clients):
    model = bytearray(open(file, "rb").read())
    users = [User(path, model, int(seed), int(requests), i, int(clients)) for i in range(int(clients))]
    for u in users:
        u.start()
    for u in users:
        u.join()
    for u in users:
        if u.problem:
            sys.exit(f"client {u.own}: {u.problem}")
    open(file, "wb").write(model)


def same(path, file):
    model, nbd = open(file, "rb").read(), Client(path)
    assert nbd.size == len(model), f"a disk of {nbd.size} bytes"
    for at in range(0, len(model), 1 << 18):
        n = min(1 << 18, len(model) - at)
        got = nbd.read(at, n)
        for i in range(0, n, SECTOR):
            if got[i:i + SECTOR] != model[at + i:at + i + SECTOR]:
                sys.exit(f"sector {(at + i) // SECTOR}: {got[i:i + 8].hex()}, not {model[at + i:at + i + 8].hex()}")
    nbd.end()


def status(path):
    s, data = socket.socket(socket.AF_UNIX), b""
    s.connect(path)
    while more := s.recv(65536):
        data += more
    return json.loads(data)


def wait(path, seconds):
    until = time.monotonic() + float(seconds)
    while not (now := status(path))["complete"]:
        if time.monotonic() > until:
            sys.exit(f"not complete: {now}")
        time.sleep(0.05)
    assert now["present_bytes"] == now["stored_bytes"]


def read(path, at, n):
    nbd = Client(path)
    nbd.read(int(at), int(n))
    nbd.end()


def write(path, at, text, flush=True, flags=0):
    nbd = Client(path)
    nbd.change(WRITE, int(at), len(text), text.encode(), flags)
    if flush:
        nbd.flush()
    nbd.end()


if __name__ == "__main__":
    commands = {"use": use, "same": same, "wait": wait, "read": read, "write": write, "unflushed": lambda *a: write(*a, flush=False),
                "through": lambda *a: write(*a, flush=False, flags=FUA),
                "status": lambda path: print(json.dumps(status(path)))}
    commands[sys.argv[1]](*sys.argv[2:])
