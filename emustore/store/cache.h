/* cache.h: how many chunks of an image that is read stay in memory, and how often that
 * helped. */
#ifndef EMUSTORE_STORE_CACHE_H
#define EMUSTORE_STORE_CACHE_H

#include <stdatomic.h>
#include <stdint.h>

enum { STORE_CACHE_BYTES = 16 << 20 }; /* the usual max_bytes */

/* Only reads of parts of chunks use the cache: whole chunks do not need it, and headers
 * are in the recipe.  The counts may be read while other threads read the image. */
struct store_cache {
	/* limit for chunks; the chunks that are being worked on are kept in any case */
	uint64_t max_bytes;
	_Atomic uint64_t hits;   /* the chunk was there, or another thread put it together */
	_Atomic uint64_t misses; /* the reader had to put the chunk together */
	_Atomic uint64_t bytes;  /* the most that the chunks had at the same time */
};

#endif /* EMUSTORE_STORE_CACHE_H */
