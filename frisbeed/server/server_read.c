#include "frisbeed/server/server_impl.h"

#include <assert.h>

/* How many blocks may go on somebody's word.  Old requests that wait do not count when
 * the carousel goes before them: they may be many, and always there. */
static uint64_t
room(const struct server *s)
{
	uint64_t given = server_sent_all(&s->sent) + (s->head != NULL ? 0 : server_pending(s));

	return given < s->ext.limit ? s->ext.limit - given : 0;
}

/* Without a pace no more goes than somebody said to have room for: the rest of the
 * chunk waits. */
static struct blockmap
fit(struct server *s, uint32_t chunk, const struct blockmap *want)
{
	struct blockmap now = server_unpaced(s) ? blockmap_first(want, room(s)) : *want;
	struct blockmap rest = blockmap_minus(*want, &now);

	s->ext.split = s->image.chunks;
	if (blockmap_empty(&rest))
		return now;
	carousel_put_back(&s->ext.carousel, chunk, &rest);
	s->ext.split = chunk;
	return now;
}

/* The next chunk that somebody wants, before all that waits or behind it. */
static void
take_next(struct server *s, bool first)
{
	struct blockmap want;
	uint32_t chunk;

	if (!carousel_next(&s->ext.carousel, &chunk, &want))
		return;
	s->ext.carousel_turns -= s->ext.carousel_turns > 0;
	s->ext.old_run = 0;
	server_chunk_changed(s, chunk);
	struct item *it = server_item_of(s, chunk);
	if (it == NULL)
		return; /* no memory: it will be wanted again */
	want = blockmap_minus(want, &it->queued);
	want = blockmap_minus(want, &it->coming);
	want = fit(s, chunk, &want);
	if (s->ext.split != chunk)
		server_chunk_given(s, chunk);
	blockmap_add(&it->queued, &want);
	it->bulk += blockmap_count(&want);
	s->ext.pending += blockmap_count(&want);
	if (it->in_fifo) {
		/* An old request waits for it, too: it goes now, for all. */
		if (first)
			server_fifo_advance(s, it);
		return;
	}
	if (blockmap_empty(&it->queued))
		server_item_unref(s, it);
	else if (first)
		server_fifo_prepend(s, it);
	else
		server_fifo_append(s, it);
}

/* ... when nothing else is asked for; with those that take turns with it. */
static void
turn_carousel(struct server *s)
{
	if ((s->head != NULL && s->ext.carousel_turns == 0) || room(s) == 0)
		return;
	uint32_t chunk = carousel_peek(&s->ext.carousel);
	take_next(s, true);
	if (!server_in_sets(s))
		return;
	for (uint32_t next = chunk;
	     (next = carousel_peek(&s->ext.carousel)) != s->image.chunks && next > chunk &&
	     server_same_set(chunk, next);)
		take_next(s, false);
}

/* Is part of a chunk given out, and will the next run be more of it?  What came in
 * between would look like the end of it to the clients. */
static bool
within_chunk(const struct server *s)
{
	if (s->head == NULL)
		return s->ext.split < s->image.chunks &&
		       carousel_wants(&s->ext.carousel, s->ext.split) && room(s) > 0;
	/* Of a set, all chunks. */
	for (const struct item *it = s->head; it != NULL;
	     it = server_in_sets(s) ? it->next : NULL)
		if (it->cursor > 0 &&
		    blockmap_next(&it->queued, it->cursor) < WIRE_CHUNK_BLOCKS)
			return true;
	return false;
}

/* Does nobody want anything but what is late? */
static bool
may_be_late(const struct server *s)
{
	return s->head == NULL && s->ext.carousel.wanted == 0;
}

/* It is paid for as blocks are, by what somebody can take; and while blocks are wanted,
 * also when they are held back, it is no more than they are. */
static bool
parity_may_go(const struct server *s)
{
	return s->ext.used && s->cfg.ext.parity &&
	       (room(s) > 0 || s->ext.owed > 0 || server_unpaced(s)) &&
	       (may_be_late(s) || s->ext.parity_ahead < PARITY_AHEAD);
}

uint64_t
server_parity_due_us(const struct server *s)
{
	if (!parity_may_go(s))
		return SERVER_NEVER;
	return may_be_late(s) && s->ext.repair.nlate > 0 ? 0
	                                                 : repair_due_us(&s->ext.repair);
}

/* Parity of a chunk that lacks somewhere, or that was just given out. */
static bool
read_for_parity(struct server *s, struct server_run *run)
{
	uint32_t chunk;
	uint8_t count[WIREXT_GROUPS];

	if (!server_slots_takes_parity(&s->slots) ||
	    (!repair_next(&s->ext.repair, s->now_us, &chunk, count) &&
		!(may_be_late(s) && repair_next_late(&s->ext.repair, &chunk, count))))
		return false;
	*run = *server_slots_add_parity(&s->slots, chunk, count);
	uint32_t blocks = 0;
	for (unsigned g = 0; g < WIREXT_GROUPS; g++)
		blocks += count[g];
	s->ext.parity_ahead += blocks;
	uint32_t owed = blocks < s->ext.owed ? blocks : s->ext.owed;
	s->ext.owed -= owed;
	s->ext.limit += server_unpaced(s) ? 0 : owed;
	return true;
}

/* Old requests have had a chunk's time: now the others have theirs, as many of them as
 * there are to each that asks so. */
static void
give_turns(struct server *s)
{
	s->ext.carousel_turns = voters_to_each_asker(&s->voters, s->now_us);
	s->ext.old_run = 0;
}

/* All of it was given out.  Large old requests and the carousel take turns. */
static void
finish_item(struct server *s, struct item *it)
{
	bool rest = it->chunk == s->ext.split;
	bool large = it->bulk >= LARGE_REQUEST && !rest;

	if (large && it->asked)
		give_turns(s);
	it->bulk = 0;
	it->asked = false;
	if (!large || s->ext.clients == 0 || !s->cfg.ext.parity)
		return;
	repair_add_unasked(&s->ext.repair, it->chunk, s->now_us, s->ext.clients);
	s->stats.unasked = s->ext.repair.unasked;
}

/* The first one that has something from its cursor on: what was asked again behind it
 * waits for its turn like all else.  Several have begun when chunks take turns. */
static struct item *
next_item(struct server *s)
{
	while (blockmap_next(&s->head->queued, s->head->cursor) == WIRE_CHUNK_BLOCKS)
		server_fifo_append(s, server_fifo_pop(s));
	return s->head;
}

bool
server_read_next(struct server *s, struct server_run *run)
{
	if (server_slots_full(&s->slots))
		return false;
	bool within = within_chunk(s);
	if (!within && parity_may_go(s) && read_for_parity(s, run))
		return true;
	if (s->ext.used && (!within || s->head == NULL))
		turn_carousel(s);
	if (s->head == NULL) {
		if (s->ext.carousel.wanted == 0)
			s->ext.parity_ahead = 0;
		return parity_may_go(s) && read_for_parity(s, run);
	}
	struct item *it = next_item(s);
	uint32_t first = blockmap_next(&it->queued, it->cursor);
	uint32_t n = blockmap_run(&it->queued, first, s->cfg.run_blocks);
	assert(n > 0);
	struct blockmap taken = blockmap_range(first, n);
	it->queued = blockmap_minus(it->queued, &taken);
	blockmap_add(&it->coming, &taken);
	it->cursor = first + n;
	if (it->asked && s->ext.used)
		server_take_over(s, it->chunk, &taken);
	s->ext.old_run += it->asked ? n : 0;
	if (s->ext.old_run >= WIRE_CHUNK_BLOCKS)
		give_turns(s);
	s->ext.parity_ahead -= n < s->ext.parity_ahead ? n : s->ext.parity_ahead;
	*run = *server_slots_add(&s->slots, it->chunk, first, n, it->asked);
	if (!blockmap_empty(&it->queued)) {
		if (server_in_sets(s))
			server_fifo_rotate(s);
		return true;
	}
	finish_item(s, server_fifo_pop(s));
	return true;
}

void
server_read_done(struct server *s, uint32_t buf)
{
	server_slots_read(&s->slots, buf);
}
