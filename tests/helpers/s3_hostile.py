#!/usr/bin/env python3
"""An S3 server for tests that lies on demand: s3_hostile.py FOLDER [ADDRESS]
Objects are files of FOLDER/objects, as request paths with %2F for slashes; FOLDER/port gets the port; FOLDER/fault
has lines "FAULT PART [N]": requests whose path has PART suffer the FAULT, the first N of them (all without N; +N: all but the first N-1).
FOLDER/requests, if it is there, gets a line for each request,
and FOLDER/sent the length of each object or part that is sent.  Signatures are not checked: that needs the real one."""
import hashlib, http.server, os, socket, socketserver, sys, threading, time, urllib.parse
folder, address = sys.argv[1], (sys.argv + ["127.0.0.1"])[2]
objects = os.path.join(folder, "objects")
os.makedirs(objects, exist_ok=True)
lock, counts, etags = threading.Lock(), {}, {}
started = time.time()

def started_at(folder):
    """Each time that the test writes its faults it counts anew."""
    return os.stat(os.path.join(folder, "fault")).st_mtime_ns

def held(line):
    fault, end = os.path.join(folder, "fault"), time.monotonic() + 180
    while line in open(fault).read() and time.monotonic() < end: time.sleep(0.01)

def fault(path):
    if os.path.exists(os.path.join(folder, "requests")):
        with open(os.path.join(folder, "requests"), "a") as f: f.write(path + "\n")
    try: lines = open(os.path.join(folder, "fault")).read().split("\n")
    except OSError: return None
    for line in lines:
        words = line.split()
        if len(words) < 2 or words[1] not in path: continue
        # The N-th waits, for 3 s or as long as the line is there, and says so: time to kill
        # who asks; it is not done.
        if words[0] in ("pause", "hold"):
            with lock:
                counts[line, started_at(folder)] = n = counts.get((line, started_at(folder)), 0) + 1
            if n != int(words[2]): continue
            open(os.path.join(folder, "paused"), "w").write("paused\n")
            if words[0] == "hold": held(line)
            else: time.sleep(3)
            return "close"
        with lock:
            n = counts[line] = counts.get(line, 0) + 1
            if len(words) < 3 or (n >= int(words[2][1:]) if words[2][0] == "+" else n <= int(words[2])): return words[0]
    return None

def etag(name):
    """The MD5 of a file, which is read again when it has changed."""
    s = os.stat(name)
    known = name, s.st_ino, s.st_size, s.st_mtime_ns
    if known not in etags: etags[known] = hashlib.md5(open(name, "rb").read()).hexdigest()
    return etags[known]

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    def log_message(self, *args): pass

    def answer(self, status, body=b"", headers=(), length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for k, v in headers: self.send_header(k, v)
        self.end_headers()
        if body: self.wfile.write(body)

    def error(self, status, code):
        self.answer(status, f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>told to</Message></Error>".encode())

    def file(self):
        return os.path.join(objects, urllib.parse.unquote(self.path.partition("?")[0]).replace("/", "%2F"))

    def common(self, kind):
        if kind == "503": self.error(503, "SlowDown")
        elif kind == "500": self.error(500, "InternalError")
        elif kind == "slow": self.trickle()
        elif kind == "403": self.error(403, "AccessDenied")
        elif kind == "nokey": self.error(404, "XAdminUserNotFound")     # as some say it of an unknown key
        elif kind == "nobucket": self.error(404, "NoSuchBucket")
        elif kind == "kept" and self.command == "DELETE": self.error(403, "AccessDenied")
        elif kind == "redirect": self.answer(307, b"", [("Location", "http://127.0.0.1:1/elsewhere")])
        elif kind == "close": self.close_connection = True
        elif kind == "hang": time.sleep(30); self.close_connection = True
        elif kind == "headers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            self.endless(b"X-Padding: " + b"y" * 1000 + b"\r\n")
        elif kind == "html": self.answer(200, b"<html><body>please log in</body></html>")
        elif kind == "empty": self.answer(200)
        elif kind == "endless":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n"); self.endless(b"z" * 65536)
        else: return False
        return True

    def trickle(self):
        """A byte now and then, so that the connection is never idle for long."""
        self.close_connection = True
        try:
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            for _ in range(300): self.wfile.write(b"s"); time.sleep(0.1)
        except OSError: pass

    def endless(self, part):
        self.close_connection = True
        try:
            for _ in range(100000): self.wfile.write(part)
        except OSError: pass

    def note_sent(self, data):
        name = os.path.join(folder, "sent")
        if os.path.exists(name):
            with lock, open(name, "a") as f: f.write(f"{len(data)}\n")

    def do_GET(self):
        kind = fault(self.path)
        if kind == "late": time.sleep(0.05); kind = None        # a server that is far away
        if kind and self.common(kind): return
        path, _, query = self.path.partition("?")
        if "list-type=2" in query: return self.list(path, urllib.parse.parse_qs(query, keep_blank_values=True), kind)
        try: data = open(self.file(), "rb").read()
        except OSError: return self.error(404, "NoSuchKey")
        if kind == "digest":
            data = bytearray(data)
            data[999::1000] = bytes(b ^ 1 for b in data[999::1000])
        r = self.headers.get("Range")
        if not r or kind == "norange":
            self.note_sent(data)
            if kind == "short": return self.short(200, data, [])
            return self.answer(200, data)
        a, b = (int(x) for x in r.split("=")[1].split("-"))
        b = min(b, len(data) - 1)
        if kind == "far" and a >= 2 << 20: time.sleep(300); self.close_connection = True; return        # what is read ahead
        part = data[a:b + 1]
        self.note_sent(part)
        says = f"bytes {a}-{b}/{len(data)}"
        if kind == "otherrange": says = f"bytes {a + 1}-{b + 1}/{len(data) + 1}"
        if kind == "badrange": says = "bytes here-there/some"
        if kind == "less": part, says = part[:-1], says
        if kind == "lessrange": part, says = part[:-1], f"bytes {a}-{b - 1}/{len(data)}"
        if kind == "more": part = part + b"more"
        if kind == "short": return self.short(206, part, [("Content-Range", says)])
        if kind == "crawl":     # a slow line, on which bytes move all the time
            self.answer(206, b"", [("Content-Range", says)], len(part))
            for i in range(0, len(part), 1 << 16): self.wfile.write(part[i:i + (1 << 16)]); self.wfile.flush(); time.sleep(0.25)
            return
        self.answer(206, part, [("Content-Range", says)])

    def short(self, status, data, headers):
        """Says more than it sends, and closes."""
        self.answer(status, data[:len(data) // 2], headers, len(data))
        self.close_connection = True

    def list(self, bucket, q, kind):
        prefix = bucket + "/" + q["prefix"][0]
        names = sorted(n.replace("%2F", "/") for n in os.listdir(objects))
        names = [n for n in names if n.startswith(prefix)]
        after = q.get("continuation-token", [""])[0]
        page = [n for n in names if n > after][:3]      # small pages, so that there are several
        more = bool(page) and page[-1] != names[-1]
        if kind == "loop": more, page = True, page or names[:3]
        if kind == "stub": more, page = False, [n for n in names if n == prefix + "x"]
        out = ["<?xml version='1.0' encoding='UTF-8'?>"]
        if kind == "entities":
            out.append('<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(f'<!ENTITY a{i} "{("&a" + str(i - 1) if i else "&a") + ";" }">' for i in range(9)) + "]>")
        out.append('<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">')
        for n in page:
            f = os.path.join(objects, n.replace("/", "%2F"))
            key = n[len(bucket) + 1:]
            size = os.path.getsize(f)
            if kind == "foreign": key = "../../etc/passwd"
            if kind == "nul": key = key.replace("0", "&#0;", 1)
            if kind == "rawnul": key = key.replace("0", "\0", 1)
            if kind == "long": key = key + "x" * 10000
            if kind == "names": key = key.replace("0", "%0a<b>".replace("<", "&lt;"))
            if kind == "size": size = "18446744073709551617"
            if kind == "bigsize": size = 10 ** 17
            when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(os.path.getmtime(f)))
            out.append(f"<Contents><Key>{key}</Key><LastModified>{when}</LastModified><ETag>&quot;{etag(f)}&quot;</ETag><Size>{size}</Size></Contents>")
        out.append(f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>")
        if more and kind != "notoken":
            token = names[0] if kind == "loop" else page[-1]
            out.append(f"<NextContinuationToken>{token}</NextContinuationToken>")
        if kind == "deep": out.append("<a>" * 100000)
        out.append("</ListBucketResult>")
        text = "".join(out).encode()
        if kind == "cut": text = text[:len(text) // 2]
        self.answer(200, text)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_PUT(self):
        data, kind = self.body(), fault(self.path)
        if kind not in ("lost", None) and self.common(kind): return
        with lock:
            with open(self.file() + "~", "wb") as f: f.write(data)
            os.rename(self.file() + "~", self.file())
        if kind == "lost": self.close_connection = True; return     # done, but nobody hears of it
        self.answer(200, headers=[("ETag", '"x"')])

    def do_DELETE(self):
        kind = fault(self.path)
        if kind and self.common(kind): return
        try: os.unlink(self.file())
        except OSError: pass
        self.answer(204)

class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
    def handle_error(self, *args): pass

server = Server((address, 0), Handler)
with open(os.path.join(folder, "port~"), "w") as f: f.write(str(server.server_port))
os.rename(os.path.join(folder, "port~"), os.path.join(folder, "port"))
server.serve_forever()
