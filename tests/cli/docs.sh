#!/usr/bin/env bash
# --help and the man pages name the same options; every program answers --version.
. "$(dirname "$0")/lib.sh"
requires python3
for p in imagezip imageunzip growfs imagedump imagehash imagedelta imagerezip imagekey frisbeed frisbee emustore dolly mfrisbeed streamdisk streamswitch dmextract dmmerge dsync controllerd swapin; do
	"$BIN/$p" --help > "$T/help" || fail "$p --help"
	check "$p --version" grep -q "^$p [0-9]" <("$BIN/$p" --version)
	check "$p: examples in --help" grep -q '^Examples:' "$T/help"
	check "$p: man page" python3 - "$T/help" "$TOP/man/$p.8" << 'PY'
import re, sys
named = set()	# "-slice" and "s"; lines of examples have none
for line in open(sys.argv[2]):
    if re.match(r"\.(It |Op |Pq )?Fl ", line):
        named.update(re.findall(r"(?<![A-Za-z0-9])-?[A-Za-z0-9][a-z0-9-]*", line))
help, wrong = open(sys.argv[1]).read(), []
told = set(re.findall(r"^  (?:-., |    )--([a-z0-9-]+)", help, re.M))
for long in told:
    if "-" + long not in named:
        wrong.append(f"--{long} is not in the man page")
for letter in re.findall(r"^  -(.)", help, re.M):
    if letter not in named and letter != "h":
        wrong.append(f"-{letter} is not in the man page")
man = open(sys.argv[2]).read()
for long in re.findall(r"^\.It (?:.*[;,] )?(?:Fl )?-([a-z][a-z0-9-]+)", man, re.M):
    if long not in told:
        wrong.append(f"--{long} is not in --help")
print("\n".join(wrong))
sys.exit(bool(wrong))
PY
	check "$p: what it refuses" [ -s "$TOP/tests/usage/$p.txt" ]
	check "$p: exit status in the man page" grep -q '^.Sh EXIT STATUS' "$TOP/man/$p.8"
	if command -v mandoc > /dev/null; then check "$p: mandoc" quietly mandoc -T lint -W error "$TOP/man/$p.8"; fi
done

# The help of one command: what it does, and the options that it takes.
for p in emustore dolly dsync streamswitch; do
	for c in $("$BIN/$p" --help | sed -n '/^Options:/q; s/^  \([a-z]*\) .*/\1/p'); do
		check "$p $c --help" grep -q "^usage: $p \[options\] $c\b" <("$BIN/$p" "$c" --help)
	done
done
about() { "$BIN/emustore" "$1" x --help; }
check "options of put" [ "$(about put | grep -cE -- '--(store|label|codec|jobs)=')" = 4 ]
check "not those of others" [ "$(about put | grep -cE -- '--(chunk|keep-last|all|data)')" = 0 ]
check "one option of several commands" [ "$(about gc | sed -n 's/^  -a, --all *//p')" = "replace packs with little to gain, too" ]
check "what is for all, and more for one" grep -q "print JSON; print each object on one line" <("$BIN/dsync" run --help)
check "for all alone" grep -q "print JSON$" <("$BIN/dsync" once --help)

# How the command line should look is not told when something is wrong with what it names.  The rest is in tests/usage/.
quietly "$BIN/emustore" --store "$T/store" init || fail "emustore init"
status 1 "$BIN/emustore" --store "$T/store" info ubunt; check "no usage line" eval '! grep -q "^usage:" "$T/stderr"'

# What a failure prints with --json is whole (json_failure.sh looks closer).
for p in imagezip imageunzip growfs imagedump imagehash imagedelta imagerezip; do
	head -c 5000 /dev/urandom > "$T/junk"
	"$BIN/$p" --json "$T/junk" "$T/no/such" "$T/no/such2" > "$T/out" 2> /dev/null
	check "$p --json fails" [ $? != 0 ]
	[ ! -s "$T/out" ] || json "$T/out" || fail "$p --json, failing: $(head -c 200 "$T/out")"
done
# Documents are read on narrow screens too: lines have fewer than 100 characters, except in tables and in what is shown.
long_lines() {	# FILE...
	python3 - "$@" << 'PY'
import sys
for path in sys.argv[1:]:
    fenced = False
    for n, line in enumerate(open(path, encoding="utf-8"), 1):
        fenced ^= line.startswith("```")
        if len(line.rstrip("\n")) > 99 and not fenced and not line.startswith(("|", "    ")):
            print(f"{path}:{n}")
PY
}
check "lines of documents" [ -z "$(long_lines "$TOP"/*.md "$TOP"/docs/*.md "$TOP/netboot/README.md" | tee -a /dev/stderr)" ]
# Who has seen nothing else reads the README in two minutes and a half.
words=$(wc -w < "$TOP/README.md")
check "the README has $words words, at most 1,200" [ "$words" -le 1200 ]
check "the README has no table" eval '! grep -q "^|" "$TOP/README.md"'
check "imagezip -v" grep -q "^imagezip [0-9]" <("$BIN/imagezip" -v)
finish
