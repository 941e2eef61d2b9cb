/* server_request.c: requests of the base protocol.  server_input() calls this for each
 * of them, in the engine's only thread. */
#include "frisbeed/server/server_impl.h"

/* From when on sent blocks tell something about the rate, if they are lost: since the last client
 * joined.  A client that is alone, which requests everything that it has ever lost, has lost the
 * others at other rates, or while others were there. */
static uint32_t
counts_since_ms(const struct server *s)
{
	uint32_t ready = server_life_ready_ms(&s->life);
	uint32_t same = (uint32_t)(s->rate.since_us / 1000);

	return s->rate.addresses == 1 && (int32_t)(same - ready) > 0 ? same : ready;
}

/* Has the client that requests these blocks most likely lost them?  Not if it lacks
 * only the beginning of the chunk, because then it joined too late for that; and not if
 * the chunk was sent too long ago. */
static bool
were_lost(const struct server *s, uint32_t chunk, const struct blockmap *asked)
{
	uint32_t n = blockmap_count(asked);
	struct blockmap start = blockmap_range(0, n);
	struct blockmap rest = blockmap_minus(*asked, &start);
	bool heard = server_sent_since(&s->sent, chunk, counts_since_ms(s));
	/* A single client of an unpaced session requests only what it can take. */
	bool alone = server_unpaced(s) && server_members_count(&s->members) < 2;
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

/* Do the losses most likely not come from the client's own link? */
static bool
is_believed(struct server *s, uint64_t now_us, const uint8_t from[4])
{
	struct voter *v = voters_find(&s->voters, from);

	return v == NULL || (voters_ask_again(&s->voters, v, now_us) &&
				server_loss_counts(s, now_us));
}

/* The blocks that the carousel will not send soon anyway. */
static struct blockmap
without_carousel(const struct server *s, uint32_t chunk, const struct blockmap *want)
{
	if (!carousel_wants(&s->carousel, chunk))
		return *want;
	return blockmap_minus(*want, s->carousel.want[chunk]);
}

uint32_t
server_add_asked(struct server *s, uint32_t chunk, const struct blockmap *blocks)
{
	uint32_t fresh = server_queue_ask(&s->queue, chunk, blocks);

	if (fresh > 0)
		server_scheduled_changed(&s->scheduled, chunk);
	return fresh;
}

/* A client requests these blocks of a chunk.  Those that would not be sent anyway are
 * queued.  If it has lost them, the rate may be reduced. */
static void
enqueue(struct server *s, uint64_t now_us, const uint8_t from[4], uint32_t chunk,
    const struct blockmap *asked)
{
	struct blockmap exists = blockmap_range(0, server_chunk_blocks(s, chunk));
	struct blockmap lacks = blockmap_and(exists, asked);
	uint32_t n = blockmap_count(&lacks);

	if (n == 0)
		return;
	server_life_asked(&s->life, now_us);
	server_count(&s->counters, COUNT_ASKED, n);
	note_asker(s, now_us, from);
	if (n < server_chunk_blocks(s, chunk))
		server_count(&s->counters, COUNT_LOST, n);
	bool lost = were_lost(s, chunk, &lacks);
	if (!growing_has(&s->growing, chunk)) {
		growing_ask(&s->growing, chunk);
		return;
	}
	if (s->announce.used && !server_is_held(s))
		lacks = without_carousel(s, chunk, &lacks);
	uint32_t fresh = server_add_asked(s, chunk, &lacks);
	server_count(&s->counters, COUNT_MERGED, n - fresh);
	if (s->cfg.dynamic && fresh > 0 && lost && is_believed(s, now_us, from))
		rate_asked_again(&s->rate, fresh, n);
}

static bool
chunk_exists(struct server *s, const uint8_t from[4], uint32_t chunk)
{
	struct err e;

	if (chunk < s->image.chunks)
		return true;
	err_set(&e, ERR_FORMAT, "request for chunk %u of %u", chunk, s->image.chunks);
	server_bad_packet(s, from, &e);
	return false;
}

void
server_handle_request(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	struct blockmap asked;

	if (!chunk_exists(s, m->srcip, m->u.req.chunk))
		return;
	server_count(&s->counters, COUNT_REQUESTS, 1);
	server_client_asks(s, m->srcip);
	asked = blockmap_range(m->u.req.first, m->u.req.count);
	enqueue(s, now_us, m->srcip, m->u.req.chunk, &asked);
}

void
server_handle_prequest(struct server *s, uint64_t now_us, const struct wire_msg *m)
{
	struct blockmap asked = blockmap_get(m->u.preq.map);

	if (!chunk_exists(s, m->srcip, m->u.preq.chunk))
		return;
	server_count(&s->counters, COUNT_PREQUESTS, 1);
	server_client_asks(s, m->srcip);
	enqueue(s, now_us, m->srcip, m->u.preq.chunk, &asked);
}
