"""In frisbeed's place, for tests/web/many.sh: it sends nothing, and writes the statistics of a session
to NODES clients, which come forward for some minutes, each at its own rate."""
import json, os, random, signal, sys, time

NODES, T = int(os.environ["NODES"]), os.environ["T"]
CHUNKS, SECONDS = 2000, 180
open(T + "/frisbeed.pid", "w").write(str(os.getpid()))
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
stats = next((a.split("=", 1)[1] if "=" in a else sys.argv[i + 1] for i, a in enumerate(sys.argv) if a.startswith("--stats")), None)
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
    if stats:
        with open(stats + ".new", "w") as f:
            json.dump({"seconds": t, "chunks": CHUNKS, "sessions": [session]}, f)
        os.rename(stats + ".new", stats)
    time.sleep(1)
