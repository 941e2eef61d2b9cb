#!/usr/bin/env bash
# Nodes that are woken by wake-on-LAN, load with a group key, and are done when their system answers.
. "$(dirname "$0")/controller_lib.sh"
controller_lab 2 2
"$BIN/imagekey" --group-key "$T/lab.group" || fail "imagekey"
for n in 1 2; do mkdir "$T/machines/node$n/keys"; done
cp "$T/lab.group" "$T/machines/node1/keys/"; cp "$T/lab.group" "$T/machines/node2/keys/"

# A network card that waits for its packet, of these bytes and no others; then the machine starts from the
# network, and from its disk, whose system listens on port 2222.
cat > "$T/card.py" << 'PY'
import os, socket, subprocess, sys
mac, machine, folder, orders, disk = sys.argv[1:]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9))
open(folder + "/waits", "w").close()
raw = bytes.fromhex(mac.replace(":", ""))
while True:
    packet, sender = s.recvfrom(2000)
    with open(folder + "/heard", "a") as f:
        f.write(f"{sender[0]} {packet.hex()}\n")
    if packet == b"\xff" * 6 + raw * 16:
        break
if subprocess.call([machine, orders, mac, disk, folder]) == 0:
    os.mkfifo(folder + "/starts")
    open(folder + "/starts").read()
    system = socket.create_server(("", 2222))
    while not os.path.exists(folder + "/off"):
        system.accept()[0].close()
PY
for n in 1 2; do
	ip netns exec "$LAB$n" env BIN="$BIN" "$PYTHON" -E -S "$T/card.py" "$(mac_of $n)" "$TOP/tests/helpers/machine" \
	    "$T/machines/node$n" "$NET/boot/orders" "$T/machines/node$n/disk" & PIDS+=($!)
done
printf '%q ' ip netns exec "${LAB}s" "$BIN/controllerd" -i 10.9.0.1 -W 60M --up=2222 --group-key="$T/lab.group" "$NET" > "$T/controller.command"
controller_start
for n in 1 2; do soon [ -e "$T/machines/node$n/waits" ] || fail "the card of node$n does not wait"; done

timeout 240 ip netns exec "${LAB}s" "$BIN/swapin" --token-file="$STATE/token" --json node2 lab.ndz \
    > "$T/out" 2> "$T/err" & S=$!
has_ended() { [ -z "$(servers)" ]; }
# frisbeed ends before the session does.
begins $S [ -p "$T/machines/node2/starts" ] && begins $S has_ended
timeout 240 bash -c 'echo > "$0"' "$T/machines/node2/starts"
wait $S; rc=$?
check "a node is woken, loaded and answers" [ $rc = 0 ]
check "it has the image" cmp -s "$T/disk" "$T/machines/node2/disk"
check "its order names the key" grep -q 'frisbee.group-key=lab.group' "$T/machines/node2/proc/cmdline"
check "it was done when its system answered" json "$T/out" 'phases.booting?' 'phases.loading?' 'phases.rebooting?'
check "what was served is not kept" soon eval '! ls "$STATE"/session-* 2> /dev/null'
magic=$(printf 'ffffffffffff'; for ((i = 0; i < 16; i++)); do printf 525400000002; done)
check "the packet has six times 0xff and sixteen times the address" [ "$(cat "$T/machines/node2/heard")" = "10.9.0.1 $magic" ]
check "the other node hears it, and is not meant" eval '[ "$(cat "$T/machines/node1/heard")" = "10.9.0.1 $magic" ] && [ ! -e "$T/machines/node1/disk" ]'

echo "== a node without the key does not load"
rm "$T/machines/node1/keys/lab.group"
timeout 240 ip netns exec "${LAB}s" "$BIN/swapin" --token-file="$STATE/token" --tries=1 node1 lab.ndz > "$T/out" 2> "$T/err"; rc=$?
check "it fails, and says why" eval '[ $rc = 1 ] && grep -q "node1: failed while .*there is no key lab.group" "$T/out"'
touch "$T/machines/node2/off"; on s bash -c 'exec 3<> /dev/tcp/10.9.0.12/2222' 2> /dev/null
kill "$CONTROLLER"; wait "$CONTROLLER"
[ "$bad" = 0 ] || { cat "$T/controller.log" "$T/out" "$T"/machines/*/console; }
finish
