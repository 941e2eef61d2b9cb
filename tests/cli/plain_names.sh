#!/usr/bin/env bash
# Whatever a file's name, an image, a disk or a label holds: no terminal, log or document gets a control sequence of it.
# All programs, when they work and when they fail; that nothing is printed past the one function, the sources show.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/store_lib.sh"
. "$(dirname "$0")/unicast_lib.sh"
requires python3
# Colours (ESC, C1 as UTF-8 and as a byte), a line of its own, text that runs the other way, a broken character.
NASTY=$'x\e[31m\nimagezip: all is well\xc2\x9b32m\x9b33m\xe2\x80\xae\xe2\x81\xa6\xd8\x9c\xe2\x80\xa8\x7f\xc3'
GOOD='größe-磁盘'
harmless() { python3 "$TOP/tests/helpers/harmless.py" "$@"; }
# says WANT COMMAND...: exit status WANT; stdout and stderr are harmless, and keep what is readable.
n=0
says() {
	local want=$1 got kind=txt; shift; n=$((n + 1))
	case " $* " in *" --json "*) kind=json ;; esac
	"$@" > "$T/said.$kind" 2> "$T/said.err"; got=$?
	[ "$got" = "$want" ] || fail "exit $got, not $want: $(basename "$1") ${*:2:2}: $(head -c 300 "$T/said.err")"
	[ -s "$T/said.json" ] || rm -f "$T/said.json"
	harmless check "$T"/said.* > "$T/harm" || fail "$(basename "$1") ${2:-} ${3:-}: $(cat "$T/harm")"
	cat "$T"/said.* >> "$T/all"; rm -f "$T"/said.*
}
shows() { check "${2:-$1} stays readable" grep -q -- "$1" "$T/all"; : > "$T/all"; }
D="$T/$NASTY$GOOD"; mkdir "$D" || skip "no such names here"
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(3).randbytes(3 << 20))' > "$D/disk"
"$BIN/imagezip" -q -r "$D/disk" "$T/good.ndz" || fail "imagezip"
head -c 700000 "$T/good.ndz" > "$D/cut.ndz"

echo "== an image that says who made it"
harmless inject "$T/good.ndz" "$D/tool.ndz" '\xc2\x9b31m\x9b\xe2\x80\xae\x1b[2'
harmless inject "$T/good.ndz" "$D/umlaut.ndz" '\xc3\xbc\xe7\xa3\x81 made it'
says 0 "$BIN/imagedump" "$D/tool.ndz" "$T/good.ndz"
says 0 "$BIN/imagedump" --json "$D/tool.ndz"
says 0 "$BIN/imagedump" -d "$D/umlaut.ndz"
shows "made by ü磁"

echo "== names of files, all programs"
says 0 "$BIN/imagezip" -r "$D/disk" "$D/disk.ndz"
says 1 "$BIN/imagezip" -r "$D/absent" "$D/no.ndz"
says 1 "$BIN/imagezip" "$D/cut.ndz" "$D/no/no.ndz"
says 0 "$BIN/imagezip" -r --json "$D/disk" "$D/disk2.ndz"
says 3 "$BIN/imagedump" "$D/cut.ndz"
says 3 "$BIN/imagedump" --json "$D/cut.ndz" "$D/disk.ndz"
says 1 "$BIN/imagedump" "$D/absent"
shows "$GOOD"
says 0 "$BIN/imageunzip" "$D/disk.ndz" "$D/out"
says 3 "$BIN/imageunzip" "$D/cut.ndz" "$D/out2"
says 3 "$BIN/imageunzip" --json "$D/cut.ndz" "$D/out2"
says 0 "$BIN/imageunzip" --dry-run "$D/disk.ndz" "$D/out3"
says 2 "$BIN/imageunzip" "--$NASTY"
says 2 "$BIN/imageunzip" -s "$NASTY" "$D/disk.ndz" "$D/out"
shows "$GOOD"
says 0 "$BIN/imagehash" -c -o "$D/sig" "$D/disk.ndz"
says 0 "$BIN/imagehash" "$D/disk.ndz" "$D/disk"
says 3 "$BIN/imagehash" "$D/cut.ndz" "$D/disk"
says 1 "$BIN/imagehash" "$D/disk.ndz" "$D/absent"
shows "$GOOD"
says 0 "$BIN/imagerezip" "$D/disk.ndz" "$D/again.ndz"
says 3 "$BIN/imagerezip" "$D/cut.ndz" "$D/again.ndz"
says 0 "$BIN/imagedelta" "$D/disk.ndz" "$D/umlaut.ndz" "$D/delta.ndz"
says 3 "$BIN/imagedelta" "$D/cut.ndz" "$D/disk.ndz" "$D/delta.ndz"
says 0 "$BIN/imagekey" --sign-key "$D/key"
says 1 "$BIN/imagekey" --sign-key "$D/no/key"
shows "$GOOD"

echo "== a store"
export EMUSTORE="$D/store"
says 0 es init
says 0 es put one "$D/disk.ndz" --label "who=$GOOD"$'\xc2\x9b31m\x9b\xe2\x80\xae'
says 3 es put two "$D/cut.ndz"
says 2 es put "$NASTY" "$D/disk.ndz"
says 0 es list
says 0 es list --json
says 0 es info one
says 0 es info one --json
says 1 es get absent "$D/got.ndz"
says 1 es get one "$D/no/got.ndz"
for i in "$D"/store/packs/*.pack; do spoil_byte "$i" 5000; done
says 3 es verify --data
shows "$GOOD"
EMUSTORE="$D/nothing" says 1 es list
EMUSTORE="s3://$NASTY/x" EMUSTORE_S3_SECONDS=1 says 2 es list

echo "== a disk whose partitions have names"
if command -v sfdisk > /dev/null; then
	truncate -s 8M "$T/gpt"
	printf 'label: gpt\nstart=2048, size=4096, name="p\xe2\x80\xae\xd8\x9c\xc2\x9b%s"\n' "$GOOD" | sfdisk -q "$T/gpt" || fail "sfdisk"
	says 0 "$BIN/imagezip" -i "$T/gpt"
	says 0 "$BIN/imagezip" -i --json "$T/gpt"
fi

echo "== a server and its client"
serve "$D/disk.ndz"
says 0 frisbee "$D/loaded"
says 1 frisbee "$D/no/loaded"
served
check "the server's log" harmless check "$T/server.log"
says 1 "$BIN/frisbeed" --unicast -m 127.0.0.1 -p 0 "$D/absent"
says 3 "$BIN/frisbeed" --unicast -m 127.0.0.1 -p 0 "$D/cut.ndz"
harmless run "$T/table" "clients 0" "$BIN/frisbeed" --unicast -m 127.0.0.1 -p 0 -T 0 --stats "$T/stats.json" "$D/disk.ndz"
check "the server's table and statistics" harmless check "$T/table" "$T/stats.json"
check "they name the image" grep -q "$GOOD.*clients 0" "$T/table"
harmless run "$T/terminal" "" "$BIN/imageunzip" "$D/disk.ndz" "$D/out4"
check "an installation on a terminal" harmless check "$T/terminal"

echo "== nothing is printed past the function"
cd "$TOP" || exit 1
# These draw on terminals, print help of constants, or write documents of names that were looked at.
past=$(grep -rnE '\b(v?f?printf|v?dprintf|f?puts|f?putc|putchar|perror)\(' --include=*.c \
	--exclude-dir=vendor --exclude-dir=tests --exclude-dir=bench --exclude-dir=build . | sed 's,^\./,,' |
	grep -vE '^common/(base/(say|json|sha256)|(base|cli)/(cli|cli_help|progress))\.c:|^frisbeed/table\.c:.*\\033|^(dolly/plan/draw|frisbee/doctor/doctor_file|mfrisbeed/master/state|stream/plugin/plugin|controller/http/(events|metrics))\.c:')
check "no printf elsewhere" [ -z "$past" ]; echo "$past"
echo "$n runs"
finish
