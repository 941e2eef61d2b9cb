#!/usr/bin/env python3
"""What a kernel asks of its disk while a system starts, by a seed, replayed against a streaming disk, and what goes wrong
meanwhile.  All is compared with a model, a file, which is what the disk shows at the beginning.

	nbd_boot.py deaths PLUGIN IMAGE DISK MODEL MOMENT...	the source of the image, an NBD server, is killed in front of each of
		these requests; it comes back at once at odd moments, and else when a read waits
	nbd_boot.py failing PLUGIN IMAGE DISK MODEL FAULT...	the disk fails (tests/preload/faulty.c, which is named by FAULTY): the
		reader gets an error or what is right, and another nbdkit has what was flushed
	nbd_boot.py lies PLUGIN IMAGE DISK MODEL OTHER KEY=VALUE...	the source is damaged, or is another image, which is as
		long; nothing of that is put on the disk, which holds 0xa5 at the beginning

DISK is made anew by each of them.  With AVOID=FROM-TO in the environment, these bytes of it belong to the sector table.
"""
import os, random, select, shutil, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nbd_reads import serve
from nbd_stream import AVOID, FLUSH, SECTOR, WRITE, Client, status

REQUESTS, PAGE, POISON = 300, 4096, b"\xa5"
FILES, JOURNAL, METADATA = 5 << 20, 8 << 20, 12 << 20  # where they are in the image's partition, of 16 MiB


def boot(r, size):
    """REQUESTS of the form (kind, at, bytes): files are read, each in order; a journal is written page by page, and now and then
    a page of metadata, which are flushed."""
    asked, journal = 0, 0
    while asked < REQUESTS:
        kind, todo = r.random(), []
        if kind < 0.7:
            n = r.choice((PAGE, 4 * PAGE, 8 * PAGE))
            at = FILES + r.randrange((16 << 20) - 16 * n) // PAGE * PAGE
            todo = [("read", at + i * n, n) for i in range(r.choice((1, 2, 4, 8)))]
        elif kind < 0.95:
            todo = [("write", JOURNAL + (journal + i) % 64 * PAGE, PAGE) for i in range(r.choice((1, 2, 3)))]
            journal += len(todo)
            todo.append(("write", METADATA + r.randrange(16) * 64 * PAGE, PAGE))
        else:
            todo = [("flush", 0, 0)]
        yield from todo[:REQUESTS - asked]
        asked += len(todo)


class Model:
    """What each sector may hold: what was flushed, and what was written since, answered or not."""

    def __init__(self, path):
        self.now, self.more = bytearray(open(path, "rb").read()), {}

    def write(self, at, data, failed):
        for i in range(0, len(data), SECTOR):
            may = self.more.setdefault(at + i, [bytes(self.now[at + i:at + i + SECTOR])])
            may.append(data[i:i + SECTOR])
        if not failed:
            self.now[at:at + len(data)] = data

    def flushed(self):
        self.more = {at: may for at, may in self.more.items() if bytes(self.now[at:at + SECTOR]) != may[-1]}

    def check(self, at, data, since=False):
        """since: of what was written since the last flush, anything may be there."""
        if data == self.now[at:at + len(data)]:
            return
        for i in range(0, len(data), SECTOR):
            got, right = data[i:i + SECTOR], self.now[at + i:at + i + SECTOR]
            if got != right and got not in (self.more.get(at + i, ()) if since else self.more.get(at + i, ())[-1:]):
                sys.exit(f"other bytes at {at + i}: {got[:8].hex()}, not {right[:8].hex()}")


class Machine:
    """The kernel: eight reads in flight, one write after the other."""

    def __init__(self, sock, model):
        self.nbd, self.model, self.errors = Client(sock), model, 0

    def answered(self):
        at, n, data = self.nbd.answer()
        if data is None:
            self.errors += 1
        else:
            self.model.check(at, data)

    def drain(self, left=0):
        while len(self.nbd.asked) > left:
            self.answered()

    def change(self, kind, at, n, data=b""):
        self.drain()
        try:
            self.nbd.change(kind, at, n, data)
            return True
        except OSError:
            self.errors += 1
            return False

    def do(self, r, kind, at, n):
        if kind == "read":
            self.drain(7)
            self.nbd.ask(at, n)
        elif kind == "write":
            data = r.randbytes(n)
            self.model.write(at, data, not self.change(WRITE, at, n, data))
        elif self.change(FLUSH, 0, 0):
            self.model.flushed()

    def read_all(self, since=False):
        """since: as of Model.check."""
        self.drain()
        for at in range(0, self.nbd.size, 1 << 18):
            self.model.check(at, self.nbd.read(at, min(1 << 18, self.nbd.size - at)), since)


def blank(path, model):
    open(path, "wb").write(POISON * os.path.getsize(model))


def started(p):
    assert p.poll() is None, f"nbdkit does not start: {p.stderr.read()}"


def end(p):
    """What it has said."""
    p.terminate()
    said = p.communicate()[1]
    assert p.returncode == 0, f"nbdkit ended with {p.returncode}: {said}"
    return said


def same_disk(path, model):
    """The disk itself is what it showed, but for the table."""
    disk, shown = bytearray(open(path, "rb").read()), bytearray(model.now)
    for b in disk, shown:
        b[AVOID[0]:AVOID[1]] = bytes(AVOID[1] - AVOID[0])
    assert disk == shown, "the disk is not what it showed"


class Source:
    def __init__(self, folder, image):
        self.folder, self.image = os.path.join(folder, "source"), image
        self.uri = f"nbd+unix:///?socket={self.folder}/sock"
        os.mkdir(self.folder)
        self.begin()

    def begin(self):
        ready, sock = self.folder + "/pid", self.folder + "/sock"
        for name in ready, sock:
            if os.path.exists(name):
                os.unlink(name)
        self.p = subprocess.Popen(["nbdkit", "-f", "-r", "-U", sock, "-P", ready, "file", self.image], stderr=subprocess.DEVNULL)
        while not (os.path.exists(ready) and os.path.getsize(ready)):
            assert self.p.poll() is None, "no source"
            time.sleep(0.005)

    def die(self):
        self.p.kill()
        self.p.wait()


def until_one_waits(machine, stat):
    """The kernel goes on until a read waits for the source, or all reads are answered: what was decoded is there."""
    while machine.nbd.asked and not status(stat)["waiting_for_source"]:
        if select.select([machine.nbd.s], [], [], 0.02)[0]:
            machine.answered()
    return bool(machine.nbd.asked)


def deaths(folder, plugin, image, disk, model, *moments):
    moments, r, waited = {int(m) for m in moments}, random.Random(1), 0
    blank(disk, model)
    source, stat = Source(folder, image), folder + "/status"
    p, sock = serve(plugin, folder, source.uri, f"disk={disk}", "fill=no", "cache=1M", f"status={stat}")
    started(p)
    machine = Machine(sock, Model(model))
    for n, request in enumerate(boot(r, machine.nbd.size)):
        if n in moments:
            machine.drain(6)  # so that one more can be asked
            source.die()
            absent = FILES + (n * 7919 % 250) * 16 * PAGE
            machine.do(r, "read", absent, 16 * PAGE)
            if n % 2 == 0:
                waited += until_one_waits(machine, stat)
            source.begin()
        machine.do(r, *request)
    machine.read_all()
    assert machine.errors == 0, f"{machine.errors} requests have failed"
    machine.nbd.end()
    said = end(p)
    source.die()
    same_disk(disk, machine.model)
    print(f"{len(moments)} deaths, at {waited} of which a read has waited; {said.count('answers again after')} times it was said")
    assert waited > 0


def one_fault(folder, plugin, image, disk, model, fault):
    """How many requests have failed; None: nbdkit did not start."""
    fired, r, shown, errors = folder + "/fired", random.Random(2), Model(model), None
    if os.path.exists(fired):
        os.unlink(fired)
    blank(disk, model)
    what, n, kind = fault.split(":")
    os.environ.update(LD_PRELOAD=os.environ["FAULTY"], FAULT=f"{what}:{n}:{kind}:{disk}", FAULT_FIRED=fired)
    p, sock = serve(plugin, folder, image, f"disk={disk}", "fill=no")
    for name in "LD_PRELOAD", "FAULT", "FAULT_FIRED":
        del os.environ[name]
    if p.poll() is None:
        machine = Machine(sock, shown)
        for request in boot(r, machine.nbd.size):
            machine.do(r, *request)
        machine.drain()
        errors = machine.errors
        p.kill()
    said = p.communicate()[1]
    assert os.path.exists(fired), f"{fault}: nothing has failed"
    assert errors == 0 or "error: " in said, f"{fault}: an error without a sentence"
    p, sock = serve(plugin, folder, image, f"disk={disk}", "fill=no")
    started(p)
    again = Machine(sock, shown)
    again.read_all(since=True)
    shown.now = bytearray(b"".join(again.nbd.read(at, 1 << 20) for at in range(0, again.nbd.size, 1 << 20)))
    again.nbd.end()
    end(p)
    same_disk(disk, shown)
    return errors


def failing(folder, plugin, image, disk, model, *faults):
    results = {f: one_fault(folder, plugin, image, disk, model, f) for f in faults}
    print(", ".join(f"{f}: {'not started' if n is None else f'{n} errors'}" for f, n in results.items()))
    assert any(results.values()), "no request has failed"


def damaged(good, other):
    """Kinds of lies: what the source is then."""
    other = other[:len(good)].ljust(len(good), b"\0")
    flipped, swapped = bytearray(good), bytearray(good)
    flipped[(3 << 20) + 500000] ^= 4
    swapped[2 << 20:3 << 20] = good[4 << 20:5 << 20]
    return {"a damaged chunk": flipped, "a chunk in another one's place": swapped, "another image": other, "an image cut short": good[:len(good) // 2]}


def read_some(nbd):
    """What is read, by place; None is an error."""
    got = {}
    for at in range(0, nbd.size, 1 << 16):
        nbd.ask(at, 1 << 16)
        place, _, data = nbd.answer()
        got[place] = data
    return got


def none_on_disk(path, right):
    disk = open(path, "rb").read()
    for at in range(PAGE, len(right), SECTOR):
        here = disk[at:at + SECTOR]
        if here not in (right[at:at + SECTOR], POISON * SECTOR):
            sys.exit(f"something else is on the disk at {at}: {here[:8].hex()}")


def lies(folder, plugin, image, disk, model, other, *parameters):
    good, right = open(image, "rb").read(), open(model, "rb").read()
    source, table = folder + "/image.ndz", folder + "/table"
    parameters = [f"disk={disk}", f"table={table}", "fill=no", "cache=1M", *parameters]
    for what, bad in damaged(good, open(other, "rb").read()).items():
        shutil.copy(image, source)
        if os.path.exists(image + ".sig"):
            shutil.copy(image + ".sig", source + ".sig")
        blank(disk, model)
        if os.path.exists(table):
            os.unlink(table)
        p, sock = serve(plugin, folder, source, *parameters)
        started(p)
        nbd = Client(sock)
        assert nbd.read(0, PAGE) == right[:PAGE]
        with open(source, "r+b") as f:
            f.write(bad)
            f.truncate(len(bad))
        got = read_some(nbd)
        nbd.end()
        wrong = [at for at, data in got.items() if data is not None and data != right[at:at + len(data)]]
        assert not wrong, f"{what}: other bytes at {wrong}"
        errors = sum(data is None for data in got.values())
        p.kill()
        said = p.communicate()[1]
        assert errors and "error: " in said, f"{what}: nothing was noticed"
        none_on_disk(disk, right)
        print(f"{what}: {errors} of {len(got)} reads are errors: {[s for s in said.splitlines() if 'error: ' in s][0]}")
        shutil.copy(image, source)
        p, sock = serve(plugin, folder, source, *parameters)
        started(p)
        machine = Machine(sock, Model(model))
        machine.read_all()
        machine.nbd.end()
        end(p)
        same_disk(disk, machine.model)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        {"deaths": deaths, "failing": failing, "lies": lies}[sys.argv[1]](folder, *sys.argv[2:])
