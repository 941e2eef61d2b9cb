/* stored.h: an image in a store, opened for reading: any chunk, in any order.
 *
 * All that is needed of the index is read when the image is opened.  Of a large image it is kept
 * in a file without a name (spill.h), and of that each reader has little in memory.  A pack that gc
 * removes meanwhile can still be read when it is an open file; otherwise reading fails
 * with ENOENT, and the image has to be opened again (reopened.h).  A struct stored belongs
 * to one thread at a time.
 */
#ifndef EMUSTORE_STORE_STORED_H
#define EMUSTORE_STORE_STORED_H

#include "common/image/format/format.h"
#include "emustore/store/store.h"

struct stored;

/* Open an image; version 0: the latest.  The caller frees it with stored_free().  The
 * store may be closed before that.  ERR_ABSENT: there is no such image.  ERR_FORMAT: its
 * recipe is damaged, or a fragment is not in the store. */
int stored_open(
    struct stored **, struct store *, const struct store_name *, struct err *);
/* Open the image of this entry of the index, which is needed only during the call.  The
 * store may be closed afterwards.  ERR_FORMAT as above; ERR_IO with ENOENT: its object, or
 * a pack, is gone. */
int stored_open_image(
    struct stored **, struct store *, const struct index_image *, struct err *);
/* The same image for another thread, which needs hardly more memory, and frees it; the first one
 * may be freed before.  No thread may use the first one meanwhile.  ERR_NOMEM. */
int stored_more(struct stored **, const struct stored *first, struct err *);
/* Close the image.  NULL is allowed. */
void stored_free(struct stored *);
/* The description of the image; valid until stored_free(). */
const struct recipe_image *stored_about(const struct stored *);
/* The image was opened to be loaded: count that in the index of this store, from which it
 * was opened.  The cache of a bucket keeps the blocks of an image the longer, the more
 * often the image was loaded. */
void stored_note_load(const struct stored *, struct store *);
/* The bytes of the image's recipe, compressed, with its digests. */
uint64_t stored_recipe_bytes(const struct stored *);
/* From now on compare each fragment with its SHA-256 before its chunk is returned, and not
 * only the chunk with its CRC-32C; the rest of a chunk is in the recipe. */
void stored_prove(struct stored *);
/* Put chunk i < chunks into out[NDZ_CHUNK_BYTES], with the bytes that were put, or an
 * equivalent (stored_equivalents()).  ERR_FORMAT: a part of it is damaged; ENOENT: gc has
 * removed a pack.  The content of out is undefined after a failure. */
int stored_chunk(struct stored *, uint32_t i, void *out, struct err *);
/* Of the chunks that were asked for until now: how many do not have the bytes that were
 * put, but others with the same data for the same sectors, because the zlib at hand does
 * not make the original bytes. */
uint64_t stored_equivalents(const struct stored *);
/* Put n bytes from byte `at` of chunk i < chunks into out, as rebuild_part() makes them; of
 * the packs only the fragments are read that have these bytes.  Behind the header area
 * this needs an image that was opened with store.parts.  Errors as of stored_chunk(). */
int stored_part(
    struct stored *, uint32_t i, size_t at, size_t n, void *out, struct err *);
/* How many fragments the recipe refers to.  A fragment that occurs several times is
 * counted each time. */
uint64_t stored_fragments(const struct stored *);
/* Call fn for the place of each fragment of an image of the index, without opening the
 * image; fn returns 0, or another value to stop.  ERR_FORMAT: the recipe is damaged, or a
 * fragment is not in the store. */
int stored_each_fragment(struct store *, const struct index_image *,
    int (*fn)(void *arg, const struct index_place *, struct err *), void *arg,
    struct err *);
/* The name of an image with its version, for messages: "name:3". */
struct stored_title {
	char text[STORE_NAME_MAX + 16];
};
struct stored_title stored_title(const struct recipe_image *);

#endif /* EMUSTORE_STORE_STORED_H */
