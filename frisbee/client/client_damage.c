/* Chunks that came damaged: what comes again, and when the server's own copy must be the
 * reason.  The shell's digests find the damage; it calls client_again() then, in the
 * engine's only thread.
 *
 * A neighbour that forges the server's address can spoil any chunk, as often as it comes;
 * that must not end a load.  It cannot keep the server's own blocks away, though: they
 * come, too, and differ.  So from the first damage on a checksum is kept of each block of
 * the chunk, and a chunk of which a block came with two contents, at once or one after
 * the other, is only asked for again.  So is one whose blocks came from two senders.
 * From the second time on nothing of the chunk is taken before somebody has asked for it,
 * so that what was forged does not make the server's answer needless. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/crc32c.h"
#include "frisbee/client/client_impl.h"

enum {
	/* So often damaged, for so long, and it is the server's own copy. */
	TIMES_MAX = 4,
	LEAST_US = 1000000,
	REST_US = 500000, /* before it is asked for a third time, and then longer */
	REST_DOUBLED = 2,
};

void
client_damage_compare(struct buffer *b, uint32_t block, const uint8_t *data)
{
	struct damage *d = &b->damage;

	if (d->sums == NULL)
		return;
	uint32_t sum = crc32c(data, WIRE_BLOCK_BYTES);
	sum += sum == 0;
	d->disputed |= d->sums[block] != 0 && d->sums[block] != sum;
	d->sums[block] = sum;
}

void
client_damage_end(struct buffer *b)
{
	free(b->damage.sums);
	b->damage = (struct damage){ 0 };
}

/* Once more.  True: what came was all of one sender's, and nobody said otherwise. */
static bool
count(struct client *c, uint64_t now_us, struct buffer *b)
{
	struct damage *d = &b->damage;
	bool proper = !d->disputed && !b->mixed && b->pin == c->pin.number &&
	              (d->times == 0 || d->sums != NULL);

	d->times++;
	d->counted = proper ? d->counted + 1 : 0;
	if (d->counted <= 1)
		d->since_us = now_us;
	return proper;
}

/* For the next time. */
static void
begin_anew(struct client *c, uint64_t now_us, struct buffer *b, bool whole)
{
	struct damage *d = &b->damage;
	unsigned doubled = d->times > 2 ? d->times - 2 : 0;

	if (d->sums == NULL)
		d->sums = calloc(WIRE_CHUNK_BLOCKS, sizeof *d->sums);
	d->disputed = false;
	d->closed = d->times > 1;
	d->plain = d->closed || c->cfg.in_order;
	if (d->closed)
		d->rest_us = now_us + ((uint64_t)REST_US
				       << (doubled < REST_DOUBLED ? doubled
								  : REST_DOUBLED));
	if (!whole)
		return; /* what was not damaged stays, whoever sent it */
	b->pin = c->pin.number;
	b->mixed = false;
}

/* These blocks are missing again, and what lay in the others' places. */
static void
lose(struct client *c, struct buffer *b, const struct blockmap *bad)
{
	struct blockmap all = blockmap_range(0, client_chunk_blocks(c, b->chunk));
	struct blockmap lost = blockmap_and(all, bad);

	assert(!blockmap_empty(&lost));
	/* Of a chunk in parts, some were never here; some that were not needed are now.
	 */
	if (client_partial(c)) {
		struct blockmap fresh = blockmap_minus(lost, &b->need);
		fresh = blockmap_and(fresh, &b->missing);
		client_counters_asked_after_all(&c->counters, blockmap_count(&fresh));
		blockmap_add(&lost, &b->missing);
	}
	b->missing = lost;
	b->nmissing = blockmap_count(&lost);
	memset(b->parity_at, 0, sizeof b->parity_at);
	memset(b->newest, 0, sizeof b->newest);
	b->spent = false;
	memset(b->asked, 0, sizeof b->asked);
	b->asked_us = 0;
	b->ended = false;
	client_buffer_need(b, bad);
}

unsigned
client_again(
    struct client *c, uint64_t now_us, uint32_t buf, const struct blockmap *bad)
{
	struct buffer *b = &c->buffers[buf];

	assert(buf < c->nbuffers && b->state == BUFFER_TAKEN && b->final);
	/* Perhaps it is no server at all. */
	if (count(c, now_us, b))
		client_pin_doubt(&c->pin);
	if (b->damage.counted >= TIMES_MAX &&
	    now_us >= b->damage.since_us + LEAST_US)
		return b->damage.times;
	client_chunks_undone(&c->chunks, b->chunk);
	if (c->cfg.in_order)
		c->again = b->chunk; /* those behind it have been given out */
	else
		c->ntaken--;
	if (c->state == CLIENT_COMPLETE)
		c->state = CLIENT_LOADING;
	lose(c, b, bad);
	begin_anew(c, now_us, b, b->nmissing == client_chunk_blocks(c, b->chunk));
	b->dubious = false; /* it keeps its buffer */
	c->ext.look = true;
	client_buffer_refill(c, now_us, b);
	return 0;
}
