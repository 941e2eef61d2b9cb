#!/usr/bin/env bash
# dolly plan: what it prints for people and programs, its picture, and what it refuses.
. "$(dirname "$0")/lib.sh"
requires python3
net=$TOP/docs/examples/patagonia.net

"$BIN/dolly" plan --image-size 2G "$net" > "$T/out" || fail "plan"
check "the best is named" grep -q '^chain .*12.6 MB/s .*172 s .*server: processor  (best over TCP)' "$T/out"
"$BIN/dolly" plan --json --nodes 5 --compression 2 "$net" > "$T/json" || fail "--json"
of() { echo "predictions[topology=$1]"; }
check "JSON says the same" json "$T/json" server=server "$(of multicast)?" "$(of chain)?" "$(of tree=2)?" "$(of star)?" \
    "$(of chain).bytes_per_s>3800000" "$(of chain).bytes_per_s<4000000" "$(of chain).best=true" "$(of chain).clients=5" "$(of chain).seconds!?"
check "--svg" quietly "$BIN/dolly" plan --svg "$T/plan.svg" "$TOP/docs/examples/two-switches.net"
check "the picture is XML" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$T/plan.svg"
check "a picture is replaced" quietly "$BIN/dolly" plan --svg "$T/plan.svg" "$net"
cp "$net" "$T/other"
status 1 "$BIN/dolly" plan --svg "$T/other" "$net"; check "another file is not" cmp "$net" "$T/other"
check "but with --force" quietly "$BIN/dolly" plan --force --svg "$T/other" "$net"

status 1 "$BIN/dolly" plan "$T/none"; check "a file that is not there" grep -q "$T/none: No such file" "$T/stderr"
status 2 "$BIN/dolly" plan --compression 0.5 "$net"
head -c 5000 "$BIN/dolly" > "$T/program"
status 3 "$BIN/dolly" plan "$T/program"; check "no description" grep -q "line 1" "$T/stderr"
echo "hosts a" > "$T/net"
status 3 "$BIN/dolly" plan "$T/net"; check "the line is said" grep -q "line 1: \"hosts\" is not a statement" "$T/stderr"

# Ten thousand machines in racks of fifty.
{ echo "switch top,rack[1-200]"; echo "host server"; echo "link rack[1-200] top rate=10Gbit"; echo "link server top rate=10Gbit"
  for r in $(seq 200); do echo "host n$r-[1-50]"; echo "link n$r-[1-50] rack$r rate=1Gbit"; done; echo "server server"; } > "$T/large"
"$BIN/dolly" plan "$T/large" > "$T/out" || fail "ten thousand machines"
check "the chain crosses each link once" grep -q '^chain  *125.0 MB/s' "$T/out"
finish
