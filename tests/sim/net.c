#include "tests/sim/net.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* UDP, IP, Ethernet, preamble and gap */
	ENVELOPE_BYTES = 8 + 20 + 18 + 20,
};

uint64_t
sim_random(uint64_t *rng)
{
	uint64_t z = *rng += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

double
sim_fraction(uint64_t *rng)
{
	return (double)(sim_random(rng) >> 11) / (double)(UINT64_C(1) << 53);
}

static bool
chance(struct net *net, double p)
{
	return p > 0 && sim_fraction(&net->rng) < p;
}

void
net_init(struct net *net, const struct net_config *cfg, unsigned nports, uint64_t seed)
{
	memset(net, 0, sizeof *net);
	net->cfg = *cfg;
	net->rng = seed;
	net->nports = nports;
	net->ports = calloc(nports, sizeof *net->ports);
	assert(net->ports != NULL);
}

void
net_fini(struct net *net)
{
	for (unsigned i = 0; i < net->nports; i++) {
		net_down(net, i);
		free(net->ports[i].queue);
	}
	free(net->ports);
}

void
net_drop(struct packet *pkt)
{
	if (--pkt->refs == 0)
		free(pkt);
}

void
net_down(struct net *net, unsigned port)
{
	struct port *p = &net->ports[port];

	while (p->n > 0)
		net_drop(net_receive(net, port));
	p->up = false;
}

uint64_t
net_next(const struct net *net, unsigned port)
{
	const struct port *p = &net->ports[port];

	return p->n > 0 ? p->queue[p->head].at_ns : UINT64_MAX;
}

struct packet *
net_receive(struct net *net, unsigned port)
{
	struct port *p = &net->ports[port];

	assert(p->n > 0);
	struct packet *pkt = p->queue[p->head].pkt;
	p->head = (p->head + 1) & (p->cap - 1);
	p->n--;
	return pkt;
}

/* The queue is a ring of a power of two, kept by time. */
static void
insert(struct port *p, uint64_t at_ns, struct packet *pkt)
{
	if (p->n == p->cap) {
		size_t cap = p->cap != 0 ? p->cap * 2 : 64;
		struct arrival *q = malloc(cap * sizeof *q);
		assert(q != NULL);
		for (size_t i = 0; i < p->n; i++)
			q[i] = p->queue[(p->head + i) & (p->cap - 1)];
		free(p->queue);
		p->queue = q;
		p->cap = cap;
		p->head = 0;
	}
	size_t mask = p->cap - 1, i = p->n++;
	for (; i > 0 && p->queue[(p->head + i - 1) & mask].at_ns > at_ns; i--)
		p->queue[(p->head + i) & mask] = p->queue[(p->head + i - 1) & mask];
	p->queue[(p->head + i) & mask] = (struct arrival){ at_ns, pkt };
	pkt->refs++;
}

static uint64_t
link_bits(const struct net *net, unsigned port)
{
	return port == 0 || net->cfg.client_bits == 0 ? net->cfg.port_bits
	                                              : net->cfg.client_bits;
}

static uint64_t
serial_ns(const struct net *net, unsigned port, size_t len)
{
	return (len + ENVELOPE_BYTES) * 8 * UINT64_C(1000000000) / link_bits(net, port);
}

static bool
is_lost(struct net *net, struct port *p)
{
	double loss = net->cfg.loss, burst = net->cfg.burst;

	if (burst <= 1)
		return chance(net, loss);
	p->bad = chance(net, p->bad ? 1 - 1 / burst : loss / (burst * (1 - loss)));
	return p->bad;
}

static void
deliver(struct net *net, unsigned port, struct packet *pkt, uint64_t at_ns)
{
	struct port *p = &net->ports[port];
	uint64_t ser = serial_ns(net, port, pkt->len);

	if (p->longest != 0 && pkt->len > p->longest)
		return;
	uint64_t wait = p->rx_free_ns > at_ns ? p->rx_free_ns - at_ns : 0;

	if ((double)wait * (double)link_bits(net, port) / 8e9 > net->cfg.queue_bytes) {
		net->stats.queue_drops++;
		return;
	}
	p->rx_free_ns = at_ns + wait + ser;
	uint64_t there = p->rx_free_ns + net->cfg.latency_us * UINT64_C(500);
	if (is_lost(net, p)) {
		net->stats.lost++;
		return;
	}
	uint64_t unread = p->read_free_ns > there ? p->read_free_ns - there : 0;
	if (unread > (uint64_t)net->cfg.socket_packets * net->cfg.read_ns) {
		net->stats.socket_drops++;
		return;
	}
	/* Nobody listens there. */
	if (!p->second && wirext_is(pkt->bytes, pkt->len))
		return;
	if (net->cfg.read_ns > 0)
		there = p->read_free_ns = there + unread + net->cfg.read_ns;
	/* Behind the socket's queue: a late packet delays no other. */
	if (chance(net, net->cfg.late))
		there += sim_random(&net->rng) % (net->cfg.late_us * UINT64_C(1000));
	insert(p, there, pkt);
	if (net->touched != NULL)
		net->touched(net->arg, port);
}

void
net_send(struct net *net, unsigned from, const uint8_t ip[4], const void *bytes,
    size_t len, uint64_t now_ns)
{
	struct port *p = &net->ports[from];
	struct packet *pkt = malloc(sizeof *pkt);

	assert(pkt != NULL && len <= sizeof pkt->bytes);
	pkt->refs = 1;
	pkt->len = len;
	memcpy(pkt->from, ip, 4);
	memcpy(pkt->bytes, bytes, len);
	uint64_t start = p->tx_free_ns > now_ns ? p->tx_free_ns : now_ns;
	p->tx_free_ns = start + serial_ns(net, from, len);
	net->stats.sent++;
	for (unsigned i = 0; i < net->nports; i++) {
		if (i == from || !net->ports[i].up || net->ports[i].deaf)
			continue;
		uint64_t at_ns = p->tx_free_ns + net->cfg.latency_us * UINT64_C(500);
		deliver(net, i, pkt, at_ns);
		if (chance(net, net->cfg.twice))
			deliver(net, i, pkt, at_ns);
	}
	net_drop(pkt);
}

uint64_t
net_backlog_ns(const struct net *net, unsigned port, uint64_t now_ns)
{
	uint64_t until = net->ports[port].tx_free_ns;

	return until > now_ns ? until - now_ns : 0;
}
