"""What bench/paper_stream has measured: a file of each part in docs/measured, and the tables of docs/streaming.md, which
`python3 bench/stream_document.py` draws anew from these files."""
import json, os, textwrap

import document
from document import markdown

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCUMENT = os.path.join(TOP, "docs/streaming.md")
# The folders whose code each part measures.
STREAMS = ["stream/disk", "stream/table", "stream/plugin", "stream/sources", "common/image"]
ROOMS = {"table1": STREAMS, "replays": STREAMS, "sessions": ["frisbeed", "frisbee", "common/net", "tests/sim"], "table2": STREAMS,
         "table3": STREAMS, "figures": STREAMS}


def kept_path(part):
    return os.path.join(TOP, f"docs/measured/stream-{part}.json")


def keep(part, results):
    document.keep(kept_path(part), {**document.about(f"make paper-stream PARTS={part}", ROOMS[part]), "results": results})


def fill(text):
    return textwrap.fill(text, 99)


def table_1(results):
    """What a machine reads until it works, of what its image stores."""
    return markdown(("until", "read, MB", "of the stored, %", "the paper, %"),
                    [(r["until"], f"{r['read_bytes'] / 1e6:.0f}", f"{r['percent']:.2f}", f"{r['paper_percent']}") for r in results])


LINKS = {"1gbit": "1 Gbit/s", "100mbit": "100 Mbit/s"}
OTHERS = "streams, an order of others"
NAMES = {"login": "login", "web": "web server", "mail": "mail server", "database": "database"}


def replays(results):
    """A row of each way to have the disk, a column of each link and of what is waited for."""
    of = {(r["link"], r["until"], r["disk"]): r for r in results}
    columns = [(link, name) for link in LINKS for name in NAMES if (link, name, "local disk") in of]

    def cell(r):
        reads = f"; {100 * r['there']:.1f}; {r['waits_s']:.2f}; {r['percentile_99_ms']:.1f}" if r["disk"].startswith("streams") else ""
        return f"{r['seconds']:.2f}{reads}"
    rows = [(way, *(cell(of[(*c, way)]) for c in columns)) for way in dict.fromkeys(r["disk"] for r in results)]
    heads = (f"{LINKS[link]}: {NAMES[name]}" for link, name in columns)
    return (fill("Seconds; of what streams, also reads that need not wait, %; the sum of waits, s; 99 of 100 reads within, ms "
                 f"(medians of {results[0]['runs']} replays):") + f"\n\n{markdown(('disk', *heads), rows)}")


def sessions(results):
    """How long a read waits, by who knows the order; of machines that start at once, only the most."""
    of, most = {(r["starts"], r["knows"]): r for r in results}, max(r["machines"] for r in results)
    cases = dict.fromkeys(r["starts"] for r in results if r["machines"] == most or "at once" not in r["starts"])
    rows = [(case, *(f"{1000 * of[case, way]['read_mean_s']:.2f}; {1000 * of[case, way]['read_worst_s']:.0f}" for way in ("the server", "the machines")))
            for case in cases]
    return markdown(("a read waits, mean; worst, ms", "the server's order", "the machines' order"), rows)


def table_2(results):
    """Sectors over the network, read and written, of a root filesystem on the network and of one that streams."""
    def cell(read, written):
        return f"{read:,.0f}; {written:,.0f}"
    rows = [(r["profile"], cell(*r["paper_remote"]), *(cell(r[f"{way}_read_sectors"], r[f"{way}_written_sectors"]) for way in ("remote", "streaming")))
            for r in results]
    return markdown((f"sectors in {results[0]['seconds']} s, read; written", "the paper's remote root, 600 s", "remote root", "streaming"), rows)


def table_3(results):
    """Reads each of which needs another part of the sector table."""
    rows = [(f"{r['read_kib']} KB", *(f"{r[k]:.1f}" for k in ("first_mb_s", "steady_mb_s", "same_path_mb_s")), f"{100 * r['lost']:.1f}",
             f"{100 * r['paper_lost']:.0f}") for r in results]
    return markdown(("reads of", "first access, MB/s", "steady", "plain file", "lost, %", "the paper, %"), rows)


def figures(results):
    """What requests of each size reach when all sectors are there, beside the same path over a file, and the file.  What is written or read once
    more is as at first."""
    of = {(r["operation"], r["record_kib"]): r for r in results if not r["operation"].startswith("re") or r["operation"] == "read"}
    sizes, names = (list(dict.fromkeys(k[i] for k in of)) for i in (1, 0))

    def cell(r):
        return f"{r['ours_mb_s']:.0f}; {1 - r['lost']:.2f}; {r['ours_mb_s'] / r['file_mb_s']:.2f}"
    return markdown(("8 in flight: MB/s; of the same path; of the file itself, 1 in flight", *(f"{k} KB" for k in sizes)), [(n, *(cell(of[n, k]) for k in sizes)) for n in names])


def when(kept):
    """When each part was measured, and on what."""
    of = {}
    for part, k in kept.items():
        busy = ", which did other work, too" if k["busy"] else ""
        of.setdefault(f"{k['date']}, commit {k['commit']}, {k['machine']}{busy}", []).append(part)
    return fill("; ".join(f"{', '.join(parts)}: {how}" for how, parts in of.items()) + ".")


TABLES = {"table1": table_1, "replays": replays, "sessions": sessions, "table2": table_2, "table3": table_3, "figures": figures}


def draw():
    """Writes each table whose figures are kept; the others stay as they are."""
    kept = {}
    for part in TABLES:
        if os.path.exists(kept_path(part)):
            with open(kept_path(part), encoding="utf-8") as f:
                kept[part] = json.load(f)
    document.write(DOCUMENT, "paper_stream", {"when": when(kept), **{part: TABLES[part](k["results"]) for part, k in kept.items()}})


if __name__ == "__main__":
    draw()
