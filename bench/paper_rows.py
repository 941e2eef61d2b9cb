"""The simulated rows of the Frisbee paper's evaluation: what is run, what is looked at,
what it must be, and what the paper has (papers.py).  bench/paper runs them with many
seeds; bench/simulated writes those of one seed into docs/."""
import os, statistics

from papers import FRISBEE
from sim import CHUNK_MB, arguments, at, of_ideal

FULL = os.environ.get("FULL", "0") == "1"
SEEDS = int(os.environ.get("SEEDS", "20"))
MANY = 20 if FULL else 5        # runs of rows with more than 80 clients
# Of those with 10,000 clients: each takes some three minutes.
GREAT = MANY if FULL or os.cpu_count() >= 8 else 1

SMALL = "chunks=180 chunk-us=183000 rate=64100000 chunk-spread=0.02 spread-us=30000000"
LARGE = "chunks=655 chunk-us=131000 rate=64100000 chunk-spread=0.02 spread-us=30000000"
IMAGES = {"small": SMALL, "large": LARGE}
CHUNKS = {"small": 180, "large": 655}
MIXED = "chunks=655 chunk-us=88000 slow-chunk-us=144000 spread-us=30000000"
VARY = SMALL.replace("0.02", "0.173")   # evenly, with a standard deviation of 10 %
# With 2 ms in which cards gather what comes, a run takes a fifth of the time; the clients
# take as long as without.
CROWD = (LARGE if FULL else SMALL.replace("chunks=180", "chunks=64")) + " gather-us=2000"
# What the paper calls 70 and 90 Mbit/s, as its own times imply.
CAPS = {"70": 64100000, "90": 83400000}
RECENT = ("port-bits=25000000000 client-bits={} rate={} chunk-us={} chunks=640 "
          "queue-bytes=1048576 read-ns=500 socket-packets=8000")
PORTS = ("clients=8 chunks=400 port-bits=10000000000 client-bits=1000000000 latency-us=60 "
         "read-ns=1000 socket-packets=4000 chunk-us=1000 queue-bytes={}")
START = {"at once": 0, "four groups": 1, "uniform": 2}
KINDS = {"base": "crowd", "extension": "x-crowd"}
CLIENTS = (1, 2, 8, 20, 40, 80)


class Row:
    """One line of the results: runs, and the median (or the mean) of what they show.
    must: None where it is only shown."""
    def __init__(self, case, sim, look, must, paper=None,
                 unit="of its own time alone", seeds=20, worst=False, least=False,
                 plot=None, middle=statistics.median):
        self.case, self.sim, self.look, self.unit = case, sim, look, unit
        self.must, self.worst, self.least, self.middle = must, worst, least, middle
        self.paper, self.seeds, self.plot = paper, min(seeds, SEEDS), plot

    def args(self, seed):
        return arguments(self.sim, seed)

    def value(self, answers):
        values = [self.look(a) for a in answers]
        if self.worst:
            return (min if self.least else max)(values)
        return self.middle(values)

    def ok(self, value):
        if self.must is None:
            return None
        if isinstance(self.must, tuple):
            return self.must[0] <= value <= self.must[1]
        return value >= self.must if self.least else value <= self.must


def near(published):
    """The base protocol as the study reproduces it: not slower, and not much faster,
    since no machine's CPU is busy."""
    return (0.75 * published, 1.05 * published)


def no_more(published):
    return 1.05 * published


def in_all(published):
    """Of what the server does until the last client is done."""
    return (0.75 * published, 1.25 * published)


def between(image, n):
    """Seconds for n clients, on a straight line between those that the text names."""
    one = FRISBEE[f"figure 3: {image}, 1 client"]
    eighty = FRISBEE[f"figure 3: {image}, 80 clients"]
    return one + (eighty - one) * (n - 1) / 79


def messages(image):
    """Messages a second of 80 clients at once; figure 4's peak is the large image's."""
    seconds = FRISBEE[f"table 5: {image}, at once: server's time"]
    return FRISBEE[f"table 3: {image}, at once: messages"] / seconds


def no_more_messages(image, n):
    """On a straight line from one client, which asks for each chunk, joins and leaves."""
    one = (CHUNKS[image] + 2) / FRISBEE[f"figure 3: {image}, 1 client"]
    return 1.05 * (one + (messages(image) - one) * (n - 1) / 79)


def times_one(image, how, which):
    """The paper's time of table 3 as a multiple of that of one client."""
    one = FRISBEE[f"figure 3: {image}, 1 client"]
    return FRISBEE[f"table 3: {image}, {how}: {which}"] / one


def skewed(image, hows, seeds):
    for how in hows:
        sim = f"x-uniform start={START[how]} {IMAGES[image]}"
        limits = (1.005, 1.005) if how == "at once" else (1.02, 1.03)
        for which, member, limit in (("mean", "mean", limits[0]),
                                     ("slowest", "worst", limits[1])):
            yield Row(f"80 {how}, {image} image: {which}", sim, at("own", member), limit,
                      times_one(image, how, which), seeds=seeds)
        yield Row(f"80 {how}, {image} image: received twice", sim, at("useless"), 0.01,
                  unit="of what is needed", seeds=seeds)


def crowds():
    for n in (1000, 10000):
        for loss, must in ((0, 1.005), (0.01, 1.08), (0.1, 1.28)):
            yield Row(f"{n} at once, {100 * loss:g} % lost",
                      f"x-crowd {CROWD} clients={n} loss={loss}", at("own", "mean"), must,
                      seeds=MANY if n == 1000 else GREAT)


def lossy():
    image = "chunks=180"
    for loss, limits in ((0.01, (1.06, 1.07)), (0.1, (1.25, 1.26))):
        sim = f"x-crowd-1 {image} loss={loss}"
        yield Row(f"80 clients, {100 * loss:g} % lost: time", sim, at("own", "mean"),
                  limits[0])
        yield Row(f"80 clients, {100 * loss:g} % lost: sent", sim, at("sent"), limits[1],
                  unit="images")
    for loss, must in ((0.01, 1.03), (0.1, 1.15)):
        yield Row(f"1 client, {100 * loss:g} % lost", f"x-quick-one-1 loss={loss}",
                  at("own", "mean"), must)
        yield Row(f"1 client, {100 * loss:g} % lost, small image",
                  f"x-crowd {SMALL} clients=1 loss={loss}", at("own", "mean"), must)
    for burst, must in ((10, 1.20), (100, 1.28)):
        yield Row(f"80 clients, 5 % in bursts of {burst}",
                  f"x-bursts {image} loss-burst={burst}", at("own", "mean"), must)
    yield Row("80 clients, 1 % lost, the rate adapts", f"x-crowd-1 {image} dynamic=1",
              at("own", "mean"), 1.25)
    yield Row("a quarter of 80 crash, 1 % lost: the others",
              f"x-crowd-1 {image} crashes=20", at("own", "mean"), 1.05)


def control():
    for name, sim, must, paper in (("80", "x-crowd chunks=180", 20, messages("small")),
                                   ("80 at 1 %", "x-crowd-1 chunks=180", 20, None),
                                   ("80 at 10 %", "x-crowd-10 chunks=180", 35, None)):
        yield Row(f"control messages, {name}", sim, at("chatter_per_s"), must, paper,
                  "a second")
        yield Row(f"control messages, {name}: the busiest second", sim,
                  at("busiest_second"), 150, unit="messages")
    many = f"x-crowd {CROWD} clients=10000 loss=0.01"
    yield Row("control messages, 10000 at 1 %", many, at("chatter_per_s"), 100,
              unit="a second", seeds=GREAT)
    yield Row("control messages, 10000 at 1 %: the busiest second", many,
              at("busiest_second"), 500, unit="messages", seeds=GREAT)


def mixed():
    one = f"x-crowd {MIXED} rate={CAPS['90']} clients=4 slow-clients=1"
    paper = lambda line, who: FRISBEE[f"table 4: 90 Mbit/s, {line}: {who}"]
    alone = {"slow": paper("4 slow and 0 fast", "slow"),
             "fast": paper("0 slow and 4 fast", "fast")}
    for who, must in (("fast", 1.01), ("slow", 1.03)):
        yield Row(f"1 slow and 3 fast at 90 Mbit/s: {who}", one, at(f"own_{who}", "mean"),
                  must, paper("1 slow and 3 fast", who) / alone[who])
    twenty = f"x-uniform {MIXED} rate={CAPS['90']} slow-clients=20"
    yield Row("20 slow and 60 fast, uniform: fast", twenty, at("own_fast", "mean"), 1.02,
              seeds=5 if not FULL else 20)
    yield Row("20 slow and 60 fast, uniform: slowest slow", twenty,
              at("own_slow", "worst"), 1.25, seeds=5 if not FULL else 20)


def shared():
    for n in (2, 4, 8):
        yield Row(f"{n} servers on one link: fairness", f"share{n}", at("jain"), 0.95,
                  unit="Jain's index", least=True)
        yield Row(f"{n} servers on one link: fairness, worst seed", f"share{n}",
                  at("jain"), 0.90, unit="Jain's index", worst=True, least=True)
        yield Row(f"{n} servers on one link: use", f"share{n}", at("use"), 0.90,
                  unit="of the link", least=True)
        yield Row(f"{n} servers on one link: lost", f"share{n}", at("loss"), 0.02,
                  unit="of what is sent")
        long = f"share{n} queue-bytes=1000000"
        yield Row(f"{n} servers, queue of 1 MB: fairness", long, at("jain"), 0.95,
                  unit="Jain's index", least=True, seeds=5)
        yield Row(f"{n} servers, queue of 1 MB: use", long, at("use"), 0.90,
                  unit="of the link", least=True, seeds=5)
        yield Row(f"{n} servers, queue of 1 MB: lost", long, at("loss"), 0.02,
                  unit="of what is sent", seeds=5)


def stalls():
    stall = "read-rate=100000000 stall-us=250000 stall-every-us=5000000"
    for (name, case), most in zip(KINDS.items(), (80, 0)):  # base: once by each client
        sim = f"{case} {stall}"
        yield Row(f"the server's disk stalls, {name}: asked again", sim, at("rerequests"),
                  most, unit="requests")
        yield Row(f"the server's disk stalls, {name}: sent", sim, at("sent"), 1.0,
                  unit="images")


def targets():
    yield from skewed("large", START, 5 if not FULL else 20)
    yield from skewed("small", ("four groups", "uniform"), 20)
    for how in ("four groups", "uniform"):
        sim = f"x-uniform start={START[how]} {VARY}"
        yield Row(f"80 {how}, small image, disks vary by 10 %: mean", sim,
                  at("own", "mean"), 1.02)
        yield Row(f"80 {how}, small image, disks vary by 10 %: slowest", sim,
                  at("own", "worst"), 1.10)
    for part in (crowds, lossy, control, mixed, shared, stalls):
        yield from part()


def skewed_base(image, how):
    """Started at once, it is the run of figure 3 with 80 clients."""
    start = f" start={START[how]}" if START[how] else ""
    return f"crowd {IMAGES[image]} clients=80{start}"


def table_3():
    """With clients that speak the base protocol only, as all of tables 4 and 5."""
    looks = {"mean": ("mean_s", near, "s"), "slowest": ("worst_s", near, "s"),
             "messages": ("control", no_more, "messages"),
             "sent again": ("resent", lambda p: 1.25 * p, "of what is sent")}
    for image in IMAGES:
        for how in START:
            for column, (member, bound, unit) in looks.items():
                paper = FRISBEE[f"table 3: {image}, {how}: {column}"]
                yield Row(f"table 3: {image}, {how}: {column}",
                          skewed_base(image, how), at(member), bound(paper),
                          paper, unit, 5 if image == "small" else 2)


def table_4():
    looks = {"slow": ("slow_mean_s", near, "s"), "fast": ("fast_mean_s", near, "s"),
             "messages": ("control", no_more, "messages"),
             "sent again": ("resent", lambda p: p + 0.005, "of what is sent")}
    four = [(rate, slow, 4 - slow) for rate in CAPS for slow in (0, 1, 3, 4)]
    for rate, slow, fast in four + [("90", 8, 1)]:
        line = f"table 4: {rate} Mbit/s, {slow} slow and {fast} fast"
        sim = (f"crowd {MIXED} rate={CAPS[rate]} chunk-spread=0.02 clients={slow + fast} "
               f"slow-clients={slow}")
        for column, (member, bound, unit) in looks.items():
            paper = FRISBEE.get(f"{line}: {column}")
            if paper is not None:
                yield Row(f"{line}: {column}", sim, at(member), bound(paper), paper, unit,
                          5)


def table_5():
    for image in IMAGES:
        rate = lambda a: a["sent"] * a["chunks"] * CHUNK_MB / a["end_s"]
        for how in START:
            line, sim = f"table 5: {image}, {how}", skewed_base(image, how)
            for column, look, unit in (("server's time", at("end_s"), "s"),
                                       ("data sent", rate, "MB/s")):
                paper = FRISBEE[f"{line}: {column}"]
                yield Row(f"{line}: {column}", sim, look, in_all(paper), paper, unit,
                          3 if image == "small" else 2)


def clients(n):
    return f"{n} client{'s' * (n > 1)}"


def figure_3():
    for image, settings in IMAGES.items():
        for n in CLIENTS:
            paper = FRISBEE.get(f"figure 3: {image}, {clients(n)}")
            for name, kind in KINDS.items():
                line = between(image, n)
                must = near(line) if name == "base" else 1.02 * line
                yield Row(f"figure 3: {image}, {clients(n)}: {name}",
                          f"{kind} {settings} clients={n}", at("mean_s"), must, paper,
                          "s", 3 if image == "small" else 1,
                          plot=("figure-3", f"{image}, {name}", n))


def figure_4():
    for image, settings in IMAGES.items():
        for n in CLIENTS:
            peak = FRISBEE["figure 4: the peak"] if image == "large" else messages(image)
            for name, kind in KINDS.items():
                yield Row(f"figure 4: {image}, {clients(n)}: {name}",
                          f"{kind} {settings} clients={n}", at("control_per_s"),
                          no_more_messages(image, n),
                          peak if n == 80 else None, "messages a second", 3
                          if image == "small" else 1,
                          plot=("figure-4", f"{image}, {name}", n))


# Of figure 5, how much longer than anything must take that repeats what is lost.
MOST_OF_LEAST = 1.1


def figure_5():
    """The large image, and losses at the server: of what it sends, for all clients alike,
    and of what it hears."""
    for n in CLIENTS:
        for loss in (0.01, 0.1):
            least = between("large", 1) / (1 - loss)
            for name, kind in KINDS.items():
                yield Row(f"figure 5: {clients(n)}, {100 * loss:g} % lost: {name}",
                          f"{kind} {LARGE} clients={n} server-loss={loss}", at("mean_s"),
                          MOST_OF_LEAST * least, None, "s", 1,
                          plot=("figure-5", f"{name}, {100 * loss:g} %", n))


def ablation():
    """Section 5.3: does listening to others' requests help, and waiting longer?"""
    ways = {"listening, 1 s": "", "listening, 2 s": "redo-us=2000000",
            "not listening, 1 s": "unheard=1",
            "not listening, 2 s": "unheard=1 redo-us=2000000"}
    for image, settings in IMAGES.items():
        for way, extra in ways.items():
            line = f"NACK avoidance: {image}, {way}"
            sim = f"crowd {settings} clients=80 {extra}"
            seeds = 3 if image == "small" else 1
            paper = FRISBEE.get(line)
            most = paper if paper is not None else FRISBEE[line.replace("2 s", "1 s")]
            yield Row(f"{line}: messages", sim, at("control_per_s"), most, paper,
                      "a second", seeds)
            time = FRISBEE[f"figure 3: {image}, 80 clients"]
            yield Row(f"{line}: time", sim, at("mean_s"), near(time), None if extra
                      else time, "s", seeds)


def today():
    """A server at 25 Gbit/s, clients at 1 and 10 Gbit/s with NVMe."""
    # At 10 Gbit/s a load takes 0.6 s, and the answer to the last reports a third of it.
    for gbit, rate, disk, lossy in ((1, 900_000_000, 3000, 1.05),
                                    (10, 9_000_000_000, 400, 1.45)):
        sim = f"x-crowd {RECENT.format(gbit * 10**9, rate, disk)} clients=16"
        for loss, must in ((0, 1.02), (0.001, lossy)):
            yield Row(f"today: 16 clients at {gbit} Gbit/s, {100 * loss:g} % lost",
                      f"{sim} loss={loss}", at("own", "mean"), must, seeds=1)
    for kib in (128, 64, 32):
        line = f"today: 8 clients at 1 Gbit/s, server at 10, ports of {kib} KB"
        sim = f"x-crowd {PORTS.format(kib << 10)}"
        yield Row(f"{line}: sent, -W 900M", f"{sim} rate=900000000", at("sent"), 1.02,
                  unit="images")
        yield Row(f"{line}: sent, no option", f"{sim} rate=10000000000 dynamic=1",
                  at("sent"), 1.2, unit="images")


# What a port holds, in KB, and the most that a load may take with ports of this size
# (in multiples of the ideal; None: only shown), at -W 900M and at a rate that is found.
QUEUES = {256: (1.05, 1.25), 128: (1.05, 1.25), 64: (1.05, 1.25), 32: (1.05, 1.5),
          16: (None, None)}
WORST = 1.25    # how much longer than these the worst seed may take


def port_runs(kib):
    """Eight clients of 1 Gbit/s, a server of 10: at -W 900M, and without an option."""
    queue = f"queue-bytes={kib << 10} chunks=400"
    return {"-W 900M": (f"x-ports-16-900 {queue}", 900_000_000),
            "no option": (f"x-ports-64 {queue}", 1_000_000_000)}


def of_ports(line, sim, bits, must, seeds=100):
    """The mean and the worst time, and the base protocol's beside it."""
    look, unit = of_ideal(bits), "of the ideal"
    most = None if must is None else WORST * must
    yield Row(f"{line}: mean", sim, look, must, unit=unit, seeds=seeds,
              middle=statistics.mean)
    yield Row(f"{line}: worst seed", sim, look, most, unit=unit, seeds=seeds, worst=True)
    yield Row(f"{line}: base protocol", f"{sim} ext=0 parity=0", look, None, unit=unit,
              seeds=5, middle=statistics.mean)


def ports():
    """Servers on a faster link than their clients, and small ports between them."""
    for kib, musts in QUEUES.items():
        for (option, (sim, bits)), must in zip(port_runs(kib).items(), musts):
            yield from of_ports(f"ports of {kib} KB, {option}", sim, bits, must)
    yield from of_ports("8 clients at 10 Gbit/s, server at 25, ports of 256 KB, -W 9G",
                        "x-ports-10g chunks=400", 9_000_000_000, 1.1)


PARTS = (targets, table_3, table_4, table_5, figure_3, figure_4, figure_5, ablation,
         today, ports)
