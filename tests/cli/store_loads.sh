#!/usr/bin/env bash
# Loads are counted where an image is got, installed or served, and stats says which images were loaded most and last; the cache
# of a bucket keeps what is loaded often, also when something else was loaded since.
. "$(dirname "$0")/lib.sh"
own_network "$@"
. "$(dirname "$0")/store_lib.sh"
requires python3
python3 - "$T" << 'PY'
import random, sys
for i, n in enumerate("abcd"): open(f"{sys.argv[1]}/{n}", "wb").write(random.Random(i).randbytes(1100000 // 512 * 512))
PY
zip_all a b c d
loads() { es stats --json | json -1 - "loaded_$1[*].name,version,loads"; }
# Times are in seconds: all that was loaded so far was loaded a minute earlier.
a_minute_later() {
	python3 -c 'import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as c:
    c.execute("UPDATE images SET loaded_at = loaded_at - 60 WHERE loads > 0")' \
	    "$EMUSTORE/index.db" || fail "the index"
}

echo "== a folder"
export EMUSTORE=$T/S
es init && es -q put a "$T/a.ndz" && es -q put lab/b "$T/b.ndz" && es -q put c "$T/c.ndz" || fail "a store"
check "none yet" [ -z "$(loads most)" ]
gets a "$T/a.ndz"; gets a "$T/a.ndz"; gets lab/b "$T/b.ndz"
check "get counts" [ "$(loads most)" = "a:1:2 lab/b:1:1" ]
es info c > /dev/null; es verify 2> /dev/null
check "info and verify do not" [ "$(loads most)" = "a:1:2 lab/b:1:1" ]
a_minute_later
check "imageunzip" "$BIN/imageunzip" -q --store "$T/S" lab/b "$T/out"
check "counts" [ "$(loads most)" = "lab/b:1:2 a:1:2" ]
a_minute_later
installs c "$T/c" 3127
check "frisbeed counts, and most is not last" [ "$(loads last)" = "c:1:2 lab/b:1:2 a:1:2" ]
es -q get a --chunk 0 - > /dev/null
check "one chunk is a load" [ "$(loads most | cut -d' ' -f1)" = a:1:3 ]
check "people are told" bash -c '"$0" stats > "$1" && grep -q "^loaded most  a:1, loaded 3 times, the last time at 2" "$1" && grep -q "^loaded last  " "$1"' "$BIN/emustore" "$T/out"
es -q put a "$T/d.ndz"
check "another version begins anew" [ "$(loads most | cut -d' ' -f1)" = a:1:3 ]
es -q rm a:1
check "what is removed is not told" [ "$(loads most | grep -c a:)" = 0 ]
check "and the store is whole" es -q verify --data

echo "== what the cache of a bucket keeps"
hostile_server
export EMUSTORE=s3://bucket/loaded
es init && for i in a b c d; do es -q put $i "$T/$i.ndz" || fail "put $i"; done
rm -rf "$T/cache"; export EMUSTORE_CACHE_SIZE=3M	# two images
for i in a a a a b c d; do gets $i "$T/$i.ndz" || fail "get $i"; done
check "no more than that is kept" [ "$(du -sk "$T"/cache/*/blocks | cut -f 1)" -le 3100 ]
of_packs() { : > "$T/s/requests"; gets "$1" "$T/$1.ndz" || fail "get $1"; grep -c packs "$T/s/requests"; }
check "what was loaded often is there" [ "$(of_packs a)" = 0 ]
check "what was loaded once before others is not" [ "$(of_packs b)" -gt 0 ]
finish
