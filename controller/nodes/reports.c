/* reports.c: the connections of nodes that report (reports.h).  The controller's loop calls this,
 * in the program's first thread. */
#include "controller/nodes/reports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/net/accepting.h"

enum {
	CONNS_MAX = 1024,
	LINE_BYTES = 1000, /* as netboot/receive */
	LIMIT_US = 20000000,
};

struct conn {
	struct reports *of;
	struct watch watch;
	uint64_t since_us;
	uint8_t ip[4];
	bool taken; /* it waits for its answer */
	size_t n;
	char line[LINE_BYTES];
};

struct reports {
	struct loop *loop;
	struct watch listener;
	struct accepting accepting;
	bool rests; /* the listener is left alone (accepting.h) */
	uint16_t port;
	int (*take)(void *, const struct swap_report *, const uint8_t ip[4], struct err *);
	void *arg;
	struct conn *conns[CONNS_MAX]; /* in the order of their coming */
	unsigned n;
	uint64_t ntaken, nrefused;
};

static void
end(struct conn *c)
{
	struct reports *r = c->of;
	unsigned i;

	for (i = 0; r->conns[i] != c; i++)
		;
	memmove(&r->conns[i], &r->conns[i + 1], (--r->n - i) * sizeof r->conns[0]);
	loop_forget(r->loop, &c->watch);
	free(c);
}

static void
answer(struct conn *c, const char *text)
{
	/* A line fits into the buffer of a new connection. */
	if (send(c->watch.fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		shutdown(c->watch.fd, SHUT_WR);
	end(c);
}

static void
refuse(struct conn *c, const char *why)
{
	char text[600];

	c->of->nrefused++;
	snprintf(text, sizeof text, "failed: %s\n", why);
	answer(c, text);
}

static void
take_line(struct conn *c, size_t bytes)
{
	struct swap_report report;
	struct err e;

	if (bytes > 0 && c->line[bytes - 1] == '\r')
		bytes--;
	if (swap_report_read(c->line, bytes, &report, &e) != 0 ||
	    c->of->take(c->of->arg, &report, c->ip, &e) != 0) {
		refuse(c, e.text);
		return;
	}
	c->of->ntaken++;
	c->taken = true;
	/* nc has sent all that it has, and says so at once; it still waits for the answer. */
	loop_change(c->of->loop, &c->watch, 0);
}

static void
on_conn(void *arg, uint32_t events)
{
	struct conn *c = arg;
	(void)events;

	if (c->taken) { /* nobody waits for the answer any more */
		end(c);
		return;
	}
	ssize_t n = recv(c->watch.fd, c->line + c->n, sizeof c->line - c->n, MSG_DONTWAIT);
	if (n < 0)
		return;
	const char *newline = n > 0 ? memchr(c->line + c->n, '\n', (size_t)n) : NULL;
	c->n += (size_t)n;
	if (newline != NULL)
		take_line(c, (size_t)(newline - c->line));
	else if (n == 0)
		end(c);
	else if (c->n == sizeof c->line)
		refuse(c, "the first line is too long");
}

/* The oldest that has said nothing.  One whose report was taken hears its answer soon. */
static struct conn *
who_gives_way(const struct reports *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (!r->conns[i]->taken)
			return r->conns[i];
	return r->conns[0];
}

static void
on_listener(void *arg, uint32_t events)
{
	struct reports *r = arg;
	struct sockaddr_in from;
	socklen_t len = sizeof from;
	struct err ignored;
	(void)events;

	int fd = accepting_next(&r->accepting, &from, &len);
	if (fd < 0 && accepting_fd(&r->accepting) < 0) {
		r->rests = true;
		loop_change(r->loop, &r->listener, 0);
	}
	if (fd < 0)
		return;
	if (r->n == CONNS_MAX)
		end(who_gives_way(r));
	struct conn *c = calloc(1, sizeof *c);
	if (c == NULL) {
		close(fd);
		return;
	}
	c->of = r;
	c->watch = (struct watch){ fd, on_conn, c };
	c->since_us = clock_us();
	memcpy(c->ip, &from.sin_addr, 4);
	r->conns[r->n++] = c;
	if (loop_watch(r->loop, &c->watch, EPOLLIN, &ignored) != 0)
		end(c);
}

static int
listen_on(struct reports *r, const uint8_t addr[4], uint16_t port, struct err *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
	socklen_t len = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;

	r->listener = (struct watch){ fd, on_listener, r };
	r->accepting.listener = fd;
	memcpy(&at.sin_addr, addr, 4);
	if (fd < 0)
		return err_os(e, "no socket for reports");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 1024) != 0)
		return err_os(e, "port %u for reports", port);
	getsockname(fd, (struct sockaddr *)&at, &len);
	r->port = ntohs(at.sin_port);
	return loop_watch(r->loop, &r->listener, EPOLLIN, e);
}

int
reports_open(struct reports **out, struct loop *loop, const uint8_t addr[4], uint16_t port,
    int (*take)(void *arg, const struct swap_report *, const uint8_t ip[4], struct err *),
    void *arg, struct err *e)
{
	struct reports *r = calloc(1, sizeof *r);

	*out = NULL;
	if (r == NULL)
		return err_nomem(e, "reports");
	r->loop = loop;
	r->take = take;
	r->arg = arg;
	if (listen_on(r, addr, port, e) != 0) {
		reports_close(r);
		return -1;
	}
	*out = r;
	return 0;
}

void
reports_close(struct reports *r)
{
	if (r == NULL)
		return;
	while (r->n > 0)
		end(r->conns[r->n - 1]);
	loop_forget(r->loop, &r->listener);
	free(r);
}

uint16_t
reports_port(const struct reports *r)
{
	return r->port;
}

void
reports_answer(struct reports *r, double wall_s, const char *why)
{
	char text[64];

	snprintf(text, sizeof text, "ok %.0f\n", wall_s);
	for (unsigned i = r->n; i-- > 0;) {
		if (!r->conns[i]->taken)
			continue;
		if (why != NULL)
			refuse(r->conns[i], why);
		else
			answer(r->conns[i], text);
	}
}

void
reports_tick(struct reports *r, uint64_t now_us)
{
	for (unsigned i = r->n; i-- > 0;)
		if (now_us > r->conns[i]->since_us + LIMIT_US)
			end(r->conns[i]);
	if (r->rests && accepting_fd(&r->accepting) >= 0) {
		r->rests = false;
		loop_change(r->loop, &r->listener, EPOLLIN);
	}
}

uint64_t
reports_taken(const struct reports *r)
{
	return r->ntaken;
}

uint64_t
reports_refused(const struct reports *r)
{
	return r->nrefused;
}
