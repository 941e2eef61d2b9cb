/* model.c: the inequalities of the capacity model, and the largest rate that all of them allow
 * (model.h).  predict.c calls it, in the program's first thread. */
#include "dolly/plan/model.h"

#include <math.h>
#include <stdlib.h>

static void
at_most(struct model_limit *l, double rate, enum model_resource resource)
{
	if (rate < l->rate) {
		l->rate = rate;
		l->resource = resource;
	}
}

/* Limits the rate by a capacity in bytes a second (0: no limit), of which one byte of raw data
 * takes `load` bytes. */
static void
capacity(struct model_limit *l, double capacity, double load, enum model_resource resource)
{
	if (capacity > 0 && load > 0)
		at_most(l, capacity / load, resource);
}

/* All loads are bytes for each byte of raw data.  The disk holds raw data where the node
 * decompresses, and else the compressed image. */
static double
disk_load(const struct model_node *n)
{
	return n->decompresses ? 1 : 1 / n->compression;
}

static double
net_load(const struct model_node *n)
{
	return (n->in + n->out) / n->compression;
}

/* Copies from memory to memory (figures 6 and 7): one for each stream in or out, one for the
 * disk, and one into the pipe to the decompressor. */
static double
copies(const struct model_node *n)
{
	return net_load(n) + disk_load(n) + (n->decompresses ? 1 / n->compression : 0);
}

/* Crossings of the memory bus: two for each copy, one for each transfer to or from a device; a
 * multicast stream is copied once more, for repetitions. */
static double
memory_load(const struct model_node *n)
{
	return 2 * copies(n) + net_load(n) + disk_load(n) +
	       (n->multicast ? 2 / n->compression : 0);
}

static double
share(double load, double speed)
{
	return speed > 0 ? load / speed : 0;
}

/* The share of a processor that one byte of raw data a second takes.  The share of decompression
 * grows with the compression, as the inequality of section 2.7 has it.  The paper's machines
 * compute no digests. */
static double
processor_load(const struct network_machine *m, const struct model_node *n)
{
	return share(net_load(n), m->tcp) + share(disk_load(n), m->scsi) +
	       share(copies(n), m->copy) +
	       (n->decompresses ? share(n->compression, m->decompress) : 0) +
	       share(n->in / n->compression, m->digest) +
	       (n->multicast ? share(1 / n->compression, m->multicast) : 0);
}

struct model_limit
model_of_node(const struct network_machine *m, const struct model_node *n)
{
	struct model_limit l = { .rate = INFINITY };
	double streams = net_load(n) + disk_load(n);

	capacity(&l, m->switching, streams, MODEL_NODE);
	capacity(&l, m->disk, disk_load(n), MODEL_DISK);
	capacity(&l, m->iobus, streams, MODEL_IOBUS);
	capacity(&l, m->memory, memory_load(n), MODEL_MEMORY);
	capacity(&l, m->cores > 0 ? m->cores : 1, processor_load(m, n), MODEL_PROCESSOR);
	/* One thread has all connections, however many processors there are. */
	capacity(&l, m->tcp, net_load(n), MODEL_PROCESSOR);
	return l;
}

/* What each link and switch carries, for each byte of the network's data. */
struct loads {
	double *links;    /* by link, from a to b; behind them by link, from b to a */
	double *switches; /* by point */
	const struct network *n;
	const struct route *r;
};

static void
add_step(void *arg, uint32_t link, uint32_t leaves, uint32_t enters)
{
	struct loads *x = arg;

	x->links[link + (x->n->links[link].a == leaves ? 0 : x->n->nlinks)] += 1;
	x->switches[leaves] += 1;
	x->switches[enters] += 1;
}

/* Adds the multicast stream to the links that lead to a node and do not carry it yet. */
static void
add_multicast(struct loads *x, uint32_t node)
{
	while (x->r->steps[node].depth > 0) {
		uint32_t up = x->r->steps[node].up, link = x->r->steps[node].link;
		if (x->links[link + (x->n->links[link].a == up ? 0 : x->n->nlinks)] > 0)
			return;
		add_step(x, link, up, node);
		node = up;
	}
}

static void
add_streams(struct loads *x, const struct tree *t)
{
	for (size_t i = 1; i < t->n; i++)
		if (t->kind == TREE_MULTICAST)
			add_multicast(x, t->nodes[i]);
		else
			route_walk(
			    x->r, t->nodes[t->parents[i]], t->nodes[i], add_step, x);
}

/* The two directions of a half-duplex link share its rate. */
static void
limit_links(struct model_limit *l, const struct loads *x, double compression)
{
	const struct network *n = x->n;

	for (size_t i = 0; i < n->nlinks; i++) {
		const struct network_link *k = &n->links[i];
		double there = x->links[i], back = x->links[i + n->nlinks];
		double load = k->half ? there + back : fmax(there, back);
		double before = l->rate;
		capacity(l, k->rate, load / compression, MODEL_LINK);
		if (l->rate < before) {
			l->point = there >= back ? k->a : k->b;
			l->to = there >= back ? k->b : k->a;
		}
	}
}

static void
limit_switches(struct model_limit *l, const struct loads *x, double compression)
{
	for (size_t i = 0; i < x->n->npoints; i++) {
		const struct network_point *p = &x->n->points[i];
		double before = l->rate;
		if (!p->host)
			capacity(
			    l, p->capacity, x->switches[i] / compression, MODEL_SWITCH);
		if (l->rate < before)
			l->point = (uint32_t)i;
	}
}

/* What passes through node i of the tree.  The server does not receive or decompress, unless the
 * description says that it receives. */
static struct model_node
place_of(const struct network *n, const struct tree *t, size_t i, double compression)
{
	bool receives = i > 0 || n->server_receives;

	return (struct model_node){ .in = receives ? 1 : 0,
		.out = t->streams[i],
		.compression = compression,
		.decompresses = receives && compression > 1,
		.multicast = t->kind == TREE_MULTICAST };
}

static void
limit_nodes(struct model_limit *l, const struct network *n, const struct tree *t,
    double compression)
{
	for (size_t i = 0; i < t->n; i++) {
		uint32_t machine = n->points[t->nodes[i]].machine;
		if (machine == NETWORK_NONE)
			continue;
		struct model_node place = place_of(n, t, i, compression);
		struct model_limit own = model_of_node(&n->machines[machine], &place);
		if (own.rate < l->rate) {
			*l = own;
			l->point = t->nodes[i];
		}
	}
}

int
model_solve(struct model_limit *l, const struct network *n, const struct route *r,
    const struct tree *t, double compression, struct err *e)
{
	struct loads x = { .links = calloc(2 * n->nlinks + 1, sizeof *x.links),
		.switches = calloc(n->npoints, sizeof *x.switches),
		.n = n,
		.r = r };
	int rc = 0;

	*l = (struct model_limit){ .rate = INFINITY };
	if (x.links == NULL || x.switches == NULL) {
		rc = err_nomem(e, "the model");
	} else {
		add_streams(&x, t);
		limit_links(l, &x, compression);
		limit_switches(l, &x, compression);
		limit_nodes(l, n, t, compression);
	}
	free(x.links);
	free(x.switches);
	return rc;
}

double
model_seconds(const struct network *n, const struct tree *t, const struct model_limit *l,
    double raw_bytes)
{
	double fill = t->kind == TREE_MULTICAST ? 1 : t->depth;

	return isinf(l->rate) ? INFINITY
	                      : (raw_bytes + fill * (double)n->piece_bytes) / l->rate;
}
