/* greedy.c: makes the messages of greedy clients (greedy.h).  The simulated world calls
 * it, in the program's only thread. */
#include "tests/sim/greedy.h"

#include <string.h>

#include "common/wire/wire.h"
#include "common/wire/wirext.h"

static size_t
joins(const struct greedy *g, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_JOIN };

	memcpy(m.srcip, g->ip, 4);
	m.u.join.clientid = g->id + (uint32_t)g->said;
	size_t n = wire_put(&m, pkt, WIRE_PACKET_MAX);
	return g->old ? n : wirext_put_offer(pkt, n, WIRE_PACKET_MAX, 1);
}

/* A request for a whole chunk; each message is for the next chunk, and after the last
 * one for the first. */
static size_t
requests(const struct greedy *g, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_REQ };

	memcpy(m.srcip, g->ip, 4);
	m.u.req.chunk = (uint32_t)(g->said % g->nchunks);
	m.u.req.count = WIRE_CHUNK_BLOCKS;
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
wants(struct wirext_msg *m, const struct greedy *g, void *pkt)
{
	static uint8_t bits[WIREXT_MAP_CHUNKS / 8];

	memset(bits, 0xff, sizeof bits);
	m->kind = WIREXT_WANT;
	m->u.want.clientid = g->id;
	m->u.want.map = (struct wirext_map){ 0, g->nchunks, bits };
	return wirext_put(m, pkt, WIRE_PACKET_MAX);
}

static size_t
goes_on(struct wirext_msg *m, const struct greedy *g, void *pkt)
{
	m->kind = WIREXT_CREDIT;
	m->u.credit.clientid = g->id;
	m->u.credit.blocks = UINT32_MAX;
	return wirext_put(m, pkt, WIRE_PACKET_MAX);
}

/* A NACK that says that all blocks of many chunks are lacking, so that parity is sent.
 */
static size_t
reports(struct wirext_msg *m, const struct greedy *g, void *pkt)
{
	m->kind = WIREXT_NACK;
	m->u.nack.clientid = g->id;
	m->u.nack.n = g->nchunks < WIREXT_NACKS ? g->nchunks : WIREXT_NACKS;
	for (uint32_t i = 0; i < m->u.nack.n; i++) {
		m->u.nack.at[i].chunk = (uint32_t)((g->said + i) % g->nchunks);
		memset(m->u.nack.at[i].lack, 128, sizeof m->u.nack.at[i].lack);
	}
	return wirext_put(m, pkt, WIRE_PACKET_MAX);
}

size_t
greedy_speaks(struct greedy *g, void *pkt)
{
	struct wirext_msg m = { .session = g->session };
	uint64_t turn = g->said++;

	memcpy(m.srcip, g->ip, 4);
	if (turn % 16 == 0)
		return joins(g, pkt);
	if (g->old)
		return requests(g, pkt);
	return turn % 4 == 1   ? reports(&m, g, pkt)
	       : turn % 4 == 2 ? wants(&m, g, pkt)
	                       : goes_on(&m, g, pkt);
}
