"""Text that a test keeps, and compares with what is seen on a terminal or on a page.

A file of such text has parts, each a line "== NAME" and the lines that are seen there.  In front
of a line, "? " says that it may be missing, and "| " that it stands there for a while only.
Numbers are N, and the name of this machine is HOST, so that each run shows the same."""
import os, re

UNITS = ((r"\b" + re.escape(os.uname().nodename) + r"\b", "HOST"),
         (r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{32,}\b", "ID"),
         (r"<?\b\d+(\.\d+)? [kMGT]?B\b", "N B"), (r"<?\b\d+(\.\d+)? [kMG]?bit/s", "N bit/s"),
         (r"(\d+:)?\d+:\d\d\b", "N:N"), (r"<?\d+(\.\d+)?", "N"), (r"\s+", " "))


def numberless(line):
    """The line as it is kept."""
    for what, by in UNITS:
        line = re.sub(what, by, line)
    return line.strip()


def read(path):
    """{ part: [(mark, line)] }; a mark is "?", "|" or ""."""
    parts, part = {}, None
    for line in open(path, encoding="utf-8").read().splitlines():
        if line.startswith("== "):
            part = parts.setdefault(line[3:], [])
        elif line and not line.startswith("#"):
            mark = line[0] if line[:2] in ("? ", "| ") else ""
            part.append((mark, line[2:] if mark else line))
    return parts


def differences(kept, seen):
    """What is wrong with these lines, in whatever order they are seen; [] if nothing is."""
    allowed, needed = {l for _, l in kept}, [l for m, l in kept if not m]
    return (["it is not kept: " + s for s in dict.fromkeys(seen) if s not in allowed]
            + ["it is missing: " + n for n in needed if n not in seen])


def order_differences(kept, seen):
    """What is wrong with these lines, which are seen in the order in which they are kept."""
    at, wrong = 0, []
    kept = [(m, l) for m, l in kept if m != "|"]
    for line in seen:
        found = next((i for i in range(at, len(kept)) if kept[i][1] == line), None)
        if found is None:
            wrong.append("it is not kept, or not there: " + line)
            continue
        wrong += ["it is missing: " + l for m, l in kept[at:found] if not m]
        at = found + 1
    return wrong + ["it is missing: " + l for m, l in kept[at:] if not m]
