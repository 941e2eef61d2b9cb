#!/usr/bin/env python3
"""A web server that answers requests for ranges of one file, and of FILE.order where there is one, at a rate that may change.

	http_slow.py FILE PORT RATE

RATE is a file that has the bytes in a second of all connections together.
"""
import http.server, os, re, sys, threading, time

path, port, rate_path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
lock, free_at = threading.Lock(), time.monotonic()


def rate():
    """Whoever changes the rate empties the file first: an empty one is read again."""
    while not (text := open(rate_path).read()):
        time.sleep(0.001)
    return int(text)


def wait_for(n):
    """Return when n more bytes may go."""
    global free_at
    with lock:
        now = time.monotonic()
        free_at = max(free_at, now) + n / rate()
        pause = free_at - now
    time.sleep(pause)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # a body would wait 40 ms for the acknowledgement of its header

    def log_message(self, *args):
        pass

    def do_GET(self):
        name = os.path.join(os.path.dirname(path), os.path.basename(self.path))
        if name not in (path, path + ".order") or not os.path.exists(name):
            self.send_response_only(404)
            self.send_header("Content-Length", "0")
            return self.end_headers()
        size = os.path.getsize(name)
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
        first, last = (int(asked[1]), min(int(asked[2]), size - 1)) if asked else (0, size - 1)
        self.send_response_only(206 if asked else 200)
        self.send_header("Content-Length", str(last - first + 1))
        self.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        self.send_header("ETag", f'"{size}"')
        self.end_headers()
        with open(name, "rb") as f:
            f.seek(first)
            left = last - first + 1
            while left > 0:
                piece = f.read(min(left, 16384))
                wait_for(len(piece))
                self.wfile.write(piece)
                left -= len(piece)


http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
