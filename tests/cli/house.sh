#!/usr/bin/env bash
# The rules of the house: who may include whom, names, what libraries never do.  That every
# header compiles alone, make hdr-check shows.
. "$(dirname "$0")/lib.sh"
requires python3 nm
instrumented && skip "what is asked of objects is asked of the plain build"
"$TOP/scripts/house" "$B" > "$T/house"; rc=$?
sed -n '1,/^largest/p' "$T/house"
grep -q '^ok: ' "$T/house" || fail "scripts/house: exit $rc: $(tail -n 3 "$T/house")"
while IFS= read -r line; do
	case $line in
	"ok: "*) check "${line#ok: }" true ;;
	"FAIL: "*) check "${line#FAIL: }" false ;;
	"      "*) echo "$line" ;;
	esac
done < "$T/house"
check "all of them" [ $rc = 0 ]
finish
