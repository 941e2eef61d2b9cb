/* stored.h: an image in a store, opened for reading: any chunk, in any order.
 *
 * All that is needed of the index is read when it is opened.  A pack that gc takes away
 * meanwhile is read on when it is an open file; else reading fails with ENOENT, and the image
 * has to be opened again (reopened.h).  Belongs to one thread at a time.
 */
#ifndef EMUSTORE_STORE_STORED_H
#define EMUSTORE_STORE_STORED_H

#include "common/base/rd.h"
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
/* From now on compare each fragment with its SHA-256 before its chunk is returned, and
 * not only the chunk with its CRC-32C; the rest of a chunk is in the recipe.  Takes 32
 * bytes of memory a fragment.  `store`: the one that it was opened from, still open.
 * ERR_FORMAT: the recipe is damaged. */
int stored_prove(struct stored *, struct store *, struct err *);
/* Put chunk i < chunks into out[NDZ_CHUNK_BYTES], with the bytes that were put.
 * ERR_FORMAT: a part of it is damaged; the content of out is undefined then. */
int stored_chunk(struct stored *, uint32_t i, void *out, struct err *);
/* Of the chunks that were asked for until now: how many are not the bytes that were
 * put, but others with the same data for the same sectors, because the zlib at hand
 * does not make those. */
uint64_t stored_equivalents(const struct stored *);
/* Only its header area, without touching any pack. */
int stored_header(
    struct stored *, uint32_t i, uint8_t out[NDZ_HEADER_BYTES], struct err *);
/* How many fragments its recipe refers to, those counted again that come again. */
uint64_t stored_fragments(const struct stored *);
/* The object of an image of the index: its recipe, and the digests of its fragments; both borrow from
 * *object, which the caller frees.  ERR_FORMAT: it is damaged. */
int stored_load(struct store *, const struct index_image *, struct buf *object,
    struct rd *recipe, struct rd *digests, struct err *);
/* fn for each of them, of an image of the index, without opening it.  ERR_FORMAT: the recipe
 * is damaged, or one is not in the store. */
int stored_each_fragment(struct store *, const struct index_image *,
    int (*fn)(void *arg, const struct index_place *, struct err *), void *arg,
    struct err *);
/* "name:3". */
struct stored_title {
	char text[STORE_NAME_MAX + 16];
};
struct stored_title stored_title(const struct recipe_image *);

#endif /* EMUSTORE_STORE_STORED_H */
