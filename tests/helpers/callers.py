"""Who connects to a server and does it no good:
	callers.py PORT COUNT WHAT ADDRESS...
Keeps COUNT connections to PORT of 127.0.0.1 from each of these addresses, until it is killed; one
that is closed is opened again.  PORT may be the path of a Unix socket; there is no address then but
one word.  Prints "here" when all have been opened once.  WHAT each of them says:
	BYTES		a byte of these a second; nothing, if there are none
	WORD+BYTES	WORD at once, and then a byte of these a second
	@junk		bytes drawn at random, some hundred at a time
	@deaf=FILE	the file again and again; it never reads"""
import os, random, resource, select, socket, sys, time

port, count, say, homes = sys.argv[1], int(sys.argv[2]), os.fsencode(sys.argv[3]), sys.argv[4:]
junk, deaf, whole = say == b"@junk", say.startswith(b"@deaf="), b""
r = random.Random(9)
if deaf:
    whole = open(say[6:], "rb").read()
elif not junk and b"+" in say:
    whole, say = say.split(b"+", 1)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
ep = select.epoll()
mine, left, opened = {}, {h: count for h in homes}, 0
AT_END = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR


def call(home):
    global opened
    s = socket.socket(socket.AF_UNIX if "/" in port else socket.AF_INET)
    s.setblocking(False)
    try:
        if deaf:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
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
    ep.register(s.fileno(), AT_END | (select.EPOLLOUT if junk or whole else 0))
    left[home] -= 1
    opened += 1
    return True


def hang_up(fd):
    s, home, _, _ = mine.pop(fd)
    s.close()
    left[home] += 1


def talk(fd):
    """It can be written to: the word, junk, or the file once more."""
    m = mine[fd]
    try:
        said = whole[m[2] % len(whole) :] if deaf else whole or r.randbytes(r.randrange(1, 400))
        m[2] += m[0].send(said)
    except OSError:
        pass
    if not deaf:
        ep.modify(fd, AT_END)
        m[2:] = 0, time.monotonic() + 1


def speak(now):
    for fd, m in list(mine.items()):
        if now >= m[3] and junk:
            ep.modify(fd, AT_END | select.EPOLLOUT)
        elif now >= m[3] and m[2] < len(say) - 1:
            try:
                m[2] += m[0].send(say[m[2] : m[2] + 1])
            except OSError:
                pass
            m[3] = now + 1


said = False
while True:
    for h in homes:
        for _ in range(10 if junk or deaf else 100):
            if left[h] <= 0 or not call(h):
                break
    if not said and opened >= count * len(homes):
        said = True
        print("here", flush=True)
    if junk or deaf:
        time.sleep(0.005)   # there is a processor left for others
    for fd, what in ep.poll(0.02):
        if fd in mine and what & AT_END:
            hang_up(fd)
        elif fd in mine:
            talk(fd)
    if say and not deaf:
        speak(time.monotonic())
