"""The tables of docs/compared.md about stores, drawn by bench/compared from these files of docs/measured: store and store-memory (bench/run),
sizes (bench/run store_sizes), paper-store (bench/paper_store), windows (bench/windows)."""
import re

from document import load, markdown, measured, text
from measure import FAMILIES, SIX
from papers import EMUSTORE

RATES = ("store put", "store get", "server", "list of", "put among", "one per cent changed, straight")
RIVALS = ("borg", "restic", "casync", "desync")


def rates(*files):
    """Ours beside what it is compared with; a limit that was set is nothing to compare with."""
    rows = {}
    for r in (r for f in files for r in f["results"] if r["name"].startswith(RATES)):
        beside = "" if "limit set" in r["rival_name"] else f"{text(r['rival'])}, {r['rival_name']}"
        if beside or r["name"] not in rows:
            rows[r["name"]] = (r["name"], f"{text(r['ours'])} {r['unit']}", beside)
    return markdown(("work", "this suite", "beside"), rows.values())


def sizes(kept):
    """MB of each program's store after the first and the last disk of each set, and processor seconds of all."""
    found = {}
    for r in kept["results"]:
        found.setdefault(r["rival_name"], {})[r["name"]] = r["rival"]
    ways = [f"{title}{what}" for title, names in (("six disks", SIX), ("twelve systems", FAMILIES))
            for what in (f", after {names[0]}", f", after {names[-1]}", " into a store, cpu")]
    return markdown(("program", "first of six", "all six", "processor, s", "first of twelve", "all twelve", "processor, s"),
                    [(program, *(of.get(w) for w in ways)) for program, of in found.items()])


def times(kept):
    """Wall seconds, and in brackets the processor's, a column a program."""
    lines = []
    for what in ("six disks put", "one per cent changed", "one of six as an image", "one of six onto a disk"):
        of = {}
        for r in kept["results"]:
            if r["name"].startswith(what + ", ") and r["rival_name"] in RIVALS:
                of.setdefault(r["rival_name"], {})[r["name"].removeprefix(what + ", ")] = r
        lines.append((what, spent(next(iter(of.values())), "ours"), *(spent(of[p], "rival") for p in RIVALS if p in of)))
    return markdown(("seconds (processor)", "emustore", *(p for p in RIVALS if p in of)), lines)


def spent(rows, side):
    return f"{text(rows['wall'][side])} ({text(rows['cpu'][side])})"


def rows_of(kept, table):
    """Of a table of bench/paper_store the rows by their first cells, each a dictionary by column."""
    table = kept["tables"][table]
    return {r[0]: dict(zip(table["columns"], r)) for r in table["rows"]}


def thesis(kept):
    """Figures 5.2, 5.3, 5.5 and 5.6 of the thesis: all images."""
    columns = [rows_of(kept, t) for t in ("5.2", "5.3", "5.5", "5.6")]
    rows = [(label, *(c.get(label, {}).get("all") for c in columns)) for label in columns[-1] if not label.startswith("of it")]
    least, most = (1 - EMUSTORE[f"5.6, saved, {w}"] for w in ("most", "least"))
    rows.append(("the thesis", "lower with smaller blocks", f"at most {EMUSTORE['5.3, at most']}, 4 to 32 KiB",
                 f"8 KiB: up to {EMUSTORE['5.5, 8 KiB of 32 KiB, at most']:.0f} times 32 KiB's", f"{least:.1f} to {most:.1f}, best with 4 and 8 KiB"))
    return markdown(("blocks, KiB", "different, of all", "compressed, of the image files", "metadata, MB", "together, of the image files"), rows)


def chunk(kept):
    """Figures 5.7 and 5.11: what a chunk costs."""
    made, where = rows_of(kept, "5.7"), rows_of(kept, "5.11")
    rows = [(label.split(" (")[0], r["us a chunk"]) for label, r in made.items() if not re.search(" (8|16|32|64) KiB", label)]
    return markdown(("a chunk of the base image", "us"), rows + [(k, v) for k, v in where["store"].items() if k.startswith(("wire", "client"))])


def loads(kept):
    """Figures 5.8 to 5.10, with real programs."""
    table = kept["tables"]["5.8-real"]
    return markdown(table["columns"][:7], [r[:7] for r in table["rows"]])


def windows(kept):
    rows = [(r["codec"], r["windows"], *r["fragments_mb"], r["thousands"], r["image_mb"]) for r in kept["results"] if r["codec"] in ("deflate:6", "zstd")]
    return markdown(("codec", "windows", "first disk, MB", "and moved", "and rebuilt", "thousands", "first image, MB"), rows)


# Each table, and the files that it is drawn from.
TABLES = {"rates": (rates, "store", "store-memory"), "sizes": (sizes, "sizes"), "times": (times, "store"), "thesis": (thesis, "paper-store"),
          "chunk": (chunk, "paper-store"), "loads": (loads, "paper-store"), "windows": (windows, "windows")}


def made():
    return {table: make(*(load(measured(f)) for f in files)) for table, (make, *files) in TABLES.items()}
