/* sectors_blocks.h: which blocks of an image's chunks hold given sectors: what a client of a
 * session asks for to read them.
 *
 * Of a chunk whose fragment table can be trusted without the rest (partial.h) these are the
 * blocks of header, table and the fragments that hold the sectors; of another chunk they are
 * all blocks.  No data is decoded.
 */
#ifndef COMMON_IMAGE_READ_SECTORS_BLOCKS_H
#define COMMON_IMAGE_READ_SECTORS_BLOCKS_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/range.h"
#include "common/image/read/sectors.h"
#include "common/wire/blockmap.h"

struct sectors_blocks;

/* Begin to look into an image, which is borrowed, and of which chunks need not be proved
 * (sectors_open()).  Nobody else may read it by sector meanwhile.  ERR_NOMEM. */
int sectors_blocks_new(struct sectors_blocks **, struct sectors *, struct err *);
void sectors_blocks_free(struct sectors_blocks *); /* NULL is fine */
/* Find the blocks of the first sectors of *r that are stored, as far as they lie in one chunk in
 * a row.  Returns 1: they are blocks *need, not none, of *chunk, and *r is what lies behind
 * these sectors; 0: none of *r is stored; -1: ERR_FORMAT when the chunk is damaged, and errors of
 * reading it. */
int sectors_blocks_next(struct sectors_blocks *, struct range *r, uint32_t *chunk,
    struct blockmap *need, struct err *);

#endif /* COMMON_IMAGE_READ_SECTORS_BLOCKS_H */
