#include "frisbeed/server/server_impl.h"

#include <stdlib.h>
#include <string.h>

struct item *
server_item_of(struct server *s, uint32_t chunk)
{
	struct item *it = s->items[chunk];

	if (it == NULL) {
		it = s->items[chunk] = calloc(1, sizeof *it);
		if (it != NULL)
			it->chunk = chunk;
	}
	return it;
}

void
server_fifo_append(struct server *s, struct item *it)
{
	it->next = NULL;
	it->in_fifo = true;
	if (s->head == NULL)
		s->head = it;
	else
		s->tail->next = it;
	s->tail = it;
}

struct item *
server_fifo_pop(struct server *s)
{
	struct item *it = s->head;

	s->head = it->next;
	it->in_fifo = false;
	it->cursor = 0;
	return it;
}

void
server_item_unref(struct server *s, struct item *it)
{
	if (!it->in_fifo && blockmap_empty(&it->coming)) {
		s->items[it->chunk] = NULL;
		free(it);
	}
}

void
server_fifo_prepend(struct server *s, struct item *it)
{
	it->next = s->head;
	it->in_fifo = true;
	if (s->head == NULL)
		s->tail = it;
	s->head = it;
}

void
server_fifo_advance(struct server *s, struct item *it)
{
	struct item *before = s->head;

	if (it == s->head)
		return;
	while (before->next != it)
		before = before->next;
	before->next = it->next;
	if (s->tail == it)
		s->tail = before;
	server_fifo_prepend(s, it);
}

void
server_fifo_rotate(struct server *s)
{
	struct item *it = s->head;

	if (it == NULL || it->next == NULL)
		return;
	s->head = it->next;
	it->next = NULL;
	s->tail->next = it;
	s->tail = it;
}

/* Was a client that asks for these most likely sent them before, and lost them?  Not
 * when their chunk's beginning is all that it lacks: it came too late for that; nor
 * when the chunk went out before the last client came. */
static bool
were_lost(const struct server *s, uint32_t chunk, const struct blockmap *asked)
{
	uint32_t n = blockmap_count(asked);
	struct blockmap start = blockmap_range(0, n);
	struct blockmap rest = blockmap_minus(*asked, &start);
	uint32_t joined_ms = (uint32_t)(s->joined_us / 1000) + SETTLE_MS;
	bool heard = server_sent_since(&s->sent, chunk, joined_ms + 1);
	/* One alone, unpaced, asks for no more at a time than it can take. */
	bool alone = server_unpaced(s) && s->stats.clients < 2;
	bool late = blockmap_empty(&rest) && n < server_chunk_blocks(s, chunk);

	return heard && !late && !alone;
}

static void
note_asker(struct server *s, uint64_t now_us, const uint8_t from[4])
{
	struct voter *v = voters_find(&s->voters, from);

	if (v != NULL)
		voters_ask(&s->voters, v, now_us);
}

/* Is it not this one's own link that loses? */
static bool
is_believed(struct server *s, uint64_t now_us, const uint8_t from[4])
{
	struct voter *v = voters_find(&s->voters, from);

	return v == NULL || voters_ask_again(&s->voters, v, now_us);
}

void
server_take_over(struct server *s, uint32_t chunk, const struct blockmap *given)
{
	if (!carousel_wants(&s->ext.carousel, chunk))
		return;
	carousel_remove(&s->ext.carousel, chunk, given);
	if (!carousel_wants(&s->ext.carousel, chunk))
		server_chunk_given(s, chunk);
}

/* What the carousel sends as it goes on need not be sent before. */
static struct blockmap
without_carousel(const struct server *s, uint32_t chunk, const struct blockmap *want)
{
	if (!carousel_wants(&s->ext.carousel, chunk))
		return *want;
	return blockmap_minus(*want, s->ext.carousel.want[chunk]);
}

uint32_t
server_add_asked(struct server *s, uint32_t chunk, const struct blockmap *blocks)
{
	struct item *it = server_item_of(s, chunk);

	if (it == NULL)
		return 0; /* no memory: it will be asked again */
	struct blockmap want = blockmap_minus(*blocks, &it->queued);
	want = blockmap_minus(want, &it->coming);
	uint32_t fresh = blockmap_count(&want);
	if (fresh == 0) {
		server_item_unref(s, it);
		return 0;
	}
	blockmap_add(&it->queued, &want);
	s->ext.pending += fresh;
	if (!it->in_fifo)
		server_fifo_append(s, it);
	it->bulk += fresh;
	it->asked = true;
	server_chunk_changed(s, chunk);
	return fresh;
}

void
server_enqueue(struct server *s, uint64_t now_us, const uint8_t from[4], uint32_t chunk,
    const struct blockmap *asked)
{
	struct blockmap exists = blockmap_range(0, server_chunk_blocks(s, chunk));
	struct blockmap lacks = blockmap_and(exists, asked);
	uint32_t n = blockmap_count(&lacks);

	if (n == 0)
		return;
	s->asked_us = now_us;
	s->stats.blocks_asked += n;
	note_asker(s, now_us, from);
	if (n < server_chunk_blocks(s, chunk))
		s->stats.lost_blocks += n;
	bool lost = were_lost(s, chunk, &lacks);
	if (!growing_has(&s->growing, chunk)) {
		growing_want(&s->growing, chunk);
		return;
	}
	if (s->ext.used && !server_is_held(s))
		lacks = without_carousel(s, chunk, &lacks);
	uint32_t fresh = server_add_asked(s, chunk, &lacks);
	s->stats.blocks_merged += n - fresh;
	if (fresh > 0 && lost && is_believed(s, now_us, from))
		rate_asked_again(&s->rate, fresh, n);
}
