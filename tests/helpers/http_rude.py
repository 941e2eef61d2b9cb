"""What a stranger sends to the controller by HTTP (tests/cli/controller_http.sh).

    http_rude.py PID PORT TOKENS REQUESTS

PID is the controller, which listens on PORT of 127.0.0.1; TOKENS its file of two tokens; REQUESTS is
how many requests in a row must not make it larger.
"""
import json, os, random, socket, sys, threading, time

PID, PORT, TOKENS, REQUESTS = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
MOST_OF_ONE, MOST, MOST_FOLLOWERS, REQUEST_S = 200, 1000, 64, 30
SILENCE_S = 15  # after which a connection is closed on which nothing comes
bad = 0


def check(what, right, why=""):
    global bad
    bad += not right
    print(f"ok: {what}" if right else f"FAIL: {what}: {why}", flush=True)


def connect(source="127.0.0.1"):
    s = socket.socket()
    s.settimeout(100)
    s.bind((source, 0))
    s.connect(("127.0.0.1", PORT))
    return s


def read_all(s):
    got = b""
    try:
        while len(got) < 1 << 20 and (some := s.recv(65536)):
            got += some
    except OSError:
        pass
    return got


def ask(method, path, body=None, source="127.0.0.1", **headers):
    """(status, headers, body) of one request; status 0: no answer."""
    s = connect(source)
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    head = {"Host": "127.0.0.1", "Connection": "close", **{k.replace("_", "-"): v for k, v in headers.items()}}
    if body is not None:
        head.setdefault("Content-Length", str(len(data)))
    try:
        s.sendall(f"{method} {path} HTTP/1.1\r\n".encode() + "".join(f"{k}: {v}\r\n" for k, v in head.items()).encode("latin-1") + b"\r\n" + data)
    except OSError:
        pass
    got = read_all(s)
    s.close()
    top, _, rest = got.partition(b"\r\n\r\n")
    lines = top.decode("latin-1").split("\r\n")
    if not lines[0].startswith("HTTP/1."):
        return 0, {}, b""
    return int(lines[0].split()[1]), {k.lower(): v for k, _, v in (line.partition(": ") for line in lines[1:])}, rest


def token(n):
    return {"Authorization": "Bearer " + open(TOKENS).read().split()[2 * n + 1], "Content_Type": "application/json"}


def sessions():
    return json.loads(ask("GET", "/api/v1/sessions")[2])["sessions"]


def answers():
    try:
        return ask("GET", "/api/v1/nodes", source="127.0.0.9")[0] == 200
    except OSError:     # it does not listen yet, or not any more
        return False


def is_open(s):
    """Has the other end not closed this connection, which has no request?"""
    try:
        return s.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def resident_kb():
    return int(next(line for line in open(f"/proc/{PID}/status") if line.startswith("VmRSS")).split()[1])


def descriptors():
    return len(os.listdir(f"/proc/{PID}/fd"))


def until(question, seconds=100):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if question():
            return True
        time.sleep(0.1)
    return False


def headers_of_all():
    print("== headers")
    wanted = {"content-security-policy": "default-src 'none'", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "cache-control": "no-cache"}
    for path, status in (("/", 200), ("/page.css", 200), ("/page.js", 200), ("/api/v1/sessions", 200), ("/api/v1/images", 200), ("/api/v1/sent", 200),
                         ("/metrics", 200), ("/api/v1/token", 401), ("/nothing", 404), ("/api/v1/sessions/77", 404)):
        got, headers, _ = ask("GET", path)
        lacking = [k for k, v in wanted.items() if not headers.get(k, "").startswith(v)]
        check(f"{path}: {status}, with all headers", got == status and not lacking, f"{got}, without {lacking}")
        check(f"{path}: no script of the page's own text, no other host", "unsafe" not in headers.get("content-security-policy", "unsafe"), headers)
        check(f"{path}: nobody else's page may read it", "access-control-allow-origin" not in headers, headers)


def traversal():
    print("== no other file is given out")
    for path in ("/../nodes", "/..%2fnodes", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/page.css/../../nodes", "/page.css%00.html", "/..\\nodes",
                 "/images/hidden.txt", "/controller/token", "/token", "/state.db", "/api/v1/nodes/../../token", "/api/v1/nodes/%2e%2e%2ftoken", "/index.html/",
                 "/" + "a" * 8000, "/%ff%fe", "/api/v1/sessions/-1", "/api/v1/sessions/1e9", "/api/v1/sessions/99999999999999999999", "*"):
        status, _, body = ask("GET", path)
        check(f"GET {path[:40]}: refused", status in (0, 400, 404, 405, 414) and b"root:" not in body and b"secret" not in body and token(0)["Authorization"][7:].encode() not in body, (status, body[:60]))


def other_names():
    print("== a page of another host, whose name leads here")
    names = ("evil.example", "evil.example:8484", "127.0.0.1.evil.example", "localhost.evil.example", "[::1].evil.example:80", "[evil", "0x7f.1", "2130706433", " ", "x" * 300)
    for name in names:
        for path in ("/", "/api/v1/nodes", "/metrics", "/page.js"):
            status, _, body = ask("GET", path, Host=name)
            check(f"{name[:30]}{path}: refused", status in (400, 421) and b"node1" not in body, (status, body[:60]))
    for name in ("127.0.0.1", "127.0.0.1:8484", "localhost", "LocalHost:1", "[::1]:8484", "10.9.0.1"):
        check(f"{name}: answered", ask("GET", "/api/v1/nodes", Host=name)[0] == 200)


def changes_nothing():
    print("== what may change something, and what may not")
    wish = {"nodes": "node1", "image": "lab.ndz"}
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW"):
        for path in ("/api/v1/sessions?nodes=node1&image=lab.ndz", "/api/v1/sessions/1/stop", "/api/v1/nodes/node1"):
            ask(method, path, wish, **token(0))
    check("no method but POST starts or stops anything", sessions() == [], sessions())
    json_only = {"Content_Type": "application/json"}
    for what, headers in (("no token", json_only), ("a wrong one", {**json_only, "Authorization": "Bearer " + "0" * 64}),
                          ("the beginning of one", {**json_only, "Authorization": token(0)["Authorization"][:-1]}),
                          ("one and a letter", {**json_only, "Authorization": token(0)["Authorization"] + "x"}),
                          ("an empty one", {**json_only, "Authorization": "Bearer "}), ("another scheme", {**json_only, "Authorization": token(0)["Authorization"].replace("Bearer", "Basic")}),
                          ("a cookie", {**json_only, "Cookie": "token=" + token(0)["Authorization"][7:]})):
        status = ask("POST", "/api/v1/sessions", wish, **headers)[0]
        check(f"with {what}: 401", status == 401, status)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        status = ask("POST", "/api/v1/sessions", wish, **{**token(0), "Content_Type": kind})[0]
        check(f"{kind}, which a form of another page can send: refused", 400 <= status < 500, status)
    for body in (b"", b"{", b"[]", b"null", b'"x"', b"{}", b'{"nodes":1,"image":"lab.ndz"}', b'{"nodes":"node1"}', b"[" * 10000, b'{"a":' * 5000, b"\xff\xfe{}", b"{}\0{}",
                 b'{"nodes":"node1","image":"../images/lab.ndz"}', b'{"nodes":"node1","image":"hidden.txt"}', b'{"nodes":"node[1-999999999]","image":"lab.ndz"}',
                 b'{"nodes":"node1","image":"lab.ndz","tries":-1}', b'{"nodes":"node1","image":"lab.ndz","words":"frisbee.action=shell"}',
                 b'{"nodes":"node1","image":"lab.ndz","words":"a\\nset order b"}', b'{"nodes":"node1","image":"lab.ndz","timeout_s":1e99}'):
        status, _, answer = ask("POST", "/api/v1/sessions", body, **token(0))
        check(f"{body[:44]!r}: refused with a sentence", 400 <= status < 500 and json.loads(answer).get("error"), (status, answer[:80]))
    check("nothing has begun", sessions() == [], sessions())


def too_large():
    print("== too large, and endless")
    status = ask("POST", "/api/v1/sessions", b"{}", **{**token(0), "Content_Length": "1000000000"})[0]
    check("a body that is said to have 1 GB", status in (0, 400, 413), status)
    s, sent = connect(), 0
    s.sendall(("POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nAuthorization: "
               + token(0)["Authorization"] + "\r\n\r\n").encode())
    try:
        while sent < 64 << 20:
            s.sendall(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            sent += 65536
    except OSError:
        pass
    s.close()
    check("an endless body is not read to its end", sent < 64 << 20, sent)
    s, sent = connect(), 0
    try:
        s.sendall(b"GET / HTTP/1.1\r\n")
        while sent < 16 << 20:
            s.sendall(b"X-More: " + b"y" * 4000 + b"\r\n")
            sent += 4010
    except OSError:
        pass
    s.close()
    check("nor are endless headers", sent < 16 << 20, sent)
    r = random.Random(1)
    for _ in range(200):
        s = connect()
        try:
            s.sendall(r.randbytes(r.randrange(1, 600)) if r.random() < 0.5 else b"GET /" + r.randbytes(50) + b" HTTP/1.1\r\n\r\n")
            s.shutdown(socket.SHUT_WR)
            s.settimeout(0.2)
            read_all(s)
        except OSError:
            pass
        s.close()
    check("200 requests of noise, and it answers", answers())


def many():
    print("== thousands of connections")
    before = descriptors()
    held, begun = [], time.monotonic()
    for i in range(MOST_OF_ONE + 50):
        try:
            held.append(connect())
        except OSError:
            break
    for s in held:
        s.setblocking(False)
    # Before the first of them is closed because it is silent.
    until(lambda: sum(map(is_open, held)) <= MOST_OF_ONE, begun + SILENCE_S * 2 / 3 - time.monotonic())
    of_one = sum(map(is_open, held))
    check(f"one address has {MOST_OF_ONE} connections at most", of_one <= MOST_OF_ONE, of_one)
    check("another address is answered beside it", answers())
    for host in range(10, 22):
        for i in range(MOST_OF_ONE):
            try:
                held.append(connect(f"127.0.1.{host}"))
            except OSError:
                break
    check(f"{len(held)} connections: no more than {MOST} are open", until(lambda: descriptors() <= before + MOST + 20), descriptors())
    for s in held:
        s.close()
    check("when they are gone, it answers, and has no descriptor more", until(answers) and until(lambda: descriptors() <= before + 3), (before, descriptors()))
    followers, refused = [], 0
    for i in range(MOST_FOLLOWERS + 10):
        s = connect(f"127.0.2.{i % 4 + 1}")
        s.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        refused += b" 200 " not in s.recv(20)
        followers.append(s)
    check(f"{MOST_FOLLOWERS} may follow the events", refused == 10, refused)
    check("others are answered meanwhile", answers())
    for s in followers:
        s.close()

    def one_more():
        s = connect()
        s.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        right = b" 200 " in s.recv(20)
        s.close()
        return right
    check("when they are gone, somebody else may", until(one_more))


def withdrawn():
    print("== a token that was withdrawn")
    second = token(1)
    check("it counts", ask("GET", "/api/v1/token", **second)[0] == 200)
    check("for a session that is not there, too", ask("POST", "/api/v1/sessions/9/stop", {}, **second)[0] == 404)
    slow, body = connect(), json.dumps({"nodes": "node1", "image": "lab.ndz"}).encode()
    slow.sendall((f"POST /api/v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n"
                  f"Content-Length: {len(body)}\r\nAuthorization: {second['Authorization']}\r\n\r\n").encode() + body[:5])
    time.sleep(1)    # it has been seen
    first = open(TOKENS).readline()
    open(TOKENS, "w").write(first)
    slow.sendall(body[5:])
    check("taken out while a call comes, it does not count for that", read_all(slow).startswith(b"HTTP/1.1 401 "))
    check("nothing has begun", sessions() == [], sessions())
    check("taken out of the file, it counts no more", ask("GET", "/api/v1/token", **second)[0] == 401)
    check("nor for a change", ask("POST", "/api/v1/sessions/9/stop", {}, **second)[0] == 401)
    check("the other one does", ask("GET", "/api/v1/token", **token(0))[0] == 200)
    first = token(0)
    os.rename(TOKENS, TOKENS + ".away")
    check("where the file is gone, nobody has one", ask("GET", "/api/v1/token", **first)[0] == 401)
    os.mkfifo(TOKENS, 0o600)
    check("nor where it is a named pipe, for which nobody waits", ask("GET", "/api/v1/token", **first)[0] == 401)
    check("for a change either", ask("POST", "/api/v1/sessions/9/stop", {}, **first)[0] == 401)
    os.rename(TOKENS + ".away", TOKENS)
    check("it counts when the file is there again", ask("GET", "/api/v1/token", **first)[0] == 200)


def memory():
    print("== many requests in a row")
    for _ in range(50):
        ask("GET", "/api/v1/nodes")
    before, fds = resident_kb(), descriptors()
    for i in range(REQUESTS):
        ask("GET", ("/", "/api/v1/nodes", "/metrics", "/nothing", "/api/v1/images")[i % 5])
    after = resident_kb()
    most_mb = 2 if REQUESTS > 1000 else 32    # an instrumented program keeps what was freed
    check(f"{REQUESTS} requests make it no larger than {most_mb} MB", after - before < most_mb << 10, f"{before} kB, {after} kB")
    check("and leave no descriptor", until(lambda: descriptors() <= fds + 2), (fds, descriptors()))


class Slow(threading.Thread):
    """A request of which a byte comes every second."""
    def run(self):
        self.seconds, begun = None, time.monotonic()
        s = connect("127.0.3.1")
        try:
            for byte in b"GET /" + b"a" * 600:
                s.sendall(bytes([byte]))
                s.settimeout(1)
                try:
                    if s.recv(100) == b"":
                        break
                except TimeoutError:
                    continue
                else:
                    break
        except OSError:
            pass
        self.seconds = time.monotonic() - begun


def main():
    if not until(answers, 60):
        check("it answers", False)
    slow = [Slow() for _ in range(5)]
    for t in slow:
        t.start()
    for part in (headers_of_all, traversal, other_names, changes_nothing, too_large, many, withdrawn, memory):
        part()
    for t in slow:
        t.join()
    worst = max(t.seconds for t in slow)
    check(f"a request that comes byte by byte is given up after {REQUEST_S} s", worst < 3 * REQUEST_S, worst)
    check("it still answers", answers())
    sys.exit(bad != 0)


main()
