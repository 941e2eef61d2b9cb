#!/usr/bin/env python3
"""An NBD client that compares what it is given with what is right.

	nbd_reads.py random SOCKET DISK REQUESTS	reads of any place and size, 16 in flight
	nbd_reads.py right SOCKET DISK REQUESTS		the same, where errors may come, but nothing wrong
	nbd_reads.py many SOCKET DISK CONNECTIONS	one read on each of them, all open at once
	nbd_reads.py flips PLUGIN IMAGE DISK ROUNDS	bits of the image flipped: an error, or what is right
	nbd_reads.py cost PLUGIN IMAGE PARAMETER...	for eight reads of 4 KiB, with nothing in memory, nbdkit reads at most twice
							the bytes that it reads of IMAGE for them; for the whole disk in turn, 1.1 times
	nbd_reads.py bucket PLUGIN IMAGE SENT PARAMETER...	the same of what a bucket sends, whose
			lengths are lines of SENT, with nothing kept yet: two chunks and what says where they are until it
			is open; for reads like those of a boot, 1.3 times; and nothing the second time
"""
import os, random, shutil, socket, struct, subprocess, sys, tempfile, time

EIO = 5


class Nbd:
    def __init__(self, path):
        self.s = socket.socket(socket.AF_UNIX)
        self.s.settimeout(300)
        self.s.connect(path)
        magic, option, flags = struct.unpack(">QQH", self.take(18))
        assert (magic, option) == (0x4E42444D41474943, 0x49484156454F5054)
        self.s.sendall(struct.pack(">I", flags & 3) + struct.pack(">QII", option, 1, 0))
        self.size, self.flags = struct.unpack(">QH", self.take(10 if flags & 2 else 134)[:10])
        self.asked = {}

    def take(self, n):
        data = b""
        while len(data) < n:
            more = self.s.recv(n - len(data))
            if not more:
                raise EOFError
            data += more
        return data

    def ask(self, at, n):
        handle = len(self.asked) + random.getrandbits(32) * 65536
        self.asked[handle] = at, n
        self.s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, handle, at, n))

    def answer(self):
        """(at, n, bytes) or (at, n, None) of whichever request was answered."""
        magic, error, handle = struct.unpack(">IIQ", self.take(16))
        assert magic == 0x67446698
        at, n = self.asked.pop(handle)
        assert error in (0, EIO), error
        return at, n, None if error else self.take(n)

    def request(self, kind, at, n, data=b""):
        self.s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, kind, 1, at, n) + data)
        magic, error, handle = struct.unpack(">IIQ", self.take(16))
        assert (magic, handle) == (0x67446698, 1)
        if error:
            raise OSError(error, os.strerror(error))

    def write(self, at, data):
        self.request(1, at, len(data), data)

    def flush(self):
        self.request(3, 0, 0)

    def read(self, at, n):
        self.request(0, at, n)
        return self.take(n)

    def end(self):
        self.s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 2, 0, 0, 0))
        self.s.close()


def reads(nbd, places, disk):
    """How many were answered, and with an error; other bytes end the program."""
    good = bad = 0
    places = list(places)
    while places or nbd.asked:
        while places and len(nbd.asked) < 16:
            nbd.ask(*places.pop())
        at, n, data = nbd.answer()
        if data is None:
            bad += 1
        elif data != disk[at:at + n]:
            sys.exit(f"other bytes: {n} at {at}")
        else:
            good += 1
    return good, bad


def anywhere(r, size, count):
    for _ in range(count):
        n = r.choice((1, 511, 512, 4096, 4096, 65536, 300000, r.randrange(1, 2 << 20)))
        n = min(n, size)
        yield r.randrange(size - n + 1), n


def serve(plugin, folder, *parameters):
    sock, ready = os.path.join(folder, "sock"), os.path.join(folder, "pid")
    for name in (sock, ready):
        if os.path.exists(name):
            os.unlink(name)
    p = subprocess.Popen(["nbdkit", "-f", "-P", ready, "-U", sock, plugin, *parameters], stderr=subprocess.PIPE, text=True, errors="replace")
    while p.poll() is None and not (os.path.exists(ready) and os.path.getsize(ready)):
        time.sleep(0.005)
    return p, sock


def spoil(r, whole, used, n):
    """A copy with some bits changed; the first is always damaged in its first header, the second in its last data."""
    bad = bytearray(whole)
    for _ in range(r.choice((1, 1, 1, 3))):
        at = r.choice((r.randrange(4096), r.randrange(used), r.randrange(used - 4000, used)))
        bad[{0: 0, 1: used - 100}.get(n, at)] ^= 1 << r.randrange(8)
    return bad


def flips(plugin, image, disk, rounds):
    r, whole = random.Random(7), open(image, "rb").read()
    used, right, wrong, refused = len(whole.rstrip(b"\0")), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for n in range(rounds):
            name = os.path.join(folder, "bad")
            open(name, "wb").write(spoil(r, whole, used, n))
            p, sock = serve(plugin, folder, name)
            if p.poll() is not None:
                refused += 1
                assert "error: " in p.stderr.read()
                continue
            nbd = Nbd(sock)
            if nbd.size != len(disk):
                sys.exit(f"round {n}: a disk of {nbd.size} bytes")
            good, bad = reads(nbd, [(at, min(1 << 18, len(disk) - at)) for at in range(0, len(disk), 1 << 18)], disk)
            nbd.end()
            p.terminate()
            said = p.communicate()[1]
            assert not bad or "error: " in said
            right, wrong = right + (bad == 0), wrong + (bad > 0)
    print(f"{rounds} damaged images: {right} as they were, {wrong} with errors where they are damaged, {refused} refused")
    assert wrong > 0 and refused > 0


def rchar(pid):
    return int(open(f"/proc/{pid}/io").read().split()[1])


def all_sent(sent):
    return sum(map(int, open(sent)))


def bytes_read(plugin, places, *parameters, sent=None):
    """How many bytes nbdkit has read, or a bucket has sent, for these reads, since it listens."""
    with tempfile.TemporaryDirectory() as folder:
        p, sock = serve(plugin, folder, *parameters)
        nbd = Nbd(sock)
        count = lambda: all_sent(sent) if sent else rchar(p.pid)
        before = count()
        for at, n in places(nbd.size):
            nbd.read(at, n)
        after = count()
        nbd.end()
        p.terminate()
        p.wait()
    return after - before


def eight(size):
    return [(size // 9 * i // 4096 * 4096, 4096) for i in range(1, 9)]


def whole(size):
    return [(at, min(1 << 18, size - at)) for at in range(0, size, 1 << 18)]


def boot(size):
    """Files here and there, each read ahead as a kernel does."""
    r = random.Random(9)
    for _ in range(size >> 20):
        at = r.randrange(size - (1 << 20)) // 4096 * 4096
        yield from ((at + (i << 15), 1 << 15) for i in range(r.choice((1, 1, 2, 4, 16))))


def cost(plugin, image, *parameters):
    for name, places, most in ("eight reads", eight, 2), ("the whole disk", whole, 1.1):
        file, store = (bytes_read(plugin, places, *p) for p in ([f"image={image}"], parameters))
        print(f"{name}: {file} bytes of the file, {store} of the store")
        assert 0 < store <= most * file


def bucket(plugin, image, sent, *parameters):
    bounds = ("eight reads", eight, 2), ("a boot", boot, 1.3), ("the whole disk", whole, 1.1)
    for name, places, most in bounds:
        shutil.rmtree(os.environ["EMUSTORE_CACHE"], ignore_errors=True)
        file = bytes_read(plugin, places, f"image={image}")
        open(sent, "w").close()
        first = bytes_read(plugin, places, *parameters, sent=sent)
        requests, opening = len(open(sent).readlines()), all_sent(sent) - first
        second = bytes_read(plugin, places, *parameters, sent=sent)
        print(f"{name}: {file} bytes of the file, {first} of the bucket, then {second}")
        print(f"{opening} to open it, {requests} requests in all")
        assert 0 < first <= most * file and second == 0 and opening < 5 << 19


command, first, second, third = sys.argv[1:5] if __name__ == "__main__" else (None,) * 4
if command is None:
    pass
elif command == "flips":
    flips(first, second, open(third, "rb").read(), int(sys.argv[5]))
elif command in ("cost", "bucket"):
    {"cost": cost, "bucket": bucket}[command](first, second, *sys.argv[4:])
elif command in ("random", "right"):
    data = open(second, "rb").read()
    nbd = Nbd(first)
    assert nbd.size == len(data)
    good, bad = reads(nbd, anywhere(random.Random(3), len(data), int(third)), data)
    nbd.end()
    print(f"{good} right, {bad} errors")
    assert bad == 0 or command == "right", f"{bad} errors"
else:
    data, r = open(second, "rb").read(), random.Random(5)
    all = [Nbd(first) for _ in range(int(third))]
    for nbd in all:
        nbd.ask(*next(anywhere(r, len(data), 1)))
    for nbd in all:
        at, n, got = nbd.answer()
        assert got == data[at:at + n], f"{n} at {at}"
        nbd.end()
