"""What bench/paper_dsync and bench/dsync_grain have measured: the files in docs/measured, and the tables of docs/dsync.md,
which `python3 bench/dsync_tables.py` draws anew from these files."""
import json, os, subprocess, time

import document
from document import markdown

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DOCUMENT = os.path.join(TOP, "docs/dsync.md")


def kept_path(name):
    return os.path.join(TOP, f"docs/measured/{name}.json")


def keep(name, command, figures, folder):
    """Writes the figures, and how they were made, to FOLDER/NAME.json, and with KEEP=yes to docs/measured and docs/dsync.md."""
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    figures = dict(command=command, commit=commit, date=time.strftime("%-d %B %Y"), machine=document.machine(),
                   busy=os.environ.get("BUSY") == "yes", **figures)
    paths = [f"{folder}/{name}.json"] + ([kept_path(name)] if os.environ.get("KEEP") == "yes" else [])
    for path in paths:
        with open(path, "w", encoding="utf-8") as f:
            json.dump(figures, f, indent=1)
            f.write("\n")
    if len(paths) > 1:
        draw()


def how(f):
    busy = " Other programs worked beside it, so its times say little." if f["busy"] else ""
    return f"{f['date']}, commit {f['commit']}, {f['machine']}.{busy} The command:\n\n    {f['command']}"


def grain(f):
    """What each block size makes a sync send, in MB."""
    grains = list(f["rows"][0]["sent_bytes"])
    rows = [(r["history"], *(n / 1e6 for n in r["sent_bytes"].values()), *(f"{n / r['sent_bytes']['4']:.1f}" for n in list(r["sent_bytes"].values())[1:]))
            for r in f["rows"]]
    return markdown(("MB sent after", *(f"{g} KiB" for g in grains), *(f"{g} KiB, of 4" for g in grains[1:])), rows)


def made():
    """The tables of docs/dsync.md, of the files that are there."""
    found = {}
    for name, tables in {"grain": {"grain-how": how, "grain": grain}}.items():
        if os.path.exists(kept_path(name)):
            with open(kept_path(name), encoding="utf-8") as f:
                figures = json.load(f)
            found.update({t: make(figures) for t, make in tables.items()})
    return found


def draw():
    document.write(DOCUMENT, "dsync_tables", made())


if __name__ == "__main__":
    draw()
