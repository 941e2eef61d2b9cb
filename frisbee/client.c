#include "frisbee/client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frisbee/client_impl.h"

enum {
	/* A chunk's pass is over when the server sends another one; the network may
	 * deliver stragglers for so long, at first. */
	GUARD_US = 3000,
	MAX_GUARD_US = 1000000,
	MAX_BACKOFF_TICKS = 33,
	/* A request of others makes ours needless for a while when it brings at least
	 * this part of what is missing. */
	COVER = 4,
	EXT_BUFFERS = 8, /* the extension needs so many */
	/* ... and chunks that take turns, while as many wait for their repair. */
	SET_BUFFERS = 6 * WIREXT_SET,
	JOIN_FRESH_US = 100000,
	CROWD_US = 5000000, /* who was heard so long ago may be gone */
	/* More is asked for when fewer blocks than this are still to come: at least
	 * what a round trip on a fast link takes, at most any number. */
	MIN_BACKLOG = 128,
	BACKLOG_STEP = 64,
};

struct client *
client_new(const struct client_config *cfg, uint64_t now_us)
{
	assert(cfg->buffers >= 1 && cfg->readahead >= 1 && cfg->in_progress >= 1);
	assert(cfg->tick_us >= 1 && cfg->join_us >= 1);
	struct client *c = calloc(1, sizeof *c);
	if (c == NULL)
		return NULL;
	c->cfg = *cfg;
	c->cfg.redo_us += c->cfg.redo_us == 0; /* at once is too soon */
	c->cfg.sequential |= cfg->in_order;
	c->cfg.parity &= cfg->first_blocks == 0;
	c->rng = ~cfg->seed;
	c->start_us = c->heard_us = now_us;
	c->join_at_us = now_us + cfg->start_delay_us;
	c->heard_us = c->join_at_us;
	c->stats.readahead = (int32_t)cfg->readahead;
	c->stats.max_in_progress = (int32_t)cfg->in_progress;
	c->stats.packet_timeout_us = (int32_t)cfg->tick_us;
	c->stats.start_delay_s = (int32_t)(cfg->start_delay_us / 1000000);
	c->stats.start_delay_ms = (int32_t)(cfg->start_delay_us / 1000);
	c->stats.idle_ticks = (int32_t)cfg->idle_ticks;
	c->stats.idle_delay_us = (int32_t)(cfg->idle_ticks * cfg->tick_us);
	c->stats.redo_delay_us = (int32_t)cfg->redo_us;
	c->stats.randomised = !c->cfg.sequential;
	return c;
}

void
client_free(struct client *c)
{
	if (c == NULL)
		return;
	client_chunks_fini(&c->chunks);
	free(c->buffers);
	free(c->free);
	free(c->filling);
	free(c->complete);
	free(c->ext.coming);
	free(c);
}

/* --- the image --- */

static uint32_t
max_backlog(const struct client *c)
{
	return c->cfg.readahead < 1024 ? (c->cfg.readahead + 1) * WIRE_CHUNK_BLOCKS
	                               : 1024 * WIRE_CHUNK_BLOCKS;
}

/* Chunks of an installation that is gone on with: never asked for. */
static void
leave_out(struct client *c)
{
	for (uint32_t i = 0; c->cfg.has != NULL && i < c->chunks.n; i++) {
		if (!c->cfg.has(c->cfg.has_arg, i))
			continue;
		client_chunks_take(&c->chunks, i, 0);
		client_chunks_done(&c->chunks, i);
		c->ntaken++;
	}
}

static void
start_loading(struct client *c, uint64_t now_us, uint32_t nblocks, uint64_t image_bytes)
{
	uint32_t n = (nblocks - 1) / WIRE_CHUNK_BLOCKS + 1;

	c->nblocks = nblocks;
	c->image_bytes = image_bytes;
	c->current = c->last = n;
	c->guard_us = GUARD_US;
	c->chunk_us = 2 * CLIENT_JITTER_US;
	c->backlog = max_backlog(c);
	if (client_chunks_init(&c->chunks, n, c->cfg.sequential, c->cfg.seed, now_us) !=
		0 ||
	    !client_make_buffers(c)) {
		client_refuse(c, "not enough memory for an image of this size");
		return;
	}
	c->stats.chunk_buffers = (int32_t)c->nbuffers;
	if (c->cfg.chunk0_first)
		client_chunks_prefer(&c->chunks, 0);
	leave_out(c);
	c->state = CLIENT_LOADING;
	c->idle_from_us = c->scan_at_us = now_us;
}

/* With few buffers it is better to ask for one chunk after the other. */
static bool
may_extend(const struct client *c)
{
	return c->cfg.ext && !c->cfg.any_file && c->cfg.buffers >= EXT_BUFFERS;
}

static void
handle_join_reply(
    struct client *c, uint64_t now_us, uint32_t blocks, const struct wirext_answer *a)
{
	if (c->state != CLIENT_JOINING || c->cfg.any_file)
		return;
	if (blocks == 0)
		client_refuse(c, "the server says that its image is empty");
	else if (blocks % WIRE_CHUNK_BLOCKS != 0)
		client_refuse(
		    c, "the server's file is not an image: not a multiple of 1 MiB");
	else
		start_loading(c, now_us, blocks, (uint64_t)blocks * WIRE_BLOCK_BYTES);
	/* Was it the answer to somebody else?  Our own JOIN of so long ago may have
	 * come before the server did. */
	c->join_again = now_us - (c->join_at_us - c->cfg.join_us) > JOIN_FRESH_US;
	if (c->state == CLIENT_LOADING && a != NULL && may_extend(c))
		client_ext_begin(c, now_us, a);
}

static void
handle_join2_reply(struct client *c, uint64_t now_us, const struct wire_msg *m)
{
	uint64_t bytes = m->u.join2.image_bytes;

	if (c->state != CLIENT_JOINING || !c->cfg.any_file ||
	    m->u.join2.clientid != c->cfg.clientid)
		return;
	if (m->u.join2.block_bytes != WIRE_BLOCK_BYTES ||
	    m->u.join2.chunk_blocks != WIRE_CHUNK_BLOCKS)
		client_refuse(
		    c, "the server uses other block or chunk sizes than 1024");
	else if (bytes == 0)
		client_refuse(c, "the server says that its file is empty");
	else if (m->u.join2.blocks != (bytes - 1) / WIRE_BLOCK_BYTES + 1)
		client_refuse(
		    c, "the server's reply contradicts itself about the size");
	else
		start_loading(c, now_us, m->u.join2.blocks, bytes);
}

/* --- blocks --- */

/* A pass that lost much has overrun somebody's buffer, most likely ours: let less
 * come at a time. */
static void
adapt_backlog(struct client *c, uint32_t lost)
{
	if (lost > WIRE_CHUNK_BLOCKS / 16)
		c->backlog = c->backlog / 2 > MIN_BACKLOG ? c->backlog / 2
		                                          : MIN_BACKLOG;
	else if (lost == 0 && c->backlog < max_backlog(c))
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
		client_packs_doubt(c, now_us);
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
	c->chunks.flags[chunk] &= (uint8_t)~CHUNK_SKIPPED;
	/* All that took turns with it are over, too. */
	uint32_t first = chunk - chunk % WIREXT_SET;
	for (uint32_t i = first; c->ext.sets && i - first < WIREXT_SET; i++)
		if (i < c->chunks.n && i != chunk) {
			c->chunks.flags[i] &= (uint8_t)~CHUNK_SKIPPED;
			settle(c, now_us, i);
		}
}

/* A block of a chunk that was over: is it late?  Then wait longer another time. */
static bool
is_straggler(struct client *c, uint64_t now_us, uint32_t chunk)
{
	struct buffer *b = client_filling(c, chunk);
	bool last = chunk == c->last && now_us < c->last_us + c->guard_us;
	bool filling = b != NULL && now_us < b->settled_us;

	if (client_chunks_is(&c->chunks, chunk, CHUNK_ASKED) || (!last && !filling))
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
	c->guard_us -= (c->guard_us - GUARD_US) / 64;
	c->current = chunk;
	c->current_us = now_us;
	c->current_begun = client_chunks_stamp(&c->chunks, now_us);
	client_chunks_pass_begins(&c->chunks, chunk);
}

bool
client_one_less(struct client *c, uint64_t now_us, struct buffer *b, uint32_t group)
{
	b->lack[group]--;
	if (--b->nlack > 0)
		return false;
	if (b->chunk == c->current && !c->ext.sets)
		c->chunk_us = now_us - c->current_us;
	client_buffer_complete(c, b);
	c->scan_at_us = now_us;
	return true;
}

bool
client_take_block(struct client *c, uint64_t now_us, struct buffer *b, uint32_t block)
{
	if (!blockmap_test(&b->missing, block))
		return false;
	if (b->nmissing-- == client_chunk_blocks(c, b->chunk))
		c->scan_at_us = now_us; /* one fewer is asked ahead */
	if (c->scan_after > 0 && --c->scan_after == 0)
		c->scan_at_us = now_us;
	blockmap_clear(&b->missing, block);
	/* In the place of parity that would have served as well. */
	if (b->parity_at[block] != 0)
		b->parity_at[block] = 0;
	else if (blockmap_test(&b->need, block))
		client_one_less(c, now_us, b, block % WIREXT_GROUPS);
	return true;
}

/* Some may be here, and the first of them may be all that was needed. */
static void
store_blocks(struct client *c, uint64_t now_us, struct buffer *b,
    const struct client_blocks *in, struct client_store *store)
{
	uint32_t i = 0;

	*store = (struct client_store){ .buf = (uint32_t)(b - c->buffers),
		.chunk = in->chunk,
		.block = in->first,
		.data = in->data };
	for (; i < in->count && !client_chunks_is(&c->chunks, in->chunk, CHUNK_DONE);
	     i++) {
		if (client_take_block(c, now_us, b, in->first + i))
			store->which |= (uint8_t)(1 << i);
		else
			c->stats.dup_in_progress++;
	}
	c->stats.dup_finished += in->count - i;
}

bool
client_take_blocks(struct client *c, uint64_t now_us, const struct client_blocks *in,
    struct client_store *store)
{
	uint32_t chunk = in->chunk;

	if (chunk >= c->chunks.n ||
	    in->first + in->count > client_chunk_blocks(c, chunk))
		return false;
	c->heard_us = c->idle_from_us = c->block_us = now_us;
	c->backoff_ticks = 0;
	if (in->count >= c->ext.fits)
		c->ext.doubts = 0;
	client_ext_seen(c, now_us, in->count);
	client_ext_heard_block(c, chunk, in->first + in->count - 1);
	bool begins = c->current != chunk;
	client_follow_stream(c, now_us, chunk);
	if (begins && c->current == chunk)
		client_ext_pass_begins(c, chunk, in->first);
	if (client_chunks_is(&c->chunks, chunk, CHUNK_DONE)) {
		c->stats.dup_finished += in->count;
		return false;
	}
	struct buffer *b = client_buffer_for(c, chunk, in->first);
	if (b == NULL)
		return false;
	store_blocks(c, now_us, b, in, store);
	return client_packs_end(c, now_us, b, in->content, store) || store->which != 0;
}

static bool
handle_block(struct client *c, uint64_t now_us, const struct wire_msg *m,
    struct client_store *store)
{
	struct client_blocks in = { .chunk = m->u.block.chunk,
		.first = m->u.block.block,
		.count = 1,
		.data = m->u.block.data };

	return client_take_blocks(c, now_us, &in, store);
}

/* --- silence --- */

static bool
wants_more(const struct client *c)
{
	return c->nfilling > 0 ||
	       (c->nfree > 0 && client_next_open(c, c->chunks.n) != c->chunks.n);
}

uint64_t
client_idle_at_us(const struct client *c)
{
	return c->idle_from_us +
	       (c->cfg.idle_ticks + c->backoff_ticks) * c->cfg.tick_us;
}

/* Whatever was asked will not come. */
void
client_presume_lost(struct client *c, uint64_t now_us)
{
	client_end_pass(c, now_us);
	for (uint32_t i = 0; i < c->nfilling; i++)
		c->buffers[c->filling[i]].settled_us = now_us;
	client_chunks_forget(&c->chunks, now_us);
}

/* Nothing comes any more, though something should. */
void
client_go_idle(struct client *c, uint64_t now_us)
{
	client_presume_lost(c, now_us);
	c->stats.idle_timeouts++;
	c->idle_from_us = now_us;
	if (c->backoff_ticks < MAX_BACKOFF_TICKS)
		c->backoff_ticks++;
}

/* --- listening to the others --- */

/* Is what somebody else asked for of use here, so that we need not ask? */
static bool
covers(struct client *c, uint32_t chunk, const struct blockmap *asked)
{
	const struct buffer *b = client_filling(c, chunk);

	struct blockmap lack = b != NULL ? client_lack(b)
	                                 : client_first_blocks(c, chunk);
	struct blockmap useful = blockmap_and(lack, asked);
	/* Of a chunk that is open, half is not enough to wait for the rest. */
	if (b == NULL)
		return blockmap_count(&useful) >= blockmap_count(&lack) / 2;
	return blockmap_count(&useful) * COVER >= blockmap_count(&lack);
}

static void
handle_heard(
    struct client *c, uint64_t now_us, uint32_t chunk, const struct blockmap *asked)
{
	if (chunk >= c->chunks.n)
		return;
	c->idle_from_us = now_us;
	client_chunks_ask(
	    &c->chunks, chunk, covers(c, chunk, asked), now_us, client_redo_us(c));
}

static bool
from_server(const struct client *c, const uint8_t from[4])
{
	return !c->cfg.has_server || memcmp(from, c->cfg.server, 4) == 0;
}

static void
handle_reply(struct client *c, uint64_t now_us, const struct wire_msg *m,
    const struct wirext_answer *a)
{
	c->heard_us = now_us;
	if (m->subtype == WIRE_JOIN && c->state == CLIENT_LOADING &&
	    c->ext.coming != NULL)
		client_ext_check(c, now_us, m->u.join.blocks, a);
	/* A reply to others would do; but who has not joined is not counted. */
	if (c->stats.join_attempts == 0)
		return;
	if (m->subtype == WIRE_JOIN)
		handle_join_reply(c, now_us, m->u.join.blocks, a);
	else if (m->subtype == WIRE_JOIN2)
		handle_join2_reply(c, now_us, m);
}

bool
client_input(struct client *c, uint64_t now_us, const void *pkt, size_t len,
    const uint8_t from[4], struct client_store *store)
{
	struct wire_msg m;
	struct err e;
	struct blockmap asked;

	if (wirext_is(pkt, len))
		return client_ext_input(c, now_us, pkt, len, from, store);
	if (wire_get(&m, pkt, len, &e) != 0 || !wire_source_is(&m, from))
		return false;
	if (m.type == WIRE_REPLY) {
		struct wirext_answer a;
		bool answered = wirext_get_answer(pkt, len, &a);
		if (from_server(c, from))
			handle_reply(c, now_us, &m, answered ? &a : NULL);
		return false;
	}
	if (m.subtype != WIRE_BLOCK && memcmp(from, c->cfg.srcip, 4) != 0)
		c->crowd_until_us = now_us + CROWD_US;
	if (c->state != CLIENT_LOADING)
		return false;
	switch (m.subtype) {
	case WIRE_BLOCK:
		return from_server(c, from) && handle_block(c, now_us, &m, store);
	case WIRE_REQ:
		c->old_until_us = now_us + CROWD_US;
		asked = blockmap_range(m.u.req.first, m.u.req.count);
		handle_heard(c, now_us, m.u.req.chunk, &asked);
		return false;
	case WIRE_PREQ:
		asked = blockmap_get(m.u.preq.map);
		handle_heard(c, now_us, m.u.preq.chunk, &asked);
		return false;
	default:
		return false;
	}
}

/* Is what is needed asked for by the extension's messages? */
static bool
speaks_ext(const struct client *c)
{
	return c->ext.on && !client_partial(c);
}

static size_t
loading_output(struct client *c, uint64_t now_us, void *pkt)
{
	size_t fits = client_packs_output(c, now_us, pkt);
	if (fits > 0)
		return fits;
	if (!wants_more(c))
		return 0;
	if (c->ext.on) {
		size_t n = client_partial(c) ? client_ext_listen(c, now_us, pkt)
		                             : client_ext_output(c, now_us, pkt);
		if (n > 0 || speaks_ext(c))
			return n;
		if (!c->ext.on)
			c->idle_from_us = now_us; /* as if never negotiated */
	}
	if (speaks_ext(c))
		return 0;
	if (client_partial(c) && now_us >= client_partial_quiet_us(c))
		client_end_pass(c, now_us);
	if (now_us >= client_idle_at_us(c)) {
		client_go_idle(c, now_us);
		c->scan_at_us = now_us;
	}
	if (now_us < c->scan_at_us)
		return 0;
	uint64_t settle_us = client_chunks_settle(&c->chunks, now_us, c->guard_us);
	size_t len = client_ask_missing(c, now_us, pkt);
	if (len == 0)
		len = client_ask_ahead(c, now_us, pkt);
	if (len == 0)
		c->scan_at_us = client_next_scan_us(c, now_us, settle_us);
	return len;
}

static size_t
put_first_join(struct client *c, uint64_t now_us, void *pkt)
{
	return client_put_join(c, now_us, client_wants_all(c) ? 0 : WIREXT_AGAIN, pkt);
}

static size_t
join_output(struct client *c, uint64_t now_us, void *pkt)
{
	return now_us < c->join_at_us ? 0 : put_first_join(c, now_us, pkt);
}

size_t
client_put_join(struct client *c, uint64_t now_us, uint32_t flags, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST };

	c->join_at_us = now_us + c->cfg.join_us;
	c->stats.join_attempts++;
	c->join_again = false;
	memcpy(m.srcip, c->cfg.srcip, 4);
	if (c->cfg.any_file) {
		m.subtype = WIRE_JOIN2;
		m.u.join2.clientid = c->cfg.clientid;
		m.u.join2.chunk_blocks = WIRE_CHUNK_BLOCKS;
		m.u.join2.block_bytes = WIRE_BLOCK_BYTES;
	} else {
		m.subtype = WIRE_JOIN;
		m.u.join.clientid = c->cfg.clientid;
	}
	size_t len = wire_put(&m, pkt, WIRE_PACKET_MAX);
	if (may_extend(c))
		len = wirext_put_offer(pkt, len, WIRE_PACKET_MAX,
		    flags | (c->cfg.parity ? WIREXT_CAN_PARITY : 0) |
			(c->cfg.buffers < SET_BUFFERS ? WIREXT_NO_SETS : 0));
	return len;
}

void
client_finish(struct client *c, uint64_t now_us, const struct wire_stats *shell_part)
{
	uint64_t run_ms = (now_us - c->start_us) / 1000;

	c->stats.run_s = (int32_t)(run_ms / 1000);
	c->stats.run_ms = (int32_t)(run_ms % 1000);
	c->stats.bytes_written = shell_part->bytes_written;
	c->stats.bytes_covered = shell_part->bytes_covered;
	c->stats.no_chunk_ready = shell_part->no_chunk_ready;
	c->stats.decompressor_blocked = shell_part->decompressor_blocked;
	c->stats.writer_idle = shell_part->writer_idle;
	c->stats.write_buffer_mb = shell_part->write_buffer_mb;
	c->leave_pending = true;
}

static size_t
leave_output(struct client *c, void *pkt)
{
	struct wire_msg m = { .type = WIRE_REQUEST, .subtype = WIRE_LEAVE2 };

	memcpy(m.srcip, c->cfg.srcip, 4);
	m.u.leave2.clientid = c->cfg.clientid;
	m.u.leave2.elapsed_s = c->stats.run_s;
	m.u.leave2.stats = c->stats;
	c->leave_pending = false;
	c->state = CLIENT_LEFT;
	return wire_put(&m, pkt, WIRE_PACKET_MAX);
}

/* When -T runs out; only who waits for the server can give it up. */
static uint64_t
silence_at_us(const struct client *c)
{
	bool waits = c->state == CLIENT_JOINING ||
	             (c->state == CLIENT_LOADING && wants_more(c));

	return waits && c->cfg.silence_us > 0 ? c->heard_us + c->cfg.silence_us
	                                      : CLIENT_NEVER;
}

size_t
client_output(struct client *c, uint64_t now_us, void *pkt)
{
	if (c->leave_pending)
		return leave_output(c, pkt);
	if (now_us >= silence_at_us(c)) {
		c->state = CLIENT_GAVE_UP;
		snprintf(c->error, sizeof c->error,
		    "nothing from the server for %llu s",
		    (unsigned long long)(c->cfg.silence_us / 1000000));
	}
	switch (c->state) {
	case CLIENT_JOINING:
		return join_output(c, now_us, pkt);
	case CLIENT_LOADING:
		return c->join_again ? put_first_join(c, now_us, pkt)
		                     : loading_output(c, now_us, pkt);
	default:
		return 0;
	}
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
client_deadline(const struct client *c, uint64_t now_us)
{
	uint64_t at = silence_at_us(c);

	if (c->leave_pending || (c->join_again && c->state == CLIENT_LOADING))
		return now_us;
	if (c->state == CLIENT_JOINING)
		at = earlier(at, c->join_at_us);
	else if (c->state == CLIENT_LOADING && wants_more(c))
		at = earlier(at, speaks_ext(c)
				     ? earlier(c->scan_at_us, client_ext_load_at_us(c))
				     : earlier(c->scan_at_us, client_idle_at_us(c)));
	if (c->state == CLIENT_LOADING)
		at = earlier(at, client_packs_at_us(c));
	return at > now_us ? at : now_us;
}

enum client_state
client_state(const struct client *c)
{
	return c->state;
}

const char *
client_error(const struct client *c)
{
	return c->error;
}

uint16_t
client_second_port(const struct client *c)
{
	return c->ext.on ? c->ext.port : 0;
}

void
client_no_second_port(struct client *c)
{
	c->ext.on = false;
}

uint64_t
client_parity_used(const struct client *c)
{
	return c->parity_used;
}

uint64_t
client_parity_unneeded(const struct client *c)
{
	return c->parity_unneeded;
}

uint64_t
client_blocks_left_out(const struct client *c)
{
	return c->ext.left_out;
}

bool
client_wants_blocks(const struct client *c)
{
	return c->state == CLIENT_JOINING || c->state == CLIENT_LOADING;
}

uint32_t
client_chunks(const struct client *c)
{
	return c->chunks.n;
}

uint64_t
client_image_bytes(const struct client *c)
{
	return c->image_bytes;
}

uint32_t
client_chunks_taken(const struct client *c)
{
	return c->ntaken;
}

const struct wire_stats *
client_stats(const struct client *c)
{
	return &c->stats;
}
