#include "frisbee/client.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAP_BYTES = WIRE_MAP_BYTES,
	NO_BUFFER = -1,
	BACKOFF_MAX = 33,		/* ticks */
	ECHO_RING = 16,
	REORDER_US = 5000,		/* what overtakes by less is not a loss */
};

/* A chunk's way. */
enum chunk_state { CHUNK_UNSEEN, CHUNK_FILLING, CHUNK_DONE };

struct chunk_info {
	uint64_t stamp;			/* last asked for by anybody, or seen; 0: never */
	int32_t buf;			/* while filling */
	uint32_t asked;			/* number of our last request for it; 0: never */
	uint8_t state;
	bool missed;			/* blocks of it passed while no buffer was free */
};

enum buf_state { BUF_FREE, BUF_FILLING, BUF_COMPLETE, BUF_SHELL };

struct buffer {
	enum buf_state state;
	uint32_t chunk, have, blocks;
	bool dubious;			/* began in the middle of a chunk that was missed */
	uint64_t repair_at;		/* blocks were lost for sure: ask then; 0: no */
	uint8_t map[MAP_BYTES];		/* 1: arrived */
};

/* A request to be sent: of a chunk that is filling, what is missing. */
struct pending {
	uint32_t chunk;
};

struct client {
	struct client_config cfg;
	enum client_state state;
	char error[160];
	uint64_t started, next_join, last_packet, last_useful;
	uint32_t backoff;		/* ticks added to the idle time */
	uint64_t image_bytes, nblocks;
	uint32_t nchunks, ntaken, ndone;
	struct chunk_info *chunks;
	uint32_t *order, order_at;	/* everything before order_at is seen */
	struct buffer *bufs;
	uint32_t nfree, nfilling;
	struct pending *out;		/* a round's requests, oldest first */
	uint32_t nout, out_at, out_cap;
	bool round_due;
	uint32_t requests_made;		/* numbers them */
	uint64_t next_repair;		/* CLIENT_NEVER: none */
	/* Our own packets, heard again when client and server share a host. */
	struct { uint8_t subtype; uint32_t chunk; bool live; } echo[ECHO_RING];
	uint32_t echo_at;
	bool leave_due;
	struct wire_stats stats;
};

static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

struct client *
client_new(const struct client_config *cfg, uint64_t now)
{
	struct client *c = calloc(1, sizeof *c);

	assert(cfg->buffers >= 1 && cfg->readahead >= 1 && cfg->in_progress >= 1);
	if (c == NULL)
		return NULL;
	c->cfg = *cfg;
	c->started = c->last_packet = c->last_useful = now;
	c->next_join = now + cfg->start_delay_us;
	c->next_repair = CLIENT_NEVER;
	c->nfree = cfg->buffers;
	c->out_cap = cfg->buffers + cfg->readahead;
	c->bufs = calloc(cfg->buffers, sizeof *c->bufs);
	c->out = calloc(c->out_cap, sizeof *c->out);
	if (c->bufs == NULL || c->out == NULL) {
		client_free(c);
		return NULL;
	}
	c->stats = (struct wire_stats){ .chunk_buffers = (int32_t)cfg->buffers,
		.readahead = (int32_t)cfg->readahead, .max_in_progress = (int32_t)cfg->in_progress,
		.packet_timeout_us = (int32_t)cfg->tick_us, .idle_ticks = (int32_t)cfg->idle_ticks,
		.start_delay_ms = (int32_t)(cfg->start_delay_us / 1000),
		.redo_delay_us = (int32_t)cfg->redo_us, .randomised = !cfg->sequential };
	return c;
}

void
client_free(struct client *c)
{
	if (c == NULL)
		return;
	free(c->chunks);
	free(c->order);
	free(c->bufs);
	free(c->out);
	free(c);
}

static void __attribute__((format(printf, 2, 3)))
refuse(struct client *c, const char *why, ...)
{
	va_list ap;

	c->state = CLIENT_REFUSED;
	va_start(ap, why);
	vsnprintf(c->error, sizeof c->error, why, ap);
	va_end(ap);
}

/* Tables for the image that the reply told of. */
static void
begin_loading(struct client *c, uint64_t now, uint64_t image_bytes)
{
	c->image_bytes = image_bytes;
	c->nblocks = (image_bytes - 1) / WIRE_BLOCK_BYTES + 1;
	c->nchunks = (uint32_t)((c->nblocks - 1) / WIRE_CHUNK_BLOCKS + 1);
	c->chunks = calloc(c->nchunks, sizeof *c->chunks);
	c->order = calloc(c->nchunks, sizeof *c->order);
	if (c->chunks == NULL || c->order == NULL) {
		refuse(c, "out of memory for %u chunks", c->nchunks);
		return;
	}
	uint64_t seed = c->cfg.seed | 1;
	for (uint32_t i = 0; i < c->nchunks; i++) {
		c->chunks[i].buf = NO_BUFFER;
		uint32_t j = c->cfg.sequential ? i : (uint32_t)(next_random(&seed) % (i + 1));
		c->order[i] = c->order[j];
		c->order[j] = i;
	}
	c->state = CLIENT_LOADING;
	c->last_useful = now;
	c->round_due = true;
}

static void
take_join_reply(struct client *c, uint64_t now, const struct wire_msg *m)
{
	uint64_t bytes;

	if (c->state != CLIENT_JOINING || c->stats.join_attempts == 0)
		return;
	if (m->subtype == WIRE_JOIN && !c->cfg.any_file) {
		bytes = (uint64_t)m->u.join.blocks * WIRE_BLOCK_BYTES;
		if (bytes == 0 || m->u.join.blocks % WIRE_CHUNK_BLOCKS != 0) {
			refuse(c, "the server offers %u blocks, which is not an image (whole chunks of "
			    "1 MiB)", m->u.join.blocks);
			return;
		}
	} else if (m->subtype == WIRE_JOIN2 && c->cfg.any_file &&
	    m->u.join2.clientid == c->cfg.clientid) {
		bytes = m->u.join2.image_bytes;
		if (m->u.join2.block_bytes != WIRE_BLOCK_BYTES ||
		    m->u.join2.chunk_blocks != WIRE_CHUNK_BLOCKS) {
			refuse(c, "the server uses blocks of %u bytes, only 1024 are known here",
			    m->u.join2.block_bytes);
			return;
		}
		if (bytes == 0 || bytes > (uint64_t)INT32_MAX * WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES) {
			refuse(c, "the server offers a file of %" PRIu64 " bytes", bytes);
			return;
		}
	} else {
		return;
	}
	begin_loading(c, now, bytes);
}

static uint32_t
chunk_blocks(const struct client *c, uint32_t chunk)
{
	uint64_t left = c->nblocks - (uint64_t)chunk * WIRE_CHUNK_BLOCKS;

	return left < WIRE_CHUNK_BLOCKS ? (uint32_t)left : WIRE_CHUNK_BLOCKS;
}

static bool
has_block(const struct buffer *b, uint32_t block)
{
	return b->map[block / 8] >> block % 8 & 1;
}

static void
buffer_begin(struct client *c, uint32_t i, uint32_t chunk)
{
	c->bufs[i] = (struct buffer){ .state = BUF_FILLING, .chunk = chunk,
		.blocks = chunk_blocks(c, chunk) };
	c->chunks[chunk].state = CHUNK_FILLING;
	c->chunks[chunk].buf = (int32_t)i;
	c->nfilling++;
}

/* A chunk that was begun in its middle gives way to one that begins. */
static int32_t
evict_dubious(struct client *c)
{
	for (uint32_t i = 0; i < c->cfg.buffers; i++) {
		struct buffer *b = &c->bufs[i];
		if (b->state != BUF_FILLING || !b->dubious)
			continue;
		c->chunks[b->chunk].state = CHUNK_UNSEEN;
		c->chunks[b->chunk].buf = NO_BUFFER;
		c->order_at = 0;	/* it is to be asked for again */
		c->nfilling--;
		c->stats.partial_drops++;
		return (int32_t)i;
	}
	return NO_BUFFER;
}

/* A buffer for a chunk that begins to arrive, or NO_BUFFER. */
static int32_t
buffer_for(struct client *c, uint32_t chunk, uint32_t block)
{
	int32_t found = NO_BUFFER;

	for (uint32_t i = 0; c->nfree > 0 && i < c->cfg.buffers; i++)
		if (c->bufs[i].state == BUF_FREE) {
			found = (int32_t)i;
			c->nfree--;
			break;
		}
	if (found == NO_BUFFER && block == 0)
		found = evict_dubious(c);
	if (found == NO_BUFFER) {
		c->chunks[chunk].missed = true;
		c->stats.dropped_no_buffer++;
		return NO_BUFFER;
	}
	buffer_begin(c, (uint32_t)found, chunk);
	c->bufs[found].dubious = c->chunks[chunk].missed && block != 0;
	return found;
}

/* The server answers requests in their order: when a chunk arrives that we
 * asked for, what we asked before and lacks blocks has lost them. */
static void
notice_losses(struct client *c, uint64_t now, uint32_t chunk)
{
	uint32_t asked = c->chunks[chunk].asked;

	for (uint32_t i = 0; asked != 0 && i < c->cfg.buffers; i++) {
		struct buffer *b = &c->bufs[i];
		uint32_t earlier = b->state == BUF_FILLING ? c->chunks[b->chunk].asked : 0;
		if (earlier == 0 || earlier >= asked || b->repair_at != 0)
			continue;
		b->repair_at = now + REORDER_US;
		if (b->repair_at < c->next_repair)
			c->next_repair = b->repair_at;
	}
}

static bool
take_block(struct client *c, uint64_t now, const struct wire_msg *m, struct client_store *store)
{
	uint32_t chunk = m->u.block.chunk, block = m->u.block.block;

	if (c->state != CLIENT_LOADING || chunk >= c->nchunks || block >= chunk_blocks(c, chunk))
		return false;
	struct chunk_info *info = &c->chunks[chunk];
	c->backoff = 0;
	info->stamp = now;
	if (info->state == CHUNK_DONE) {
		c->stats.dup_finished++;
		return false;
	}
	bool begins = info->state == CHUNK_UNSEEN;
	int32_t i = begins ? buffer_for(c, chunk, block) : info->buf;
	if (i == NO_BUFFER)
		return false;
	struct buffer *b = &c->bufs[i];
	if (has_block(b, block)) {
		c->stats.dup_in_progress++;
		return false;
	}
	if (begins)
		notice_losses(c, now, chunk);
	b->map[block / 8] |= (uint8_t)(1u << block % 8);
	c->last_useful = now;
	*store = (struct client_store){ (uint32_t)i, chunk, block, m->u.block.data };
	if (++b->have == b->blocks) {
		b->state = BUF_COMPLETE;
		info->state = CHUNK_DONE;
		c->ndone++;
		c->nfilling--;
		c->round_due = true;
	}
	return true;
}

/* Another client asks for blocks that we need, too: no need to ask as well. */
static void
hear_request(struct client *c, uint64_t now, uint32_t chunk)
{
	if (c->state != CLIENT_LOADING || chunk >= c->nchunks ||
	    c->chunks[chunk].state == CHUNK_DONE)
		return;
	c->chunks[chunk].stamp = now;
	c->last_useful = now;
}

static void
hear_prequest(struct client *c, uint64_t now, const struct wire_msg *m)
{
	uint32_t chunk = m->u.preq.chunk;

	if (c->state != CLIENT_LOADING || chunk >= c->nchunks)
		return;
	const struct chunk_info *info = &c->chunks[chunk];
	bool needed = info->state == CHUNK_UNSEEN;
	for (int i = 0; info->state == CHUNK_FILLING && i < MAP_BYTES && !needed; i++)
		needed = (m->u.preq.map[i] & ~c->bufs[info->buf].map[i]) != 0;
	if (needed)
		hear_request(c, now, chunk);
}

static bool
is_echo(struct client *c, const struct wire_msg *m, const uint8_t from[4], uint32_t chunk)
{
	if (memcmp(from, c->cfg.srcip, 4) != 0)
		return false;
	for (int i = 0; i < ECHO_RING; i++)
		if (c->echo[i].live && c->echo[i].subtype == m->subtype && c->echo[i].chunk == chunk) {
			c->echo[i].live = false;
			return true;
		}
	return false;
}

bool
client_input(struct client *c, uint64_t now, const void *pkt, size_t len, const uint8_t from[4],
    struct client_store *store)
{
	struct wire_msg m;
	struct err e;

	if (wire_get(&m, pkt, len, &e) != 0 || memcmp(m.srcip, from, 4) != 0)
		return false;
	bool from_server = !c->cfg.has_server || memcmp(from, c->cfg.server, 4) == 0;
	switch (m.subtype) {
	case WIRE_JOIN:
	case WIRE_JOIN2:
		if (m.type != WIRE_REPLY || !from_server)
			return false;
		c->last_packet = now;
		take_join_reply(c, now, &m);
		return false;
	case WIRE_BLOCK:
		if (!from_server)
			return false;
		c->last_packet = now;
		return take_block(c, now, &m, store);
	case WIRE_REQ:
		if (!is_echo(c, &m, from, m.u.req.chunk))
			hear_request(c, now, m.u.req.chunk);
		return false;
	case WIRE_PREQ:
		if (!is_echo(c, &m, from, m.u.preq.chunk))
			hear_prequest(c, now, &m);
		return false;
	default:
		return false;
	}
}

static void
push(struct client *c, uint32_t chunk, uint64_t now)
{
	if (c->nout == c->out_cap)
		return;
	c->out[c->nout++] = (struct pending){ chunk };
	c->chunks[chunk].stamp = now;
}

static bool
stale(const struct client *c, uint32_t chunk, uint64_t now)
{
	uint64_t stamp = c->chunks[chunk].stamp;

	return stamp == 0 || now - stamp >= c->cfg.redo_us;
}

/* Missing blocks of what is filling.  When idle, whoever asked before. */
static void
ask_missing(struct client *c, uint64_t now, bool idle)
{
	for (uint32_t i = 0; i < c->cfg.buffers; i++) {
		struct buffer *b = &c->bufs[i];
		if (b->state != BUF_FILLING)
			continue;
		bool repair = b->repair_at != 0 && now >= b->repair_at;
		if (idle || repair || stale(c, b->chunk, now)) {
			push(c, b->chunk, now);
			b->repair_at = 0;
		}
	}
}

/* The next chunks of our order that nobody has begun to send. */
static void
ask_ahead(struct client *c, uint64_t now, bool idle)
{
	uint32_t asked = 0;

	while (c->order_at < c->nchunks && c->chunks[c->order[c->order_at]].state != CHUNK_UNSEEN)
		c->order_at++;
	if (c->nfilling >= c->cfg.in_progress || c->nfree == 0)
		return;
	for (uint32_t i = c->order_at; i < c->nchunks && asked < c->cfg.readahead; i++) {
		uint32_t chunk = c->order[i];
		if (c->chunks[chunk].state != CHUNK_UNSEEN)
			continue;
		asked++;
		if (idle || stale(c, chunk, now))
			push(c, chunk, now);
	}
}

static void
plan_repairs(struct client *c)
{
	c->next_repair = CLIENT_NEVER;
	for (uint32_t i = 0; i < c->cfg.buffers; i++) {
		const struct buffer *b = &c->bufs[i];
		if (b->state == BUF_FILLING && b->repair_at != 0 && b->repair_at < c->next_repair)
			c->next_repair = b->repair_at;
	}
}

static uint64_t
idle_at(const struct client *c)
{
	return c->last_useful + (c->cfg.idle_ticks + c->backoff) * c->cfg.tick_us;
}

static void
make_round(struct client *c, uint64_t now)
{
	bool idle = now >= idle_at(c);

	if (!c->round_due && !idle && now < c->next_repair)
		return;
	c->round_due = false;
	c->nout = c->out_at = 0;
	ask_missing(c, now, idle);
	ask_ahead(c, now, idle);
	plan_repairs(c);
	if (!idle)
		return;
	c->last_useful = now;
	c->stats.idle_timeouts++;
	if (c->nout > 0 && c->backoff < BACKOFF_MAX)
		c->backoff++;
}

static void
remember_echo(struct client *c, uint8_t subtype, uint32_t chunk)
{
	uint32_t i = c->echo_at++ % ECHO_RING;

	c->echo[i].subtype = subtype;
	c->echo[i].chunk = chunk;
	c->echo[i].live = true;
}

static size_t
put_msg(struct client *c, struct wire_msg *m, enum wire_subtype subtype, void *pkt)
{
	m->type = WIRE_REQUEST;
	m->subtype = subtype;
	memcpy(m->srcip, c->cfg.srcip, 4);
	return wire_put(m, pkt, WIRE_PACKET_MAX);
}

/* A whole chunk asked for the first time is a REQUEST, all else a PREQUEST. */
static size_t
put_request(struct client *c, uint32_t chunk, void *pkt)
{
	struct chunk_info *info = &c->chunks[chunk];
	struct wire_msg m = { 0 };
	uint32_t blocks = chunk_blocks(c, chunk);
	bool again = info->asked != 0;

	if (info->state == CHUNK_DONE)
		return 0;
	c->stats.requests++;
	info->asked = ++c->requests_made;
	if (info->state == CHUNK_UNSEEN && !again) {
		m.u.req.chunk = chunk;
		m.u.req.count = blocks;
		remember_echo(c, WIRE_REQ, chunk);
		return put_msg(c, &m, WIRE_REQ, pkt);
	}
	m.u.preq.chunk = chunk;
	m.u.preq.retries = again;
	const struct buffer *b = info->state == CHUNK_FILLING ? &c->bufs[info->buf] : NULL;
	for (uint32_t i = 0; i < blocks; i++)
		if (b == NULL || !has_block(b, i)) {
			m.u.preq.map[i / 8] |= (uint8_t)(1u << i % 8);
			c->stats.blocks_by_prequest++;
		}
	c->stats.prequests++;
	c->stats.rerequests += again;
	c->stats.full_rerequests += again && b == NULL;
	remember_echo(c, WIRE_PREQ, chunk);
	return put_msg(c, &m, WIRE_PREQ, pkt);
}

static size_t
put_join(struct client *c, uint64_t now, void *pkt)
{
	struct wire_msg m = { 0 };

	c->stats.join_attempts++;
	c->next_join = now + c->cfg.join_us;
	if (!c->cfg.any_file) {
		m.u.join.clientid = c->cfg.clientid;
		return put_msg(c, &m, WIRE_JOIN, pkt);
	}
	m.u.join2.clientid = c->cfg.clientid;
	m.u.join2.chunk_blocks = WIRE_CHUNK_BLOCKS;
	m.u.join2.block_bytes = WIRE_BLOCK_BYTES;
	return put_msg(c, &m, WIRE_JOIN2, pkt);
}

static size_t
put_leave(struct client *c, uint64_t now, void *pkt)
{
	struct wire_msg m = { 0 };
	uint64_t us = now - c->started;

	c->stats.run_s = (int32_t)(us / 1000000);
	c->stats.run_ms = (int32_t)(us / 1000 % 1000);
	m.u.leave2.clientid = c->cfg.clientid;
	m.u.leave2.elapsed_s = c->stats.run_s;
	m.u.leave2.stats = c->stats;
	c->state = CLIENT_LEFT;
	c->leave_due = false;
	return put_msg(c, &m, WIRE_LEAVE2, pkt);
}

size_t
client_output(struct client *c, uint64_t now, void *pkt)
{
	if (c->leave_due)
		return put_leave(c, now, pkt);
	if ((c->state == CLIENT_JOINING || c->state == CLIENT_LOADING) && c->cfg.silence_us != 0 &&
	    now - c->last_packet >= c->cfg.silence_us)
		c->state = CLIENT_GAVE_UP;
	if (c->state == CLIENT_JOINING && now >= c->next_join)
		return put_join(c, now, pkt);
	if (c->state != CLIENT_LOADING)
		return 0;
	if (c->out_at == c->nout)
		make_round(c, now);
	while (c->out_at < c->nout) {
		size_t n = put_request(c, c->out[c->out_at++].chunk, pkt);
		if (n > 0)
			return n;
	}
	return 0;
}

uint64_t
client_deadline(const struct client *c, uint64_t now)
{
	uint64_t at = CLIENT_NEVER;

	if (c->leave_due)
		return now;
	if (c->state == CLIENT_JOINING)
		at = c->next_join;
	else if (c->state == CLIENT_LOADING)
		at = c->round_due || c->out_at < c->nout ? now :
		    idle_at(c) < c->next_repair ? idle_at(c) : c->next_repair;
	else
		return CLIENT_NEVER;
	if (c->cfg.silence_us != 0 && c->last_packet + c->cfg.silence_us < at)
		at = c->last_packet + c->cfg.silence_us;
	return at;
}

bool
client_take(struct client *c, uint32_t *chunk, uint32_t *buf, uint32_t *bytes)
{
	for (uint32_t i = 0; c->ndone > c->ntaken && i < c->cfg.buffers; i++) {
		struct buffer *b = &c->bufs[i];
		if (b->state != BUF_COMPLETE)
			continue;
		uint64_t at = (uint64_t)b->chunk * WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;
		uint64_t left = c->image_bytes - at, whole = b->blocks * (uint64_t)WIRE_BLOCK_BYTES;
		b->state = BUF_SHELL;
		*chunk = b->chunk;
		*buf = i;
		*bytes = (uint32_t)(left < whole ? left : whole);
		if (++c->ntaken == c->nchunks)
			c->state = CLIENT_COMPLETE;
		return true;
	}
	return false;
}

void
client_release(struct client *c, uint64_t now, uint32_t buf)
{
	(void)now;
	assert(c->bufs[buf].state == BUF_SHELL);
	c->bufs[buf].state = BUF_FREE;
	if (c->nfree++ == 0)
		c->round_due = c->state == CLIENT_LOADING;
}

void
client_finish(struct client *c, uint64_t now, const struct wire_stats *shell)
{
	(void)now;
	c->stats.bytes_written = shell->bytes_written;
	c->stats.bytes_covered = shell->bytes_covered;
	c->stats.write_buffer_mb = shell->write_buffer_mb;
	c->stats.decompressor_blocked = shell->decompressor_blocked;
	c->stats.writer_idle = shell->writer_idle;
	c->leave_due = true;
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

uint32_t
client_chunks(const struct client *c)
{
	return c->nchunks;
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
