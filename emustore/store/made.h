/* made.h: a chunk of another program from the data of its fragments, its zlib stream
 * made again. */
#ifndef EMUSTORE_STORE_MADE_H
#define EMUSTORE_STORE_MADE_H

#include <stdint.h>

#include "common/base/err.h"
#include "emustore/store/packs.h"
#include "emustore/store/rebuild.h"
#include "emustore/store/recipe.h"

/* Belongs to one thread at a time. */
struct made;

/* packs NULL: only for made_data().  NULL: out of memory. */
struct made *made_new(struct packs *);
void made_free(struct made *);
/* The chunk into out[NDZ_CHUNK_BYTES]: 0 as it was put, by its SHA-256; 1 an equivalent
 * one, which has the same header but for the length of its stream, and the same data;
 * -1, ERR_FORMAT: damaged, or it does not fit 1 MiB any more. */
int made_chunk(struct made *, const struct recipe_chunk *, const struct place *,
    uint8_t *out, struct err *);

/* The data of a fragment at hand: `raw_bytes`, which are not checked. */
int made_data(struct made *, const struct codec *, const uint8_t *bytes, size_t n,
    uint8_t *raw, size_t raw_bytes, struct err *);

#endif /* EMUSTORE_STORE_MADE_H */
