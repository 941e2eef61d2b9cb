"""Benchmarks of emustore and of serving from a store, against plain files, borg and restic."""
import json, os, shutil, statistics, subprocess

from bench_files import allocated_bytes, report
from measure import (BIN, RELATED, RUNS, STUDY, TOP, answer, as_original, cpu_per_gb, folder_bytes, net, pairs, peak_memory,
                     related, run, spend)


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


def bench_store_rivals(f):
    """Four related disks into a store, against borg and restic with the same disks as files."""
    disks = related()
    for d in disks:
        run(f"{BIN}/imagezip -q -j2 {d} {f.dir}/{os.path.basename(d)[:-5]}.ndz")
    es, home = f"{BIN}/emustore -q --store {f.dir}/rs", dict(HOME=f.dir, BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK="yes", RESTIC_PASSWORD="x")
    # Ours from the disk on: capture and put; theirs read the same file.
    tools = dict(
        emustore=(f"{es} init", lambda d, n: f"{BIN}/imagezip -q -j2 {d} - | {es} put {n} -",
                  lambda n, out: f"{BIN}/imageunzip -q --store {f.dir}/rs {n} {out}", f.dir + "/rs"),
        borg=(f"borg init -e none {f.dir}/rb", lambda d, n: f"borg create -C zstd,3 --noatime {f.dir}/rb::{n} {d}",
              lambda n, out: f"borg extract --stdout --sparse {f.dir}/rb::{n} > {out}", f.dir + "/rb"),
        restic=(f"restic -q -r {f.dir}/rr init --repository-version 2", lambda d, n: f"restic -q -r {f.dir}/rr backup --compression auto --tag {n} {d}",
                lambda n, out: f"restic -q -r {f.dir}/rr dump --tag {n} latest {os.path.join(TOP, 'build/bench/related', n)}.ext4 > {out}", f.dir + "/rr"))
    times, sizes = {}, {}
    for name, (init, put, get, store) in tools.items():
        run(init, home)
        times[name] = [run(put(d, n), home)[0] for d, n in zip(disks, RELATED)]
        sizes[name] = folder_bytes(store)
        run(f"rm -f {f.out}")
        times[name].append(run(get("upgrade", f.out), home)[0])
    for rival in ("borg", "restic"):
        name = rival + (" zstd,3" if rival == "borg" else " --compression auto")
        report("four disks, store", sizes["emustore"] / 1e6, sizes[rival] / 1e6, name, "MB", False, 1)
        for i, n in enumerate(RELATED + ("upgrade out of it",)):
            report(("put " if i < 4 else "") + n, times["emustore"][i], times[rival][i], name, "s", False, 1)


def bench_store_many(f):
    """10 000 images in a store, of one chunk each: a list, and a put, against a new store."""
    many, few = f.dir + "/many", f.dir + "/few"
    es = f"{BIN}/emustore -q --store"
    with open(f.dir + "/seed", "wb") as out:
        out.write(os.urandom(1 << 20))
    run(f"{BIN}/imagezip -q -r {f.dir}/seed {f.dir}/seed.ndz")
    run(f"{es} {few} init && {es} {few} put seed {f.dir}/seed.ndz && {es} {many} init && {TOP}/build/plain/bench/fill_store {many} {f.dir}/seed.ndz 10000")
    with open(f.dir + "/delta", "wb") as out:
        out.write(os.urandom(1 << 18))
    run(f"{BIN}/imagezip -q -r {f.dir}/delta {f.dir}/delta.ndz")
    times = [run(f"{es} {many} list > /dev/null")[0] for _ in range(RUNS + 1)]
    report("list of 10 000 images", 1000 * statistics.median(times), 100, "the limit set", "ms", False)
    a, b = pairs(f"{es} {many} put new {f.dir}/delta.ndz", f"{es} {few} put new {f.dir}/delta.ndz")
    report("put among 10 000 images", 1000 * a, 1000 * b, "put into a small store", "ms", False)
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
    """The server with an image of 100 GB, whose recipe is a small one's many times over."""
    f.need()
    store, where = f.dir + "/large", f.dir + "/where"
    es = f"{BIN}/emustore -q --store {store}"
    run(f"{es} init && {es} put small {f.ndz} && {STUDY}/fill_large {store} small large {100 * 1000 ** 3 >> 20}")
    server = [f"{BIN}/frisbeed", "-q", "--store", store, "--unicast", "-m", "127.0.0.1", "-p", "0", "-A", where, "large"]
    client = f"timeout 5 {BIN}/frisbee -q --unicast -m 127.0.0.1 -p $(grep -o '[0-9]*$' {where}) /dev/null || true"
    report("server memory, 100 GB", peak_memory(server, where, client) / 1e6, 200, "the limit set", "MB", False, 1)
    shutil.rmtree(store)


BENCHES = dict(store=bench_store, store_original=bench_store_original, store_serve=bench_store_serve, store_memory=bench_store_memory,
               store_rivals=bench_store_rivals, store_many=bench_store_many)
