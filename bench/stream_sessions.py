"""Machines of one session that start while their disks arrive, simulated (docs/simulator.md): who knows in which order they read.

Each machine does 94 reads, which are 4.6 % of the image, with 30 ms behind each of them.  All figures are of virtual time, so that
they do not depend on what else this machine does.
"""
import concurrent.futures, os, statistics

import document
from sim import arguments, run

SEEDS = int(os.environ.get("SEEDS", "100"))
MACHINES = [int(n) for n in os.environ.get("MACHINES", "1 8 80").split()]
JOBS = int(os.environ.get("JOBS", os.cpu_count() or 1))
WAYS = {"the server": "ahead=0 ordered=1", "the machines": "ahead=8 ordered=0", "both": "ahead=8 ordered=1"}
CASES = {"at once": "", "1 % loss": "loss=0.01", "within 2 s": "start=2 spread-us=2000000"}
# What is looked at in a run; of all seeds, means are averaged, and of the worst there is the worst.
LOOKS = {"read_mean_s": statistics.mean, "read_worst_s": max, "boot_mean_s": statistics.mean, "boot_worst_s": max,
         "worst_s": statistics.mean, "urgent": statistics.mean}


def cases():
    """(what is printed, of how many machines, what is set) of each case; one machine has nobody who starts at another time."""
    for machines in MACHINES:
        for case, changes in CASES.items():
            if machines > 1 or "start=" not in changes:
                yield f"{machines} machine{'s' * (machines > 1)}, {case}", machines, changes


def figures(pool, machines, changes, way):
    words = f"x-boots clients={machines} readers={machines} {changes} {WAYS[way]}"
    answers = list(pool.map(lambda seed: run((*arguments(words, seed), "--only")), range(1, SEEDS + 1)))
    for a in answers:
        if a["failed"]:
            raise SystemExit(f"paper_stream: sim {words}, seed {a['seed']}: {a['failed']}")
    return {look: of(a[look] for a in answers) for look, of in LOOKS.items()}


HEADS = ("machines", "who knows the order", "a read waits, mean, ms", "worst, ms", "to the last read, mean, s", "worst, s",
         "the last disk is whole, s", "sent for reads, times what one reads")


def row(name, way, f):
    return (name, way, 1000 * f["read_mean_s"], 1000 * f["read_worst_s"], f["boot_mean_s"], f["boot_worst_s"], f["worst_s"], f["urgent"])


def sessions(results):
    print(f"sessions: simulated, the seeds 1 to {SEEDS}: {'; '.join(HEADS)}")
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for name, machines, changes in cases():
            of = {way: figures(pool, machines, changes, way) for way in WAYS}
            for way, f in of.items():
                print("  " + " | ".join(document.text(c) for c in row(name, way, f)), flush=True)
                results.append({"case": "sessions", "machines": machines, "starts": name, "knows": way, "seeds": SEEDS, **f})
            own, server = of["the machines"], of["the server"]
            times = ", ".join(f"{look} {own[look] / server[look]:.3f}" for look in LOOKS if server[look] > 0)
            print(f"  machines that know it, as multiples of the server's order: {times}", flush=True)
