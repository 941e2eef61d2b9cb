/* A chunk's way through a buffer: free, filling, complete, taken by the shell. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "frisbee/client/client_impl.h"

bool
client_make_buffers(struct client *c)
{
	uint32_t n = c->cfg.buffers < c->chunks.n ? c->cfg.buffers : c->chunks.n;

	c->nbuffers = c->nfree = n;
	c->buffers = calloc(n, sizeof *c->buffers);
	c->free = malloc(n * sizeof *c->free);
	c->filling = malloc(n * sizeof *c->filling);
	c->complete = malloc(n * sizeof *c->complete);
	if (c->buffers == NULL || c->free == NULL || c->filling == NULL ||
	    c->complete == NULL)
		return false;
	for (uint32_t i = 0; i < n; i++)
		c->free[i] = n - 1 - i;
	return true;
}

static void
forget_filling(struct client *c, uint32_t buf)
{
	uint32_t i = 0;

	while (c->filling[i] != buf)
		i++;
	c->nfilling--;
	memmove(
	    c->filling + i, c->filling + i + 1, (c->nfilling - i) * sizeof *c->filling);
}

/* Give up a chunk whose beginning was missed, for one that begins now. */
static bool
drop_dubious(struct client *c)
{
	for (uint32_t i = 0; i < c->nfilling; i++) {
		struct buffer *b = &c->buffers[c->filling[i]];
		if (!b->dubious || client_awaits_first(c, b->chunk))
			continue;
		client_counters_drop(&c->counters);
		client_chunks_note(&c->chunks, b->chunk, CHUNK_LACKED);
		client_chunks_reopen(&c->chunks, b->chunk);
		c->ext.look = true;
		b->state = BUFFER_FREE;
		c->free[c->nfree++] = c->filling[i];
		forget_filling(c, c->filling[i]);
		return true;
	}
	return false;
}

void
client_buffer_need(struct buffer *b, const struct blockmap *need)
{
	blockmap_add(&b->need, need);
	struct blockmap lack = client_lack(b);
	b->nlack = blockmap_count(&lack);
	memset(b->lack, 0, sizeof b->lack);
	for (uint32_t i = blockmap_next(&lack, 0); i < WIRE_CHUNK_BLOCKS;
	     i = blockmap_next(&lack, i + 1))
		b->lack[i % WIREXT_GROUPS]++;
}

bool
client_leaves_out(const struct client *c, uint32_t chunk)
{
	uint32_t open = c->chunks.n - c->ntaken - c->ncomplete - c->nfilling;

	return c->ext.on && client_wants_all(c) && open > c->nfree &&
	       !client_urgent_is(&c->urgent, chunk) &&
	       client_skip_leaves_out(&c->skip, chunk, c->nfree, c->nbuffers);
}

/* The last free buffer is kept for chunk 0 if others wait for it, or for a chunk that is
 * needed now. */
static bool
last_is_kept(const struct client *c, uint32_t chunk)
{
	if (c->nfree > 1)
		return false;
	if (client_awaits_first(c, 0) && client_chunks_is(&c->chunks, 0, CHUNK_OPEN))
		return chunk != 0;
	return client_urgent_lacks_buffer(&c->urgent, &c->chunks) && !client_urgent_is(&c->urgent, chunk);
}

/* No room for it now, or what there is, is for other chunks: it comes round again. */
static bool
has_no_place(struct client *c, uint32_t chunk, uint32_t block)
{
	if (chunk >= client_window_end(c) ||
	    client_chunks_is(&c->chunks, chunk, CHUNK_SKIPPED))
		return true;
	if (c->nfree == 0)
		return block != 0 || !drop_dubious(c);
	if (last_is_kept(c, chunk))
		return true;
	if (!client_leaves_out(c, chunk))
		return false;
	client_chunks_note(&c->chunks, chunk, CHUNK_SKIPPED);
	return true;
}

struct buffer *
client_buffer_for(struct client *c, uint32_t chunk, uint32_t block)
{
	if (!client_chunks_is(&c->chunks, chunk, CHUNK_OPEN))
		return &c->buffers[client_chunks_buf(&c->chunks, chunk)];
	if (has_no_place(c, chunk, block)) {
		client_chunks_note(&c->chunks, chunk, CHUNK_LACKED);
		c->ext.look = true;
		client_counters_no_buffer(&c->counters);
		return NULL;
	}
	uint32_t buf = c->free[--c->nfree];
	struct buffer *b = &c->buffers[buf];
	c->filling[c->nfilling++] = buf;
	client_chunks_take(&c->chunks, chunk, buf);
	*b = (struct buffer){ .state = BUFFER_FILLING,
		.chunk = chunk,
		.nmissing = client_chunk_blocks(c, chunk),
		.missing = blockmap_range(0, client_chunk_blocks(c, chunk)),
		.final = !client_partial(c),
		.pin = c->pin.number,
		.dubious = block != 0 && !client_partial(c) &&
		           client_chunks_is(&c->chunks, chunk, CHUNK_LACKED) };
	struct blockmap first = client_first_blocks(c, chunk);
	client_buffer_need(b, &first);
	client_chunks_unnote(&c->chunks, chunk, CHUNK_LACKED);
	return b;
}

void
client_buffer_complete(struct client *c, struct buffer *b)
{
	uint32_t buf = (uint32_t)(b - c->buffers);

	forget_filling(c, buf);
	b->state = BUFFER_COMPLETE;
	b->final |= b->nmissing == 0;
	if (b->final)
		client_chunks_done(&c->chunks, b->chunk);
	c->complete[(c->complete_head + c->ncomplete++) % c->nbuffers] = buf;
}

/* The one that is given out next. */
static bool
next_complete(struct client *c, uint32_t *buf)
{
	if (c->cfg.in_order) {
		uint32_t chunk = c->again != c->chunks.n ? c->again : c->ntaken;
		if (!client_chunks_is(&c->chunks, chunk, CHUNK_DONE))
			return false;
		*buf = client_chunks_buf(&c->chunks, chunk);
		return true;
	}
	*buf = c->complete[c->complete_head];
	c->complete_head = (c->complete_head + 1) % c->nbuffers;
	return true;
}

bool
client_take(struct client *c, uint32_t *chunk, uint32_t *buf, uint32_t *bytes)
{
	if (c->ncomplete == 0 || !next_complete(c, buf))
		return false;
	c->ncomplete--;
	struct buffer *b = &c->buffers[*buf];
	*chunk = b->chunk;
	uint64_t off = (uint64_t)b->chunk * WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;
	uint64_t left = c->image_bytes - off;
	const uint32_t whole = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;
	*bytes = left < whole ? (uint32_t)left : whole;
	b->state = BUFFER_TAKEN;
	if (b->chunk == c->again)
		c->again = c->chunks.n;
	else
		c->ntaken += b->final;
	if (c->ntaken == c->chunks.n && c->state == CLIENT_LOADING) {
		c->state = CLIENT_COMPLETE;
		c->complete_us = c->heard_us;
	}
	return true;
}

void
client_release(struct client *c, uint64_t now_us, uint32_t buf)
{
	assert(buf < c->nbuffers && c->buffers[buf].state == BUFFER_TAKEN);
	bool starved = c->nfree == 0 && c->nfilling == 0;
	c->starved |= starved;
	uint32_t waiting = c->nbuffers - c->nfree - c->nfilling - 1;

	client_damage_end(&c->buffers[buf]);
	if (!c->buffers[buf].mixed)
		client_pin_prove(&c->pin, c->buffers[buf].pin);
	client_skip_released(&c->skip, now_us, waiting > 0);
	c->buffers[buf].state = BUFFER_FREE;
	c->free[c->nfree++] = buf;
	c->nreleased++;
	c->scan_at_us = now_us;
	c->ext.look = true;
	if (!starved || c->state != CLIENT_LOADING)
		return;
	/* Nobody was asked meanwhile, so nobody was silent; but what had been asked
	 * before has gone by. */
	if (now_us >= client_idle_at_us(c))
		client_presume_lost(c, now_us);
	client_pin_excuse(&c->pin, now_us);
	c->heard_us = c->idle_from_us = now_us;
}

void
client_buffer_refill(struct client *c, uint64_t now_us, struct buffer *b)
{
	bool starved = c->nfree == 0 && c->nfilling == 0;
	c->starved |= starved;

	b->state = BUFFER_FILLING;
	c->filling[c->nfilling++] = (uint32_t)(b - c->buffers);
	/* This is another question than before. */
	client_chunks_uncover(&c->chunks, b->chunk);
	client_chunks_unnote(&c->chunks, b->chunk, CHUNK_MINE);
	b->settled_us = now_us + client_jitter_us(c, now_us);
	c->scan_at_us = now_us;
	if (starved)
		c->heard_us = c->idle_from_us = now_us;
}

const uint8_t *
client_parity(const struct client *c, uint32_t buf)
{
	return c->buffers[buf].nmissing > 0 ? c->buffers[buf].parity_at : NULL;
}
