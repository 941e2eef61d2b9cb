/* partial.h: which blocks of a chunk are worth asking for, when fragments that are on
 * the disk already need not come.
 *
 * The header is needed first, then the extension area with the fragment table, then the
 * bytes of those fragments that differ.  Only blocks that are said to be here are looked
 * at.  A chunk must come whole when its header or table cannot be trusted without the rest:
 * when there are no digests, or none of the header alone, or when there is damage.
 */
#ifndef COMMON_IMAGE_READ_PARTIAL_H
#define COMMON_IMAGE_READ_PARTIAL_H

#include <stdbool.h>

#include "common/image/read/chunk.h"
#include "common/wire/blockmap.h"

enum {
	/* Blocks of a chunk that are needed before anything can be said. */
	PARTIAL_FIRST_BLOCKS = NDZ_HEADER_BYTES / WIRE_BLOCK_BYTES,
};

enum partial_step {
	PARTIAL_MORE,  /* the blocks *need must come first */
	PARTIAL_TABLE, /* *c is parsed: chunk_free() */
	PARTIAL_WHOLE, /* the whole chunk is needed */
};

/* Tells what to do next with chunk[NDZ_CHUNK_BYTES], of which the blocks `here` have come.
 * With each PARTIAL_MORE at least one block is needed that is not here. */
enum partial_step partial_next(const void *chunk, const struct blockmap *here,
    struct blockmap *need, struct chunk *c);
/* The blocks of the current fragment. */
struct fragments;
struct blockmap partial_fragment(const struct fragments *);
/* The blocks of all fragments that do not have same[number] set. */
struct blockmap partial_differing(const struct chunk *, const bool *same);
/* For a whole chunk whose digest is wrong: the blocks of the fragments that are damaged, or
 * all blocks when those do not explain the wrong digest. */
struct blockmap partial_damaged(const struct chunk *, const void *bytes);
/* For a chunk with a table, of which the fragments that do not have same[number] set have
 * come: the blocks of those that are damaged, or all blocks when that cannot be known.
 * Empty: none is damaged. */
struct blockmap partial_damaged_others(
    const struct chunk *, const void *bytes, const bool *same);
/* The blocks of header and stream: with them, the chunk's digest can be checked. */
struct blockmap partial_digested(const struct chunk *);

#endif /* COMMON_IMAGE_READ_PARTIAL_H */
