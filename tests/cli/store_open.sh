#!/usr/bin/env bash
# Whoever opens a store lists its objects only if they may have changed since the index was made: not after a writer that
# ended, always after one that died, in a folder and in a bucket.  What is listed is what is there, whoever has died.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
requires python3 strace
instrumented && skip "strace and another library cannot come before sanitizers"
python3 - "$T" << 'PY'
import random, sys
r = random.Random(4)
for n in "abcd": open(f"{sys.argv[1]}/{n}", "wb").write(r.randbytes(600000 // 512 * 512))
PY
zip_all a b c d
export EMUSTORE=$T/S HOME=$T
reads() {	# COMMAND...: how many folders it read, but for given/NAME, which has a few entries about one name
	strace -f -y -qq -e trace=getdents64 -o "$T/trace" "$BIN/emustore" -q "$@" > "$T/out" 2>&1 || fail "$*: $(cat "$T/out")"
	grep "getdents64.*$EMUSTORE" "$T/trace" | grep -vc "$EMUSTORE/given/"
}
# The same images by the index that is kept and by one that is made from the objects.
same_list() {
	rm -rf "$T/copy"; cp -r "$EMUSTORE" "$T/copy"; rm -f "$T"/copy/index.*
	[ "$(all_names)" = "$(es --store "$T/copy" list --json | json -1 - "[*].name,version")" ]
}

echo "== a folder"
es init --pack-size 100k && es -q put a "$T/a.ndz" || fail "a store"
check "nothing is listed after a put" [ "$(reads list)" = 0 ]
check "nor to put another" [ "$(reads put b "$T/b.ndz")" = 0 ]
check "nor to get it" [ "$(reads get b -)" = 0 ]
check "nor to copy from the store" [ "$(reads info b)" = 0 ]
check "two images" [ "$(all_names)" = "a:1 b:1" ]
check "put a again" es -q put a "$T/c.ndz"
check "nor to remove one" [ "$(reads rm a:1)" = 0 ]
check "it is gone" [ "$(all_names)" = "a:2 b:1" ]
check "what is left is right" gets a "$T/c.ndz"
check "gc lists everything" [ "$(reads gc --all)" -gt 2 ]
check "after it, the first reader lists once" [ "$(reads list)" -gt 2 ]
check "and the second one does not" [ "$(reads list)" = 0 ]
check "verify believes no index" [ "$(reads verify)" -gt 2 ]
check "an index that is lost is made again" bash -c 'rm "$1"/index.*; "$0" list | grep -q ^b:1' "$BIN/emustore" "$EMUSTORE"
: > "$EMUSTORE/lock"
check "a mark that is lost: everything is listed" [ "$(reads list)" -gt 2 ]
check "until somebody has written" bash -c '"$0" -q put d "$1"' "$BIN/emustore" "$T/d.ndz"
check "then no more" [ "$(reads list)" = 0 ]

echo "== what is copied there by hand is found"
es --store "$T/other" init --pack-size 100k && es -q --store "$T/other" put by/hand "$T/d.ndz" || fail "another store"
cp -r "$T/other/packs" "$T/other/tables" "$T/other/images" "$EMUSTORE/"
check "get" gets by/hand "$T/d.ndz"
check "list" same_list
es -q --store "$T/other" put by/hand "$T/c.ndz"; cp -r "$T/other/packs" "$T/other/tables" "$T/other/images" "$EMUSTORE/"
check "get of another version" gets by/hand:2 "$T/c.ndz"

echo "== a full disk"
[ "$(id -u)" = 0 ] && mkdir "$T/fs" && mount -t tmpfs -o size=4m none "$T/fs" 2> /dev/null && {
	CLEANUP+=("umount '$T/fs'")
	es --store "$T/fs/S" init --pack-size 100k && es -q --store "$T/fs/S" put a "$T/a.ndz" && es -q --store "$T/fs/S" put b "$T/b.ndz" || fail "a small disk"
	: > "$T/fs/S/lock"; rm -f "$T/fs/S/reserve"; head -c 4M /dev/zero > "$T/fs/fill" 2> /dev/null
	check "rm where no mark can be written" es -q --store "$T/fs/S" rm a
	check "it is gone" [ -z "$(es --store "$T/fs/S" list --json | grep '"a"')" ]
}

echo "== a writer that died"
[ -e "$shim" ] || fail "no $shim"
cp -r "$EMUSTORE" "$T/base"; died=0
for op in fsync fdatasync pwrite; do
	for ((n = 1; n < 60; n++)); do
		rm -rf "$EMUSTORE" "$T/fired"; cp -r "$T/base" "$EMUSTORE"; es list > /dev/null
		FAULT=$op:$n:kill:$EMUSTORE FAULT_FIRED=$T/fired LD_PRELOAD=$shim "$BIN/emustore" -q put new "$T/b.ndz" > /dev/null 2>&1
		[ -e "$T/fired" ] || break
		died=$((died + 1))
		same_list || fail "killed at $op $n: the list is another than that of the objects"
		[ $((n % 5)) != 0 ] || es -q rm b || fail "rm after $op $n"
		same_list || fail "killed at $op $n, and rm: the list is another than that of the objects"
		[ "$(reads list)" -ge 0 ] && es verify > "$T/out" 2>&1 || fail "killed at $op $n: $(cat "$T/out")"
	done
done 2> "$T/shell"
check "killed $died times" [ $died -gt 12 ]

echo "== a writer that died after a reader had looked"
# It makes another version of a name that is there, of data that are there: the times of the folders, which are a part of
# the mark, stay as they are.
died=0 made=0
has_begun() { ! cmp -s "$EMUSTORE/lock" "$T/lock"; }
for ((n = 1; n < 20; n++)); do
	rm -rf "$EMUSTORE" "$T/fired" "$T/late"; cp -r "$T/base" "$EMUSTORE"; mkfifo "$T/late"
	es list > /dev/null; cp "$EMUSTORE/lock" "$T/lock"
	FAULT=fsync:$n:kill:$EMUSTORE FAULT_FIRED=$T/fired LD_PRELOAD=$shim "$BIN/emustore" -q put d - < "$T/late" > /dev/null 2>&1 & pid=$!
	exec 9> "$T/late"
	begins $pid has_begun
	es list > /dev/null; cat "$T/b.ndz" >&9; exec 9>&-
	wait $pid
	[ -e "$T/fired" ] || break
	died=$((died + 1))
	[ ! -e "$EMUSTORE/images/d/0000000002" ] || made=$((made + 1))
	same_list || fail "killed at fsync $n after a reader had looked: the list is another than that of the objects"
done 2> "$T/shell"
check "killed $died times, $made times with the image in place" [ $made -gt 0 ]

echo "== a bucket"
hostile_server
export EMUSTORE=s3://bucket/opened
on() { EMUSTORE_CACHE=$T/cache$1 es -q "${@:2}"; }
names() { EMUSTORE_CACHE=$T/cache$1 all_names; }
requests() {	# CACHE COMMAND...: how many lists were asked for, but for those of changes
	: > "$T/s/requests"; on "$@" > "$T/out" 2>&1 || fail "${*:2}: $(cat "$T/out")"
	grep -c 'prefix=opened%2F\(images\|tables\|condemned\)%2F\(&\|$\)' "$T/s/requests"
}
on 1 init --pack-size 100k --grace 60 && on 1 put a "$T/a.ndz" && on 1 put b "$T/b.ndz" || fail "a store"
check "nothing is listed after a put" [ "$(requests 1 list)" = 0 ]
check "nor to put another" [ "$(requests 1 put c "$T/c.ndz")" = 0 ]
check "nor to remove one" [ "$(requests 1 rm a)" = 0 ]
check "another machine lists everything" [ "$(requests 2 list)" -gt 2 ]
check "once" [ "$(requests 2 list)" = 0 ]
check "it sees the same" [ "$(names 1)" = "b:1 c:1" -a "$(names 2)" = "b:1 c:1" ]
check "it puts, too" [ "$(requests 2 put d "$T/d.ndz")" = 0 ]
check "the first one sees it" [ "$(names 1)" = "b:1 c:1 d:1" ]
check "two at once" bash -c '"$0" -q --cache "$1/cache1" put e "$1/a.ndz" & "$0" -q --cache "$1/cache2" put f "$1/b.ndz" && wait $!' "$BIN/emustore" "$T"
check "both see both" [ "$(names 1)" = "b:1 c:1 d:1 e:1 f:1" -a "$(names 2)" = "b:1 c:1 d:1 e:1 f:1" ]
died=0
for ((n = 1; n < 30; n++)); do
	echo "hold / $n" > "$T/s/fault"; : > "$T/s/paused"
	EMUSTORE_CACHE=$T/cache2 "$BIN/emustore" -q put new "$T/a.ndz" > /dev/null 2>&1 & pid=$!
	begins $pid [ -s "$T/s/paused" ]
	kill -9 $pid 2> /dev/null; : > "$T/s/fault"
	wait $pid 2> /dev/null; [ $? = 137 ] || break
	died=$((died + 1)); rm -rf "$T/cache3"
	kept=$(names 1) new=$(names 3)
	[ "$kept" = "$new" ] || fail "killed at request $n: $kept by a kept index, $new by a new one"
done
check "killed at $died requests" [ $died -gt 6 ]
find "$T/s/objects" -type f -exec touch -d '1 hour ago' {} +
check "gc takes away what they left" on 1 gc
on 1 list > /dev/null
check "then nothing is listed any more" [ "$(requests 1 list)" = 0 ]
finish
