#!/usr/bin/env python3
"""A neighbour that lies about a session: hostile.py OWN GROUP PORT SECONDS IMAGE AS LIE...

It asks who serves, as "frisbee --doctor" does, until somebody answers, and then tells each lie 100
times a second for so long, or until SIGTERM, AS itself ("own") or with the server's address
("server"; needs root).
"join" only joins and leaves.  Of a session with --group-key it reads what the server answers
to others.  With SEED=N in the environment other lies are drawn.  Prints "lies" when it
begins, and at the end how many packets it sent."""
import os
import random
import signal
import socket
import struct
import sys
import time

from mutate import mutated

own, group, port, seconds, image = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
spoofs, lies = sys.argv[6] == "server", sys.argv[7:]
CHUNK, BLOCK, AUTH = 1 << 20, 1024, 48
chunk_bytes = b""
random.seed(int(os.environ.get("SEED", "1")))
client = random.getrandbits(31)
if image != "-":
    chunks = os.path.getsize(image) // CHUNK
    victim = max(chunks - 3, 0)
    with open(image, "rb") as f:
        everything = f.read()
    chunk_bytes = everything[victim * CHUNK:(victim + 1) * CHUNK]


def listen(at):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 2)
    s.bind(("", at))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(own))
    return s


def head(kind, subtype, length, source):
    return struct.pack("<iiI", kind, subtype, length) + socket.inet_aton(source)


def who_serves(s):
    s.settimeout(0.2)
    for _ in range(900):
        ask = head(1, 1, 4, own) + struct.pack("<I", client) + b"FBX1" + struct.pack("<I", 256 | 2)
        s.sendto(ask, (group, port))
        try:
            while True:
                pkt, peer = s.recvfrom(9000)
                if pkt[:5] == b"FBXA\3":
                    pkt = pkt[AUTH:]
                if len(pkt) >= 52 and pkt[:4] == b"\2\0\0\0" and pkt[20:24] == b"FBX1":
                    return peer[0], pkt
        except socket.timeout:
            pass
    sys.exit("nobody serves")


first = listen(port)
if lies == ["join"]:
    for what in (head(1, 1, 4, own), head(1, 2, 8, own)):
        first.sendto(what + struct.pack("<Ii", 77, 0), (group, port))
        time.sleep(0.1)
    print("sent 2")
    sys.exit()
server, answer = who_serves(first)
blocks, = struct.unpack("<i", answer[16:20])
second_port, = struct.unpack("<H", answer[26:28])
identity, session = answer[28:44], struct.unpack("<I", answer[44:48])[0]
second = listen(second_port)
source = server if spoofs else own
raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) if spoofs else None
if raw:
    raw.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))


def send(body, at):
    if not spoofs:
        (first if at == port else second).sendto(body, (group, at))
        return
    udp = struct.pack(">HHHH", at, at, 8 + len(body), 0)
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(body), random.randrange(65536), 0, 2, 17, 0)
    raw.sendto(ip + socket.inet_aton(source) + socket.inet_aton(group) + udp + body, (group, 0))


def ext(kind, in_session, body):
    return b"FBX1" + bytes([kind, 0, 0, 0]) + socket.inet_aton(source) + struct.pack("<I", in_session) + body


def state(in_session, name, flags):
    n = blocks // BLOCK
    return ext(1, in_session, name + struct.pack("<III", flags, 2, n) + struct.pack("<II", 0, n) + b"\xff" * ((n + 7) // 8))


def block(number, data):
    return head(1, 3, 8 + BLOCK, source) + struct.pack("<ii", victim, number) + data


def spoiled(at, with_):
    data = bytearray(chunk_bytes[at // BLOCK * BLOCK:at // BLOCK * BLOCK + BLOCK])
    data[at % BLOCK:at % BLOCK + len(with_)] = with_
    return block(at // BLOCK, bytes(data))


def flipped():
    """A block of any place with one bit flipped, as what somebody waits for."""
    chunk, number = random.randrange(chunks), random.randrange(BLOCK)
    data = bytearray(everything[chunk * CHUNK + number * BLOCK:][:BLOCK])
    data[random.randrange(BLOCK)] ^= 1 << random.randrange(8)
    return ext(19, session, struct.pack("<IHH", chunk, number, BLOCK) + bytes(data))


def asks_all():
    """Every block of chunks drawn at random: as many as go into one message."""
    runs = b"".join(struct.pack("<IHH", random.randrange(chunks), 0, BLOCK) for _ in range(80))
    return ext(18, session, struct.pack("<II", client, 80) + runs)


wrong_block = b"\x55" * BLOCK
tell = {
    "stale": lambda: (state(session, identity, 2), second_port),
    "other-image": lambda: (state(session, bytes(16), 0), second_port),
    "other-size": lambda: (head(2, 1, 4, source) + struct.pack("<i", blocks + BLOCK) + answer[20:52], port),
    "other-session": lambda: (state(session + 2, identity, 0), second_port),
    "wrong-block": lambda: (block(500, wrong_block), port),
    "wrong-parity": lambda: (ext(4, session, struct.pack("<IBBH", victim, random.randrange(8), random.randrange(127), 0) + wrong_block), second_port),
    "wrong-end": lambda: (ext(12, session, struct.pack("<IHH", victim, 0, 1) + wrong_block), second_port),
    "no-extension": lambda: (spoiled(chunk_bytes.find(b"NDZ-EXT1"), bytes(8)), port),
    "flipped": lambda: (flipped(), second_port),
    "asks-all": lambda: (asks_all(), second_port),
    "encrypted": lambda: (spoiled(0, b"NDZE"), port),
}
# What passes, to be sent again or made use of.
heard = {port: [], second_port: []}
first.setblocking(False)
second.setblocking(False)


def listen_in():
    for s, at in ((first, port), (second, second_port)):
        try:
            while len(heard[at]) < 20000:
                heard[at].append(s.recv(9000))
        except BlockingIOError:
            pass


def again():
    at = random.choice((port, second_port))
    return (random.choice(heard[at]) if heard[at] else b"", at)


def resealed(lie):
    """A lie behind the header of the server's last packet, or nearly that."""
    body, at = lie
    head = bytearray(next((p for p in reversed(heard[at]) if p[:5] == b"FBXA\3"), bytes(AUTH))[:AUTH])
    number, = struct.unpack("<Q", head[24:32])
    head[24:32] = struct.pack("<Q", number + random.choice((0, 1, 1000, 1 << 40)))
    return bytes(head) + body, at


def changed():
    """Something that has passed, now or a while ago, and not as it was."""
    body, at = again()
    return mutated(random, body), at


tell |= {
    "again": again,
    "changed": changed,
    "sealed-again": again,
    "sealed-block": lambda: resealed(tell["wrong-block"]()),
    "sealed-stale": lambda: resealed(tell["stale"]()),
    "sealed-hello": lambda: (b"FBXA\1" + random.randbytes(AUTH - 5), port),
    "sealed-stranger": lambda: (b"".join(p[:8] + random.randbytes(8) + p[16:] for p in (resealed(tell["wrong-block"]())[0],)), port),
}
sent, end, told = 0, time.monotonic() + seconds, []
signal.signal(signal.SIGTERM, lambda *_: told.append(True))
print("lies", flush=True)
while time.monotonic() < end and not told:
    listen_in()
    for lie in lies:
        try:
            send(*tell[lie]())
            sent += 1
        except OSError:
            pass
    time.sleep(0.01)
print("sent", sent)
