# lib.sh: what every script here begins with: . "$(dirname "$0")/lib.sh"
# $BIN: the programs; $T: a folder that is removed at the end.
set -u
# Mounts and processes live in namespaces of their own.  A script beside this one that makes
# a namespace would copy the mounts, and keep their filesystems in use after they are
# unmounted here.  And whoever looks which processes have a disk open, as imagezip does each
# time, looks at this script's alone, not at all of the machine.
if [ -z "${MOUNTS_ARE_OWN:-}" ] && [ "$(id -u)" = 0 ]; then
	for own in '-mpf --kill-child --mount-proc' -m; do
		# shellcheck disable=SC2086
		! unshare $own true 2> /dev/null ||
			MOUNTS_ARE_OWN=1 OWN_NUMBER=$$ exec unshare $own bash "$0" "$@"
	done
fi
# For names and ports: no script beside this one has the same.
OWN_NUMBER=${OWN_NUMBER:-$$}
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BIN=${BIN:-$TOP/build/bin}
GOLDEN=$TOP/tests/golden
T=$(mktemp -d "${TMPDIR:-/tmp}/suite.XXXXXX")
CLEANUP=()
bad=0
# What may still be mounted in $T, such as /dev, is left alone.  A test with a check that failed fails, however it ends.
# A subshell that is ended before it has begun comes here, too; bash heeds no return there, and no condition of an if.
at_exit() {
	local status=$? c
	case $BASHPID in $$) ;; *) builtin kill -KILL $BASHPID ;; esac
	for c in "${CLEANUP[@]}"; do eval "$c"; done
	rm -rf --one-file-system "$T"
	[ $status != 0 ] || exit $((bad != 0))
}
trap at_exit EXIT

# The number of a process that has ended may be another test's by now: only processes of this one are signalled.  They are
# in its process group, or have the folder of temporary files that tests/run made for it.
of_this_test() {
	local own its
	read -r own < "/proc/$$/stat" && read -r its < "/proc/$1/stat" || return 1
	own=(${own##*) }) its=(${its##*) })
	[ "${own[2]}" = "${its[2]}" ] || grep -qzx "TMPDIR=${TMPDIR:--}" "/proc/$1/environ"
} 2> /dev/null
# A child that has not begun yet is this shell, and forgets that it was to end: whoever waited for it would wait for its
# own end.  So it is told until it has ended or is another program, and then once more.
is_this_shell() {	# PID
	local words
	[ "$1" != $$ ] && mapfile -d '' -t words < "/proc/$1/cmdline" && [ "${words[*]}" = "${OWN_WORDS[*]}" ]
} 2> /dev/null
mapfile -d '' -t OWN_WORDS < /proc/$$/cmdline
kill() {
	local a args=() told=() dropped=0 status end=$((SECONDS + 180))
	for a; do
		case $a in
		[0-9]*) of_this_test "$a" || { dropped=1; continue; } ;;
		esac
		args+=("$a")
	done
	case ${args[*]: -1} in ''|-*) [ $dropped = 1 ] && return 1 ;; esac
	builtin kill "${args[@]}"; status=$?
	case ${args[0]} in -TERM) told=("${args[@]:1}") ;; [0-9]*) told=("${args[@]}") ;; *) return $status ;; esac
	for a in "${told[@]}"; do
		while is_this_shell "$a" && [ $SECONDS -lt $end ]; do sleep 0.05; builtin kill "$a" 2> /dev/null; done
	done
	return $status
}
trap 'exit 130' INT TERM HUP

# A loop device that was detached may be another test's by now: only one whose file is in the test's folder is detached.
# Whoever looks for a free device opens it for writing, also one that another test has attached meanwhile, which is
# then in use for a moment: so tests attach one after the other.
ATTACHING=$TOP/build/attaching.lock
if command -v losetup > /dev/null; then
# One that was set read-only stays so for whoever has it next, which the test that did so may not have lived to undo.
losetup() {
	local file= dev
	if [ "${1:-}" = -d ]; then
		{ read -r file < "/sys/block/${2##*/}/loop/backing_file"; } 2> /dev/null
		case $file in "$(readlink -f "$T")"/*) ;; *) echo "$2 is not attached to a file of this test" >&2; return 1 ;; esac
	fi
	case " $* " in
	*' -r '*) flock "$ATTACHING" losetup "$@" ;;
	*' -f '* | *' --find '*)
		dev=$(flock "$ATTACHING" losetup "$@") || return
		case " $* " in *' --show '*) blockdev --setrw "$dev" ;; esac
		[ -z "$dev" ] || echo "$dev" ;;
	*) command losetup "$@" ;;
	esac
}
mount() {
	case " $* " in
	*' loop '* | *[,\ ]loop,* | *,loop\ *) flock "$ATTACHING" mount "$@" ;;
	*) command mount "$@" ;;
	esac
}
fi

# The interpreter itself, which tests/run has looked up: python3 in PATH may be a script that looks for it each time.
PYTHON=${PYTHON:-$(python3 -c 'import sys; print(sys.executable)' 2> /dev/null || echo python3)}
# Without site packages: to look for them takes longer than most scripts here run.
# "command": without a python3 the name would mean this function.
python3() { command "$PYTHON" -E -S "$@"; }
export PYTHON; export -f python3
# json [-1] [-l] [-d TEXT] FILE [PATH | FACT]...: members of a JSON document, or whether these facts hold of
# it (tests/helpers/json.c says which paths and facts there are).  It takes 1 ms, Python 20.
JSON=${B:-$TOP/build/plain}/tests/helpers/json
json() { ${EMULATOR:-} "$JSON" "$@"; }
# Holes are not read (tests/helpers/same.c).
SAME=${JSON%json}same
[ -n "${EMULATOR:-}" ] || [ ! -x "$SAME" ] || cmp() { "$SAME" "$@"; }

# own_network: this script begins anew in a network of its own, where no other program has its ports; root only.
# Its mounts are its own, too.
own_network() {
	if [ -z "${NETWORK_INSIDE:-}" ] && [ "$(id -u)" = 0 ] && command -v ip > /dev/null && unshare -nm true 2> /dev/null; then
		rmdir "$T"	# the next start makes its own
		NETWORK_INSIDE=1 exec unshare -nm bash "$0" "$@"
	fi
	[ -z "${NETWORK_INSIDE:-}" ] || { ip link set lo up; ip link set lo multicast on; ip route add 224.0.0.0/4 dev lo; } || fail "no loopback"
}

# only_six NAME: in a network of its own, this name is that of ::1 alone.  Fails where the kernel has no IPv6.
only_six() {
	grep -qs ' lo$' /proc/net/if_inet6 || { echo "no IPv6 here"; return 1; }
	echo "::1 $1" > "$T/hosts"
	mount --bind "$T/hosts" /etc/hosts || fail "no names of its own"
}
fail() { echo "FAIL: $*"; bad=$((bad + 1)); }
# Instrumented programs take longer to start: what they do often is done less often, never not at all.
instrumented() { [ "${VARIANT:-plain}" != plain ]; }
skip() { echo "$*"; exit 77; }
requires() { local t; for t; do command -v "$t" > /dev/null || skip "needs $t"; done; }
# check WHAT COMMAND...: the command must succeed.
check() { local what=$1; shift; if "$@"; then echo "ok: $what"; else fail "$what: $*"; fi; }
# soon COMMAND...: wait until it succeeds, for $SOON seconds.  On a machine that does much else that may take minutes.
soon() {
	local end=$((SECONDS + ${SOON:-180}))
	until "$@"; do [ $SECONDS -lt $end ] || return 1; sleep 0.05; done
}
# begins PID COMMAND...: wait until the command succeeds, as long as this process runs.
begins() {
	local pid=$1 end=$((SECONDS + 180)); shift
	until "$@"; do
		if [ $SECONDS -ge $end ] || ! builtin kill -0 "$pid" 2> /dev/null; then "$@"; return; fi
		sleep 0.05
	done
}
# no_loops PATH: no loop device has a file whose path begins so.  Whoever looks at all devices just then keeps
# one for a moment.
no_loops() { soon eval "! losetup -a | grep -qF '($1'"; }
# nothing_for SECONDS WHY: nothing may happen in this time, or nothing shows that it has.
# WHY names the time of ours that is waited for.
nothing_for() { echo "for $1 s: $2"; sleep "$1"; }
has_ended() { ! builtin kill -0 "$1" 2> /dev/null; }	# PID
# PID BYTES: or more.
has_read() { local n; read -r _ n < "/proc/$1/io" && [ "$n" -ge "$2" ]; } 2> /dev/null
is_asleep() { grep -q "^State:.*sleeping" "/proc/$1/status"; } 2> /dev/null	# PID
catches_term() {	# PID
	(( 0x$(sed -n "s/^SigCgt:[[:space:]]*//p" "/proc/$1/status") & 0x4000 ))
} 2> /dev/null
# SOCKET...: a program listens at each, as it does a moment after it has made the file; in this network.
listens_at() {
	local s
	for s; do awk -v s="$s" '$4 == "00010000" && $8 == s { found = 1 } END { exit !found }' /proc/net/unix || return 1; done
}
has_open() { readlink "/proc/$1/fd/"* 2> /dev/null | grep -qxF "$2"; }	# PID FILE
# beside COMMAND...: a case that runs beside others, at most $BESIDE (6) at once, in a folder
# $T of its own below the script's, which is $SHARED then.  What it says comes when it has
# ended, and what it finds counts then: all_have_ended.
declare -A CASES=()
beside() {
	local folder
	[ ${#CASES[@]} -lt "${BESIDE:-6}" ] || one_has_ended
	folder=$(mktemp -d "$T/case.XXXXXX")
	(
		SHARED=$T T=$folder CLEANUP=() bad=0
		trap 'for c in "${CLEANUP[@]}"; do eval "$c"; done' EXIT
		"$@"
		exit $((bad < 99 ? bad : 99))
	) > "$folder.log" 2>&1 & CASES[$!]=$folder
}
one_has_ended() {
	local pid=
	wait -n -p pid "${!CASES[@]}"; bad=$((bad + $?))
	cat "${CASES[$pid]}.log"; rm -rf "${CASES[$pid]}" "${CASES[$pid]}.log"
	unset "CASES[$pid]"
}
all_have_ended() { while [ ${#CASES[@]} -gt 0 ]; do one_has_ended; done; }
# What others keep behind partitions and filesystems: make FILE KIND...
endings() { python3 "$TOP/tests/helpers/endings.py" "$@"; }
# quietly COMMAND...: show what it prints only when it fails.
quietly() { "$@" > "$T/quiet" 2>&1 || { local rc=$?; cat "$T/quiet"; return $rc; }; }
# status N COMMAND...: the exit status must be N, with one sentence on stderr unless 0.
status() {
	local want=$1 got; shift
	"$@" > "$T/stdout" 2> "$T/stderr"; got=$?
	if [ "$got" != "$want" ]; then fail "exit $got, not $want: $* ($(head -c 300 "$T/stderr"))"; return; fi
	if [ "$want" != 0 ] && [ "$(grep -cv '^usage:' "$T/stderr")" != 1 ]; then
		fail "not one sentence: $*: $(cat "$T/stderr")"
	else echo "ok: exit $want: $(basename "$1") ${*:2}: $(head -n 1 "$T/stderr")"; fi
}
same_hash() { [ "$(sha256sum "$1" | cut -d' ' -f1)" = "$2" ]; }
# random_bytes BYTES SEED: the same in every run; so many as head says it, with K or M.
random_bytes() { ${EMULATOR:-} "${B:-$TOP/build/plain}/tests/helpers/noise" "$@"; }
spoil_byte() {	# FILE AT [BITS]: it becomes another one, whatever it was
	local was
	was=$(od -An -tu1 -j "$2" -N 1 "$1")
	printf "\\$(printf %03o $((was ^ ${3:-0x5b})))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# lay FROM TO [AT [FIRST BYTES]]: the data of a file, or these bytes of it, at byte AT of another
# one.  Its holes are left out, and not read as dd does.
lay() {
	python3 - "$@" << 'PY'
import errno, os, sys
source = os.open(sys.argv[1], os.O_RDONLY)
target = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT, 0o666)
to, first, n = map(int, (sys.argv[3:] + ["0", "0", str(1 << 62)][len(sys.argv) - 3:]))
at, end = first, min(first + n, os.fstat(source).st_size)
while at < end:
    try:
        at = os.lseek(source, at, os.SEEK_DATA)
    except OSError as e:
        if e.errno != errno.ENXIO:
            raise
        break	# the rest is a hole
    edge = min(end, os.lseek(source, at, os.SEEK_HOLE))
    while at < edge:
        piece = os.pread(source, min(edge - at, 1 << 18), at)
        at += os.pwrite(target, piece, to + at - first)
PY
}
# poison FILE BYTES: all 0xa5.  Copied, which takes a sixth of what a pipe through tr does.
poison() {
	local i mb=()
	[ -e "$T/.poison" ] || head -c 1M /dev/zero | tr '\0' '\245' > "$T/.poison"
	for ((i = 0; i < $2 >> 20; i++)); do mb+=("$T/.poison"); done
	{ cat "${mb[@]}" < /dev/null; head -c $(($2 & 0xfffff)) "$T/.poison"; } > "$1"
}
# Disks and images that several scripts begin with are made once in a run of tests/run, by the script that needs them
# first; a script that is started by hand makes its own.  A set NAME:ARGUMENT is what a function fixture_NAME ARGUMENT
# makes in its folder.
#	fixture SET		the path of the folder, in which nobody changes anything
#	take SET FILE[=AS]...	copies of these files of it, with their signatures, for this script alone: $T/AS, or AS
#				where that is a path
fixture() {
	local all=${FIXTURES:-$T/.fixtures}
	local set=$all/${1/:/-}
	[ -d "$set" ] || made "$1" "$all" "$set" >&2 || echo "the fixture $1 cannot be made" >&2
	echo "$set"
}
# By one script at a time; what has its name is complete.
made() {	# SET FOLDER-OF-ALL FOLDER
	mkdir -p "$2"
	(
		flock 9
		[ ! -d "$3" ] || exit 0
		rm -rf "$3.new"; mkdir "$3.new"; cd "$3.new" && "fixture_${1%%:*}" "${1#*:}" && chmod a-w ./* && mv "$3.new" "$3"
	) 9> "$3.lock"
}
take() {
	local from file to
	from=$(fixture "$1"); shift
	for file; do
		to=${file#*=} file=$from/${file%%=*}
		case $to in /*) ;; *) to=$T/$to ;; esac
		cp -r --reflink=auto --no-preserve=mode "$file" "$to" || fail "no fixture $file"
		[ ! -e "$file.sig" ] || cp --no-preserve=mode "$file.sig" "$to.sig"
	done
}
# A disk of so many random bytes and its image.
fixture_random() {	# BYTES
	random_bytes "$1" 1 > disk && truncate -s %512 disk &&
	    "$BIN/imagezip" -q -r disk disk.ndz
}
# A disk with so many pieces of 128 KiB of random bytes, each before 128 KiB of one byte, and its image.
fixture_striped() {	# PIECES.SEED
	python3 -c 'import random, sys
r = random.Random(int(sys.argv[2]))
with open("disk", "wb") as f:
    for i in range(int(sys.argv[1])): f.write(r.randbytes(128 * 1024) + bytes([i % 251]) * (128 * 1024))' "${1%.*}" "${1#*.}" &&
	"$BIN/imagezip" -q -r disk disk.ndz
}
# An image as earlier versions made it, which does not say how far its partitions reach.
without_reach() {	# IMAGE NEW
	python3 - "$@" << 'PY'
import struct, sys, zlib
image = bytearray(open(sys.argv[1], "rb").read())
size = struct.unpack_from("<I", image, 4)[0]
area = (4096 + size + 7) // 8 * 8
end, at, found = area + struct.unpack_from("<I", image, area + 8)[0], area + 16, False
while at < end:
    kind, _, n = struct.unpack_from("<HHI", image, at)
    if kind == 14:
        struct.pack_into("<H", image, at, 0xfff0)	# a type that nobody knows
        found = True
    at += 8 + (n + 7) // 8 * 8
struct.pack_into("<I", image, area + 12, zlib.crc32(image[area + 16 : end]))
open(sys.argv[2], "wb").write(image)
sys.exit(not found)
PY
}
finish() { [ $bad -eq 0 ] && echo "all good"; exit $((bad != 0)); }
