#!/usr/bin/env bash
# The pictures of the comparisons are those of the committed figures, and these are the ones of docs/compared.md.
. "$(dirname "$0")/lib.sh"
requires python3
mkdir -p "$T/tree/bench" "$T/tree/docs"
cp "$TOP/bench/plots" "$T/tree/bench"; cp -r "$TOP/docs/measured" "$T/tree/docs"; rm "$T/tree/docs/measured"/*.svg
check "bench/plots" quietly "$T/tree/bench/plots"
for f in "$TOP"/docs/measured/*.svg; do check "$(basename "$f") is as it is drawn" cmp "$f" "$T/tree/docs/measured/$(basename "$f")"; done
check "as many" [ "$(find "$TOP/docs/measured" -name '*.svg' | wc -l)" = "$(find "$T/tree/docs/measured" -name '*.svg' | wc -l)" ]
for f in "$T"/tree/docs/measured/*.svg; do check "$(basename "$f") is XML, dark and light" "$PYTHON" -c '
import sys, xml.dom.minidom as d
assert d.parse(sys.argv[1]).documentElement.tagName == "svg" and "prefers-color-scheme: dark" in open(sys.argv[1]).read()' "$f"; done
cat > "$T/same" << 'PY'
import json, re, sys
measured, text = json.load(open(sys.argv[1])), open(sys.argv[2]).read()
table = text[text.index("## Measured here"):text.index("## What is unfair")]
cells = set(re.findall(r"\d+", table.replace(",", "")))
wrong = [r["name"] for p in measured["plots"] for r in p["rows"] for k in ("rate", "image_mb") if k in r and str(r[k]) not in cells]
wrong += [k for k in ("date", "commit", "command") if measured[k] not in table]
print("not in docs/compared.md:", wrong)
sys.exit(bool(wrong))
PY
check "the figures are those of docs/compared.md" quietly "$PYTHON" "$T/same" "$TOP/docs/measured/compared.json" "$TOP/docs/compared.md"
sed 's/859/860/' "$TOP/docs/measured/compared.json" > "$T/other.json"
check "another figure is noticed" eval '! quietly "$PYTHON" "$T/same" "$T/other.json" "$TOP/docs/compared.md" > /dev/null'
# What bench/run writes.
printf '%s\n' '{"name": "capture", "ours": 5.0, "rival": 2.0, "rival_name": "a | b", "unit": "MB/s", "ratio": 2.5, "runs": 3}' \
    '{"name": "server CPU", "ours": 1.0, "rival": 2.0, "rival_name": "z", "unit": "s", "ratio": 2.0, "runs": 3}' > "$T/bench.json"
check "bench.json" quietly "$TOP/bench/plots" "$T/bench.json" "$T/plots"
check "one picture, with the ratio" grep -q "(2.5 x)" "$T/plots/00-capture.svg"
check "none of what is better when it is less" [ "$(find "$T/plots" -type f | wc -l)" = 1 ]
finish
