/* stored.h: an image in a store, opened for reading: any chunk, in any order.
 *
 * All that is needed of the index is read when it is opened; the packs stay open.  So
 * what others do to the store meanwhile is not seen.  Belongs to one thread at a time.
 */
#ifndef EMUSTORE_STORE_STORED_H
#define EMUSTORE_STORE_STORED_H

#include "common/image/format/format.h"
#include "emustore/store/store.h"

struct stored;

/* ERR_ABSENT: no image of that name.  The store may be closed then. */
int stored_open(
    struct stored **, struct store *, const struct store_name *, struct err *);
/* The same for an image whose entry of the index is at hand. */
int stored_open_image(
    struct stored **, struct store *, const struct index_image *, struct err *);
void stored_free(struct stored *);
const struct recipe_image *stored_about(const struct stored *);
/* Bytes of its recipe, compressed. */
uint64_t stored_recipe_bytes(const struct stored *);
/* Chunk i < chunks, as it was put, into out[NDZ_CHUNK_BYTES].  ERR_FORMAT when
 * anything of it is damaged; then out is of no use. */
int stored_chunk(struct stored *, uint32_t i, void *out, struct err *);
/* Of the chunks that were asked for until now: how many are not the bytes that were
 * put, but others with the same data for the same sectors, because the zlib at hand
 * does not make those. */
uint64_t stored_equivalents(const struct stored *);
/* Only its header area, without touching any pack. */
int stored_header(
    struct stored *, uint32_t i, uint8_t out[NDZ_HEADER_BYTES], struct err *);
/* fn for the number of each fragment that the image refers to, some more than once. */
int stored_each_fragment(struct stored *,
    int (*fn)(void *arg, uint64_t number, struct err *), void *arg, struct err *);
/* "name:3", lasts for the next call. */
const char *stored_title(const struct recipe_image *);

#endif /* EMUSTORE_STORE_STORED_H */
