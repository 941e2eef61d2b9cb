#!/usr/bin/env bash
# The power fails at any moment of a merge or an extract, on both files of the copy or on those of the source: of what was not
# flushed nothing, all, or some by lot is on the disk.  What is then said of the copy is true, the next run makes it right, and
# what had ended has lasted.	LOTS="0 2 3": as power_cut.py says (0 2)
. "$(dirname "$0")/power_lib.sh"
LOTS=${LOTS:-0 2}
x() { "$BIN/dmextract" -q --since=scan:"$1/state" "${@:2}" "$T/dev"; }
m() { "$BIN/dmmerge" -q $how "$1/copy"; }
head -c 300000 /dev/urandom > "$T/old"; cp "$T/old" "$T/dev"
mkdir "$T/source" "$T/none" "$T/copied"
x "$T/source" > "$T/first" && x "$T/source" --done && m "$T/copied" < "$T/first" || fail "the first copy"
for at in 3 40 41 70; do dd if=/dev/urandom of="$T/dev" bs=4096 seek=$at count=2 conv=notrunc status=none; done
cp -r "$T/source" "$T/sent"
x "$T/sent" > "$T/second" || fail "extract"

# --- a merge of $stream, after which the copy is as $becomes ---
is() { cmp -s "$T/disk/copy" "$T/$1"; }
merged() {
	local says
	says=$("$BIN/dmmerge" --status "$T/disk/copy" 2> /dev/null | sed -n 's/^condition //p')
	case $says in
	consistent) is old || is "$becomes" || { echo "called consistent, and is not"; return 1; } ;;
	interrupted | incomplete | unknown) ;;
	*) echo "called $says"; return 1 ;;
	esac
	[ $ended = no ] || { [ "$says" = consistent ] && is "$becomes"; } || { echo "it had ended, and is called $says"; return 1; }
	m "$T/disk" < "$T/$stream" 2> "$T/stderr" || { echo "the next run: $(cat "$T/stderr")"; return 1; }
	is "$becomes" || { echo "the next run says that it is right, and it is not"; return 1; }
}
stream=first becomes=old; LOTS="0 6" cut "$T/none" merged "$BIN/dmmerge" -q "$T/work/copy" < "$T/first"
for how in "" --in-place; do
	stream=second becomes=dev; cut "$T/copied" merged "$BIN/dmmerge" -q $how "$T/work/copy" < "$T/second"
done
how=

# --- an extract: if its stream has arrived, the next one leads on from it ---
extract() { x "$T/work" > "$T/work/stream"; }
followed() {	# N
	rm -rf "$T/all" "$T/target"; cp -r "$T/copied" "$T/target"
	power_cut "$base" "$T/record" "$T/all" "$1" 1	# what was sent by then
	[ ! -e "$T/all/stream" ] || m "$T/target" < "$T/all/stream" 2> "$T/stderr" || [ $ended = no ] || { echo "$(cat "$T/stderr")"; return 1; }
	{ x "$T/disk" > "$T/next" && m "$T/target" < "$T/next"; } 2> "$T/stderr" || { echo "the next one: $(cat "$T/stderr")"; return 1; }
	cmp -s "$T/target/copy" "$T/dev" || { echo "the copy is wrong after the next one"; return 1; }
}
LOTS=0 cut "$T/source" followed extract
# The digests of a state have their name on the disk before the states name it.
ordered() {
	LC_ALL=C awk -v top="$T/work" '/^rename .*[/]state[.][0-9a-f]+$/ { named = 1; seen = 1 }
		/^sync / && $4 == top { named = 0 }
		/^rename .*[/]state$/ && named { exit 1 }
		END { exit !seen || named }' "$T/record"
}
check "the digests' name is flushed first" ordered

# --- it is confirmed ---
confirm() { x "$T/work" --done; }
confirmed() {
	rm -rf "$T/target"; cp -r "$T/copied" "$T/target"; m "$T/target" < "$T/second"
	[ $ended = no ] || x "$T/disk" --status | grep -q "^base $id" || { echo "it is not confirmed: $(x "$T/disk" --status)"; return 1; }
	{ x "$T/disk" > "$T/next" && m "$T/target" < "$T/next"; } 2> "$T/stderr" || { echo "the next one: $(cat "$T/stderr")"; return 1; }
	cmp -s "$T/target/copy" "$T/dev" || { echo "the copy is wrong after the next one"; return 1; }
}
id=$(x "$T/sent" --status | sed -n 's/^pending //p')
cut "$T/sent" confirmed confirm

# --- dsync verify has found a difference: the next sync sends it, and is refused before that ---
v() { PATH=$BIN:$PATH "$BIN/dsync" --since=scan:"$1/state" "${@:2}"; }
finds() { v "$T/work" verify "$T/dev" "$T/wrong/copy" > "$T/found"; [ $? = 4 ]; }
mended() {
	rm -rf "$T/target"; cp -r "$T/wrong" "$T/target"
	v "$T/disk" once "$T/dev" "$T/target/copy" > "$T/next" 2> "$T/stderr" ||
	    { [ $ended = no ] && grep -q "does not hold what was merged" "$T/stderr"; } || { echo "the next one: $(cat "$T/stderr")"; return 1; }
	[ $ended = no ] || cmp -s "$T/target/copy" "$T/dev" || { echo "what was found is not sent"; return 1; }
}
mkdir "$T/noting" "$T/wrong"
x "$T/noting" > "$T/whole" && m "$T/wrong" < "$T/whole" && x "$T/noting" --done || fail "another copy"
spoil_byte "$T/wrong/copy" 150000
cut "$T/noting" mended finds
finish
