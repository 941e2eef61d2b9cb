/* reopened.h: an image in a store, which is opened again when gc has moved what the image
 * needs. */
#ifndef EMUSTORE_STORE_REOPENED_H
#define EMUSTORE_STORE_REOPENED_H

#include "emustore/store/stored.h"

/* Belongs to one thread at a time. */
struct reopened;

/* Open image `name` of `store`; both strings stay the caller's, and are needed until
 * reopened_free().  like: the image must be the same as this one (ERR_FORMAT); NULL: any
 * image.  Other errors are those of store_open() and stored_open(). */
int reopened_open(struct reopened **, const char *store, const char *name,
    const struct reopened *like, struct err *);
/* Close the image.  NULL is allowed. */
void reopened_free(struct reopened *);
/* The description of the image; valid until reopened_free(). */
const struct recipe_image *reopened_about(const struct reopened *);
/* The header area of chunk i, as stored_header() returns it. */
int reopened_header(
    struct reopened *, uint32_t i, uint8_t out[NDZ_HEADER_BYTES], struct err *);
/* Put chunk i together in out[NDZ_CHUNK_BYTES], as stored_chunk() does; opens the image
 * again when that is necessary. */
int reopened_chunk(struct reopened *, uint32_t i, void *out, struct err *);

#endif /* EMUSTORE_STORE_REOPENED_H */
