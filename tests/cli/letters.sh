#!/usr/bin/env bash
# The letters of all options are those of tests/cli/letters.txt; one letter has one meaning, but for what Emulab's programs say.
. "$(dirname "$0")/lib.sh"
table=$TOP/tests/cli/letters.txt
# These read and write neither disks nor images: they are told where those are.
others="controllerd imagekey mfrisbeed swapin"
# LETTER NAME PROGRAM, a line each.
for p in "$BIN"/*; do
	"$p" --help | sed -nE "s/^  -(.), --([a-z0-9-]+).*/\1 \2 ${p##*/}/p; s/^  -(.)( .*|)/\1 - ${p##*/}/p"
done | LC_ALL=C sort > "$T/told"
check "programs have letters" [ "$(wc -l < "$T/told")" -gt 150 ]
awk '!/^#/ && NF { for (i = 3; i <= NF; i++) { sub(/\*$/, "", $i); print $1, $2, $i } }' "$table" | LC_ALL=C sort > "$T/listed"
check "they are those of the table" diff "$T/listed" "$T/told"
# A meaning that no program of Emulab's has, and that is not the only one of its letter.
wrong() {
	awk -v others=" $others " '
		/^#/ || !NF { next }
		{ ours = theirs = 0
		  for (i = 3; i <= NF; i++) {
			if ($i ~ /\*$/) theirs = 1
			else if (!index(others, " " $i " ")) ours = 1
		  }
		  if (ours || theirs) n[$1]++
		  if (ours && !theirs) own[$1] = own[$1] " " $2 }
		END { for (l in own) if (n[l] > 1) print "-" l ":" own[l] }' "$@"
}
check "no letter has a meaning of ours beside another one" [ -z "$(wrong "$table" | tee /dev/stderr)" ]
check "it would be found" [ "$(printf 'n\tdry-run\tgrowfs\n' | wrong "$table" -)" = "-n: dry-run" ]
finish
