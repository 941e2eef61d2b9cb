/* put.h: an image into a store, chunk by chunk. */
#ifndef COMMON_STORE_PUT_H
#define COMMON_STORE_PUT_H

#include "common/store/store.h"

struct put_stats {
	uint64_t chunks, fragments, new_fragments, new_bytes, whole_chunks;
	uint64_t recipe_bytes;
};

struct put;

/* In a transaction of the store.  about: name (version 0: the next one), parent,
 * labels, put_at; the rest is found out.  ERR_REFUSED: that version is there. */
int put_begin(
    struct put **, struct store *, const struct recipe_image *about, struct err *);
/* The next chunk: is checked wholly, and put together again and compared. */
int put_chunk(struct put *, const void *bytes, struct err *);
/* Everything but the store's commit; then *about is complete. */
int put_end(struct put *, struct recipe_image *about, struct put_stats *, struct err *);
void put_free(struct put *);

#endif /* COMMON_STORE_PUT_H */
