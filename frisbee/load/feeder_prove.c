/* feeder_prove.c: finds out whether a chunk is what the server has, and if not, which blocks
 * of it should come again.  feeder.c calls this in the feeder's thread for each chunk, before
 * anything is done with it. */
#include "common/wire/parity.h"
#include "frisbee/load/feeder_impl.h"

int
feeder_prove(struct feeder *s, struct filled *f, struct err *e)
{
	const struct sink_chunk c = feeder_chunk(s, f);

	f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (f->parity && parity_decode(c.bytes, f->parity_at, e) != 0)
		return -1;
	return s->prover != NULL ? prover_chunk(s->prover, &c, &f->bad, e) : 0;
}

/* After a first failure only the damaged blocks come again; after a second one all of them,
 * because no digest covers every block (padding), and parity spreads an error of one block to
 * others. */
int
feeder_send_back(struct feeder *s, struct filled *f, struct err *e)
{
	uint32_t buf = (uint32_t)(f - s->filled);

	if (s->prover == NULL || !prover_blames_chunk(e)) {
		mailbox_put(s->box, FEEDER_FREE, buf);
		return err_ctx(e, "chunk %u", f->chunk);
	}
	bool known = s->damaged != NULL && f->chunk < s->nchunks;
	if (!known || s->damaged[f->chunk])
		f->bad = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	if (known)
		s->damaged[f->chunk] = true;
	f->why = *e;
	mailbox_put(s->box, FEEDER_DAMAGED, buf);
	return 0;
}
