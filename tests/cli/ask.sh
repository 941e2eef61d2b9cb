#!/usr/bin/env bash
# imagezip and emustore get ask whoever sits at a terminal before they replace an older image; in scripts nobody is asked.
. "$(dirname "$0")/lib.sh"
requires python3
cd "$T" || exit 1
export EMUSTORE=$T/store
seq 100000 > src; seq 200000 > other; "$BIN/imagezip" -q -f other older.ndz && "$BIN/imagezip" -q -f src new.ndz || fail "imagezip"
"$BIN/emustore" -q init && "$BIN/emustore" -q put x new.ndz || fail "emustore"
# run TERMINALS TYPED COMMAND...: with in, err or both at a terminal, where TYPED answers a question.  What the terminal
# shows is in ./shown.
run() {
	python3 - "$@" > shown << 'PY'
import os, pty, signal, subprocess, sys
which, typed, command = sys.argv[1], sys.argv[2].encode(), sys.argv[3:]
signal.alarm(200)
here, there = pty.openpty()
p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL if which == "err" else there,
                     stderr=open("stderr", "wb") if which == "in" else there)
os.close(there)
os.write(here, os.environ.get("AT_ONCE", "").encode())
shown = b""
while True:
    try:
        shown += os.read(here, 1000)
    except OSError:	# nobody has the terminal open any more
        break
    if typed and b"replace it? [y/N] " in shown:
        os.write(here, typed)
        typed = b""
sys.stdout.buffer.write(shown)
sys.exit(p.wait())
PY
}
is_new() { "$BIN/imageunzip" -q out.ndz - | cmp -s - src; }
asked() { grep -q "out.ndz: exists already: replace it?" shown; }
older() { cp older.ndz out.ndz; }
stays() {	# TYPED COMMAND...
	older; run both "$@"; check "status 1" [ $? = 1 ]; check "asked" asked
	check "it says so" grep -q "out.ndz: was not replaced; --force replaces it unasked" shown
	check "the image is what it was" cmp older.ndz out.ndz; check "nothing is beside it" [ ! -e out.ndz.partial ]
}
replaced() {	# TERMINALS TYPED COMMAND...
	older; check "status 0: $*" run "$@"; check "another image is there" is_new
}
unasked() { replaced "$@"; check "nobody is asked" eval '! asked'; }
asks() {	# COMMAND...
	for yes in y yes Yes; do replaced both "$yes"$'\n' "$@"; check "asked" asked; done
	for no in n no "" yess "yes, I want that to be done"; do stays "$no"$'\n' "$@"; done
	stays $'\004' "$@"; stays $'y\004\004' "$@"	# the end of the input
	unasked both "" "$@" --force; unasked in "" "$@"; unasked err "" "$@"
	older; check "without a terminal" quietly "$@"; check "it is replaced" is_new
	: > out.ndz; check "an empty file" run both "" "$@"; check "nobody is asked" eval '! asked'
	rm out.ndz; check "a new one" run both "" "$@"; check "nobody is asked" eval '! asked'
}
asks "$BIN/imagezip" -q -f src out.ndz
asks "$BIN/emustore" -q get x out.ndz
older; AT_ONCE=$'data\n\004' run both "" "$BIN/imagezip" -q -f - out.ndz
check "what a terminal is read for is data, no answer" [ $? = 0 ]; check "nobody is asked" eval '! asked'
check "another image is there" [ "$("$BIN/imageunzip" -q out.ndz -)" = data ]
run both "" "$BIN/emustore" -q get x -; check "to standard output" [ $? = 0 ]
echo "years of work" > out.ndz; run both "" "$BIN/imagezip" -q -f src out.ndz
check "what is no image is refused as ever" [ $? = 1 ]; check "nobody is asked" eval '! asked'
# Ctrl-C just behind the question, before the answer is waited for.
interrupted() {	# COMMAND...
	python3 - "$@" << 'PY'
import os, pty, signal, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
signal.signal(signal.SIGALRM, lambda *_: (os.kill(pid, signal.SIGKILL), sys.exit(9)))
signal.alarm(int(os.environ.get("ASK_S", "60")))
shown = b""
while b"[y/N] " not in shown:
    shown += os.read(terminal, 1000)
os.write(terminal, b"\x03")
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
}
for n in 1 2 3 4 5 6; do
	older; interrupted "$BIN/imagezip" -q -f src out.ndz
	check "Ctrl-C ends the question" [ $? = 1 ]; check "the image is what it was" cmp older.ndz out.ndz
done
# -n of the original programs looks like a dry run: it is none, and a terminal is told so.
told() { grep -q "^imageunzip: warning: -n is no dry run" shown; }
run both "" "$BIN/imageunzip" -q -n new.ndz disk; check "-n tells a terminal" told; check "it writes" cmp src disk
"$BIN/imageunzip" -q -n new.ndz disk 2> shown; check "and nobody else" eval "! told"
finish
