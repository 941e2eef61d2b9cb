#!/usr/bin/env python3
"""Runs a program on a terminal, as its leader, and prints what stands there in the end.

	on_terminal.py [-c TEXT [-w CONDITION]] COMMAND [ARGUMENT...]

Behind it comes a line "exit STATUS".  -c: as soon as TEXT, a regular expression, has been
printed, and the shell command CONDITION succeeds, Ctrl-C is typed, and again every two seconds:
a signal that comes just before a call that waits does not end the call.
"""
import fcntl, os, pty, re, select, struct, subprocess, sys, termios, time

ROWS, COLUMNS = 50, 250


def shown(text):
    """The lines that a terminal shows which got this text; it knows what progress lines need."""
    lines, at = [""], 0
    for piece in re.findall(r"\x1b\[\d*[A-Z]|[^\x1b]|\x1b", text):
        if piece == "\n":
            lines.append("")
        elif piece == "\r":
            at = 0
        elif piece == "\x1b[K":
            lines[-1] = lines[-1][:at]
        else:
            lines[-1] = lines[-1][:at].ljust(at) + piece + lines[-1][at + len(piece):]
            at += len(piece)
    return [line.rstrip() for line in lines if line.strip()]


def run(command, awaited, condition):
    """Returns the text and the exit status."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    text, typed_at = b"", None
    while True:
        if select.select([terminal], [], [], 0.05)[0]:
            try:
                text += os.read(terminal, 65536)
            except OSError:  # the program has ended
                break
        if awaited is not None and re.search(awaited, text) and subprocess.call(condition, shell=True) == 0:
            awaited, typed_at = None, 0
        if typed_at is not None and time.monotonic() - typed_at > 2:
            typed_at = time.monotonic()
            os.write(terminal, b"\x03")
    status = os.waitpid(pid, 0)[1]
    return text.decode(errors="replace"), os.waitstatus_to_exitcode(status)


words = sys.argv[1:]
awaited, condition = None, "true"
if words[0] == "-c":
    awaited, words = words[1].encode(), words[2:]
if words[0] == "-w":
    condition, words = words[1], words[2:]
text, status = run(words, awaited, condition)
print("\n".join(shown(text)))
print("exit", status)
