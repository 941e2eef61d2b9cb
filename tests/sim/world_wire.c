/* world_wire.c: the rules of what may be sent, and when: a client sends nothing before it has
 * joined, and the server sends only what was asked for, and no faster than it may.  The other
 * files of the world call it, in the program's only thread. */
#include "tests/sim/world_impl.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a server makes up for: what it misses in LATE_US, or LATE_BLOCKS blocks, at HURRY times
 * its rate; of that at once what the rate brings in AT_ONCE_US, or LATE_BLOCKS.  The blocks of
 * a burst below 1 Gbit/s.  The short stretch of time in which the pace is looked at, too. */
enum { LATE_US = 6000, LATE_BLOCKS = 16, AT_ONCE_US = 250, FINE_BURST = 8, BURST_US = 100,
	SHORT_US = 1000 };
static const double HURRY = 1.1;

/* Checks that a client that asks for something, or leaves, has joined: the server counts its
 * clients. */
static void
check_joined(struct world *w, uint32_t port, const struct wire_msg *m)
{
	struct node *nd = &w->nodes[port - 1];

	if (m->subtype == WIRE_JOIN || m->subtype == WIRE_JOIN2)
		nd->joined = true;
	else if (!nd->joined)
		world_fail(w, "client %u speaks before it joins", port);
}

static bool
readable_ext(struct world *w, uint32_t port, const void *pkt, size_t len)
{
	struct wirext_msg m;
	struct err e;

	bool serves = world_host_at(w, port) != NULL;

	if (!wirext_is(pkt, len))
		return false;
	if (wirext_get(&m, pkt, len, &e) != 0)
		world_fail(w, "port %u sends what cannot be read: %s", port, e.text);
	else if (!serves && !w->nodes[port - 1].joined)
		world_fail(w, "client %u speaks before it joins", port);
	else if (!serves && m.kind != WIREXT_WANT && m.kind != WIREXT_NACK &&
		 m.kind != WIREXT_CREDIT && m.kind != WIREXT_CONGESTION &&
		 m.kind != WIREXT_CREDIT_AT && m.kind != WIREXT_MTU_ACK &&
		 m.kind != WIREXT_URGENT && m.kind != WIREXT_HEARS)
		world_fail(w, "client %u speaks like a server", port);
	world_trace(w, "port %u: kind %u of the extension", port, (unsigned)m.kind);
	return true;
}

void
world_transmit(
    struct world *w, uint32_t port, const uint8_t ip[4], const void *pkt, size_t len)
{
	const uint8_t *b = pkt;
	struct wire_msg m;
	struct err e;

	if (readable_ext(w, port, pkt, len))
		;
	else if (wire_get(&m, pkt, len, &e) != 0)
		world_fail(w, "port %u sends what cannot be read: %s", port, e.text);
	else if (world_host_at(w, port) == NULL)
		check_joined(w, port, &m);
	uint64_t h = w->out->hash ^ w->now_ns ^ (uint64_t)port << 48;

	for (size_t i = 0; i < len && i < 40; i++)
		h = (h ^ b[i]) * UINT64_C(0x100000001b3);
	w->out->hash = h;
	net_send(&w->net, port, ip, pkt, len, w->now_ns);
}

/* Counts every message but joins and leaves. */
static void
count_chatter(struct world *w)
{
	uint64_t second = w->now_ns / 1000000000;

	w->out->chatter++;
	w->in_second = second == w->second ? w->in_second + 1 : 1;
	w->second = second;
	if (w->out->busiest < w->in_second)
		w->out->busiest = w->in_second;
}

static void
note_wanted(struct world *w, struct host *h, const struct wirext_map *wanted)
{
	struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);

	for (uint32_t c = 0; c < w->nchunks; c++)
		if (wanted == NULL || wirext_map_test(wanted, c))
			blockmap_add(&h->asked[c], &all);
}

static void
note_asked_ext(struct world *w, struct host *h, const struct packet *pkt)
{
	struct wirext_msg m;
	struct err e;

	if (wirext_get(&m, pkt->bytes, pkt->len, &e) != 0)
		world_fail(w, "the server got a bad packet: %s", e.text);
	/* Messages that acknowledge MTU probes belong to joining. */
	if (m.kind == WIREXT_MTU_ACK)
		w->out->fits++;
	else
		count_chatter(w);
	if (m.kind == WIREXT_WANT && m.session == h->cfg.ext.session)
		note_wanted(w, h, &m.u.want.map);
}

/* Notes that a stranger may have asked for any block, without a look at its message. */
static void
note_foe_asked(struct world *w, struct host *h, const struct packet *pkt)
{
	(void)pkt;
	note_wanted(w, h, NULL);
}

void
world_note_asked(struct world *w, struct host *h, const struct packet *pkt)
{
	struct wire_msg m;
	struct err e;
	struct blockmap map;
	uint32_t flags;

	if (world_from_server(w, pkt->from))
		return;
	if (world_from_foe(w, pkt->from)) {
		note_foe_asked(w, h, pkt);
		return;
	}
	w->out->control++;
	if (wirext_is(pkt->bytes, pkt->len)) {
		note_asked_ext(w, h, pkt);
		return;
	}
	if (w->sc->ext && wirext_get_offer(pkt->bytes, pkt->len, &flags))
		note_wanted(w, h, NULL);
	if (wire_get(&m, pkt->bytes, pkt->len, &e) != 0) {
		world_fail(w, "the server got a bad packet: %s", e.text);
		return;
	}
	if (m.subtype == WIRE_REQ)
		map = blockmap_range(m.u.req.first, m.u.req.count);
	else if (m.subtype == WIRE_PREQ)
		map = blockmap_get(m.u.preq.map);
	else
		return;
	count_chatter(w);
	if (m.u.req.chunk >= w->nchunks)
		world_fail(w, "a client asked for chunk %u", m.u.req.chunk);
	else
		blockmap_add(&h->asked[m.u.req.chunk], &map);
	world_trace(w, "server: hears %u.%u.%u.%u ask for %u blocks of chunk %u",
	    pkt->from[0], pkt->from[1], pkt->from[2], pkt->from[3],
	    blockmap_count(&map), m.u.req.chunk);
}

void
world_check_asked(struct world *w, struct host *h, uint32_t chunk, uint32_t block)
{
	if (chunk >= w->nchunks || !blockmap_test(&h->asked[chunk], block))
		world_fail(w,
		    "the server sends block %u of chunk %u, for which nobody asked",
		    block, chunk);
	else
		blockmap_clear(&h->asked[chunk], block);
}

static void
check_pace(struct world *w, struct pace_check *p)
{
	if (p->most == 0)
		return;
	size_t i = p->n++ % p->most;
	if (p->n > p->most && w->now_ns - p->sent_ns[i] < p->window_ns)
		world_fail(w, "more than %zu blocks within %.3f s", p->most,
		    (double)p->window_ns / 1e9);
	p->sent_ns[i] = w->now_ns;
}

void
world_check_pace(struct world *w, struct host *h)
{
	check_pace(w, &h->pace[0]);
	check_pace(w, &h->pace[1]);
}

/* Blocks that the pace allows within any window of this length: what the highest rate brings,
 * what is made up for (server_pace.h), the burst that begins the window, the one that ends it,
 * and before them the rest of a burst that had nothing to send for a while.  In short windows
 * what is made up for is a share of the rate. */
static double
blocks_within(const struct server_config *cfg, double us)
{
	double per_us = cfg->rate_bits != 0
	                    ? (double)cfg->rate_bits / WIRE_BLOCK_COST_BITS / 1e6
	                    : cfg->burst / (double)cfg->gap_us;
	double fine = per_us * BURST_US > FINE_BURST ? per_us * BURST_US : FINE_BURST;
	double burst = cfg->rate_bits == 0 && !cfg->dynamic ? cfg->burst : fine;
	double late = per_us * LATE_US > LATE_BLOCKS ? per_us * LATE_US : LATE_BLOCKS;
	double hurry = (HURRY - 1) * per_us * us;

	if (cfg->rate_bits == 0 && !cfg->dynamic)
		late = burst > LATE_BLOCKS ? burst : LATE_BLOCKS;
	return per_us * us + (hurry < late ? hurry : late) + AT_ONCE_US * per_us +
	       3 * burst + LATE_BLOCKS;
}

static void
setup_pace(const struct host *h, struct pace_check *p, uint64_t window_us)
{
	p->window_ns = window_us * US;
	p->most = (size_t)ceil(blocks_within(&h->cfg, (double)window_us));
	p->sent_ns = calloc(p->most, sizeof *p->sent_ns);
	assert(p->sent_ns != NULL);
}

void
world_setup_pace(struct host *h)
{
	const struct server_config *cfg = &h->cfg;

	if (!server_is_paced(cfg))
		return;
	setup_pace(h, &h->pace[0], 1000000);
	setup_pace(h, &h->pace[1], cfg->rate_bits != 0 ? SHORT_US : 10 * cfg->gap_us);
}
