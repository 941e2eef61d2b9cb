/* source.h: an image in a store that is opened again when gc has moved what it needs.
 */
#ifndef EMUSTORE_STORE_SOURCE_H
#define EMUSTORE_STORE_SOURCE_H

#include "emustore/store/stored.h"

/* Belongs to one thread at a time. */
struct source;

/* store and name stay the caller's, and are needed until source_free().  like (NULL:
 * any): it must be the same image as that one. */
int source_open(struct source **, const char *store, const char *name,
    const struct source *like, struct err *);
void source_free(struct source *);
const struct recipe_image *source_about(const struct source *);
int source_header(
    struct source *, uint32_t i, uint8_t out[NDZ_HEADER_BYTES], struct err *);
/* As stored_chunk(). */
int source_chunk(struct source *, uint32_t i, void *out, struct err *);

#endif /* EMUSTORE_STORE_SOURCE_H */
