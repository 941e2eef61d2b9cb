"""Benchmarks of emustore and of serving from a store, against plain files, borg and restic."""
import json, os, random, resource, shutil, statistics, subprocess, sys, tempfile

from bench_files import allocated_bytes, report
from measure import (BIN, FAMILIES, RUNS, SIX, STUDY, TOP, answer, as_original, cpu_per_gb, families, folder_bytes, net, pairs,
                     peak_memory, related, run, six, spend)

MANY = int(os.environ.get("MANY", "10000"))


def bench_store(f):
    """A store with one image twice: new, and nothing new; out of it again, against a copy of the file."""
    f.need()
    store, es = f.dir + "/store", f"{BIN}/emustore -q --store {f.dir}/store"
    raw, image = allocated_bytes() / 1e6, os.path.getsize(f.ndz) / 1e6
    again = f"rm -rf {store} && {es} init"
    new = statistics.median(run(f"{es} put x {f.ndz}", None)[0] for _ in range(RUNS) if run(again))
    known = statistics.median(run(f"{es} put x {f.ndz}")[0] for _ in range(RUNS))
    report("store put, all new", raw / new, 150, "the limit set", "MB/s")
    report("store put, nothing new", raw / known, 750, "the limit set", "MB/s")
    run(f"cp {f.ndz} {f.out}")              # the pages of both are there
    get, copy = pairs(f"{es} get x - > {f.out}", f"cat {f.ndz} > {f.out}")
    report("store get", image / get, image / copy, "cat of the file", "MB/s")
    report("store get", image / get, 500, "the limit set", "MB/s")
    stats = json.loads(subprocess.run(es.split() + ["stats", "--json"], capture_output=True, text=True).stdout)
    report("store size", folder_bytes(store) / 1e6, 1.03 * stats["fragment_bytes"] / 1e6, "1.03x its fragments", "MB", False)
    os.unlink(f.out)
    shutil.rmtree(store)


# Programs that keep disks in a store: how one is made, a disk is put and got, and where it is.  Ours begins at the disk, too;
# borg, restic and casync read the same file.
def ours(home, codec):
    store = f"{home}/rs"
    return (f"{BIN}/emustore -q --store {store} init", lambda d, n: f"{BIN}/imagezip -q --codec={codec} --to=store:{n} --store {store} {d}",
            lambda d, n, out: f"{BIN}/imageunzip -q --store {store} {n} {out}", store)


def borg(home, codec):
    store = f"{home}/rb"
    return (f"borg init -e none {store}", lambda d, n: f"borg create -C {codec} --noatime {store}::{n} {d}",
            lambda d, n, out: f"borg extract --stdout --sparse {store}::{n} > {out}", store)


def restic(home):
    store = f"{home}/rr"
    return (f"restic -q -r {store} init --repository-version 2", lambda d, n: f"restic -q -r {store} backup --compression auto --tag {n} {d}",
            lambda d, n, out: f"restic -q -r {store} dump --tag {n} latest {d} > {out}", store)


def casync(home, program="casync"):
    store = f"{home}/{program}.store"
    words = f"--store={store}" if program == "casync" else f"-s {store}"
    return (f"mkdir {store}", lambda d, n: f"{program} make {words} {home}/{n}.caibx {d}",
            lambda d, n, out: f"{program} extract {words} {home}/{n}.caibx {out}", store)


def there(programs):
    """Those that are installed."""
    return {name: tool for name, tool in programs.items() if name.startswith("emustore") or shutil.which(name.split(",")[0])}


# What the rivals need to ask nothing.
def quiet_home(f):
    return dict(HOME=f.dir, BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK="yes", RESTIC_PASSWORD="x")


def one_percent(disk, out, seed=7):
    """A copy of a disk in which one per cent of the blocks of 64 KiB that have data have other data."""
    run(f"cp --sparse=always {disk} {out}")
    r = random.Random(seed)
    with open(out, "r+b") as image:
        used = [at for at in range(0, os.path.getsize(disk) - 65535, 65536) if image.seek(at) == at and any(image.read(65536))]
        for at in r.sample(used, max(1, len(used) // 100)):
            image.seek(at)
            image.write(r.randbytes(65536))


def medians(command, env, runs=3):
    """Wall and processor seconds of a command that may be repeated."""
    spent = [spend(command, env)[:2] for _ in range(runs)]
    return tuple(statistics.median(v) for v in zip(*spent))


def second_puts(put, disk, changed, env):
    """Wall and processor seconds of putting a disk that is there, with one per cent changed: each time another per cent."""
    spent = []
    for seed in (7, 8, 9):
        one_percent(disk, changed, seed)
        spent.append(spend(put(changed, f"changed{seed}"), env)[:2])
    os.unlink(changed)
    return tuple(statistics.median(v) for v in zip(*spent))


def bench_store_rivals(f):
    """Six disks of a family, and one of them again with one per cent changed, into stores and out of them.  Ours is got as an image
    file, too, which is what is served; what a rival gives back is the disk."""
    disks, changed, home = six(), f.dir + "/changed.ext4", quiet_home(f)
    spent, again, got, image = {}, {}, {}, None
    programs = there(dict(emustore=ours(f.dir, "deflate:6"), borg=borg(f.dir, "zstd,3"), restic=restic(f.dir), casync=casync(f.dir),
                          desync=casync(f.dir, "desync")))
    for name, (init, put, get, store) in programs.items():
        run(init, home)
        spent[name] = [sum(v) for v in zip(*(spend(put(d, n), home)[:2] for d, n in zip(disks, SIX)))]
        again[name] = second_puts(put, disks[1], changed, home)
        run(f"rm -f {f.out}")
        got[name] = medians(f"rm -f {f.out}; " + get(disks[3], "frag", f.out), home)
        if subprocess.run(["cmp", "-s", disks[3], f.out]).returncode != 0 and name != "emustore":
            print(f"bench: {name}: another disk comes out", flush=True)
        if name == "emustore":
            image = medians(f"rm -f {f.out}; {BIN}/emustore -q --store {store} get frag {f.out}", home)
        run(f"rm -rf {f.out} {store}")
    for k in set(spent) - {"emustore"}:
        for what, mine, rival in (("six disks put", spent["emustore"], spent[k]), ("one per cent changed", again["emustore"], again[k]),
                                  ("one of six as an image", image, got[k]), ("one of six onto a disk", got["emustore"], got[k])):
            for i, kind in enumerate(("wall", "cpu")):
                report(f"{what}, {kind}", mine[i], rival[i], k, "s", False, 1 if "put" in what else 3)


def shelves(home):
    """The programs that store_sizes() compares.  Codecs are zlib or deflate at level 6, and zstd at 3, which restic calls auto and
    casync has no name for."""
    return there({"emustore, deflate 6": ours(home, "deflate:6"), "emustore, zstd 3": ours(home, "zstd:3"),
                  "borg, zlib 6": borg(home, "zlib,6"), "borg, zstd 3": borg(home, "zstd,3"), "restic, zstd auto": restic(home),
                  "casync, zstd": casync(home), "desync, zstd": casync(home, "desync")})


def stored(tool, disks, names, env):
    """Disks into a store, one after the other: MB of the store after each, and processor seconds of all."""
    init, put, _, store = tool
    run(init, env)
    sizes, cpu = [], 0
    for d, n in zip(disks, names):
        cpu += spend(put(d, n), env)[1]
        sizes.append(folder_bytes(store) / 1e6)
    return sizes, cpu


def report_sizes(title, names, found):
    """Each program beside the first one, which is ours as it is by default.  found: of each program what stored() returns."""
    usual_sizes, usual_cpu = next(iter(found.values()))
    for program, (sizes, cpu) in found.items():
        for n, usual, size in zip(names, usual_sizes, sizes):
            report(f"{title}, after {n}", usual, size, program, "MB", False, 1)
        report(f"{title} into a store, cpu", usual_cpu, cpu, program, "s", False, 1)


def bench_store_sizes(f):
    """The six disks, and twelve real ones, into stores."""
    for title, disks, names in (("six disks", six(), SIX), ("twelve systems", families(), FAMILIES)):
        found = {}
        for program, tool in shelves(f.dir).items():
            found[program] = stored(tool, disks, names, quiet_home(f))
            run(f"rm -rf {tool[-1]}")
        report_sizes(title, names, found)


def bench_store_again(f):
    """A disk that changed by one per cent, captured into a store that has it: straight, and by an image."""
    disk, changed = six()[1], f.dir + "/changed.ext4"
    one_percent(disk, changed)
    es = f"{BIN}/emustore -q --store {f.dir}/sa"
    begin = f"rm -rf {f.dir}/sa && {es} init && {BIN}/imagezip -q --to=store:x --store {f.dir}/sa {disk}"
    straight, by_image = [], []
    for i in range(RUNS):
        for command, times in ((f"{BIN}/imagezip -q --to=store:x --store {f.dir}/sa {changed}", straight),
                               (f"{BIN}/imagezip -q --windows=store {changed} - | {es} put x -", by_image)):
            run(begin)
            times.append(spend(command)[1])
    report("one per cent changed, straight, cpu", statistics.median(straight), statistics.median(by_image), "imagezip | emustore put", "s", False)
    shutil.rmtree(f.dir + "/sa")
    os.unlink(changed)


def forget_pages(folder):
    """Nothing of these files, which are on a disk, is in memory any more."""
    os.sync()
    for at, _, names in os.walk(folder):
        for n in names:
            fd = os.open(os.path.join(at, n), os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def cold_puts(many, few, image):
    """Median seconds of a put into each of two stores that are on a disk and of which nothing is in memory, and the bytes that were read."""
    folder, spent, read = tempfile.mkdtemp(prefix="bench.", dir=TOP + "/build"), ([], []), [0, 0]
    try:
        for i, store in enumerate((many, few)):
            run(f"cp -r {store} {folder}/{i}")
            run(f"{BIN}/emustore -q --store {folder}/{i} put new {image}")  # the index of a store in another place is made once
        for _ in range(RUNS):
            for i in (0, 1):
                forget_pages(f"{folder}/{i}")
                before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock
                spent[i].append(run(f"{BIN}/emustore -q --store {folder}/{i} put new {image}")[0])
                read[i] = 512 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_inblock - before)
    finally:
        shutil.rmtree(folder)
    if 0 in read:
        sys.exit("bench: the cache was not cold: nothing was read from the disk")
    return (*map(statistics.median, spent), read)


def bench_store_many(f):
    """MANY=10000 images of 100 MB of data each, most of it zeros, in a store: a list, and a put, against a put into a new store; also
    with nothing of the store in memory, for which both are on the disk that build/ is on: tmpfs keeps all in memory."""
    many, few, mb = f.dir + "/many", f.dir + "/few", 100
    es = f"{BIN}/emustore -q --store"
    with open(f.dir + "/seed", "wb") as out:
        out.write(os.urandom(1 << 20))
        for _ in range(mb - 1):         # piece by piece: what this process needs counts for those that it starts
            out.write(bytes(1 << 20))
    with open(f.dir + "/delta", "wb") as out:
        out.write(os.urandom(1 << 18))
    for n in ("seed", "delta"):
        run(f"{BIN}/imagezip -q -r {f.dir}/{n} {f.dir}/{n}.ndz")
    run(f"{es} {few} init && {es} {few} put seed {f.dir}/seed.ndz && {es} {many} init && {STUDY}/fill_store {many} {f.dir}/seed.ndz {MANY}")
    stats = answer(*f"{es} {many} stats --json".split())
    print(f"{stats['images']} images with {stats['data_bytes'] / 1e12:.2f} TB of data", flush=True)
    runs = [run(f"{es} {many} list > /dev/null") for _ in range(RUNS + 1)]
    report(f"list of {MANY:,} images", 1000 * statistics.median(wall for wall, _ in runs[1:]), 50, "the limit set", "ms", False)
    report("memory of a list", max(m for _, m in runs) / 1e6, 200, "the limit set", "MB", False, 1)
    puts = [f"{es} {store} put new {f.dir}/delta.ndz" for store in (many, few)]
    report("memory of a put", run(puts[0])[1] / 1e6, 200, "the limit set", "MB", False, 1)
    a, b = pairs(*puts)
    report(f"put among {MANY:,} images", 1000 * a, 1100 * b, "1.1x a put into a small store", "ms", False)
    a, b, read = cold_puts(many, few, f.dir + "/delta.ndz")
    print(f"from the disk, KB: {read[0] / 1e3:.0f}, and {read[1] / 1e3:.0f} of the small store", flush=True)
    report("the same, from a cold cache", 1000 * a, 1100 * b, "1.1x a put into a small store", "ms", False)
    shutil.rmtree(many), shutil.rmtree(few)


def bench_store_original(f):
    """Images of the original programs: into a store and out of it, against the same image kept as it is."""
    es, disk = f"{BIN}/emustore -q --store {f.dir}", related()[0]
    image = f.dir + "/original.ndz"
    as_original(disk, image, f.dir + "/scratch.ndz")
    for store in ("made", "kept"):
        run(f"{es}/{store} init")
    raw = answer(*f"{es}/made put --json x {image}".split())["data_bytes"] / 1e6
    put = [spend(f"{es}/made put x {image}") for _ in range(RUNS)]
    keep = [spend(f"{es}/kept put --exact x {image}") for _ in range(RUNS)]
    report("original put, cpu", statistics.median(c for _, c, _ in put), statistics.median(c for _, c, _ in keep), "put --exact", "s", False)
    report("original put", raw / statistics.median(w for w, _, _ in put), raw / statistics.median(w for w, _, _ in keep), "put --exact", "MB/s")
    a, b = pairs(f"{es}/made get x - > {f.out}", f"{es}/kept get x - > {f.out}")
    size = os.path.getsize(image) / 1e6
    report("original get", size / a, size / b, "the same kept exact", "MB/s")
    for store in ("made", "kept"):
        shutil.rmtree(f"{f.dir}/{store}")
    os.unlink(f.out), os.unlink(image)


def serving_cost(f, image, store, name):
    """CPU of the server for a GB: medians from the store and from the file, in turn."""
    ours, rival = [], []
    for i in range(RUNS + 1):
        a = cpu_per_gb(net("frisbee", 1, f.dir, name, "-G", "0", f"--store={store}"))
        b = cpu_per_gb(net("frisbee", 1, f.dir, image, "-G", "0"))
        if i > 0:
            ours.append(a), rival.append(b)
    return statistics.median(ours), statistics.median(rival)


def bench_store_serve(f):
    """What the server's CPU does for a GB, from a store and from the file."""
    f.need()
    store, original = f.dir + "/serve", f.dir + "/original.ndz"
    as_original(related()[0], original, f.dir + "/scratch.ndz")
    run(f"{BIN}/emustore -q --store {store} init")
    for name, image in (("ours", f.ndz), ("original", original)):
        run(f"{BIN}/emustore -q --store {store} put {name} {image}")
        a, b = serving_cost(f, image, store, name)
        report(f"server cpu a GB, {name}", a, b, "the image from its file", "s", False)
        if name == "ours":
            report("server cpu a GB, ours", a, 1.05 * b, "1.05x, the limit set", "s", False)
    shutil.rmtree(store)
    os.unlink(original)


def bench_store_memory(f):
    """The server with an image of 1 TB, whose recipe is a small one's many times over."""
    f.need()
    store, where = f.dir + "/large", f.dir + "/where"
    es = f"{BIN}/emustore -q --store {store}"
    run(f"{es} init && {es} put small {f.ndz} && {STUDY}/fill_large {store} small large {1000 ** 4 >> 20}")
    server = [f"{BIN}/frisbeed", "-q", "--store", store, "--unicast", "-m", "127.0.0.1", "-p", "0", "-A", where, "large"]
    client = f"timeout 5 {BIN}/frisbee -q --unicast -m 127.0.0.1 -p $(grep -o '[0-9]*$' {where}) /dev/null || true"
    report("server memory, 1 TB", peak_memory(server, where, client) / 1e6, 200, "the limit set", "MB", False, 1)
    shutil.rmtree(store)


BENCHES = dict(store=bench_store, store_original=bench_store_original, store_serve=bench_store_serve, store_memory=bench_store_memory,
               store_rivals=bench_store_rivals, store_sizes=bench_store_sizes,
               store_again=bench_store_again, store_many=bench_store_many)
