"""What bench/paper_dsync, bench/paper_dsync_guest and bench/dsync_grain have measured: the files in docs/measured, and the tables of docs/dsync.md,
which `python3 bench/dsync_tables.py` draws anew from these files."""
import os, textwrap

import document
from document import markdown
from dsync_changes import BLOCK, LONGEST, OF_FIGURE_8

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCUMENT = os.path.join(TOP, "docs/dsync.md")
# The code that the figures of each file measure.
ROOMS = {"dsync": ["dsync"], "dsync-merge": ["dsync/merge", "tools/dmmerge"], "dsync-guest": ["dsync/change", "dsync/extract", "dsync/track"],
         "grain": ["dsync/change", "dsync/extract", "dsync/stream"]}


def keep(name, command, figures, folder):
    """Writes the figures, and how they were made, to FOLDER/NAME.json, and with KEEP=yes to docs/measured and docs/dsync.md."""
    figures = dict(**document.about(command, ROOMS[name]), **figures)
    document.keep(f"{folder}/{name}.json", figures)
    if os.environ.get("KEEP") == "yes":
        document.keep(document.measured(name), figures)
        draw()


def how(f):
    busy = " It was a busy machine, so the times say little." if f["busy"] else ""
    words = textwrap.fill(f"{f['date']}, commit {f['commit']}, {f['machine']}.{busy} The command:", 99)
    return f"{words}\n\n    {f['command']}"


def grain(f):
    """What each block size makes a sync send, in MB."""
    grains = list(f["rows"][0]["sent_bytes"])
    rows = [(r["history"], *(n / 1e6 for n in r["sent_bytes"].values()), *(f"{n / r['sent_bytes']['4']:.1f}" for n in list(r["sent_bytes"].values())[1:]))
            for r in f["rows"]]
    return markdown(("MB sent after", *(f"{g} KiB" for g in grains), *(f"{g} KiB, of 4" for g in grains[1:])), rows)


METHODS = {"dsync": "dsync", "dsync-in-place": "dsync, in place", "btrfs": "`btrfs send`", "hashes": "hashes of 4 KiB",
           "rsync-in-place": "rsync in place", "rsync": "rsync", "copy": "all of it"}
LINKS = {"none": "no limit", "1gbit": "1 Gbit/s", "100mbit": "100 Mbit/s"}


def seconds(row):
    return "" if row is None else f"({row['seconds']:.0f})" if row["calculated"] else row["seconds"]


def of_paper(row):
    """The paper's seconds for the like, and the size of its disk, if that is another one."""
    if row is None or row["paper_seconds"] is None:
        return None
    return f"{row['paper_seconds']:,g}" + ("" if row["paper_gib"] == row["gib"] else f", of {row['paper_gib']} GiB")


def by_link(f, case):
    """Seconds of each method for one change, by link, and the paper's; the MB that the link of 1 Gbit/s carried."""
    of = {(r["method"], r["link"]): r for r in f["rows"] if r["case"] == case}
    there = [m for m in METHODS if any((m, link) in of for link in LINKS)]
    rows = [(METHODS[m], *(seconds(of.get((m, link))) for link in LINKS), of_paper(of.get((m, "1gbit"))), of[m, "1gbit"]["sent_bytes"] / 1e6,
             of[m, "1gbit"]["cpu_seconds"] if not of[m, "1gbit"]["calculated"] else None) for m in there]
    return markdown((f"seconds, {f['paper_gb']:g} GiB", *LINKS.values(), "the paper, 1 Gbit/s", "MB carried", "processor, s"), rows)


def by_case(f):
    """Seconds over 1 Gbit/s of the changes at random, and of a print server, and the paper's."""
    of = {(r["method"], r["case"], r["gib"]): r for r in f["rows"] if r["link"] == "1gbit"}
    cases = list(dict.fromkeys((c, g) for _, c, g in of if c.startswith(("random", "print"))))
    papers = dict(case for case in cases if any(of_paper(of.get((m, *case))) for m in METHODS))  # the largest disk of each case
    rows = [(METHODS[m], *(seconds(of.get((m, *c))) for c in cases), *(of_paper(of.get((m, *c))) for c in papers.items())) for m in METHODS if m != "btrfs"]
    return markdown(("seconds", *(f"{c}, {g:g} GiB" for c, g in cases), *(f"{c}, the paper" for c in papers)), rows) if cases else None


def more(f, what):
    return [m for m in f["more"] if m["what"] == what]


def memory(f):
    """Table 1."""
    rows = [(f"{m['tib']} TiB", f"{m['paper_mib']:.0f}", m["mib"]) for m in more(f, "table 1")]
    return markdown(("device", "the paper's bits in the kernel, MiB", "`dmextract`, MiB"), rows) if rows else None


def traces(f):
    """Figures 4 and 5; of a busy machine the processors' share is that of all that ran."""
    rows = [(METHODS[m["method"]], m["seconds"], None if f["busy"] else f"{m['cpu_percent']:.0f} %", m["mb_per_second"],
             None if m["paper_mb_per_second"] is None else f"{m['paper_mb_per_second']:g}, of 32 GiB") for m in more(f, "figures 4, 5")]
    return markdown((f"random 10 %, {f['paper_gb'] / 2:g} GiB", "seconds", "of all processors", "MB sent in a second", "the paper"), rows) if rows else None


RUNS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 12), (13, 128), (129, LONGEST))
FIGURE_8 = {**OF_FIGURE_8, 1: 0, LONGEST: LONGEST}  # of 45,000 blocks


def histogram(f):
    """Figure 8: which part of the changed blocks is in runs of so many."""
    def part(counts, least, most):
        return f"{100 * sum(n for length, n in counts.items() if least <= int(length) <= most) / sum(counts.values()):.1f} %"

    found = {m["changes"]: m["blocks_in_runs_of"] for m in more(f, "figure 8")}
    paper = {**FIGURE_8, 0: 45000 - sum(FIGURE_8.values())}
    rows = [(f"{a}" if a == b else f"{a} to {b}", *(part(c, a, b) for c in found.values()), part(paper, a, b) if b in FIGURE_8 else None) for a, b in RUNS]
    return markdown(("blocks in a row", *found, "the paper's, as far as it says"), rows) if found else None


def ways(parts):
    """Parts by what they are of: "with no limit (in place), at 1 Gbit/s"."""
    return ", ".join(f"{'with ' if p['link'] == 'none' else 'at '}{LINKS[p['link']]}{' (in place)' if p['method'] != 'dsync' else ''}" for p in parts)


def span(parts, name, form):
    low, high = (form.format(f(p[name] for p in parts)) for f in (min, max))
    return low if low == high else f"{low} to {high}"


def not_had(parts):
    """Why dsync is not a hundred times as fast: by what its bytes alone cost, of those parts for which that is so, and of the others."""
    cost, rest = ([p for p in parts if (p["bytes_s"] >= p["hundredth_s"]) == more] for more in (True, False))
    words = ""
    if cost:
        words += (f" The bytes alone cost {span(cost, 'bytes_s', '{:.3f}')} s, more than a hundredth of rsync's time "
                  f"({span(cost, 'hundredth_s', '{:.3f}')} s): {ways(cost)}.")
    if rest:
        words += (f" The bytes alone cost {span(rest, 'bytes_s', '{:.3f}')} s, less than a hundredth of rsync's time "
                  f"({span(rest, 'hundredth_s', '{:.3f}')} s): {ways(rest)}; dsync took {span(rest, 'seconds', '{:.3f}')} s.")
    return words


def hundred_of(f, case, parts):
    """What there is to say of one change: whether the paper's factor to rsync is had, and what both read."""
    rsync = [dict(r, mb=2 * r["gib"] * 2**30 / 1e6) for r in f["rows"] if r["case"] == case and r["method"] == "rsync-in-place"]
    parts = [dict(p, bytes_s=p["read_s"] + p["sent_s"] + p["journal_s"] + p["write_s"], hundredth_s=p["seconds"] * p["rsync_times"] / 100) for p in parts]
    had, changed, gib = [p for p in parts if p["rsync_times"] >= 100], rsync[0]["changed_bytes"], rsync[0]["gib"]
    rates = [dict(mb_per_second=r["mb"] / r["seconds"]) for r in rsync]
    words = (f"{case[0].upper()}{case[1:]}, {changed // BLOCK:,} blocks, is {changed / gib / 2**30 * 100:.2g} % of {gib:g} GiB. rsync in place took "
             f"{span(parts, 'rsync_times', '{:.0f}')} times as long as dsync: the hundred is had {ways(had) if had else 'nowhere'}. rsync read "
             f"{rsync[0]['mb']:,.0f} MB of both disks, at {span(rates, 'mb_per_second', '{:.0f}')} MB/s; `fio` read what has changed at "
             f"{changed / 1e6 / max(parts[0]['read_s'], 1e-3):.0f} MB/s, and wrote it at {changed / 1e6 / max(parts[0]['write_s'], 1e-3):.0f}."
             f"{not_had([p for p in parts if p not in had])}{' (A busy machine.)' if f['busy'] else ''}")
    return textwrap.fill(words, 99)


def hundred(f):
    """The paper's factor to rsync: of each change for which rsync was run."""
    cases = {}
    for p in more(f, "parts"):
        if p["rsync_times"]:
            cases.setdefault(p["case"], []).append(p)
    return "\n\n".join(hundred_of(f, case, parts) for case, parts in cases.items())


def where(f):
    """Each part of the time of dsync as fio or the link takes it, and what it took from end to end."""
    rows = [(f"{p['case']}, {METHODS[p['method']]}, {LINKS[p['link']]}", p["read_s"], p["sent_s"], p["journal_s"] or None, p["write_s"], p["allowed_s"],
             p["seconds"], f"{p['rsync_times']:.0f}" if p["rsync_times"] else None) for p in more(f, "parts")]
    return markdown(("seconds", "read", "sent", "journal", "copy", "1.3 times all, and 0.15", "took", "rsync in place, times as long"), rows)


TRACKERS = {"era": "dm-era, {} KiB", "thin": "dm-thin, {} KiB", "zfs": "ZFS, {} KiB"}
REQUEST_BYTES = 32 << 10  # a disk that moves 500 MB in a second moves so much in 65 us, about what a flushed write takes


def tracker(name):
    kind, kib, *fine = name.split()
    return TRACKERS[kind].format(kib) + (", `--fine`" if fine else "")


def sums(rows, when, device, count):
    """What was counted, by history and tracker; when, device: all of these."""
    found = {}
    for r in rows:
        if r["when"] in when:
            key = r["history"], r["tracker"]
            found[key] = found.get(key, 0) + sum(r[d][count] if d else r[count] for d in device)
    return found


def in_guest(f, values, form):
    names, columns = (list(dict.fromkeys(r[k] for r in f["rows"])) for k in ("history", "tracker"))
    return markdown(("after", *map(tracker, columns)), [(h, *(form(values[h, t]) for t in columns)) for h in names])


def counted(when, device, count, form=lambda v: v):
    return lambda f: in_guest(f, sums(f["rows"], when, device, count), form)


def megabytes(v):
    return v / 1e6


def cost(f):
    """Requests and bytes of dm-era's blocks, together, as times those of the cheapest for each history, and the most of each."""
    both, devices = ("written", "sent"), ("disk", "metadata")
    parts = [(REQUEST_BYTES, sums(f["rows"], both, devices, "requests")), (1, sums(f["rows"], both, devices, "read_bytes")),
             (1, sums(f["rows"], both, devices, "written_bytes")), (1, sums(f["rows"], both, [None], "sent_bytes"))]
    names, columns = (list(dict.fromkeys(r[k] for r in f["rows"])) for k in ("history", "tracker"))
    columns = [t for t in columns if t.startswith("era")]
    costs = {h: [sum(times * p[h, t] for times, p in parts) for t in columns] for h in names}
    rows = [(h, *(f"{c / min(costs[h]):.2f}" for c in costs[h])) for h in names]
    most = ("the most", *(max((r[i] for r in rows), key=float) for i in range(1, len(columns) + 1)))
    return markdown(("times the cheapest", *map(tracker, columns)), [*rows, most])


def in_guest_how(f):
    zfs = f" ZFS was {f['zfs']}." if f.get("zfs") else ""
    seconds = " The seconds were those of an emulated machine on a busy one, and are not shown." if f["busy"] else ""
    words = textwrap.fill(f"{f['date']}, commit {f['commit']}, {f['machine']}.{zfs}{seconds} The command:", 99)
    return f"{words}\n\n    {f['command']}"


def merges(f):
    """Rates of dmmerge, unless the machine was busy, and what it asks of disk and processor for each byte that is merged."""
    rows, parts = [], ("kernel", "SHA-256", "copies in memory", "dmmerge itself")
    for r in f["rows"]:
        times = [f"{r[k] / r['bytes']:.2f}" for k in ("written_bytes", "read_bytes")]
        rates = [None, None] if f["busy"] else [r["mb_per_second"], f"{100 * r['mb_per_second'] / r['fio_mb_per_second']:.0f} %"]
        rows.append((r["how"], *rates, f"{100 * r['wanted']:.0f} %", *times, r["cpu_seconds"] / r["bytes"] * 1e9, *(f"{r['shares'][p]:.0f} %" if p in r["shares"] else None for p in parts)))
    return markdown(("", "MB/s", "of fio's writes", "wanted", "disk writes, times", "disk reads, times", "processor, s for a GB", *parts), rows)


TABLES = {
    "dsync-merge": {"merge-how": how, "merge": merges},
    "dsync-guest": {"guest-how": in_guest_how, "guest-sent": counted(["sent"], [None], "sent_bytes", megabytes),
                    "guest-read": counted(["sent"], ["disk", "metadata"], "read_bytes", megabytes),
                    "guest-sync": counted(["sent"], ["disk", "metadata"], "requests"),
                    "guest-noted": counted(["written"], ["metadata"], "requests"),
                    "guest-written": counted(["written"], ["disk"], "requests"), "guest-cost": cost},
    "grain": {"grain-how": how, "grain": grain},
    "dsync": {"paper-how": how, "paper-change": lambda f: by_link(f, "the paper's change"), "paper-tenth": lambda f: by_link(f, "a tenth of it"),
              "paper-cases": by_case, "paper-memory": memory, "paper-traces": traces, "paper-runs": histogram, "paper-where": where,
              "paper-hundred": hundred},
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
