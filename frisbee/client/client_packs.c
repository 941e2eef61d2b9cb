/* Packets of several blocks: which ones arrive, and the empty ends of chunks, which are
 * never sent. */
#include <string.h>

#include "frisbee/client/client_impl.h"

enum {
	/* The other lengths of a round come right behind it; then not all at once. */
	SETTLE_US = 5000,
	SPREAD_US = 500, /* for each that is asked */
	/* Silence, or a chunk of which hardly anything came. */
	DOUBTS = 4,
};

void
client_packs_hear_try(struct client *c, uint64_t now_us, const struct wirext_msg *m)
{
	struct client_ext *x = &c->ext;
	uint32_t n = m->u.trial.n, mine = 0;

	while (mine < n && m->u.trial.id[mine] != c->cfg.clientid)
		mine++;
	if (mine == n)
		return;
	if (m->u.trial.number != x->try_number || x->try_blocks == 0) {
		x->try_number = m->u.trial.number;
		x->try_blocks = 0;
		x->fits_at_us = now_us + SETTLE_US +
		                client_hold_random(&c->hold, n * (uint64_t)SPREAD_US);
	}
	if (x->try_blocks < m->u.trial.blocks)
		x->try_blocks = m->u.trial.blocks;
}

void
client_packs_doubt(struct client *c, uint64_t now_us)
{
	struct client_ext *x = &c->ext;

	if (x->fits <= 1 || ++x->doubts < DOUBTS)
		return;
	x->try_number = 0;
	x->try_blocks = 1;
	x->fits_at_us = now_us;
}

size_t
client_packs_output(struct client *c, uint64_t now_us, void *pkt)
{
	struct wirext_msg m = { .kind = WIREXT_FITS, .session = c->ext.session };

	if (now_us < client_packs_at_us(c))
		return 0;
	c->ext.fits_at_us = 0;
	c->ext.fits = c->ext.try_blocks;
	memcpy(m.srcip, c->cfg.srcip, 4);
	m.u.fits.clientid = c->cfg.clientid;
	m.u.fits.number = c->ext.try_number;
	m.u.fits.blocks = c->ext.try_blocks;
	client_counters_message(&c->counters);
	return wirext_put(&m, pkt, WIRE_PACKET_MAX);
}

bool
client_packs_end(struct client *c, uint64_t now_us, struct buffer *b, uint32_t content,
    struct client_store *store)
{
	uint32_t blocks = client_chunk_blocks(c, b->chunk), n = 0;

	if (b->ended || content == 0 || content >= blocks || client_damage_suspects(b))
		return false;
	struct blockmap end = blockmap_range(content, blocks - content);
	end = blockmap_and(end, &b->missing);
	b->ended = true;
	/* Parity may do for the last ones, and lies in their places then. */
	for (uint32_t i = blockmap_next(&end, 0); i < blocks;
	     i = blockmap_next(&end, i + 1)) {
		if (client_chunks_is(&c->chunks, b->chunk, CHUNK_DONE))
			blockmap_clear(&end, i);
		else
			n += client_take_block(c, now_us, b, i);
	}
	if (n == 0)
		return false;
	client_counters_left_out(&c->counters, n);
	c->ext.zeros = end;
	store->buf = (uint32_t)(b - c->buffers);
	store->chunk = b->chunk;
	store->zeros = &c->ext.zeros;
	return true;
}
