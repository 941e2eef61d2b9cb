# gc_part.sh: a store of its own, beside what store.sh does, since it waits for most of the time: puts that are
# too slow, gc while a put is under way, damaged and missing objects.
too_slow() {
	mkfifo "$T/late"
	es --store s3://images/lab/late init --grace 4
	es --store s3://images/lab/late -q put slow - < "$T/late" 2> "$T/late.err" & local writer=$!
	exec 8> "$T/late"; head -c 1048576 "$T/d.ndz" >&8; nothing_for 3 "more than half the grace"; tail -c +1048577 "$T/d.ndz" >&8; exec 8>&-
	wait $writer && fail "a slow put was taken"
	check "a put that takes too long is refused, and says why" grep -q grace "$T/late.err"
	quietly es --store s3://images/lab/late get slow "$T/late.out" > /dev/null 2>&1 && fail "a slow put is there"
}

# A store of its own, and a put under way while gc runs.  1: on a machine so busy, the grace was too short for it.
put_meanwhile() {
	local writer
	EMUSTORE=s3://images/lab/gc$GRACE
	es init --pack-size 1M --grace $GRACE && es -q put a "$T/a.ndz" && es -q put c "$T/c.ndz" || fail "a store for gc"
	es_on early -q get c - > /dev/null || fail "get c"
	sleep $((GRACE + 1))
	check "rm" es rm a
	before=$(keys packs)
	rm -f "$T/slow"; mkfifo "$T/slow"
	EMUSTORE_CACHE=$T/writer "$BIN/emustore" -q put again - < "$T/slow" 2> "$T/slow.err" & writer=$!
	exec 9> "$T/slow"; head -c 3145728 "$T/a.ndz" >&9
	counts_on_packs() { has_read $writer 3145728 && is_asleep $writer; }	# of a, and waits for the rest
	begins $writer counts_on_packs || fail "the put does not begin: $(cat "$T/slow.err")"
	check "gc" es -q gc
	tail -c +3145729 "$T/a.ndz" >&9; exec 9>&-
	check "packs are condemned" [ "$(keys condemned | wc -l)" -gt 2 ]
	wait $writer && return
	[ $GRACE -lt 60 ] && grep -q grace "$T/slow.err" && return 1
	fail "the put under way: $(cat "$T/slow.err")"
}

gc_meanwhile() {
	local before now gone=0 k
	measure_grace s3://images/lab/try "$T/a.ndz" 12
	until put_meanwhile; do GRACE=$((2 * GRACE)); echo "a grace of $GRACE s"; done
	check "what was put meanwhile" gets again "$T/a.ndz"
	check "gc removes nothing yet" [ "$(es gc --json | field packs_replaced)" = 0 ]
	sleep $((GRACE + 1))
	check "gc again: what is needed is copied" es -q gc
	check "what was put meanwhile is there" gets again "$T/a.ndz"
	check "gc again" es -q gc
	now=$(keys packs); for k in $before; do grep -q "$k" <<< "$now" || gone=$((gone + 1)); done
	check "some packs are gone: $gone" [ $gone -gt 0 ]
	check "c is there" gets c "$T/c.ndz"
	check "on a machine that had not looked since" bash -c '"$0" -q --cache "$1" get again - | cmp - "$2"' "$BIN/emustore" "$T/early" "$T/a.ndz"
	check "verify --data" es -q verify --data
}

damaged() {
	local i
	# shellcheck disable=SC2046
	damage $(keys packs | tail -n 4)
	status 3 es -q verify --data
	for i in again:a c:c; do
		if es_on afresh -q get "${i%:*}" "$T/got" 2> /dev/null; then cmp "$T/got" "$T/${i#*:}.ndz" || fail "a wrong image was served"
		else [ ! -e "$T/got" ] || fail "half an image is left"; served=refused; fi
		rm -f "$T/got"
	done
	check "one was refused" [ "${served:-}" = refused ]
	status 3 es -q repair
	for i in a c; do es -q put back/$i "$T/$i.ndz" || fail "put $i"; done
	for i in back/a:a back/c:c again:a c:c; do check "${i%:*} is whole" gets "${i%:*}" "$T/${i#*:}.ndz"; done
	check "verify" es -q verify
	request DELETE "$(object "$(keys packs | tail -n 1)")"
	request DELETE "$(object "$(keys tables | head -n 1)")"
	status 3 es -q verify
	printf 'x' > "$T/x"; request PUT "$(object "$(keys images | head -n 1)")" "$T/x"
	status 3 es -q gc
	status 3 es -q verify
}

gc_part() {
	export EMUSTORE=s3://images/lab/gc EMUSTORE_CACHE=$T/cache-gc
	too_slow & local late=$!
	gc_meanwhile
	wait $late
	damaged
	exit $((bad != 0))
}
