/* wires.c: the sockets of an engine (wires.h).  serve.c and join.c call it, in the engine's
 * thread. */
#include "dolly/net/wires.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/grow.h"
#include "common/net/accepting.h"
#include "common/net/tls.h"

enum {
	READ_BYTES = 65536,
	STRANGERS_MAX = 64, /* connections that have not said what they are */
	STRANGER_US = 5000000, /* time to say what it is, or to prove that it has the key */
	/* The other side counts as gone when it has acknowledged nothing, or taken nothing, for
	 * this time. */
	SILENT_MS = 10000,
	/* A side that has dialled may be a child, which takes nothing while its disk stalls.
	 * If the deadline and this time together are longer, they count for it, so that the
	 * engine decides before. */
	AFTER_DEADLINE_MS = 2000,
	ASK_AGAIN_S = 2, /* between questions to a side that has not answered */
	SENDS_MAX = 32, /* sends to one peer before the others have a turn */
};

struct wire {
	int fd;
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
	struct accepting accepting;
	uint16_t port;
	struct wire **wires;
	size_t n, cap;
	struct pollfd *polls;
	size_t polls_cap;
	struct wires_encrypted encrypted;
	int silent_ms; /* SILENT_MS, or longer, for sides that have dialled */
	uint8_t buf[READ_BYTES];
};

static int
listen_at(int fd, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };
	int on = 1;

	if (port != 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, (const struct sockaddr *)&a, sizeof a) != 0)
		return -1;
	return listen(fd, 128);
}

static int
open_listener(struct wires *w, uint16_t port, bool any, struct err *e)
{
	struct sockaddr_in a;
	socklen_t len = sizeof a;
	int rc;

	w->accepting.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (w->accepting.listener < 0)
		return err_os(e, "a socket");
	rc = listen_at(w->accepting.listener, port);
	if (rc != 0 && errno == EADDRINUSE && any) {
		close(w->accepting.listener);
		w->accepting.listener = socket(
		    AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		rc = w->accepting.listener < 0 ? -1 : listen_at(w->accepting.listener, 0);
	}
	if (rc != 0 || getsockname(w->accepting.listener, (struct sockaddr *)&a, &len) != 0)
		return err_os(e, "port %u", port);
	w->port = ntohs(a.sin_port);
	return 0;
}

int
wires_open(struct wires **out, const struct wires_engine *ops, struct tls *key,
    uint16_t port, bool any, struct err *e)
{
	struct wires *w = calloc(1, sizeof *w);

	if (w == NULL)
		return err_nomem(e, "connections");
	w->ops = ops;
	w->key = key;
	w->silent_ms = SILENT_MS;
	if (open_listener(w, port, any, e) != 0) {
		wires_close(w);
		return -1;
	}
	*out = w;
	return 0;
}

void
wires_serve(struct wires *w, void *engine)
{
	w->engine = engine;
}

static void
drop(struct wire *x)
{
	tls_wire_free(x->tls);
	close(x->fd);
	free(x);
}

void
wires_close(struct wires *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->n; i++) {
		if (w->wires[i]->peer != NULL && w->wires[i]->peer->kind == PEER_NEW)
			peer_free(w->wires[i]->peer);
		drop(w->wires[i]);
	}
	if (w->accepting.listener >= 0)
		close(w->accepting.listener);
	free(w->wires);
	free(w->polls);
	free(w);
}

uint16_t
wires_port(const struct wires *w)
{
	return w->port;
}

void
wires_deadline(struct wires *w, uint64_t us)
{
	uint64_t ms = us / 1000 + AFTER_DEADLINE_MS;

	w->silent_ms = ms < SILENT_MS ? SILENT_MS : ms > INT_MAX ? INT_MAX : (int)ms;
}

/* Makes the kernel notice when the other side is gone, also where nothing is sent: a node that
 * waits for chunks says nothing to its parent. */
static void
watch(int fd, int silent_ms)
{
	const int on = 1, idle_s = SILENT_MS / 1000, again_s = ASK_AGAIN_S;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silent_ms, sizeof silent_ms);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &again_s, sizeof again_s);
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* Adds a connection.  The descriptor is taken over, also after an error. */
static int
add(struct wires *w, int fd, struct peer *p, bool dialled, struct err *e)
{
	struct wire *x = calloc(1, sizeof *x);

	if (x != NULL && w->key != NULL)
		x->tls = tls_wire_new(w->key, fd, dialled);
	if (x == NULL || (w->key != NULL && x->tls == NULL) ||
	    grow(&w->wires, &w->cap, w->n, sizeof *w->wires, "connections", e) != 0) {
		close(fd);
		if (x != NULL)
			tls_wire_free(x->tls);
		free(x);
		return err_nomem(e, "a connection");
	}
	watch(fd, dialled ? SILENT_MS : w->silent_ms);
	x->fd = fd;
	x->peer = p;
	x->connecting = x->dialled = dialled;
	x->shaking = x->tls != NULL;
	x->since_us = clock_us();
	w->wires[w->n++] = x;
	p->io = x;
	return 0;
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
	return add(w, fd, p, true, e);
}

/* Connections whose other side has not said what it is. */
static size_t
strangers(const struct wires *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++)
		n += w->wires[i]->peer != NULL && w->wires[i]->peer->kind == PEER_NEW;
	return n;
}

/* Accepts connections as long as there are not too many strangers.  The others wait in the
 * kernel: nodes that begin in the same moment are not sent away. */
static void
accept_all(struct wires *w)
{
	struct sockaddr_in a;
	struct err e;

	for (size_t n = strangers(w); n < STRANGERS_MAX; n++) {
		socklen_t len = sizeof a;
		int fd = accepting_next(&w->accepting, &a, &len);
		if (fd < 0)
			return;
		uint8_t address[4];
		memcpy(address, &a.sin_addr, 4);
		struct peer *p = w->ops->accept(w->engine, address);
		if (p == NULL)
			close(fd);
		else if (add(w, fd, p, false, &e) != 0)
			peer_free(p);
	}
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
	                            : send(x->fd, at, n, MSG_NOSIGNAL);
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
	x->peer = NULL;
}

static void
receive(struct wires *w, struct wire *x)
{
	ssize_t n = x->tls != NULL ? tls_wire_recv(x->tls, w->buf, sizeof w->buf)
	                           : recv(x->fd, w->buf, sizeof w->buf, 0);

	x->heard = x->heard || n > 0;
	if (n > 0)
		w->ops->bytes(w->engine, x->peer, w->buf, (size_t)n);
	else if (n == 0 || errno == ECONNRESET)
		lose(w, x,
		    x->heard || !x->dialled || x->tls != NULL
		        ? "the connection was closed"
		        : "the connection was closed without an answer; perhaps the "
			  "other side has a --key");
	else if (errno != EAGAIN && errno != EINTR)
		lose(w, x, strerror(errno));
}

static void
connected(struct wires *w, struct wire *x)
{
	int error = 0;
	socklen_t len = sizeof error;

	(void)getsockopt(x->fd, SOL_SOCKET, SO_ERROR, &error, &len);
	x->connecting = false;
	x->since_us = clock_us();
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

static short
events_of(struct wires *w, const struct wire *x)
{
	const void *at;

	if (x->peer == NULL)
		return 0;
	if (x->connecting)
		return POLLOUT;
	if (x->shaking)
		return x->writes ? POLLOUT : POLLIN;
	return (short)((w->ops->reads(w->engine, x->peer) ? POLLIN : 0) |
		       (w->ops->output(w->engine, x->peer, &at) > 0 ? POLLOUT : 0));
}

/* Removes connections that the engine has closed, and closes those that have not said in time
 * what they are. */
static void
sweep(struct wires *w)
{
	uint64_t now = clock_us();
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++) {
		struct wire *x = w->wires[i];
		if (x->peer != NULL && now - x->since_us > STRANGER_US &&
		    (x->peer->kind == PEER_NEW || (x->shaking && !x->connecting)))
			lose(w, x, "it has not sent its first message");
		if (x->peer != NULL) {
			w->wires[kept++] = x;
			continue;
		}
		drop(x);
	}
	w->n = kept;
}

static bool
prepare(struct wires *w, int also)
{
	if (w->polls_cap < w->n + 2) {
		size_t cap = 2 * w->n + 16;
		struct pollfd *p = realloc(w->polls, cap * sizeof *p);
		if (p == NULL)
			return false;
		w->polls = p;
		w->polls_cap = cap;
	}
	for (size_t i = 0; i < w->n; i++)
		w->polls[i] = (struct pollfd){ .fd = w->wires[i]->fd,
			.events = events_of(w, w->wires[i]) };
	w->polls[w->n] = (struct pollfd){ .fd = accepting_fd(&w->accepting),
		.events = strangers(w) < STRANGERS_MAX ? POLLIN : 0 };
	w->polls[w->n + 1] = (struct pollfd){ .fd = also, .events = POLLIN };
	return true;
}

static void
serve_one(struct wires *w, struct wire *x, short what)
{
	if (x->peer != NULL && x->connecting && what != 0)
		connected(w, x);
	if (x->peer != NULL && x->shaking && !x->connecting && what != 0) {
		shake(w, x);
		return;
	}
	if (x->peer != NULL && (what & (POLLIN | POLLHUP | POLLERR)) != 0)
		receive(w, x);
	if (x->peer != NULL && !x->connecting && (what & POLLOUT) != 0)
		send_some(w, x);
}

/* Has TLS read bytes ahead that the engine can take?  poll(2) does not know of them. */
static bool
has_pending(struct wires *w, const struct wire *x)
{
	return x->peer != NULL && x->tls != NULL && !x->shaking &&
	       tls_wire_pending(x->tls) && w->ops->reads(w->engine, x->peer);
}

static bool
any_pending(struct wires *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (has_pending(w, w->wires[i]))
			return true;
	return false;
}

void
wires_step(struct wires *w, int also, int timeout_ms)
{
	sweep(w);
	size_t n = w->n;
	bool pending = any_pending(w);
	if (!prepare(w, also) ||
	    poll(w->polls, n + 2, pending ? 0 : timeout_ms) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		serve_one(w, w->wires[i],
		    w->polls[i].revents |
		        (has_pending(w, w->wires[i]) ? POLLIN : 0));
	if (w->polls[n].revents != 0)
		accept_all(w);
}

static bool
is_waiting(struct wires *w)
{
	const void *at;

	for (size_t i = 0; i < w->n; i++) {
		struct wire *x = w->wires[i];
		if (x->peer != NULL && x->peer->child == NULL &&
		    x->peer->kind != PEER_PARENT &&
		    w->ops->output(w->engine, x->peer, &at) > 0)
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
