/* redeflated.h: puts a chunk of another program together from the data of its fragments:
 * its zlib stream is redeflated. */
#ifndef EMUSTORE_STORE_REDEFLATED_H
#define EMUSTORE_STORE_REDEFLATED_H

#include <stdint.h>

#include "common/base/err.h"
#include "emustore/store/packs.h"
#include "emustore/store/rebuild.h"
#include "emustore/store/recipe.h"

/* Belongs to one thread at a time. */
struct redeflated;

/* packs (borrowed until redeflated_free()) is where fragments are read.  NULL: out of
 * memory. */
struct redeflated *redeflated_new(struct packs *);
/* Free it; the packs stay the caller's.  NULL is allowed. */
void redeflated_free(struct redeflated *);
/* Make the chunk in out[NDZ_CHUNK_BYTES]; there is one place for each of its pieces.
 * Returns 0 when it has the SHA-256 of the chunk that was put; 1 when it is an equivalent
 * chunk, with the same data and the same header except for the length of its stream; -1 on
 * failure.  ERR_FORMAT: it is damaged, or the stream does not fit into 1 MiB. */
int redeflated_chunk(struct redeflated *, const struct recipe_chunk *,
    const struct place *, uint8_t *out, struct err *);

#endif /* EMUSTORE_STORE_REDEFLATED_H */
