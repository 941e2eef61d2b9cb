/* put.h: puts an image into a store; several threads look at its chunks.
 *
 *	put_room(), put_chunk() → [workers: check, hash, compress] → [writer: packs, recipe]
 */
#ifndef EMUSTORE_STORE_PUT_H
#define EMUSTORE_STORE_PUT_H

#include <stdbool.h>

#include "common/image/codec/codec.h"
#include "common/image/format/ext.h"
#include "emustore/store/store.h"

/* What was put.  fragments: of all chunks; new_fragments, new_bytes: those that the store
 * lacked, and their compressed bytes; recipe_bytes: length of the image's object. */
struct put_stats {
	uint64_t chunks, fragments, new_fragments, new_bytes;
	/* Of the new fragments: those whose data the store has already, compressed to
	 * other bytes.  Not counted when `exact` is set. */
	uint64_t same_data_fragments;
	/* Of the chunks: how many have a stream that is redeflated, how many are kept as
	 * one piece, and how many are encrypted (which are kept as one piece, too). */
	uint64_t recompressed_chunks, whole_chunks, encrypted_chunks;
	uint64_t recipe_bytes;
	uint64_t known_bytes; /* raw data that put_known() gave out compressed */
	/* Packs of the store that are missing or too short; what the image needs of them
	 * was put again. */
	uint64_t damaged_packs;
};

/* An image that is being put. */
struct put;

struct put_config {
	bool exact;    /* keep the compressed bytes of every stream, whichever program made it */
	uint64_t jobs; /* worker threads; 0: one for each processor */
};

/* Begin to put an image; starts the threads.  The store is in a transaction, which the
 * caller commits after put_end().  Until put_end() or put_free() nobody else uses the
 * store.  about: the caller fills in name (version 0: the next one), parent, labels and
 * put_at; the rest is found out.  ERR_REFUSED: the store has this version already. */
int put_begin(struct put **, struct store *, const struct recipe_image *about,
    const struct put_config *, struct err *);
/* The level of deflate that the image should be compressed at, where the user wants none: that of
 * the newest version of its name, so that both share what is the same in them. */
int put_level(const struct put *);
/* Wait until there is room for the next chunk, and return it: NDZ_CHUNK_BYTES, which stay
 * the put's.  NULL: an earlier chunk has failed, or the work is to end (cancel.h). */
void *put_room(struct put *, struct err *);
/* The room that put_room() returned has the chunk now.  Each chunk is checked, and its
 * recipe is tried: the chunk is put together again and compared.  A failure may be
 * reported only by a later call. */
int put_chunk(struct put *, struct err *);
/* put_room() and put_chunk() for a chunk of NDZ_CHUNK_BYTES that is elsewhere.  `put` is a
 * struct put, since this is take() of struct maker_config. */
int put_copy(void *put, const void *chunk, struct err *);
/* Copy a fragment of this codec that the store has, and whose raw_bytes of data have this
 * digest, to out[cap]; the level at which it was compressed does not matter.  Returns the
 * bytes of the fragment; 0: there is none, or it cannot be read.  `put` is a struct put,
 * since struct known (precompressed.h) takes this function.  Called in any thread, between
 * put_begin() and put_end(). */
size_t put_known(void *put, const struct codec *,
    const uint8_t digest[EXT_FRAGMENT_DIGEST_BYTES], size_t raw_bytes, void *out,
    size_t cap);
/* All chunks were put: wait for the threads, and make the image; only the store's commit
 * is left to the caller.  *about and the statistics are complete afterwards.  Errors:
 * those of the chunks, and ERR_REFUSED: the version is in the store already. */
int put_end(struct put *, struct recipe_image *about, struct put_stats *, struct err *);
/* End the threads, and free everything.  An image without put_end() is given up.  NULL is
 * allowed. */
void put_free(struct put *);

#endif /* EMUSTORE_STORE_PUT_H */
