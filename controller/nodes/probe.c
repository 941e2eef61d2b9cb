/* probe.c: connects to nodes whose system starts, until they accept (probe.h).  The controller's loop
 * calls this, in the program's first thread. */
#include "controller/nodes/probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { AT_ONCE = 64, LIMIT_US = 2000000 };

struct question {
	struct probe *of;
	struct watch watch;
	uint64_t since_us;
	struct swap *w;
	char node[SWAP_NAME_BYTES]; /* its name: the table may change meanwhile; empty: no question */
};

struct probe {
	struct loop *loop;
	uint16_t port;
	size_t next; /* node to look at */
	void (*up)(void *, struct swap_node *);
	void *arg;
	struct question asked[AT_ONCE];
};

int
probe_open(struct probe **out, struct loop *loop, uint16_t port,
    void (*up)(void *arg, struct swap_node *), void *arg, struct err *e)
{
	struct probe *p = calloc(1, sizeof *p);

	*out = p;
	if (p == NULL)
		return err_nomem(e, "probes");
	p->loop = loop;
	p->port = port;
	p->up = up;
	p->arg = arg;
	for (int i = 0; i < AT_ONCE; i++)
		p->asked[i].watch.fd = -1;
	return 0;
}

static void
drop(struct question *q)
{
	loop_forget(q->of->loop, &q->watch);
	q->node[0] = '\0';
}

void
probe_close(struct probe *p)
{
	if (p == NULL)
		return;
	for (int i = 0; i < AT_ONCE; i++)
		if (p->asked[i].node[0] != '\0')
			drop(&p->asked[i]);
	free(p);
}

static void
on_answer(void *arg, uint32_t events)
{
	struct question *q = arg;
	struct probe *p = q->of;
	struct swap_node *n = swap_find_node(q->w, q->node);
	int why = 0;
	socklen_t len = sizeof why;
	bool up = getsockopt(q->watch.fd, SOL_SOCKET, SO_ERROR, &why, &len) == 0 && why == 0 &&
	          (events & EPOLLERR) == 0;

	if (up) {
		drop(q);
		if (n != NULL)
			p->up(p->arg, n);
	} else {
		loop_forget(p->loop, &q->watch); /* it is asked again when its time is over */
	}
}

static void
ask(struct question *q, struct swap *w, const struct swap_node *n, uint64_t now_us)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(q->of->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct err ignored;

	if (fd < 0)
		return;
	q->w = w;
	strcpy(q->node, n->name);
	q->since_us = now_us;
	q->watch = (struct watch){ fd, on_answer, q, 0 };
	memcpy(&to.sin_addr, n->ip, 4);
	bool begun = connect(fd, (struct sockaddr *)&to, sizeof to) == 0 || errno == EINPROGRESS;
	if (loop_watch(q->of->loop, &q->watch, EPOLLOUT, &ignored) != 0 || !begun)
		loop_forget(q->of->loop, &q->watch);
}

static bool
is_asked(const struct probe *p, const struct swap_node *n)
{
	for (int i = 0; i < AT_ONCE; i++)
		if (strcmp(p->asked[i].node, n->name) == 0)
			return true;
	return false;
}

/* The next node that is to be asked, or NULL. */
static struct swap_node *
next_node(struct probe *p, struct swap *w)
{
	for (size_t i = 0; i < w->nnodes; i++) {
		struct swap_node *n = &w->nodes[p->next++ % w->nnodes];
		if (swap_awaits_up(n) && !is_asked(p, n))
			return n;
	}
	return NULL;
}

void
probe_tick(struct probe *p, struct swap *w, uint64_t now_us)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct question *q = &p->asked[i];
		q->of = p;
		if (q->node[0] != '\0' && now_us > q->since_us + LIMIT_US)
			drop(q);
		struct swap_node *n = q->node[0] == '\0' ? next_node(p, w) : NULL;
		if (n != NULL)
			ask(q, w, n, now_us);
	}
}
