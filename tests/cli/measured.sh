#!/usr/bin/env bash
# The files of docs/measured: a run's figures come into one and from there into their document,
# and bench/measured says whether the code that one measures has changed since.
. "$(dirname "$0")/lib.sh"
requires python3 git
mkdir -p "$T/tree/docs"
cp -r "$TOP/bench" "$TOP/README.md" "$T/tree"; cp -r "$TOP"/docs/*.md "$TOP/docs/measured" "$T/tree/docs"
cd "$T/tree" || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null	# not what this user has, such as signatures
commit() { git add -A && git -c user.name=x -c user.email=x@example.org commit -q -m "$1"; }
listed() { status "$1" bench/measured; }
line() { grep -q "^$1 .*$2" "$T/stdout"; }
git init -q . && mkdir emustore frisbeed imagezip common && echo 1 > emustore/a && echo 1 > frisbeed/a && commit first

echo "== figures of a run"
printf '{"name": "server memory, 1 TB", "ours": 109.58, "rival": 200, "rival_name": "the limit set", "unit": "MB", "ratio": 1.825, "runs": 1}\n' > "$T/bench.json"
check "bench/compared takes them" quietly bench/compared store-memory "$T/bench.json"
check "they are in their document" grep -qF '| server memory, 1 TB | 109.6 MB |  |' docs/compared.md
check "with the commit" grep -q "^| store-memory | .* | $(git rev-parse --short HEAD) | .bench/run store_memory. |" docs/compared.md
status 1 bench/compared nothing "$T/bench.json"
find docs/measured -name '*.json' ! -name store-memory.json -delete
commit measured

echo "== code that has changed since"
listed 0; check "none yet" line store-memory 'commits since: 0, in emustore, frisbeed'
echo 2 > emustore/a; commit second; echo 2 > imagezip/a; commit third
listed 0; check "one commit has" line store-memory 'commits since: 1, '
check "tables without a file" grep -q '^docs/simulator.md: .*(bench/simulated)$' "$T/stdout"
check "and no others" eval '! grep -q "bench/compared\|bench/dsync_tables" "$T/stdout"'

echo "== what a file must say"
without() { cp docs/measured/store-memory.json "$T/kept"; sed -i "$1" docs/measured/store-memory.json; listed 1; cp "$T/kept" docs/measured/store-memory.json; check "$2" grep -q "$2" "$T/stderr"; }
without '/"machine"/d' 'there is no machine'
without 's/"rooms": .*/"rooms": [],/' 'there is no rooms'
without 's/"frisbeed"/"moved"/' 'there is no room moved'
without 's/"commit": .*/"commit": "0123456789ab",/' '0123456789ab is not in the history'
check "all files do" "$PYTHON" -B - "$TOP" << 'PY'
import glob, json, os, sys
top = sys.argv[1]
for path in glob.glob(top + "/docs/measured/*.json"):
    kept = json.load(open(path))
    assert all(kept.get(m) for m in ("command", "commit", "date", "machine", "rooms")), path
    assert all(os.path.exists(f"{top}/{r}") for r in kept["rooms"]), path
PY
finish
