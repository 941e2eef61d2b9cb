#!/usr/bin/env python3
"""Single flipped bits everywhere in a store: store_flips.py STORE WORK COUNT SEED NAME=IMAGE=DISK...
After each: nothing wrong is served with success, verify --data finds it or nothing is amiss, no writer makes it
worse, and repair --index with a put of each image brings everything back."""
import filecmp, json, os, random, shutil, subprocess, sys, time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import store_read

store, work, count, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
images = [a.split("=") for a in sys.argv[5:]]
BIN = os.environ["BIN"]
S, OUT = work + "/S", work + "/out"
bad = []


def run(*words):
    p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    if p.returncode not in (0, 1, 2, 3): complain(f"exit {p.returncode}: {' '.join(words)}: {p.stdout[-400:]!r}")
    return p.returncode, p.stdout


def es(*words): return run(BIN + "/emustore", "-q", "--store", S, *words)


def complain(why):
    global bad
    bad.append(why)
    print(f"FAIL: {where}: {why}", flush=True)


def served(what, image, *words):
    """Right or refused, never wrong, nothing half left."""
    if os.path.exists(OUT): os.unlink(OUT)
    rc, _ = run(*words)
    if rc == 0 and not filecmp.cmp(OUT, image, False): complain(f"{what}: a wrong byte with success")
    if rc != 0 and "imageunzip" not in words[0] and os.path.exists(OUT): complain(f"{what}: half an image is left")
    return rc == 0


def gets():
    return [served(f"get {n}", i, BIN + "/emustore", "-q", "--store", S, "get", n, OUT) for n, i, _ in images]


def listed():
    rc, out = es("list", "--json")
    return json.loads(out) if rc == 0 else None


def candidates():
    """(file, byte, bit): index pages where something is, their beginnings more often; packs and recipes, a bit of each record's head at least; tables."""
    r = random.Random(seed)
    files = [os.path.relpath(os.path.join(folder, n), store) for top in ("packs", "tables", "images") for folder, _, names in os.walk(f"{store}/{top}") for n in names]
    for name in sorted(files):
        data = open(f"{store}/{name}", "rb").read()
        paddings, recipe = set(), name.startswith("images")
        for at, kind, body, pad, after in store_read.records(data) if not name.startswith("tables") else ():
            paddings.update(range(pad, after))
            yield name, at + r.randrange(32), r.randrange(8), False, recipe, 5
            if body: yield name, at + 32 + r.randrange(len(body)), r.randrange(8), False, recipe, 10
        for _ in range(count):
            at = r.randrange(len(data))
            yield name, at, r.randrange(8), at in paddings, recipe, 2
    data = open(store + "/index.db", "rb").read()
    for at in range(len(data)):
        if data[at] or at % 4096 < 60: yield "index.db", at, r.randrange(8), False, False, 0.5 if at % 4096 < 100 else 0.1
    for at in range(os.path.getsize(store + "/format")): yield "format", at, r.randrange(8), False, False, 2


def one(name, at, bit, padding, recipe):
    shutil.rmtree(S, ignore_errors=True)
    shutil.copytree(store, S)
    with open(f"{S}/{name}", "r+b") as f:
        f.seek(at)
        c = f.read(1)[0]
        f.seek(at)
        f.write(bytes([c ^ 1 << bit]))
    good = gets()
    n, _, disk = random.choice(images)
    served(f"imageunzip {n}", disk, BIN + "/imageunzip", "-q", "--store", S, n, OUT)
    found = es("verify", "--data")[0] != 0
    now = listed()
    if not found and (not all(good) or (now != before and name != "format")): complain("verify --data found nothing")
    if not found and "/" in name and (name.startswith("packs") or not padding): complain("verify --data did not find it")
    if name == "index.db" and not all(good): complain("what is kept of the index kept an image back")
    # Whoever writes now may fail, but must not lose what is there.
    how = random.randrange(3)
    if how == 0: es("put", "new", images[0][1])
    if how == 1: es("rm", "gone"), es("put", "new", images[-1][1]), es("gc", "--all")
    if how == 2: es("gc", "--all"), es("repair"), es("gc", "--all") if name == "format" else None
    if name != "format": gets()
    repair = ("repair",) if name != "index.db" else ("repair", "--index")
    rc, out = es(*repair)
    if name == "format" and rc == 1: return    # another number, which only its writer can know
    if rc not in (0, 3) or rc == 3 and name in ("index.db", "format"): complain(f"{repair}: exit {rc}: {out!r}")
    if name.startswith("tables") and not all(gets()): complain("repair did not find the fragments of a pack again")
    for n, i, _ in images:
        rc, out = es("put", "back/" + n, i)
        if rc != 0: complain(f"put of {n} after repair: {out!r}")
        served(f"get back/{n}", i, BIN + "/emustore", "-q", "--store", S, "get", "back/" + n, OUT) or complain(f"back/{n} is not whole")
    if not all(gets()) and not recipe: complain("a put of all data did not bring all images back")
    if not recipe and es("verify", "--data")[0] != 0: complain("verify finds something still")


started = time.time()
random.seed(seed)
all_of_them = list(candidates())
where = "before"
shutil.rmtree(S, ignore_errors=True)
shutil.copytree(store, S)
before = listed()
if not all(gets()): complain("the store was not whole to begin with")
chosen = random.choices(all_of_them, [c[5] for c in all_of_them], k=count)
kinds = {}
for name, at, bit, padding, recipe, _ in chosen:
    where = f"{name} byte {at} bit {bit}"
    kinds[name.split("/")[0]] = kinds.get(name.split("/")[0], 0) + 1
    one(name, at, bit, padding, recipe)
print(f"{len(chosen)} flips {kinds}, {len(bad)} failures, {time.time() - started:.0f} s")
sys.exit(1 if bad else 0)
