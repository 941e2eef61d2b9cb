/* net.c: the simulated switch and the links of its hosts (net.h).  The simulated world calls it,
 * in the program's only thread. */
#include "tests/sim/net.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* UDP, IP, Ethernet, preamble and gap */
	ENVELOPE_BYTES = 8 + 20 + 18 + 20,
	PREFETCH_PORTS = 16,
	SHORT_QUEUE = 64, /* packets that a short queue holds */
	CROSS_BYTES = 1472, /* of a packet that others send; the usual burst of these */
	CROSS_BURST = 16384,
};

/* True with probability p.  Each port has its own random numbers, so that what happens at one
 * port does not depend on the others. */
static bool
chance(struct port *port, double p)
{
	return p > 0 && random_fraction(&port->rng) < p;
}

static uint64_t
usual_bits(const struct net *net, unsigned port)
{
	return port == 0 || net->cfg.client_bits == 0 ? net->cfg.port_bits
	                                              : net->cfg.client_bits;
}

static uint64_t
link_bits(const struct net *net, unsigned port)
{
	const struct port *p = &net->ports[port];

	return p->own ? p->link.bits : usual_bits(net, port);
}

/* How long a state lasts whose end does not depend on its age: an exponential distribution. */
static uint64_t
lasts_ns(struct port *p, double mean_us)
{
	return 1 + (uint64_t)(-log(1 - random_fraction(&p->rng)) * mean_us * 1000);
}

static bool
in_bursts(double loss, double burst_us)
{
	return burst_us > 0 && loss > 0 && loss < 1;
}

static void
begin_bursts(struct port *p, double loss, double burst_us)
{
	if (!in_bursts(loss, burst_us))
		return;
	p->bad = chance(p, loss);
	p->turns_ns = lasts_ns(p, p->bad ? burst_us : burst_us * (1 - loss) / loss);
}

void
net_set_link(struct net *net, unsigned port, const struct net_link *link)
{
	struct port *p = &net->ports[port];

	p->own = true;
	p->link = *link;
	if (p->link.bits == 0)
		p->link.bits = usual_bits(net, port);
	if (p->link.queue_bytes == 0)
		p->link.queue_bytes = net->cfg.queue_bytes;
	if (p->link.loss == 0) {
		p->link.loss = net->cfg.loss;
		p->link.burst_us = net->cfg.burst_us;
	}
	begin_bursts(p, p->link.loss, p->link.burst_us);
}

/* Without bursts: only single packets are lost at the server. */
static void
lose_at_server(struct net *net)
{
	double loss = net->cfg.server_loss;

	if (loss > 0)
		net_set_link(net, 0, &(struct net_link){ .loss = loss, .loss_up = loss });
}

static struct arrival *
short_queue(const struct net *net, unsigned port)
{
	return &net->queues[(size_t)port * SHORT_QUEUE];
}

void
net_init(struct net *net, const struct net_config *cfg, unsigned nports, uint64_t seed)
{
	memset(net, 0, sizeof *net);
	net->cfg = *cfg;
	net->rng = seed;
	net->nports = nports;
	net->ports = calloc(nports, sizeof *net->ports);
	net->queues = calloc(nports, SHORT_QUEUE * sizeof *net->queues);
	assert(net->ports != NULL && net->queues != NULL);
	for (unsigned i = 0; i < nports; i++) {
		net->ports[i].queue = short_queue(net, i);
		net->ports[i].cap = SHORT_QUEUE;
		net->ports[i].rng = random_next(&net->rng);
		begin_bursts(&net->ports[i], cfg->loss, cfg->burst_us);
	}
	lose_at_server(net);
}

void
net_fini(struct net *net)
{
	for (unsigned i = 0; i < net->nports; i++) {
		net_down(net, i);
		if (net->ports[i].cap != SHORT_QUEUE)
			free(net->ports[i].queue);
	}
	while (net->unused != NULL) {
		struct packet *pkt = net->unused;
		net->unused = pkt->next;
		free(pkt);
	}
	free(net->queues);
	free(net->ports);
}

/* A packet with these bytes, which the caller releases with net_drop(). */
static struct packet *
packet_of(struct net *net, const uint8_t ip[4], const void *bytes, size_t len)
{
	struct packet *pkt = net->unused;

	if (pkt != NULL)
		net->unused = pkt->next;
	else
		pkt = malloc(sizeof *pkt);
	assert(pkt != NULL && len <= sizeof pkt->bytes);
	pkt->refs = 1;
	pkt->len = len;
	memcpy(pkt->from, ip, 4);
	memcpy(pkt->bytes, bytes, len);
	return pkt;
}

void
net_drop(struct net *net, struct packet *pkt)
{
	if (--pkt->refs > 0)
		return;
	pkt->next = net->unused;
	net->unused = pkt;
}

void
net_down(struct net *net, unsigned port)
{
	struct port *p = &net->ports[port];

	while (p->n > 0)
		net_drop(net, net_receive(net, port));
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

static void
lengthen_queue(struct port *p)
{
	struct arrival *q = malloc(2 * p->cap * sizeof *q);

	assert(q != NULL);
	for (size_t i = 0; i < p->n; i++)
		q[i] = p->queue[(p->head + i) & (p->cap - 1)];
	if (p->cap != SHORT_QUEUE)
		free(p->queue);
	p->queue = q;
	p->cap *= 2;
	p->head = 0;
}

/* The queue is a ring of a power of two, kept by time. */
static void
insert(struct port *p, uint64_t at_ns, struct packet *pkt)
{
	if (p->n == p->cap)
		lengthen_queue(p);
	size_t mask = p->cap - 1, i = p->n++;
	for (; i > 0 && p->queue[(p->head + i - 1) & mask].at_ns > at_ns; i--)
		p->queue[(p->head + i) & mask] = p->queue[(p->head + i - 1) & mask];
	p->queue[(p->head + i) & mask] = (struct arrival){ at_ns, pkt };
	pkt->refs++;
}

static uint64_t
serial_ns(uint64_t bits, size_t len)
{
	return (len + ENVELOPE_BYTES) * 8 * UINT64_C(1000000000) / bits;
}

/* Is a packet lost that arrives now?  Bursts of losses begin and end at their times, whether
 * or not a packet comes. */
static bool
is_lost(struct net *net, struct port *p, uint64_t at_ns)
{
	double loss = p->own ? p->link.loss : net->cfg.loss;
	double burst_us = p->own ? p->link.burst_us : net->cfg.burst_us;

	if (!in_bursts(loss, burst_us))
		return chance(p, loss);
	while (p->turns_ns <= at_ns) {
		p->bad = !p->bad;
		p->turns_ns += lasts_ns(
		    p, p->bad ? burst_us : burst_us * (1 - loss) / loss);
	}
	return p->bad;
}

/* When the card of a port tells its host of a packet that comes at this time. */
static uint64_t
told_ns(const struct net *net, unsigned port, uint64_t at_ns)
{
	struct port *p = &net->ports[port];
	uint64_t every = net->cfg.gather_us * UINT64_C(1000);

	if (every == 0 || port == 0)
		return at_ns;
	if (at_ns > p->told_ns || at_ns + every <= p->told_ns) {
		uint64_t phase = port * UINT64_C(0x9e3779b97f4a7c15) % every;
		p->told_ns = (at_ns + phase + every - 1) / every * every - phase;
	}
	return p->told_ns;
}

/* What it takes to get a packet through one kind of port. */
struct passage {
	uint64_t serial_ns, queue_ns;
};

static struct passage
passage_of(uint64_t bits, uint32_t queue_bytes, size_t len)
{
	return (struct passage){ .serial_ns = serial_ns(bits, len),
		.queue_ns = (uint64_t)(queue_bytes * 8e9 / (double)bits) };
}

/* Bytes that wait at a port. */
static double
waiting(const struct net *net, unsigned port, uint64_t at_ns)
{
	uint64_t free_ns = net->ports[port].rx_free_ns;

	return free_ns > at_ns ? (double)(free_ns - at_ns) * (double)link_bits(net, port) / 8e9 : 0;
}

/* The most bytes that may wait at one port now, where the ports of a switch share memory (a
 * dynamic threshold: as many as are free). */
static double
threshold(const struct net *net, unsigned network, uint64_t at_ns)
{
	double left = net->cfg.shared_bytes;

	for (unsigned i = 0; i < net->nports; i++)
		left -= net->ports[i].network == network ? waiting(net, i, at_ns) : 0;
	return left > 0 ? left : 0;
}

/* Queue a packet that comes to a port at this time.  False: it is lost. */
static bool
queue_up(struct net *net, unsigned port, const struct passage *way, uint64_t at_ns)
{
	struct port *p = &net->ports[port];
	uint64_t wait = p->rx_free_ns > at_ns ? p->rx_free_ns - at_ns : 0;

	if (wait > way->queue_ns)
		return false;
	p->rx_free_ns = at_ns + wait + way->serial_ns;
	return true;
}

/* Everything that others have sent to the port until now; the longest packets of Ethernet. */
static void
others_send(struct net *net, unsigned port, uint64_t queue_ns, uint64_t at_ns)
{
	struct port *p = &net->ports[port];
	double bits = (double)link_bits(net, port);
	double burst = net->cfg.cross_bytes > 0 ? net->cfg.cross_bytes : CROSS_BURST;
	struct passage way = { serial_ns(link_bits(net, port), CROSS_BYTES), queue_ns };

	if (net->cfg.cross == 0 || port == 0)
		return;
	while (p->cross_ns <= at_ns) {
		for (double left = burst; left > 0; left -= CROSS_BYTES)
			queue_up(net, port, &way, p->cross_ns);
		p->cross_ns += lasts_ns(p, burst * 8e6 / bits / net->cfg.cross);
	}
}

uint64_t
net_pass(struct net *net, unsigned port, size_t len, uint64_t now_ns)
{
	uint32_t queue_bytes = net->cfg.queue_bytes;
	struct passage way = passage_of(link_bits(net, port), queue_bytes, len);

	others_send(net, port, way.queue_ns, now_ns);
	return queue_up(net, port, &way, now_ns) ? net->ports[port].rx_free_ns : 0;
}

static void
deliver(struct net *net, unsigned port, const struct passage *way, struct packet *pkt,
    uint64_t at_ns)
{
	struct port *p = &net->ports[port];

	if (p->longest != 0 && pkt->len > p->longest)
		return;
	others_send(net, port, way->queue_ns, at_ns);
	if (!queue_up(net, port, way, at_ns)) {
		net->stats.queue_drops++;
		return;
	}
	uint64_t there = p->rx_free_ns + net->cfg.latency_us * UINT64_C(500);
	if (is_lost(net, p, there)) {
		net->stats.lost++;
		return;
	}
	uint64_t unread = p->read_free_ns > there ? p->read_free_ns - there : 0;
	if (unread > (uint64_t)net->cfg.socket_packets * net->cfg.read_ns) {
		net->stats.socket_drops++;
		return;
	}
	/* No socket listens to the second port. */
	if (!p->second && wirext_is(pkt->bytes, pkt->len))
		return;
	if (net->cfg.read_ns > 0)
		there = p->read_free_ns = there + unread + net->cfg.read_ns;
	/* The delay is added behind the socket's queue, so that a late packet delays no other. */
	if (chance(p, net->cfg.late))
		there += random_next(&p->rng) % (net->cfg.late_us * UINT64_C(1000));
	insert(p, told_ns(net, port, there), pkt);
	if (net->touched != NULL)
		net->touched(net->arg, port);
}

/* Prefetches the end of a queue, where the next packet goes: there are thousands of queues. */
static void
prefetch_queue(const struct net *net, unsigned port)
{
	const struct port *p = &net->ports[port];

	if (port >= net->nports || p->n == 0)
		return;
	__builtin_prefetch(&p->queue[(p->head + p->n - 1) & (p->cap - 1)], 1);
	__builtin_prefetch(&p->queue[(p->head + p->n) & (p->cap - 1)], 1);
}

void
net_send(struct net *net, unsigned from, const uint8_t ip[4], const void *bytes,
    size_t len, uint64_t now_ns)
{
	struct port *p = &net->ports[from];
	struct packet *pkt = packet_of(net, ip, bytes, len);

	uint64_t start = p->tx_free_ns > now_ns ? p->tx_free_ns : now_ns;
	p->tx_free_ns = start + serial_ns(link_bits(net, from), len);
	net->stats.sent++;
	uint64_t at_ns = p->tx_free_ns + net->cfg.latency_us * UINT64_C(500);
	if (p->mute || chance(p, p->link.loss_up)) {
		net->stats.lost++;
		net_drop(net, pkt);
		return;
	}
	uint32_t queue_bytes = net->cfg.queue_bytes;
	if (net->cfg.shared_bytes > 0) {
		double most = threshold(net, p->network, at_ns);
		queue_bytes = most < queue_bytes ? (uint32_t)most : queue_bytes;
	}
	struct passage to_server = passage_of(usual_bits(net, 0), queue_bytes, len);
	struct passage to_client = passage_of(usual_bits(net, 1), queue_bytes, len);
	for (unsigned i = 0; i < net->nports; i++) {
		prefetch_queue(net, i + PREFETCH_PORTS);
		if (i == from || !net->ports[i].up || net->ports[i].deaf ||
		    net->ports[i].network != p->network)
			continue;
		struct passage own;
		const struct passage *way = i == 0 ? &to_server : &to_client;
		if (net->ports[i].own) {
			own = passage_of(net->ports[i].link.bits,
			    net->ports[i].link.queue_bytes, len);
			way = &own;
		}
		deliver(net, i, way, pkt, at_ns);
		if (chance(&net->ports[i], net->cfg.twice))
			deliver(net, i, way, pkt, at_ns);
	}
	net_drop(net, pkt);
}

uint64_t
net_backlog_ns(const struct net *net, unsigned port, uint64_t now_ns)
{
	uint64_t until = net->ports[port].tx_free_ns;

	return until > now_ns ? until - now_ns : 0;
}
