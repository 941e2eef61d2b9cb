/* server_request.c: what clients ask for by requests of the base protocol.
 * server_input() calls this for each of them. */
#include "frisbeed/server/server_impl.h"

/* Was a client that asks for these most likely sent them before, and lost them?  Not
 * when their chunk's beginning is all that it lacks: it came too late for that; nor
 * when the chunk went out before the last client came. */
static bool
were_lost(const struct server *s, uint32_t chunk, const struct blockmap *asked)
{
	uint32_t n = blockmap_count(asked);
	struct blockmap start = blockmap_range(0, n);
	struct blockmap rest = blockmap_minus(*asked, &start);
	bool heard = server_sent_since(&s->sent, chunk, server_life_ready_ms(&s->life));
	/* One alone, unpaced, asks for no more at a time than it can take. */
	bool alone = server_unpaced(s) && server_roll_count(&s->roll) < 2;
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

/* What the carousel sends as it goes on need not be sent before. */
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
		server_given_changed(&s->given, chunk);
	return fresh;
}

/* A client asks for these blocks of a chunk: those that are not coming anyway are
 * queued.  When it has lost them, that may be a reason to send more slowly. */
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
		growing_want(&s->growing, chunk);
		return;
	}
	if (s->announce.used && !server_is_held(s))
		lacks = without_carousel(s, chunk, &lacks);
	uint32_t fresh = server_add_asked(s, chunk, &lacks);
	server_count(&s->counters, COUNT_MERGED, n - fresh);
	if (fresh > 0 && lost && is_believed(s, now_us, from))
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
