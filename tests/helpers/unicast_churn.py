"""Clients of frisbeed --unicast that come and go: unicast_churn.py PORT ADDRESS...
From each of these addresses 16 sockets join at 127.0.0.1, play another server, and leave, again and
again, until it is killed.  Prints "here" when one has been served, and "rounds" when many were."""
import select, socket, struct, sys, time

port, homes = int(sys.argv[1]), sys.argv[2:]


def header(home, kind, subtype, n):
    return struct.pack("<iiI", kind, subtype, n) + socket.inet_aton(home)


def join(home, cookie):
    return header(home, 1, 1, 4) + struct.pack("<i", 7) + b"FBXC" + struct.pack("<Q", cookie)


def call(home):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((home, 0))
    s.connect(("127.0.0.1", port))
    s.send(join(home, 0))
    mine[s] = [home, 0, time.monotonic()]


def goes(s):
    mine.pop(s)
    s.close()


mine, rounds, said = {}, 0, 0
for h in homes:
    for _ in range(16):
        call(h)
while True:
    for s in select.select(list(mine), [], [], 0.05)[0]:
        home, heard, _ = mine[s]
        try:
            p = s.recv(9000)
            if heard == 0 and p[-12:-8] == b"FBXC":
                s.send(join(home, struct.unpack("<Q", p[-8:])[0]))
                mine[s][1] = 1
            elif heard == 1 and p[:4] == b"\2\0\0\0":
                s.send(header(home, 2, 1, 4) + struct.pack("<i", 1000))     # as another server
                s.send(header(home, 1, 2, 8) + struct.pack("<Ii", 7, 1))    # LEAVE
                mine[s][1] = 2
                rounds += 1
        except OSError:
            mine[s][1] = 2
    now = time.monotonic()
    for s in [s for s, m in mine.items() if m[1] == 2 or now - m[2] > 2]:
        home = mine[s][0]
        goes(s)
        call(home)
    if said == 0 and rounds:
        said = 1
        print("here", flush=True)
    if said == 1 and rounds > 5 * len(homes):
        said = 2
        print("rounds", flush=True)
