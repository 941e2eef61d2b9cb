/* What a client may store, and when a chunk is complete, by our own book-keeping. */
#include "tests/sim/world_impl.h"

#include <string.h>

/* Different ones of the group, and where a block of it is missing. */
static void
check_parity(
    struct world *w, struct shadow *sh, const struct client_store *st, uint32_t id)
{
	uint32_t group = id >> 8 & 0xff, index = id & 0xff;

	if (group != st->block % WIREXT_GROUPS || sh->parity[st->block] != 0)
		world_fail(w, "parity of chunk %u in the wrong place", st->chunk);
	for (uint32_t p = group; p < WIRE_CHUNK_BLOCKS; p += WIREXT_GROUPS)
		if (sh->parity[p] == index + 1)
			world_fail(w, "the same parity of chunk %u twice", st->chunk);
	sh->parity[st->block] = (uint8_t)(index + 1);
}

void
world_check_store(struct world *w, struct node *nd, const struct client_store *st)
{
	uint32_t id[2];

	memcpy(id, st->data, sizeof id);
	if (st->buf >= w->sc->buffers || st->chunk >= w->nchunks ||
	    st->block >= WIRE_CHUNK_BLOCKS) {
		world_fail(w, "a store out of bounds");
		return;
	}
	struct shadow *sh = &nd->shadow[st->buf];
	bool parity = id[1] >> 31 != 0;
	if (id[0] != st->chunk || (!parity && id[1] != st->block))
		world_fail(w, "block %u of chunk %u stored with other data", st->block,
		    st->chunk);
	if (sh->taken)
		world_fail(w, "buffer %u is stored to while the shell has it", st->buf);
	if (nd->done[st->chunk])
		world_fail(w, "chunk %u is stored a second time", st->chunk);
	if (!sh->used || sh->chunk != st->chunk) {
		nd->drops += sh->used;
		for (uint32_t i = 0; i < w->sc->buffers; i++)
			if (i != st->buf && nd->shadow[i].used &&
			    nd->shadow[i].chunk == st->chunk)
				world_fail(w, "chunk %u in two buffers", st->chunk);
		*sh = (struct shadow){ .used = true, .chunk = st->chunk };
	}
	if (blockmap_test(&sh->have, st->block))
		world_fail(
		    w, "block %u of chunk %u stored twice", st->block, st->chunk);
	if (parity) {
		check_parity(w, sh, st, id[1]);
		return;
	}
	sh->parity[st->block] = 0;
	blockmap_set(&sh->have, st->block);
}

/* Is the chunk all there, and does the engine know where parity lies? */
bool
world_whole(const struct node *nd, uint32_t buf, uint32_t blocks)
{
	const struct shadow *sh = &nd->shadow[buf];
	const uint8_t *at = client_parity(nd->engine, buf);
	uint32_t n = blockmap_count(&sh->have);

	for (uint32_t p = 0; p < WIRE_CHUNK_BLOCKS; p++) {
		if (sh->parity[p] != (at != NULL ? at[p] : 0))
			return false;
		n += sh->parity[p] != 0;
	}
	return n == blocks;
}
