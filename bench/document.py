"""Tables that programs write into documents, between <!-- bench/PROGRAM NAME --> and
<!-- end -->."""
import json, os, platform, subprocess, time

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def machine():
    """What the figures were measured on."""
    with open("/proc/cpuinfo") as info:
        model = next((l.split(":", 1)[1].strip() for l in info if l.startswith("model name")), platform.machine())
    return f"{os.cpu_count()} processors ({model})"


def measured(name):
    """The file of figures that the documents' tables are drawn from."""
    return os.path.join(TOP, f"docs/measured/{name}.json")


def about(command, rooms):
    """How figures were made, which each of these files says: rooms are the folders and files whose code they measure (bench/measured)."""
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    return dict(command=command, commit=commit, date=time.strftime("%-d %B %Y"), machine=machine(), busy=os.environ.get("BUSY") == "yes",
                rooms=list(rooms))


def keep(path, figures):
    """Writes figures and what about() says of them: a member a line, and of a list each element."""
    line = lambda v: "[\n  " + ",\n  ".join(map(json.dumps, v)) + "\n ]" if v and isinstance(v, list) and isinstance(v[0], dict) else json.dumps(v)
    with open(path, "w") as f:
        f.write("{" + ",\n ".join(f"{json.dumps(k)}: {line(v)}" for k, v in figures.items()) + "}\n")


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def when(kept):
    """The sentence that says when, on what and by which command the figures of a file were measured."""
    busy = ", on a busy machine" if kept["busy"] else ""
    return f'{kept["date"]}, commit {kept["commit"]}, {kept["machine"]}{busy}: `{kept["command"]}`'


def text(v):
    if v is None:
        return ""
    if isinstance(v, str):
        return v.replace("|", "\\|")
    if isinstance(v, int):
        return f"{v:,}"
    return f"{v:,.{3 if abs(v) < 10 else 1 if abs(v) < 1000 else 0}f}"


def markdown(heads, rows):
    head, *others = ("| " + " | ".join(text(c) for c in r) + " |" for r in (heads, *rows))
    return "\n".join([head, "|" + "---|" * len(heads), *others])


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
