#!/usr/bin/env python3
"""What passes a group, kept and sent again: recording.py OWN GROUP PORT record|replay FILE

Of PORT and the port behind it.  "record" ends with SIGTERM; "replay" sends each packet as it
was, with the address that it came from (needs root)."""
import pickle
import random
import select
import signal
import socket
import struct
import sys
import time

own, group, port, what, path = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]


def listen(at):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
    s.bind((group, at))
    s.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(group) + socket.inet_aton(own))
    return s


def record():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    heard = []
    ports = {listen(at): at for at in (port, port + 1)}
    open(path, "wb").close()
    try:
        while True:
            for s in select.select(list(ports), [], [])[0]:
                pkt, peer = s.recvfrom(65536)
                heard.append((peer[0], ports[s], pkt))
    finally:
        with open(path, "wb") as f:
            pickle.dump(heard, f)


def replay():
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    raw.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(own))
    with open(path, "rb") as f:
        heard = pickle.load(f)
    for i, (source, at, pkt) in enumerate(heard):
        udp = struct.pack(">HHHH", at, at, 8 + len(pkt), 0)
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(pkt), random.randrange(65536), 0, 2, 17, 0)
        raw.sendto(ip + socket.inet_aton(source) + socket.inet_aton(group) + udp + pkt, (group, 0))
        if i % 16 == 0:
            time.sleep(0.002)
    print("sent", len(heard))


record() if what == "record" else replay()
