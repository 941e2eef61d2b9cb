#!/usr/bin/env python3
"""Runs a program on a terminal, as its leader, and prints what stands there in the end.

	on_terminal.py [-c TEXT [-w CONDITION] [-t THEN]] COMMAND [ARGUMENT...]

Behind it comes a line "exit STATUS".  -c: as soon as TEXT, a regular expression, has been
printed, and the shell command CONDITION succeeds, Ctrl-C is typed, once.  The shell command
THEN is run when the terminal has sent the signal: it shows ^C behind that.
"""
import fcntl, os, pty, re, select, struct, subprocess, sys, termios
from screen import Screen

ROWS, COLUMNS = 50, 250


def run(command, awaited, condition, then):
    """Returns the text and the exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    text = b""
    while True:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                text += os.read(terminal, 65536)
            except OSError:  # the program has ended
                break
        if awaited is not None and re.search(awaited, text) and subprocess.call(condition, shell=True) == 0:
            awaited, told_at = None, len(text)
            os.write(terminal, b"\x03")
        if then is not None and awaited is None and b"^C" in text[told_at:]:
            subprocess.run(then, shell=True, check=True)
            then = None
    status = os.waitpid(pid, 0)[1]
    return text.decode(errors="replace"), os.waitstatus_to_exitcode(status)


words = sys.argv[1:]
awaited, condition, then = None, "true", None
if words[0] == "-c":
    awaited, words = words[1].encode(), words[2:]
if words[0] == "-w":
    condition, words = words[1], words[2:]
if words[0] == "-t":
    then, words = words[1], words[2:]
text, status = run(words, awaited, condition, then)
screen = Screen()
screen.feed(text)
print("\n".join(screen.stays()))
print("exit", status)
