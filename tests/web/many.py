"""many.py PID: what tests/web/many.sh asserts; PID is the controller."""
import concurrent.futures, json, os, socket, sys, threading, time, urllib.request
from browser import Browser, check, done

PID, NODES, NET, URL = int(sys.argv[1]), int(os.environ["NODES"]), os.environ["NET"], "http://127.0.0.1:8484"
WATCHED_S, EVERY_S = 20, int(os.environ.get("EVERY_S", 10))	# each node reports every EVERY_S seconds
POOL = concurrent.futures.ThreadPoolExecutor(50)	# a node does not wait for the answer of another
http = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def call(method, path, body=None):
    headers = {} if body is None else {"Content-Type": "application/json", "Authorization": "Bearer " + open(NET + "/controller/token").readline().split()[1]}
    with http.open(urllib.request.Request(URL + path, None if body is None else json.dumps(body).encode(), headers, method=method), timeout=30) as a:
        return json.loads(a.read())


def until(question, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if question():
                return True
        except OSError:
            pass
        time.sleep(0.2)
    return False


def report(i, order, phase, text):
    mac = f"52-54-00-00-{(i + 1) // 256:02x}-{(i + 1) % 256:02x}"
    with socket.socket() as s:
        s.settimeout(20)
        s.bind((f"127.1.{i // 200}.{i % 200 + 1}", 0))
        s.connect(("127.0.0.1", 5101))
        s.sendall(f"report {mac} {order} {phase} {text}\n".encode())
        return s.recv(100).startswith(b"ok ")


def order_of(i):
    words = open(f"{NET}/boot/orders/52-54-00-00-{(i + 1) // 256:02x}-{(i + 1) % 256:02x}.ipxe").read().split()
    return next(w for w in words if w.startswith("frisbee.order="))[len("frisbee.order="):]


class Reporting(threading.Thread):
    """All nodes report again and again."""
    def __init__(self, orders):
        super().__init__(daemon=True)
        self.orders, self.n, self.answers, self.ended = orders, 0, [], False

    def one(self, n):
        try:
            self.answers.append(report(n % NODES, self.orders[n % NODES], "loading", f"lab.ndz onto sda, {n}"))
        except OSError:
            self.answers.append(False)

    def run(self):
        begun = time.monotonic()
        while not self.ended:
            POOL.submit(self.one, self.n)
            self.n += 1
            time.sleep(max(0, begun + self.n * EVERY_S / NODES - time.monotonic()))


def cpu_s():
    fields = open(f"/proc/{PID}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    check("the controller answers", until(lambda: call("GET", "/api/v1/nodes")["nodes"]))
    session = call("POST", "/api/v1/sessions", {"nodes": f"node[0001-{NODES:04d}]", "image": "lab.ndz", "request": "many"})
    check("each node has an order", until(lambda: len(os.listdir(NET + "/boot/orders")) == 2 * NODES), len(os.listdir(NET + "/boot/orders")))
    orders = [order_of(i) for i in range(NODES)]
    check("all report, and are heard", all(POOL.map(lambda i: report(i, orders[i], "loading", "lab.ndz onto sda"), range(NODES))))
    check("all load", until(lambda: call("GET", f"/api/v1/sessions/{session['id']}")["nodes"]["loading"] == NODES))
    reporting = Reporting(orders)
    reporting.start()

    before, begun = cpu_s(), time.monotonic()
    time.sleep(WATCHED_S / 2)
    alone = (cpu_s() - before) / (time.monotonic() - begun)
    print(f"{NODES} nodes that report every {EVERY_S} s: {100 * alone:.1f} % of a processor, nobody watching")

    b = Browser(URL)
    b.until("the page shows all of them", lambda: f"{NODES} loading" in b.text("share-words"))
    b.run("""window.tasks = []; window.frames = []; window.drawn = [];
        new PerformanceObserver(l => l.getEntries().forEach(e => tasks.push(e.duration))).observe({ type: 'longtask' });
        const old = draw; draw = () => { const t = performance.now(); old(); drawn.push(performance.now() - t); };
        let last = performance.now(); (function frame(t) { frames.push(t - last); last = t; requestAnimationFrame(frame); })(last);""")
    before, begun, n = cpu_s(), time.monotonic(), 0
    most_rows, seen = 0, set()
    while time.monotonic() < begun + WATCHED_S or (len(seen) <= 200 and time.monotonic() < begun + 6 * WATCHED_S):    # a busy machine draws seldom
        n += 1
        b.run("scrollTo(0, arguments[0])", (n * 700) % 30000)
        time.sleep(0.2)
        rows = b.rows()
        most_rows = max(most_rows, len(rows))
        seen |= {r[0] for r in rows}
    watched = (cpu_s() - before) / (time.monotonic() - begun)
    drawn, frames, tasks = sorted(b.run("return drawn")), sorted(b.run("return frames")), b.run("return tasks")
    answers = list(reporting.answers)
    print(f"with a page that follows: {100 * watched:.1f} % of a processor; {len(answers)} reports, {answers.count(False)} refused")
    print(f"the page: drawn {len(drawn)} times, {drawn[len(drawn) // 2]:.1f} ms in the middle, {drawn[-1]:.1f} ms at most; frames {frames[len(frames) // 2]:.0f} ms in the middle, "
          f"{frames[int(len(frames) * .95)]:.0f} ms for 95 %; {len(tasks)} tasks of more than 50 ms")
    check("only rows that are seen exist", most_rows <= 60, most_rows)
    check("scrolling shows others", len(seen) > 200, len(seen))
    check("every report was taken", all(answers), answers.count(False))
    check("the controller needs little of a processor", watched < 0.5, watched)	# on a machine that does much else
    b.run("scrollTo(0, 0)")
    time.sleep(0.6)
    check("trouble comes first", [r[1] for r in b.rows()[:2]] == ["slow link", "slow disk"], b.rows()[:3])
    b.picture("many")
    b.size(390, 844)
    time.sleep(0.8)
    b.picture("many-phone")
    check("no sideways scroll on a phone", b.wide() <= 0, b.wide())
    b.close()
    reporting.ended = True
    call("POST", f"/api/v1/sessions/{session['id']}/stop", {})
    check("it can be stopped", until(lambda: call("GET", f"/api/v1/sessions/{session['id']}")["state"] == "stopped"))
    done()


main()
