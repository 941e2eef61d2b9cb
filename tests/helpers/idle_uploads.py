"""Uploads to mfrisbeed that go on for ever: idle_uploads.py PORT COUNT ADDRESS...
From each of these addresses, COUNT at a time, each of which sends a byte a second, until it is
killed.  Prints "here" when all have been begun once."""
import socket, struct, sys, time

port, count, homes = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]


def exactly(s, n):
    got = b""
    while len(got) < n:
        more = s.recv(n - len(got))
        if not more:
            raise OSError("closed")
        got += more
    return got


def begin(home, i):
    """The connection of an upload, or None."""
    name = b"idle%s-%d" % (home.encode(), i)
    try:
        s = socket.create_connection(("127.0.0.1", port), 5, source_address=(home, 0))
        ask = b"V01\0" + struct.pack(">I4xBH", 3, 0, len(name)) + name.ljust(256, b"\0")
        s.sendall(ask + struct.pack(">QII", 1000000, 0, 3600))
        r = exactly(s, 291)
        s.close()
        error, at = struct.unpack(">H4xH", r[8:16])
        return None if error else socket.create_connection(("127.0.0.1", at), 5, (home, 0))
    except OSError:
        return None


mine = {(h, i): None for h in homes for i in range(count)}
said = False
while True:
    for who, s in mine.items():
        if s is None:
            s = mine[who] = begin(*who)
        try:
            if s is not None:
                s.send(b"x")
        except OSError:
            mine[who] = None
    if not said:
        said = True
        print("here", flush=True)
    time.sleep(1)
