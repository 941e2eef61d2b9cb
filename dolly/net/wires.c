/* wires.c: the sockets of an engine (wires.h).  serve.c and dolly/load/dolly_load.c call it, in
 * the engine's thread. */
#include "dolly/net/wires.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/accepting.h"
#include "common/net/border.h"
#include "common/net/tls.h"

enum {
	READ_BYTES = 65536,
	STRANGERS_MAX = 256, /* connections that have not said what they are */
	STRANGER_US = 5000000, /* time to say what it is, or to prove that it has the key */
	/* The other side counts as gone when it has taken nothing for this time. */
	SILENT_MS = 10000,
	/* A side that has dialled may be a child, which takes nothing while its disk stalls.
	 * If the deadline and this time together are longer, they count for it, so that the
	 * engine decides before. */
	AFTER_DEADLINE_MS = 2000,
	/* Sends to one peer, and receives from it, before the others have a turn. */
	SENDS_MAX = 32,
	RECEIVES_MAX = 4,
};

struct wire {
	struct caller caller;
	struct peer *peer; /* NULL: the engine has closed it */
	bool connecting, dialled;
	bool heard; /* bytes were received */
	struct tls_wire *tls; /* NULL: nothing is encrypted */
	bool shaking, writes; /* the handshake goes on; it waits for a chance to write */
	uint64_t since_us;    /* when the connection began, or was completed */
};

struct wires {
	const struct wires_engine *ops;
	void *engine;
	struct tls *key; /* borrowed, or NULL */
	struct loop loop;
	struct border *border;
	struct watch also; /* wires_step()'s */
	struct wires_encrypted encrypted;
	int silent_ms; /* SILENT_MS, or longer, for sides that have dialled */
	uint8_t buf[READ_BYTES];
};

void
wires_serve(struct wires *w, void *engine)
{
	w->engine = engine;
}

uint16_t
wires_port(const struct wires *w)
{
	return border_port(w->border);
}

void
wires_deadline(struct wires *w, uint64_t us)
{
	uint64_t ms = us / 1000 + AFTER_DEADLINE_MS;

	w->silent_ms = ms < SILENT_MS ? SILENT_MS : ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Makes a connection the peer's.  False: no memory; the peer stays the caller's. */
static bool
connect_peer(struct wires *w, struct wire *x, struct peer *p, bool dialled)
{
	int fd = x->caller.watch.fd;

	if (w->key != NULL && (x->tls = tls_wire_new(w->key, fd, dialled)) == NULL)
		return false;
	accepting_keep(fd, dialled ? SILENT_MS : w->silent_ms);
	x->peer = p;
	x->connecting = x->dialled = dialled;
	x->shaking = x->tls != NULL;
	x->since_us = clock_us();
	p->io = x;
	return true;
}

int
wires_dial(struct wires *w, struct peer *p, const uint8_t address[4], uint16_t port,
    struct err *e)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	memcpy(&a.sin_addr, address, 4);
	if (fd < 0)
		return err_os(e, "a socket");
	if (connect(fd, (const struct sockaddr *)&a, sizeof a) != 0 &&
	    errno != EINPROGRESS) {
		(void)err_os(e, "port %u of %s", port, inet_ntoa(a.sin_addr));
		close(fd);
		return -1;
	}
	struct caller *x = border_add(w->border, fd, EPOLLOUT, e);
	if (x == NULL)
		return -1;
	if (connect_peer(w, (struct wire *)x, p, true))
		return 0;
	border_hang_up(x);
	return err_nomem(e, "a connection");
}

static bool
came(void *arg, struct caller *c)
{
	struct wires *w = arg;
	struct peer *p = w->ops->accept(w->engine, c->from);

	if (p == NULL || connect_peer(w, (struct wire *)c, p, false))
		return p != NULL;
	peer_free(p);
	return false;
}

static void
lose(struct wires *w, struct wire *x, const char *why)
{
	if (x->peer != NULL)
		w->ops->closed(w->engine, x->peer, why);
}

/* Sends what one call of send(2) takes; *again: there may be more.  False: the connection has
 * ended. */
static bool
send_one(struct wires *w, struct wire *x, bool *again)
{
	const void *at;
	size_t n = w->ops->output(w->engine, x->peer, &at);

	*again = false;
	if (n == 0)
		return true;
	ssize_t rc = x->tls != NULL ? tls_wire_send(x->tls, at, n)
	                            : send(x->caller.watch.fd, at, n, MSG_NOSIGNAL);
	if (rc < 0)
		return errno == EAGAIN || errno == EINTR;
	w->ops->sent(w->engine, x->peer, (size_t)rc);
	*again = true;
	return true;
}

static void
send_some(struct wires *w, struct wire *x)
{
	bool again = true;

	for (int i = 0; i < SENDS_MAX && again; i++)
		if (!send_one(w, x, &again)) {
			lose(w, x, strerror(errno));
			return;
		}
}

void
wires_hang_up(struct wires *w, struct peer *p)
{
	struct wire *x = p->io;
	bool again = true;

	if (x == NULL)
		return;
	if (!x->connecting && !x->shaking)
		while (again && send_one(w, x, &again))
			;
	x->peer = p->io = NULL;
}

static void
ended(struct wires *w, struct wire *x)
{
	lose(w, x,
	    x->heard || !x->dialled || x->tls != NULL
	        ? "the connection was closed"
	        : "the connection was closed without an answer; perhaps the "
		  "other side has a --key");
}

/* Receives what one call of recv(2) gives.  True: there may be more. */
static bool
receive_one(struct wires *w, struct wire *x)
{
	void *at;
	size_t room = w->ops->room(w->engine, x->peer, &at);

	if (at == NULL)
		at = w->buf;
	if (at == w->buf && room > sizeof w->buf)
		room = sizeof w->buf;
	ssize_t n = x->tls != NULL ? tls_wire_recv(x->tls, at, room)
	                           : recv(x->caller.watch.fd, at, room, 0);
	x->heard = x->heard || n > 0;
	if (n > 0) {
		w->ops->bytes(w->engine, x->peer, at, (size_t)n);
		/* One that has said what it is, is no stranger any more. */
		if (x->peer != NULL && x->peer->kind != PEER_NEW)
			border_known(&x->caller);
	} else if (n == 0 || errno == ECONNRESET)
		ended(w, x);
	else if (errno != EAGAIN && errno != EINTR)
		lose(w, x, strerror(errno));
	return n > 0;
}

static void
receive(struct wires *w, struct wire *x)
{
	for (int i = 0; i < RECEIVES_MAX; i++)
		if (!receive_one(w, x) || x->peer == NULL ||
		    !w->ops->reads(w->engine, x->peer))
			return;
}

static void
connected(struct wires *w, struct wire *x)
{
	int error = 0;
	socklen_t len = sizeof error;

	(void)getsockopt(x->caller.watch.fd, SOL_SOCKET, SO_ERROR, &error, &len);
	x->connecting = false;
	x->since_us = clock_us();
	x->peer->reached = error == 0;
	if (error != 0)
		lose(w, x, strerror(error));
}

static void
shake(struct wires *w, struct wire *x)
{
	int rc = tls_wire_shake(x->tls, &x->writes);

	if (rc < 0)
		lose(w, x, "the other side has another --key, or none");
	x->shaking = rc == 0;
	w->encrypted.all += rc > 0;
	w->encrypted.in_kernel += rc > 0 && tls_wire_in_kernel(x->tls);
}

struct wires_encrypted
wires_encrypted(const struct wires *w)
{
	return w->encrypted;
}

static uint32_t
events_of(struct wires *w, const struct wire *x)
{
	const void *at;

	if (x->connecting)
		return EPOLLOUT;
	if (x->shaking)
		return x->writes ? EPOLLOUT : EPOLLIN;
	return (w->ops->reads(w->engine, x->peer) ? EPOLLIN : 0) |
	       (w->ops->output(w->engine, x->peer, &at) > 0 ? EPOLLOUT : 0);
}

/* Removes connections that the engine has closed, and those that it has dialled and that have not
 * shown in time that they have the key; the others are prepared. */
static void
sweep(struct wires *w)
{
	uint64_t now = clock_us();

	for (struct caller *c = border_first(w->border), *next; c != NULL; c = next) {
		struct wire *x = (struct wire *)c;
		next = c->next;
		if (x->peer != NULL && x->dialled && x->shaking && !x->connecting &&
		    now - x->since_us > STRANGER_US)
			lose(w, x, "it has not sent its first message");
		if (x->peer != NULL)
			border_want(c, events_of(w, x));
		else
			border_hang_up(c);
	}
}

/* A connection ends: for its place or its time, if the engine does not know yet. */
static void
gone(void *arg, struct caller *c)
{
	struct wire *x = (struct wire *)c;

	lose(arg, x, "it has not sent its first message");
	tls_wire_free(x->tls);
}

static void
ready(void *arg, struct caller *c, uint32_t what)
{
	struct wires *w = arg;
	struct wire *x = (struct wire *)c;

	if (x->peer != NULL && x->connecting)
		connected(w, x);
	if (x->peer != NULL && x->shaking && !x->connecting) {
		shake(w, x);
		return;
	}
	if (x->peer != NULL && (what & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
		receive(w, x);
	if (x->peer != NULL && !x->connecting && (what & EPOLLOUT) != 0)
		send_some(w, x);
}

/* Has TLS read bytes ahead that the engine can take?  The loop does not know of them. */
static bool
has_pending(struct wires *w, const struct wire *x)
{
	return x->peer != NULL && x->tls != NULL && !x->shaking &&
	       tls_wire_pending(x->tls) && w->ops->reads(w->engine, x->peer);
}

static bool
any_pending(struct wires *w)
{
	for (struct caller *c = border_first(w->border); c != NULL; c = c->next)
		if (has_pending(w, (struct wire *)c))
			return true;
	return false;
}

static void
wake(void *arg, uint32_t events)
{
	(void)arg, (void)events;
}

static void
watch_also(struct wires *w, int fd)
{
	struct err ignored; /* without it, the loop is woken by its time-out */

	if (fd == w->also.fd)
		return;
	loop_leave(&w->loop, &w->also);
	w->also = (struct watch){ fd, wake, NULL, 0 };
	if (fd >= 0)
		(void)loop_watch(&w->loop, &w->also, EPOLLIN, &ignored);
}

void
wires_step(struct wires *w, int also, int timeout_ms)
{
	sweep(w);
	watch_also(w, also);
	loop_once(&w->loop, any_pending(w) ? 0 : timeout_ms);
	for (struct caller *c = border_first(w->border); c != NULL; c = c->next)
		if (has_pending(w, (struct wire *)c))
			receive(w, (struct wire *)c);
}

static bool
is_waiting(struct wires *w)
{
	const void *at;

	for (struct caller *c = border_first(w->border); c != NULL; c = c->next) {
		struct peer *p = ((struct wire *)c)->peer;
		if (p != NULL && p->child == NULL && p->kind != PEER_PARENT &&
		    w->ops->output(w->engine, p, &at) > 0)
			return true;
	}
	return false;
}

void
wires_flush(struct wires *w)
{
	for (uint64_t end = clock_us() + 1000000; is_waiting(w) && clock_us() < end;)
		wires_step(w, -1, 100);
}

int
wires_open(struct wires **out, const struct wires_engine *ops, struct tls *key,
    uint16_t port, bool any, struct err *e)
{
	struct border_config border = { .port = port,
		.any = any,
		.limits = { STRANGERS_MAX, STRANGERS_MAX / 2, STRANGER_US },
		.caller_bytes = sizeof(struct wire),
		.came = came,
		.ready = ready,
		.gone = gone };
	struct wires *w = calloc(1, sizeof *w);

	if (w == NULL)
		return err_nomem(e, "connections");
	w->ops = ops;
	w->key = key;
	w->silent_ms = SILENT_MS;
	w->also.fd = -1;
	border.arg = w;
	if (loop_open(&w->loop, e) != 0 ||
	    border_open(&w->border, &w->loop, &border, e) != 0) {
		loop_close(&w->loop);
		free(w);
		return -1;
	}
	*out = w;
	return 0;
}

void
wires_close(struct wires *w)
{
	if (w == NULL)
		return;
	for (struct caller *c = border_first(w->border); c != NULL; c = c->next) {
		struct wire *x = (struct wire *)c;
		if (x->peer != NULL && x->peer->kind == PEER_NEW)
			peer_free(x->peer);
		x->peer = NULL;
	}
	border_close(w->border);
	loop_close(&w->loop);
	free(w);
}
