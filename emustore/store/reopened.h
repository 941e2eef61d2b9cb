/* reopened.h: an image in a store that is opened again when gc has moved what it needs. */
#ifndef EMUSTORE_STORE_REOPENED_H
#define EMUSTORE_STORE_REOPENED_H

#include "emustore/store/stored.h"

/* Belongs to one thread at a time. */
struct reopened;

/* store and name stay the caller's, and are needed until reopened_free().  like (NULL:
 * any): it must be the same image as that one. */
int reopened_open(struct reopened **, const char *store, const char *name,
    const struct reopened *like, struct err *);
void reopened_free(struct reopened *);
const struct recipe_image *reopened_about(const struct reopened *);
int reopened_header(
    struct reopened *, uint32_t i, uint8_t out[NDZ_HEADER_BYTES], struct err *);
/* As stored_chunk(). */
int reopened_chunk(struct reopened *, uint32_t i, void *out, struct err *);

#endif /* EMUSTORE_STORE_REOPENED_H */
