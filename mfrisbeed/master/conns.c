/* conns.c: connections without threads (conns.h).  Each connection reads its request,
 * waits for the answer, or writes it, and has a small buffer and a deadline.  When no
 * more connections may be open, the oldest one whose request has not come yet is closed
 * for a new one, so that silent connections keep no client out.  master.c calls it, in
 * the master's first thread. */
#include "mfrisbeed/master/conns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/net/accepting.h"
#include "common/wire/addr.h"

enum {
	ACCEPT_MAX = 64, /* connections accepted in one turn */
	READ_US = 10000000, /* for a request, which is one packet, and for a reply */
	/* A session needs a second to start, and longer when the parent is slow.  After this
	 * time the client is told to try again. */
	WAIT_US = 20000000,
	REQUEST_BYTES_MAX = MASTER_PUT_BYTES,
};

enum conn_state { CONN_FREE, CONN_READS, CONN_WAITS, CONN_WRITES };

struct conn {
	enum conn_state state;
	int fd;
	uint64_t until_us;
	struct asker who;
	size_t have, need, sent;
	uint8_t in[REQUEST_BYTES_MAX];
	uint8_t out[MASTER_PUT_REPLY_BYTES];
	size_t out_bytes;
};

struct conns {
	struct accepting accepting;
	struct conn each[CONNS_MAX];
	unsigned polled[CONNS_MAX]; /* by descriptor of poll(2): the index of its connection */
	unsigned npolled;
};

int
conns_new(struct conns **out, int listener, struct err *e)
{
	*out = calloc(1, sizeof **out);
	if (*out == NULL)
		return err_nomem(e, "connections");
	(*out)->accepting.listener = listener;
	return 0;
}

static void
end(struct conn *c)
{
	close(c->fd);
	c->state = CONN_FREE;
}

void
conns_free(struct conns *x)
{
	if (x == NULL)
		return;
	for (unsigned i = 0; i < CONNS_MAX; i++)
		if (x->each[i].state != CONN_FREE)
			end(&x->each[i]);
	free(x);
}

/* How many connections there may be at once: half of the descriptors that this process
 * can have are for sessions and images. */
static unsigned
most_at_once(void)
{
	struct rlimit r;
	rlim_t half = getrlimit(RLIMIT_NOFILE, &r) == 0 ? r.rlim_cur / 2 : CONNS_MAX;

	return half < CONNS_MAX ? (unsigned)half : CONNS_MAX;
}

/* What there is: n connections, a place for one more, and the connection that has been
 * silent for the longest time; both may be NULL. */
struct places {
	unsigned n;
	struct conn *free_one, *silent;
};

static struct places
look(struct conns *x)
{
	struct places p = { 0 };

	for (unsigned i = 0; i < CONNS_MAX; i++) {
		struct conn *c = &x->each[i];
		p.n += c->state != CONN_FREE;
		if (c->state == CONN_FREE)
			p.free_one = c;
		else if (c->state == CONN_READS &&
		         (p.silent == NULL || c->until_us < p.silent->until_us))
			p.silent = c;
	}
	return p;
}

/* Connections may be open from a time when more files could be: poll(2) fails when it
 * is asked for more than may be open now. */
static void
keep_to_limit(struct conns *x)
{
	struct places p = look(x);

	for (unsigned most = most_at_once(); p.n > most && p.silent != NULL; p = look(x))
		end(p.silent);
}

unsigned
conns_poll(struct conns *x, struct pollfd fds[CONNS_MAX + 1])
{
	unsigned n = 0;

	keep_to_limit(x);
	for (unsigned i = 0; i < CONNS_MAX; i++) {
		const struct conn *c = &x->each[i];
		if (c->state == CONN_FREE)
			continue;
		x->polled[n] = i;
		/* While a connection waits for its answer, only its end is of interest.
		 */
		fds[n++] = (struct pollfd){ .fd = c->fd,
			.events = c->state == CONN_READS    ? POLLIN
			          : c->state == CONN_WRITES ? POLLOUT
			                                    : POLLRDHUP };
	}
	x->npolled = n;
	fds[n] = (struct pollfd){ .fd = accepting_fd(&x->accepting), .events = POLLIN };
	return n + 1;
}

/* A free place, or the place of the connection that has been silent for the longest time,
 * which is closed; NULL: all connections wait for answers or write them. */
static struct conn *
place_for_one(struct conns *x)
{
	struct places p = look(x);

	if (p.free_one != NULL && p.n < most_at_once())
		return p.free_one;
	if (p.silent != NULL)
		end(p.silent);
	return p.silent;
}

static void
begin(struct conns *x, int fd, const struct sockaddr_in *from)
{
	struct conn *c = place_for_one(x);
	struct sockaddr_in here = { 0 };
	socklen_t len = sizeof here;

	if (c == NULL || getsockname(fd, (struct sockaddr *)&here, &len) != 0) {
		close(fd);
		return;
	}
	*c = (struct conn){ .state = CONN_READS,
		.fd = fd,
		.until_us = clock_us() + READ_US,
		.need = MASTER_HEADER_BYTES };
	memcpy(c->who.from, &from->sin_addr, sizeof c->who.from);
	memcpy(c->who.here, &here.sin_addr, sizeof c->who.here);
}

static void
accept_some(struct conns *x)
{
	for (int i = 0; i < ACCEPT_MAX; i++) {
		struct sockaddr_in from;
		socklen_t len = sizeof from;
		int fd = accepting_next(&x->accepting, &from, &len);
		if (fd < 0)
			return;
		begin(x, fd, &from);
	}
}

static void
answer(struct conn *c, const struct answerer *a, bool last)
{
	char from[ADDR_TEXT_MAX];
	struct err e = { 0 };
	ssize_t n = answer_make(a, &c->who, c->in, c->have, last, c->out, &e);

	if (n < 0) {
		log_info("message refused from=%s: %s", addr_text(c->who.from, from),
		    e.text);
		end(c);
	} else if (n == 0 && c->state == CONN_READS) {
		c->state = CONN_WAITS;
		c->until_us = clock_us() + WAIT_US;
	} else if (n > 0) {
		c->state = CONN_WRITES;
		c->out_bytes = (size_t)n;
		c->until_us = clock_us() + READ_US;
	}
}

/* Learns the length of the whole request from its header.  False: it is no request. */
static bool
learn_length(struct conn *c)
{
	enum master_type type;
	struct err e;
	size_t whole;

	if (c->need > MASTER_HEADER_BYTES)
		return true;
	if (master_message_bytes(c->in, &type, &whole, &e) != 0 ||
	    (type != MASTER_GET && type != MASTER_PUT))
		return false;
	c->need = whole;
	return true;
}

static void
read_some(struct conn *c, const struct answerer *a)
{
	ssize_t n = recv(c->fd, c->in + c->have, c->need - c->have, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		end(c);
		return;
	}
	c->have += (size_t)n;
	if (c->have < c->need)
		return;
	if (c->need == MASTER_HEADER_BYTES) {
		if (!learn_length(c))
			end(c);
		return;
	}
	answer(c, a, false);
}

static void
write_some(struct conn *c)
{
	ssize_t n = send(
	    c->fd, c->out + c->sent, c->out_bytes - c->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->sent += (size_t)n;
	if (n < 0 || c->sent == c->out_bytes)
		end(c);
}

static void
serve_one(struct conn *c, const struct answerer *a, short what, uint64_t now, bool again)
{
	if (c->state == CONN_READS && what != 0)
		read_some(c, a);
	else if (c->state == CONN_WAITS && what != 0)
		end(c); /* the client has closed the connection */
	else if (c->state == CONN_WAITS && (again || now >= c->until_us))
		answer(c, a, now >= c->until_us);
	if (c->state == CONN_WRITES)
		write_some(c);
	if (c->state != CONN_FREE && now >= c->until_us)
		end(c);
}

void
conns_serve(
    struct conns *x, const struct answerer *a, const struct pollfd *fds, bool again)
{
	uint64_t now = clock_us();

	for (unsigned i = 0; i < x->npolled; i++) {
		struct conn *c = &x->each[x->polled[i]];
		if (c->state != CONN_FREE)
			serve_one(c, a, fds[i].revents, now, again);
	}
	if (fds[x->npolled].revents != 0)
		accept_some(x);
}
