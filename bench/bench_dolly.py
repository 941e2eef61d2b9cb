"""Benchmarks of chains, trees and stars: nodes in network namespaces, each with a link of its own rate, on one machine.

dolly_install: links of 100 Mbit/s; each of 8 nodes installs a disk of DOLLY_MB (256) MB, half of which cannot be compressed.
dolly_raw: links of 1 Gbit/s, and targets that discard DOLLY_RAW_MB (256) MB of noise.  Nine machines are one here, so the share
of the time in which its processors were idle is printed: near 0 they are the limit, and not the network.
dolly_plan: chain, tree and multicast of ours beside what `dolly plan` predicts for these links of 100 Mbit/s.
dolly_points: DOLLY_POINTS_MB (64) MB of noise to 1, 2, 3, 5, 8 and 15 nodes, along the star, the tree of 3 and the chain, as in
the Dolly paper's figures 10 and 11, beside dolly plan; into build/paper-dolly/measured.json, too, for bench/paper_dolly.
dolly_goes: the disk of dolly_install, with nodes that come and go.  Of 8 nodes two come when an undisturbed chain would be half
through, one goes for good then, and one goes after a quarter and is back after three quarters.  A node goes as if its cable was
pulled and its power switched off.  What is counted is who of the seven that are there in the end has the disk, and when the last
of them had it."""
import json, os, random, shutil, subprocess

from bench_files import report
from measure import BIN, RUNS, TOP, answer, net

NODES = 8
LAB_RUNS = min(RUNS, 3)          # the best of them counts, of everybody
INSTALL_MB = int(os.environ.get("DOLLY_MB", "256"))
RAW_MB = int(os.environ.get("DOLLY_RAW_MB", "256"))
MEMORY_MB = 64                   # a node's memory, at most
LINK_PART = 0.95                 # of what TCP can carry on a link
PAYLOAD = 1448 / 1514            # bytes of a segment's data in those of its frame, as tbf counts them
POINTS_MB = int(os.environ.get("DOLLY_POINTS_MB", "64"))
POINTS = (1, 2, 3, 5, 8, 15)
WAYS = {"star": ("--star",), "tree=3": ("--tree", "3"), "chain": ("--chain",)}
TORRENTS = ("aria2", "rtorrent", "libtorrent")
SWARM = ("udpcast", *TORRENTS)   # who goes on when a node goes
KINDS = {"udpcast": "udpcast", "nc and tee, a chain": "nc-chain", "socat and tee, a chain": "socat-chain",
         "socat, a star": "socat-star", "aria2": "aria2", "rtorrent": "rtorrent", "libtorrent": "libtorrent"}


def write_disk(path):
    """Noise and bytes that are all the same, 128 KiB of each in turn."""
    r = random.Random(5)
    with open(path, "wb") as f:
        for i in range(INSTALL_MB * 4):
            f.write(r.randbytes(128 << 10) + bytes([i % 251]) * (128 << 10))


def disk(f):
    path = f.dir + "/dolly.disk"
    if not os.path.exists(path):
        write_disk(path)
    return path


def image(f):
    path = f.dir + "/dolly.ndz"
    return f.made(path, f"{BIN}/imagezip -q -r -j2 {disk(f)} {path}")


def packed(f):
    path = f.dir + "/dolly.zst"
    return f.made(path, f"zstd -q -3 -T2 {disk(f)} -o {path}")


def noise(f, megabytes=RAW_MB):
    path = f"{f.dir}/noise{megabytes}.raw"
    if not os.path.exists(path):
        r = random.Random(6)
        with open(path, "wb") as out:
            for _ in range(megabytes):
                out.write(r.randbytes(1 << 20))
    return path


def has_libtorrent():
    return subprocess.run(["/usr/bin/python3", "-c", "import libtorrent"], stderr=subprocess.DEVNULL).returncode == 0


def rivals():
    """What is installed of them."""
    needs = {"nc-chain": ("nc",), "socat-chain": ("socat",), "socat-star": ("socat",),
             "aria2": ("aria2c", "mktorrent", "opentracker"), "rtorrent": ("rtorrent", "aria2c", "mktorrent", "opentracker"),
             "libtorrent": ("aria2c", "mktorrent", "opentracker"),
             "udpcast": ("udp-sender", "udp-receiver")}
    for name, kind in KINDS.items():
        lacks = [p for p in needs[kind] if shutil.which(p) is None]
        if kind == "libtorrent" and not has_libtorrent():
            lacks.append("python3-libtorrent")
        if lacks:
            print(f"{name} is left out: {' '.join(lacks)} is not installed (scripts/deps bench)")
        else:
            yield name, kind


def available_bytes(folder):
    """What may be written there, in a folder that may be memory."""
    with open("/proc/meminfo") as info:
        memory = next(int(line.split()[1]) << 10 for line in info if line.startswith("MemAvailable"))
    return min(memory, shutil.disk_usage(folder).free)


def best_of(f, contenders, **env):
    """Each of the contenders in turn, LAB_RUNS times: the fastest run of each.  Installed disks are kept where there is room
    for all of them, and for what some clients keep besides."""
    best = {}
    if "TARGETS" not in env:
        needed = int(NODES * 1.7 * os.path.getsize(disk(f)))
        if needed + (1 << 30) > available_bytes(f.dir):
            print(f"{NODES} disks do not fit into {f.dir}: nothing is kept")
            env["TARGETS"] = "null"
        else:
            env["WARM"] = str(needed)
    for _ in range(LAB_RUNS):
        for name, (kind, file, *options) in contenders.items():
            r = net(kind, NODES, f.dir, file, *options, **env)
            if name not in best or r["seconds"] < best[name]["seconds"]:
                best[name] = r
    return best


def show_nodes(name, best):
    """CPU and memory of a node, of everybody, and how idle the machine was."""
    for who, r in best.items():
        cpu, memory = r["nodes_cpu_s"], r["nodes_rss_kb"]
        print(f"    {name}, {who}: {r['seconds']:.2f} s; a node: {sum(cpu) / len(cpu):.2f} s of CPU, {max(memory) / 1000:.1f} MB; "
              f"server: {r['server_cpu']:.2f} s of CPU; idle {100 * r['idle']:.0f} %")


def report_all(name, best, megabytes, link_bytes_s):
    """Rows: each rival, the link, a node's CPU and memory."""
    ours = best["dolly"]
    show_nodes(name, best)
    rate = {who: megabytes[who] / r["seconds"] for who, r in best.items()}
    for who in best:
        if who != "dolly":
            report(name, rate["dolly"], rate[who], who, "MB/s", runs=LAB_RUNS)
    sent = megabytes["on the wire"] / ours["seconds"]
    report(f"{name}, on the wire", sent, LINK_PART * link_bytes_s / 1e6, f"{100 * LINK_PART:.0f} % of the link", "MB/s", runs=LAB_RUNS)
    cpu = {who: sum(r["nodes_cpu_s"]) / NODES for who, r in best.items()}
    least = min((who for who in best if who != "dolly"), key=cpu.get)
    report(f"{name}, CPU a node", cpu["dolly"], max(cpu[least], 0.01), least, "s", False, LAB_RUNS)
    report(f"{name}, memory a node", max(ours["nodes_rss_kb"]) / 1000, MEMORY_MB, "the limit set", "MB", False, LAB_RUNS)


def sent_bytes(path):
    """Of an image: its chunks without the zeros at the end of each, which dolly does not send."""
    with open(path, "rb") as image_file:
        return sum(len(chunk.rstrip(b"\0")) for chunk in iter(lambda: image_file.read(1 << 20), b""))


def bench_install(f):
    contenders = {"dolly": ("dolly", image(f)), **{name: (kind, packed(f)) for name, kind in rivals()}}
    best = best_of(f, contenders, LINK="100mbit")
    raw = os.path.getsize(disk(f)) / 1e6
    megabytes = {**{who: raw for who in best}, "on the wire": sent_bytes(image(f)) / 1e6}
    report_all("chain of 8, 100 Mbit/s", best, megabytes, PAYLOAD * 100e6 / 8)


def bench_raw(f):
    contenders = {"dolly": ("dolly", noise(f), "--raw"),
                  **{name: (kind, noise(f)) for name, kind in rivals() if kind not in TORRENTS}}
    best = best_of(f, contenders, LINK="1gbit", TARGETS="null")
    megabytes = {**{who: os.path.getsize(noise(f)) / 1e6 for who in best}, "on the wire": os.path.getsize(noise(f)) / 1e6}
    report_all("chain of 8, 1 Gbit/s, raw", best, megabytes, PAYLOAD * 1e9 / 8)


def description(f, nodes=NODES):
    """The lab, as dolly plan reads it."""
    path = f"{f.dir}/lab{nodes}.net"
    hosts = f"10.9.0.1,10.9.0.[11-{10 + nodes}]"
    with open(path, "w") as out:
        out.write(f"switch lab\nhost {hosts}\nlink {hosts} lab rate={PAYLOAD * 100:.4f}Mbit\nserver 10.9.0.1\npiece 64k\n")
    return path


def predictions(f, size, nodes=NODES):
    """The seconds of each way, as dolly plan says them."""
    rows = answer(f"{BIN}/dolly", "plan", "--json", "--image-size", size, "--nodes", nodes, description(f, nodes))["predictions"]
    return {r["topology"]: r["seconds"] for r in rows}


def bench_plan(f):
    predicted = predictions(f, os.path.getsize(image(f)))
    contenders = {"chain": ("dolly", image(f), "--chain"), "tree=2": ("dolly", image(f), "--tree", "2"),
                  "multicast": ("frisbee", image(f), "-W", "92M")}
    best = best_of(f, contenders, LINK="100mbit")
    show_nodes("beside plan", best)
    for name, r in best.items():
        report(f"{name}, 100 Mbit/s", r["seconds"], predicted[name], "dolly plan", "s", False, LAB_RUNS)


def bench_points(f):
    """The best of LAB_RUNS at each point."""
    file, points = noise(f, POINTS_MB), []
    size = os.path.getsize(file)
    for nodes in POINTS:
        predicted = predictions(f, size, nodes)
        for way, options in WAYS.items():
            seconds = min(net("dolly", nodes, f.dir, file, "--raw", *options, LINK="100mbit", TARGETS="null")["seconds"]
                          for _ in range(LAB_RUNS))
            report(f"{way}, {nodes} nodes, 100 Mbit/s", seconds, predicted[way], "dolly plan", "s", False, LAB_RUNS)
            points.append(dict(topology=way, clients=nodes, bytes=size, seconds=seconds, plan=predicted[way]))
    os.makedirs(f"{TOP}/build/paper-dolly", exist_ok=True)
    with open(f"{TOP}/build/paper-dolly/measured.json", "w") as out:
        json.dump(points, out, indent=1)


def bench_goes(f):
    """The best run of each: the one with the most nodes, and of these the fastest."""
    chain_s = predictions(f, sent_bytes(image(f)))["chain"]
    when = {part: round(part * chain_s, 2) for part in (0.25, 0.5, 0.75)}
    env = dict(LINK="100mbit", MUST_BE=disk(f), LIMIT=str(round(10 * chain_s) + 20),
               GOES=f"3:{when[0.25]} 5:{when[0.5]}", COMES=f"3:{when[0.75]} 7:{when[0.5]} 8:{when[0.5]}")
    contenders = {"dolly": ("dolly", image(f)), **{name: (kind, packed(f)) for name, kind in rivals() if kind in SWARM}}
    if "udpcast" in contenders:
        contenders["udpcast"] += ("--retries-until-drop", "5")  # or it waits minutes for a node that has gone
    runs = {who: [] for who in contenders}
    for _ in range(LAB_RUNS):
        for who, (kind, file, *options) in contenders.items():
            runs[who].append(net(kind, NODES, f.dir, file, *options, **env))
    best = {who: min(r, key=lambda one: (-one["whole"], one["seconds"])) for who, r in runs.items()}
    share = {who: 100 * r["whole"] / r["there"] for who, r in best.items()}
    for who in contenders:
        print(f"    nodes come and go, {who}: whole, seconds: " + ", ".join(f"{r['whole']} of {r['there']}, {r['seconds']:.1f}" for r in runs[who]))
        if who != "dolly":
            report("nodes come and go, whole", share["dolly"], max(share[who], 1), who, "%", runs=LAB_RUNS)
        if who != "dolly" and best[who]["whole"] == best["dolly"]["whole"]:
            report("nodes come and go, the last", best["dolly"]["seconds"], best[who]["seconds"], who, "s", False, LAB_RUNS)


BENCHES = dict(dolly_install=bench_install, dolly_raw=bench_raw, dolly_plan=bench_plan, dolly_points=bench_points, dolly_goes=bench_goes)
