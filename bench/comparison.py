"""What bench/run measured beside other programs, as docs/measured/compared.json keeps it: rows for tables, bars for pictures."""
import textwrap

# The work, its picture, and the rows of bench/run that tell it: by default, then with other options.
WORKS = (
    ("capture", "Capture", "capture.svg", ("capture", "capture --codec=zstd:3", "capture --fast")),
    ("install over a file in memory", "Install from a file", "install.svg", ("install",)),
    ("load 1 node", "Load one node by multicast", "load1.svg", ("load 1 node", "load 1 node, zstd:3")),
    ("load 4 nodes", "Load four nodes by multicast, all on these two cores", "load4.svg", ("load 4 nodes", "load 4 nodes, zstd:3")),
)
NOT_OTHERS = ("imagezip, the default", "the original, as published")
PROGRAMS = {"capture": "imagezip", "install": "imageunzip", "load": "frisbee"}


def image_mb(results, row, side):
    """The size of the image that a capture made, in MB; None of other work."""
    name = row["name"].replace("capture", "image size")
    found = [r[side] for r in results if r["name"] == name != row["name"] and r["rival_name"] == row["rival_name"]]
    return round(found[0]) if found else None


def options(row, first):
    return row["name"].removeprefix(first).lstrip(" ,") or ("by default" if first == "capture" else "")


def rows(results, names):
    """One for each pair that was measured: (options, rate, image in MB) of ours, (name, rate, image) of the other, ratio."""
    for name in names:
        for r in results:
            if r["name"] == name and r["rival_name"] not in NOT_OTHERS:
                yield ((options(r, names[0]), round(r["ours"]), image_mb(results, r, "ours")),
                       (r["rival_name"], round(r["rival"]), image_mb(results, r, "rival")), r["ratio"])


def cell(rate, image):
    return f"{rate:,}" + (f" ({image})" if image else "")


def table(results):
    """For docs/compared.md: everything."""
    for work, _, _, names in WORKS:
        for (words, rate, image), (other, theirs, their_image), ratio in rows(results, names):
            yield (work, (words + ": " if words else "") + cell(rate, image), f"`{other}`: {cell(theirs, their_image)}", f"{ratio:.2f}")
            work = ""


def best(results, name):
    """Our rate, and that of the best other program."""
    (_, rate, _), (_, theirs, _), _ = max(rows(results, (name,)), key=lambda r: r[1][1])
    return f"{rate:,}", f"{theirs:,}"


def front(results):
    """For the README: the best of the others beside ours."""
    (load, other_load), (install, other_install) = best(results, "load 4 nodes"), best(results, "install")
    (capture, other_capture), (fast, _) = best(results, "capture"), best(results, "capture --fast")
    text = "* **It is fast.** On one machine with two cores, in MB of the disk's data a second, and in brackets the best " \
           f"program that Clonezilla or FOG runs: each of four nodes is loaded at {load} ({other_load}), an image is installed at " \
           f"{install} ({other_install}), and a disk is captured at {capture} ({other_capture}), or {fast} with `--fast`. " \
           "[docs/compared.md](docs/compared.md) says how this was measured, and what is unfair in it."
    return textwrap.fill(text, 99, subsequent_indent="  ", break_on_hyphens=False)


def server_cpu(results):
    """Processor seconds of the server for each GB that it sent, a row for each load."""
    work = {names[0]: work for work, _, _, names in WORKS}
    load = ""
    for r in results:
        load = work.get(r["name"], load)
        if r["name"] == "server CPU, GB sent":
            yield (load, f'{r["ours"]:.1f}', f'{r["rival"]:.1f}', f'`{r["rival_name"]}`')


def plots(results):
    """For bars.py: a picture for each work, each program once."""
    for _, title, file, names in WORKS:
        bars = {}
        for (words, rate, image), (other, theirs, their_image), _ in rows(results, names):
            ours = PROGRAMS[names[0].split()[0]] + (" " if words.startswith("-") else ", ") + words
            for name, bar in ((ours.removesuffix(", by default").rstrip(" ,"), dict(rate=rate, image_mb=image, ours=True)),
                              (other, dict(rate=theirs, image_mb=their_image))):
                bars.setdefault(name, dict(name=name, **{k: v for k, v in bar.items() if v}))
        if bars:
            yield dict(file=file, title=title, rows=list(bars.values()))
