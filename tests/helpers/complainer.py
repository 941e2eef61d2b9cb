"""A stranger on the group that joins, and then all the time reports that it lacks much of
everything, or complains that the server is too fast: complainer.py OWN GROUP PORT RATE report|load
It says what a client says, from its own address, RATE messages a second, until it is ended."""
import random, select, socket, struct, sys, time

own, group, port, rate, what = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
random.seed(1)
ip, client = socket.inet_aton(own), random.getrandbits(31)


def sock(p):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, ip)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + ip)
    s.bind(("", p))
    return s


def message(kind, session, body):
    return b"FBX1" + bytes([kind, 0, 0, 0]) + ip + struct.pack("<I", session) + body


first = sock(port)
join = struct.pack("<iiI", 1, 1, 4) + ip + struct.pack("<I", client) + b"FBX1" + struct.pack("<I", 1)
answer = None
while answer is None:
    first.sendto(join, (group, port))
    if select.select([first], [], [], 0.2)[0]:
        p = first.recv(9000)
        if p[:8] == struct.pack("<ii", 2, 1) and p[20:24] == b"FBX1":
            answer = p
blocks, second, session = struct.unpack_from("<I", answer, 16)[0], struct.unpack_from("<H", answer, 26)[0], \
    struct.unpack_from("<I", answer, 44)[0]
first.close()
s = sock(second)
chunks, epoch, said, due = max(1, blocks // 1024), 0, 0, time.time()
while True:
    while select.select([s], [], [], max(0, due - time.time()))[0]:
        p = s.recv(9000)
        if p[:5] == b"FBX1\x06":
            epoch = struct.unpack_from("<I", p, 16)[0]
        if time.time() >= due:
            break
    due = max(due + 1 / rate, time.time())
    if what == "load":
        body = struct.pack("<IIIII", client, epoch, 90, 100, 1)
        s.sendto(message(7, session, body), (group, second))
    else:
        body = struct.pack("<II", client, 80)
        for k in range(80):
            body += struct.pack("<I", (80 * said + k) % chunks) + bytes([random.choice((60, 120, 128))]) * 8
        s.sendto(message(3, session, body), (group, second))
    said += 1
