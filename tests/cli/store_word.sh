#!/usr/bin/env bash
# A store keeps its word: a put counts only on packs that are there, an index that is damaged anywhere is made again by every
# command, no number is given twice, forget goes by times, and what a version uses alone is what rm and gc free.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
requires python3
related_images
says() { check "says \"$1\"" grep -q -- "$1" "$T/stderr"; }
new_store() { export EMUSTORE=$T/$1; es init "${@:2}" || fail "init $1"; }

counts_on_what_is_there() {
	echo "== a put counts only on packs that are there, and as long as they must be"
	local how n=0
	for how in rm "truncate -s 100000" "truncate -s +8"; do
		new_store counts$((n += 1)); es -q put a "$T/a.ndz"
		$how "$EMUSTORE"/packs/*
		check "put, $how" es put b "$T/a.ndz" 2> "$T/stderr"
		says "the store is damaged: packs that are missing or too short: 1"
		check "what was put can be got" gets b "$T/a.ndz"
		check "which brings back what was lost" gets a "$T/a.ndz"
		rm -f "$EMUSTORE"/index.*; check "also by an index made from the objects" gets b "$T/a.ndz"
		check "once: nothing is new the second time" [ "$(es put --json b "$T/a.ndz" | field new_bytes)" = 0 ]
		status 3 es -q verify
		check "gc takes what is left of the pack" es -q gc
		check "verify --data" es -q verify --data
	done
}

# Two writers at once may each have stored the same data.
counts_on_no_other_copy() {
	echo "== nor on another copy of what is missing, in a pack that is missing, too"
	new_store copies; es -q put a "$T/c.ndz"; mkdir "$T/aside"
	mv "$EMUSTORE"/packs "$EMUSTORE"/tables "$T/aside"; mkdir "$EMUSTORE"/packs "$EMUSTORE"/tables
	rm -f "$EMUSTORE"/index.*; es -q put b "$T/c.ndz"
	mv "$T"/aside/tables/* "$EMUSTORE"/tables; rm -f "$EMUSTORE"/packs/*
	check "put" es put c "$T/c.ndz" 2> "$T/stderr"
	says "the store is damaged: packs that are missing or too short: 2"
	for i in a b c; do check "$i can be got" gets $i "$T/c.ndz"; done
	rm -f "$EMUSTORE"/index.*; check "also by an index made from the objects" gets c "$T/c.ndz"
}

damage_is_3() {
	echo "== what is missing is damage in every command"
	local c
	new_store missing; es -q put a "$T/a.ndz"; es -q put lab "$T/c.ndz"; es -q rm lab; rm "$EMUSTORE"/packs/*
	es --store "$T/to" init
	for c in "get a $T/out" "info a" "copy a --to $T/to" "gc --all" verify repair; do
		# shellcheck disable=SC2086
		status 3 es -q $c
	done
	new_store recipe; es -q put a "$T/a.ndz"; rm "$EMUSTORE"/tables/*
	for c in "get a $T/out" "info a" list stats "gc --all" verify; do
		# shellcheck disable=SC2086
		status 3 es -q $c
	done
	status 3 "$BIN/imageunzip" -q --store "$EMUSTORE" a "$T/out"
}

# Each page of the index but the first one is filled with rubbish, in turn.
heals_everywhere() {
	echo "== an index that is damaged anywhere is made again, whatever the command"
	local page pages c n=0
	new_store heals --pack-size 200k
	es -q put a "$T/c.ndz"; es -q put b "$T/c.ndz"; es -q put b "$T/c.ndz"; cp -r "$EMUSTORE" "$T/keep"; es --store "$T/copy" init
	es list > "$T/list"; es info b > "$T/info"; es stats > "$T/stats"
	pages=$(($(stat -c %s "$T/keep/index.db") / 4096))
	for ((page = 1; page < pages; page++)); do
		for c in list "info b" stats "forget --dry-run b --keep-last 1" "put new $T/c.ndz" "copy a --to $T/copy"; do
			rm -rf "$EMUSTORE"; cp -r "$T/keep" "$EMUSTORE"
			head -c 4096 /dev/zero | tr '\0' '\245' | dd of="$EMUSTORE/index.db" bs=4096 seek=$page conv=notrunc status=none
			# shellcheck disable=SC2086
			es $c > "$T/out" 2> "$T/stderr" || fail "page $page: exit $?: $c: $(cat "$T/stderr")"
			case $c in list | stats | info*) cmp -s "$T/out" "$T/${c%% *}" || fail "page $page: $c says $(cat "$T/out")" ;; esac
			n=$((n + 1))
		done
		gets b:1 "$T/c.ndz" || fail "page $page: get"
	done
	check "$n times" [ $n -gt 40 ]
}

numbers_are_given_once() {	# STORE
	echo "== a number is given once: $1"
	local other=$T/other$((others += 1))
	export EMUSTORE=$1
	es init && es --store "$other" init || fail "stores"
	es -q put x "$T/a.ndz"; es -q put x "$T/b.ndz"; es -q copy x --all --to "$other"
	check "rm" es rm x:2
	check "repair --index" es -q repair --index
	es -q put x "$T/c.ndz"
	check "the next one is another" [ "$(versions x)" = "1 3" ]
	status 1 es -q put x:2 "$T/c.ndz"; says "x:2 was in the store"
	check "copy" es -q copy x --to "$other"
	check "rm --all" es rm --all x
	check "gc" es -q gc --all
	check "a copy comes back as it was" es --store "$other" -q copy x:2 --to "$EMUSTORE"
	check "it is whole" gets x:2 "$T/b.ndz"
	es -q put x "$T/a.ndz"
	check "still" [ "$(versions x)" = "2 4" ]
	es -q put x:9 "$T/a.ndz"; es -q put x:7 "$T/a.ndz"; es rm x:9; es -q put x "$T/c.ndz"
	check "nor after a number that somebody has chosen" [ "$(versions x)" = "2 4 7 10" ]
	check "other names begin with 1" bash -c '"$0" -q put x/y "$1" && "$0" list | grep -q "^x/y:1 "' "$BIN/emustore" "$T/c.ndz"
}

# An older program makes no notes of numbers: those of images are noted when they are removed.
older_stores() {
	echo "== a store of an older program"
	new_store older; es -q put x "$T/a.ndz"; es -q put x "$T/b.ndz"; rm -r "$EMUSTORE/given"
	es rm x:2; es -q put x "$T/c.ndz"
	check "1, and not 2 again" [ "$(versions x)" = "1 3" ]
}

# at DAYS-BACK COMMAND...: with a clock that is so far behind.
at() { CLOCK_BACK=$(($1 * 86400)) LD_PRELOAD=$jump "${@:2}"; }
forget_goes_by_times() {
	echo "== forget goes by times, and says where a clock went back"
	! instrumented || return
	local jump=${B:-$TOP/build/plain}/tests/preload/clockjump.so
	new_store times
	"$BIN/emustore" -q put a "$T/a.ndz"; at 100 "$BIN/emustore" -q put a "$T/b.ndz"; at 200 "$BIN/emustore" -q put a "$T/c.ndz"
	es forget a --dry-run --keep-daily 1 > "$T/out" 2> "$T/stderr"; says "a: a clock went back.*version 2 was put before version 1"
	check "the latest day" [ "$(awk '/^keep/ { print $2 }' "$T/out")" = a:1 ]
	check "the latest two" [ "$(es forget a --dry-run --keep-monthly 2 2> "$T/quiet" | awk '/^keep/ { print $2 }' | tr '\n' ' ')" = "a:2 a:1 " ]
	es forget a --keep-last 1 > "$T/out" 2> "$T/stderr"; says "versions removed: 2; gc frees their room"
	check "the newest stays" [ "$(versions a)" = 1 ]
	es forget a --keep-last 1 2> "$T/stderr" > "$T/out"; check "says nothing of the clock" [ "$(grep -c clock "$T/stderr")" = 0 ]
}

what_a_version_uses() {
	echo "== what a version uses alone is what rm and gc free"
	new_store uses; es -q put a "$T/a.ndz"; es -q put b "$T/b.ndz"; es -q put b "$T/b.ndz"; es -q put c "$T/c.ndz"
	local only shared freed before
	es list --json > "$T/json"
	for only in '[1].only_bytes' '[2].only_bytes'; do
		check "twins share all: $only" [ "$(json "$T/json" "$only")" -lt 10000 ]
	done
	only=$(es info c --json | field only_bytes) shared=$(es info c --json | field shared_bytes)
	check "c shares nothing" [ "$shared" = 0 ]
	check "list says the same" [ "$(es list --json | json - '[3].only_bytes')" = "$only" ]
	check "people are told" bash -c '"$0" info c | grep -q "only this version needs" && "$0" list | grep -q "only it .*shared" && "$0" stats | grep -q "none needs 0 B"' "$BIN/emustore"
	before=$(cat "$EMUSTORE"/packs/* "$EMUSTORE"/images/*/* | wc -c)
	es rm c
	check "stats: what gc can free" [ "$(es stats --json | field unneeded_bytes)" -gt $((only - 20000)) ]
	es -q gc --all
	freed=$((before - $(cat "$EMUSTORE"/packs/* "$EMUSTORE"/images/*/* | wc -c)))
	check "rm and gc have freed $freed of $only" [ "$freed" -ge "$only" -a "$freed" -lt $((only + 100)) ]
	check "nothing more to free" [ "$(es stats --json | field unneeded_bytes)" = 0 ]
}

in_a_bucket() {
	echo "== in a bucket: one list for all packs that a put counts on"
	hostile_server
	export EMUSTORE=s3://bucket/word
	es init --pack-size 300k --grace 60 && es -q put a "$T/a.ndz" || fail "a store"
	check "several packs" [ "$(es stats --json | field packs)" -gt 10 ]
	: > "$T/s/requests"; es -q put b "$T/a.ndz"
	check "packs are listed once" [ "$(grep 'prefix=word%2Fpacks' "$T/s/requests" | grep -vc continuation)" = 1 ]
	check "and none is asked for" [ "$(grep -c '/packs/' "$T/s/requests")" = 0 ]
	rm "$(find "$T/s/objects" -name '*word%2Fpacks%2F*' | head -n 1)"
	rm -rf "$T/cache" "$T/out"; status 3 es -q get a "$T/out"
	check "put" es -q put b "$T/a.ndz"
	check "what was put can be got" gets b "$T/a.ndz"
	rm -rf "$T/cache"; check "on another machine" gets a "$T/a.ndz"
}
others=0
counts_on_what_is_there
counts_on_no_other_copy
damage_is_3
heals_everywhere
older_stores
numbers_are_given_once "$T/numbers"
forget_goes_by_times
what_a_version_uses
in_a_bucket
numbers_are_given_once s3://bucket/numbers
finish
