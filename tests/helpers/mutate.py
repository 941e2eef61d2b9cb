"""Somebody in the middle who changes what passes, by a seed, until it is killed:
	mutate.py tcp PORT TO-PORT PERMILLE SEED		connections to PORT go to TO-PORT of this host
	mutate.py session GROUP PORT SERVER-SIDE CLIENT-SIDE PERMILLE SEED
		a session of frisbeed that is heard at one address of this host is served at the other
		one, as if it were its own: so many packets of the server are changed; of a hundred,
		one comes twice, one late, and one never
Prints "here" when it has begun."""
import heapq, random, select, socket, struct, sys, threading, time

ip = socket.inet_aton
WORDS = (0, 1, 2, 255, 1023, 1024, 1025, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
last = b""      # what passed before


def mutated(r, p):
    """A copy of the packet in which something is other than it was; in half of them in its first bytes."""
    global last
    other, last, p = last, p, bytearray(p)
    span = min(len(p), 64) if r.random() < 0.5 else len(p)
    for _ in range(r.choice((1, 1, 1, 3))):
        what, at = r.randrange(7), r.randrange(max(1, span))
        if what < 2 and at < len(p):
            p[at] ^= 1 << r.randrange(8)
        elif what == 2 and at + 4 <= len(p):
            struct.pack_into("<I", p, at & ~3, r.choice(WORDS))
        elif what == 3 and at + 4 <= len(p):
            struct.pack_into("<I", p, at & ~3, r.getrandbits(32))
        elif what == 4:
            del p[at:]
        elif what == 5:
            p += r.randbytes(r.randrange(1, 200))
        else:
            p[at:] = other[at:]
    return bytes(p)


def pass_on(r, source, to, permille):
    try:
        while data := source.recv(16384):
            to.sendall(mutated(r, data) if r.randrange(1000) < permille else data)
    except OSError:
        pass
    for s in (source, to):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def tcp(port, to, permille, seed):
    r, listener = random.Random(seed), socket.create_server(("", port), backlog=100)
    print("here", flush=True)
    while True:
        s, _ = listener.accept()
        try:
            t = socket.create_connection(("127.0.0.1", to), 20)
        except OSError:
            s.close()
            continue
        for a, b in ((s, t), (t, s)):
            threading.Thread(target=pass_on, args=(r, a, b, permille), daemon=True).start()


def member(group, port, own):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, ip(own))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 0)
    s.bind((group, port))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, ip(group) + ip(own))
    # Of all groups that this host is a member of, only what comes in where it is one.
    s.setsockopt(socket.IPPROTO_IP, getattr(socket, "IP_MULTICAST_ALL", 49), 0)
    return s


def owned(p, own):
    """The packet as this address sends it."""
    at = 8 if p[:4] == b"FBX1" else 12
    return p[:at] + ip(own) + p[at + 4 :]


def session(group, port, server_side, client_side, permille, seed):
    r, late, n = random.Random(seed), [], 0
    to_client = {}
    for at in (port, port + 1):
        to_client[member(group, at, server_side)] = member(group, at, client_side), at
    to_server = {c: (s, at) for s, (c, at) in to_client.items()}
    print("here", flush=True)
    while True:
        ready = select.select([*to_client, *to_server], [], [], 0.02)[0]
        for s in ready:
            p = s.recv(9000)
            if s in to_server:
                out, at = to_server[s]
                out.sendto(owned(p, server_side), (group, at))
                continue
            out, at = to_client[s]
            p, what = owned(p, client_side), r.randrange(1000)
            if r.randrange(1000) < permille:
                p = mutated(r, p)
            if what < 20:               # late, the first ten of them twice
                n += 1
                heapq.heappush(late, (time.monotonic() + r.random(), n, out, at, p))
            if what < 10 or what >= 30: # from 20 on: never
                out.sendto(p, (group, at))
        while late and late[0][0] <= time.monotonic():
            _, _, out, at, p = heapq.heappop(late)
            out.sendto(p, (group, at))


if __name__ == "__main__" and sys.argv[1] == "tcp":
    tcp(*map(int, sys.argv[2:6]))
elif __name__ == "__main__":
    session(sys.argv[2], int(sys.argv[3]), *sys.argv[4:6], *map(int, sys.argv[6:8]))
