#!/usr/bin/env bash
# The tables and pictures of the comparison with other programs, and the tables of dsync and of streaming, are those of the committed figures.
. "$(dirname "$0")/lib.sh"
requires python3
mkdir -p "$T/tree/docs"
cp -r "$TOP/bench" "$TOP/README.md" "$T/tree"; cp -r "$TOP/docs/measured" "$TOP/docs/compared.md" "$TOP/docs/dsync.md" "$T/tree/docs"; rm "$T/tree/docs/measured"/*.svg
draw() { quietly "$T/tree/bench/compared" && quietly "$PYTHON" -B "$T/tree/bench/dsync_tables.py"; }
same() { cmp "$TOP/$1" "$T/tree/$1"; }
check "bench/compared" draw
for f in "$TOP"/docs/measured/*.svg "$TOP/README.md" "$TOP/docs/compared.md" "$TOP/docs/dsync.md"; do check "$(basename "$f") is as it is drawn" same "${f#"$TOP/"}"; done
check "as many pictures" [ "$(find "$TOP/docs/measured" -name '*.svg' | wc -l)" = "$(find "$T/tree/docs/measured" -name '*.svg' | wc -l)" ]
for f in "$T"/tree/docs/measured/*.svg; do check "$(basename "$f") is XML, dark and light" "$PYTHON" -c '
import sys, xml.dom.minidom as d
assert d.parse(sys.argv[1]).documentElement.tagName == "svg" and "prefers-color-scheme: dark" in open(sys.argv[1]).read()' "$f"; done
# Another figure comes into both documents and a picture.
sed -i 's/"name": "install", "ours": [0-9.]*/"name": "install", "ours": 98765.0/' "$T/tree/docs/measured/compared.json"
check "drawn anew" draw
for f in README.md docs/compared.md docs/measured/install.svg; do check "$f has it" grep -q 98,765 "$T/tree/$f"; done
sed -i '0,/"4": [0-9]*/s//"4": 98765000000/' "$T/tree/docs/measured/grain.json"
check "dsync's drawn anew" draw; check "docs/dsync.md has it" grep -q 98,765 "$T/tree/docs/dsync.md"

echo "== streaming"
cp "$TOP/docs/streaming.md" "$T/tree/docs"
# drawn FROM TO PART WHAT: another figure of this part comes into the document, as WHAT.
drawn() {
	sed -i "0,/$1/s//$2/" "$T/tree/docs/measured/stream-$3.json"
	quietly "$PYTHON" -B "$T/tree/bench/stream_document.py" && grep -q -- "$4" "$T/tree/docs/streaming.md"
}
check "docs/streaming.md is as it is drawn" eval 'drawn x x table1 "until" && same docs/streaming.md'
check "table 1 has it" drawn '"read_bytes": [0-9]*' '"read_bytes": 98765000000' table1 '| 98765 |'
check "replays have it" drawn '"seconds": [0-9.]*' '"seconds": 98765.4321' replays '| 98765.43 |'
finish
