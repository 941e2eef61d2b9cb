/* client_blocks.c: blocks that arrive: where each is stored, and when a chunk is
 * complete.  The engine calls this for packets of the pinned server, in its only
 * thread. */
#include "frisbee/client/client_impl.h"

/* Of blocks that were sent together, none comes later than this after the one before, on
 * a local network. */
enum { READER_LOST_US = 10000 };

/* All blocks of the buffer's chunk that are needed are here. */
static void
note_complete(struct client *c, uint64_t now_us, const struct client_buffer *b)
{
	client_position_complete(&c->position, now_us, b->chunk);
	if (b->final)
		client_chunks_done(&c->chunks, b->chunk);
	client_schedule_now(&c->schedule, now_us);
}

/* Something of the buffer's chunk has come.  Returns false if it was here already. */
static bool
note_came(
    struct client *c, uint64_t now_us, struct client_buffer *b, enum buffer_came came)
{
	if (came == BUFFER_HAD) {
		client_buffer_repeated(b, now_us);
		return false;
	}
	client_buffer_moved(b);
	client_requests_moved(&c->requests, now_us);
	return true;
}

/* One block has arrived.  Returns false if it is here already. */
static bool
take_block(struct client *c, uint64_t now_us, struct client_buffer *b, uint32_t block)
{
	bool untouched = b->nmissing == client_chunk_blocks(c, b->chunk);
	enum buffer_came came = client_bufs_block(&c->bufs, b, block, c->pin.number);

	if (!note_came(c, now_us, b, came))
		return false;
	if (untouched)
		client_schedule_now(
		    &c->schedule, now_us); /* one fewer is asked ahead */
	if (client_requests_counts(&c->requests))
		client_schedule_now(&c->schedule, now_us);
	if (came == BUFFER_ENDS)
		note_complete(c, now_us, b);
	return true;
}

bool
client_take_parity(struct client *c, uint64_t now_us, struct client_buffer *b,
    uint32_t group, uint32_t index, uint32_t *place)
{
	enum buffer_came came = client_bufs_parity(
	    &c->bufs, b, group, index, c->pin.number, place);

	if (came == BUFFER_ENDS)
		note_complete(c, now_us, b);
	return note_came(c, now_us, b, came);
}

/* The chunk is empty after its first `content` blocks, so the others count as
 * received. */
bool
client_take_end(struct client *c, uint64_t now_us, struct client_buffer *b,
    uint32_t content, struct client_store *store)
{
	uint32_t blocks = client_chunk_blocks(c, b->chunk), n = 0;

	if (content == 0 || content >= (b->end > 0 ? b->end : blocks) ||
	    client_damage_suspects(&b->damage))
		return false;
	struct blockmap end = blockmap_range(content, blocks - content);
	end = blockmap_and(end, &b->missing);
	client_buffer_ends(b, content);
	/* Parity may replace the last ones; it lies in their places then. */
	for (uint32_t i = blockmap_next(&end, 0); i < blocks;
	     i = blockmap_next(&end, i + 1)) {
		if (client_chunks_is(&c->chunks, b->chunk, CHUNK_DONE))
			blockmap_clear(&end, i);
		else
			n += take_block(c, now_us, b, i);
	}
	if (n == 0)
		return false;
	client_counters_left_out(&c->counters, n);
	store->buf = (uint32_t)(b - c->bufs.at);
	store->chunk = b->chunk;
	store->zeros = client_bufs_zeros(&c->bufs, &end);
	return true;
}

/* Some of the blocks may be here, and the first of them may be all that was needed. */
static void
store_blocks(struct client *c, uint64_t now_us, struct client_buffer *b,
    const struct client_blocks *in, struct client_store *store)
{
	uint32_t i = 0;

	*store = (struct client_store){ .buf = (uint32_t)(b - c->bufs.at),
		.chunk = in->chunk,
		.block = in->first,
		.data = in->data };
	for (; i < in->count && !client_chunks_is(&c->chunks, in->chunk, CHUNK_DONE);
	     i++) {
		client_damage_compare(
		    &b->damage, in->first + i, in->data + (size_t)i * WIRE_BLOCK_BYTES);
		if (take_block(c, now_us, b, in->first + i))
			store->which |= (uint8_t)(1 << i);
		else
			client_counters_duplicates(&c->counters, 1, 0);
	}
	client_counters_duplicates(&c->counters, 0, in->count - i);
}

/* The chunk is complete; if it came damaged before, it may do so again. */
static void
compare_done(struct client *c, const struct client_blocks *in)
{
	uint32_t buf = client_chunks_buf(&c->chunks, in->chunk);

	/* The buffer may belong to another chunk by now. */
	if (buf >= c->bufs.n || c->bufs.at[buf].chunk != in->chunk)
		return;
	for (uint32_t i = 0; i < in->count; i++)
		client_damage_compare(&c->bufs.at[buf].damage, in->first + i,
		    in->data + (size_t)i * WIRE_BLOCK_BYTES);
}

/* Did the chunk arrive damaged, and has no client requested it since? */
static bool
is_closed(struct client *c, uint32_t chunk)
{
	const struct client_buffer *b = client_filling(c, chunk);

	return b != NULL && b->damage.closed;
}

void
client_came(struct client *c, uint64_t now_us, uint32_t blocks)
{
	client_session_busy(&c->session);
	if (client_position_came(&c->position, now_us, blocks))
		client_skip_streamed(&c->skip, c->position.chunk_us);
	if (client_credit_came(&c->credit, now_us, c->position.received))
		client_schedule_now(&c->schedule, now_us);
}

/* Blocks have come that a reader may wait for.  The others that it waits for were lost if
 * no more come within the time of an eighth of a chunk, and some milliseconds. */
static bool
came_to_reader(struct client *c, uint64_t now_us, const struct client_blocks *in)
{
	return client_urgent_came(&c->urgent, in->chunk, in->first, in->count,
	    now_us + READER_LOST_US + c->position.chunk_us / 8);
}

uint32_t
client_lacks(struct client *c, uint32_t chunk, uint32_t first, uint32_t count)
{
	struct blockmap lack = blockmap_range(first, count);

	if (!client_lacks_some(c, chunk))
		return 0;
	const struct client_buffer *b = client_filling(c, chunk);
	if (b != NULL)
		lack = blockmap_and(lack, &b->missing);
	return blockmap_count(&lack);
}

void
client_blocks_of_other(struct client *c, const uint8_t from[4], uint32_t chunk,
    uint32_t first, uint32_t count)
{
	if (client_pin_has_rival(&c->pin))
		client_pin_missed(&c->pin, from, client_lacks(c, chunk, first, count));
}

static bool
take_in_order(struct client *c, uint64_t now_us, const struct client_blocks *in,
    struct client_store *store)
{
	uint32_t chunk = in->chunk;

	client_pin_block(&c->pin, now_us);
	if (client_pin_has_rival(&c->pin))
		client_pin_needed(&c->pin, client_lacks(c, chunk, in->first, in->count));
	client_membership_heard(&c->membership, now_us);
	client_requests_block(&c->requests, now_us);
	client_mtu_came(&c->mtu, in->count);
	client_came(c, now_us, in->count);
	client_position_at(&c->position, now_us, chunk, in->first, in->count);
	bool begins = c->position.current != chunk;
	client_follow_stream(c, now_us, chunk);
	if (begins && c->position.current == chunk)
		client_ext_pass_begins(c, chunk, in->first);
	if (client_chunks_is(&c->chunks, chunk, CHUNK_DONE)) {
		compare_done(c, in);
		client_counters_duplicates(&c->counters, 0, in->count);
		return false;
	}
	struct client_buffer *b = client_buffer_for(c, chunk, in->first);
	if (b == NULL)
		return false;
	store_blocks(c, now_us, b, in, store);
	return client_take_end(c, now_us, b, in->content, store) || store->which != 0;
}

static bool
is_possible(struct client *c, const struct client_blocks *in)
{
	return in->chunk < c->chunks.n &&
	       in->first + in->count <= client_chunk_blocks(c, in->chunk);
}

/* `stores`: *store has what is to be stored in a buffer. */
static void
give_beside(const struct client_blocks *in, bool stores, struct client_store *store)
{
	if (!stores)
		*store = (struct client_store){ .chunk = in->chunk };
	store->block = in->first;
	store->data = in->data;
	store->beside = in->count;
}

bool
client_take_blocks(struct client *c, uint64_t now_us, const struct client_blocks *in,
    struct client_store *store)
{
	if (!is_possible(c, in) || is_closed(c, in->chunk))
		return false;
	bool awaited = came_to_reader(c, now_us, in);
	bool stores = take_in_order(c, now_us, in, store);
	if (awaited)
		give_beside(in, stores, store);
	return stores || awaited;
}

/* The blocks are stored if the chunk has a buffer, or if all of it is awaited and can get
 * one.  They are no sign that a pass of the chunk has begun. */
bool
client_take_urgent(struct client *c, uint64_t now_us, const struct client_blocks *in,
    struct client_store *store)
{
	if (!is_possible(c, in) || is_closed(c, in->chunk))
		return false;
	client_membership_heard(&c->membership, now_us);
	client_urgent_flows(&c->urgent, now_us);
	came_to_reader(c, now_us, in);
	bool takes = client_filling(c, in->chunk) != NULL ||
	             (client_urgent_is(&c->urgent, in->chunk) &&
	                 client_chunks_is(&c->chunks, in->chunk, CHUNK_OPEN));
	struct client_buffer *b =
	    takes ? client_buffer_for(c, in->chunk, in->first) : NULL;
	bool stores = b != NULL && b->state == BUFFER_FILLING;
	if (stores)
		store_blocks(c, now_us, b, in, store);
	give_beside(in, stores, store);
	return true;
}
