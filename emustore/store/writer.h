/* writer.h: how what is new comes into a store.
 *
 * New fragments are gathered in packs in memory; each that is full is made an object in the
 * background.  When all are there, with their tables, the recipe is made: only then is there
 * a new image. */
#ifndef EMUSTORE_STORE_WRITER_H
#define EMUSTORE_STORE_WRITER_H

#include "emustore/store/store.h"

struct writer;

int writer_new(struct writer **, struct store *, struct err *);
/* What is being written is waited for.  What was written and counts for nothing goes again
 * where nobody else can have seen it: in a folder. */
void writer_free(struct writer *);
/* Is a fragment of these data there, or on its way?  1 and all of *f, 0, -1. */
int writer_find(struct writer *, const uint8_t sha256[SHA256_BYTES], struct pack_fragment *f,
    struct err *);
/* Was one of these data added to this writer?  1, 0, -1. */
int writer_added(struct writer *, const uint8_t sha256[SHA256_BYTES], struct err *);
/* One that was not found; f: its head and bytes. */
int writer_add(
    struct writer *, const struct pack_fragment *f, const void *data, struct err *);
/* All packs are objects; nothing is put into the last one any more. */
int writer_flush(struct writer *, struct err *);
/* The same, and they are to stay, whatever comes of the rest. */
int writer_commit(struct writer *, struct err *);
/* blocks: those of the recipe; digests: what the numbers of its pieces mean.
 * about->name.version 0: the next one.  ERR_REFUSED: that version is there.  *bytes: of the
 * recipe. */
int writer_put_image(struct writer *, struct recipe_image *about,
    const struct buf *blocks, const struct buf *digests, uint64_t *bytes, struct err *);

#endif /* EMUSTORE_STORE_WRITER_H */
