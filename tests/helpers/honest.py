"""Honest requests: honest.py TIMES KIND ARGUMENT...; prints the milliseconds of the slowest one
	master HOME ERROR	a question to mfrisbeed, asked by this address, and the error in its answer
	upload IMAGE		an image that mfrisbeed takes and proves
	report PORT		a report of a node to controllerd
	dolly PORT		to join; a node answers that it is no server
	calibrate PORT		to measure the link
	session GROUP PORT OWN	who serves this group, asked by this address
	unicast PORT		a client that joins
	status PATH		how far a disk is
	web PORT		the list of nodes of controllerd
	export PORT		4 KiB of a disk that is served by NBD"""
import json, os, random, socket, struct, sys, time

DEADLINE = 50
VERDICT_MAGIC_BYTES = 4
ip = socket.inet_aton


def connect(port, home="127.0.0.1"):
    s = socket.create_connection(("127.0.0.1", int(port)), DEADLINE, source_address=(home, 0))
    s.settimeout(DEADLINE)
    return s


def exactly(s, n):
    got = b""
    while len(got) < n:
        more = s.recv(n - len(got))
        assert more, "it was closed"
        got += more
    return got


def of_master(home, kind, body, answer_bytes):
    s = connect(6400, home)
    s.sendall(b"V01\0" + struct.pack(">I", kind) + body)
    return exactly(s, answer_bytes)


def named(name):
    return struct.pack(">H", len(name)) + name.ljust(256, b"\0")


def master(home, error):
    r = of_master(home, 1, struct.pack(">4xBB", 7, 1) + named(b"a.ndz"), 288)
    assert struct.unpack(">H", r[10:12])[0] == int(error), r[:16]


def upload(image):
    data = open(image, "rb").read()
    ask = struct.pack(">4xB", 0) + named(b"up") + struct.pack(">QII", len(data), 0, 60)
    r = of_master("127.0.0.1", 3, ask, 291)
    error, addr, port = struct.unpack(">H4sH", r[8:16])
    assert error == 0, error
    s = connect(port)
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    verdict = exactly(s, 512)
    assert verdict[VERDICT_MAGIC_BYTES] == 1, verdict[:200]


def report(port):
    s = connect(port)
    s.sendall(b"report 52-54-00-00-00-01 - up x\n")
    assert s.recv(100)[:3] in (b"ok ", b"fai")


def dolly(port):
    join = b"doly" + struct.pack("<HHHB", 3, 3, 1, 1) + b"n"
    s = connect(port)
    s.sendall(struct.pack("<IB", len(join), 1) + join)
    assert s.recv(100), "it was closed"


def calibrate(port):
    s = connect(port)
    s.sendall(b"dolly-s\n")
    exactly(s, 1000)


def header(subtype, n, own="127.0.0.1"):
    return struct.pack("<iiI", 1, subtype, n) + ip(own)


def asks(s, packet, to, is_answer):
    """Asks again as clients do, since packets may be lost."""
    until = time.monotonic() + DEADLINE
    s.settimeout(0.3)
    while time.monotonic() < until:
        s.sendto(packet, to)
        try:
            while not is_answer(s.recv(9000)):
                pass
            return
        except socket.timeout:
            pass
    raise AssertionError("nobody serves")


def session(group, port, own):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, ip(own))
    s.bind(("", int(port)))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, ip(group) + ip(own))
    ask = header(1, 4, own) + struct.pack("<I4sI", random.getrandbits(31), b"FBX1", 256 | 2)
    asks(s, ask, (group, int(port)), lambda p: p[:4] == b"\2\0\0\0" and p[20:24] == b"FBX1")


def unicast(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ask = header(1, 4) + struct.pack("<i", 7) + b"FBXC" + bytes(8)
    asks(s, ask, ("127.0.0.1", int(port)), lambda p: p[-12:-8] == b"FBXC")


def status(path):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)     # a socket that may wait waits while the listener's queue is full
    s.settimeout(DEADLINE)
    text = b""
    while more := s.recv(65536):
        text += more
    assert json.loads(text)["complete"] is False, text


def web(port):
    s = connect(port)
    s.sendall(b"GET /api/v1/nodes HTTP/1.1\r\nHost: localhost:%d\r\nConnection: close\r\n\r\n" % int(port))
    assert exactly(s, 12) == b"HTTP/1.1 200"


def export(port):
    s = connect(port)
    exactly(s, 18)
    s.sendall(struct.pack(">IQII", 3, 0x49484156454F5054, 1, 0))
    exactly(s, 10)
    s.sendall(struct.pack(">IHHQQI", 0x25609513, 0, 0, 7, 0, 4096))
    assert exactly(s, 16 + 4096)[4:16] == struct.pack(">IQ", 0, 7)


worst = 0
for i in range(int(sys.argv[1])):
    began = time.monotonic()
    globals()[sys.argv[2]](*sys.argv[3:])
    worst = max(worst, time.monotonic() - began)
print(int(worst * 1000))
