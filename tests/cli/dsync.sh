#!/usr/bin/env bash
# dmextract and dmmerge on files: every source of change that needs no tracker, exit statuses, what is remembered.
. "$(dirname "$0")/lib.sh"
requires python3
export DIR=$T/var
x() { "$BIN/dmextract" -q --state-dir="$DIR" "$@"; }
m() { "$BIN/dmmerge" -q --state-dir="$DIR" "$@"; }
head -c 5000700 /dev/urandom > "$T/dev"	# no multiple of a sector
write_at() { printf '%s' "$2" | dd of="$T/dev" bs=1 seek="$1" conv=notrunc status=none; }

# ranges: what the lines say and nothing else, into any target of this size; a stream twice is one.
cp "$T/dev" "$T/t"
write_at 100000 change-one; write_at 3000000 change-two
printf '# first count\n195 2\n5859 2\n' > "$T/ranges"
x --since=ranges:"$T/ranges" "$T/dev" > "$T/s" || fail "extract ranges"
cp "$T/t" "$T/t.before"
check "merge ranges" m "$T/t" < "$T/s"
check "equal" cmp "$T/dev" "$T/t"
stat -c %Y.%y "$T/t" > "$T/time"
check "merge twice" m "$T/t" < "$T/s"
check "twice changes nothing" [ "$(cat "$T/time")" = "$(stat -c %Y.%y "$T/t")" ]
check "and says so" grep -q "already" <("$BIN/dmmerge" "$T/t" < "$T/s" 2>&1)
head -c 5000701 /dev/zero > "$T/larger"
status 1 "$BIN/dmmerge" "$T/larger" < "$T/s"
printf '9 x\n' > "$T/bad"; status 3 "$BIN/dmextract" --since=ranges:"$T/bad" "$T/dev"
printf '9765 8\n' > "$T/bad"; status 3 "$BIN/dmextract" --since=ranges:"$T/bad" "$T/dev"
rm "$T/bad"; mkfifo "$T/bad"; status 1 timeout 240 "$BIN/dmextract" --since=ranges:"$T/bad" "$T/dev"
check "a named pipe is not waited for: $(cat "$T/stderr")" grep -q "bad: is a named pipe, and not a file" "$T/stderr"

# Each source of change is in the help and in the man page.
kinds=$("$BIN/dmextract" --since=nonsense "$T/dev" 2>&1 > "$T/quiet" | sed -n 's/.*; there are: //p' | tr -d ,)
check "there are some: $kinds" [ "$(wc -w <<< "$kinds")" -ge 8 ]
for kind in $kinds; do
	check "--help has $kind" grep -q "^  $kind:" <("$BIN/dmextract" --help)
	check "the man page has $kind" grep -q "^\.It Cm $kind: " "$TOP/man/dmextract.8"
done

# Every tenth truncation leaves the target and what is known of it alone.
size=$(stat -c %s "$T/s"); rm -f "$T/u" "$T/u.dsync"
for ((n = 0; n < size; n += size / 10 + 1)); do
	cp "$T/t.before" "$T/u"
	head -c $n "$T/s" > "$T/cut"
	status 3 "$BIN/dmmerge" "$T/u" < "$T/cut"
	cmp -s "$T/t.before" "$T/u" || fail "a stream that was cut at $n has changed the target"
done
check "a cut stream leaves no journal" [ ! -e "$T/u.dsync" ]

# scan: a full copy without a state; then what has changed, until it is confirmed.
rm -f "$T"/t "$T"/t.dsync
x --since=scan:"$T/state" "$T/dev" > "$T/s" || fail "extract scan"
check "the first copy" m "$T/t" < "$T/s"
check "equal" cmp "$T/dev" "$T/t"
check "nothing is forgotten" grep -q ^pending <(x --status --since=scan:"$T/state" "$T/dev")
check "confirmed" x --done --since=scan:"$T/state" "$T/dev"
check "it is the base" grep -q ^base <(x --status --since=scan:"$T/state" "$T/dev")
write_at 4096 here; write_at 5000690 the-end
check "--list" [ "$(x --list --since=scan:"$T/state" "$T/dev" | tr '\n' ' ')" = "8 8 9760 7 " ]
# A look at another device, by mistake: everything of it counts as changed, and nothing is forgotten.
check "--list of a device of another size" [ "$(x --list --since=scan:"$T/state" "$T/larger" 2> "$T/quiet" | tr '\n' ' ')" = "0 9767 " ]
check "nothing is forgotten" [ "$(x --list --since=scan:"$T/state" "$T/dev" | tr '\n' ' ')" = "8 8 9760 7 " ]
x --since=scan:"$T/state" "$T/dev" > "$T/s1"
check "only what has changed" [ "$(stat -c %s "$T/s1")" -lt 9500 ]
write_at 8192 later
x --since=scan:"$T/state" "$T/dev" > "$T/s2"
cp "$T/t" "$T/t2"; cp "$T/t.dsync" "$T/t2.dsync"
check "a stream that was lost" m "$T/t" < "$T/s2"
check "equal" cmp "$T/dev" "$T/t"
# The other one has the first stream, which nobody confirmed.  What was sent and undone is sent again.
check "the first stream" m "$T/t2" < "$T/s1"
python3 - "$T/dev" "$T/t" << 'PY'
import sys
d = open(sys.argv[1], "r+b"); d.seek(8192); d.write(b"other")
PY
dd if="$T/t2" of="$T/dev" bs=4096 skip=1 seek=1 count=1 conv=notrunc status=none
x --since=scan:"$T/state" "$T/dev" > "$T/s3"
check "from the unconfirmed state" m "$T/t2" < "$T/s3"
check "equal" cmp "$T/dev" "$T/t2"
check "from the other unconfirmed state" m "$T/t" < "$T/s3"
check "equal" cmp "$T/dev" "$T/t"
check "confirmed by its id" x --done --since=scan:"$T/state" "$(x --status --since=scan:"$T/state" "$T/dev" | tail -n 1 | cut -d' ' -f2)" "$T/dev"
status 1 "$BIN/dmextract" --done --since=scan:"$T/state" 00000000000000000000000000000001 "$T/dev"
status 1 "$BIN/dmextract" --done --since=scan:"$T/state" "$T/dev"
check "only one file of digests is left" [ "$(find "$T" -name 'state.*' | grep -cv 'lock$')" = 1 ]

# The wrong target, and the right one of another state.
cp "$T/dev" "$T/other"
write_at 70000 more
x --since=scan:"$T/state" "$T/dev" > "$T/s4"
status 1 "$BIN/dmmerge" "$T/other" < "$T/s4"
check "says what to do" grep -q "full copy" "$T/stderr"
check "unchanged" cmp -n 60000 "$T/dev" "$T/other"
cp "$T/t" "$T/t.good"; cp "$T/t.dsync" "$T/t.good.dsync"
head -c 4096 /dev/urandom | dd of="$T/t" conv=notrunc status=none
status 1 "$BIN/dmmerge" "$T/t" < "$T/s4"
check "another hand is seen" grep -q "written since" "$T/stderr"
check "--force" m --force "$T/t.good" < "$T/s4"
check "equal" cmp "$T/dev" "$T/t.good"

# In place: a stream that does not end leaves a mark; the same stream mends it.
cp "$T/t.good" "$T/p"; cp "$T/t.good.dsync" "$T/p.dsync"
x --done --since=scan:"$T/state" "$T/dev"
write_at 200000 in-place; write_at 900000 in-place
x --since=scan:"$T/state" "$T/dev" > "$T/s5"
head -c $(($(stat -c %s "$T/s5") - 10)) "$T/s5" > "$T/cut"
status 3 "$BIN/dmmerge" --in-place "$T/p" < "$T/cut"
check "incomplete" grep -q "^condition incomplete" <("$BIN/dmmerge" --status "$T/p")
printf '1 1\n' > "$T/ranges"; x --since=ranges:"$T/ranges" "$T/dev" > "$T/s6"
status 1 "$BIN/dmmerge" "$T/p" < "$T/s6"
cp "$T/p" "$T/q"; cp "$T/p.dsync" "$T/q.dsync"
(ulimit -f 700; "$BIN/dmmerge" "$T/q" < "$T/s5" > "$T/quiet" 2>&1) && fail "files of more than 700 KiB cannot be written"
check "a merge from the journal was interrupted" grep -q "^condition interrupted" <("$BIN/dmmerge" --status "$T/q")
check "recovered" m --recover "$T/q"
check "equal" cmp "$T/dev" "$T/q"
check "mended" m --in-place "$T/p" < "$T/s5"
check "equal" cmp "$T/dev" "$T/p"
check "consistent" grep -q "^condition consistent" <("$BIN/dmmerge" --status "$T/p")

# zstd, and zeros: of data that compresses the stream is smaller, and holes stay holes.
truncate -s 64M "$T/sparse"; yes text | head -c 3000000 | dd of="$T/sparse" seek=5 bs=1M conv=notrunc status=none
x --zstd --since=scan:"$T/zstate" "$T/sparse" > "$T/z"
check "it is small" [ "$(stat -c %s "$T/z")" -lt 100000 ]
check "zstd" m "$T/zt" < "$T/z"
check "equal" cmp "$T/sparse" "$T/zt"
check "sparse" [ "$(stat -c %b "$T/zt")" -lt 8000 ]
truncate -s 0 "$T/sparse"; truncate -s 64M "$T/sparse"; x --done --since=scan:"$T/zstate" "$T/sparse"
x --since=scan:"$T/zstate" "$T/sparse" | m "$T/zt" || fail "zeros"
check "zeros" cmp "$T/sparse" "$T/zt"
check "they take no room" [ "$(stat -c %b "$T/zt")" -lt 100 ]

# Another size: everything is sent, and a file takes that size.
truncate -s 70000001 "$T/sparse"
x --since=scan:"$T/zstate" "$T/sparse" > "$T/z" 2> "$T/warned"
check "resized" m "$T/zt" < "$T/z"
check "equal" cmp "$T/sparse" "$T/zt"
check "it is said" grep -q "everything counts as changed" <("$BIN/dmextract" --list --since=scan:"$T/zstate2" "$T/sparse" 2>&1; cat "$T/warned")

# A device that is written while it is read: fuzzy, merged all the same, or refused.
exec 7>> "$T/sparse"
x --since=scan:"$T/zstate" "$T/sparse" 2> /dev/null | m "$T/zt" || fail "fuzzy is no failure"
check "fuzzy" grep -q "^condition fuzzy" <("$BIN/dmmerge" --status "$T/zt")
status 1 "$BIN/dmextract" --require-consistent --since=scan:"$T/zstate" "$T/sparse"
exec 7>&-
x --since=scan:"$T/zstate" "$T/sparse" | m "$T/zt"
check "consistent again" grep -q "^condition consistent" <("$BIN/dmmerge" --status "$T/zt")

# sig and image: what an image does not store has changed.
"$BIN/imagezip" -q -r "$T/t.good" "$T/base.ndz" 2> /dev/null || "$BIN/imagezip" -q -f "$T/t.good" "$T/base.ndz" || fail "imagezip"
"$BIN/imagehash" -q -c "$T/base.ndz" || fail "imagehash"
truncate -s 5000704 "$T/dev"; cp "$T/t.good" "$T/im"; truncate -s 5000704 "$T/im"; cp "$T/im" "$T/si"
x --since=image:"$T/base.ndz" "$T/dev" > "$T/s7" || fail "extract image"
check "a few blocks" [ "$(stat -c %s "$T/s7")" -lt 40000 ]
check "merge image" m --force "$T/im" < "$T/s7"
check "equal" cmp "$T/dev" "$T/im"
x --since=sig:"$T/base.ndz.sig" "$T/dev" > "$T/s8" || fail "extract sig"
check "a few blocks" [ "$(stat -c %s "$T/s8")" -lt 400000 ]
check "merge sig" m --force "$T/si" < "$T/s8"
check "equal" cmp "$T/dev" "$T/si"

# Several targets, each with a base of its own.
for t in a b; do x --since=scan:"$T/tstate" --target=$t "$T/dev" | m "$T/t-$t" || fail "target $t"; done
x --done --since=scan:"$T/tstate" --target=a "$T/dev"
dd if=/dev/urandom of="$T/dev" bs=4096 seek=900 count=1 conv=notrunc status=none
check "target a has a base" [ "$(x --list --since=scan:"$T/tstate" --target=a "$T/dev")" = "7200 8" ]
check "target b has none" [ "$(x --list --since=scan:"$T/tstate" --target=b "$T/dev")" = "0 9767" ]
for t in a b; do x --since=scan:"$T/tstate" --target=$t "$T/dev" | m "$T/t-$t" && cmp "$T/dev" "$T/t-$t" || fail "target $t"; done
status 2 "$BIN/dmextract" --since=scan:"$T/tstate" --target=a.lock "$T/dev"	# which target a has, too

# A snapshot is consistent, though the device is being written; it is dropped, also when the extract fails.
cat > "$T/snapper" << 'PROGRAM'
#!/bin/sh
case $1 in
take) cp "$2" "$2.snap" && echo "$2.snap" ;;
drop) rm "$3" ;;
esac
PROGRAM
chmod 755 "$T/snapper"
exec 7>> "$T/dev"
x --require-consistent --snapshot="$T/snapper" --since=scan:"$T/tstate" --target=a "$T/dev" | m "$T/t-a" || fail "--snapshot"
check "consistent" grep -q "^condition consistent" <("$BIN/dmmerge" --status "$T/t-a")
check "dropped" [ ! -e "$T/dev.snap" ]
cp "$T/dev" "$T/by-hand"
x --require-consistent --from="$T/by-hand" --since=scan:"$T/tstate" --target=a "$T/dev" > /dev/null || fail "--from"
status 1 "$BIN/dmextract" --snapshot=false --since=scan:"$T/tstate" --target=a "$T/dev"
exec 7>&-
status 1 "$BIN/dmextract" --from="$T/sparse" --since=scan:"$T/tstate" --target=a "$T/dev"

# JSON, and what is wrong.
x --json --since=image:"$T/base.ndz" "$T/dev" 2> "$T/json" > /dev/null
check "JSON of dmextract" json "$T/json" since=image
m --json "$T/im" < "$T/s7" > "$T/json" || fail "dmmerge --json"
check "JSON of dmmerge" json "$T/json" already_merged=true
status 1 "$BIN/dmmerge" "$T/missing" < "$T/s4"
check "nothing is known" grep -q "^condition unknown" <("$BIN/dmmerge" --status "$T/missing")
check "nothing is made" [ ! -e "$T/missing" ]
check "nothing is left" [ ! -e "$T/missing.dsync" ]
finish
