/* client_place.c: which chunk gets a buffer when blocks of it arrive.  The engine
 * asks this for each packet with blocks, in its only thread. */
#include "frisbee/client/client_impl.h"

/* Drop a chunk whose beginning was missed, in favour of one that begins now. */
static bool
drop_dubious(struct client *c)
{
	uint32_t first = client_awaits_first(c, 0) ? 0 : UINT32_MAX;
	const struct client_buffer *b = client_bufs_drop_dubious(&c->bufs, first);

	if (b == NULL)
		return false;
	client_counters_drop(&c->counters);
	client_chunks_note(&c->chunks, b->chunk, CHUNK_LACKED);
	client_chunks_reopen(&c->chunks, b->chunk);
	client_nack_look(&c->nack);
	return true;
}

bool
client_leaves_out(const struct client *c, uint32_t chunk)
{
	uint32_t open = c->chunks.n - c->bufs.ntaken - c->bufs.ncomplete -
	                c->bufs.nfilling;

	return c->session.on && client_wants_all(c) && open > c->bufs.nfree &&
	       !client_urgent_is(&c->urgent, chunk) &&
	       client_skip_leaves_out(&c->skip, chunk, c->bufs.nfree, c->bufs.n);
}

/* The last free buffer is kept for chunk 0 if others wait for it, or for a chunk that is
 * needed now. */
static bool
last_is_kept(const struct client *c, uint32_t chunk)
{
	if (c->bufs.nfree > 1)
		return false;
	if (client_awaits_first(c, 0) && client_chunks_is(&c->chunks, 0, CHUNK_OPEN))
		return chunk != 0;
	return client_urgent_lacks_buffer(&c->urgent, &c->chunks) &&
	       !client_urgent_is(&c->urgent, chunk);
}

/* Is there no buffer for the block, or only one that is reserved for other chunks?
 * The block will be sent again later. */
static bool
has_no_place(struct client *c, uint32_t chunk, uint32_t block)
{
	if (chunk >= client_window_end(c) ||
	    client_chunks_is(&c->chunks, chunk, CHUNK_SKIPPED))
		return true;
	if (c->bufs.nfree == 0)
		return block != 0 || !drop_dubious(c);
	if (last_is_kept(c, chunk))
		return true;
	if (!client_leaves_out(c, chunk))
		return false;
	client_chunks_note(&c->chunks, chunk, CHUNK_SKIPPED);
	return true;
}

struct client_buffer *
client_buffer_for(struct client *c, uint32_t chunk, uint32_t block)
{
	bool parts = client_partial(c);

	if (!client_chunks_is(&c->chunks, chunk, CHUNK_OPEN))
		return &c->bufs.at[client_chunks_buf(&c->chunks, chunk)];
	if (has_no_place(c, chunk, block)) {
		client_chunks_note(&c->chunks, chunk, CHUNK_LACKED);
		client_nack_look(&c->nack);
		client_counters_no_buffer(&c->counters);
		return NULL;
	}
	struct client_beginning how = { .chunk = chunk,
		.blocks = client_chunk_blocks(c, chunk),
		.need = client_first_blocks(c, chunk),
		.final = !parts,
		.pin = c->pin.number,
		.dubious = block != 0 && !parts &&
		           client_chunks_is(&c->chunks, chunk, CHUNK_LACKED) };
	struct client_buffer *b = client_bufs_begin(&c->bufs, &how);
	client_chunks_take(&c->chunks, chunk, client_bufs_number(&c->bufs, b));
	client_chunks_unnote(&c->chunks, chunk, CHUNK_LACKED);
	return b;
}
