/* reports.c: the connections of nodes that report (reports.h).  The controller's loop calls this,
 * in the program's first thread. */
#include "controller/nodes/reports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/net/border.h"

enum {
	CONNS_MAX = 1024,
	LINE_BYTES = 1000, /* as netboot/receive */
	LIMIT_US = 20000000,
};

struct conn {
	struct caller caller;
	bool taken; /* it waits for its answer */
	size_t n;
	char line[LINE_BYTES];
};

struct reports {
	struct border *border;
	int (*take)(void *, const struct swap_report *, const uint8_t ip[4], struct err *);
	void *arg;
	uint64_t ntaken, nrefused;
};

static void
answer(struct conn *c, const char *text)
{
	int fd = c->caller.watch.fd;

	/* A line fits into the buffer of a new connection. */
	if (send(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		shutdown(fd, SHUT_WR);
	border_hang_up(&c->caller);
}

static void
refuse(struct reports *r, struct conn *c, const char *why)
{
	char text[600];

	r->nrefused++;
	snprintf(text, sizeof text, "failed: %s\n", why);
	answer(c, text);
}

static void
take_line(struct reports *r, struct conn *c, size_t bytes)
{
	struct swap_report report;
	struct err e;

	if (bytes > 0 && c->line[bytes - 1] == '\r')
		bytes--;
	if (swap_report_read(c->line, bytes, &report, &e) != 0 ||
	    r->take(r->arg, &report, c->caller.from, &e) != 0) {
		refuse(r, c, e.text);
		return;
	}
	r->ntaken++;
	c->taken = true;
	border_heard(&c->caller, LIMIT_US);
	/* nc has sent all that it has, and says so at once; it still waits for the answer. */
	border_want(&c->caller, 0);
}

static void
on_conn(void *arg, struct caller *caller, uint32_t events)
{
	struct conn *c = (struct conn *)caller;
	struct reports *r = arg;
	(void)events;

	if (c->taken) { /* nobody waits for the answer any more */
		border_hang_up(caller);
		return;
	}
	ssize_t n = recv(
	    caller->watch.fd, c->line + c->n, sizeof c->line - c->n, MSG_DONTWAIT);
	if (n < 0)
		return;
	const char *newline = n > 0 ? memchr(c->line + c->n, '\n', (size_t)n) : NULL;
	c->n += (size_t)n;
	if (newline != NULL)
		take_line(r, c, (size_t)(newline - c->line));
	else if (n == 0)
		border_hang_up(caller);
	else if (c->n == sizeof c->line)
		refuse(r, c, "the first line is too long");
}

int
reports_open(struct reports **out, struct loop *loop, const uint8_t addr[4], uint16_t port,
    int (*take)(void *arg, const struct swap_report *, const uint8_t ip[4], struct err *),
    void *arg, struct err *e)
{
	struct border_config border = { .what = "reports",
		.port = port,
		.limits = { CONNS_MAX, CONNS_MAX / 2, LIMIT_US },
		.caller_bytes = sizeof(struct conn),
		.ready = on_conn };
	struct reports *r = calloc(1, sizeof *r);

	*out = NULL;
	if (r == NULL)
		return err_nomem(e, "reports");
	r->take = take;
	r->arg = arg;
	memcpy(border.address, addr, sizeof border.address);
	border.arg = r;
	if (border_open(&r->border, loop, &border, e) != 0) {
		reports_close(r);
		if (e->os == EADDRINUSE)
			err_add(e, "--reports=PORT chooses another one");
		return err_ctx(e, "reports");
	}
	*out = r;
	return 0;
}

void
reports_close(struct reports *r)
{
	if (r == NULL)
		return;
	border_close(r->border);
	free(r);
}

uint16_t
reports_port(const struct reports *r)
{
	return border_port(r->border);
}

void
reports_answer(struct reports *r, double wall_s, const char *why)
{
	char text[64];

	snprintf(text, sizeof text, "ok %.0f\n", wall_s);
	for (struct caller *x = border_first(r->border), *next; x != NULL; x = next) {
		struct conn *c = (struct conn *)x;
		next = x->next;
		if (c->taken && why != NULL)
			refuse(r, c, why);
		else if (c->taken)
			answer(c, text);
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
