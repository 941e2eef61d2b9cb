#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* What is under way is kept in a heap by time; a packet's bytes are shared by
 * all its receivers. */
struct body {
	uint32_t refs, len;
	uint8_t data[SIM_PACKET_MAX];
};

struct flight {
	uint64_t at, serial;
	int to, from;
	struct body *body;
};

struct net {
	struct net_config cfg;
	int nodes;
	uint64_t rng, serial;
	double out_free[SIM_NODES_MAX], in_free[SIM_NODES_MAX];	/* when the link is idle, us */
	bool down[SIM_NODES_MAX];
	struct flight *heap;
	size_t n, cap;
};

struct net *
net_new(const struct net_config *cfg, int nodes, uint64_t seed)
{
	struct net *net = calloc(1, sizeof *net);

	if (net == NULL)
		abort();
	net->cfg = *cfg;
	net->nodes = nodes;
	net->rng = seed * 0x9e3779b97f4a7c15ull | 1;
	return net;
}

static void
body_drop(struct body *b)
{
	if (--b->refs == 0)
		free(b);
}

void
net_free(struct net *net)
{
	for (size_t i = 0; i < net->n; i++)
		body_drop(net->heap[i].body);
	free(net->heap);
	free(net);
}

uint64_t
net_random(struct net *net, uint64_t below)
{
	net->rng ^= net->rng << 13;
	net->rng ^= net->rng >> 7;
	net->rng ^= net->rng << 17;
	return (net->rng >> 11) % below;
}

static bool
chance(struct net *net, double p)
{
	return p > 0 && (double)net_random(net, 1000000) < p * 1000000;
}

static bool
before(const struct flight *a, const struct flight *b)
{
	return a->at != b->at ? a->at < b->at : a->serial < b->serial;
}

static void
heap_push(struct net *net, struct flight f)
{
	if (net->n == net->cap) {
		net->cap = net->cap * 2 + 64;
		net->heap = realloc(net->heap, net->cap * sizeof *net->heap);
		if (net->heap == NULL)
			abort();
	}
	size_t i = net->n++;
	for (; i > 0 && before(&f, &net->heap[(i - 1) / 2]); i = (i - 1) / 2)
		net->heap[i] = net->heap[(i - 1) / 2];
	net->heap[i] = f;
}

static struct flight
heap_pop(struct net *net)
{
	struct flight top = net->heap[0], last = net->heap[--net->n];
	size_t i = 0;

	for (size_t k; (k = 2 * i + 1) < net->n; i = k) {
		if (k + 1 < net->n && before(&net->heap[k + 1], &net->heap[k]))
			k++;
		if (!before(&net->heap[k], &last))
			break;
		net->heap[i] = net->heap[k];
	}
	net->heap[i] = last;
	return top;
}

/* Time at which a link has passed the packet on; -1: its queue is full. */
static double
through(struct net *net, double *free_at, double at, size_t len)
{
	double start = *free_at > at ? *free_at : at;

	if ((start - at) * net->cfg.bits_per_us / 8 > (double)net->cfg.queue_bytes)
		return -1;
	*free_at = start + (double)(len + 66) * 8 / net->cfg.bits_per_us;
	return *free_at;
}

static void
deliver(struct net *net, double at, int from, int to, struct body *b)
{
	for (int copies = chance(net, net->cfg.duplicate) ? 2 : 1; copies > 0; copies--) {
		double t = through(net, &net->in_free[to], at, b->len);
		if (t < 0 || chance(net, net->cfg.loss))
			continue;
		uint64_t late = chance(net, net->cfg.reorder) ? net_random(net, 3000) : 0;
		b->refs++;
		heap_push(net, (struct flight){ (uint64_t)t + net->cfg.latency_us + late,
			net->serial++, to, from, b });
	}
}

void
net_send(struct net *net, uint64_t now, int from, const void *pkt, size_t len)
{
	double at = through(net, &net->out_free[from], (double)now, len);
	struct body *b = malloc(sizeof *b);

	if (b == NULL)
		abort();
	b->refs = 1;
	b->len = (uint32_t)len;
	memcpy(b->data, pkt, len);
	for (int to = 0; at >= 0 && to < net->nodes; to++)
		if (to != from && !net->down[to])
			deliver(net, at, from, to, b);
	body_drop(b);
}

void
net_set_up(struct net *net, int node, bool up)
{
	net->down[node] = !up;
}

uint64_t
net_next(const struct net *net)
{
	return net->n > 0 ? net->heap[0].at : UINT64_MAX;
}

bool
net_take(struct net *net, uint64_t now, struct net_packet *out)
{
	if (net->n == 0 || net->heap[0].at > now)
		return false;
	struct flight f = heap_pop(net);
	*out = (struct net_packet){ .at = f.at, .to = f.to, .from = f.from, .len = f.body->len };
	memcpy(out->data, f.body->data, f.body->len);
	body_drop(f.body);
	return true;
}
