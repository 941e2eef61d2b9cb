/* route.c: the spanning tree of a network from its server, the order of its hosts, and the ways
 * between them (route.h).  plan.c, topology.c and model.c call it, in the program's first
 * thread. */
#include "dolly/plan/route.h"

#include <stdlib.h>

/* The links of each point: those of point p are links[first[p]] to links[first[p + 1] - 1]. */
struct ends {
	uint32_t *first; /* by point, and one more */
	uint32_t *links;
};

static int
ends_make(struct ends *x, const struct network *n, struct err *e)
{
	x->first = calloc(n->npoints + 2, sizeof *x->first);
	x->links = calloc(2 * n->nlinks + 1, sizeof *x->links);
	if (x->first == NULL || x->links == NULL)
		return err_nomem(e, "the ways of a network");
	/* The counts of a point stand two places behind it; filling moves the beginning of
	 * each point to its own place. */
	for (size_t i = 0; i < n->nlinks; i++) {
		x->first[n->links[i].a + 2]++;
		x->first[n->links[i].b + 2]++;
	}
	for (size_t i = 2; i < n->npoints + 2; i++)
		x->first[i] += x->first[i - 1];
	for (size_t i = 0; i < n->nlinks; i++) {
		x->links[x->first[n->links[i].a + 1]++] = (uint32_t)i;
		x->links[x->first[n->links[i].b + 1]++] = (uint32_t)i;
	}
	return 0;
}

static uint32_t
other_end(const struct network_link *l, uint32_t point)
{
	return l->a == point ? l->b : l->a;
}

/* Makes the spanning tree with the fewest links to each point, breadth first.  `queue` has room
 * for all points. */
static void
span(struct route *r, const struct network *n, const struct ends *x, uint32_t *queue)
{
	size_t head = 0, tail = 0;

	for (size_t i = 0; i < n->npoints; i++)
		r->steps[i] = (struct route_step){ NETWORK_NONE, NETWORK_NONE,
			NETWORK_NONE };
	r->steps[n->server].depth = 0;
	queue[tail++] = n->server;
	while (head < tail) {
		uint32_t at = queue[head++];
		for (uint32_t i = x->first[at]; i < x->first[at + 1]; i++) {
			uint32_t to = other_end(&n->links[x->links[i]], at);
			if (r->steps[to].depth != NETWORK_NONE)
				continue;
			r->steps[to] = (struct route_step){ at, x->links[i],
				r->steps[at].depth + 1 };
			queue[tail++] = to;
		}
	}
}

/* Lists the hosts, depth first along the spanning tree, the hosts of a point before its switches.
 * `stack` has room for all points. */
static void
visit(struct route *r, const struct network *n, const struct ends *x, uint32_t *stack)
{
	size_t top = 0;

	stack[top++] = n->server;
	while (top > 0) {
		uint32_t at = stack[--top];
		if (n->points[at].host)
			r->hosts[r->nhosts++] = at;
		for (int hosts = 0; hosts < 2; hosts++)
			for (uint32_t i = x->first[at + 1]; i-- > x->first[at];) {
				uint32_t to = other_end(&n->links[x->links[i]], at);
				if (r->steps[to].up == at &&
				    r->steps[to].link == x->links[i] &&
				    n->points[to].host == (hosts == 1))
					stack[top++] = to;
			}
	}
}

int
route_make(struct route *r, const struct network *n, struct err *e)
{
	struct ends x = { 0 };
	uint32_t *work = calloc(n->npoints, sizeof *work);
	int rc = 0;

	*r = (struct route){ .steps = calloc(n->npoints, sizeof *r->steps),
		.hosts = calloc(n->npoints, sizeof *r->hosts) };
	if (work == NULL || r->steps == NULL || r->hosts == NULL)
		rc = err_nomem(e, "the ways of a network");
	if (rc == 0)
		rc = ends_make(&x, n, e);
	if (rc == 0) {
		span(r, n, &x, work);
		visit(r, n, &x, work);
	}
	free(work);
	free(x.first);
	free(x.links);
	return rc;
}

void
route_free(struct route *r)
{
	free(r->steps);
	free(r->hosts);
	*r = (struct route){ 0 };
}

void
route_walk(const struct route *r, uint32_t from, uint32_t to,
    void (*step)(void *arg, uint32_t link, uint32_t leaves, uint32_t enters), void *arg)
{
	while (from != to) {
		const struct route_step *f = &r->steps[from], *t = &r->steps[to];
		if (f->depth >= t->depth) {
			step(arg, f->link, from, f->up);
			from = f->up;
		} else {
			step(arg, t->link, t->up, to);
			to = t->up;
		}
	}
}
