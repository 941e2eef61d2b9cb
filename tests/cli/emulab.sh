#!/usr/bin/env bash
# The exit statuses of this suite that docs/emulab.md names, each in turn: a row without a case here fails.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/unicast_lib.sh"
requires python3 sfdisk
own_network "$@"
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) shim= ;; esac	# no library can come before the thread sanitizer's
random() { head -c "$1" /dev/urandom > "$2"; }	# BYTES FILE
random 3000000 "$T/src"; "$BIN/imagezip" -q -f "$T/src" "$T/good.ndz" || fail "imagezip"
gpt() { rm -f "$T/disk"; truncate -s 8M "$T/disk"; printf 'label: gpt\nstart=2048,size=2048\nstart=4096,size=8192\n' | sfdisk -q "$T/disk"; }
is_version() { cp "$T/good.ndz" "$T/bad.ndz"; printf "\\x$(printf %x $((0x68 + $1)))iii" | dd of="$T/bad.ndz" bs=1 conv=notrunc status=none; }	# VERSION: that of 1 begins with "iiii", 0x69
says() {	# STATUS COMMAND...
	local want=$1 got; shift
	timeout 240 "$@" > "$T/stdout" 2> "$T/stderr"; got=$?
	check "$PROGRAM, $LEFT: exit status $got" [ "$got" = "$want" ]
}
try() {	# STATUS: of $PROGRAM, in the row that begins with $LEFT
	case "$PROGRAM: $LEFT" in
	"imagezip: \`-X\`") [ -z "$shim" ] || says "$1" env FAULT="pread:777:bad:$T/src" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" "$BIN/imagezip" -q -X -f "$T/src" "$T/x.ndz" ;;
	"imageunzip: an image that is larger than the partition"*) gpt; says "$1" "$BIN/imageunzip" -q -s 1 "$T/good.ndz" "$T/disk" ;;
	"imageunzip: bytes behind the last whole chunk"*) cat "$T/good.ndz" - <<< tail > "$T/bad.ndz"; says "$1" "$BIN/imageunzip" -q "$T/bad.ndz" "$T/out" ;;
	"imageunzip: version 4"*) for v in 4 6; do is_version $v; says "$1" "$BIN/imageunzip" -q "$T/bad.ndz" "$T/out"; done ;;
	"imageunzip: \`-D\` with an unknown type"*) gpt; says "$1" "$BIN/imageunzip" -q -s 2 -D 191 "$T/good.ndz" "$T/disk" ;;
	"imageunzip: damage"*) cp "$T/good.ndz" "$T/bad.ndz"; spoil_byte "$T/bad.ndz" 500000; says "$1" "$BIN/imageunzip" -q "$T/bad.ndz" "$T/out" ;;
	"frisbeed: "*"another server"*) serve "$T/good.ndz"; says "$1" "$BIN/frisbeed" -q --unicast -m 127.0.0.1 -p "$PORT" "$T/good.ndz"; served ;;
	"frisbee: silence"*) says "$1" "$BIN/frisbee" -q -m 239.77.7.7 -p 5997 -i 127.0.0.1 -T 1 "$T/out" ;;
	"imagedump, imagehash, imagedelta: \`imagehash\`"*) random 3000000 "$T/other"; says "$1" "$BIN/imagehash" -r "$T/good.ndz" "$T/other" ;;
	*) fail "no case for $PROGRAM, $LEFT: exit status $1" ;;
	esac
}
# PROGRAM, STATUS, LEFT: rows whose second column has a status; where the first one is empty, what is told of.
rows() { python3 - "$TOP/docs/emulab.md" << 'PY'
import re, sys
program = None
for line in open(sys.argv[1]):
    if line.startswith("## "):
        program = line[3:].strip()
    cells = [c.strip() for c in line.strip().strip("|").split(" | ")] if line.startswith("|") else []
    if len(cells) == 1:	# the first one is empty
        cells = ["", *cells]
    found = re.search(r"exit status (?:with `-T` )?(\d+)", cells[1]) if len(cells) == 2 and not program.startswith("Faults") else None
    if found:
        print(program, found[1], cells[0] or cells[1], sep="\t")
PY
}
n=0
while IFS=$'\t' read -r PROGRAM status LEFT; do try "$status" < /dev/null; n=$((n + 1)); done < <(rows)
check "$n rows have a status" [ $n -ge 9 ]
finish
