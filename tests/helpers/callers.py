"""Who connects and says nothing: callers.py PORT COUNT BYTES ADDRESS...
Keeps COUNT connections to PORT of 127.0.0.1 from each of these addresses, until it is killed; one that is closed
is opened again.  Each sends a byte of BYTES a second (an empty word: nothing), as one who is slow.  PORT may be the
path of a Unix socket; there is no address then but one word.  Prints "here" when all have been opened once."""
import os, resource, select, socket, sys, time

port, count, say, homes = sys.argv[1], int(sys.argv[2]), sys.argv[3].encode(), sys.argv[4:]
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
ep = select.epoll()
mine, left, opened = {}, {h: count for h in homes}, 0


def call(home):
    global opened
    s = socket.socket(socket.AF_UNIX if "/" in port else socket.AF_INET)
    s.setblocking(False)
    try:
        if "/" not in port:
            s.bind((home, 0))
        s.connect(port if "/" in port else ("127.0.0.1", int(port)))
    except BlockingIOError:
        if "/" in port:     # the listener's queue is full
            s.close()
            return False
    except OSError:
        s.close()
        return False
    mine[s.fileno()] = [s, home, 0, time.monotonic() + 1]
    ep.register(s.fileno(), select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR)
    left[home] -= 1
    opened += 1
    return True


def hang_up(fd):
    s, home, _, _ = mine.pop(fd)
    s.close()
    left[home] += 1


def speak(now):
    for fd, m in list(mine.items()):
        if now >= m[3] and m[2] < len(say) - 1:
            try:
                m[2] += m[0].send(say[m[2] : m[2] + 1])
            except OSError:
                pass
            m[3] = now + 1


said = False
while True:
    for h in homes:
        for _ in range(100):
            if left[h] <= 0 or not call(h):
                break
    if not said and opened >= count * len(homes):
        said = True
        print("here", flush=True)
    for fd, _ in ep.poll(0.02):
        if fd in mine:
            hang_up(fd)
    if say:
        speak(time.monotonic())
