#!/usr/bin/env bash
# The store is what docs/store-format.md says: a reader made from that text puts every image together again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3 zstd
export EMUSTORE=$T/S
reads() { "$PYTHON" "$TOP/tests/helpers/store_read.py" "$@"; }

python3 - "$T" << 'PY'
import random, sys
r = random.Random(3)
data = bytearray(r.randbytes(1 << 20)) + bytes(5 << 20) + bytes(str(list(range(70000))), "ascii") + bytes(100000)
data += bytes(-len(data) % 512)
open(sys.argv[1] + "/a", "wb").write(data)
data[500000:503000] = r.randbytes(3000)
open(sys.argv[1] + "/b", "wb").write(data)
open(sys.argv[1] + "/c", "wb").write(r.randbytes(1 << 19))
PY
zip_all a b c
"$BIN/imagezip" -q -r --codec=zstd "$T/b" "$T/z.ndz" 2> /dev/null || cp "$T/b.ndz" "$T/z.ndz"
es init --pack-size 2M
es -q put a "$T/a.ndz" || fail "put a"
for i in b c z; do es -q put $i "$T/$i.ndz" --label key=value --label empty --parent a || fail "put $i"; done
for i in a b c z; do check "$i" reads "$T/S" "$i" "$T/$i.ndz"; done
for g in "$GOLDEN"/img/*.ndz.zst; do
	n=$(basename "$g" .ndz.zst); zstd -dqfc "$g" > "$T/g.ndz"
	es -q put "golden/$n" "$T/g.ndz" || fail "put $n"
	check "$n" reads "$T/S" "golden/$n" "$T/g.ndz"
done
es -q put --exact exact "$T/g.ndz" || fail "put --exact"
check "exact" reads "$T/S" exact "$T/g.ndz"
check "every table, record and recipe: $(reads --check "$T/S")" reads --check "$T/S"

echo "== after rm and gc"
es -q put a "$T/c.ndz"; es -q rm a:1; es -q rm b; es -q gc --all || fail "gc"
check "every table, record and recipe" reads --check "$T/S"
check "a:2" reads "$T/S" a:2 "$T/c.ndz"
check "z" reads "$T/S" z "$T/z.ndz"

echo "== and it sees what is wrong"
f=$(ls -S "$T"/S/packs/*.pack | head -n 1)
spoil_byte "$f" 100000 4
reads --check "$T/S" 2> "$T/stderr" && fail "a flipped bit was not seen"
finish
