/* reopened.h: an image in a store, which is opened again when gc has moved what the image
 * needs. */
#ifndef EMUSTORE_STORE_REOPENED_H
#define EMUSTORE_STORE_REOPENED_H

#include "emustore/store/stored.h"

/* Belongs to one thread at a time. */
struct reopened;

/* How an image is opened: prove: each fragment is compared with its SHA-256, as
 * stored_prove() does; parts: reopened_part() may be called. */
enum { REOPENED_PROVE = 1, REOPENED_PARTS = 2 };
/* Open image `name` of the store at that place.  name and the strings of the place stay
 * the caller's, and are needed until reopened_free().  Errors are those of store_open()
 * and stored_open(). */
int reopened_open(struct reopened **, const struct store_place *, const char *name,
    unsigned how, struct err *);
/* Take over an image, which is never opened again.  NULL: out of memory, and the image is still
 * the caller's. */
struct reopened *reopened_of(struct stored *);
/* The same image for another thread, as stored_more(). */
int reopened_more(struct reopened **, const struct reopened *first, struct err *);
/* Close the image.  NULL is allowed. */
void reopened_free(struct reopened *);
/* The description of the image; valid until reopened_free(). */
const struct recipe_image *reopened_about(const struct reopened *);
/* Put chunk i together in out[NDZ_CHUNK_BYTES], as stored_chunk() does; opens the image
 * again when that is necessary. */
int reopened_chunk(struct reopened *, uint32_t i, void *out, struct err *);
/* Put n bytes from byte `at` of chunk i into out, as stored_part() does; opens the image
 * again when that is necessary. */
int reopened_part(
    struct reopened *, uint32_t i, size_t at, size_t n, void *out, struct err *);
/* How many of these chunks were equivalents, as stored_equivalents() counts them. */
uint64_t reopened_equivalents(const struct reopened *);

#endif /* EMUSTORE_STORE_REOPENED_H */
