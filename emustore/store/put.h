/* put.h: an image into a store, its chunks looked at by several threads.
 *
 *	put_room(), put_chunk() → [workers: check, hash, compress] → [writer: packs, recipe]
 */
#ifndef EMUSTORE_STORE_PUT_H
#define EMUSTORE_STORE_PUT_H

#include <stdbool.h>

#include "common/image/codec/codec.h"
#include "common/image/format/ext.h"
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
	uint64_t known_bytes; /* raw data that put_known() gave out compressed */
};

struct put;

struct put_config {
	bool exact;    /* the compressed bytes of every stream, whoever made it */
	uint64_t jobs; /* workers; 0: one a processor */
};

/* Starts the threads.  The store is in a transaction, which the caller commits after
 * put_end(); until put_end() or put_free() nobody else uses the store.  about: name (version
 * 0: the next one), parent, labels, put_at; the rest is found out.  ERR_REFUSED: that version
 * is there. */
int put_begin(struct put **, struct store *, const struct recipe_image *about,
    const struct put_config *, struct err *);
/* NDZ_CHUNK_BYTES for the next chunk, when there is room for it; NULL: a chunk before has
 * failed, or the work is to end (cancel.h). */
void *put_room(struct put *, struct err *);
/* What put_room() gave has the chunk.  It is checked wholly, and put together again and
 * compared; what is wrong with it is said by a later call. */
int put_chunk(struct put *, struct err *);
/* A fragment of that codec that the store has, whose raw_bytes of data have that digest, into
 * out[cap], at whatever level it was compressed: how many bytes it has; 0: there is none, or it
 * cannot be read.  `put` is a struct put: struct known (known.h) takes this function.  From any
 * thread, between put_begin() and put_end(). */
size_t put_known(void *put, const struct codec *,
    const uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES], size_t raw_bytes, void *out,
    size_t cap);
/* All chunks are there: waits for the threads and makes the image, all but the store's
 * commit; then *about and the statistics are complete. */
int put_end(struct put *, struct recipe_image *about, struct put_stats *, struct err *);
/* Ends the threads; what was not ended is given up.  NULL is fine. */
void put_free(struct put *);

#endif /* EMUSTORE_STORE_PUT_H */
