/* client_requests.c: requests of the base protocol.  The engine notes what happened,
 * and asks for messages to send, in its only thread. */
#include "frisbee/client/client_requests.h"

#include <string.h>

#include "frisbee/client/client_ext_impl.h"

enum {
	/* A client that was last heard this long ago may be gone. */
	CROWD_US = 5000000,
	/* If there are other clients, requests are spread over up to this time, so
	 * that one client sends its request and the others hear it. */
	JITTER_US = 20000,
	/* After each silence the next one is noticed one tick later, up to this many
	 * ticks (a second with the usual tick).  So there is no storm of requests if
	 * the server is gone. */
	MAX_BACKOFF_TICKS = 33,
	/* More is requested when fewer blocks than the backlog are still to come.
	 * The smallest backlog is what a fast link delivers in a round trip. */
	MIN_BACKLOG = 128,
	BACKLOG_STEP = 64,
	/* A pass that lost more blocks of a chunk than this has most likely
	 * overflowed the buffer of this client. */
	MUCH_LOST = WIRE_CHUNK_BLOCKS / 16,
	/* A larger readahead counts as this, so that no number of blocks overflows. */
	MOST_AHEAD = 1024,
	/* If the request of another client brings at least one part in this many of
	 * what is missing, this client waits with its own. */
	COVER = 4,
	/* With fewer buffers than this, chunk 0 is requested at once. */
	FIRST_FEW = 16,
	/* Chunk 0 is requested after a random time, in which another client may do
	 * so. */
	FIRST_BACKOFF_US = 40000,
};

void
client_requests_begin(struct client_requests *r, const struct client_config *cfg)
{
	uint32_t ahead = cfg->readahead < MOST_AHEAD ? cfg->readahead + 1 : MOST_AHEAD;

	*r = (struct client_requests){ .tick_us = cfg->tick_us,
		.redo_us = cfg->redo_us,
		.idle_ticks = cfg->idle_ticks,
		.most_backlog = ahead * WIRE_CHUNK_BLOCKS };
}

void
client_requests_begin_image(struct client_requests *r, uint64_t now_us)
{
	r->backlog = r->most_backlog;
	r->idle_from_us = r->moved_us = now_us;
	r->ahead_at_us = r->after = 0;
}

void
client_requests_crowd(struct client_requests *r, uint64_t now_us)
{
	r->crowd_until_us = now_us + CROWD_US;
}

void
client_requests_old_client(struct client_requests *r, uint64_t now_us)
{
	r->old_until_us = now_us + CROWD_US;
}

void
client_requests_alive(struct client_requests *r, uint64_t now_us)
{
	r->idle_from_us = r->moved_us = now_us;
}

void
client_requests_moved(struct client_requests *r, uint64_t now_us)
{
	r->moved_us = now_us;
}

void
client_requests_block(struct client_requests *r, uint64_t now_us)
{
	r->idle_from_us = now_us;
	r->backoff_ticks = 0;
}

bool
client_requests_counts(struct client_requests *r)
{
	return r->after > 0 && --r->after == 0;
}

/* After a pass that lost much, fewer blocks are requested at a time. */
void
client_requests_lost(struct client_requests *r, uint32_t lost)
{
	if (lost > MUCH_LOST)
		r->backlog = r->backlog / 2 > MIN_BACKLOG ? r->backlog / 2
		                                          : MIN_BACKLOG;
	else if (lost == 0 && r->backlog < r->most_backlog)
		r->backlog += BACKLOG_STEP;
}

void
client_requests_silence(struct client_requests *r, uint64_t now_us)
{
	client_requests_alive(r, now_us);
	if (r->backoff_ticks < MAX_BACKOFF_TICKS)
		r->backoff_ticks++;
}

uint64_t
client_requests_stuck_at_us(const struct client_requests *r)
{
	return r->moved_us + CLIENT_PATIENCE_US;
}

uint64_t
client_requests_idle_at_us(const struct client_requests *r)
{
	return r->idle_from_us + (r->idle_ticks + r->backoff_ticks) * r->tick_us;
}

uint64_t
client_requests_redo_us(const struct client_requests *r)
{
	return r->backoff_ticks > 0 ? UINT64_MAX : r->redo_us;
}

/* For how long a request is held back.  A client that is alone does not wait, and no
 * client waits so long that the server has to stop. */
uint64_t
client_jitter_us(struct client *c, uint64_t now_us)
{
	uint64_t most = c->position.chunk_us / 2;

	if (most > JITTER_US)
		most = JITTER_US;
	if (now_us >= c->requests.crowd_until_us)
		return 0;
	return client_backoff_random(&c->backoff, most + 1);
}

static size_t
put_partial(struct client *c, uint32_t chunk, const struct blockmap *want, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_PREQ };

	memcpy(m.srcip, c->cfg.srcip, 4);
	m.u.preq.chunk = chunk;
	m.u.preq.retries = client_chunks_is(&c->chunks, chunk, CHUNK_MINE);
	blockmap_put(want, m.u.preq.map);
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}

static size_t
put_whole(struct client *c, uint32_t chunk, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_REQ };

	memcpy(m.srcip, c->cfg.srcip, 4);
	m.u.req.chunk = chunk;
	m.u.req.count = client_chunk_blocks(c, chunk);
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}

size_t
client_ask(struct client *c, uint64_t now_us, uint32_t chunk,
    const struct blockmap *want, void *pkt)
{
	bool again = client_chunks_is(&c->chunks, chunk, CHUNK_MINE);
	bool whole = blockmap_count(want) == client_chunk_blocks(c, chunk);
	/* Other clients take a client that requests whole chunks for one of the base
	 * protocol. */
	bool by_range = whole && !again && !client_partial(c) && !c->session.on;
	size_t len = by_range ? put_whole(c, chunk, pkt)
	                      : put_partial(c, chunk, want, pkt);

	client_counters_request(
	    &c->counters, again, whole, by_range ? 0 : blockmap_count(want));
	client_chunks_ask(
	    &c->chunks, chunk, true, now_us, client_requests_redo_us(&c->requests));
	client_chunks_note(&c->chunks, chunk, CHUNK_MINE);
	client_requests_moved(&c->requests, now_us);
	struct client_buffer *b = client_filling(c, chunk);
	if (b != NULL)
		client_buffer_moved(b);
	if (c->session.on && c->session.parity)
		client_requests_alive(&c->requests,
		    now_us); /* requests are rare, so silence counts from this one on */
	return len;
}

/* The missing blocks, without those in whose places parity lies: such a block would
 * not help while others are missing. */
static struct blockmap
useful_blocks(const struct client_buffer *b)
{
	struct blockmap lack = client_lack(b);

	for (uint32_t i = 0; b->spent && i < WIRE_CHUNK_BLOCKS; i++)
		if (b->parity_at[i] != 0)
			blockmap_clear(&lack, i);
	return lack;
}

size_t
client_requests_say_missing(struct client *c, uint64_t now_us, void *pkt)
{
	bool only_asked = c->session.on && c->session.parity && !client_partial(c);

	for (uint32_t i = 0; i < c->bufs.nfilling; i++) {
		struct client_buffer *b = &c->bufs.at[c->bufs.filling[i]];
		if ((only_asked && !client_asks_blocks(b)) ||
		    client_awaits_pass(b, now_us,
			b->chunk == c->position.current && !b->damage.closed) ||
		    now_us < b->damage.rest_us ||
		    (!client_partial(c) && client_ext_coming(c, b->chunk)) ||
		    client_chunks_waits(&c->chunks, b->chunk, now_us,
			client_requests_redo_us(&c->requests)))
			continue;
		client_buffer_sure(b);
		client_damage_asked(&b->damage);
		struct blockmap lack = useful_blocks(b);
		return client_ask(c, now_us, b->chunk, &lack, pkt);
	}
	return 0;
}

/* How many of the requested blocks should still arrive. */
static uint64_t
to_come(const struct client *c)
{
	uint64_t n = (uint64_t)c->chunks.open_covered * WIRE_CHUNK_BLOCKS;

	for (uint32_t i = 0; i < c->bufs.nfilling; i++) {
		const struct client_buffer *b = &c->bufs.at[c->bufs.filling[i]];
		if (b->chunk == c->position.current ||
		    client_chunks_is(&c->chunks, b->chunk, CHUNK_COVERED))
			n += b->nmissing;
	}
	return n;
}

/* How many chunks that have not begun to arrive may be queued. */
static uint32_t
room_ahead(struct client *c, uint64_t now_us)
{
	struct client_requests *r = &c->requests;
	uint32_t room = c->cfg.in_progress > c->bufs.nfilling
	                    ? c->cfg.in_progress - c->bufs.nfilling
	                    : 0;

	if (client_partial(c)) {
		room = client_partial_room(c, now_us);
		return room < c->bufs.nfree ? room : c->bufs.nfree;
	}
	if (room > c->bufs.nfree)
		room = c->bufs.nfree;
	if (room > c->cfg.readahead)
		room = c->cfg.readahead;
	uint64_t coming = to_come(c);
	r->after = coming > r->backlog ? coming - r->backlog : 0;
	return room;
}

/* Keep `readahead` chunks queued that have not begun to arrive, whichever client
 * requested them, as long as there is a buffer for each. */
size_t
client_requests_say_ahead(struct client *c, uint64_t now_us, void *pkt)
{
	struct client_requests *r = &c->requests;
	uint32_t n = c->chunks.n, chunk = n;
	uint32_t room = room_ahead(c, now_us);

	if (c->chunks.open_covered >= room || r->after > 0) {
		r->ahead_at_us = 0;
		return 0;
	}
	if (r->ahead_at_us == 0)
		r->ahead_at_us = now_us + client_jitter_us(c, now_us);
	if (now_us < r->ahead_at_us)
		return 0;
	while ((chunk = client_next_open(c, chunk)) != n) {
		if (chunk == c->position.current ||
		    client_chunks_waits(&c->chunks, chunk, now_us,
			client_requests_redo_us(&c->requests)))
			continue;
		struct blockmap first = client_first_blocks(c, chunk);
		return client_ask(c, now_us, chunk, &first, pkt);
	}
	return 0;
}

/* Should chunk 0 be requested now?  A client that joins late would receive it at the
 * end of the server's round, when most of what arrived before would have been lost
 * for lack of buffers.  So chunk 0 is requested as in the base protocol, which is
 * served at once, but only when half of the buffers are in use: one request then
 * serves all clients that joined before.  If only few of its blocks were lost, a
 * NACK is enough, unless these blocks will come with the round, because the server
 * does not answer such a NACK. */
static bool
needs_first(const struct client *c, uint64_t now_us)
{
	if (!client_awaits_first(c, 0) || c->position.current == c->chunks.n ||
	    (c->bufs.n >= FIRST_FEW && c->bufs.nfree > c->bufs.n / 2) ||
	    client_position_in_pass(&c->position, 0) ||
	    client_chunks_waits(
		&c->chunks, 0, now_us, client_requests_redo_us(&c->requests)))
		return false;
	if (client_chunks_is(&c->chunks, 0, CHUNK_OPEN))
		return true;
	const struct client_buffer *b = &c->bufs.at[client_chunks_buf(&c->chunks, 0)];
	return b->state == BUFFER_FILLING && now_us >= b->settled_us &&
	       (b->nlack > WIRE_CHUNK_BLOCKS / 2 || client_ext_coming(c, 0));
}

size_t
client_requests_say_first(struct client *c, uint64_t now_us, void *pkt)
{
	struct client_requests *r = &c->requests;

	if (!needs_first(c, now_us)) {
		r->first_at_us = 0;
		return 0;
	}
	if (r->first_at_us == 0)
		r->first_at_us = now_us + client_backoff_draw_us(&c->backoff,
					      FIRST_BACKOFF_US, c->session.clients);
	if (now_us < r->first_at_us)
		return 0;
	struct client_buffer *b = client_filling(c, 0);
	struct blockmap want = b != NULL ? client_lack(b) : client_first_blocks(c, 0);
	r->first_at_us = 0;
	return client_ask(c, now_us, 0, &want, pkt);
}

/* Does the request of another client bring enough that this one need not send its
 * own? */
static bool
covers(struct client *c, uint32_t chunk, const struct blockmap *asked)
{
	const struct client_buffer *b = client_filling(c, chunk);

	struct blockmap lack = b != NULL ? client_lack(b)
	                                 : client_first_blocks(c, chunk);
	struct blockmap useful = blockmap_and(lack, asked);
	/* For an open chunk, half of it is not enough to wait for the rest. */
	if (b == NULL)
		return blockmap_count(&useful) >= blockmap_count(&lack) / 2;
	return blockmap_count(&useful) * COVER >= blockmap_count(&lack);
}

/* So the session is not silent; whether this client gets on is another question. */
static void
another_asks(struct client_requests *r, uint64_t now_us)
{
	r->idle_from_us = now_us;
}

void
client_requests_hear(
    struct client *c, uint64_t now_us, uint32_t chunk, const struct blockmap *asked)
{
	if (chunk >= c->chunks.n)
		return;
	another_asks(&c->requests, now_us);
	struct client_buffer *b = client_filling(c, chunk);
	if (b != NULL)
		client_damage_asked(&b->damage);
	client_chunks_ask(&c->chunks, chunk, covers(c, chunk, asked), now_us,
	    client_requests_redo_us(&c->requests));
}
