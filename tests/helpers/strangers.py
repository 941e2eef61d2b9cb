"""Packets that nobody needs, from the session's own port: strangers.py ADDR GROUP PORT COUNT RATE SEED [many]
With "many": joins and leaves from ever other addresses in 10.0.0.0/8 (needs raw sockets).
Else junk, packets cut short, packets that claim another sender, joins with ever new ids,
requests for chunks that do not exist, parts of the extension on both ports."""
import random, socket, struct, sys, time

own, group, port, count, rate, seed = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:7])
many = sys.argv[7:] == ["many"]
r = random.Random(seed)
ip = socket.inet_aton(own)
multicast = 224 <= int(group.split(".")[0]) <= 239


def header(subtype, n, source=ip, kind=1):
    return struct.pack("<iiI", kind, subtype, n) + source


def packet():
    what = r.randrange(8)
    if what == 0:
        return r.randbytes(r.randrange(1, 1057))
    if what == 1:
        return header(1, 4)[: r.randrange(1, 16)]
    if what == 2:
        return header(4, 12, r.randbytes(4)) + struct.pack("<iii", 0, 0, 1024)
    if what == 3:
        return header(1, 4) + struct.pack("<i", r.randrange(1 << 31))
    if what == 4:
        return header(4, 12) + struct.pack("<iii", 1 << 20, 0, 1024)
    if what == 5:
        return header(6, 136) + struct.pack("<ii", 1 << 20, 1) + r.randbytes(128)
    if what == 6:
        return b"FBX1" + bytes([r.randrange(1, 9), 0, 0, 0]) + ip + r.randbytes(r.randrange(4, 600))
    return header(5, 8) + struct.pack("<ii", r.randrange(1 << 31), 0)


def sock(p):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if multicast:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, ip)
    s.bind((own, p))
    s.setblocking(False)
    return s


def forged():
    """A whole datagram: the kernel fills in the rest of the IP header."""
    source = bytes([10, r.randrange(100, 200), r.randrange(256), r.randrange(1, 255)])
    what = r.randrange(4)
    body = header(5 if what == 0 else 1, 8 if what == 0 else 4, source) + struct.pack("<i", r.randrange(1 << 31))
    body += struct.pack("<i", 0) if what == 0 else b"FBX1" + struct.pack("<I", 1) if what == 1 else b""
    udp = struct.pack(">HHHH", port, port, 8 + len(body), 0)
    return struct.pack(">BBHHHBBH", 0x45, 0, 0, 0, 0, 1, 17, 0) + source + socket.inet_aton(group) + udp + body


def raw():
    s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, ip)
    s.setblocking(False)
    return s


# With PORT 0 behind it, any port of ours: for a server that answers there.
first, second = (raw(), None) if many else (sock(port), sock(port + 1))
began, sent = time.monotonic(), 0
while sent < count:
    for i in range(64):
        try:
            if many:
                first.sendto(forged(), (group, 0))
                continue
            (first if i % 4 else second).sendto(packet(), (group, port if i % 4 else port + 1))
        except OSError:
            pass
    sent += 64
    ahead = began + sent / rate - time.monotonic()
    if ahead > 0:
        time.sleep(ahead)
print(sent, "packets in %.1f s" % (time.monotonic() - began))
