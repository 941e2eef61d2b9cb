"""Runs of the simulator (docs/simulator.md), for the studies that look into them.

A run is named by words: "crowd chunks=180 loss=0.01" is --case crowd --set chunks=180
--set loss=0.01, and "share4 loss=0.01" is --share 4 --set loss=0.01.
"""
import json, os, subprocess, sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIM = os.environ.get("SIM", os.path.join(os.environ.get("B",
                                                        os.path.join(TOP, "build/plain")),
                                         "tests/sim/sim"))
# What thousands of clients need lies far apart in memory.
ENVIRONMENT = os.environ | {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
CHUNK_MB = 1.048576
# Of a chunk on the link: 1024 blocks, each with all that Ethernet adds.
CHUNK_BITS = 1024 * 8976


def arguments(words, seed):
    what, *settings = words.split()
    first = ["--share", what[5:]] if what.startswith("share") else ["--case", what]
    return tuple(first + [x for s in settings
                          for x in ("--set", s)] + ["--seed", str(seed), "--json"])


def run(args):
    """What the simulator answers.  A rule that did not hold is in its member `failed`."""
    p = subprocess.Popen([SIM, *args], stdout=subprocess.PIPE, text=True, env=ENVIRONMENT)
    said = p.stdout.read()
    _, p.returncode, usage = os.wait4(p.pid, 0)
    try:
        return json.loads(said) | {"cpu_s": usage.ru_utime + usage.ru_stime}
    except ValueError:
        sys.exit(f"bench: {SIM} {' '.join(args)}: no answer")


class Runs:
    """Every run once, though several rows may look at it.  All begin at the start."""
    def __init__(self, pool, args):
        self.of = {a: pool.submit(run, a) for a in dict.fromkeys(args)}

    def answer(self, args):
        return self.of[args].result()

    def cpu_s(self, args):
        """Seconds of CPU that these runs took."""
        return sum(self.answer(a)["cpu_s"] for a in dict.fromkeys(args))


def at(*path):
    """A look at one member of an answer."""
    def look(answer):
        for p in path:
            answer = answer[p]
        return answer
    return look


def beside(member, other="beside"):
    """The same member of the run that a case is compared with is 1."""
    return lambda answer: answer[member] / answer[other][member]


def of_ideal(bits):
    """The mean time as a multiple of what the image takes at this rate."""
    return lambda answer: answer["mean_s"] * bits / (answer["chunks"] * CHUNK_BITS)


# Figures 5.8 to 5.10 of the EmuStore thesis: a server whose disk takes as long for a
# chunk as it was measured to take to put one together.
STORE_CLIENTS = (1, 2, 4, 8, 12, 16, 20, 80)
STORE_RATE = 800_000_000        # what the server keeps to, of a link of 1 Gbit/s


def store_load(clients, chunks, client_us, chunk_us):
    """A load whose server needs chunk_us for a chunk, and each client client_us."""
    return (f"quick clients={clients} chunks={chunks} rate={STORE_RATE} "
            f"client-bits={10 ** 9} port-bits={10 ** 10} "
            f"chunk-us={round(client_us)} read-rate={round(CHUNK_MB * 1e12 / chunk_us)}")
