"""Benchmarks of loading nodes: frisbeed and frisbee against udpcast and uftp, on one machine, in network namespaces."""
import os, statistics

from bench_files import allocated_bytes, report
from measure import BIN, ROOTFS, RUNS, as_original, net, run

LAB_RUNS = min(RUNS, 2)      # of a load by several nodes; the better one counts, of everybody
WARM = 1.4                   # disks' memory a node, touched first: some also keep what they receive in a file
ORIGINAL_MB_S = 140          # disk data a second of the original client, one client, such a machine

# A cap that is no limit here: what two cores carry is less, but for a single node.
OURS = ("-W", "4G")
UFTP = ("-R", "2000000", "-r", "0.05:0.01:1")


def lab(kind, clients, f, file, *options, loss=0, **env):
    """One run of bench/net, on tmpfs where there is room for all disks."""
    if loss:
        env["LOSS"] = str(loss)
    if "MUST_BE" not in env and not f.room_for(clients):
        env["TARGETS"] = "null"
    elif f.room_for(WARM * clients):
        env["WARM"] = str(int(WARM * clients * allocated_bytes()))
    return net(kind, clients, f.dir, file, *options, **env)


def contenders(f, all_of_them):
    """What sends the same disk to the same nodes: the ways that were the fastest, or more."""
    disk, partclone = f.need_disk(), f.need_zst() if all_of_them else None
    ours = {"deflate": ("frisbee", f.need(), *OURS), "zstd:3": ("frisbee", f.need_zstd(), *OURS)}
    theirs = {"udpcast | zstd -d, of a disk": ("udpcast", disk), "uftp, zstd -d, of a disk": ("uftp", disk, *UFTP)}
    if all_of_them:
        theirs["udpcast | zstd -d | partclone.restore"] = ("udpcast", partclone)
        theirs["udpcast --pipe 'zstd -1', of a disk"] = ("udpcast-raw", ROOTFS)
        theirs["uftp, zstd -d | partclone.restore"] = ("uftp", partclone, *UFTP)
    return ours, theirs


def bench_lab(f, clients, loss=0):
    """A load of so many nodes at once, each of the contenders in turn, the best run of each."""
    raw, best = allocated_bytes() / 1e6, {}
    ours, theirs = contenders(f, clients == 1 and not loss)
    for _ in range(LAB_RUNS):
        for name, (kind, file, *options) in {**ours, **theirs}.items():
            r = lab(kind, clients, f, file, *options, loss=loss)
            if name not in best or r["seconds"] < best[name]["seconds"]:
                best[name] = r
    name = f"load {clients} node{'s' if clients > 1 else ''}{f', {loss / 10:g} % lost' if loss else ''}"
    fastest = min(theirs, key=lambda t: best[t]["seconds"])
    for t in theirs:
        report(name, raw / best["deflate"]["seconds"], raw / best[t]["seconds"], t, "MB/s", runs=LAB_RUNS)
    report(name + ", zstd:3", raw / best["zstd:3"]["seconds"], raw / best[fastest]["seconds"], fastest, "MB/s", runs=LAB_RUNS)
    cost = {n: r["server_cpu"] / r["sent_bytes"] * 1e9 for n, r in best.items()}
    report("server CPU, GB sent", cost["deflate"], cost[fastest], fastest, "s", False, LAB_RUNS)
    cost = {n: r["server_cpu"] + sum(r["nodes_cpu_s"]) for n, r in best.items() if r["nodes_cpu_s"]}
    least = min((t for t in theirs if t in cost), key=cost.get)
    for ours_name in ours:
        report(f"CPU of all, {ours_name}", cost[ours_name], cost[least], least, "s", False, LAB_RUNS)
    return best["deflate"]


def bench_net1(f):
    r = bench_lab(f, 1)
    report("load 1 node", allocated_bytes() / 1e6 / r["seconds"], ORIGINAL_MB_S, "the original, as published", "MB/s", runs=LAB_RUNS)


def bench_net_original(f):
    """The same disk as an image of the original programs, which has no digests, against one that has them."""
    image, best = f.dir + "/original.ndz", {}
    as_original(ROOTFS, image, f.dir + "/scratch.ndz")
    for _ in range(LAB_RUNS):
        for name, file in (("without", image), ("with", f.need())):
            r = lab("frisbee", 1, f, file, *OURS)
            if name not in best or r["seconds"] < best[name]["seconds"]:
                best[name] = r
    report("load 1 node, no digests", best["without"]["seconds"], best["with"]["seconds"], "with digests", "s", False, LAB_RUNS)
    report("CPU of the node", *(sum(best[n]["nodes_cpu_s"]) for n in ("without", "with")), "with digests", "s", False, LAB_RUNS)
    os.unlink(image)


def bench_net8(f):
    bench_lab(f, 8)
    r = lab("frisbee", 8, f, f.need(), "-W", "60M" if not os.environ.get("SMALL") else "600M")
    dup = 100.0 * r["blocks_resent"] / r["blocks_sent"]
    report("duplicates, 8 nodes, -W 60M", max(dup, 0.001), 2.0, "the limit set", "%", False, 1)


def bench_net_late(f):
    """Two of four nodes come 5 s late, and all must have the same disk; nobody else can join."""
    same = f.dir + "/same"
    run(f"{BIN}/imageunzip -q -j2 {f.need()} {same}")
    r = lab("frisbee", 4, f, f.ndz, "-W", "600M", LATE="5", MUST_BE=same)
    os.unlink(same)
    early, late = (statistics.mean(r["nodes_s"][i:i + 2]) for i in (0, 2))
    report("load, 5 s late, -W 600M", late, early, "those that came first", "s", False, 1)


BENCHES = dict(net1=bench_net1, net_original=bench_net_original, net4=lambda f: bench_lab(f, 4), net8=bench_net8, net1_loss=lambda f: bench_lab(f, 1, 10),
               net4_loss=lambda f: bench_lab(f, 4, 10), net8_loss=lambda f: bench_lab(f, 8, 10), net_late=bench_net_late)
