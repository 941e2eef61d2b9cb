/* Going on: the server sends as many blocks as somebody said that it can take, so it is
 * told in time how many more. */
#include "frisbee/client/client_ext_impl.h"

enum {
	/* The server is told to go on when fewer chunks than this wait to be written,
	 * for so many more: few on a fast network, lest the socket overflows. */
	LOW_WATER = 4,
	LOW_WATER_FEW = 16,
	FEW_CLIENTS = 8,
	GO_CHUNKS = 8,
	GO_CHUNKS_LOSSY = 2,
	GO_ON_BLOCKS = 3 * WIRE_CHUNK_BLOCKS / 2, /* ... when so many are to come */
	/* Blocks on their way from a server without a pace; a pass that lost more
	 * than so many of a chunk was too much. */
	WINDOW_LEAST = 128,
	WINDOW_MOST = 3 * WIRE_CHUNK_BLOCKS,
	WINDOW_STEP = 32,
	WINDOW_LOSS = 48,
	STALL_MIN_US = 2000,
	STALL_TRIES = 5, /* then twice, four times ... as long */
};

static uint64_t
go_on_at(const struct client *c, uint32_t blocks)
{
	/* One that is lost is followed by another before the server runs dry. */
	if (c->session.unpaced)
		return blocks * UINT64_C(2) / 3;
	return blocks / 2 < GO_ON_BLOCKS ? blocks / 2 : GO_ON_BLOCKS;
}

void
client_ext_seen(struct client *c, uint64_t now_us, uint32_t blocks)
{
	c->ext.seen_us = now_us;
	client_session_busy(&c->session);
	c->ext.go_tries = 0;
	if (client_position_came(&c->position, now_us, blocks))
		client_skip_streamed(&c->skip, c->position.chunk_us);
	/* Half of it is through: time to say more. */
	if (c->ext.go_at_us == 0 && c->position.seen >= c->ext.look_go)
		c->scan_at_us = now_us;
}

void
client_ext_note_go(struct client *c, uint64_t now_us, uint32_t blocks)
{
	if (blocks == 0)
		return; /* it only says how far it is */
	if (c->ext.horizon < c->position.seen + blocks)
		c->ext.horizon = c->position.seen + blocks;
	c->ext.look_go = c->ext.horizon - go_on_at(c, blocks);
	c->ext.go_at_us = 0;
	c->ext.seen_us = now_us;
}

/* What a pass lost without a pace has overrun our own socket, most likely.  What was
 * on its way by then tells nothing new. */
void
client_ext_adapt(struct client *c, uint32_t lost)
{
	if (lost <= WINDOW_LOSS / 2 && c->ext.window < WINDOW_MOST)
		c->ext.window += WINDOW_STEP;
	if (lost <= WINDOW_LOSS || c->position.seen < c->ext.cut_till)
		return;
	c->ext.window -= c->ext.window / 4;
	if (c->ext.window < WINDOW_LEAST)
		c->ext.window = WINDOW_LEAST;
	c->ext.cut_till = c->ext.horizon + c->ext.window;
}

static bool
filling_comes(const struct client *c)
{
	for (uint32_t i = 0; i < c->bufs.nfilling; i++)
		if (client_ext_coming(c, c->bufs.at[c->bufs.filling[i]].chunk))
			return true;
	return false;
}

/* A chunk that lost something comes to its end late, behind what the server has read by
 * then.  Of few clients, for whom no parity goes unasked, each may be further ahead of
 * its disk; not by much more, or the others have no buffers left for what it lets come,
 * and that is sent again. */
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
	return c->bufs.n - c->bufs.nfree - c->bufs.nfilling - (c->cfg.in_order ? c->bufs.ncomplete : 0);
}

/* How many blocks this client can take, and wants now: none while enough waits to be
 * written; then others may set the pace, and what does not fit comes round again. */
static uint32_t
can_take(const struct client *c)
{
	uint32_t waiting = to_be_written(c);
	uint32_t low = low_water(c);
	uint32_t chunks = c->position.chunk_us < EXT_FAST_CHUNK_US
	                      ? c->backlog / WIRE_CHUNK_BLOCKS
	                  : c->backlog < 2 * WIRE_CHUNK_BLOCKS ? GO_CHUNKS_LOSSY
	                                                       : GO_CHUNKS;

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
		return c->ext.window;
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
	uint32_t tries = c->ext.go_tries < STALL_TRIES ? c->ext.go_tries : STALL_TRIES;

	uint64_t most = c->position.chunk_us + STALL_MIN_US;

	/* Unpaced, what was said is soon there. */
	if (!c->session.unpaced || most > EXT_STALL_US)
		most = EXT_STALL_US;
	return c->ext.seen_us + (most << tries);
}

/* Another may say it first, but not so late that the server runs dry. */
static uint64_t
go_hold_us(struct client *c, uint32_t blocks)
{
	uint64_t most = c->position.chunk_us < EXT_HOLD_US ? c->position.chunk_us : EXT_HOLD_US;

	if (c->session.unpaced)
		most = most * blocks / WIRE_CHUNK_BLOCKS / 4;
	return c->session.clients > 1 ? client_hold_draw_us(&c->hold, most, c->session.clients) : 0;
}

size_t
client_ext_go(struct client *c, uint64_t now_us, void *pkt)
{
	uint32_t blocks = can_take(c);
	uint64_t left = c->ext.horizon > c->position.seen ? c->ext.horizon - c->position.seen : 0;
	bool stalled = now_us >= stall_us(c);
	struct wirext_msg m;

	if (blocks == 0 || (left >= go_on_at(c, blocks) && !stalled) ||
	    !waits_for_more(c)) {
		c->ext.go_at_us = 0;
		return 0;
	}
	if (c->ext.go_at_us == 0)
		c->ext.go_at_us = now_us + go_hold_us(c, blocks);
	if (now_us < c->ext.go_at_us)
		return 0;
	c->ext.go_tries += stalled;
	if (stalled)
		client_packs_doubt(&c->packs, now_us);
	/* After a silence, what was on its way is lost or here. */
	client_ext_message(c, &m, c->session.unpaced && !stalled ? WIREXT_ROOM : WIREXT_GO);
	m.u.go.clientid = c->cfg.clientid;
	m.u.go.blocks = blocks;
	m.u.go.chunk = c->position.at_chunk;
	m.u.go.block = c->position.at_block;
	m.u.go.since = c->position.since;
	if (stalled)
		c->ext.horizon = c->position.seen;
	client_ext_note_go(c, now_us, blocks);
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}
