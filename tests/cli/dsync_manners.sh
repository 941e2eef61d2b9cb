#!/usr/bin/env bash
# dmextract and dmmerge leave the page cache as it was, dsync keeps to --bwlimit, and digests that nobody takes are not made.
. "$(dirname "$0")/lib.sh"
requires python3 fincore
head -c 12000000 /dev/urandom > "$T/dev"; cp "$T/dev" "$T/copy"
resident() { fincore -bnro RES "$1"; }
forget() { sync "$1"; python3 -c 'import os, sys; os.posix_fadvise(os.open(sys.argv[1], os.O_RDONLY), 0, 0, os.POSIX_FADV_DONTNEED)' "$1"; }
printf '0 23437\n' > "$T/ranges"
forget "$T/dev"
if [ "$(resident "$T/dev")" = 0 ]; then
	cache_stays() {
		local before
		forget "$T/dev"	# what an earlier attempt left there would hide what is read into it
		head -c 2000000 "$T/dev" > "$T/quiet"	# somebody needs this part, and the system reads ahead of it
		before=$(resident "$T/dev")
		[ "$before" -ge 2000000 ] || fail "no part is in the cache"
		"$BIN/dmextract" -q --since=ranges:"$T/ranges" "$T/dev" > "$T/stream" || fail "dmextract"
		[ "$(resident "$T/dev")" = "$before" ]
	}
	# A system that is short of memory drops parts by itself, but not every time.
	check "dmextract reads nothing into it, and drops nothing" eval 'cache_stays || cache_stays || cache_stays || cache_stays'
	forget "$T/copy"
	check "dmmerge" quietly "$BIN/dmmerge" "$T/copy" < "$T/stream"
	check "nor does dmmerge leave much there" [ "$(resident "$T/copy")" -lt 2000000 ]
	check "equal" cmp "$T/dev" "$T/copy"
else echo "files here are always in memory: the page cache is not looked at"; fi

began=$(date +%s%N)
check "a slow sync" quietly "$BIN/dsync" --dmmerge="$BIN/dmmerge" --since=scan:"$T/state" --bwlimit=6M init "$T/dev" "$T/new"
ms=$((($(date +%s%N) - began) / 1000000))
check "12 MB at 6 MiB a second: $ms ms" [ $ms -ge 1700 ]
check "equal" cmp "$T/dev" "$T/new"

truncate -s 4T "$T/huge"	# hours of reading
timeout 100 "$BIN/dmmerge" --digests=4096 "$T/huge" 2> "$T/stderr" | head -n 1 > "$T/quiet"
ended=${PIPESTATUS[0]}; check "digests end with who asked: status $ended" [ "$ended" = 1 ]
check "and it is said" grep -q "standard output" "$T/stderr"
finish
