#!/usr/bin/env bash
# A store in a folder, in corners: what was lost comes back by a put, a shortage that is no damage, damage that a CRC
# does not see, an old file beside a get that fails, readers who may not write, files and indexes of strangers, verify
# beside writers, a format that is lost, gc that gets quiet.
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
pack_of_a() { echo "$EMUSTORE/packs/$PACK_A"; }
# alter_fragment HOW: of the last fragment of each pack the head is overwritten, or the data altered so that no CRC-32C sees it (crc).
alter_fragment() {
	python3 - "$1" "$EMUSTORE"/packs/* << 'PY'
import struct, sys
for name in sys.argv[2:]:
    f = open(name, "r+b"); d = bytearray(f.read()); at = last = 0
    while at + 32 <= len(d):
        if d[at + 4] == 2: last = at
        at += (32 + struct.unpack_from("<I", d, at + 16)[0] + 7) // 8 * 8
    if sys.argv[1] == "head": d[last + 16:last + 20] = b"XXXX"
    else:
        for i, b in enumerate(bin(0x11EDC6F41)[2:]):
            if b == "1": d[last + 32 + 56 + i // 8] ^= 1 << (i % 8)
    f.seek(0); f.write(d)
PY
}

images_outlive_a_new_index() {
	echo "== what was put after a removal stays when the index is made again"
	new_store numbers
	es -q put a "$T/d0.ndz"; es -q put b "$T/d1.ndz"; es -q rm b; es -q gc --all; es -q repair --index
	check "put c" es -q put c "$T/d2.ndz"
	check "repair --index" es -q repair --index
	check "both images are there" [ "$(all_names)" = "a:1 c:1" ]
	check "gc" es -q gc --all
	check "c is whole" gets c "$T/d2.ndz"
}

lost_fragments_come_back_by_a_put() {
	echo "== what is lost is found, and comes back, also after the index was made again"
	new_store fragments
	es -q put a "$T/d0.ndz"
	alter_fragment head
	status 3 es -q repair; rm -f "$EMUSTORE"/index.db*
	check "put goes on" es -q put c "$T/d2.ndz"
	status 3 es -q verify --data
	says "1 of 2 images damaged"
	status 3 es -q get a "$T/out"
	status 3 es -q gc
	check "c is whole" gets c "$T/d2.ndz"
	check "put again" es -q put a2 "$T/d0.ndz"
	check "a is whole again" gets a "$T/d0.ndz"
	check "and nothing is wrong any more" es -q verify --data
	check "nor for gc" es -q gc --all
	check "a is there" gets a "$T/d0.ndz"
}

repair_saves_what_is_whole() {
	echo "== of a damaged pack, and of one without its table, what is whole is saved"
	local all n
	new_store saves; es -q put a "$T/d0.ndz"; all=$(es stats --json | field fragments)
	alter_fragment crc
	status 3 es -q repair
	check "all but one fragment: $(es stats --json | field fragments) of $all" [ "$(es stats --json | field fragments)" = $((all - 1)) ]
	n=$(es put --json a "$T/d0.ndz" | field new_fragments)
	check "only that is new" [ "$n" = 1 ]
	check "verify --data" es -q verify --data
	rm -f "$EMUSTORE"/tables/*
	status 3 es -q verify
	status 3 es -q gc
	check "repair" es -q repair
	for n in 1 2; do check "a:$n" gets a:$n "$T/d0.ndz"; done
	printf x >> "$(echo "$EMUSTORE"/tables/* | cut -d' ' -f1)"
	status 3 es -q verify
	check "repair" es -q repair
	for n in 1 2; do check "a:$n" gets a:$n "$T/d0.ndz"; done
	check "gc" es -q gc --all
	check "verify --data" es -q verify --data
}

verify_beside_gc() {
	echo "== verify is right beside writers"
	new_store beside --pack-size 300k
	es -q put a "$T/d0.ndz"
	(for ((i = 0; i < 8; i++)); do es -q put x "$T/d1.ndz" && es -q rm x && es -q gc --all && es -q put x "$T/d2.ndz" && es -q rm x && es -q gc --all; done) & local writer=$! n=0 bad_before=$bad
	while kill -0 $writer 2> /dev/null; do
		es -q verify $([ $((n % 2)) = 0 ] || echo --data) 2> "$T/stderr" || fail "a false alarm: $(cat "$T/stderr")"
		n=$((n + 1))
	done
	wait $writer || fail "writers"
	[ $bad != $bad_before ] || echo "ok: $n times"
}

a_lost_format_is_made_again() {
	echo "== format is made again by repair"
	local how
	for how in rm "truncate -s 7"; do
		pristine; $how "$T/S/format"
		status 3 es list
		says "emustore repair"
		check "repair" es -q repair
		check "both images" [ "$(all_names)" = "a:1 b:1" ]
		check "put" es -q put c "$T/d2.ndz"
	done
}

gc_gets_quiet() {
	echo "== gc has an end"
	pristine; es -q rm a; es -q gc --all; es -q gc --all
	ls -lR --time-style=full-iso "$T/S/packs" "$T/S/tables" > "$T/before"
	check "finds nothing to do" json <(es gc --all --json) "[#]>0" "[*]=0"
	check "and does nothing" diff "$T/before" <(ls -lR --time-style=full-iso "$T/S/packs" "$T/S/tables")
}

options_that_all_take() {
	echo "== --wait is taken by every command"
	pristine
	for c in list stats verify "info a" "get a $T/out" gc repair "repair --index"; do
		# shellcheck disable=SC2086
		check "$c" es -q -w $c > /dev/null
	done
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
	check "nothing is left" [ ! -e "$T/out" -a ! -e "$T/out.partial" ]
	check "a chunk that is whole can be had" es -q get --chunk 0 b "$T/out"
	status 3 es -q get --chunk 1 b "$T/out"
	status 3 es -q verify --data
}

get_that_fails_keeps_the_old_file() {
	echo "== a get that fails leaves the file that was there"
	pristine
	printf 'XXXXXXXX' | dd of="$(pack_of_a)" bs=1 seek=300000 conv=notrunc status=none
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
		check "list" [ "$(nobody "$BIN/emustore" list --json | json - '[#]')" = 2 ]
		check "get" bash -c 'TMPDIR=$4 setpriv --reuid=65534 --regid=65534 --clear-groups "$1" -q get b - | cmp - "$2"' _ "$BIN/emustore" "$T/d1.ndz" _ "$T/theirs"
		check "verify" nobody "$BIN/emustore" -q verify
		check "imageunzip --store" nobody "$BIN/imageunzip" -q --store "$EMUSTORE" b "$T/theirs/out"
		check "the disk" cmp "$T/d1" "$T/theirs/out"
		check "no copy is left" [ -z "$(ls "$T/theirs" | grep -v '^out$')" ]
	}
	readers
	status 1 nobody "$BIN/emustore" -q put c "$T/d2.ndz"
	says "lock: Permission denied; only who may write this file may change the store"
	echo "== beside a writer"
	mkfifo "$T/slow"; es -q put slow - < "$T/slow" & local writer=$!
	exec 9> "$T/slow"; head -c 1000000 "$T/d2.ndz" >&9
	is_locked() { ! flock -n "$T/S/lock" true; }
	soon is_locked || fail "the writer does not begin"
	readers
	tail -c +1000001 "$T/d2.ndz" >&9; exec 9>&-
	check "the writer" wait $writer
	check "sees what it wrote" bash -c 'TMPDIR=$4 setpriv --reuid=65534 --regid=65534 --clear-groups "$1" -q get slow - | cmp - "$2"' _ "$BIN/emustore" "$T/d2.ndz" _ "$T/theirs"
	es -q rm slow
	echo "== while writers come and go, each list is one that there was"
	(for ((i = 0; i < 12; i++)); do es -q put x "$T/d2.ndz" && es -q rm x && es -q gc --all; done) & writer=$!
	local wrong=0 n=0
	while kill -0 $writer 2> /dev/null; do
		nobody "$BIN/emustore" list --json > "$T/json" 2> "$T/stderr" || { wrong=$((wrong + 1)); cat "$T/stderr"; }
		n=$(json "$T/json" '[#]'); [ "$n" = 2 ] || [ "$n" = 3 ] || wrong=$((wrong + 1))
	done
	wait $writer || fail "writers"
	check "always" [ $wrong = 0 ]
	echo "== no room for anything of its own"
	pristine
	check "list" [ "$(TMPDIR=/nowhere setpriv --reuid=65534 --regid=65534 --clear-groups "$BIN/emustore" list --json | json - '[#]')" = 2 ]
}

links_are_not_followed() {
	echo "== links in the place of the store's files are not followed"
	local f c
	for f in "packs/$PACK_A" format lock index.db packs tables images new; do
		pristine; rm -rf "$T/away"; cp -r "$T/S/$f" "$T/away"; [ -d "$T/away" ] || head -c 5000 /dev/zero >> "$T/away"
		cp -r "$T/away" "$T/away.was"; rm -rf "${T:?}/S/$f"; ln -s "$T/away" "$T/S/$f"
		case $f in
		packs/*) check "a pack of its own" es -q put c "$T/d2.ndz"; status 1 es -q get a "$T/out" ;;
		index.db) check "without what is kept" es -q put c "$T/d2.ndz"; check "nor then" gets a "$T/d0.ndz" ;;
		lock | new) status 1 es -q put c "$T/d2.ndz"; check "a reader goes on" gets a "$T/d0.ndz" ;;
		*) status 1 es -q put c "$T/d2.ndz"; status 1 es -q get a "$T/out" ;;
		esac
		check "$f: what it leads to is as it was" diff -r "$T/away" "$T/away.was"
		rm -rf "$T/away" "$T/away.was"
	done
	for f in "$T/elsewhere" /nowhere; do	# also one that leads to nothing, as to a disk that is not mounted
		pristine; rm -rf "$T/elsewhere"; mv "$T/S/images/a" "$T/elsewhere"; ln -s "$f" "$T/S/images/a"; ls "$T/S/packs" > "$T/packs.was"
		for c in "gc --all" verify repair "put c $T/d2.ndz"; do
			# shellcheck disable=SC2086
			status 1 es -q $c
			says "images/a: is a link"
		done
		check "no pack is gone" [ -z "$(comm -23 "$T/packs.was" <(ls "$T/S/packs"))" ]
		rm "$T/S/images/a"; mv "$T/elsewhere" "$T/S/images/a"
		check "a is whole" gets a "$T/d0.ndz"
	done
	pristine; rm "$T/S/lock"; mkfifo "$T/S/lock"; status 1 timeout 240 "$BIN/emustore" -q put c "$T/d2.ndz"
	[ "$(id -u)" = 0 ] || return
	pristine; chmod 777 "$T/S"; chown 65534 "$T/S/lock"
	status 1 es -q put c "$T/d2.ndz"
	says "root does not write to it"
	check "but reads it" gets a "$T/d0.ndz"
	pristine; chmod 777 "$T/S"; chown 65534 "$T/S/index.db"; cp "$T/S/index.db" "$T/index.was"
	check "a strange index is not written to" es -q put c "$T/d2.ndz"
	check "it is as it was" cmp "$T/S/index.db" "$T/index.was"
	chmod 755 "$T/S"; check "where only root can write, it may belong to anybody" es -q put c "$T/d2.ndz"
}

index_of_a_stranger() {
	echo "== an index with anything that is not a store's is thrown away"
	local sql
	for sql in "ALTER TABLE images RENAME TO img0; CREATE VIEW images AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT img0.* FROM img0, r" \
		"CREATE TRIGGER t AFTER DELETE ON images BEGIN DELETE FROM fragments; END" "CREATE TABLE more (x)" "DROP TABLE spares" \
		"CREATE INDEX i ON images (abs(number))" "ALTER TABLE images ADD COLUMN x AS (abs(number))"; do
		pristine
		python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.executescript(sys.argv[2])' "$T/S/index.db" "$sql" || fail "$sql"
		timeout -k 5 240 "$BIN/emustore" list > /dev/null || fail "list: $sql"
		check "both images" [ "$(all_names)" = "a:1 b:1" ]
		check "another index" python3 -c 'import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); assert [r[0] for r in c.execute("SELECT count(*) FROM sqlite_schema WHERE sql IS NOT NULL")] == [7]' "$T/S/index.db"
	done
}

recipes_that_cannot_be_read() {
	echo "== an image whose recipe is damaged is missed"
	pristine; es -q put a "$T/d2.ndz"
	printf 'XXXXXXXX' | dd of="$T/S/images/a/0000000002" bs=1 seek=40 conv=notrunc status=none
	rm -f "$T"/S/index.db*
	status 3 es list; says "not listed: 1"
	check "the others are listed" [ "$(all_names 2> "$T/stderr")" = "a:1 b:1" ]
	status 3 es stats; says "not counted: 1"
	check "the others are counted" [ "$(es stats --json 2> "$T/quiet" | field images)" = 2 ]
	check "and the document says that this is not all" [ "$(es stats --json 2> "$T/quiet" | field exit)" = 3 ]
	status 3 es forget --keep-last 1; says "stay: 1"
	check "what can be read is listed" grep -q "^kept *a:1 " "$T/stdout"
	check "in JSON" [ "$(es forget --keep-last 1 --json 2> "$T/quiet" | json - '[#]')" = 2 ]
	status 3 es -q verify; says "1 of 3 images damaged (emustore repair)"
	status 3 es -q repair; says "1 of 3 images are still damaged"
	check "JSON" [ "$(es verify --json 2> /dev/null | field images_damaged)" = 1 ]
	status 1 es rm a; says "2 versions"
	check "rm --all" es -q rm --all a
	check "nothing is left of it" [ ! -e "$T/S/images/a" ]
	check "verify" es -q verify
	check "gc" es -q gc
}

recipes_that_are_too_long() {
	echo "== a recipe that has no end is not read into memory"
	pristine; truncate -s 2G "$T/S/images/a/0000000001"
	status 3 es -q get a "$T/out"; says "its recipe cannot have 2147483648 bytes"
	status 3 es -q verify; says "1 of 2 images damaged"
	status 3 es -q gc
	check "b is there" gets b "$T/d1.ndz"
	check "rm" es -q rm a
	check "verify" es -q verify
}

the_last_version() {
	echo "== behind the last version there is none"
	pristine
	check "put a:2147483647" es -q put a:2147483647 "$T/d1.ndz"
	status 1 es -q put a "$T/d2.ndz"; says "no version behind 2147483647"
	check "list" [ "$(all_names)" = "a:1 a:2147483647 b:1" ]
	check "verify" es -q verify
	check "put a:2" es -q put a:2 "$T/d2.ndz"
}

names_that_exclude_each_other() {
	echo "== the file of one image is the folder of others"
	pristine
	check "put lab" es -q put lab "$T/d2.ndz"
	status 1 es -q put lab/0000000001 "$T/d2.ndz"; says "lab/0000000001: is a file"
	check "put web/0000000001" es -q put web/0000000001 "$T/d2.ndz"
	status 1 es -q put web "$T/d2.ndz"; says "web/0000000001: is a folder of other images"
	check "another version" es -q put web:2 "$T/d2.ndz"
	status 1 es -q rm web:1; says "is not in the store"
	check "list" [ "$(all_names)" = "a:1 b:1 lab:1 web:2 web/0000000001:1" ]
	check "verify" es -q verify
	check "gc" es -q gc
	check "rm" es -q rm web/0000000001
	check "the name is free again" es -q put web:1 "$T/d2.ndz"
}

# A filesystem that makes no difference between capital and small letters: FAT, or where the kernel has none, NTFS.
mount_without_letters() {	# FOLDER
	truncate -s 64M "$T/letters.disk"
	mkfs.vfat "$T/letters.disk" > /dev/null && mount -o loop "$T/letters.disk" "$1" && return
	mkntfs -q -F "$T/letters.disk" && lowntfs-3g -o ignore_case "$T/letters.disk" "$1"
}

names_in_other_letters() {
	echo "== names that differ in capital letters alone, where the filesystem makes no difference"
	mkdir "$T/letters"
	mount_without_letters "$T/letters" > "$T/mount.log" 2>&1 || { echo "needs a mount of FAT or NTFS: $(cat "$T/mount.log")"; return; }
	CLEANUP+=("umount '$T/letters' 2> /dev/null")
	new_store letters/S --pack-size 1M
	check "put web" es -q put web "$T/d0.ndz"
	status 1 es -q put Web "$T/d1.ndz"; says "other capital letters"
	check "another version" es -q put web "$T/d1.ndz"
	check "verify, which lists all objects" es -q verify
	status 1 es -q rm Web:1; says "Web:1: is not in the store"
	status 1 es -q rm --all Web
	status 1 es -q forget Web --keep-last 1
	check "list" [ "$(all_names)" = "web:1 web:2" ]
	for i in 1:d0 2:d1; do check "web:${i%:*}" gets "web:${i%:*}" "$T/${i#*:}.ndz"; done
	umount "$T/letters"
}

within_the_store() {
	echo "== get to a pipe, by a program that works in the store's folder"
	pristine
	check "get" bash -c 'cd "$1" && "$0" --store . -q get b - | cmp - "$2"' "$BIN/emustore" "$T/S" "$T/d1.ndz"
	check "but not over its files" bash -c 'cd "$1" && ! "$0" --store . -q get b format 2> /dev/null && "$0" --store . list > /dev/null' "$BIN/emustore" "$T/S"
	check "list" [ "$(all_names)" = "a:1 b:1" ]
}

waits_for() { has_open $pid "$1" && is_asleep $pid; }	# LOCK
who_waits_can_be_stopped() {
	echo "== who may only read cannot hold up others, and who waits for a lock ends by a signal"
	local pid f c
	pristine; rm -f "$T/S/index.lock"; chmod 755 "$T/S"; es -q list
	check "only its owner can open the lock of the index" [ "$(stat -c %a "$T/S/index.lock")" = 600 ]
	rm "$T/S/index.lock"; chmod 775 "$T/S"; (umask 0; es -q list)
	check "where a group may write, the group" [ "$(stat -c %a "$T/S/index.lock")" = 660 ]
	exec 8< "$T/S/index.lock" 9< "$T/S/lock"; flock 8; flock 9
	for c in index.lock:list "lock:--wait rm a"; do
		f=$T/S/${c%%:*}
		# shellcheck disable=SC2086
		"$BIN/emustore" -q ${c#*:} > /dev/null 2> "$T/stderr" 8<&- 9<&- & pid=$!
		begins $pid waits_for "$f" || fail "${c#*:} does not wait: $(cat "$T/stderr")"
		kill -TERM $pid
		soon has_ended $pid || { fail "${c#*:} goes on"; kill -9 $pid; }
		wait $pid && fail "${c#*:} succeeds"
		grep -q "Interrupted system call" "$T/stderr" && fail "${c#*:}: $(cat "$T/stderr")"
	done 2> "$T/shell"
	exec 8<&- 9<&-
	check "both images" [ "$(all_names)" = "a:1 b:1" ]
}

quota_is_used_up() {
	echo "== gc gives up the reserve where a quota is used up"
	! instrumented || return
	pristine; rm -f "$T/fired"
	FAULT=pwrite:1:quota:$T/S/new FAULT_FIRED=$T/fired LD_PRELOAD=${B:-$TOP/build/plain}/tests/preload/faulty.so "$BIN/emustore" -q gc --all || fail "gc"
	check "it was used up" [ -e "$T/fired" ]
	check "there is a reserve again" [ -s "$T/S/reserve" ]
	check "packs were put together" [ "$(find "$T/S/packs" -name '*.pack' | wc -l)" = 1 ]
	for i in a:d0 b:d1; do check "get ${i%:*}" gets "${i%:*}" "$T/${i#*:}.ndz"; done
}

two_that_init() {
	echo "== of two programs that make a store at once, one does"
	command -v strace > /dev/null && ! instrumented || return
	local slow first
	# It is stopped when it has made the first folder, until the other one has ended.
	strace -f -qq -o /dev/null -e trace=?mkdir,mkdirat -e inject=?mkdir,mkdirat:signal=SIGSTOP:when=1 "$BIN/emustore" --store "$T/two" init 2> "$T/stderr" & slow=$!
	stops() { first=$(pgrep -P $slow) && grep -q "^State:.*stop" "/proc/$first/status" && [ -d "$T/two" ]; } 2> /dev/null
	begins $slow stops || fail "the first one does not begin"
	check "the other one" es --store "$T/two" init
	goes_on() { kill -CONT $first; has_ended $slow; }
	soon goes_on
	wait $slow && fail "both have made it"
	check "put" es --store "$T/two" -q put a "$T/d0.ndz"
	check "get" bash -c '"$0" --store "$1" -q get a - | cmp - "$2"' "$BIN/emustore" "$T/two" "$T/d0.ndz"
}

init_is_on_the_disk() {
	echo "== a store that was made is on the disk, with its own name"
	command -v strace > /dev/null && ! instrumented || return
	strace -f -qq -y -e trace=fsync -o "$T/trace" "$BIN/emustore" --store "$T/synced" init || fail "init"
	check "the folder that it lies in is flushed" grep -qF "<$(realpath "$T")>" "$T/trace"
}

words_of_emustore() {
	echo "== what it says"
	pristine
	status 1 es get nobody "$T/out"; check "no usage line for a name that is not there" [ "$(wc -l < "$T/stderr")" = 1 ]
	check "nor in JSON is it called so" [ "$(es get --json nobody "$T/out" 2> /dev/null | field kind)" = absent ]
	es -q rm a
	printf 'XXXXXXXX' | dd of="$(pack_of_a)" bs=1 seek=300000 conv=notrunc status=none
	status 3 es -q verify --data; says "no image needs what is damaged: emustore repair"
	check "which helps" es -q repair
	check "now" es -q verify --data
	es gc --all 2> "$T/stderr"; says "freed"
	check "b is there" gets b "$T/d1.ndz"
	exec 9< "$T/S/lock"; flock 9
	status 1 es -q repair --index
	"$BIN/emustore" -q --wait repair --index 9<&- & local pid=$!
	check "--wait waits" begins $pid waits_for "$T/S/lock"
	exec 9<&-; check "until it is free" wait $pid
	python3 -c 'import sys; open(sys.argv[1], "wb").write(bytes(str(list(range(200000))), "ascii")[:1 << 20])' "$T/text"
	"$BIN/imagezip" -q -r -z 1 "$T/text" "$T/text1.ndz" && "$BIN/imagezip" -q -r -z 9 "$T/text" "$T/text9.ndz" || fail imagezip
	es put t "$T/text1.ndz" 2> "$T/stderr"; check "says nothing of the first" [ "$(wc -l < "$T/stderr")" = 1 ]
	es put t "$T/text9.ndz" 2> "$T/stderr"; says "another codec or at another level.*put --codec=CODEC would share them"
	es put t "$T/text9.ndz" 2> "$T/stderr"; check "nor of the same again" [ "$(wc -l < "$T/stderr")" = 1 ]
}

new_store keep; es -q put a "$T/d0.ndz"; PACK_A=$(ls "$EMUSTORE/packs"); es -q put b "$T/d1.ndz"
images_outlive_a_new_index
lost_fragments_come_back_by_a_put
shortage_is_no_damage
unseen_by_the_crc
get_that_fails_keeps_the_old_file
reader_without_rights
links_are_not_followed
index_of_a_stranger
repair_saves_what_is_whole
verify_beside_gc
a_lost_format_is_made_again
gc_gets_quiet
options_that_all_take
recipes_that_cannot_be_read
recipes_that_are_too_long
the_last_version
names_that_exclude_each_other
names_in_other_letters
within_the_store
who_waits_can_be_stopped
quota_is_used_up
two_that_init
init_is_on_the_disk
words_of_emustore
finish
