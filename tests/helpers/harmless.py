#!/usr/bin/env python3
"""What a terminal gets: harmless.py check FILE... | inject IN OUT TEXT | run OUT UNTIL COMMAND...

check: each FILE is UTF-8 without control characters other than newlines, without marks that
change the direction of text and without line separators; a .json file is one document, too.
inject: the image IN with TEXT (Python's escapes) as the tool that made it.
run: COMMAND on a terminal, told to end when it has printed UNTIL, if that is not empty; what
it prints is kept in OUT, without the sequences that our own programs use to draw there."""
import fcntl
import json
import os
import pty
import re
import signal
import struct
import sys
import termios
import time
import zlib

HARMFUL = (set(range(0x20)) | set(range(0x7f, 0xa0)) | {0x61c, 0x200e, 0x200f}
           | set(range(0x2028, 0x202f)) | set(range(0x2066, 0x206a))) - {0x0a}


def check(path):
    with open(path, "rb") as f:
        raw = f.read()
    try:
        text = raw.decode()
    except UnicodeDecodeError as e:
        return "%s: not UTF-8: %r" % (path, raw[max(0, e.start - 40):e.start + 20])
    for at, c in enumerate(text):
        if ord(c) in HARMFUL:
            return "%s: U+%04X: %r" % (path, ord(c), text[max(0, at - 40):at + 20])
    if path.endswith(".json"):
        json.loads(text)
    return None


def inject(source, target, text):
    with open(source, "rb") as f:
        d = bytearray(f.read())
    size = struct.unpack_from("<I", d, 4)[0]
    area = (4096 + size + 7) // 8 * 8
    end = area + struct.unpack_from("<I", d, area + 8)[0]
    at = area + 16
    while at < end:
        kind, _, length = struct.unpack_from("<HHI", d, at)
        if kind == 5:  # the image: the tool's name is behind 24 bytes
            n = struct.unpack_from("<H", d, at + 32)[0]
            d[at + 34:at + 34 + n] = (text + b" " * n)[:n]
        at += 8 + (length + 7) // 8 * 8
    struct.pack_into("<I", d, area + 12, zlib.crc32(d[area + 16:end]))
    with open(target, "wb") as f:
        f.write(d)


def run(out, until, command):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 300, 0, 0))
        os.execvp(command[0].decode(), command)
    got, ends, told = b"", time.monotonic() + 100, not until
    os.set_blocking(fd, False)
    while True:
        try:
            piece = os.read(fd, 65536)
            if not piece:
                break
            got += piece
            if not told and until in got:
                os.kill(pid, signal.SIGTERM)
                told = True
        except BlockingIOError:
            if time.monotonic() > ends:
                os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        except OSError:  # it has ended
            break
    os.waitpid(pid, 0)
    with open(out, "wb") as f:
        f.write(re.sub(rb"\x1b\[[0-9]+A\r\x1b\[J|\x1b\[K|\r", b"\n", got))


def main():
    what, args = sys.argv[1], [os.fsencode(a) for a in sys.argv[2:]]
    if what == "inject":
        inject(args[0], args[1], sys.argv[4].encode().decode("unicode_escape").encode("latin1"))
    elif what == "run":
        run(args[0], args[1], args[2:])
    else:
        bad = [b for b in map(check, sys.argv[2:]) if b]
        print("\n".join(bad) or "harmless: %d files" % len(args))
        sys.exit(1 if bad else 0)


main()
