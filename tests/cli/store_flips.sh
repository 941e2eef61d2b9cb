#!/usr/bin/env bash
# A flipped bit anywhere in a store: packs, tables, recipes, format, and what is kept of the index.  What is served is right or refused; verify finds it; no writer
# makes it worse; repair brings back what can be.  FLIPS=N of them, SEED.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3 zstd
export BIN EMUSTORE=$T/S
many=40; instrumented && many=12
FLIPS=${FLIPS:-$many} SEED=${SEED:-1} JOBS=${JOBS:-2}
python3 - "$T" << 'PY'
import random, sys
r = random.Random(5)
data = bytearray(r.randbytes(150000)) + bytes(400000) + bytes(str(list(range(30000))), "ascii")
data += bytes(-len(data) % 512)
open(sys.argv[1] + "/a", "wb").write(data)
data[70000:71000] = r.randbytes(1000)
open(sys.argv[1] + "/b", "wb").write(data + r.randbytes(51200))
PY
zip_all a b
zstd -dqfc "$GOLDEN/img/ext2-frag.ndz.zst" > "$T/o.ndz"; "$BIN/imageunzip" -q "$T/o.ndz" "$T/o" || fail "imageunzip"
es init --pack-size 100k && es -q put a "$T/a.ndz" && es -q put gone "$T/b.ndz" --label key=value && es -q put lab/b "$T/b.ndz" --parent a && es -q put o "$T/o.ndz" && es -q rm gone || fail "the store"
for ((j = 1; j <= JOBS; j++)); do
	mkdir -p "$T/w$j"
	"$PYTHON" "$TOP/tests/helpers/store_flips.py" "$T/S" "$T/w$j" $(((FLIPS + JOBS - 1) / JOBS)) $((SEED * 1000 + j)) "a=$T/a.ndz=$T/a" "lab/b=$T/b.ndz=$T/b" "o=$T/o.ndz=$T/o" & pids[j]=$!
done
for ((j = 1; j <= JOBS; j++)); do wait "${pids[j]}" || bad=$((bad + 1)); done
finish
