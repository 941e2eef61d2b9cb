/* sectors_blocks.c: finds the blocks of an image that hold given sectors.  The thread of a
 * session that reads an order of reads calls this (frisbeed/serve/order_blocks.c). */
#include "common/image/read/sectors_blocks.h"

#include <inttypes.h>
#include <stdlib.h>

#include "common/image/read/partial.h"
#include "common/image/read/places.h"
#include "common/image/read/sectors_impl.h"

struct sectors_blocks {
	struct sectors *s;
	uint8_t *bytes; /* of the chunk: header and table in their places */
	/* The chunk that was looked at last; NO_CHUNK: none. */
	uint32_t number;
	bool has_table; /* the next three are set; otherwise all of it is needed */
	struct chunk c;
	struct fragments *fragments; /* all of the chunk; owned */
	struct blockmap table;       /* blocks of header and table */
};

int
sectors_blocks_new(struct sectors_blocks **out, struct sectors *s, struct err *e)
{
	struct sectors_blocks *b = calloc(1, sizeof *b);

	if (b == NULL)
		return err_nomem(e, "the blocks of an image");
	b->s = s;
	b->number = NO_CHUNK;
	b->bytes = malloc(NDZ_CHUNK_BYTES);
	if (b->bytes == NULL) {
		sectors_blocks_free(b);
		return err_nomem(e, "the blocks of an image");
	}
	*out = b;
	return 0;
}

static void
leave(struct sectors_blocks *b)
{
	if (b->has_table)
		chunk_free(&b->c);
	free(b->fragments);
	b->fragments = NULL;
	b->has_table = false;
	b->number = NO_CHUNK;
}

void
sectors_blocks_free(struct sectors_blocks *b)
{
	if (b == NULL)
		return;
	leave(b);
	free(b->bytes);
	free(b);
}

static int
enter(struct sectors_blocks *b, uint32_t i, struct err *e)
{
	if (b->number == i)
		return 0;
	leave(b);
	int rc = sectors_read_table(b->s, i, b->bytes, &b->c, &b->table, e);
	b->has_table = rc == 1;
	if (rc == 1 && places_fragments(&b->fragments, &b->c, e) != 0)
		rc = -1;
	if (rc < 0) {
		leave(b);
		return -1;
	}
	b->number = i;
	return 0;
}

/* The sectors of r up to the first one that is not stored; those at its front that are not
 * stored are left out. */
static struct range
first_stored(const struct rangeset *stored, struct range r)
{
	size_t i = rangeset_find(stored, r.off);

	if (i == rangeset_count(stored))
		return (struct range){ r.off, 0 };
	return range_clip(rangeset_get(stored, i), r.off, range_end(r));
}

/* Add the blocks of the fragments that have bytes [at, end) of the chunk's data. */
static int
add_fragments(const struct sectors_blocks *b, uint64_t at, uint64_t end, struct blockmap *need,
    struct err *e)
{
	while (at < end) {
		const struct fragments *f =
		    places_fragment(b->fragments, b->c.ext.nfragments, at);
		if (f == NULL)
			return err_set(e, ERR_FORMAT, "%s: chunk %u: its data ends too early",
			    sectors_name(b->s), b->number);
		struct blockmap own = partial_fragment(f);
		blockmap_add(need, &own);
		at = f->raw_at + f->raw_bytes;
	}
	return 0;
}

/* Find the blocks of the first sectors of r, which are stored, in the chunk that was entered;
 * *n: of how many sectors. */
static int
find(const struct sectors_blocks *b, struct range r, uint64_t chunk_end, uint64_t *n,
    struct blockmap *need, struct err *e)
{
	uint64_t at;

	if (!b->has_table) {
		*n = range_clip(r, r.off, chunk_end).len;
		*need = blockmap_range(0, WIRE_CHUNK_BLOCKS);
		if (*n > 0)
			return 0;
		return err_set(e, ERR_FORMAT, "%s: chunk %u: sector %" PRIu64 " is missing",
		    sectors_name(b->s), b->number, r.off);
	}
	if (sectors_place(b->s, b->number, &b->c, r, n, &at, e) != 0)
		return -1;
	*need = b->table;
	return add_fragments(b, at, at + *n * SECTOR_BYTES, need, e);
}

int
sectors_blocks_next(struct sectors_blocks *b, struct range *r, uint32_t *chunk,
    struct blockmap *need, struct err *e)
{
	struct range now = first_stored(sectors_stored(b->s), *r);
	uint64_t chunk_end, n, end = range_end(*r);

	if (now.len == 0)
		return 0;
	*chunk = sectors_chunk_of(b->s, now.off, &chunk_end);
	if (enter(b, *chunk, e) != 0 || find(b, now, chunk_end, &n, need, e) != 0)
		return -1;
	*r = (struct range){ now.off + n, end - (now.off + n) };
	return 1;
}
