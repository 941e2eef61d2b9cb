#!/usr/bin/env bash
# --help and the man pages name the same options; every program answers --version.
. "$(dirname "$0")/lib.sh"
requires python3
for p in imagezip imageunzip imagedump imagehash imagedelta imagerezip imagekey frisbeed frisbee emustore; do
	"$BIN/$p" --help > "$T/help" || fail "$p --help"
	check "$p --version" grep -q "^$p [0-9]" <("$BIN/$p" --version)
	check "$p: examples in --help" grep -q '^Examples:' "$T/help"
	check "$p: man page" python3 - "$T/help" "$TOP/man/$p.8" << 'PY'
import re, sys
man = open(sys.argv[2]).read()
named = set()
for line in man.splitlines():
    if re.match(r"\.(It|Op)? ?Fl|\.It Fl", line) or " Fl " in line or line.startswith(".Fl"):
        for word in re.findall(r"[A-Za-z0-9-]+", line):
            named.add(word)
missing = []
for line in open(sys.argv[1]):
    m = re.match(r"  -(.), --([a-z0-9-]+)|  -(.)  |      --([a-z0-9-]+)", line)
    if not m or "help" in line or "version" in line:
        continue
    letter, long = m.group(1) or m.group(3), m.group(2) or m.group(4)
    ok = (long and "-" + long in named) or (letter and (letter in named or any(letter in w for w in named if len(w) < 6)))
    if not ok:
        missing.append(line.strip())
print("\n".join(missing))
sys.exit(bool(missing))
PY
done
# Letters of the original that are not built are refused by name, never ignored.
touch "$T/x"
refused() {	# PROGRAM LETTER...
	local p=$1 letter; shift
	for letter; do
		status 2 "$BIN/$p" "-$letter" x "$T/x" "$T/y"
		check "says so" grep -q "^$p: -$letter: \(not built yet\|see --version\|version 1 images\)" "$T/stderr"
	done
}
refused imagezip a e k v 1
refused imageunzip r I M E F c a e k
refused imagedump m c
status 2 "$BIN/frisbee" -F id -m 239.1.1.1 -p 5 "$T/x"
status 2 "$BIN/imagezip"
status 2 "$BIN/imageunzip" --nonsense
status 2 "$BIN/frisbeed" "$T/x"
finish
