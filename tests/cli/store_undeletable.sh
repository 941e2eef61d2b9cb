#!/usr/bin/env bash
# A bucket in which nothing may be deleted: put and get go on, what wants to delete says so, and gc does all else and catches up
# when it may.  What a server says of an unknown key or bucket is shown.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3
hostile_server
related_images
export EMUSTORE=s3://bucket/kept
old() { find "$T/s/objects" -type f -exec touch -d '1 hour ago' {} +; }	# behind the grace
keys() { find "$T/s/objects" -name "*kept%2F$1%2F*" | wc -l; }
es init --pack-size 1M --grace 60 || fail init
echo "kept /" > "$T/s/fault"

echo "== put and get need not delete"
for i in a c; do check "put $i" es -q put $i "$T/$i.ndz"; check "get $i" gets $i "$T/$i.ndz"; done
check "their claims stay: $(keys claims)" [ "$(keys claims)" = 2 ]
check "verify --data" es -q verify --data

echo "== what cannot be deleted is told, and holds up nothing else"
status 1 es rm a:1
check "says why" grep -q "AccessDenied" "$T/stderr"
: > "$T/s/fault"; check "rm, with the right" es rm a:1; echo "kept /" > "$T/s/fault"
old; status 1 es -q gc --all
check "how many, and the first" grep -q "objects could not be removed, the first.*AccessDenied" "$T/stderr"
check "packs are condemned all the same: $(keys condemned)" [ "$(keys condemned)" -gt 0 ]
check "c is whole" gets c "$T/c.ndz"
check "b shares nothing that is condemned" es -q put b "$T/b.ndz"

echo "== with the right to delete gc catches up"
: > "$T/s/fault"; old; check "gc" es -q gc --all; old; check "gc again" es -q gc --all
check "no claims are left" [ "$(keys claims)" = 0 ]
for i in b c; do check "get $i" gets $i "$T/$i.ndz"; done
check "verify --data" es -q verify --data

echo "== an unknown key, and a bucket that is not there"
echo "nokey /" > "$T/s/fault"
status 1 es list
check "the server's code is shown" grep -q "XAdminUserNotFound" "$T/stderr"
echo "nobucket /" > "$T/s/fault"
status 1 es list
check "there, too" grep -q "NoSuchBucket" "$T/stderr"
: > "$T/s/fault"
status 1 es --store s3://bucket/nothing list
check "a bucket without a store" grep -q "is not a store" "$T/stderr"
echo "403 list-type" > "$T/s/fault"
status 1 es --store s3://bucket/nothing list
check "one whose objects nobody lists may be a store" grep -q "AccessDenied" "$T/stderr"
finish
