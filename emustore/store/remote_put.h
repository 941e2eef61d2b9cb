/* remote_put.h: an image's way into a store in a bucket.
 *
 * New fragments are gathered in packs in memory; each that is full is sent in the
 * background.  When all are there, with their tables, the recipe is: only then, and
 * only if the server takes it, there is a new image. */
#ifndef EMUSTORE_STORE_REMOTE_PUT_H
#define EMUSTORE_STORE_REMOTE_PUT_H

#include "emustore/store/remote.h"

struct remote_put;

int remote_put_new(struct remote_put **, struct remote *, struct err *);
void remote_put_free(struct remote_put *); /* what is being sent is waited for */
/* Is a fragment of these data there, or on its way?  f: all of it.  1, 0, -1. */
int remote_put_find(struct remote_put *, const uint8_t sha256[SHA256_BYTES],
    struct index_fragment *f, struct err *);
/* One that was not found; f: its head and bytes. */
int remote_put_fragment(
    struct remote_put *, struct index_fragment *f, const void *data, struct err *);
/* One that is in the bucket, by its place, once more; *f becomes the copy. */
int remote_put_copy(struct remote_put *, struct index_fragment *f, struct err *);
/* All packs are in the bucket; nothing is put into the last one any more. */
int remote_put_flush(struct remote_put *, struct err *);
/* body: as in a local pack, about's head and its blocks, but for the head; digests:
 * what the numbers of its pieces mean.  about->name.version 0: the next one. */
int remote_put_image(struct remote_put *, struct recipe_image *about,
    const struct buf *blocks, const struct buf *digests, uint64_t *bytes, struct err *);

#endif /* EMUSTORE_STORE_REMOTE_PUT_H */
