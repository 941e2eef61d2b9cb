#!/usr/bin/env bash
# Stores in a bucket of a real S3 server: what comes out is what went in; several machines (caches of their own)
# at once; a cache that is damaged; and at the same time what gc_part.sh does.
. "$(dirname "$0")/../cli/lib.sh"
own_network "$@"
. "$(dirname "$0")/../cli/store_lib.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/gc_part.sh"
requires python3 zstd swift-proxy-server
port=$((20000 + OWN_NUMBER % 12000))
start_server $port
related_images
head -c $((2 << 20)) /dev/urandom > "$T/d"; zip_all d
zstd -dqfc "$GOLDEN/img/mbr.ndz.zst" > "$T/old.ndz"	# of the original program
gc_part > "$T/gc.log" 2>&1 & gc=$!
export EMUSTORE=s3://images/lab/one EMUSTORE_CACHE=$T/cache1

echo "== put and get"
status 1 es list
check "init" es init --pack-size 1M --grace 60
status 1 es init
check "a server that refuses conditions: writers claim" grep -q "writers claim" <(request GET "$(object format)")
check "put a" es -q put a "$T/a.ndz"
new=$(es_on cache2 put --json b - < "$T/b.ndz" | field new_fragments)
check "few fragments of b, from another machine, are new: $new" [ "$new" -le 8 ]
check "put c, with a label and a parent" es -q put lab/c+1 "$T/c.ndz" --label os=none --parent b
made=$(es put --json old "$T/old.ndz" | field recompressed_chunks)
check "put old: $made chunks are made again" [ "$made" -gt 0 ]
for i in old:old a:1:a b:b; do check "get ${i%:*}" gets "${i%:*}" "$T/${i##*:}.ndz"; done
check "on another machine" bash -c '"$0" -q --cache "$1" get lab/c+1 - | cmp - "$2"' "$BIN/emustore" "$T/cache3" "$T/c.ndz"
check "info" bash -c '"$0" info lab/c+1 > "$1" && grep -q "derived from b:1" "$1" && grep -q os=none "$1"' "$BIN/emustore" "$T/info"
check "list" [ "$(all_names)" = "a:1 b:1 lab/c+1:1 old:1" ]
check "several packs" [ "$(es stats --json | field packs)" -gt 4 ]
check "nothing is new the second time" [ "$(es put --json a "$T/a.ndz" | field new_bytes)" = 0 ]
status 1 es put a:1 "$T/c.ndz"
status 1 es get nobody "$T/out"
check "one chunk" es -q get b --chunk 4 "$T/out"
check "verify --data" es -q verify --data

echo "== installed and served from the bucket"
installs_b $((port + 10))

echo "== writers at once"
four_writers same "$T/c.ndz" "$T/d.ndz"
check "no claim is left" [ -z "$(keys claims)" ]

echo "== the cache"
for f in "$T"/cache1/*/blocks/*; do printf 'XXXXXXXX' | dd of="$f" bs=1 seek=1000 conv=notrunc status=none; done
check "a damaged block is fetched again" gets b "$T/b.ndz"
printf 'XXXXXXXXXXXXXXXXXXXX' | dd of="$(echo "$T"/cache1/*/index.db)" bs=1 seek=10 conv=notrunc status=none
check "a damaged index is made again" gets b "$T/b.ndz"
check "repair --index" es -q repair --index
es_on cache4 -q --cache-size 3M get b "$T/out" || fail "a small cache"
check "right" cmp "$T/out" "$T/b.ndz"
check "and small" [ "$(du -sk "$T"/cache4/*/blocks | cut -f 1)" -le 3100 ]

echo "== numbers, and packs that are missing"
es -q put twice "$T/c.ndz"; check "rm" es rm twice
es_on cache2 -q put twice "$T/d.ndz" || fail "put twice"
check "another machine gives another number" [ "$(versions twice)" = 2 ]
check "one object says so" [ "$(keys given/twice)" = given/twice/-0000000001-0000000002 ]
for k in $(keys packs); do request DELETE "$(object "$k")" || fail "$k is not removed"; done
# Swift's list of what is there follows after a moment, unlike S3's.
no_packs() { local k; k=$(keys packs) && [ -z "$k" ]; }
soon no_packs || fail "the packs are still in the list"
rm -rf "$T/cache" "$T"/cache[0-9]; status 3 es -q get twice "$T/got"
check "a put goes on" es -q put twice "$T/d.ndz"
for i in 2 3; do check "twice:$i" gets twice:$i "$T/d.ndz"; done
check "also for a machine that has seen nothing" bash -c '"$0" -q --cache "$1" get twice:2 - | cmp - "$2"' "$BIN/emustore" "$T/cache9" "$T/d.ndz"

wait $gc || fail "what went on at the same time"
echo "== at the same time: gc, and a put that is under way meanwhile; damaged and missing objects"
cat "$T/gc.log"
finish
