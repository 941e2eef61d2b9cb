"""How the page looks: look(b, "idle") takes what the browser shows now, as wide as a desktop and as a phone, light and dark,
with a picture of each.

Nothing is outside of the window, no text is cut or lies on another one, each text has a contrast of at least 4.5 to what
is behind it, and the text is the one that look.txt keeps of this state."""
import os, sys, time
from browser import check

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "helpers"))
import kept

KEPT = kept.read(os.path.join(HERE, "look.txt"))
LOOKS = (("", 1280, 900, False), ("-dark", 1280, 900, True), ("-phone", 390, 844, False), ("-phone-dark", 390, 844, True))

# Texts and what can be pressed, as { text, left, right, top, bottom, cut, contrast }, and the lines of all text.  Of the
# last words of a node, which a machine chooses, a beginning is enough where a pointer on them shows all.
SEEN = """
const root = document.querySelector("dialog[open]") ?? document.body;
const pen = Object.assign(document.createElement("canvas"), { width: 1, height: 1 }).getContext("2d", { willReadFrequently: true });
const channels = (css) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = css; pen.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
function behind(e) {
    const layers = [];
    for (; e; e = e.parentElement) {
        layers.push(channels(getComputedStyle(e).backgroundColor));
        if (layers[layers.length - 1][3] === 1)
            break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
}
const light = (c) => c.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
function contrast(e) {
    const back = behind(e), [a, b] = [light(over(channels(getComputedStyle(e).color), back)), light(back)];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}
const seen = (e) => e.checkVisibility({ visibilityProperty: true }) && !e.closest(".hidden, .skip, .shapes");
function isCut(e) {
    const last = e.closest(".last");
    if (last)
        return last.title !== last.textContent;
    for (; e && e !== root; e = e.parentElement) {
        const style = getComputedStyle(e);
        if (style.display !== "inline" && (style.overflowX !== "visible" && e.scrollWidth > e.clientWidth + 1
            || style.overflowY !== "visible" && e.scrollHeight > e.clientHeight + 1))
            return true;
    }
    return false;
}
const box = (r) => ({ left: r.left, right: r.right, top: r.top, bottom: r.bottom });
const texts = [], boxes = [];
const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
for (let n; (n = walk.nextNode());) {
    const e = n.parentElement, range = document.createRange();
    if (!n.data.trim() || !seen(e) || e.closest("select"))
        continue;
    range.selectNodeContents(n);
    for (const r of range.getClientRects())
        if (r.width > 0)
            texts.push({ text: n.data.trim(), last: Boolean(e.closest(".last")), cut: isCut(e), contrast: contrast(e), ...box(r) });
}
for (const e of root.querySelectorAll("button, input, select, canvas, svg.chart, table, figure, .rows, .track"))
    if (seen(e))
        boxes.push({ text: e.id || e.className || e.tagName, ...box(e.getBoundingClientRect()) });
const unseen = [...root.querySelectorAll(".hidden, .skip")];
unseen.forEach((e) => { e.style.display = "none"; });
const lines = root.innerText.split("\\n");
unseen.forEach((e) => { e.style.display = ""; });
return { texts, boxes, asks: root !== document.body, width: document.documentElement.clientWidth, lines };
"""
ALL_ROWS_PX = 2600
SPARE_PX = 1	# of rounding
LAP_PX = 3	# the boxes of lines that stand close have no ink there


def laps(a, b):
    return (min(a["right"], b["right"]) - max(a["left"], b["left"]) > LAP_PX and min(a["bottom"], b["bottom"]) - max(a["top"], b["top"]) > LAP_PX)


def outside(seen):
    return sorted({t["text"] for t in seen["texts"] + seen["boxes"] if not t.get("last")
                   and (t["left"] < -SPARE_PX or t["right"] > seen["width"] + SPARE_PX)})


def overlapping(texts):
    whole = [t for t in texts if not t["last"]]
    return [f"{a['text']} / {b['text']}" for i, a in enumerate(whole) for b in whole[i + 1:] if laps(a, b)]


def pale(texts):
    return sorted({f"{t['text']} ({t['contrast']:.1f})" for t in texts if t["contrast"] < 4.5})


def look(b, state):
    """The window is a light desktop's when it returns."""
    for name, width, height, dark in LOOKS:
        b.size(width, height)
        b.dark(dark)
        b.run("scrollTo(0, 0)")
        time.sleep(0.5)	# the page draws four times a second
        b.picture(state + name)
        b.size(width, ALL_ROWS_PX)	# rows that are not in the window do not exist
        time.sleep(0.5)
        seen = b.run(SEEN)
        where = f"{state}{name}: "
        check(where + "no sideways scroll", b.wide() <= 0, b.wide())
        check(where + "nothing is outside of the window", outside(seen) == [], outside(seen))
        cut = sorted({t["text"] for t in seen["texts"] if t["cut"]})
        check(where + "no text is cut", cut == [], cut)
        check(where + "no text lies on another", overlapping(seen["texts"]) == [], overlapping(seen["texts"]))
        check(where + "each text can be read", pale(seen["texts"]) == [], pale(seen["texts"]))
        lines = [l for l in map(kept.numberless, seen["lines"]) if l]
        wrong = kept.differences(KEPT.get(state, []) + ([] if seen["asks"] else KEPT["head"]), lines)
        if not check(where + f"the text is the one that is kept ({len(seen['texts'])} pieces)", bool(lines) and wrong == [], wrong):
            print(f"seen, as it would be kept:\n== {state}", *dict.fromkeys(lines), sep="\n", flush=True)
    b.size(1280, 900)
    b.dark(False)
