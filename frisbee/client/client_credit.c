/* How many blocks the server may send: client_credit.h.  The engine tells what came and what
 * passes lost, and asks for what there is to say, in its only thread. */
#include "frisbee/client/client_credit.h"

#include "frisbee/client/client_ext_impl.h"

enum {
	/* More is granted when fewer chunks than this wait to be written: so the disk
	 * never waits, and the rest of the buffers is for chunks that lack something.
	 */
	LOW_WATER = 4,
	/* Fewer than eight clients are sent no parity proactive, so a chunk that lost
	 * something comes to its end late, behind what the server has read by then:
	 * each may be further ahead of its disk.  Not by much more, or the others have
	 * no buffers left for what it lets come, and that is sent again. */
	LOW_WATER_FEW = 16,
	FEW_CLIENTS = 8,
	/* Granted at a time: eight chunks, which take turns; two where passes lost
	 * much.  On a fast network the backlog of the base protocol decides, lest the
	 * socket overflows. */
	CREDIT_CHUNKS = 8,
	CREDIT_CHUNKS_LOSSY = 2,
	/* More is granted when this many blocks are still to come, or half of the grant
	 * if that is less: a message and its answer take less. */
	CREDIT_AHEAD_BLOCKS = 3 * WIRE_CHUNK_BLOCKS / 2,
	/* Bounds of the window: the least keeps a fast link busy, and the most bounds
	 * what one overflow of the socket can lose. */
	WINDOW_LEAST = 128,
	WINDOW_MOST = 3 * WIRE_CHUNK_BLOCKS,
	WINDOW_STEP = 32,
	/* A pass that lost more blocks of a chunk than this was too much: parity makes
	 * good what is less. */
	WINDOW_LOSS = 48,
	/* Without a pace, what was granted comes within a chunk's time and this; a
	 * grant is repeated then, and after twice, four times ... as long, at most 32
	 * times. */
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
	k->granted = received;
}

bool
client_credit_came(struct client_credit *k, uint64_t now_us, uint64_t received)
{
	k->seen_us = now_us;
	k->tries = 0;
	return k->at_us == 0 && received >= k->more_at;
}

/* Of a grant of this many blocks, the number that are still to come when more is granted. */
static uint64_t
more_before(uint32_t blocks, bool unpaced)
{
	/* A grant that is lost is followed by another before the server runs dry. */
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
	if (k->granted < received + blocks)
		k->granted = received + blocks;
	k->more_at = k->granted - more_before(blocks, unpaced);
	k->at_us = 0;
	k->seen_us = now_us;
}

/* What a pass lost without a pace has overrun our own socket, most likely.  What was
 * on its way by then tells nothing new. */
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

/* Chunks that wait for the disk.  In order, what is behind a gap waits for the network; and
 * so does everything while chunk 0, without which nothing is written, is not here. */
static uint32_t
to_be_written(const struct client *c)
{
	if (client_awaits_first(c, 0))
		return 0;
	return c->bufs.n - c->bufs.nfree - c->bufs.nfilling -
	       (c->cfg.in_order ? c->bufs.ncomplete : 0);
}

/* How many blocks this client can take, and wants now: none while enough waits to be
 * written; then others may set the pace, and what does not fit comes round again. */
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

	/* Too many are incomplete: their repair comes first. */
	if (waiting >= low + (low == 0))
		return 0;
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

/* Is there something that only comes when the server goes on? */
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

static uint64_t
stall_us(const struct client *c)
{
	uint32_t tries = c->credit.tries < STALL_TRIES ? c->credit.tries : STALL_TRIES;
	uint64_t most = c->position.chunk_us + STALL_MIN_US;

	/* Unpaced, what was said is soon there. */
	if (!c->session.unpaced || most > EXT_STALL_US)
		most = EXT_STALL_US;
	return c->credit.seen_us + (most << tries);
}

/* Another may say it first, but not so late that the server runs dry. */
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
	uint64_t left = k->granted > c->position.received
	                    ? k->granted - c->position.received
	                    : 0;
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
	/* After a silence, what was on its way is lost or here. */
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
