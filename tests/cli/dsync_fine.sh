#!/usr/bin/env bash
# dsync --fine: of the blocks of 64 KiB that a dirty bitmap of QEMU names, only the pages that differ are sent.  Without it, dsync
# decides that by itself.
[ -w /dev/shm ] && [ "$(df --output=avail /dev/shm | tail -n 1)" -gt 200000 ] && export TMPDIR=/dev/shm
. "$(dirname "$0")/lib.sh"
requires qemu-img qemu-io qemu-nbd
export PATH="$BIN:$PATH"
URI="nbd+unix:///?socket=$T/s"
d() { dsync --state="$T/state" --since=nbd:first "$@" "$URI" "$T/copy"; }
serve_no_more() {
	local pid=
	[ ! -s "$T/pid" ] || { read -r pid < "$T/pid"; kill "$pid"; soon has_ended "$pid"; rm -f "$T/pid"; }
}
CLEANUP+=("serve_no_more 2> /dev/null")
qemu-img create -q -f qcow2 "$T/disk" 8M && quietly qemu-img bitmap --add -g 64k "$T/disk" first || fail "qemu-img"
quietly qemu-nbd --fork --pid-file="$T/pid" -t -e 8 -k "$T/s" -f qcow2 -B first "$T/disk" || fail "qemu-nbd"
write() { quietly qemu-io -f raw -c "write -q -P $1 $2 $3" -c flush "$URI" || fail "qemu-io"; }
equal() { check "equal" eval 'qemu-img convert -f raw -O raw "$URI" "$T/raw" && cmp "$T/raw" "$T/copy"'; }
sent() { d once --fine --json > "$T/json" 2> "$T/stderr" || fail "once: $(cat "$T/stderr")"; check "sent: $*" json "$T/json" "$@"; }

write 1 1M 2M
d once --fine --json > "$T/json" || fail "the first copy"
check "the first copy" json "$T/json" full=true
equal
write 2 1100k 4k
# The bitmap was not made anew, so it names all that was written since it was made.
sent named_bytes=2097152 changed_bytes=4096 full=false
equal
write 3 1200k 8k; write 1 1300k 4k
sent named_bytes=2097152 changed_bytes=8192
equal
sent changed_bytes=0
check "verify" quietly d verify

echo "== what differs in the copy is sent, though the source has not changed"
spoil_byte "$T/copy" 1300000
check "with --no-fine, verify does not compare what is named" quietly d verify --no-fine
d verify --fine > "$T/found" 2> "$T/quiet"; check "with --fine it does" [ "$(cat "$T/found")" = "2048 2048" ]
sent changed_bytes=1048576 differed_bytes=1048576
equal
d once --no-fine --json > "$T/json" || fail "with --no-fine"
check "with --no-fine all that is named is sent" json "$T/json" changed_bytes=2097152 digests_bytes=0
sent changed_bytes=2097152
sent changed_bytes=0
spoil_byte "$T/copy" 5000000
d verify --no-fine > "$T/found" 2> "$T/quiet"; check "verify" [ "$(cat "$T/found")" = "8192 2048" ]
sent named_bytes=2097152 changed_bytes=1048576 differed_bytes=1048576
equal
sent changed_bytes=0

echo "== a stream that does not arrive, and one that arrives and is not heard of"
write 4 1400k 4k
status 1 d once --fine --dmmerge=false
d once --fine --dmmerge-options=--nonsense > "$T/quiet" 2>&1 && fail "nonsense"
dmextract -q --fine --state="$T/state" --since=nbd:first "$URI" > "$T/lost" || fail "dmextract"
write 1 1400k 4k
sent changed_bytes=2097152
equal
write 4 1400k 4k
dmextract -q --fine --state="$T/state" --since=nbd:first "$URI" | dmmerge -q "$T/copy" || fail "by hand"
write 1 1400k 4k
sent changed_bytes=4096
equal

echo "== in place, a stream that is cut: what was written to the copy is not known, and all that is named is sent"
cat > "$T/cut" << CUT
#!/bin/sh
case "\$*" in *--status*|*--recover*) exec "$BIN/dmmerge" "\$@";; esac
head -c 1500000 | "$BIN/dmmerge" "\$@"
CUT
chmod 755 "$T/cut"
write 5 1M 2M
status 1 d once --fine --dmmerge="$T/cut" --dmmerge-options=--in-place
d status > "$T/stdout"; check "incomplete" grep -q "^condition incomplete" "$T/stdout"
write 1 1M 2M
sent changed_bytes=2097152 full=false
equal
write 6 1500k 4k
sent changed_bytes=4096
equal

echo "== by itself: where more than three of four pages differ in a sample of what is named, all of that is sent"
by_itself() { d once --json > "$T/json" 2> "$T/stderr" || fail "once: $(cat "$T/stderr")"; check "sent: $*" json "$T/json" "$@"; }
write 7 0 8M
by_itself changed_bytes=8388608 digests_bytes=65536
equal
write 8 0 512k
by_itself named_bytes=8388608 changed_bytes=524288
equal
write 9 0 5M
by_itself changed_bytes=5242880
write 10 1M 7M
by_itself changed_bytes=8388608
equal
by_itself changed_bytes=0
# Less than 4 MiB is compared without a sample.
d init --force 2> "$T/said"; check "what the digests cost is said once" grep -q "the digests of its pages take 65.5 kB" "$T/said"
write 11 0 1M; d once 2> "$T/said"; check "and not again" eval '! grep -q "digests" "$T/said"'
equal
# Digests that cannot be kept end no sync, unless they are asked for.
mkdir -p "$T/state.new/it"
write 12 0 64k
by_itself changed_bytes=8388608 digests_bytes=0
check "it is said: $(json "$T/json" warning)" json "$T/json" "warning~no digests of pages are kept"
equal
status 1 d once --fine
rmdir "$T/state.new/it" "$T/state.new"
write 13 0 64k
by_itself changed_bytes=8388608 digests_bytes=65536
by_itself changed_bytes=0
equal

echo "== two targets: each has digests of its own, of the state that it has"
t() { dsync --state="$T/states" --since=nbd:first --target="$1" once --fine --json "$URI" "$T/copy-$1" > "$T/json" 2> "$T/stderr" || fail "$1: $(cat "$T/stderr")"; }
t a; t b
write 14 2M 4k; t a; check "what a lacks" json "$T/json" changed_bytes=4096
write 15 3M 4k; t a; check "what a lacks now" json "$T/json" changed_bytes=4096
t b; check "what b lacks" json "$T/json" changed_bytes=8192
write 10 2M 4k; t b; check "what is written back is sent to b" json "$T/json" changed_bytes=4096
t a; check "and to a" json "$T/json" changed_bytes=4096
for c in a b; do check "$c is equal" eval 'qemu-img convert -f raw -O raw "$URI" "$T/raw" && cmp "$T/raw" "$T/copy-$c"'; done

echo "== what it is not for"
head -c 1000000 /dev/urandom > "$T/file"
status 2 dsync --since=scan:"$T/scan" --fine init "$T/file" "$T/filecopy"
check "scan" grep -q 'not for the source of change "scan", which compares contents itself' "$T/stderr"
printf '0 8\n' > "$T/list"
status 2 dmextract --since=ranges:"$T/list" --fine "$T/file"
check "ranges" grep -q 'not for the source of change "ranges", which remembers no states' "$T/stderr"
finish
