#!/usr/bin/env bash
# A streaming disk whose source is gone: what is there is served, reads of the rest wait, say so, and are answered when the
# source is back; they fail after a timeout alone.  16 requests are in flight.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/nbd_lib.sh"
. "$(dirname "$0")/stream_lib.sh"
requires sfdisk mke2fs
a_disk sda
export DISK_NBD_SECONDS=1
source_runs() {
	rm -f "$T/source" "$T/source.pid"
	nbdkit -f -r -U "$T/source" -P "$T/source.pid" file "$T/sda.ndz" 2> "$T/source.log" & source=$!
	CLEANUP+=("kill $source 2> /dev/null; wait $source 2> /dev/null")
	begins $source [ -s "$T/source.pid" ] || fail "no source: $(cat "$T/source.log")"
}
source_ends() { builtin kill -9 $source; wait $source 2> /dev/null; }
IMAGE="nbd+unix:///?socket=$T/source"
cat > "$T/wait.py" << 'PY'
# 16 reads of what is absent, on one connection: they wait.  One of what is present is answered meanwhile.
import os, subprocess, sys, time
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client, status
sock, stat, model = sys.argv[1], sys.argv[2], open(sys.argv[3], "rb").read()
nbd = Client(sock)
# What is not 0xa5 is the image's; what lies far apart is not decoded together.
stored = [at for at in range(5 << 20, len(model), 96 << 10) if model[at:at + 4096] != b"\xa5" * 4096]
here, places = stored[0], stored[-16:]
assert len(stored) > 20, stored
assert nbd.read(here, 4096) == model[here:here + 4096]
subprocess.run(["kill", "-9", sys.argv[4]], check=True)
nbd.ask(places[0], 4096)
until = time.monotonic() + 150
while not status(stat)["waiting_for_source"]:
    assert time.monotonic() < until, "no read waits"
    time.sleep(0.02)
for at in places[1:]:
    nbd.ask(at, 4096)
nbd.ask(here, 4096)
at, n, data = nbd.answer()
assert (at, data) == (here, model[here:here + n]), f"{at} was answered"
print("16 wait, and what is present is read")
open(sys.argv[5], "w").write("x")
for _ in places:
    at, n, data = nbd.answer()
    assert data == model[at:at + n], at
print("all were answered")
PY
source_runs; new_target memory
IMAGE_AT=$IMAGE serve memory fill=no cache=1M status="$T/status"
python3 "$T/wait.py" "$T/sock" "$T/status" "$T/model" $source "$T/now" > "$T/waited" 2>&1 & reader=$!
begins $reader [ -e "$T/now" ]
wait $source 2> /dev/null; source_runs
wait $reader; got=$?
check "reads wait for the source: $(tail -n 1 "$T/waited")" [ $got = 0 ]
for words in "the source is asked again until it answers" "the source answers again after"; do check "said: $words" grep -q "$words" "$T/nbd.log"; done
stop

new_target memory; IMAGE_AT=$IMAGE serve memory fill=no cache=1M timeout=1200
source_ends
many=$(python3 - "$T/sock" "$T/model" << 'PY'
# 40 reads of what is absent fail, for one reason.
import os, sys
sys.path.insert(0, os.environ["TOP"] + "/tests/helpers")
from nbd_stream import Client
nbd, model, failed = Client(sys.argv[1]), open(sys.argv[2], "rb").read(), 0
places = [at for at in range(5 << 20, len(model), 64 << 10) if model[at:at + 4096] != b"\xa5" * 4096][:40]
for at in places: nbd.ask(at, 4096)
for at in places: failed += nbd.answer()[2] is None
print(failed)
PY
)
check "$many reads fail" [ "$many" -ge 20 ]
check "and why is said in one sentence: $(grep -c "what is absent cannot be read" "$T/nbd.log")" \
    [ "$(grep "what is absent cannot be read" "$T/nbd.log" | sort | uniq -c | awk '$1 > 1' | wc -l)" = 0 ]
check "in all: $(wc -l < "$T/nbd.log") lines" [ "$(grep -vc "sector table is in memory" "$T/nbd.log")" -le 4 ]
if nbdcopy "nbd+unix:///?socket=$T/sock" "$T/copied" 2> "$T/stderr"; then fail "a read does not fail"; fi
check "a read fails after the timeout: $(head -n 1 "$T/stderr")" grep -qi "input/output error" "$T/stderr"
check "and was tried before" grep -q "the source is asked again, for 1.2 s" "$T/nbd.log"
stop
finish
