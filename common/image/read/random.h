/* random.h: an image file, or a base and its deltas, as a disk that several threads read
 * anywhere.  What was decoded is kept for all of them in a cache of limited size.
 *
 * Of a chunk whose fragment table can be trusted without the rest (partial.h), only the blocks
 * of its header, its table and the fragments that are asked for are read from the source; of
 * other chunks everything is read.  Data is given out when its fragment was checked, or all of
 * the chunk when it has no table.  A thread that wants data that another thread is decoding
 * waits for it.
 */
#ifndef COMMON_IMAGE_READ_RANDOM_H
#define COMMON_IMAGE_READ_RANDOM_H

#include <stdint.h>

#include "common/base/err.h"
#include "common/disk/rangeset.h"

struct random;
struct sectors;

/* Takes over the image, even on failure; its description may still be read, but not
 * its data. cache_bytes: memory for decoded pieces and for what is known about
 * chunks.  In addition, each thread uses memory for what it is working on: at most
 * some MiB, and a quarter of the cache.  ERR_NOMEM. */
int random_open(struct random **, struct sectors *, uint64_t cache_bytes, struct err *);
/* random_open() for a base, images[0], and its deltas, each a delta of what is below it, as
 * the one disk that they amount to (layers.h).  All images are taken over, also on failure,
 * and share the cache.  Whether they belong together is not checked here: chain_random() of
 * chain.h does that first.  ERR_FORMAT: a relocation and its data come apart. */
int random_open_layers(struct random **, struct sectors *const images[], size_t n,
    uint64_t cache_bytes, struct err *);
/* Which sectors are stored, and the size of the disk in sectors (before version 2, the end of
 * what is stored).  From any thread. */
const struct rangeset *random_stored(const struct random *);
uint64_t random_total(const struct random *);
/* How many sectors of the disk could not be read when an image was made; they are zeros. */
uint64_t random_lost(const struct random *);
/* The data of sectors into buf; those that are not stored are zeros.  From any thread.  A
 * failure is not kept, so the read can be tried again.  ERR_FORMAT: damaged; and errors of
 * the source.  Errors name image and chunk. */
int random_read(struct random *, struct range sectors, void *buf, struct err *);
/* The number of chunks of all images together. */
uint64_t random_chunks(const struct random *);
/* Read what chunk `n` of them says, so that reading its data needs no more than the data.  It is
 * kept as long as the cache has room.  From any thread.  Errors as of random_read(). */
int random_learn(struct random *, uint64_t n, struct err *);
/* Nobody may be reading any more.  NULL is fine. */
void random_close(struct random *);

struct random_stats {
	uint64_t hits;    /* pieces of data that were in the cache when they were needed */
	uint64_t misses;  /* pieces that had to be made: decoded, or found to be zeros */
	uint64_t decoded; /* bytes of data that were decoded */
	uint64_t kept;    /* bytes in the cache now */
};
/* From any thread. */
struct random_stats random_stats(struct random *);

#endif /* COMMON_IMAGE_READ_RANDOM_H */
