/* put.h: an image into a store, its chunks looked at by several threads.
 *
 *	next() → [workers: check, hash, compress] → the caller: packs, index, recipe
 */
#ifndef EMUSTORE_STORE_PUT_H
#define EMUSTORE_STORE_PUT_H

#include <stdbool.h>

#include "emustore/store/store.h"

struct put_stats {
	uint64_t chunks, fragments, new_fragments, new_bytes;
	/* Of the new ones: those whose data the store has already, compressed to other
	 * bytes.  Not counted with exact. */
	uint64_t same_data_fragments;
	/* Of the chunks: whose stream is made again, kept as one piece, and encrypted
	 * (one piece, too). */
	uint64_t made_chunks, whole_chunks, encrypted_chunks;
	uint64_t recipe_bytes;
};

struct put;

struct put_config {
	bool exact;    /* the compressed bytes of every stream, whoever made it */
	uint64_t jobs; /* workers; 0: one a processor */
	/* The next chunk into chunk[NDZ_CHUNK_BYTES]: 1, 0 at the end, or -1.  Runs in
	 * a thread of its own. */
	int (*next)(void *arg, void *chunk, struct err *);
	/* After each chunk, in the calling thread; -1 stops all. */
	int (*progress)(void *arg, uint64_t chunks, struct err *);
	void *arg;
};

/* In a transaction of the store.  about: name (version 0: the next one), parent,
 * labels, put_at; the rest is found out.  ERR_REFUSED: that version is there. */
int put_begin(struct put **, struct store *, const struct recipe_image *about,
    const struct put_config *, struct err *);
/* All chunks: each is checked wholly, and put together again and compared. */
int put_all(struct put *, struct err *);
/* Everything but the store's commit; then *about is complete. */
int put_end(struct put *, struct recipe_image *about, struct put_stats *, struct err *);
void put_free(struct put *);

#endif /* EMUSTORE_STORE_PUT_H */
