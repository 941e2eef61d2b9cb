/* foe_repeat.c: makes the packets of a stranger that clients take for the server
 * (foe_repeat.h). foe.c calls it, in the program's only thread. */
#include "tests/sim/foe_repeat.h"

#include <string.h>

#include "common/wire/wire.h"
#include "tests/random.h"

enum {
	CHUNKS_MOST = 3,      /* that it repeats before it lies */
	STATE_NS = 250000000, /* between two STATEs */
};

void
foe_repeat_begin(struct foe_repeat *r, const uint8_t ip[4], uint64_t *rng)
{
	memset(r, 0, sizeof *r);
	memcpy(r->ip, ip, sizeof r->ip);
	r->lies = (enum foe_lies)(random_next(rng) % FOE_LIES);
	r->chunks = 2 + (uint32_t)(random_next(rng) % CHUNKS_MOST);
	r->chunk = UINT32_MAX;
}

/* Keep a copy of a packet, as if the stranger had sent it. */
static void
copy(const struct foe_repeat *r, struct foe_copy *to, const void *pkt, size_t len)
{
	if (len > sizeof to->bytes)
		return;
	memcpy(to->bytes, pkt, len);
	memcpy(to->bytes + (wirext_is(pkt, len) ? 8 : 12), r->ip, sizeof r->ip);
	to->len = len;
}

/* A block of the chunk passes: it is to be repeated, unless enough were. */
static void
hear_block(struct foe_repeat *r, uint32_t chunk, const void *pkt, size_t len)
{
	if (chunk != r->chunk && r->chunks_left > 0)
		r->proves = --r->chunks_left > 0;
	r->chunk = chunk;
	copy(r, &r->last, pkt, len);
	if (r->proves && r->n < FOE_COPIES)
		copy(r, &r->queue[(r->head + r->n++) % FOE_COPIES], pkt, len);
}

static void
hear_ext(struct foe_repeat *r, const void *pkt, size_t len)
{
	struct wirext_msg m;
	struct err e;

	if (wirext_get(&m, pkt, len, &e) != 0)
		return;
	if (m.kind == WIREXT_STATE)
		copy(r, &r->state, pkt, len);
	else if (m.kind == WIREXT_DATA)
		hear_block(r, m.u.data.chunk, pkt, len);
}

/* A client begins. */
static void
hear_join(struct foe_repeat *r, const void *pkt, size_t len)
{
	uint32_t flags;

	if (wirext_get_offer(pkt, len, &flags) && (flags & WIREXT_AGAIN) != 0)
		return;
	r->proves = true;
	r->chunks_left = r->chunks + 1;
}

void
foe_repeat_hears(struct foe_repeat *r, const void *pkt, size_t len)
{
	struct wirext_answer a;
	struct wire_msg m;
	struct err e;

	if (wirext_is(pkt, len))
		hear_ext(r, pkt, len);
	else if (wire_get(&m, pkt, len, &e) != 0)
		return;
	else if (m.type == WIRE_REPLY && wirext_get_answer(pkt, len, &a))
		copy(r, &r->reply, pkt, len);
	else if (m.subtype == WIRE_JOIN)
		hear_join(r, pkt, len);
	else if (m.subtype == WIRE_BLOCK)
		hear_block(r, m.u.block.chunk, pkt, len);
}

/* What the server said last, with a map that promises all chunks. */
static size_t
announces(const struct foe_repeat *r, void *pkt)
{
	static uint8_t all[WIREXT_MAP_CHUNKS / 8];
	bool stale = r->lies == FOE_LIES_STALE && !r->proves;
	struct wirext_msg m;
	struct err e;

	if (wirext_get(&m, r->state.bytes, r->state.len, &e) != 0)
		return 0;
	memset(all, 0xff, sizeof all);
	m.u.state.flags = stale ? WIREXT_STALE : 0;
	m.u.state.coming = (struct wirext_map){ 0, m.u.state.chunks, all };
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
says(const struct foe_copy *what, void *pkt)
{
	memcpy(pkt, what->bytes, what->len);
	return what->len;
}

size_t
foe_repeat_speaks(struct foe_repeat *r, uint64_t now_ns, void *pkt)
{
	if (r->reply.len == 0)
		return 0;
	if (now_ns >= r->state_ns && r->state.len > 0) {
		r->state_ns = now_ns + STATE_NS;
		r->says_block = true;
		return announces(r, pkt);
	}
	if (r->n > 0) {
		const struct foe_copy *next = &r->queue[r->head];
		r->head = (r->head + 1) % FOE_COPIES;
		r->n--;
		return says(next, pkt);
	}
	if (r->says_block && r->lies == FOE_LIES_LITTLE) {
		r->says_block = false;
		return says(&r->last, pkt);
	}
	return r->lies == FOE_LIES_STALE && !r->proves && r->chunk != UINT32_MAX
	           ? 0
	           : says(&r->reply, pkt);
}

bool
foe_repeat_hurries(const struct foe_repeat *r)
{
	return r->n > 0;
}
