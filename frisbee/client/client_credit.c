/* client_credit.c: how many blocks the server may send.  The engine notes what
 * arrived and what was lost, and asks for messages to send, in its only thread. */
#include "frisbee/client/client_credit.h"

#include "frisbee/client/client_ext_impl.h"

enum {
	/* More credit is granted when fewer chunks than this wait to be written.  So
	 * the disk never waits, and the other buffers are for chunks that lack
	 * something. */
	LOW_WATER = 4,
	/* With fewer than eight clients there is no proactive parity, so a chunk
	 * that lost something is repaired late, after the blocks that the server had
	 * read by then.  Therefore each client may be further ahead of its disk.  It
	 * must not be much further, or other clients have no buffers left, and
	 * blocks are sent again for them. */
	LOW_WATER_FEW = 16,
	FEW_CLIENTS = 8,
	/* How many chunks are granted at a time: eight, which may be interleaved,
	 * and three if passes lose much.  With two, several clients often sent CREDIT
	 * for the same blocks, since there was less time to hear each other, and the
	 * loads took as long.  On a fast network the backlog of the base
	 * protocol decides, so that the socket does not overflow. */
	CREDIT_CHUNKS = 8,
	CREDIT_CHUNKS_LOSSY = 3,
	/* More is granted when this many blocks are still to come, or half of the
	 * grant if that is less.  A message and its effect take less time than these
	 * blocks. */
	CREDIT_AHEAD_BLOCKS = 3 * WIRE_CHUNK_BLOCKS / 2,
	/* Limits of the window.  The smallest window keeps a fast link busy; the
	 * largest limits what an overflow of the socket can lose. */
	WINDOW_LEAST = 128,
	WINDOW_MOST = 3 * WIRE_CHUNK_BLOCKS,
	WINDOW_STEP = 32,
	/* If a pass lost more blocks of a chunk than this, the window was too large.
	 * Parity repairs smaller losses. */
	WINDOW_LOSS = 48,
	/* In an unpaced session, granted blocks arrive within the time of a chunk
	 * and this.  After that the grant is repeated, and again after two, four,
	 * ... times as long, at most 32 times. */
	STALL_MIN_US = 2000,
	STALL_TRIES = 5,
};

void
client_credit_begin(struct client_credit *k, uint64_t now_us, bool unpaced)
{
	k->seen_us = now_us;
	k->granted = unpaced ? WIREXT_JOIN_CREDIT_UNPACED : WIREXT_JOIN_CREDIT;
	k->window = 2 * WIREXT_JOIN_CREDIT_UNPACED;
}

void
client_credit_forget(struct client_credit *k)
{
	*k = (struct client_credit){ 0 };
}

void
client_credit_new_session(struct client_credit *k, uint64_t received)
{
	k->granted = k->promised = k->promised_before = received;
	k->granters = 0;
}

bool
client_credit_came(struct client_credit *k, uint64_t now_us, uint64_t received)
{
	k->seen_us = k->came_us = now_us;
	k->tries = 0;
	return k->at_us == 0 && received >= k->more_at;
}

/* How many blocks of a grant are still to come when more is granted. */
static uint64_t
more_before(uint32_t blocks, bool unpaced)
{
	/* If a grant is lost, another one follows before the server has to stop. */
	if (unpaced)
		return blocks * UINT64_C(2) / 3;
	return blocks / 2 < CREDIT_AHEAD_BLOCKS ? blocks / 2 : CREDIT_AHEAD_BLOCKS;
}

void
client_credit_granted(struct client_credit *k, uint64_t now_us, uint64_t received,
    uint32_t blocks, bool unpaced)
{
	if (blocks == 0)
		return;
	if (now_us >= k->promised_us + EXT_STALL_US) {
		k->promised_before = k->promised;
		k->promised = k->granted;
		k->promised_us = now_us;
	}
	if (k->granted <= received)
		k->granters = 0;
	if (k->granted < received + blocks)
		k->granted = received + blocks;
	k->more_at = k->granted - more_before(blocks, unpaced);
	k->at_us = 0;
	k->seen_us = now_us;
}

void
client_credit_heard(struct client_credit *k, uint64_t now_us, uint64_t received,
    uint32_t blocks, bool unpaced, const uint8_t from[4])
{
	/* A grant that reaches just as far counts, too: of two liars, one would hide behind the
	 * other. */
	bool most = blocks > 0 && k->granted <= received + blocks;

	client_credit_granted(k, now_us, received, blocks, unpaced);
	if (most)
		k->granters |= client_address(from);
}

/* In an unpaced session, losses most likely mean that this client's socket
 * overflowed.  Blocks that were on their way by then say nothing new. */
void
client_credit_lost(struct client_credit *k, uint64_t received, uint32_t lost)
{
	if (lost <= WINDOW_LOSS / 2 && k->window < WINDOW_MOST)
		k->window += WINDOW_STEP;
	if (lost <= WINDOW_LOSS || received < k->cut_till)
		return;
	k->window -= k->window / 4;
	if (k->window < WINDOW_LEAST)
		k->window = WINDOW_LEAST;
	k->cut_till = k->granted + k->window;
}

static bool
filling_comes(const struct client *c)
{
	for (uint32_t i = 0; i < c->bufs.nfilling; i++)
		if (client_ext_coming(c, c->bufs.at[c->bufs.filling[i]].chunk))
			return true;
	return false;
}

/* The number of chunks that may wait for the disk while more are granted. */
static uint32_t
low_water(const struct client *c)
{
	uint32_t most = c->session.clients < FEW_CLIENTS ? LOW_WATER_FEW : LOW_WATER;

	return c->bufs.n / 4 < most ? c->bufs.n / 4 : most;
}

/* How many chunks wait for the disk.  In order, chunks behind a gap wait for the
 * network; and so do all chunks while chunk 0 is missing, without which nothing is
 * written. */
static uint32_t
to_be_written(const struct client *c)
{
	if (client_awaits_first(c, 0))
		return 0;
	return c->bufs.n - c->bufs.nfree - c->bufs.nfilling -
	       (c->cfg.in_order ? c->bufs.ncomplete : 0);
}

/* How many blocks this client can take and wants now.  It wants none while enough
 * chunks wait to be written: then other clients may set the pace, and what this
 * client has no room for is sent again later. */
static uint32_t
can_take(const struct client *c)
{
	uint32_t waiting = to_be_written(c);
	uint32_t low = low_water(c);
	uint32_t chunks = c->position.chunk_us < EXT_FAST_CHUNK_US
	                      ? c->requests.backlog / WIRE_CHUNK_BLOCKS
	                  : c->requests.backlog < 2 * WIRE_CHUNK_BLOCKS
	                      ? CREDIT_CHUNKS_LOSSY
	                      : CREDIT_CHUNKS;

	if (waiting >= low + (low == 0))
		return 0;
	/* Too many chunks are incomplete; they are repaired first. */
	if (c->bufs.nfilling > (c->bufs.n + 1) / 2 + 1)
		return filling_comes(c) ? WIRE_CHUNK_BLOCKS : 0;
	uint32_t share = c->bufs.n / 8 + (c->bufs.n < 8);
	if (chunks > share)
		chunks = share;
	if (chunks > c->bufs.nfree)
		chunks = c->bufs.nfree;
	if (c->session.unpaced)
		return c->credit.window;
	return (chunks + (chunks == 0)) * WIRE_CHUNK_BLOCKS;
}

/* Does this client lack something that only comes if the server goes on sending? */
static bool
waits_for_more(struct client *c)
{
	/* Without a pace, the rest of a chunk may wait, too. */
	if (c->session.unpaced && c->position.current != c->chunks.n &&
	    client_filling(c, c->position.current) != NULL)
		return true;
	if (c->bufs.nfree > 0 && client_next_open(c, c->chunks.n) != c->chunks.n)
		return true;
	return filling_comes(c);
}

/* How many blocks are still to come, according to the grants. */
static uint64_t
to_come(const struct client *c)
{
	return c->credit.granted > c->position.received
	           ? c->credit.granted - c->position.received
	           : 0;
}

/* How many blocks are still to come according to the grants that the server must have received
 * when it sent the STATE that came now. */
static uint64_t
to_come_surely(const struct client *c, uint64_t now_us)
{
	const struct client_credit *k = &c->credit;
	uint64_t upto = now_us >= k->promised_us + 2 * EXT_STALL_US ? k->granted
	                : now_us >= k->promised_us + EXT_STALL_US   ? k->promised
	                                                            : k->promised_before;

	return upto > c->position.received ? upto - c->position.received : 0;
}

/* An unpaced server waits for credit while the last blocks are on their way. */
void
client_credit_held(struct client *c, uint64_t now_us)
{
	struct client_credit *k = &c->credit;
	uint32_t blocks = can_take(c);
	bool on_their_way = c->session.unpaced && now_us < k->came_us + EXT_STALL_US;

	if (blocks == 0 || on_their_way ||
	    to_come_surely(c, now_us) < more_before(blocks, c->session.unpaced))
		return;
	client_heed_ignore(&c->heed, now_us, k->granters & k->suspects);
	k->suspects = k->granters;
	client_credit_new_session(k, c->position.received);
}

static uint64_t
stall_us(const struct client *c)
{
	uint32_t tries = c->credit.tries < STALL_TRIES ? c->credit.tries : STALL_TRIES;
	uint64_t most = c->position.chunk_us + STALL_MIN_US;

	/* In an unpaced session, a grant has its effect soon. */
	if (!c->session.unpaced || most > EXT_STALL_US)
		most = EXT_STALL_US;
	return c->credit.seen_us + (most << tries);
}

/* Another client may send it first, but not so late that the server has to stop. */
static uint64_t
credit_backoff_us(struct client *c, uint32_t blocks)
{
	uint64_t most = c->position.chunk_us < EXT_BACKOFF_US ? c->position.chunk_us
	                                                      : EXT_BACKOFF_US;

	if (c->session.unpaced)
		most = most * blocks / WIRE_CHUNK_BLOCKS / 4;
	return c->session.clients > 1
	           ? client_backoff_draw_us(&c->backoff, most, c->session.clients)
	           : 0;
}

size_t
client_credit_say(struct client *c, uint64_t now_us, void *pkt)
{
	struct client_credit *k = &c->credit;
	uint32_t blocks = can_take(c);
	uint64_t left = to_come(c);
	bool stalled = now_us >= stall_us(c);
	struct wirext_msg m;

	if (blocks == 0 ||
	    (left >= more_before(blocks, c->session.unpaced) && !stalled) ||
	    !waits_for_more(c)) {
		k->at_us = 0;
		return 0;
	}
	if (k->at_us == 0)
		k->at_us = now_us + credit_backoff_us(c, blocks);
	if (now_us < k->at_us)
		return 0;
	k->tries += stalled;
	if (stalled)
		client_mtu_doubt(&c->mtu, now_us);
	/* After a silence, everything that was on its way is lost or has arrived. */
	client_ext_message(
	    c, &m, c->session.unpaced && !stalled ? WIREXT_CREDIT_AT : WIREXT_CREDIT);
	m.u.credit.clientid = c->cfg.clientid;
	m.u.credit.blocks = blocks;
	m.u.credit.chunk = c->position.at_chunk;
	m.u.credit.block = c->position.at_block;
	m.u.credit.since = c->position.since;
	if (stalled)
		client_credit_new_session(k, c->position.received);
	client_credit_granted(
	    k, now_us, c->position.received, blocks, c->session.unpaced);
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}
