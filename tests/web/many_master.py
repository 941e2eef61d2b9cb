"""In mfrisbeed's place, for tests/web/many.sh: it sends nothing, says that it serves what it is asked for, and
writes the statistics of a session to NODES clients, which come forward for some minutes, each at its own rate."""
import json, os, random, socket, threading, time

NODES, T = int(os.environ["NODES"]), os.environ["T"]
CHUNKS, SECONDS = 2000, 180
stats = T + "/statistics.json"
asked = threading.Event()


def serve():
    """Answers the controller, which holds one image at most."""
    s = socket.socket(socket.AF_UNIX)
    s.bind(T + "/master.sock")
    s.listen()
    while True:
        c = s.accept()[0]
        sessions = []
        for line in c.makefile():
            words = line.split()
            if words[0] == "begin":
                sessions = [{"name": words[1], "state": "serving", "group": "239.192.77.1", "port": 7701, "holders": [words[2].split("=")[1]], "statistics": stats}]
                asked.set()
            elif words[0] == "end":
                sessions = []
            if words[0] == "images":
                c.sendall(b'{"ok": true,"images": [{"name": "lab.ndz","bytes": 1000000,"modified": 1764000000,"version": "1764000000"}],"more": false}\n')
                continue
            c.sendall(b'{"ok": true}\n' + (json.dumps({"sessions": sessions}).encode() + b"\n" if words[0] != "version" else b""))


threading.Thread(target=serve, daemon=True).start()
asked.wait()
chance = random.Random(1)
pace = [chance.uniform(0.9, 1.1) for _ in range(NODES)]
begun = time.monotonic()
while True:
    t = time.monotonic() - begun
    clients = []
    for i in range(NODES):
        progress = min(0.999, t / SECONDS * pace[i])
        clients.append({"address": f"127.1.{i // 200}.{i % 200 + 1}", "extension": True, "has_left": False, "silence_s": 0.2,
                        "state": "slow link" if i == 7 else "slow disk" if i == 8 else "loading", "blocks_lost": i, "share_lost": 0.001 * (i % 5), "joins": 1,
                        "control_messages": 100, "progress": progress, "rate_bits_per_s": 9e8 * pace[i], "seconds_left": (1 - progress) * SECONDS})
    sent = int(512 * min(1, t / SECONDS))
    session = {"image": "lab.ndz", "address": "239.192.77.1:7701", "state": "serving", "seconds": t, "chunks": CHUNKS, "chunk_map": "f" * sent + "0" * (512 - sent),
               "blocks_sent": int(CHUNKS * 1024 * t / SECONDS), "blocks_resent": 100, "blocks_lost": 100, "rate_bits_per_s": int(9e8),
               "clients_known": NODES, "clients_done": 0, "clients": clients}
    with open(stats + ".new", "w") as f:
        json.dump({"seconds": t, "chunks": CHUNKS, "sessions": [session]}, f)
    os.rename(stats + ".new", stats)
    time.sleep(1)
