/* spread.c: the slots of chunks, and the queues of children (spread.h).  The parts of
 * node and server, and peer.c, call it, in the engine's thread. */
#include "dolly/engine/spread.h"

#include <assert.h>

enum { HEADER_BYTES = MSG_FRAME_BYTES + MSG_DATA_BYTES };

struct slot {
	uint8_t *bytes;
	uint32_t chunk; /* SPREAD_NONE: the slot is empty */
	uint32_t length; /* bytes of the chunk */
	uint32_t have;   /* bytes that have arrived */
	uint32_t users; /* queues it is in, holds, and 1 while the chunk arrives */
	uint32_t lax;   /* count_lax() */
	bool arriving;
	uint64_t used; /* `begun` when the chunk began: the oldest chunk is replaced first */
};

struct spread {
	struct spread_config cfg;
	struct slot *slots;
	uint64_t begun; /* chunks that were begun until now */
	struct spread_child *children;
};

int
spread_new(struct spread **out, const struct spread_config *cfg, struct err *e)
{
	struct spread *s = calloc(1, sizeof *s);

	assert(cfg->piece_bytes <= MSG_PIECE_MAX && cfg->slots > 1);
	if (s != NULL)
		s->slots = calloc(cfg->slots, sizeof *s->slots);
	if (s == NULL || s->slots == NULL) {
		free(s);
		return err_nomem(e, "chunks");
	}
	s->cfg = *cfg;
	for (uint32_t i = 0; i < cfg->slots; i++)
		s->slots[i].chunk = SPREAD_NONE;
	for (uint32_t i = 0; i < cfg->slots; i++)
		if ((s->slots[i].bytes = malloc(cfg->chunk_bytes)) == NULL) {
			spread_free(s);
			return err_nomem(e, "chunks");
		}
	*out = s;
	return 0;
}

void
spread_free(struct spread *s)
{
	if (s == NULL)
		return;
	while (s->children != NULL)
		spread_leave(s, s->children);
	for (uint32_t i = 0; i < s->cfg.slots; i++)
		free(s->slots[i].bytes);
	free(s->slots);
	free(s);
}

uint32_t
spread_find(const struct spread *s, uint32_t chunk)
{
	for (uint32_t i = 0; i < s->cfg.slots; i++)
		if (s->slots[i].chunk == chunk)
			return i;
	return SPREAD_NONE;
}

static uint32_t
oldest(const struct spread *s)
{
	uint32_t best = SPREAD_NONE;

	for (uint32_t i = 0; i < s->cfg.slots; i++)
		if (s->slots[i].users == 0 &&
		    (best == SPREAD_NONE || s->slots[i].used < s->slots[best].used))
			best = i;
	return best;
}

bool
spread_room(const struct spread *s)
{
	return oldest(s) != SPREAD_NONE;
}

static void
enqueue(struct spread *s, struct spread_child *c, uint32_t slot)
{
	assert(c->queued < s->cfg.slots);
	c->queue[(c->head + c->queued++) % s->cfg.slots] = slot;
	s->slots[slot].users++;
}

uint32_t
spread_begin(struct spread *s, uint32_t chunk, uint32_t length)
{
	uint32_t i = oldest(s);

	assert(i != SPREAD_NONE && spread_find(s, chunk) == SPREAD_NONE);
	assert(length > 0 && length <= s->cfg.chunk_bytes);
	s->slots[i].chunk = chunk;
	s->slots[i].length = length;
	s->slots[i].have = 0;
	s->slots[i].users = 1;
	s->slots[i].arriving = true;
	s->slots[i].used = ++s->begun;
	for (struct spread_child *c = s->children; c != NULL; c = c->next) {
		(void)chunkmap_take(&c->had, chunk); /* this is another copy */
		if (chunkmap_take(&c->wants, chunk))
			enqueue(s, c, i);
	}
	return i;
}

void
spread_set_length(struct spread *s, uint32_t slot, uint32_t length)
{
	assert(s->slots[slot].have == 0 && length > 0 && length <= s->cfg.chunk_bytes);
	s->slots[slot].length = length;
}

bool
spread_is_whole(const struct spread *s, uint32_t slot)
{
	return !s->slots[slot].arriving;
}

uint32_t
spread_chunk(const struct spread *s, uint32_t slot)
{
	return s->slots[slot].chunk;
}

uint32_t
spread_have(const struct spread *s, uint32_t slot)
{
	return s->slots[slot].have;
}

uint8_t *
spread_bytes(struct spread *s, uint32_t slot)
{
	return s->slots[slot].bytes;
}

uint32_t
spread_length(const struct spread *s, uint32_t slot)
{
	return s->slots[slot].length;
}

bool
spread_arrived(struct spread *s, uint32_t slot, uint32_t bytes)
{
	struct slot *t = &s->slots[slot];

	assert(t->arriving && bytes <= t->length - t->have);
	t->have += bytes;
	if (t->have < t->length)
		return false;
	t->arriving = false;
	t->users--;
	return true;
}

/* Takes a slot out of a child's queue, unless a frame of its chunk is being sent: the
 * frame has to be completed, and until its end the child is a user of the slot. */
static void
unqueue(struct spread *s, struct spread_child *c, uint32_t slot)
{
	uint32_t kept = 0, n = c->queued, size = s->cfg.slots;

	for (uint32_t i = 0; i < n; i++) {
		uint32_t it = c->queue[(c->head + i) % size];
		bool first = i == 0 && spread_in_frame(c);
		if (it != slot || first) {
			c->queue[(c->head + kept++) % size] = it;
			continue;
		}
		if (i == 0)
			c->offset = 0;
		s->slots[slot].users--;
		chunkmap_add(&c->wants, s->slots[slot].chunk);
	}
	c->queued = kept;
}

void
spread_forget(struct spread *s, uint32_t slot)
{
	struct slot *t = &s->slots[slot];

	for (struct spread_child *c = s->children; c != NULL; c = c->next)
		unqueue(s, c, slot);
	if (t->arriving)
		t->users--;
	t->arriving = false;
	/* A child in the middle of a frame of this chunk is sent the end of the frame;
	 * spread_sent() notices then that the chunk is gone. */
	for (struct spread_child *c = s->children; c != NULL; c = c->next)
		if (c->queued > 0 && c->queue[c->head] == slot)
			chunkmap_add(&c->wants, t->chunk);
	t->chunk = SPREAD_NONE;
}

/* Counts for each slot in how many queues it is from which it may be taken: those of leaves
 * and of children that are late.  A frame that was begun has to be completed. */
static void
count_lax(struct spread *s)
{
	for (uint32_t i = 0; i < s->cfg.slots; i++)
		s->slots[i].lax = 0;
	for (const struct spread_child *c = s->children; c != NULL; c = c->next)
		for (uint32_t i = spread_in_frame(c); i < c->queued && (c->leaf || c->late); i++)
			s->slots[c->queue[(c->head + i) % s->cfg.slots]].lax++;
}

/* Takes the newest chunk for which nobody else waits out of all their queues. */
static bool
rob(struct spread *s)
{
	uint32_t best = SPREAD_NONE;

	count_lax(s);
	for (uint32_t i = 0; i < s->cfg.slots; i++)
		if (s->slots[i].lax > 0 && s->slots[i].lax == s->slots[i].users &&
		    (best == SPREAD_NONE || s->slots[i].used > s->slots[best].used))
			best = i;
	if (best == SPREAD_NONE)
		return false;
	for (struct spread_child *c = s->children; c != NULL; c = c->next)
		unqueue(s, c, best);
	return true;
}

bool
spread_make_room(struct spread *s)
{
	return spread_room(s) || rob(s);
}

void
spread_set_leaf(struct spread_child *c)
{
	c->leaf = true;
}

void
spread_excuse(struct spread_child *c)
{
	c->late = false;
	c->late_us = c->looked_us;
	c->late_bytes = c->bytes;
}

uint32_t
spread_wanted(const struct spread_child *c)
{
	return c->queued + c->wants.count;
}

void
spread_hold(struct spread *s, uint32_t slot)
{
	s->slots[slot].users++;
}

void
spread_let_go(struct spread *s, uint32_t slot)
{
	assert(s->slots[slot].users > 0);
	s->slots[slot].users--;
}

struct spread_child *
spread_join(struct spread *s, uint32_t id, struct peer *owner)
{
	struct spread_child *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	c->id = id;
	c->owner = owner;
	c->queue = calloc(s->cfg.slots, sizeof *c->queue);
	if (c->queue == NULL || !chunkmap_make(&c->wants, s->cfg.chunks) ||
	    !chunkmap_make(&c->had, s->cfg.chunks)) {
		chunkmap_free(&c->wants);
		free(c->queue);
		free(c);
		return NULL;
	}
	c->next = s->children;
	s->children = c;
	return c;
}

void
spread_leave(struct spread *s, struct spread_child *c)
{
	struct spread_child **p = &s->children;

	while (*p != c)
		p = &(*p)->next;
	*p = c->next;
	for (uint32_t i = 0; i < c->queued; i++)
		s->slots[c->queue[(c->head + i) % s->cfg.slots]].users--;
	chunkmap_free(&c->wants);
	chunkmap_free(&c->had);
	free(c->queue);
	free(c);
}

static bool
is_queued(const struct spread *s, const struct spread_child *c, uint32_t slot)
{
	for (uint32_t i = 0; i < c->queued; i++)
		if (c->queue[(c->head + i) % s->cfg.slots] == slot)
			return true;
	return false;
}

bool
spread_want(struct spread *s, struct spread_child *c, uint32_t chunk)
{
	uint32_t slot = spread_find(s, chunk);

	if (slot != SPREAD_NONE && is_queued(s, c, slot))
		return true;
	if (slot != SPREAD_NONE && chunkmap_take(&c->had, chunk)) {
		spread_forget(s, slot);
		slot = SPREAD_NONE;
	}
	if (slot != SPREAD_NONE) {
		enqueue(s, c, slot);
		return true;
	}
	chunkmap_add(&c->wants, chunk);
	return false;
}

bool
spread_in_frame(const struct spread_child *c)
{
	return c->piece > 0;
}

/* Begins the next frame, if all bytes of the next piece have arrived. */
static void
begin_piece(struct spread *s, struct spread_child *c)
{
	if (c->queued == 0)
		return;
	const struct slot *t = &s->slots[c->queue[c->head]];
	uint32_t left = t->length - c->offset;
	uint32_t piece = left < s->cfg.piece_bytes ? left : s->cfg.piece_bytes;

	if (t->have < c->offset + piece)
		return;
	c->piece = piece;
	c->sent = 0;
	msg_data_header(c->header, t->chunk, c->offset, t->length, piece);
}

size_t
spread_output(struct spread *s, struct spread_child *c, const void **at)
{
	if (c->piece == 0)
		begin_piece(s, c);
	c->busy = c->busy && c->piece > 0;
	if (c->piece == 0)
		return 0;
	if (c->sent < HEADER_BYTES) {
		*at = c->header + c->sent;
		return HEADER_BYTES - c->sent;
	}
	uint32_t done = c->sent - HEADER_BYTES;
	*at = s->slots[c->queue[c->head]].bytes + c->offset + done;
	return c->piece - done;
}

static void
end_piece(struct spread *s, struct spread_child *c)
{
	struct slot *t = &s->slots[c->queue[c->head]];

	c->offset += c->piece;
	c->piece = 0;
	if (t->chunk != SPREAD_NONE && c->offset < t->length)
		return;
	chunkmap_add(&c->had, t->chunk);
	c->head = (c->head + 1) % s->cfg.slots;
	c->queued--;
	c->offset = 0;
	t->users--;
}

void
spread_sent(struct spread *s, struct spread_child *c, size_t bytes)
{
	assert(c->piece > 0 && bytes <= HEADER_BYTES + c->piece - c->sent);
	c->sent += (uint32_t)bytes;
	c->busy_bytes += bytes;
	c->bytes += bytes;
	if (c->sent == HEADER_BYTES + c->piece)
		end_piece(s, c);
}

uint32_t
spread_next_wanted(const struct spread *s, uint32_t from, bool leaves)
{
	uint32_t ahead = SPREAD_NONE, around = SPREAD_NONE;

	for (const struct spread_child *c = s->children; c != NULL; c = c->next) {
		if (c->leaf && !leaves)
			continue;
		uint32_t a = chunkmap_next(&c->wants, from);
		uint32_t b = chunkmap_next(&c->wants, 0);
		ahead = a < ahead ? a : ahead;
		around = b < around ? b : around;
	}
	return ahead != SPREAD_NONE ? ahead : around;
}

void
spread_each_wanted(
    const struct spread *s, void (*fn)(void *arg, uint32_t chunk), void *arg)
{
	for (const struct spread_child *c = s->children; c != NULL; c = c->next)
		for (uint32_t k = c->leaf ? CHUNKMAP_NONE : chunkmap_next(&c->wants, 0);
		     k != CHUNKMAP_NONE;
		     k = chunkmap_next(&c->wants, k + 1))
			fn(arg, k);
}

struct spread_child *
spread_children(const struct spread *s)
{
	return s->children;
}

struct spread_child *
spread_find_child(const struct spread *s, uint32_t id)
{
	struct spread_child *c = s->children;

	while (c != NULL && c->id != id)
		c = c->next;
	return c;
}

/* Is there something to send to the child now? */
static bool
can_take(struct spread *s, struct spread_child *c)
{
	const void *at;

	return spread_output(s, c, &at) > 0;
}

/* The bytes that this rate carries in `us`.  Rates of --slow are up to 2^40 bytes a
 * second, so that rate and time must not be multiplied before they are divided. */
static uint64_t
bytes_in(uint64_t us, uint64_t bytes_per_s)
{
	return bytes_per_s / 1000000 * us + bytes_per_s % 1000000 * us / 1000000;
}

/* Who takes too little for this part of the deadline is late.  A tree waits for so long once: who
 * is held up by a child takes little, too, until this one is late, and is excused until then. */
enum { LATE_PART = 8 };

static bool
is_too_little(uint64_t bytes, uint64_t us, uint64_t slow)
{
	return bytes == 0 || bytes < bytes_in(us, slow);
}

/* Looks in each such part of the deadline whether a child that is busy is late. */
static void
look_if_late(struct spread_child *c, uint64_t now_us, uint64_t deadline_us, uint64_t slow)
{
	uint64_t us = now_us - c->late_us;

	if (us < deadline_us / LATE_PART)
		return;
	c->late = is_too_little(c->bytes - c->late_bytes, us, slow);
	c->late_us = now_us;
	c->late_bytes = c->bytes;
}

/* Has there always been something to send to the child since the last look?  What it has
 * let this side wait is added up. */
static bool
look(struct spread *s, struct spread_child *c, uint64_t now_us, uint64_t deadline_us,
    uint64_t slow)
{
	bool takes = can_take(s, c), busy = c->busy && takes;

	if (busy)
		c->waited_us += now_us - c->looked_us;
	c->looked_us = now_us;
	if (busy) {
		look_if_late(c, now_us, deadline_us, slow);
		return true;
	}
	c->busy = takes;
	c->late = false;
	c->busy_us = c->late_us = now_us;
	c->busy_bytes = 0;
	c->late_bytes = c->bytes;
	return false;
}

void
spread_look(struct spread *s, uint64_t now_us, uint64_t deadline_us, uint64_t slow)
{
	for (struct spread_child *c = s->children; c != NULL; c = c->next)
		(void)look(s, c, now_us, deadline_us, slow);
}

uint32_t
spread_stuck(struct spread *s, uint64_t now_us, uint64_t deadline_us, uint64_t slow,
    uint32_t *waits)
{
	uint32_t stuck = 0;

	*waits = 0;
	for (struct spread_child *c = s->children; c != NULL; c = c->next) {
		if (!look(s, c, now_us, deadline_us, slow))
			continue;
		if (now_us - c->busy_us >= deadline_us / 2)
			*waits = c->id;
		if (now_us - c->busy_us < deadline_us)
			continue;
		if (is_too_little(c->busy_bytes, deadline_us, slow)) {
			stuck = c->id;
			continue;
		}
		c->busy_us = now_us - deadline_us / 2; /* the child still delays this node */
		c->busy_bytes /= 2;
	}
	return stuck;
}
