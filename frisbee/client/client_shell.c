/* client_shell.c: what the shell does with chunks: it takes complete ones, requests
 * more of their blocks, reports damage, and releases their buffers.  The shell calls
 * this in the engine's only thread. */
#include <assert.h>

#include "frisbee/client/client_ext_impl.h"

bool
client_take(struct client *c, uint32_t *chunk, uint32_t *buf, uint32_t *bytes)
{
	const uint32_t whole = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;
	const struct client_buffer *b = client_bufs_take(&c->bufs, &c->chunks);

	if (b == NULL)
		return false;
	*chunk = b->chunk;
	*buf = client_bufs_number(&c->bufs, b);
	uint64_t left = c->membership.bytes - (uint64_t)b->chunk * whole;
	*bytes = left < whole ? (uint32_t)left : whole;
	if (c->bufs.ntaken == c->chunks.n && c->membership.state == CLIENT_LOADING) {
		client_membership_complete(&c->membership);
	}
	return true;
}

void
client_release(struct client *c, uint64_t now_us, uint32_t buf)
{
	assert(buf < c->bufs.n);
	const struct client_buffer *b = &c->bufs.at[buf];
	bool starved = client_bufs_starved(&c->bufs);

	client_membership_starved(&c->membership, starved);
	if (!b->mixed)
		client_pin_prove(&c->pin, b->pin);
	client_bufs_release(&c->bufs, buf);
	client_skip_released(
	    &c->skip, now_us, c->bufs.n > c->bufs.nfree + c->bufs.nfilling);
	client_schedule_now(&c->schedule, now_us);
	client_nack_look(&c->nack);
	if (!starved || c->membership.state != CLIENT_LOADING)
		return;
	/* Nothing was requested meanwhile, so the server was not silent; but what
	 * had been requested before has passed. */
	if (now_us >= client_requests_idle_at_us(&c->requests))
		client_presume_lost(c, now_us);
	client_pin_excuse(&c->pin, now_us);
	client_membership_heard(&c->membership, now_us);
	client_requests_alive(&c->requests, now_us);
}

/* More blocks are needed of a chunk that was taken, and must be requested anew. */
static void
ask_anew(struct client *c, uint64_t now_us, uint32_t chunk, bool starved)
{
	client_membership_starved(&c->membership, starved);
	client_chunks_uncover(&c->chunks, chunk);
	client_chunks_unnote(&c->chunks, chunk, CHUNK_MINE);
	client_schedule_now(&c->schedule, now_us);
	client_requests_moved(&c->requests, now_us);
	if (!starved)
		return;
	client_membership_heard(&c->membership, now_us);
	client_requests_alive(&c->requests, now_us);
}

bool
client_is_final(const struct client *c, uint32_t buf)
{
	return c->bufs.at[buf].final;
}

struct blockmap
client_here(const struct client *c, uint32_t buf)
{
	const struct client_buffer *b = &c->bufs.at[buf];
	struct blockmap all = blockmap_range(0, client_chunk_blocks(c, b->chunk));

	return blockmap_minus(all, &b->missing);
}

bool
client_has_some(
    const struct client *c, uint32_t chunk, uint32_t *buf, struct blockmap *here)
{
	if (chunk >= c->chunks.n || client_chunks_is(&c->chunks, chunk, CHUNK_OPEN))
		return false;
	*buf = client_chunks_buf(&c->chunks, chunk);
	/* The buffer may be free, or another chunk's, by now. */
	if (*buf >= c->bufs.n || c->bufs.at[*buf].chunk != chunk ||
	    c->bufs.at[*buf].state == BUFFER_FREE)
		return false;
	*here = client_here(c, *buf);
	return true;
}

void
client_need(struct client *c, uint64_t now_us, uint32_t buf,
    const struct blockmap *need, bool final)
{
	struct client_buffer *b = &c->bufs.at[buf];
	bool starved = client_bufs_starved(&c->bufs);
	uint64_t settled_us = now_us + client_jitter_us(c, now_us);

	bool complete = client_bufs_need(&c->bufs, b, need, final, settled_us);
	if (final)
		client_counters_not_asked(&c->counters,
		    client_chunk_blocks(c, b->chunk) - blockmap_count(&b->need));
	ask_anew(c, now_us, b->chunk, starved);
	if (complete && b->final)
		client_chunks_done(&c->chunks, b->chunk);
}

unsigned
client_again(
    struct client *c, uint64_t now_us, uint32_t buf, const struct blockmap *bad)
{
	assert(buf < c->bufs.n);
	struct client_buffer *b = &c->bufs.at[buf];
	bool one_sender = !b->mixed && b->pin == c->pin.number;
	bool starved = client_bufs_starved(&c->bufs);

	/* The sender may be no server at all. */
	if (client_damage_count(&b->damage, now_us, one_sender))
		client_pin_doubt(&c->pin);
	if (client_damage_is_servers(&b->damage, now_us))
		return b->damage.times;
	client_chunks_undone(&c->chunks, b->chunk);
	if (c->membership.state == CLIENT_COMPLETE)
		client_membership_goes_on(&c->membership);
	client_damage_begin_anew(&b->damage, now_us, c->cfg.in_order);
	client_nacked_forget(&b->nacked);
	struct client_lost lost = { .blocks = client_chunk_blocks(c, b->chunk),
		.pin = c->pin.number,
		.bad = *bad,
		.parts = client_partial(c),
		.settled_us = now_us + client_jitter_us(c, now_us) };
	client_counters_asked_after_all(
	    &c->counters, client_bufs_lose(&c->bufs, b, &lost));
	client_nack_look(&c->nack);
	ask_anew(c, now_us, b->chunk, starved);
	return 0;
}

void
client_want(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (chunk >= c->chunks.n || !client_chunks_is(&c->chunks, chunk, CHUNK_DONE))
		return;
	client_chunks_undone(&c->chunks, chunk);
	client_chunks_uncover(&c->chunks, chunk);
	client_chunks_unnote(
	    &c->chunks, chunk, CHUNK_MINE | CHUNK_LACKED | CHUNK_SKIPPED);
	client_chunks_reopen(&c->chunks, chunk);
	client_bufs_want_chunk(&c->bufs);
	client_nack_look(&c->nack);
	client_schedule_now(&c->schedule, now_us);
	client_requests_moved(&c->requests, now_us);
	if (c->membership.state != CLIENT_COMPLETE)
		return;
	/* Nothing was requested meanwhile, so the server was not silent. */
	client_membership_goes_on(&c->membership);
	client_membership_heard(&c->membership, now_us);
	client_requests_alive(&c->requests, now_us);
}

const uint8_t *
client_parity(const struct client *c, uint32_t buf)
{
	const struct client_buffer *b = &c->bufs.at[buf];

	return b->nmissing > 0 ? b->parity_at : NULL;
}
