#!/usr/bin/env python3
"""A disk that loses power: writes that were flushed are there, of others each sector is as it
was before or after.

	nbd_writes.py FILTER FOLDER SEEDS
"""
import os, random, subprocess, sys, threading, time
from nbd_reads import Nbd

SECTORS, SECTOR = 400, 512
filter, folder, seeds = sys.argv[1], sys.argv[2], int(sys.argv[3])
disk, sock, ready, mark = (os.path.join(folder, name) for name in ("disk", "sock", "pid", "mark"))


def sector_of(write):
    return write.to_bytes(4, "big") * (SECTOR // 4)


def run(seed, crash_at):
    """What may be in each sector at the end, and what is."""
    for name in (sock, ready, mark):
        if os.path.exists(name):
            os.unlink(name)
    open(disk, "wb").write(bytes(SECTORS * SECTOR))
    p = subprocess.Popen(["nbdkit", "-f", "-U", sock, "-P", ready, "--filter=" + filter, "file", disk, f"faults-seed={seed}",
                          f"faults-crash-at={crash_at}", "faults-mark=" + mark], stderr=subprocess.PIPE)
    while not (os.path.exists(ready) and os.path.getsize(ready)):
        assert p.poll() is None, p.stderr.read()
        time.sleep(0.005)
    nbd, r = Nbd(sock), random.Random(seed)
    durable, open_writes = [0] * SECTORS, [set() for _ in range(SECTORS)]
    now = [0] * SECTORS
    for n in range(1, crash_at + 1):
        if n == crash_at:
            nbd.s.settimeout(0.2)
        try:
            if n < crash_at and r.random() < 0.1:
                nbd.flush()
                durable, open_writes = list(now), [set() for _ in range(SECTORS)]
                continue
            at, count = r.randrange(SECTORS - 8), r.randrange(1, 9)
            for i in range(at, at + count):
                open_writes[i].add(n)
                now[i] = n
            nbd.write(at * SECTOR, sector_of(n) * count)
            assert n < crash_at, "the last request was answered"
            if r.random() < 0.1:
                assert nbd.read(at * SECTOR, SECTOR) == sector_of(n), "a write is read back before it is flushed"
        except TimeoutError:
            assert n == crash_at, f"request {n} of {crash_at} was not answered"
    assert os.path.exists(mark), "it did not crash"
    p.kill()
    p.communicate()
    data = open(disk, "rb").read()
    return durable, open_writes, now, [data[i * SECTOR:(i + 1) * SECTOR] for i in range(SECTORS)]


lost = kept = torn = 0
for seed in range(1, seeds + 1):
    durable, unflushed, now, found = run(seed, 50 + seed)
    for i in range(SECTORS):
        may = {sector_of(n) for n in unflushed[i]} | {sector_of(durable[i])}
        assert found[i] in may, f"seed {seed}: sector {i} holds {found[i][:4]}, which may not be"
        if unflushed[i]:
            lost, kept = lost + (found[i] == sector_of(durable[i])), kept + (found[i] == sector_of(now[i]))
    for n in set().union(*unflushed):
        its = [i for i in range(SECTORS) if unflushed[i] == {n}]
        there = sum(found[i] == sector_of(n) for i in its)
        torn += 0 < there < len(its)
    if seed == 1:
        assert run(seed, 50 + seed)[3] == found, "the same seed, another outcome"
print(f"{seeds} crashes: {lost} sectors as before, {kept} as written, {torn} writes torn")
assert lost and kept and torn
