"""Tables that programs write into documents, between <!-- bench/PROGRAM NAME --> and
<!-- end -->."""
import json, os, platform, subprocess, time


def machine():
    """What the figures were measured on."""
    with open("/proc/cpuinfo") as info:
        model = next((l.split(":", 1)[1].strip() for l in info if l.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} processors ({model})"


def keep(path, command, results, **more):
    """The file in which what bench/run has measured just now stays, with what there is to say of it."""
    commit = subprocess.run(["git", "-C", os.path.dirname(path), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    about = dict(**more, date=time.strftime("%-d %B %Y"), commit=commit, command=command, machine=machine())
    with open(path, "w") as f:
        f.write("".join(f"{'{' if i == 0 else ' '}{json.dumps(k)}: {json.dumps(v)},\n" for i, (k, v) in enumerate(about.items())))
        f.write(' "results": [\n  ' + ",\n  ".join(json.dumps(r) for r in results) + "\n]}\n")


def text(v):
    if v is None:
        return ""
    if isinstance(v, str):
        return v.replace("|", "\\|")
    if isinstance(v, int):
        return f"{v:,}"
    return f"{v:,.{3 if abs(v) < 10 else 1 if abs(v) < 1000 else 0}f}"


def markdown(heads, rows):
    return "\n".join(["| " + " | ".join(text(c) for c in r) + " |"
                      for r in (heads, ["---"] * len(heads), *rows)])


def parts(path, program):
    """What is before the program's first table, and (name, table, rest) of each."""
    with open(path) as f:
        before, *pieces = f.read().split(f"<!-- bench/{program} ")
    tables = []
    for piece in pieces:
        name, rest = piece.split(" -->", 1)
        table, behind = rest.split("<!-- end -->", 1)
        tables.append((name, table, behind))
    return before, tables


def tables(path, program):
    """The tables of the program in a document: {name: text}."""
    return {name: table for name, table, _ in parts(path, program)[1]}


def write(path, program, made):
    """Writes made[name] into each table that is there; without one, it stays as it is."""
    before, found = parts(path, program)
    for name, table, behind in found:
        new = f"\n{made[name]}\n" if made.get(name) else table
        before += f"<!-- bench/{program} {name} -->{new}<!-- end -->{behind}"
    with open(path, "w") as f:
        f.write(before)
