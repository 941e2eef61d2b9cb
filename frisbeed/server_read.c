#include "frisbeed/server_impl.h"

#include <assert.h>
#include <string.h>

struct slot *
server_slot_at(const struct server *s, uint32_t n)
{
	return &s->slots[(s->slot_head + n) % s->cfg.ahead];
}

/* The next chunk that somebody wants, when nothing else is asked for. */
static void
turn_carousel(struct server *s)
{
	struct blockmap want;
	uint32_t chunk;

	if ((s->head != NULL && !s->ext.carousel_turn) ||
	    s->ext.sent + s->ext.pending >= s->ext.limit ||
	    !carousel_next(&s->ext.carousel, &chunk, &want))
		return;
	s->ext.carousel_turn = false;
	server_chunk_changed(s, chunk);
	struct item *it = server_item_of(s, chunk);
	if (it == NULL)
		return; /* no memory: it will be wanted again */
	want = blockmap_minus(want, &it->queued);
	want = blockmap_minus(want, &it->coming);
	blockmap_add(&it->queued, &want);
	it->bulk += blockmap_count(&want);
	s->ext.pending += blockmap_count(&want);
	if (it->in_fifo)
		return;
	if (blockmap_empty(&it->queued))
		server_item_unref(s, it);
	else
		server_fifo_prepend(s, it);
}

/* Parity of a chunk that lacks somewhere, or that was just given out. */
static bool
read_for_parity(struct server *s, struct server_run *run)
{
	uint32_t chunk, buf = 0;
	uint8_t count[WIREXT_GROUPS];

	while (s->ext.parity_used >> buf & 1)
		buf++;
	if (buf == SERVER_PARITY_BUFFERS ||
	    !repair_next(&s->ext.repair, s->now_us, &chunk, count))
		return false;
	s->ext.parity_used |= 1u << buf;
	struct slot *slot = server_slot_at(s, s->slots_used++);
	*slot = (struct slot){ .run = { .buf = s->cfg.ahead + buf,
				   .chunk = chunk,
				   .count = WIRE_CHUNK_BLOCKS },
		.parity = true };
	memcpy(slot->count, count, sizeof count);
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		slot->left += count[g];
	s->ext.pending += slot->left;
	*run = slot->run;
	return true;
}

/* All of it was given out.  Large old requests and the carousel take turns. */
static void
finish_item(struct server *s, struct item *it)
{
	bool large = it->bulk >= LARGE_REQUEST;

	s->ext.carousel_turn |= large && it->asked;
	it->bulk = 0;
	it->asked = false;
	if (!large || s->ext.clients == 0 || !s->cfg.ext.parity)
		return;
	repair_add_unasked(&s->ext.repair, it->chunk, s->now_us, s->ext.clients);
	s->stats.unasked = s->ext.repair.unasked;
}

bool
server_read_next(struct server *s, struct server_run *run)
{
	if (s->slots_used == s->cfg.ahead)
		return false;
	if (s->ext.used && s->cfg.ext.parity && read_for_parity(s, run))
		return true;
	if (s->ext.used)
		turn_carousel(s);
	if (s->head == NULL)
		return false;
	/* What was asked again behind the cursor waits for its turn like all else. */
	if (blockmap_next(&s->head->queued, s->head->cursor) == WIRE_CHUNK_BLOCKS)
		server_fifo_append(s, server_fifo_pop(s));
	struct item *it = s->head;
	uint32_t first = blockmap_next(&it->queued, it->cursor);
	uint32_t n = blockmap_run(&it->queued, first, s->cfg.run_blocks);
	struct blockmap taken = blockmap_range(first, n);
	it->queued = blockmap_minus(it->queued, &taken);
	blockmap_add(&it->coming, &taken);
	it->cursor = first + n;
	struct slot *slot = server_slot_at(s, s->slots_used++);
	*slot = (struct slot){ .run = { .buf = (uint32_t)(slot - s->slots),
				   .chunk = it->chunk,
				   .first = first,
				   .count = n } };
	*run = slot->run;
	if (!blockmap_empty(&it->queued))
		return true;
	finish_item(s, server_fifo_pop(s));
	return true;
}

void
server_read_done(struct server *s, uint32_t buf)
{
	for (uint32_t i = 0; i < s->slots_used; i++) {
		struct slot *slot = server_slot_at(s, i);
		if (slot->run.buf != buf || slot->ready)
			continue;
		slot->ready = true;
		return;
	}
	assert(!"a buffer that is not being read");
}
