"""What bench/paper_dsync, bench/paper_dsync_guest and bench/dsync_grain have measured: the files in docs/measured, and the tables of docs/dsync.md,
which `python3 bench/dsync_tables.py` draws anew from these files."""
import os, textwrap

import document
from document import markdown

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCUMENT = os.path.join(TOP, "docs/dsync.md")
# The code that the figures of each file measure.
ROOMS = {"dsync": ["dsync"], "dsync-merge": ["dsync/merge", "tools/dmmerge"],
         "dsync-extract": ["dsync/extract", "dsync/read", "tools/dmextract"],
         "dsync-guest": ["dsync/change", "dsync/extract", "dsync/track"],
         "grain": ["dsync/change", "dsync/extract", "dsync/stream"]}


def keep(name, command, figures, folder):
    """Writes the figures, and how they were made, to FOLDER/NAME.json, and with KEEP=yes to docs/measured and docs/dsync.md."""
    figures = dict(**document.about(command, ROOMS[name]), **figures)
    document.keep(f"{folder}/{name}.json", figures)
    if os.environ.get("KEEP") == "yes":
        document.keep(document.measured(name), figures)
        draw()


def how(f):
    zfs = f", ZFS {f['zfs']}" if f.get("zfs") else ""
    words = f"`{f['command']}`, commit {f['commit']}, {f['date']}, {f['machine']}{zfs}{', a busy machine' if f['busy'] else ''}."
    return textwrap.fill(words, 99, break_on_hyphens=False, break_long_words=False)


SHORT = {"clustered, as figure 8": "clustered", "a database (SQLite, WAL)": "database", "a mail store (Maildir)": "mail", "a package upgrade": "upgrade"}


def short(history):
    return SHORT.get(history, history.replace(" at random", ""))


def grain(f):
    """What each block size makes a sync send, in MB."""
    rows = [(short(r["history"]), *(n / 1e6 for n in r["sent_bytes"].values())) for r in f["rows"]]
    return markdown(("MB sent", *(f"{g} KiB" for g in f["rows"][0]["sent_bytes"])), rows)


METHODS = {"dsync": "dsync", "dsync-in-place": "dsync, in place", "btrfs": "`btrfs send`", "hashes": "hashes of 4 KiB",
           "rsync-in-place": "rsync in place", "rsync": "rsync", "copy": "all of it"}
LINKS = {"none": "no limit", "1gbit": "1 Gbit/s", "100mbit": "100 Mbit/s"}


def seconds(row):
    return "" if row is None else f"({row['seconds']:.0f})" if row["calculated"] else row["seconds"]


def of_paper(rows):
    """The paper's seconds for the like, over its own link, by method, and the size of its disk."""
    there = [r for r in rows if r["link"] == "1gbit" and r["paper_seconds"] is not None]
    return {r["method"]: f"{r['paper_seconds']:,g}" for r in there}, f"the paper, {there[0]['paper_gib']} GiB" if there else "the paper"


CHANGES = ("the paper's change", "a tenth of it")


def by_link(f):
    """Seconds of each method for the paper's change and a tenth of it, by link; MB carried and processor are those of the change at 1 Gbit/s."""
    of = {(r["method"], r["case"], r["link"]): r for r in f["rows"] if r["case"] in CHANGES}
    whole = {m: of[m, CHANGES[0], "1gbit"] for m in METHODS if (m, CHANGES[0], "1gbit") in of}
    paper, name = of_paper(of.values())
    rows = [(METHODS[m], *(seconds(of.get((m, c, link))) for c in CHANGES for link in LINKS), paper.get(m), w["sent_bytes"] / 1e6, w["cpu_seconds"])
            for m, w in whole.items()]
    return markdown((f"seconds, {f['paper_gb']:g} GiB", *LINKS.values(), *(f"a tenth, {link}" for link in LINKS.values()), name, "MB", "processor"), rows)


def by_case(f):
    """Seconds over 1 Gbit/s of the changes at random, and of a print server, and the paper's."""
    found = [r for r in f["rows"] if r["link"] == "1gbit" and r["case"].startswith(("random", "print"))]
    of = {(r["method"], r["case"], r["gib"]): r for r in found}
    cases = list(dict.fromkeys((c, g) for _, c, g in of))
    papers = {c: of_paper([r for r in found if r["case"] == c]) for c in dict.fromkeys(c for c, _ in cases)}
    papers = {c: p for c, p in papers.items() if p[0]}
    names = {c: c.replace("random ", "") for c, _ in cases}
    rows = [(METHODS[m], *(seconds(of.get((m, *c))) for c in cases), *(p[0].get(m) for p in papers.values())) for m in METHODS if m != "btrfs"]
    return markdown(("seconds", *(f"{names[c]}, {g:g} GiB" for c, g in cases), *(f"{names[c]}, {p[1]}" for c, p in papers.items())), rows) if cases else None


def parts_of(f):
    return [m for m in f["more"] if m["what"] == "parts"]


def span(parts, name, form):
    low, high = (form.format(f(p[name] for p in parts)) for f in (min, max))
    return low if low == high else f"{low} to {high}"


def hundred_of(f, case, parts):
    """Of one change: its part of the disk, what its bytes alone cost, and a hundredth of rsync's time, which has to read both disks."""
    rsync = [r for r in f["rows"] if r["case"] == case and r["method"] == "rsync-in-place"]
    parts = [dict(bytes_s=p["read_s"] + p["sent_s"] + p["journal_s"] + p["write_s"], hundredth_s=p["seconds"] * p["rsync_times"] / 100) for p in parts]
    changed, gib = rsync[0]["changed_bytes"], rsync[0]["gib"]
    words = (f"{case[0].upper()}{case[1:]} is {changed / gib / 2**30 * 100:.2g} % of the disk: its bytes cost "
             f"{span(parts, 'bytes_s', '{:.2f}')} s, a hundredth of rsync's time is {span(parts, 'hundredth_s', '{:.2f}')} s.")
    return textwrap.fill(words, 99)


def hundred(f):
    """The paper's factor to rsync: of each change for which rsync was run."""
    cases = {}
    for p in parts_of(f):
        if p["rsync_times"]:
            cases.setdefault(p["case"], []).append(p)
    return "\n\n".join(hundred_of(f, case, parts) for case, parts in cases.items())


def where(f):
    """What fio takes for each part of the work of dsync, and by link the time of both ends beside 1.3 times all of it, the link's, too, and 0.15 s."""
    of = {}
    for p in parts_of(f):
        of.setdefault((p["case"], p["method"]), {})[p["link"]] = p
    rows = []
    for (case, method), by in of.items():
        one = next(iter(by.values()))
        rows.append((f"{case}{', in place' if method != 'dsync' else ''}", *(f"{one[k]:.2f}" if one[k] else None for k in ("read_s", "journal_s", "write_s")),
                     *(f"{by[link]['seconds']:.2f}/{by[link]['allowed_s']:.2f}" for link in LINKS),
                     *(f"{by[link]['rsync_times']:.0f}" if by[link]["rsync_times"] else None for link in LINKS)))
    return markdown(("seconds", "read", "journal", "copy", *LINKS.values(), *(f"rsync, {link}" for link in LINKS.values())), rows)


TRACKERS = {"era": "dm-era {}", "thin": "dm-thin {}", "zfs": "ZFS {}"}
NOT_SHOWN = "zfs 8", "zfs 64"
REQUEST_BYTES = 32 << 10  # a disk that moves 500 MB in a second moves so much in 65 us, about what a flushed write takes


def tracker(name):
    kind, kib, *fine = name.split()
    return TRACKERS[kind].format(kib) + (" fine" if fine else "")


def sums(rows, when, device, count):
    """What was counted, by history and tracker; when, device: all of these."""
    found = {}
    for r in rows:
        if r["when"] in when:
            key = r["history"], r["tracker"]
            found[key] = found.get(key, 0) + sum(r[d][count] if d else r[count] for d in device)
    return found


def in_guest(f, *values):
    """By history and tracker what values() say, with slashes between."""
    names, columns = (list(dict.fromkeys(r[k] for r in f["rows"])) for k in ("history", "tracker"))
    columns = [c for c in columns if c not in NOT_SHOWN]
    return markdown(("", *map(tracker, columns)), [(short(h), *("/".join(v[h, t] for v in values) if (h, t) in values[0] else None for t in columns)) for h in names])


def counted(f, when, device, count, form="{}", unit=1):
    return {key: form.format(n / unit if unit > 1 else n) for key, n in sums(f["rows"], [when], device, count).items()}


def guest_bytes(f):
    return in_guest(f, counted(f, "sent", ["disk", "metadata"], "read_bytes", "{:.1f}", 1e6), counted(f, "sent", [None], "sent_bytes", "{:.1f}", 1e6))


def cost(f):
    """Requests and bytes of dm-era's blocks, together, as times those of the cheapest for each history, and the most of each."""
    both, devices = ("written", "sent"), ("disk", "metadata")
    parts = [(REQUEST_BYTES, sums(f["rows"], both, devices, "requests")), (1, sums(f["rows"], both, devices, "read_bytes")),
             (1, sums(f["rows"], both, devices, "written_bytes")), (1, sums(f["rows"], both, [None], "sent_bytes"))]
    names, columns = (list(dict.fromkeys(r[k] for r in f["rows"])) for k in ("history", "tracker"))
    columns = [t for t in columns if t.startswith("era")]
    costs = {h: [sum(times * p[h, t] for times, p in parts) for t in columns] for h in names}
    rows = [(short(h), *(f"{c / min(costs[h]):.2f}" for c in costs[h])) for h in names]
    most = ("the most", *(max((r[i] for r in rows), key=float) for i in range(1, len(columns) + 1)))
    return markdown(("times the cheapest", *map(tracker, columns)), [*rows, most])


PARTS = ("kernel", "SHA-256")  # of the processor's time, as perf sees it


def against_fio(f):
    """Rates beside fio's, unless the machine was busy, and where the processor is."""
    rows, parts = [], [p for p in PARTS if any(p in r.get("shares", {}) for r in f["rows"])]
    for r in f["rows"]:
        rates = [None, None] if f["busy"] else [f"{r['mb_per_second']:,.0f}", f"{100 * r['mb_per_second'] / r['fio_mb_per_second']:.0f} %"]
        rows.append((r["how"], *rates, f"{r['cpu_seconds'] / r['bytes'] * 1e9:.2f}", *(f"{r['shares'].get(p, 0):.0f} %" for p in parts)))
    return markdown(("", "MB/s", "of fio", "processor, s/GB", *parts), rows)


def with_how(table):
    return lambda f: f"{how(f)}\n\n{table(f)}"


TABLES = {
    "dsync-extract": {"extract": with_how(against_fio)},
    "dsync-merge": {"merge": with_how(against_fio)},
    "dsync-guest": {"guest-bytes": with_how(guest_bytes), "guest-cost": cost},
    "grain": {"grain": with_how(grain)},
    "dsync": {"paper-change": with_how(by_link), "paper-cases": by_case, "paper-where": where, "paper-hundred": hundred},
}


def made():
    """The tables of docs/dsync.md, of the files that are there."""
    found = {}
    for name, tables in TABLES.items():
        if os.path.exists(document.measured(name)):
            figures = document.load(document.measured(name))
            found.update({t: make(figures) for t, make in tables.items()})
    return found


def draw():
    document.write(DOCUMENT, "dsync_tables", made())


if __name__ == "__main__":
    draw()
