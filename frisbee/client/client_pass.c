/* Passes: the server sends a chunk, and then another one; what the first lacks now was
 * lost.  And silence, in which whatever was asked will not come. */
#include "frisbee/client/client_impl.h"

enum {
	MAX_GUARD_US = 1000000,
	MAX_BACKOFF_TICKS = 33,
	/* More is asked for when fewer blocks than this are still to come: at least
	 * what a round trip on a fast link takes, at most any number. */
	MIN_BACKLOG = 128,
	BACKLOG_STEP = 64,
};

uint32_t
client_max_backlog(const struct client *c)
{
	return c->cfg.readahead < 1024 ? (c->cfg.readahead + 1) * WIRE_CHUNK_BLOCKS
	                               : 1024 * WIRE_CHUNK_BLOCKS;
}

/* A pass that lost much has overrun somebody's buffer, most likely ours: let less
 * come at a time. */
static void
adapt_backlog(struct client *c, uint32_t lost)
{
	if (lost > WIRE_CHUNK_BLOCKS / 16)
		c->backlog = c->backlog / 2 > MIN_BACKLOG ? c->backlog / 2
		                                          : MIN_BACKLOG;
	else if (lost == 0 && c->backlog < client_max_backlog(c))
		c->backlog += BACKLOG_STEP;
}

static void
settle(struct client *c, uint64_t now_us, uint32_t chunk)
{
	struct buffer *b = client_filling(c, chunk);

	if (b == NULL) {
		adapt_backlog(c, 0);
		client_ext_adapt(c, 0);
		return;
	}
	struct blockmap lost = client_lack(b);
	adapt_backlog(c, blockmap_count(&lost));
	client_ext_adapt(c, blockmap_count(&lost));
	if (blockmap_count(&lost) > WIRE_CHUNK_BLOCKS / 2)
		client_packs_doubt(&c->packs, now_us);
	client_ext_pass_ended(b);
	c->ext.look = true;
	b->passed_us = now_us;
	b->settled_us = now_us + c->guard_us + client_jitter_us(c, now_us);
	if (c->scan_at_us > b->settled_us)
		c->scan_at_us = b->settled_us;
}

void
client_end_pass(struct client *c, uint64_t now_us)
{
	uint32_t chunk = c->current;

	if (chunk == c->chunks.n)
		return;
	c->last = chunk;
	c->last_us = now_us;
	c->current = c->chunks.n;
	client_chunks_pass_ends(&c->chunks, chunk, c->current_begun);
	settle(c, now_us, chunk);
	client_chunks_unnote(&c->chunks, chunk, CHUNK_SKIPPED);
	/* All that took turns with it are over, too. */
	uint32_t first = chunk - chunk % WIREXT_SET;
	for (uint32_t i = first; c->ext.sets && i - first < WIREXT_SET; i++)
		if (i < c->chunks.n && i != chunk) {
			client_chunks_unnote(&c->chunks, i, CHUNK_SKIPPED);
			settle(c, now_us, i);
		}
}

/* A block of a chunk that was over: is it late, and not asked for since?  Then wait
 * longer another time. */
static bool
is_straggler(struct client *c, uint64_t now_us, uint32_t chunk)
{
	struct buffer *b = client_filling(c, chunk);
	bool last = chunk == c->last && now_us < c->last_us + c->guard_us;
	bool filling = b != NULL && now_us < b->settled_us;

	if (client_chunks_is(&c->chunks, chunk, CHUNK_ASKED) || (!last && !filling))
		return false;
	if (filling && b->asked_us > b->passed_us)
		return false;
	uint64_t late_us = now_us - (filling ? b->passed_us : c->last_us);
	if (c->guard_us < 2 * late_us)
		c->guard_us = 2 * late_us < MAX_GUARD_US ? 2 * late_us : MAX_GUARD_US;
	if (filling)
		b->settled_us = b->passed_us + c->guard_us;
	return true;
}

void
client_follow_stream(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (client_in_pass(c, chunk)) {
		c->current = chunk;
		return;
	}
	if (is_straggler(c, now_us, chunk))
		return;
	client_end_pass(c, now_us);
	c->guard_us -= (c->guard_us - CLIENT_GUARD_US) / 64;
	c->current = chunk;
	c->current_us = now_us;
	c->current_begun = client_chunks_stamp(&c->chunks, now_us);
	client_chunks_pass_begins(&c->chunks, chunk);
}

uint64_t
client_idle_at_us(const struct client *c)
{
	return c->idle_from_us +
	       (c->cfg.idle_ticks + c->backoff_ticks) * c->cfg.tick_us;
}

void
client_settle_all(struct client *c, uint64_t now_us)
{
	for (uint32_t i = 0; i < c->nfilling; i++) {
		struct buffer *b = &c->buffers[c->filling[i]];
		b->settled_us = b->settled_us < now_us ? b->settled_us : now_us;
	}
}

/* Whatever was asked will not come. */
void
client_presume_lost(struct client *c, uint64_t now_us)
{
	client_end_pass(c, now_us);
	client_settle_all(c, now_us);
	client_chunks_forget(&c->chunks, now_us);
}

/* Nothing comes any more, though something should.  With parity, a chunk's pass ends when
 * the server says so; only what was asked for by requests is asked for again. */
void
client_go_idle(struct client *c, uint64_t now_us)
{
	if (c->ext.on && c->ext.parity)
		client_chunks_forget(&c->chunks, now_us);
	else
		client_presume_lost(c, now_us);
	client_counters_idle(&c->counters);
	c->idle_from_us = now_us;
	if (c->backoff_ticks < MAX_BACKOFF_TICKS)
		c->backoff_ticks++;
}
