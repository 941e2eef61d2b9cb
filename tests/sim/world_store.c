/* world_store.c: the rules of what a client may store, and of when a chunk is complete, by
 * the simulator's own book-keeping.  The other files of the world call it, in the program's
 * only thread. */
#include "tests/sim/world_impl.h"

#include <string.h>

#include "common/base/rd.h"
#include "common/base/wr.h"

uint32_t
world_content(const struct world *w, uint32_t chunk)
{
	uint64_t rng = chunk * UINT64_C(77) + 5;
	uint32_t most = (uint32_t)(w->sc->empty * WIRE_CHUNK_BLOCKS);

	if (most == 0)
		return WIRE_CHUNK_BLOCKS;
	return WIRE_CHUNK_BLOCKS - (uint32_t)(random_next(&rng) % (most + 1));
}

void
world_fill_block(const struct world *w, uint8_t image, uint8_t *to, uint32_t chunk,
    uint32_t block)
{
	if (block >= world_content(w, chunk))
		return;
	world_label(to, chunk, block, image);
}

void
world_label(uint8_t to[9], uint32_t chunk, uint32_t id, uint8_t image)
{
	struct wr w = wr_to(to, 9);

	wr_le32(&w, chunk);
	wr_le32(&w, id);
	wr_u8(&w, image);
}

/* Checks that the parities of a group are different ones, and that each lies where a block of the
 * group is missing. */
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

static void
check_data(struct world *w, const struct node *nd, const struct client_store *st,
    uint32_t block)
{
	const uint8_t *data = st->data + (size_t)(block - st->block) * WIRE_BLOCK_BYTES;
	uint8_t want[9] = { 0 };

	world_fill_block(w, nd->image, want, st->chunk, block);
	if (memcmp(data, want, sizeof want) != 0)
		world_fail(
		    w, "block %u of chunk %u stored with other data", block, st->chunk);
}

static struct shadow *
shadow_of(struct world *w, struct node *nd, const struct client_store *st)
{
	struct shadow *sh = &nd->shadow[st->buf];

	if (sh->taken)
		world_fail(w, "buffer %u is stored to while the shell has it", st->buf);
	if (nd->done[st->chunk])
		world_fail(w, "chunk %u is stored a second time", st->chunk);
	if (sh->used && sh->chunk == st->chunk)
		return sh;
	nd->drops += sh->used;
	for (uint32_t i = 0; i < w->sc->buffers; i++)
		if (i != st->buf && nd->shadow[i].used &&
		    nd->shadow[i].chunk == st->chunk)
			world_fail(w, "chunk %u in two buffers", st->chunk);
	*sh = (struct shadow){ .used = true, .chunk = st->chunk };
	return sh;
}

static void
store_one(struct world *w, struct shadow *sh, uint32_t chunk, uint32_t block)
{
	if (blockmap_test(&sh->have, block))
		world_fail(w, "block %u of chunk %u stored twice", block, chunk);
	sh->parity[block] = 0;
	blockmap_set(&sh->have, block);
}

/* Checks that blocks which the engine says are zeros, and which did not come, are empty. */
static void
check_zeros(struct world *w, struct shadow *sh, const struct client_store *st)
{
	for (uint32_t b = blockmap_next(st->zeros, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(st->zeros, b + 1)) {
		if (b < world_content(w, st->chunk))
			world_fail(
			    w, "block %u of chunk %u is not empty", b, st->chunk);
		store_one(w, sh, st->chunk, b);
	}
}

/* With two servers, the client loads the image of one of them.  If it could choose, the first
 * data that it stores shows which one. */
static void
check_image(struct world *w, struct node *nd, const uint8_t *data, bool is_parity)
{
	uint8_t image = is_parity ? data[8] + OWN_IMAGE : data[8];

	if (image == 0)
		return; /* an empty block */
	if (nd->image == 0)
		nd->image = image;
	if (image != nd->image)
		world_fail(w, "data of image %u stored, not of %u", image, nd->image);
}

void
world_check_store(struct world *w, struct node *nd, const struct client_store *st)
{
	uint32_t id[2] = { 0 };

	if (st->buf >= w->sc->buffers || st->chunk >= w->nchunks ||
	    st->block >= WIRE_CHUNK_BLOCKS) {
		world_fail(w, "a store out of bounds");
		return;
	}
	struct shadow *sh = shadow_of(w, nd, st);
	if (st->which != 0) {
		struct rd label = rd_from(st->data, 8);
		id[0] = rd_le32(&label);
		id[1] = rd_le32(&label);
	}
	if (st->zeros != NULL)
		check_zeros(w, sh, st);
	if (st->which != 0)
		check_image(w, nd, st->data, id[1] >> 31 != 0);
	if (id[1] >> 31 != 0) {
		if (id[0] != st->chunk)
			world_fail(w, "parity of another chunk than %u", st->chunk);
		check_parity(w, sh, st, id[1]);
		return;
	}
	for (uint32_t i = 0; st->which >> i != 0; i++) {
		if (!(st->which >> i & 1))
			continue;
		check_data(w, nd, st, st->block + i);
		store_one(w, sh, st->chunk, st->block + i);
	}
}

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
