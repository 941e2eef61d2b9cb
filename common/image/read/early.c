/* early.c: blocks of a growing file that come before their chunk is proved are kept (early.h).
 * source_live.c calls this, holding its lock, in any thread. */
#include "common/image/read/early.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What comes within seven seconds at 300 Mbit/s: a machine reads less while it boots, and most of
 * that is in the file by then. */
enum { USUAL_BYTES = 256 << 20, SHARE_OF_MEMORY = 8 };
enum { PIECES = WIRE_CHUNK_BLOCKS / EARLY_PIECE_BLOCKS };

/* Blocks that are neighbours: those whose bits are set. */
struct piece {
	uint32_t here;
	uint8_t blocks[EARLY_PIECE_BLOCKS][WIRE_BLOCK_BYTES];
};

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
early_open(struct stock **out, size_t most_bytes, struct err *e)
{
	return stock_new(out, most_bytes != 0 ? most_bytes : usual_bytes(), e);
}

static uint64_t
key_of(uint32_t chunk, uint32_t block)
{
	return (uint64_t)chunk * PIECES + block / EARLY_PIECE_BLOCKS;
}

/* The piece that has room for this block, empty if it was not there; NULL: there is no
 * memory. */
static struct stock_item *
use(struct stock *s, uint32_t chunk, uint32_t block)
{
	struct stock_item *i = stock_find(s, key_of(chunk, block));
	struct piece *p = i == NULL ? malloc(sizeof *p) : NULL;

	if (p == NULL)
		return i;
	p->here = 0;
	return stock_add(s, key_of(chunk, block), (struct stocked){ p, sizeof *p, free });
}

bool
early_keep(
    struct stock *s, uint32_t chunk, uint32_t first, uint32_t count, const uint8_t *data)
{
	for (uint32_t b = first; b < first + count; b++, data += WIRE_BLOCK_BYTES) {
		struct stock_item *i = use(s, chunk, b);
		if (i == NULL)
			return false;
		struct piece *p = stock_thing(i);
		p->here |= 1u << b % EARLY_PIECE_BLOCKS;
		memcpy(p->blocks[b % EARLY_PIECE_BLOCKS], data, WIRE_BLOCK_BYTES);
		stock_put_back(s, i);
	}
	return true;
}

void
early_forget(struct stock *s, uint32_t chunk)
{
	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b += EARLY_PIECE_BLOCKS) {
		struct stock_item *i = stock_find(s, key_of(chunk, b));
		if (i != NULL)
			stock_spoil(s, i);
	}
}

/* Copy the blocks of a piece that are needed, all of which it has.  `to` is the place of
 * the block that is `behind` blocks behind the first one of the piece. */
static void
copy_out(const struct piece *p, uint32_t needed, int64_t behind, uint8_t *to)
{
	for (; needed != 0; needed &= needed - 1) {
		int i = __builtin_ctz(needed);
		memcpy(to + (i - behind) * WIRE_BLOCK_BYTES, p->blocks[i],
		    WIRE_BLOCK_BYTES);
	}
}

struct blockmap
early_read(struct stock *s, uint32_t chunk, const struct blockmap *need, uint32_t first,
    uint8_t *to)
{
	struct blockmap lacks = *need;

	for (uint32_t b = 0; b < WIRE_CHUNK_BLOCKS; b += EARLY_PIECE_BLOCKS) {
		uint32_t needed = (uint16_t)(need->w[b / 64] >> b % 64);
		struct stock_item *i = NULL;
		if (needed == 0 || (i = stock_find(s, key_of(chunk, b))) == NULL)
			continue;
		const struct piece *p = stock_thing(i);
		lacks.w[b / 64] &= ~((uint64_t)(needed & p->here) << b % 64);
		if (to != NULL)
			copy_out(p, needed & p->here, (int64_t)first - b, to);
		stock_put_back(s, i);
	}
	return lacks;
}
