#!/usr/bin/env bash
# A thousand nodes at once: what the controller needs for their reports, and whether the page stays smooth.
# The nodes are simulated: each has an address of its own, and reports; a program in mfrisbeed's place says
# once a second how far each of them is, in the form of frisbeed's statistics.
. "$(dirname "$0")/../cli/lib.sh"
requires chromium chromedriver ip
/usr/bin/python3 -c 'import selenium' 2> /dev/null || skip "needs python3-selenium"
own_network "$@"
[ -n "${NETWORK_INSIDE:-}" ] || skip "needs root, for a network of its own"
export NET=$T/netboot PICTURES=${PICTURES:-$TOP/build/web} NODES=${NODES:-1000} T
mkdir -p "$NET/boot/orders" "$NET/images"
head -c 1M /dev/urandom > "$T/disk"
"$BIN/imagezip" -q -r "$T/disk" "$NET/images/lab.ndz" || fail imagezip
for ((i = 1; i <= NODES; i++)); do printf 'node node%04d 52:54:00:00:%02x:%02x\n' $i $((i / 256)) $((i % 256)); done > "$NET/nodes"
/usr/bin/python3 "$TOP/tests/web/many_master.py" & MASTER=$!
CLEANUP+=('kill $MASTER 2> /dev/null; wait $MASTER 2> /dev/null')
soon listens_at "$T/master.sock" || fail "nobody is there in place of mfrisbeed"
"$BIN/controllerd" -q -i 127.0.0.1 --power=/bin/true --patience=3600 --master="$T/master.sock" "$NET" > "$T/log" 2>&1 & CONTROLLER=$!
CLEANUP+=('kill $CONTROLLER 2> /dev/null; wait $CONTROLLER 2> /dev/null')
HOME=$T TMPDIR=$T PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$TOP/tests/web/many.py" $CONTROLLER || { bad=$((bad + 1)); tail -n 3 "$T/log"; }
finish
