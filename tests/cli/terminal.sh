#!/usr/bin/env bash
# One look of all that runs long: on terminals of 80 and of 120 columns, without colour, and without a terminal, what
# is seen is what tests/cli/terminal.txt keeps (tests/helpers/terminal.py).
. "$(dirname "$0")/lib.sh"
own_network "$@"
requires python3
take random:4M disk disk.ndz
cp "$T/disk" "$T/other"; spoil_byte "$T/other" 1000000
WITHOUT=
command -v mke2fs > /dev/null || WITHOUT+=" grow"
command -v nbdkit > /dev/null && ! instrumented || WITHOUT+=" stream"	# nbdkit is not instrumented, and cannot run a plugin that is
[ -n "${NETWORK_INSIDE:-}" ] || WITHOUT+=" session"
export WITHOUT PORT=$((20000 + OWN_NUMBER % 12000))
[ -z "$WITHOUT" ] || echo "left out here:$WITHOUT"
python3 "$TOP/tests/helpers/terminal.py" "$BIN" "$T" "$TOP/tests/cli/terminal.txt" ${PARTS:-} || fail "what is seen is not what is kept"
finish
