#!/usr/bin/env bash
# A store in a folder, in corners: numbers after the index was made again, a shortage that is no damage, damage that a
# CRC does not see, an old file beside a get that fails, readers who may not write, files and indexes of strangers.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3
python3 - "$T" << 'PY'
import random, sys
for i in range(3):
    open(f"{sys.argv[1]}/d{i}", "wb").write(random.Random(i).randbytes(1 << 20))
PY
zip_all d0 d1 d2
new_store() { export EMUSTORE=$T/$1; es init "${@:2}" || fail "init $1"; }
says() { check "says \"$1\"" grep -q -- "$1" "$T/stderr"; }
pristine() { rm -rf "$T/S"; cp -r "$T/keep" "$T/S"; export EMUSTORE=$T/S; }
# alter_fragment HOW: of the newest fragment the head is overwritten, or the data altered so that no CRC-32C sees it (crc).
alter_fragment() {
	python3 - "$1" "$EMUSTORE"/packs/* << 'PY'
import struct, sys
for name in sys.argv[2:]:
    d = open(name, "rb").read(); at = 0
    while at + 32 <= len(d):
        if d[at + 4] == 2: last = name, at
        at += (32 + struct.unpack_from("<I", d, at + 16)[0] + 7) // 8 * 8
f = open(last[0], "r+b"); d = bytearray(f.read()); at = last[1]
if sys.argv[1] == "head": d[at + 16:at + 20] = b"XXXX"
else:
    for i, b in enumerate(bin(0x11EDC6F41)[2:]):
        if b == "1": d[at + 32 + 56 + i // 8] ^= 1 << (i % 8)
f.seek(0); f.write(d)
PY
}

image_numbers_never_twice() {
	echo "== the number of a removed image is not given again after repair --index"
	new_store numbers
	es -q put a "$T/d0.ndz"; es -q put b "$T/d1.ndz"; es -q rm b; es -q gc --all; es -q repair --index
	check "put c" es -q put c "$T/d2.ndz"
	check "repair --index" es -q repair --index
	check "both images are there" [ "$(all_names)" = "a:1 c:1" ]
	check "gc" es -q gc --all
	check "c is whole" gets c "$T/d2.ndz"
}

fragment_numbers_never_twice() {
	echo "== nor that of a fragment that is lost, as long as a recipe has it"
	new_store fragments --pack-size 1M
	es -q put a "$T/d0.ndz"; es -q put b "$T/d1.ndz"
	alter_fragment head
	es -q repair 2> /dev/null; es -q repair --index 2> /dev/null
	check "put goes on" es -q put c "$T/d2.ndz"
	status 3 es -q verify --data
	says "1 of 3 images damaged"
	status 3 es -q get b "$T/out"
	check "c is whole" gets c "$T/d2.ndz"
	es -q rm b; check "gc" es -q gc --all
	check "and nothing is wrong any more" es -q verify --data
}

shortage_is_no_damage() {
	echo "== too few files may be open: nothing is taken for damaged"
	new_store shortage --pack-size 4096
	es -q put a "$T/d0.ndz"; es -q put b "$T/d1.ndz"
	local c
	check "many packs" [ "$(ls "$T/shortage/packs" | wc -l)" -gt 20 ]
	for c in verify "verify --data" repair "repair --index" "gc --all" "put c $T/d2.ndz" "get a $T/out"; do
		# shellcheck disable=SC2086
		(ulimit -n 16; es -q $c > "$T/stdout" 2> "$T/stderr"); rc=$?
		[ $rc = 0 ] || { [ $rc = 1 ] && grep -q "Too many open files" "$T/stderr"; } || fail "exit $rc: $c: $(cat "$T/stderr")"
	done
	check "repair with enough" es -q repair
	check "verify --data" es -q verify --data
	for i in 0:a 1:b; do check "get ${i#*:}" gets "${i#*:}" "$T/d${i%:*}.ndz"; done
}

unseen_by_the_crc() {
	echo "== a wrong image is not given out, though every CRC is right"
	pristine
	alter_fragment crc
	rm -f "$T/out"; status 3 es -q get b "$T/out"
	says "SHA-256"
	check "nothing is left" [ ! -e "$T/out" ] && [ ! -e "$T/out.partial" ]
	check "--chunk is one chunk" es -q get --chunk 0 b "$T/out"
	status 3 es -q verify --data
}

get_that_fails_keeps_the_old_file() {
	echo "== a get that fails leaves the file that was there"
	pristine
	printf 'XXXXXXXX' | dd of="$T/S/packs/00000001.pack" bs=1 seek=300000 conv=notrunc status=none
	cp "$T/d2.ndz" "$T/mine.ndz"
	status 3 es -q get a "$T/mine.ndz"
	check "the old file" cmp "$T/d2.ndz" "$T/mine.ndz"
	check "nothing beside it" [ ! -e "$T/mine.ndz.partial" ]
	check "one that does not fail replaces it" es -q get b "$T/mine.ndz"
	check "the new file" cmp "$T/d1.ndz" "$T/mine.ndz"
	mkfifo "$T/pipe"; cat "$T/pipe" > "$T/out" & local reader=$!
	check "into a pipe" es -q get b "$T/pipe"; wait $reader
	check "all of it" cmp "$T/d1.ndz" "$T/out"
	check "onto a file that standard output is" bash -c '"$0" -q get b /dev/stdout > "$1" && cmp "$1" "$2"' "$BIN/emustore" "$T/out" "$T/d1.ndz"
}

reader_without_rights() {
	echo "== who may only read can read"
	[ "$(id -u)" = 0 ] && command -v setpriv > /dev/null || { echo "needs root, and setpriv"; return; }
	pristine; chmod 755 "$T"; mkdir -p "$T/theirs"; chown 65534:65534 "$T/theirs"
	nobody() { TMPDIR=$T/theirs setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	readers() {
		check "list" [ "$(nobody "$BIN/emustore" list --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')" = 2 ]
		check "get" bash -c 'TMPDIR=$4 setpriv --reuid=65534 --regid=65534 --clear-groups "$1" -q get b - | cmp - "$2"' _ "$BIN/emustore" "$T/d1.ndz" _ "$T/theirs"
		check "verify" nobody "$BIN/emustore" -q verify
		check "imageunzip --store" nobody "$BIN/imageunzip" -q --store "$EMUSTORE" b "$T/theirs/out"
		check "the disk" cmp "$T/d1" "$T/theirs/out"
		check "no copy is left" [ -z "$(ls "$T/theirs" | grep -v '^out$')" ]
	}
	readers
	status 1 nobody "$BIN/emustore" -q put c "$T/d2.ndz"
	says "Permission denied"
	echo "== beside a writer"
	mkfifo "$T/slow"; es -q put slow - < "$T/slow" & local writer=$! i
	exec 9> "$T/slow"; head -c 1000000 "$T/d2.ndz" >&9
	for ((i = 0; i < 200; i++)); do flock -n "$T/S/lock" true || break; sleep 0.05; done
	readers
	tail -c +1000001 "$T/d2.ndz" >&9; exec 9>&-
	check "the writer" wait $writer
	check "sees what it wrote" bash -c 'TMPDIR=$4 setpriv --reuid=65534 --regid=65534 --clear-groups "$1" -q get slow - | cmp - "$2"' _ "$BIN/emustore" "$T/d2.ndz" _ "$T/theirs"
	echo "== beside a reader that copies the index"
	flock -s "$T/S/lock" sleep 1 & i=$!
	for ((n = 0; n < 200; n++)); do flock -n -x "$T/S/lock" true || break; sleep 0.01; done
	check "a writer waits for it" es -q put beside "$T/d2.ndz"
	check "and was really kept" wait $i
	check "removed" es -q rm beside
	check "collected" es -q gc --all
	echo "== while writers come and go, each list is one that there was"
	(for ((i = 0; i < 12; i++)); do es -q put x "$T/d2.ndz" && es -q rm x && es -q gc --all; done) & writer=$!
	local wrong=0 n=0
	while kill -0 $writer 2> /dev/null; do
		nobody "$BIN/emustore" list --json > "$T/json" 2> "$T/stderr" || { wrong=$((wrong + 1)); cat "$T/stderr"; }
		n=$(python3 -c 'import json,sys; print(len(json.load(open(sys.argv[1]))))' "$T/json"); [ "$n" = 3 ] || [ "$n" = 4 ] || wrong=$((wrong + 1))
	done
	wait $writer || fail "writers"
	check "always" [ $wrong = 0 ]
	echo "== after a writer that was killed"
	es -q put - - < /dev/null 2> /dev/null
	python3 - "$T/S/index.db" << 'PY'
import os, sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute("DELETE FROM images WHERE name = 'slow'"); c.commit(); os._exit(1)
PY
	check "its log is there" [ -s "$T/S/index.db-wal" ]
	check "is counted" [ "$(nobody "$BIN/emustore" list --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')" = 2 ]
	echo "== no room for a copy"
	pristine
	check "list" [ "$(TMPDIR=/nowhere setpriv --reuid=65534 --regid=65534 --clear-groups "$BIN/emustore" list --json | python3 -c 'import json,sys; print(len(json.load(sys.stdin)))')" = 2 ]
}

links_are_not_followed() {
	echo "== links in the place of the store's files are not followed"
	local f
	for f in packs/00000001.pack format lock index.db packs; do
		pristine; rm -rf "$T/away"; cp -r "$T/S/$f" "$T/away"; [ -d "$T/away" ] || head -c 5000 /dev/zero >> "$T/away"
		cp -r "$T/away" "$T/away.was"; rm -rf "${T:?}/S/$f"; ln -s "$T/away" "$T/S/$f"
		case $f in
		packs/*) check "a pack of its own" es -q put c "$T/d2.ndz" ;;
		*) status 1 es -q put c "$T/d2.ndz" ;;
		esac
		[ $f = lock ] || status 1 es -q get a "$T/out"
		check "$f: what it leads to is as it was" diff -r "$T/away" "$T/away.was"
		rm -rf "$T/away" "$T/away.was"
	done
	pristine; ln -s "$T/victim" "$T/S/index.new"; ln -s "$T/victim" "$T/S/format.new"
	check "links in the place of new files are replaced" es -q repair --index
	check "nothing was written through them" [ ! -e "$T/victim" ]
	pristine; rm "$T/S/lock"; mkfifo "$T/S/lock"; status 1 timeout 20 "$BIN/emustore" -q put c "$T/d2.ndz"
	[ "$(id -u)" = 0 ] || return
	pristine; chmod 777 "$T/S" "$T/S/packs"; chown 65534 "$T/S/packs/00000001.pack"
	status 1 es -q put c "$T/d2.ndz"
	says "root does not write to it"
	check "but reads it" gets a "$T/d0.ndz"
	chmod 755 "$T/S/packs"; check "where only root can write, it may belong to anybody" es -q put c "$T/d2.ndz"
}

index_of_a_stranger() {
	echo "== an index with anything that is not a store's is refused"
	local sql
	for sql in "ALTER TABLE images RENAME TO img0; CREATE VIEW images AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT img0.* FROM img0, r" \
		"CREATE TRIGGER t AFTER DELETE ON images BEGIN DELETE FROM fragments; END" "CREATE TABLE more (x)" "DROP TABLE next" \
		"CREATE INDEX i ON images (abs(number))" "ALTER TABLE images ADD COLUMN x AS (abs(number))"; do
		pristine
		python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2])' "$T/S/index.db" "$sql" || fail "$sql"
		status 3 timeout -k 5 20 "$BIN/emustore" list
		says "repair --index"
		check "repair --index" es -q repair --index
		check "both images" [ "$(all_names)" = "a:1 b:1" ]
	done
}

words_of_emustore() {
	echo "== what it says"
	pristine
	status 2 es get nobody "$T/out"; check "no usage line for a name that is not there" [ "$(wc -l < "$T/stderr")" = 1 ]
	check "nor in JSON is it called so" [ "$(es get --json nobody "$T/out" 2> /dev/null | field kind)" = absent ]
	status 2 es get; check "but for wrong usage" grep -q "^usage:" "$T/stderr"
	status 2 es ls; says "list, info"
	es -q rm a
	printf 'XXXXXXXX' | dd of="$T/S/packs/00000001.pack" bs=1 seek=300000 conv=notrunc status=none
	status 3 es -q verify --data; says "gc --all"
	es gc --all 2> "$T/stderr"; says "freed"
	check "which helps" es -q verify --data
	flock "$T/S/lock" sleep 1 & sleep 0.2
	status 1 es -q repair --index
	check "--wait waits" es -q --wait repair --index
	python3 -c 'import sys; open(sys.argv[1], "wb").write(bytes(str(list(range(200000))), "ascii")[:1 << 20])' "$T/text"
	"$BIN/imagezip" -q -r -z 1 "$T/text" "$T/text1.ndz" && "$BIN/imagezip" -q -r -z 9 "$T/text" "$T/text9.ndz" || fail imagezip
	es put t "$T/text1.ndz" 2> "$T/stderr"; check "says nothing of the first" [ "$(wc -l < "$T/stderr")" = 1 ]
	es put t "$T/text9.ndz" 2> "$T/stderr"; says "another codec or at another level"
	es put t "$T/text9.ndz" 2> "$T/stderr"; check "nor of the same again" [ "$(wc -l < "$T/stderr")" = 1 ]
}

new_store keep; es -q put a "$T/d0.ndz"; es -q put b "$T/d1.ndz"
image_numbers_never_twice
fragment_numbers_never_twice
shortage_is_no_damage
unseen_by_the_crc
get_that_fails_keeps_the_old_file
reader_without_rights
links_are_not_followed
index_of_a_stranger
words_of_emustore
finish
