#!/usr/bin/env bash
# Bash completion: every option that --help tells of is offered, commands once, else files.
. "$(dirname "$0")/lib.sh"
all="imagezip imageunzip growfs imagedump imagehash imagedelta imagerezip imagekey frisbeed frisbee emustore dolly mfrisbeed streamdisk streamswitch dmextract dmmerge dsync controllerd swapin"
# shellcheck disable=SC2086
"$TOP/scripts/completion" "$BIN" $all > "$T/completion" || fail "scripts/completion"
# shellcheck disable=SC1091
. "$T/completion"
offers() {	# WORD... (the last one is being typed): what is offered
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); "_$1"; printf '%s\n' "${COMPREPLY[@]}"
}
for p in $all; do
	n=0
	while read -r o; do
		n=$((n + 1))
		offers "$p" "$o" | grep -qx -- "$o=\?" || fail "$p does not offer $o"
	done < <("$BIN/$p" --help | grep -oE '^  (-., |    )--[a-z0-9-]+' | grep -oE -- '--[a-z0-9-]+')
	check "$p: $n options" [ "$n" -gt 3 ]
done
check "commands" [ "$(offers emustore ve)" = verify ]
check "one command is enough" [ -z "$(offers emustore put ve)" ]
check "an option with a value ends in =" [ "$(offers emustore --sto)" = "--store=" ]
# Files are bash's own affair: nothing is offered, so that it offers them.
for p in $all; do
	for word in "" a i "${p:0:1}" "$p" /de; do
		"$BIN/$p" --help | grep -q "^  ${word:-[a-z]}[a-z]* .*  " && continue	# begins a command
		check "$p $word: files" [ -z "$(offers "$p" "$word")" ]
	done
	check "$p, the second operand: files" [ -z "$(offers "$p" put "${p:0:1}")" ]
done
finish
