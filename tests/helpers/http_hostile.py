#!/usr/bin/env python3
"""A web server that knows ranges, and does wrong what the file FAULT says at the time.

	http_hostile.py FILE PORT FAULT

FAULT holds a word, and perhaps a number: so many requests are answered well first.
FAULT.requests counts them all.  What is asked for as /dated has a date, and no ETag;
as /strict, it has both, and no date in answers to requests with If-Range; as /bare, neither.
"""
import http.server, os, re, socketserver, sys, threading, time

path, port, fault_path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
lock, counted, since, last_fault, seen = threading.Lock(), 0, 0, "", set()


def fault(asked):
    """The word, once enough requests were answered since it was written; is it the first for this range?"""
    global counted, since, last_fault
    text = open(fault_path).read().strip() if os.path.exists(fault_path) else ""
    with lock:
        if text != last_fault:
            last_fault, since = text, 0
            seen.clear()
        counted, since = counted + 1, since + 1
        open(fault_path + ".requests", "w").write(str(counted))
        word, _, after = text.partition(" ")
        first = asked not in seen
        seen.add(asked)
        return (word if since > int(after or 0) else ""), first


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, headers, body):
        self.send_response_only(status)
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        word, new = fault(self.headers.get("Range"))
        whole = open(path, "rb").read()
        size = len(whole)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = int(asked[1]), min(int(asked[2]), size - 1)
        body, etag = whole[first:last + 1], '"one"'
        if word == "busy" and new:
            return self.answer(503, {"Content-Length": "0"}, b"")
        if word == "down":
            return self.answer(500, {"Content-Length": "0"}, b"")
        if word == "gone":
            return self.answer(404, {"Content-Length": "0"}, b"")
        if word == "loop":
            return self.answer(302, {"Content-Length": "0", "Location": "/again"}, b"")
        if word == "drop" and new:
            return self.close()
        if word == "replaced":  # by a newer file, of which no part was asked for
            return self.answer(200, {"Content-Length": str(size), "Last-Modified": "Tue, 24 Nov 2026 00:00:00 GMT"}, whole)
        if word == "whole":
            return self.answer(200, {"Content-Length": str(size), "ETag": etag}, whole)
        if word == "shrunk":
            return self.answer(416, {"Content-Length": "0", "Content-Range": "bytes */10"}, b"")
        if word == "changed":
            etag = '"two"'
        if word == "total":
            size += 1 << 20
        if word == "shifted":
            first, last = first + 1, last + 1
        if word == "junk":
            body = bytes(b ^ 0x5b for b in body)
        if word == "longer":
            body += bytes(1000)
        headers = {"Content-Range": f"bytes {first}-{last}/{size}", "Content-Length": str(len(body))}
        if self.path not in ("/dated", "/bare"):
            headers["ETag"] = etag
        if self.path == "/dated" or (self.path == "/strict" and "If-Range" not in self.headers):
            headers["Last-Modified"] = "Mon, 23 Nov 2026 00:00:00 GMT"
        if word == "unsaid":
            headers.pop("Content-Range")
        if word == "zipped":
            headers["Content-Encoding"] = "gzip"
        if word == "head":
            headers.update({f"X-{i}": "x" * 1000 for i in range(100)})
        if word == "short" and new:
            self.answer(206, headers, body[:len(body) // 2])
            return self.close()
        if word == "lies":  # about the length of the answer
            headers["Content-Length"] = str(len(body) // 2)
            self.answer(206, headers, body[:len(body) // 2])
            return self.close()
        if word == "slow":
            time.sleep(0.1)
        if word == "trickle" and len(body) > 32768:  # arrives within 3 seconds
            open(fault_path + ".trickled", "w").close()
            self.answer(206, headers, b"")
            for i in range(6):
                self.wfile.write(body[len(body) * i // 6:len(body) * (i + 1) // 6])
                self.wfile.flush()
                time.sleep(0.5)
            return
        if word == "stuck":
            time.sleep(1000)
        self.answer(206, headers, body)

    def close(self):
        self.close_connection = True
        self.connection.close()


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 100

    def handle_error(self, request, client_address):
        pass


Server(("127.0.0.1", port), Handler).serve_forever()
