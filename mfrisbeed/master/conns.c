/* conns.c: connections without threads (conns.h).  Each connection reads its request,
 * waits for the answer, or writes it, and has a small buffer and a time.  Who may connect is
 * decided by guests.h.  master.c calls it, in the master's first thread. */
#include "mfrisbeed/master/conns.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/base/log.h"
#include "common/net/border.h"
#include "common/wire/addr.h"

enum {
	READ_US = 10000000, /* for a request, which is one packet, and for a reply */
	/* A session needs a second to start, and longer when the parent is slow.  After this
	 * time the client is told to try again. */
	WAIT_US = 20000000,
	REQUEST_BYTES_MAX = MASTER_PUT_BYTES,
};

enum conn_state { CONN_READS, CONN_WAITS, CONN_WRITES };

struct conn {
	struct caller caller;
	enum conn_state state;
	struct asker who;
	size_t have, need, sent;
	uint8_t in[REQUEST_BYTES_MAX];
	uint8_t out[MASTER_PUT_REPLY_BYTES];
	size_t out_bytes;
};

struct conns {
	struct border *border;
	const struct answerer *answerer;
};

static bool
came(void *arg, struct caller *caller)
{
	struct conn *c = (struct conn *)caller;
	struct sockaddr_in here = { 0 };
	socklen_t len = sizeof here;
	(void)arg;

	if (getsockname(caller->watch.fd, (struct sockaddr *)&here, &len) != 0)
		return false;
	c->need = MASTER_HEADER_BYTES;
	c->who.border = caller->of;
	memcpy(c->who.from, caller->from, sizeof c->who.from);
	memcpy(c->who.here, &here.sin_addr, sizeof c->who.here);
	return true;
}

static void
write_some(struct conn *c)
{
	ssize_t n = send(c->caller.watch.fd, c->out + c->sent, c->out_bytes - c->sent,
	    MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		c->sent += (size_t)n;
	if (n < 0 || c->sent == c->out_bytes)
		border_hang_up(&c->caller);
}

/* Goes on: with another state, for this time, and waiting for these events. */
static void
enter(struct conn *c, enum conn_state state, uint64_t us, uint32_t events)
{
	c->state = state;
	border_heard(&c->caller, us);
	border_want(&c->caller, events);
}

static void
refuse(struct conn *c, const struct err *e)
{
	char from[ADDR_TEXT_MAX];

	if (border_may_log(c->caller.of))
		log_info("message refused from=%s: %s", addr_text(c->who.from, from),
		    e->text);
	border_hang_up(&c->caller);
}

static void
answer(struct conns *x, struct conn *c, bool last)
{
	struct err e = { 0 };
	ssize_t n = answer_make(x->answerer, &c->who, c->in, c->have, last, c->out, &e);

	if (n < 0) {
		refuse(c, &e);
	} else if (n == 0 && c->state == CONN_READS) {
		/* Only the end of the connection is of interest now. */
		enter(c, CONN_WAITS, WAIT_US, EPOLLRDHUP);
	} else if (n > 0) {
		enter(c, CONN_WRITES, READ_US, EPOLLOUT);
		c->out_bytes = (size_t)n;
		write_some(c);
	}
}

/* Learns the length of the whole request from its header.  False: it is no request. */
static bool
learn_length(struct conn *c)
{
	enum master_type type;
	struct err e;
	size_t whole;

	if (master_message_bytes(c->in, &type, &whole, &e) != 0 ||
	    (type != MASTER_GET && type != MASTER_PUT))
		return false;
	c->need = whole;
	return true;
}

static void
read_some(struct conns *x, struct conn *c)
{
	ssize_t n = recv(c->caller.watch.fd, c->in + c->have, c->need - c->have, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		border_hang_up(&c->caller);
		return;
	}
	c->have += (size_t)n;
	if (c->have < c->need)
		return;
	if (c->need > MASTER_HEADER_BYTES)
		answer(x, c, false);
	else if (!learn_length(c))
		border_hang_up(&c->caller);
}

static void
ready(void *arg, struct caller *caller, uint32_t events)
{
	struct conn *c = (struct conn *)caller;
	(void)events;

	if (c->state == CONN_READS)
		read_some(arg, c);
	else if (c->state == CONN_WRITES)
		write_some(c);
	else
		border_hang_up(caller); /* the client has closed the connection */
}

static bool
late(void *arg, struct caller *caller)
{
	struct conn *c = (struct conn *)caller;

	if (c->state != CONN_WAITS)
		return false;
	answer(arg, c, true);
	return true;
}

int
conns_new(struct conns **out, struct loop *loop, const uint8_t addr[4], uint16_t port,
    const struct answerer *answerer, struct err *e)
{
	struct border_config border = { .what = "requests",
		.port = port,
		.limits = { CONNS_MAX, CONNS_MAX / 2, READ_US },
		.caller_bytes = sizeof(struct conn),
		.came = came,
		.ready = ready,
		.late = late };
	struct conns *x = calloc(1, sizeof *x);

	*out = NULL;
	if (x == NULL)
		return err_nomem(e, "connections");
	x->answerer = answerer;
	border.arg = x;
	memcpy(border.address, addr, sizeof border.address);
	if (border_open(&x->border, loop, &border, e) != 0) {
		conns_free(x);
		return -1;
	}
	*out = x;
	return 0;
}

void
conns_free(struct conns *x)
{
	if (x == NULL)
		return;
	border_close(x->border);
	free(x);
}

uint16_t
conns_port(const struct conns *x)
{
	return border_port(x->border);
}

void
conns_again(struct conns *x)
{
	for (struct caller *a = x != NULL ? border_first(x->border) : NULL, *next; a != NULL; a = next) {
		next = a->next;
		if (((struct conn *)a)->state == CONN_WAITS)
			answer(x, (struct conn *)a, false);
	}
}
