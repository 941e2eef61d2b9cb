"""Comparisons as SVG: one bar for each program, and how many times ours is faster than the best other one.  bench/compared draws them.

The pictures have no background and take the colours of a dark or a light page, as the reader's system says.
"""
import os
from html import escape

WIDTH, NAMES, VALUES, BAR, STEP, TOP_SPACE, BOTTOM = 760, 250, 200, 18, 28, 44, 40
STYLE = """<style>
text { font: 13px sans-serif; fill: #1f2328 } .title { font-size: 16px; font-weight: bold } .small { font-size: 11px; fill: #59636e }
.ours { fill: #1a7f37 } .rival { fill: #8c959f }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .ours { fill: #3fb950 } .rival { fill: #6e7681 } }
</style>"""


def best_rival(rows):
    return max((r["rate"] for r in rows if not r.get("ours")), default=None)


def value(row, rival):
    words = f'{row["rate"]:,.0f}'
    if row.get("ours") and rival:
        words += f' ({row["rate"] / rival:.2g} x)'
    if "image_mb" in row:
        words += f', image {row["image_mb"]} MB'
    return words


def picture(plot, unit, below):
    rows = sorted(plot["rows"], key=lambda r: -r["rate"])
    most, rival = rows[0]["rate"], best_rival(rows)
    height = TOP_SPACE + STEP * len(rows) + BOTTOM
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    yield f'<title>{escape(plot["title"])}: ' + escape("; ".join(f'{r["name"]} {value(r, rival)}' for r in rows)) + "</title>"
    yield STYLE
    yield f'<text class="title" x="8" y="20">{escape(plot["title"])}</text>'
    yield f'<text class="small" x="8" y="36">{escape(unit)}; (x): of the best other program</text>'
    for i, r in enumerate(rows):
        y = TOP_SPACE + STEP * i
        width = (WIDTH - NAMES - VALUES) * r["rate"] / most
        yield f'<text x="{NAMES - 8}" y="{y + 14}" text-anchor="end">{escape(r["name"])}</text>'
        yield f'<rect class="{"ours" if r.get("ours") else "rival"}" x="{NAMES}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>'
        yield f'<text x="{NAMES + width + 6:.1f}" y="{y + 14}">{escape(value(r, rival))}</text>'
    yield f'<text class="small" x="8" y="{height - 10}">{escape(below)}</text>'
    yield "</svg>"


def draw(measured, folder):
    os.makedirs(folder, exist_ok=True)
    below = "; ".join(measured[k] for k in ("date", "machine", "command") if k in measured)
    for plot in measured["plots"]:
        path = os.path.join(folder, plot["file"])
        with open(path, "w") as out:
            out.writelines(l + "\n" for l in picture(plot, plot.get("unit", measured.get("unit", "")), below))
        print(os.path.relpath(path))
