/* cache.h: how much of an image that is read stays in memory, and what came of it. */
#ifndef EMUSTORE_STORE_CACHE_H
#define EMUSTORE_STORE_CACHE_H

#include <stdatomic.h>
#include <stdint.h>

enum { STORE_CACHE_BYTES = 16 << 20 }; /* what is usual */

/* Of reads of parts of chunks: whole ones do not need it, and heads are in the recipe.
 * The counts may be read while others read the image. */
struct store_cache {
	uint64_t max_bytes; /* of chunks; never less than what is being worked on */
	_Atomic uint64_t hits;
	_Atomic uint64_t misses; /* the chunk was put together, or waited for */
	_Atomic uint64_t bytes;  /* allocated until now */
};

#endif /* EMUSTORE_STORE_CACHE_H */
