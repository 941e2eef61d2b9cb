#!/usr/bin/env bash
# frisbeed serves signed and encrypted images unread; frisbee proves them.
. "$(dirname "$0")/lib.sh"
requires cmp
lab_up 3
head -c 3000000 /dev/urandom > "$T/disk"; truncate -s 3072000 "$T/disk"
"$BIN/imagekey" -q --sign-key "$T/a" --encrypt-key "$T/e"
"$BIN/imagekey" -q --sign-key "$T/b" --encrypt-key "$T/f"
"$BIN/imagezip" -q -r --sign "$T/a.key" --encrypt "$T/e" "$T/disk" "$T/disk.ndz" || fail imagezip
# refuses N WORDS OPTIONS...: client N ends without success, and leaves no file.
refuses() {
	local i=$1 words=$2; shift 2
	load "$i" "$@" "$T/d$i"
	if wait "${LOADS[$i]}"; then fail "client $i took it"
	else check "client $i says: $words" grep -q "$words" "$T/client$i.log"; fi
	check "client $i left nothing" [ ! -e "$T/d$i" ]
}
serve "$T/disk.ndz"
load 1 --decrypt "$T/e" --verify-key "$T/a.pub" "$T/d1"
loaded 1; check "client 1 has the disk" cmp "$T/disk" "$T/d1"
refuses 2 "signed with another key" --decrypt "$T/e" --verify-key "$T/b.pub"
refuses 3 "encrypted with another key" --decrypt "$T/f" --verify-key "$T/a.pub"
refuses 2 "is encrypted; give its key with --decrypt" --verify-key "$T/a.pub"
refuses 3 "is encrypted; give its key with --decrypt"
load 1 -N "$T/copy"; loaded 1; check "-N copies it as it is" cmp "$T/disk.ndz" "$T/copy"
kill $SERVER; wait $SERVER

echo "== an unsigned one"
"$BIN/imagezip" -q -r "$T/disk" "$T/disk.ndz" || fail imagezip
serve "$T/disk.ndz"
refuses 2 "is not signed" --verify-key "$T/a.pub"
refuses 3 "is not encrypted" --decrypt "$T/e"
finish
