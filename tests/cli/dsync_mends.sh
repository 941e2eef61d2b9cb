#!/usr/bin/env bash
# dsync verify notes where the copy differs, and the next sync sends it; a copy that was removed; a source that has another size;
# and a source that is written while it is read, with each way to read one point in time that needs no device mapper.
[ -w /dev/shm ] && [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 200000 ] && export TMPDIR=/dev/shm
. "$(dirname "$0")/lib.sh"
export PATH="$BIN:$PATH"
d() { dsync --since=scan:"$T/state" "$@" "$T/dev" "$T/copy"; }
finds() {	# SECTORS: what verify says
	d verify > "$T/found" 2> "$T/stderr"; check "verify finds $1" [ $? = 4 -a "$(tr '\n' ' ' < "$T/found")" = "$1 " ]
}
sent() { d once --json > "$T/json" 2> "$T/stderr" || fail "once: $(cat "$T/stderr")"; check "sent: $*" json "$T/json" "$@"; }
head -c 9000000 /dev/urandom > "$T/dev"
check "init" quietly d init

echo "== what differs is noted, and sent"
spoil_byte "$T/copy" 3050000
finds "4096 2048"
check "it says what becomes of it" grep -q "differs in these sectors, which the next sync sends" "$T/stderr"
check "it is noted" grep -qx "4096 2048" "$T/state.differs"
spoil_byte "$T/copy" 5050000
finds "4096 2048 8192 2048"
check "a stream that is lost" quietly dmextract --since=scan:"$T/state" "$T/dev"
d once --dmmerge=false > "$T/quiet" 2>&1 && fail "nobody was there, and success"
check "what was lost stays noted" grep -qx "8192 2048" "$T/state.differs"
d once > "$T/quiet" 2> "$T/stderr" || fail "once"
check "it is said" grep -q "2.1 MB are sent in which the copy had differed" "$T/stderr"
check "equal" cmp "$T/dev" "$T/copy"
check "nothing is noted any more" [ ! -e "$T/state.differs" ]
sent changed_bytes=0 differed_bytes=0
check "verify" quietly d verify

echo "== a stream of before the comparison arrives after it"
dd if=/dev/urandom of="$T/dev" bs=4096 seek=100 count=1 conv=notrunc status=none
dmextract -q --since=scan:"$T/state" "$T/dev" > "$T/early" || fail "dmextract"
spoil_byte "$T/copy" 3050000
finds "4096 2048"
check "merged late" quietly dmmerge "$T/copy" < "$T/early"
check "once" quietly d once
check "equal" cmp "$T/dev" "$T/copy"
check "verify" quietly d verify

echo "== where it was looked for what was merged, all of the copy is replaced"
spoil_byte "$T/copy" 8999999
finds "16384 1195"
status 1 dmmerge "$T/copy" < "$T/early"
sent full=true
check "equal" cmp "$T/dev" "$T/copy"
spoil_byte "$T/copy" 8999999
status 1 d once
check "nobody has compared them: refused, with what to do" grep -q "does not hold what was merged into it.*send a full copy" "$T/stderr"
check "verify" [ "$(d verify 2> "$T/quiet")" = "16384 1195" ]
echo "nonsense" > "$T/state.differs"
sent full=true
check "equal, after a list that was damaged" cmp "$T/dev" "$T/copy"
check "which is gone" [ ! -e "$T/state.differs" ]
spoil_byte "$T/copy" 3050000; echo "nonsense" > "$T/state.differs"
finds "4096 2048"
sent full=true 'warning~everything counts as changed: .*state.differs: line 1'
check "equal" cmp "$T/dev" "$T/copy"

echo "== what changes meanwhile is no difference"
dd if=/dev/urandom of="$T/dev" bs=4096 seek=300 count=1 conv=notrunc status=none
check "verify" quietly d verify
check "nothing is noted" [ ! -e "$T/state.differs" ]
check "once" quietly d once

echo "== two targets: each has its own"
two() { dsync --since=scan:"$T/two" --target="$1" "${@:2}" "$T/dev" "$T/copy-$1"; }
for t in berlin paris; do check "init" quietly two $t init; done
spoil_byte "$T/copy-paris" 3050000
for t in berlin paris; do two $t verify > "$T/found-$t" 2> "$T/quiet"; done
check "paris alone" [ ! -s "$T/found-berlin" -a "$(cat "$T/found-paris")" = "4096 2048" ]
for t in berlin paris; do two $t once --json > "$T/$t.json" || fail "once"; done
check "what is sent" json "$T/berlin.json" changed_bytes=0
check "what is sent" json "$T/paris.json" changed_bytes=1048576
check "equal" cmp "$T/dev" "$T/copy-paris"

echo "== without a source of change nothing can be noted"
spoil_byte "$T/copy" 3050000
dsync verify "$T/dev" "$T/copy" > "$T/found" 2> "$T/stderr"; check "a difference" [ $? = 4 ]
check "which nobody promises to send" grep -q "free space that init made zeros: the copy differs in these sectors$" "$T/stderr"
check "init" quietly d init

echo "== the copy is removed"
rm "$T/copy"
status 1 d verify; check "verify: $(cat "$T/stderr")" grep -q "copy: .*No such file" "$T/stderr"
status 1 d once; check "once: $(cat "$T/stderr")" grep -q "copy: does not exist, and only a full copy makes a new file" "$T/stderr"
check "no file is made" [ ! -e "$T/copy" ]
check "init" quietly d init
check "equal" cmp "$T/dev" "$T/copy"
rm "$T/copy" "$T/copy.dsync"
sent full=true
check "removed with its journal: made again" cmp "$T/dev" "$T/copy"

echo "== the source grows and shrinks"
truncate -s 9500000 "$T/dev"
sent full=true "warning~dev had 9000000 bytes, and has 9500000 now"
check "equal" cmp "$T/dev" "$T/copy"
truncate -s 4000000 "$T/dev"
spoil_byte "$T/copy" 3050000
sent full=true "warning~dev had 9500000 bytes, and has 4000000 now"
check "equal" cmp "$T/dev" "$T/copy"
truncate -s 3500000 "$T/dev"
status 1 d verify; check "verify of a source that shrank" grep -q "dev has 3500000 bytes now, and the copy is of 4000000; sync it first" "$T/stderr"
truncate -s 4000000 "$T/dev"

echo "== the source is written while it is read"
truncate -s 2500000 "$T/dev"
# The last block is written when the first MiB has been sent.
writes_late() { dd if=/dev/urandom of="$T/dev" bs=4096 seek=600 count=1 conv=notrunc status=none; }
while_sent() {	# OPTION...
	d init --json --bwlimit=2M "$@" > "$T/json" 2> "$T/stderr" & local pid=$!
	begins $pid eval '[ "$(dmmerge --status "$T/copy" | head -n 1)" != "condition consistent" ] || [ -n "$(find "$T/copy.dsync" -size +600k)" ]'
	cp "$T/dev" "$T/was"; writes_late; wait $pid
}
check "while_sent" while_sent
check "fuzzy" json "$T/json" fuzzy=true
d status > "$T/stdout"; check "which the status says" grep -q "^condition fuzzy" "$T/stdout"
sent fuzzy=false changed_bytes=4096
check "the next one has what was written: consistent" cmp "$T/dev" "$T/copy"
while_sent --require-consistent
check "or it is refused: $(cat "$T/stderr")" grep -q "dev was written while it was read: the blocks may be of different points in time; read a snapshot instead" "$T/stderr" "$T/json"
check "and the copy is as it was" cmp "$T/was" "$T/copy"
cat > "$T/snap" << 'SNAP'
#!/bin/sh
case $1 in take) cp "$2" "$2.taken" && echo "$2.taken" ;; drop) rm "$3" ;; esac
SNAP
chmod 755 "$T/snap"
check "from a snapshot" while_sent --snapshot="$T/snap" --require-consistent
check "consistent" json "$T/json" fuzzy=false
check "it is what the source was then" cmp "$T/was" "$T/copy"
check "the snapshot is gone" [ ! -e "$T/dev.taken" ]
sent changed_bytes=4096
check "and what was written since comes next" cmp "$T/dev" "$T/copy"
finish
