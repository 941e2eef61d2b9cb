/* writer.h: how new fragments and images come into a store.
 *
 * New fragments are gathered in packs in memory.  Each full pack is put as an object in
 * the background.  When all packs are there, with their tables, the recipe is put, which
 * makes the image exist.
 */
#ifndef EMUSTORE_STORE_WRITER_H
#define EMUSTORE_STORE_WRITER_H

#include "emustore/store/store.h"

struct writer;

/* Make a writer for a store, which must outlive it.  ERR_NOMEM, or an error of the system. */
int writer_new(struct writer **, struct store *, struct err *);
/* Wait for what is being written, and free the writer.  In a folder, packs that were
 * neither committed nor put with an image are removed, since nobody else can have used
 * them.  NULL is allowed. */
void writer_free(struct writer *);
/* Is a fragment with this SHA-256 in a pack of the store that is not condemned, and is
 * that pack there (counted.h), or was the fragment added to this writer?  1, and *f is
 * filled in; 0; -1. */
int writer_find(struct writer *, const uint8_t sha256[SHA256_BYTES], struct pack_fragment *f,
    struct err *);
/* How many packs that it would have counted on are missing, or too short. */
uint64_t writer_damaged(const struct writer *);
/* Was a fragment with this SHA-256 added to this writer?  1, 0, -1. */
int writer_added(struct writer *, const uint8_t sha256[SHA256_BYTES], struct err *);
/* Add a fragment that writer_find() did not find.  f: its head and the number of its
 * bytes; data: these bytes, which are copied.  Also reports failures of earlier packs. */
int writer_add(
    struct writer *, const struct pack_fragment *f, const void *data, struct err *);
/* Put the pack that is being filled, and wait until all packs and tables are objects. */
int writer_flush(struct writer *, struct err *);
/* Flush as writer_flush() does; the packs stay after that, also when nothing refers to
 * them. */
int writer_commit(struct writer *, struct err *);
/* Put an image.  blocks: the blocks of its recipe; digests: the SHA-256 of each fragment,
 * by the numbers of its pieces.  about->name.version 0: the next version, which is filled
 * in.  *bytes: length of the image's object.  ERR_REFUSED: there is no version behind
 * the latest; or, with e->os EEXIST, this version is in the store already.  ERR_IO, in a
 * bucket: also where the image was made too late for the grace, and may lack data. */
int writer_put_image(struct writer *, struct recipe_image *about,
    const struct buf *blocks, const struct buf *digests, uint64_t *bytes, struct err *);

#endif /* EMUSTORE_STORE_WRITER_H */
