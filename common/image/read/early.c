/* early.c: blocks of a growing file that come before their chunk is proved are kept (early.h).
 * source_live.c calls this, holding its lock, in any thread. */
#include "common/image/read/early.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What comes within seven seconds at 300 Mbit/s: a machine reads less while it boots, and most of
 * that is in the file by then. */
enum { USUAL_BYTES = 256 << 20, SHARE_OF_MEMORY = 8 };
enum { PIECE_BYTES = EARLY_PIECE_BLOCKS * WIRE_BLOCK_BYTES };

void
early_init(struct early *x)
{
	*x = (struct early){ .chunks = 0 };
}

static size_t
usual_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

	if (pages <= 0 || page_bytes <= 0)
		return USUAL_BYTES;
	size_t share = (size_t)pages / SHARE_OF_MEMORY * (size_t)page_bytes;
	return share < USUAL_BYTES ? share : USUAL_BYTES;
}

int
early_open(struct early *x, uint32_t chunks, size_t most_bytes, struct err *e)
{
	x->chunks = chunks;
	x->most_bytes = most_bytes != 0 ? most_bytes : usual_bytes();
	/* A chunk has one piece at least. */
	uint32_t most = (uint32_t)(x->most_bytes / PIECE_BYTES) + 1;
	x->at = calloc(chunks, sizeof(struct early_chunk *));
	x->by_entry = calloc(most, sizeof(struct early_chunk *));
	if (x->at == NULL || x->by_entry == NULL || lru_init(&x->order, most, 0) != 0)
		return err_nomem(e, "blocks that come early");
	return 0;
}

void
early_forget(struct early *x, uint32_t chunk)
{
	struct early_chunk *k = x->at != NULL ? x->at[chunk] : NULL;

	if (k == NULL)
		return;
	for (uint32_t i = 0; i < EARLY_PIECES; i++) {
		x->bytes -= k->pieces[i] != NULL ? PIECE_BYTES : 0;
		free(k->pieces[i]);
	}
	lru_remove(&x->order, k->entry);
	x->at[chunk] = NULL;
	free(k);
}

static void
forget_oldest(struct early *x)
{
	early_forget(x, x->by_entry[lru_oldest(&x->order, false)]->number);
}

/* The chunk's blocks, which are those used last now; NULL: there is no memory. */
static struct early_chunk *
use(struct early *x, uint32_t chunk)
{
	struct early_chunk *k = x->at[chunk];
	bool full; /* never: there is room */

	if (k != NULL) {
		lru_touch(&x->order, k->entry, false);
		return k;
	}
	if (x->order.n == x->order.max)
		forget_oldest(x);
	k = calloc(1, sizeof *k);
	if (k == NULL)
		return NULL;
	k->number = chunk;
	k->entry = lru_add(&x->order, chunk, &full);
	x->by_entry[k->entry] = k;
	x->at[chunk] = k;
	return k;
}

/* Where the block lies in a piece that is there. */
static uint8_t *
place_of(const struct early_chunk *k, uint32_t block)
{
	return k->pieces[block / EARLY_PIECE_BLOCKS] +
	       (size_t)(block % EARLY_PIECE_BLOCKS) * WIRE_BLOCK_BYTES;
}

static bool
keep_block(struct early *x, struct early_chunk *k, uint32_t block, const uint8_t *data)
{
	uint8_t **piece = &k->pieces[block / EARLY_PIECE_BLOCKS];

	if (*piece == NULL) {
		*piece = malloc(PIECE_BYTES);
		x->bytes += *piece != NULL ? PIECE_BYTES : 0;
	}
	if (*piece == NULL)
		return false;
	memcpy(place_of(k, block), data, WIRE_BLOCK_BYTES);
	blockmap_set(&k->here, block);
	return true;
}

/* Forget the chunks that were used longest ago, but not the newest one. */
static void
make_room(struct early *x)
{
	while (x->bytes > x->most_bytes && x->order.n > 1)
		forget_oldest(x);
}

bool
early_keep(
    struct early *x, uint32_t chunk, uint32_t first, uint32_t count, const uint8_t *data)
{
	struct early_chunk *k = use(x, chunk);
	bool kept = k != NULL;

	for (uint32_t i = 0; kept && i < count; i++)
		kept = keep_block(x, k, first + i, data + (size_t)i * WIRE_BLOCK_BYTES);
	make_room(x);
	return kept;
}

struct blockmap
early_lacks(const struct early *x, uint32_t chunk, const struct blockmap *need)
{
	return x->at == NULL || x->at[chunk] == NULL
	           ? *need
	           : blockmap_minus(*need, &x->at[chunk]->here);
}

void
early_read(struct early *x, uint32_t chunk, const struct blockmap *need, uint32_t first,
    uint8_t *to)
{
	const struct early_chunk *k = x->at[chunk];

	for (uint32_t b = blockmap_next(need, 0); b < WIRE_CHUNK_BLOCKS;
	     b = blockmap_next(need, b + 1))
		memcpy(to + (size_t)(b - first) * WIRE_BLOCK_BYTES, place_of(k, b),
		    WIRE_BLOCK_BYTES);
	if (k != NULL)
		lru_touch(&x->order, k->entry, false);
}

void
early_close(struct early *x)
{
	for (uint32_t i = 0; x->at != NULL && i < x->chunks; i++)
		early_forget(x, i);
	free(x->at);
	free(x->by_entry);
	lru_fini(&x->order);
	early_init(x);
}
