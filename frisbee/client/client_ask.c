/* Requests of the base protocol: for what is lacking, and for chunks ahead; and those
 * of others, which may do for us. */
#include <string.h>

#include "frisbee/client/client_ext_impl.h"

enum {
	/* A request of others makes ours needless for a while when it brings at least
	 * this part of what is missing. */
	COVER = 4,
	/* With fewer buffers than this there is no time to lose. */
	FIRST_FEW = 16,
	/* Chunk 0 is asked for after a random time, in which another may do so. */
	FIRST_HOLD_US = 40000,
};

/* How long to hold a request back, lest everybody speaks at once: nothing when
 * alone, and never so long that the server runs dry. */
uint64_t
client_jitter_us(struct client *c, uint64_t now_us)
{
	uint64_t most = c->position.chunk_us / 2 < CLIENT_JITTER_US ? c->position.chunk_us / 2
	                                                   : CLIENT_JITTER_US;

	if (now_us >= c->crowd_until_us)
		return 0;
	return client_hold_random(&c->hold, most + 1);
}

/* A request this old is repeated; after a silence, only another one is a reason. */
uint64_t
client_redo_us(const struct client *c)
{
	return c->backoff_ticks > 0 ? CLIENT_NEVER : c->cfg.redo_us;
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
	/* Others take one that asks for whole chunks for an old client. */
	bool by_range = whole && !again && !client_partial(c) && !c->session.on;
	size_t len = by_range ? put_whole(c, chunk, pkt)
	                      : put_partial(c, chunk, want, pkt);

	client_counters_request(
	    &c->counters, again, whole, by_range ? 0 : blockmap_count(want));
	client_chunks_ask(&c->chunks, chunk, true, now_us, client_redo_us(c));
	client_chunks_note(&c->chunks, chunk, CHUNK_MINE);
	if (c->session.on && c->session.parity)
		c->idle_from_us = now_us; /* requests are rare: its answer is waited for */
	return len;
}

/* A block in the place of parity that is here is of no use while others are missing. */
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
client_ask_missing(struct client *c, uint64_t now_us, bool only_asked, void *pkt)
{
	for (uint32_t i = 0; i < c->bufs.nfilling; i++) {
		struct client_buffer *b = &c->bufs.at[c->bufs.filling[i]];
		if ((only_asked && !client_asks_blocks(b)) ||
		    (b->chunk == c->position.current && !b->damage.closed) ||
		    now_us < b->settled_us || now_us < b->damage.rest_us ||
		    (!client_partial(c) && client_ext_coming(c, b->chunk)) ||
		    client_chunks_waits(
			&c->chunks, b->chunk, now_us, client_redo_us(c)))
			continue;
		client_buffer_sure(b);
		client_damage_asked(&b->damage);
		struct blockmap lack = useful_blocks(b);
		return client_ask(c, now_us, b->chunk, &lack, pkt);
	}
	return 0;
}

/* How many blocks should still come of what was asked for. */
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

/* How many chunks may be queued that have not begun to arrive. */
static uint32_t
room_ahead(struct client *c, uint64_t now_us)
{
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
	c->scan_after = coming > c->backlog ? coming - c->backlog : 0;
	return room;
}

/* Keep `readahead` chunks queued that have not begun to arrive, whoever asked for
 * them, as long as there is a buffer for each. */
size_t
client_ask_ahead(struct client *c, uint64_t now_us, void *pkt)
{
	uint32_t n = c->chunks.n, chunk = n;
	uint32_t room = room_ahead(c, now_us);

	if (c->chunks.open_covered >= room || c->scan_after > 0) {
		c->ahead_at_us = 0;
		return 0;
	}
	if (c->ahead_at_us == 0)
		c->ahead_at_us = now_us + client_jitter_us(c, now_us);
	if (now_us < c->ahead_at_us)
		return 0;
	while ((chunk = client_next_open(c, chunk)) != n) {
		if (chunk == c->position.current ||
		    client_chunks_waits(&c->chunks, chunk, now_us, client_redo_us(c)))
			continue;
		struct blockmap first = client_first_blocks(c, chunk);
		return client_ask(c, now_us, chunk, &first, pkt);
	}
	return 0;
}

/* Who comes late gets chunk 0 at the end of the server's round, when most of what came
 * before it would have been lost for want of buffers.  So it is asked for as in the base
 * protocol, which is served at once, but only when half of the buffers are in use: what
 * one asks for serves all who came before that.  Where few blocks of it were lost, a
 * report does, unless they are to come with the round: the server does not answer one. */
static bool
needs_first(const struct client *c, uint64_t now_us)
{
	if (!client_awaits_first(c, 0) || c->position.current == c->chunks.n ||
	    (c->bufs.n >= FIRST_FEW && c->bufs.nfree > c->bufs.n / 2) ||
	    client_position_in_pass(&c->position, 0) ||
	    client_chunks_waits(&c->chunks, 0, now_us, client_redo_us(c)))
		return false;
	if (client_chunks_is(&c->chunks, 0, CHUNK_OPEN))
		return true;
	const struct client_buffer *b = &c->bufs.at[client_chunks_buf(&c->chunks, 0)];
	return b->state == BUFFER_FILLING && now_us >= b->settled_us &&
	       (b->nlack > WIRE_CHUNK_BLOCKS / 2 || client_ext_coming(c, 0));
}

size_t
client_ask_first(struct client *c, uint64_t now_us, void *pkt)
{
	if (!needs_first(c, now_us)) {
		c->first_at_us = 0;
		return 0;
	}
	if (c->first_at_us == 0)
		c->first_at_us = now_us + client_hold_draw_us(
		                          &c->hold, FIRST_HOLD_US, c->session.clients);
	if (now_us < c->first_at_us)
		return 0;
	struct client_buffer *b = client_filling(c, 0);
	struct blockmap want = b != NULL ? client_lack(b) : client_first_blocks(c, 0);
	c->first_at_us = 0;
	return client_ask(c, now_us, 0, &want, pkt);
}

/* When there may be something to ask, if no packet arrives before that. */
uint64_t
client_next_scan_us(const struct client *c, uint64_t now_us, uint64_t settle_us)
{
	uint64_t at = now_us + c->cfg.tick_us;

	if (c->ahead_at_us > now_us && c->ahead_at_us < at)
		at = c->ahead_at_us;
	if (settle_us < at)
		at = settle_us;
	if (client_partial(c) && client_partial_quiet_us(c) < at)
		at = client_partial_quiet_us(c);
	return client_bufs_settled_before(&c->bufs, now_us, at);
}

/* Is what somebody else asked for of use here, so that we need not ask? */
static bool
covers(struct client *c, uint32_t chunk, const struct blockmap *asked)
{
	const struct client_buffer *b = client_filling(c, chunk);

	struct blockmap lack = b != NULL ? client_lack(b)
	                                 : client_first_blocks(c, chunk);
	struct blockmap useful = blockmap_and(lack, asked);
	/* Of a chunk that is open, half is not enough to wait for the rest. */
	if (b == NULL)
		return blockmap_count(&useful) >= blockmap_count(&lack) / 2;
	return blockmap_count(&useful) * COVER >= blockmap_count(&lack);
}

void
client_hear_request(
    struct client *c, uint64_t now_us, uint32_t chunk, const struct blockmap *asked)
{
	if (chunk >= c->chunks.n)
		return;
	c->idle_from_us = now_us;
	struct client_buffer *b = client_filling(c, chunk);
	if (b != NULL)
		client_damage_asked(&b->damage);
	client_chunks_ask(
	    &c->chunks, chunk, covers(c, chunk, asked), now_us, client_redo_us(c));
}
