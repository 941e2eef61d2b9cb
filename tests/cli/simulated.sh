#!/usr/bin/env bash
# The simulator's tables in the documents are what the code gives: one row of each is made
# anew, another one with each commit (bench/simulated).
. "$(dirname "$0")/lib.sh"
requires python3
instrumented && skip "instrumented, the simulator's cases are smaller"
export SIM=${B:-$TOP/build/plain}/tests/sim/sim
[ -x "$SIM" ] || fail "no $SIM"
has_parity() {
	"$SIM" --case x-few-10 --set chunks=4 --json | grep -q '"parity": *0\.0*[1-9]'
}
has_parity || skip "without ISA-L there is no parity, with which the tables were made"

commit=$(git -C "$TOP" rev-list --count HEAD 2> /dev/null || echo 0)
check "rows number $commit of the tables" \
    "$PYTHON" "$TOP/bench/simulated" --check "$commit"

echo "== a figure that is another one is noticed"
mkdir "$T/tree"
cp -r "$TOP/docs" "$T/tree"
mkdir "$T/tree/bench"; cp "$TOP"/bench/*.py "$TOP/bench/simulated" "$T/tree/bench"
other() { status 1 "$PYTHON" "$T/tree/bench/simulated" --check "$@"; }
says() { grep -qF "$1" "$T/stderr"; }
in_neighbours='/bench.simulated neighbours/,/end -->/'
sed -i "$in_neighbours"'s/\([0-9]\) |$/9\1 |/' "$T/tree/docs/simulator.md"
other 0 neighbours
check "document, row and figures are named" \
    says 'docs/simulator.md: table neighbours, row "`bad-port`", "sent": there is '
sed -i "$in_neighbours"'{/`bad-loss`/d}' "$T/tree/docs/simulator.md"
other 0 neighbours
check "a row that is missing" says 'the table neighbours has other heads or rows'
sed -i 's/it sends [0-9.]* times/it sends 9.9 times/' "$T/tree/docs/protocol-rules.md"
other 0 boots
check "a sentence that repeats a figure" says 'docs/protocol-rules.md says 9.9'
finish
