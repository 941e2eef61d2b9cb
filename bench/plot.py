"""Plots as SVG, without any library: lines or bars over a few named places."""
from html import escape

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#8c564b", "#17becf", "#7f7f7f")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 70, 220, 40, 50


def _steps(most):
    """At most six round numbers from 0 up to `most` or just over it."""
    if most <= 0:
        return [0, 1]
    unit = 10.0 ** -12
    while True:
        for factor in (1, 2, 5):
            if most / (unit * factor) <= 6:
                n = int(-(-most // (unit * factor)))
                return [i * unit * factor for i in range(n + 1)]
        unit *= 10


def _frame(title, xlabel, ylabel, places, steps):
    w, h = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    yield f'<text x="{LEFT}" y="22" font-size="15">{escape(title)}</text>'
    for s in steps:
        y = TOP + h - h * s / steps[-1]
        yield f'<line x1="{LEFT}" x2="{LEFT + w}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{s:g}</text>'
    for i, p in enumerate(places):
        yield f'<text x="{LEFT + w * (i + 0.5) / len(places):.1f}" y="{TOP + h + 18}" text-anchor="middle">{escape(str(p))}</text>'
    yield f'<text x="{LEFT + w / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(xlabel)}</text>'
    yield f'<text transform="translate(16 {TOP + h / 2}) rotate(-90)" text-anchor="middle">{escape(ylabel)}</text>'


def _legend(names):
    for i, n in enumerate(names):
        y = TOP + 10 + 20 * i
        yield f'<rect x="{WIDTH - RIGHT + 14}" y="{y - 9}" width="12" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>'
        yield f'<text x="{WIDTH - RIGHT + 32}" y="{y}">{escape(n)}</text>'


def _write(path, parts):
    with open(path, "w") as out:
        out.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif" font-size="12">\n'
                  f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n')
        out.writelines(p + "\n" for p in parts)
        out.write("</svg>\n")


def lines(path, title, xlabel, ylabel, places, series):
    """series: name -> values, one for each place; None where there is none."""
    steps = _steps(max((v for values in series.values() for v in values if v is not None), default=1))
    w, h = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = list(_frame(title, xlabel, ylabel, places, steps))
    for k, values in enumerate(series.values()):
        colour = COLOURS[k % len(COLOURS)]
        points = [(LEFT + w * (i + 0.5) / len(places), TOP + h - h * v / steps[-1])
                  for i, v in enumerate(values) if v is not None]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in points) + '"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in points]
    _write(path, parts + list(_legend(series)))


def bars(path, title, xlabel, ylabel, places, series):
    """series: name -> values, stacked at each place."""
    steps = _steps(max((sum(v[i] for v in series.values()) for i in range(len(places))), default=1))
    w, h = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    parts = list(_frame(title, xlabel, ylabel, places, steps))
    width = 0.6 * w / len(places)
    for i in range(len(places)):
        y = float(TOP + h)
        for k, values in enumerate(series.values()):
            height = h * values[i] / steps[-1]
            y -= height
            parts.append(f'<rect x="{LEFT + w * (i + 0.5) / len(places) - width / 2:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{COLOURS[k % len(COLOURS)]}"/>')
    _write(path, parts + list(_legend(series)))
