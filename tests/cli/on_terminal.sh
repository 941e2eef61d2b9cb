#!/usr/bin/env bash
# On a terminal: no sentence hangs on a line of progress; and Ctrl-C says what is left, and how to go on.
. "$(dirname "$0")/lib.sh"
requires python3 sfdisk mke2fs
own_network
shim=${B:-$TOP/build/plain}/tests/preload/faulty.so
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0
case $(basename "$(dirname "$BIN")") in *thread*) skip "another library cannot come before the thread sanitizer's" ;; esac
BESIDE=8
FREE=$((20000 + OWN_NUMBER % 10000))	# and the ports behind it

# A disk with a GPT, 20 MB of which are data: 20 chunks.
truncate -s 40M "$T/disk"
printf 'label: gpt\nstart=2048, size=75000\n' | sfdisk -q "$T/disk" || fail "sfdisk"
random_bytes 20M 1 > "$T/random"
lay "$T/random" "$T/disk" $((4 << 20))
"$BIN/imagezip" -q -r "$T/disk" "$T/img.ndz" || fail "imagezip"
random_bytes 20M 2 > "$T/file"; "$BIN/imagezip" -q -r "$T/file" "$T/file.ndz" || fail "imagezip"
random_bytes 20M 3 > "$T/other"; "$BIN/imagezip" -q -r "$T/other" "$T/other.ndz" || fail "imagezip"
mkdir "$T/states"; "$BIN/dmextract" -q --state-dir="$T/states" --since="scan:$T/state" "$T/file" > "$T/stream" || fail "dmextract"
larger() { truncate -s 60M "$T/target"; }
# What stands on the terminal in the end is in $T/screen.
on_terminal() { python3 "$TOP/tests/helpers/on_terminal.py" "$@" > "$T/screen" 2>&1; }
screen() { cat "$T/screen"; }
shows() { grep -q "$1" "$T/screen"; }
alone() {	# WHAT SENTENCE: it begins its line, and nothing of the progress is left
	check "$1: $(screen)" grep -q "^[a-z]*: $2" "$T/screen"
	check "$1: no progress in the end" quietly eval "! grep -q ' left\|[0-9] %' '$T/screen'"
}
ends_with_this() { CLEANUP+=("kill -KILL $1 2> /dev/null; wait $1 2> /dev/null"); }
frisbeed() {	# RATE
	"$BIN/frisbeed" --unicast -m 127.0.0.1 -p 0 -A "$T/where" -T 600 -W "$1" "$SHARED/img.ndz" > "$T/server" 2>&1 & SERVER=$!
	ends_with_this $SERVER
	begins $SERVER [ -s "$T/where" ] || fail "frisbeed: $(cat "$T/server")"
	PORT=$(tr -d '\0' < "$T/where" | sed 's/.*://')
}
dolly_serve() {	# PORT [N]: it never gets what it reads with its Nth read of the image
	cp "$SHARED/img.ndz" "$T/img.ndz"
	(exec env ${2:+FAULT="pread:$2:stall:$T/img.ndz" LD_PRELOAD="$shim"} FAULT_FIRED="$T/fired" \
	    FRISBEE_NO_URING=1 "$BIN/dolly" serve -p "$1" --wait 1 --linger=1 "$T/img.ndz" > "$T/server" 2>&1) & SERVER=$!
	ends_with_this $SERVER
	begins $SERVER grep -q serving "$T/server" || fail "dolly: $(cat "$T/server")"
}

# Hints come while progress is shown.
hint_imageunzip() {
	larger; on_terminal "$BIN/imageunzip" --in-place "$SHARED/img.ndz" "$T/target"
	alone imageunzip "the disk is larger"; check "exit 0" shows "^exit 0"
}
hint_frisbee() {
	larger; frisbeed 400M
	on_terminal "$BIN/frisbee" --unicast -m 127.0.0.1 -p "$PORT" --in-place "$T/target"
	alone frisbee "the disk is larger"; check "exit 0" shows "^exit 0"
}
hint_dolly() {
	larger; dolly_serve $((FREE + 1))
	on_terminal "$BIN/dolly" -p $((FREE + 7)) join --in-place 127.0.0.1:$((FREE + 1)) "$T/target"
	alone dolly "the disk is larger"; check "exit 0" shows "^exit 0"
}

# ended WHAT SENTENCE...: Ctrl-C was typed; it says each of these on one line, with exit status 1
ended() {
	local what=$1 s; shift
	check "$what: exit 1" shows "^exit 1"
	check "$what: one sentence: $(screen)" [ "$(grep -c "interrupted by SIGINT" "$T/screen")" = 1 ]
	for s; do check "$what: $s" shows "interrupted by SIGINT.*; $s"; done
	alone "$what" ".*interrupted by SIGINT"
}
typed() { on_terminal -c "$@"; }
# A slot of the state in a file has a chunk: its bits are at byte 136 (docs/installing.md).
has_a_chunk='[ "$(stat -c %s $1 2> /dev/null)" = 8192 ] && ! { cmp -s -n 3 -i 136:0 $1 /dev/zero && cmp -s -n 3 -i 4232:0 $1 /dev/zero; }'
has_begun() {	# OPTIONS...: the command that succeeds when something was written to the target, and is in the state
	case " $* " in
	*' --state='*) echo "set -- $STATE; $has_a_chunk" ;;
	*' --in-place '*) echo "! $BIN/imageunzip --status $T/target > /dev/null 2>&1" ;;
	*) echo "[ \$(stat -c %s $T/target) != $((60 << 20)) ]" ;;
	esac
}
begun() { typed "[0-9] %" -w "$(has_begun "$@")" "$@"; }
frisbee_onto() {	# SENTENCE OPTIONS...
	local s=$1; shift
	poison "$T/target" $((60 << 20)); frisbeed 10M
	begun "$BIN/frisbee" --unicast -m 127.0.0.1 -p "$PORT" "$@" "$T/target"
	ended "frisbee $*" "$s"
}
frisbee_into_a_file() {
	frisbee_onto "the file, which was not complete, was removed" -N
	check "it is gone" [ ! -e "$T/target" ]
}
dolly_onto() {
	larger; dolly_serve $((FREE + 2)) 35
	begun "$BIN/dolly" -p $((FREE + 8)) join --in-place 127.0.0.1:$((FREE + 2)) "$T/target"
	ended "dolly join" "the target is incomplete: the same command with --skip-same writes only what lacks"
	status 1 "$BIN/imageunzip" --status "$T/target"
}
dolly_server() {
	typed "serving" "$BIN/dolly" serve -p $((FREE + 3)) --wait 1 "$SHARED/img.ndz"
	ended "dolly serve" "nodes that were not complete have ended, too"
}
imageunzip_onto() {	# SENTENCE OPTIONS...
	local s=$1; shift
	larger; echo 4000000 > "$T/rate"
	python3 "$TOP/tests/helpers/http_slow.py" "$SHARED/img.ndz" "$HTTP" "$T/rate" > "$T/server" 2>&1 & SERVER=$!
	ends_with_this $SERVER
	soon port_answers "$HTTP" || fail "no web server"
	begun "$BIN/imageunzip" "$@" "http://127.0.0.1:$HTTP/img.ndz" "$T/target"
	ended "imageunzip $*" "$s"
}
port_answers() { (exec 3<> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }
stalled() {	# SENTENCE OPTIONS...: the disk does not answer, and the guard ends the program
	local s=$1; shift
	larger
	typed "%" -w "[ -e $T/fired ]" env FAULT="pwrite:9:stall:$T/target" FAULT_FIRED="$T/fired" LD_PRELOAD="$shim" FRISBEE_NO_URING=1 \
	    "$BIN/imageunzip" -j1 "$@" "$SHARED/img.ndz" "$T/target"
	ended "imageunzip $*, a disk that stalls" "$s"
}
# What comes slowly: so much of a file, and then nothing.
slow() { (head -c "$2" "$1"; exec sleep 1000) > "$T/fifo" & ends_with_this $!; }
piped() {	# SENTENCE FILE COMMAND: it reads the fifo, into which a part of the file comes
	local s=$1 file=$2; shift 2
	mkfifo "$T/fifo"; slow "$file" 9000000
	typed "/s" sh -c "exec $* < $T/fifo"
	ended "$*" "$s"
}
capture() {
	piped "no image was made" "$SHARED/file" "$BIN/imagezip" -r - "$T/new.ndz"
	check "nothing is left" [ -z "$(ls "$T" | grep new)" ]
}
put() {
	"$BIN/emustore" -q --store "$T/store" init || fail "init"
	piped "the image is not in the store" "$SHARED/file.ndz" "$BIN/emustore" --store "$T/store" put a -
	check "nor is it" [ -z "$("$BIN/emustore" --store "$T/store" list -q | grep "^a")" ]
}
# SENTENCE COMMAND: what it writes to the fifo is not read after some time
unread() {
	local s=$1; shift
	mkfifo "$T/fifo"; (head -c 3000000 > /dev/null; exec sleep 1000) < "$T/fifo" & ends_with_this $!
	typed "/s" sh -c "exec $* > $T/fifo"
	ended "$*" "$s"
}
get() {
	"$BIN/emustore" -q --store "$T/store" init && "$BIN/emustore" -q --store "$T/store" put a "$SHARED/file.ndz" || fail "put"
	unread "the image is incomplete" "$BIN/emustore" --store "$T/store" get a -
}
extract() {
	mkdir "$T/states"
	unread "the stream is not whole, and dmmerge refuses it" "$BIN/dmextract" --state-dir="$T/states" --since="scan:$T/state" "$SHARED/file"
}
merge() {	# SENTENCE OPTIONS...
	local s=$1; shift
	piped "$s" "$SHARED/stream" "$BIN/dmmerge" --journal="$T/journal" "$@" "$T/copy"
	check "the whole stream" quietly "$BIN/dmmerge" -q --journal="$T/journal" "$@" "$T/copy" < "$SHARED/stream"
	check "and the copy is" cmp "$SHARED/file" "$T/copy"
}
# A tool of the first of two filesystems has begun; it ends behind the signal.
grow() {
	local tool
	tool=$(command -v resize2fs)
	mkdir "$T/tools"
	printf '#!/bin/sh\n[ -e "%s/begun" ] || { : > "%s/begun"; until [ -e "%s/may_end" ]; do sleep 0.05; done; }\nexec %s "$@"\n' \
	    "$T" "$T" "$T" "$tool" > "$T/tools/resize2fs"
	chmod +x "$T/tools/resize2fs"
	truncate -s 40M "$T/disk"
	printf 'label: gpt\nstart=2048, size=32768\nstart=34816, size=16384\n' | sfdisk -q "$T/disk" || fail "sfdisk"
	truncate -s 6M "$T/fs"; mke2fs -q -F "$T/fs" || fail "mke2fs"
	lay "$T/fs" "$T/disk" $((2048 * 512)); lay "$T/fs" "$T/disk" $((34816 * 512))
	typed "partition 1: ext2 grows from" -w "[ -e $T/begun ]" -t ": > $T/may_end" env PATH="$T/tools:$PATH" "$BIN/growfs" "$T/disk"
	ended growfs "what had begun is whole: the same command does the rest"
	check "the first filesystem has grown, the second has not" [ "$("$BIN/growfs" --dry-run --json "$T/disk" | json - 'partitions[*].became' | tr '\n' ' ')" = "fills grew " ]
	check "the same command" quietly "$BIN/growfs" "$T/disk"
}
copy() {	# it prints nothing before it ends, so there is no terminal that could be waited for
	mkdir "$T/states"
	(exec "$BIN/dsync" --state-dir="$T/states" --bwlimit=1M --since="scan:$T/state" init "$SHARED/file" "$T/copy" 2> "$T/screen") & pid=$!
	begins $pid has_read $pid 2000000 || fail "dsync: $(screen)"
	kill -INT $pid; wait $pid; echo "exit $?" >> "$T/screen"
	ended "dsync init" "there is no whole copy yet: the same command begins anew"
}

beside hint_imageunzip
beside hint_frisbee
beside hint_dolly
beside frisbee_onto "the target is incomplete: the same command with --skip-same writes only what lacks" --in-place
beside frisbee_onto "the target is incomplete: the same command goes on" --in-place --skip-same
beside frisbee_into_a_file
beside dolly_onto
beside dolly_server
HTTP=$((FREE + 4)); beside imageunzip_onto "the target is incomplete: the same command with --skip-same writes only what lacks" --in-place
STATE=$T/went
HTTP=$((FREE + 5)); beside imageunzip_onto "the target is incomplete: the same command goes on" --in-place --state-interval=0 --state="$STATE"
HTTP=$((FREE + 6)); beside imageunzip_onto "the file, which was not complete, was removed"
beside stalled "the target is incomplete: the same command with --skip-same writes only what lacks" --in-place
beside stalled "the file, which was not complete, was removed"
beside capture
beside put
beside get
beside unread "the image is incomplete" "$BIN/imagerezip" "$T/file.ndz" -
beside unread "the image is incomplete" "$BIN/imagedelta" "$T/file.ndz" "$T/other.ndz" -
beside extract
beside merge "dmmerge --status says what the target holds, and the next run finishes a merge that had begun"
beside merge "merging the same stream again completes it" --in-place
if [ "$(id -u)" = 0 ] && [ -e /dev/loop-control ]; then beside grow; else echo "left out here: growfs, which needs loop devices"; fi
beside copy
all_have_ended
finish
