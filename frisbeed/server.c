#include "frisbeed/server.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAP_WORDS = WIRE_CHUNK_BLOCKS / 64,
	JOIN2_QUEUE = 64,
	LEFT_GRACE_US = 2000000,	/* -T < 0: after the last client left */
	DYNAMIC_EPOCH_US = 500000,
	DYNAMIC_CUT_PERCENT = 90,
};

/* One bit a block. */
struct map {
	uint64_t w[MAP_WORDS];
};

/* What is known of a chunk that was ever asked for. */
struct item {
	struct item *next;		/* in the queue */
	bool linked;
	uint32_t chunk;
	uint32_t nqueued;
	struct map queued;		/* asked for, not yet given out to be read */
	struct map coming;		/* being read, or read and not sent */
	struct map sent;		/* ever */
};

/* A run on its way through the reader, in the order of sending. */
struct run {
	uint32_t chunk, first, count, sent;
	bool ready;
};

struct client {
	uint8_t ip[4];
	uint32_t id;
	bool active;
};

struct server {
	struct server_config cfg;
	uint32_t nchunks;
	uint64_t nblocks;
	struct item **items;		/* by chunk; NULL: never asked for */
	struct item *head, *tail;
	/* Runs: buffer `b` belongs to run number n with n % ahead == b. */
	struct run *runs;
	uint64_t run_first, run_next;
	/* Replies, which go ahead of blocks. */
	bool join_due;
	uint32_t join2[JOIN2_QUEUE], njoin2;
	/* Pacing. */
	uint32_t burst, burst_left;
	uint64_t burst_start;
	uint64_t epoch_start;
	bool loss_in_epoch;
	/* Who is there, and when the last of something was. */
	struct client *clients;
	uint32_t nclients;
	uint64_t last_request, last_leave;
	struct server_stats stats;
	struct server_log log;
};

static bool
map_get(const struct map *m, uint32_t i)
{
	return m->w[i / 64] >> i % 64 & 1;
}

static void
map_set(struct map *m, uint32_t i)
{
	m->w[i / 64] |= 1ull << i % 64;
}

static void
map_clear(struct map *m, uint32_t i)
{
	m->w[i / 64] &= ~(1ull << i % 64);
}

struct server *
server_new(const struct server_config *cfg, uint64_t now)
{
	struct server *s = calloc(1, sizeof *s);

	assert(cfg->image_bytes > 0 && cfg->ahead >= 1 && cfg->ahead <= SERVER_AHEAD_MAX);
	assert(cfg->run_blocks >= 1 && cfg->run_blocks <= WIRE_CHUNK_BLOCKS && cfg->burst >= 1);
	if (s == NULL)
		return NULL;
	s->cfg = *cfg;
	s->nblocks = (cfg->image_bytes - 1) / WIRE_BLOCK_BYTES + 1;
	s->nchunks = (uint32_t)((s->nblocks - 1) / WIRE_CHUNK_BLOCKS + 1);
	s->items = calloc(s->nchunks, sizeof *s->items);
	s->runs = calloc(cfg->ahead, sizeof *s->runs);
	s->clients = calloc(SERVER_CLIENTS_MAX, sizeof *s->clients);
	if (s->items == NULL || s->runs == NULL || s->clients == NULL) {
		server_free(s);
		return NULL;
	}
	s->burst = s->burst_left = cfg->burst;
	s->burst_start = s->epoch_start = s->last_request = now;
	return s;
}

void
server_free(struct server *s)
{
	if (s == NULL)
		return;
	for (uint32_t i = 0; s->items != NULL && i < s->nchunks; i++)
		free(s->items[i]);
	free(s->items);
	free(s->runs);
	free(s->clients);
	free(s);
}

uint32_t
server_chunks(const struct server *s)
{
	return s->nchunks;
}

void
server_set_log(struct server *s, const struct server_log *log)
{
	s->log = *log;
}

const struct server_stats *
server_stats(const struct server *s)
{
	return &s->stats;
}

/* The last chunk may be short. */
static uint32_t
chunk_blocks(const struct server *s, uint32_t chunk)
{
	uint64_t left = s->nblocks - (uint64_t)chunk * WIRE_CHUNK_BLOCKS;

	return left < WIRE_CHUNK_BLOCKS ? (uint32_t)left : WIRE_CHUNK_BLOCKS;
}

static struct item *
item_of(struct server *s, uint32_t chunk)
{
	if (s->items[chunk] == NULL && (s->items[chunk] = calloc(1, sizeof **s->items)) != NULL)
		s->items[chunk]->chunk = chunk;
	return s->items[chunk];
}

static void
enqueue(struct server *s, struct item *it)
{
	if (it->linked || it->nqueued == 0)
		return;
	it->linked = true;
	it->next = NULL;
	if (s->head == NULL)
		s->head = it;
	else
		s->tail->next = it;
	s->tail = it;
}

/* Ask for one block; true when it was not coming anyway. */
static bool
want(struct server *s, struct item *it, uint32_t block)
{
	s->stats.blocks_asked++;
	if (map_get(&it->queued, block) || map_get(&it->coming, block)) {
		s->stats.blocks_merged++;
		return false;
	}
	map_set(&it->queued, block);
	it->nqueued++;
	return true;
}

static void
take_request(struct server *s, uint32_t chunk, uint32_t first, uint32_t count)
{
	uint32_t end = chunk_blocks(s, chunk);
	struct item *it = item_of(s, chunk);

	s->stats.requests++;
	if (count != WIRE_CHUNK_BLOCKS)
		s->stats.lost_blocks += count;
	for (uint32_t b = first; it != NULL && b - first < count && b < end; b++)
		want(s, it, b);
	if (it != NULL)
		enqueue(s, it);
}

static void
take_prequest(struct server *s, const struct wire_msg *m)
{
	uint32_t chunk = m->u.preq.chunk, end = chunk_blocks(s, chunk), fresh = 0;
	struct item *it = item_of(s, chunk);

	s->stats.prequests++;
	for (uint32_t b = 0; it != NULL && b < end; b++) {
		if (!(m->u.preq.map[b / 8] >> b % 8 & 1))
			continue;
		s->stats.lost_blocks++;
		fresh += want(s, it, b);
	}
	if (it != NULL)
		enqueue(s, it);
	/* A repeat that finds nothing queued says that something was lost. */
	if (m->u.preq.retries != 0 && fresh > 0)
		s->loss_in_epoch = true;
}

static struct client *
find_client(struct server *s, const uint8_t ip[4], uint32_t id)
{
	for (uint32_t i = 0; i < s->nclients; i++)
		if (s->clients[i].id == id && memcmp(s->clients[i].ip, ip, 4) == 0)
			return &s->clients[i];
	return NULL;
}

/* The same address with a new id is the same node, begun anew. */
static void
client_joins(struct server *s, const uint8_t ip[4], uint32_t id)
{
	struct client *c = find_client(s, ip, id);

	if (c != NULL && c->active)
		return;			/* repeats its JOIN: the reply was lost */
	s->stats.joins++;
	for (uint32_t i = 0; c == NULL && i < s->nclients; i++)
		if (!s->clients[i].active)
			c = &s->clients[i];
	if (c == NULL && s->nclients < SERVER_CLIENTS_MAX)
		c = &s->clients[s->nclients++];
	if (c != NULL) {
		*c = (struct client){ .id = id, .active = true };
		memcpy(c->ip, ip, 4);
		s->stats.clients++;
		if (s->stats.clients > s->stats.clients_max)
			s->stats.clients_max = s->stats.clients;
	}
	if (s->log.joined != NULL)
		s->log.joined(s->log.arg, ip, id);
}

static void
client_leaves(struct server *s, uint64_t now, const uint8_t ip[4], uint32_t id, int32_t elapsed,
    const struct wire_stats *stats)
{
	struct client *c = find_client(s, ip, id);

	s->last_leave = now;
	if (c == NULL || !c->active)
		return;
	c->active = false;
	s->stats.leaves++;
	s->stats.clients--;
	if (s->log.left != NULL)
		s->log.left(s->log.arg, ip, id, elapsed, stats);
}

static void
take_join2(struct server *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->njoin2; i++)
		if (s->join2[i] == id)
			return;
	if (s->njoin2 < JOIN2_QUEUE)	/* else it asks again */
		s->join2[s->njoin2++] = id;
}

static void
take_message(struct server *s, uint64_t now, const struct wire_msg *m, const uint8_t from[4])
{
	switch (m->subtype) {
	case WIRE_JOIN:
		if (!s->cfg.whole_chunks)
			return;		/* an image client would take it for an image */
		client_joins(s, from, m->u.join.clientid);
		s->join_due = true;
		break;
	case WIRE_JOIN2:
		client_joins(s, from, m->u.join2.clientid);
		take_join2(s, m->u.join2.clientid);
		break;
	case WIRE_LEAVE:
		client_leaves(s, now, from, m->u.leave.clientid, m->u.leave.elapsed_s, NULL);
		return;
	case WIRE_LEAVE2:
		client_leaves(s, now, from, m->u.leave2.clientid, m->u.leave2.elapsed_s,
		    &m->u.leave2.stats);
		return;
	case WIRE_REQ:
		if (m->u.req.chunk >= s->nchunks || m->u.req.count == 0)
			return;
		take_request(s, m->u.req.chunk, m->u.req.first, m->u.req.count);
		break;
	case WIRE_PREQ:
		if (m->u.preq.chunk >= s->nchunks)
			return;
		take_prequest(s, m);
		break;
	default:
		return;			/* blocks of another server, progress */
	}
	s->last_request = now;
}

void
server_input(struct server *s, uint64_t now, const void *pkt, size_t len, const uint8_t from[4])
{
	struct wire_msg m;
	struct err e;

	if (wire_get(&m, pkt, len, &e) != 0) {
		if (e.kind == ERR_UNSUPPORTED)
			return;
		s->stats.bad_packets++;
		if (s->log.bad != NULL)
			s->log.bad(s->log.arg, from, &e);
		return;
	}
	if (m.type != WIRE_REQUEST || memcmp(m.srcip, from, 4) != 0)
		return;
	take_message(s, now, &m, from);
}

bool
server_read_next(struct server *s, struct server_run *out)
{
	struct item *it = s->head;
	uint32_t first = 0, count = 0;

	if (it == NULL || s->run_next - s->run_first == s->cfg.ahead)
		return false;
	while (!map_get(&it->queued, first))
		first++;
	while (count < s->cfg.run_blocks && first + count < WIRE_CHUNK_BLOCKS &&
	    map_get(&it->queued, first + count)) {
		map_clear(&it->queued, first + count);
		map_set(&it->coming, first + count);
		count++;
	}
	it->nqueued -= count;
	if (it->nqueued == 0) {
		s->head = it->next;
		it->linked = false;
	}
	uint32_t buf = (uint32_t)(s->run_next++ % s->cfg.ahead);
	s->runs[buf] = (struct run){ .chunk = it->chunk, .first = first, .count = count };
	*out = (struct server_run){ buf, it->chunk, first, count };
	return true;
}

void
server_read_done(struct server *s, uint32_t buf)
{
	s->runs[buf].ready = true;
}

static bool
put_reply(struct server *s, struct server_out *out)
{
	struct wire_msg m = { .type = WIRE_REPLY };

	memcpy(m.srcip, s->cfg.srcip, 4);
	if (s->join_due) {
		s->join_due = false;
		m.subtype = WIRE_JOIN;
		m.u.join.blocks = (uint32_t)s->nblocks;
	} else if (s->njoin2 > 0) {
		m.subtype = WIRE_JOIN2;
		m.u.join2.clientid = s->join2[--s->njoin2];
		m.u.join2.chunk_blocks = WIRE_CHUNK_BLOCKS;
		m.u.join2.block_bytes = WIRE_BLOCK_BYTES;
		m.u.join2.image_bytes = s->cfg.image_bytes;
	} else {
		return false;
	}
	out->kind = SERVER_OUT_PACKET;
	out->len = wire_put(&m, out->pkt, sizeof out->pkt);
	return true;
}

/* The original's rule: every half second, 10 % less after loss, else one block
 * a burst more, up to what was configured. */
static void
adapt(struct server *s, uint64_t now)
{
	if (!s->cfg.dynamic || now - s->epoch_start < DYNAMIC_EPOCH_US)
		return;
	s->epoch_start = now;
	if (s->loss_in_epoch) {
		uint32_t cut = s->burst * DYNAMIC_CUT_PERCENT / 100;
		s->burst = cut == s->burst ? s->burst - 1 : cut;
		s->burst = s->burst < 1 ? 1 : s->burst;
	} else if (s->burst < s->cfg.burst) {
		s->burst++;
	}
	s->loss_in_epoch = false;
}

/* May one more block go now? */
static bool
pace(struct server *s, uint64_t now)
{
	if (s->cfg.gap_us == 0)
		return true;
	if (s->burst_left == 0) {
		uint64_t due = s->burst_start + s->cfg.gap_us;
		if (now < due)
			return false;
		adapt(s, now);
		/* A little late is made up for; more than a gap late is not. */
		s->burst_start = now - due < s->cfg.gap_us ? due : now;
		s->burst_left = s->burst;
	}
	s->burst_left--;
	return true;
}

static struct run *
next_ready(const struct server *s)
{
	if (s->run_first == s->run_next)
		return NULL;
	struct run *r = &s->runs[s->run_first % s->cfg.ahead];
	return r->ready ? r : NULL;
}

bool
server_output(struct server *s, uint64_t now, struct server_out *out)
{
	out->kind = SERVER_OUT_NONE;
	if (put_reply(s, out))
		return true;
	struct run *r = next_ready(s);
	if (r == NULL || !pace(s, now))
		return false;
	struct item *it = s->items[r->chunk];
	out->kind = SERVER_OUT_BLOCK;
	out->buf = (uint32_t)(s->run_first % s->cfg.ahead);
	out->at = r->sent;
	out->chunk = r->chunk;
	out->block = r->first + r->sent;
	map_clear(&it->coming, out->block);
	s->stats.blocks_sent++;
	s->stats.bytes_sent += WIRE_BLOCK_PACKET_BYTES;
	s->stats.blocks_resent += map_get(&it->sent, out->block);
	map_set(&it->sent, out->block);
	out->run_ends = ++r->sent == r->count;
	s->run_first += out->run_ends;
	return true;
}

uint64_t
server_deadline(const struct server *s, uint64_t now)
{
	if (s->join_due || s->njoin2 > 0)
		return now;
	if (next_ready(s) == NULL)
		return SERVER_NEVER;
	uint64_t due = s->burst_start + s->cfg.gap_us;
	return s->cfg.gap_us == 0 || s->burst_left > 0 || due < now ? now : due;
}

void
server_overrun(struct server *s)
{
	s->loss_in_epoch = true;
}

bool
server_done(const struct server *s, uint64_t now)
{
	bool idle = s->head == NULL && s->run_first == s->run_next;

	if (s->cfg.idle_us == 0 || !idle)
		return false;
	if (s->cfg.idle_us > 0)
		return now - s->last_request >= (uint64_t)s->cfg.idle_us;
	return s->stats.joins > 0 && s->stats.clients == 0 && now - s->last_leave >= LEFT_GRACE_US;
}

void
server_rate_to_burst(uint64_t bits_per_s, uint32_t *burst, uint64_t *gap_us)
{
	/* Bursts of about a millisecond: what a sleep can do; at least a block. */
	uint64_t blocks = bits_per_s / (1000ull * WIRE_BLOCK_COST_BITS);

	blocks = blocks < 1 ? 1 : blocks > 65536 ? 65536 : blocks;
	uint64_t bits = blocks * WIRE_BLOCK_COST_BITS;
	*burst = (uint32_t)blocks;
	/* Rounded up: the rate is a cap. */
	*gap_us = (bits * 1000000 + bits_per_s - 1) / bits_per_s;
}
