/* cache.h: leaves the page cache as it was: pages that a capture reads, and that were not
 * cached before, are dropped again behind the reader.
 *
 * The kernel reads ahead, so it is asked which pages are cached a whole stretch before
 * the reader gets there.
 */
#ifndef IMAGEZIP_CAPTURE_CACHE_H
#define IMAGEZIP_CAPTURE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/disk.h"

enum {
	CACHE_STRETCH_BYTES = 32 << 20,
	CACHE_PAGE_MIN_BYTES = 4096,
	CACHE_STRETCH_PAGES = CACHE_STRETCH_BYTES / CACHE_PAGE_MIN_BYTES,
};

/* A stretch of the source; bit 0 of a page says that it was cached. */
struct cache_stretch {
	uint64_t number; /* it begins at number * CACHE_STRETCH_BYTES */
	unsigned char pages[CACHE_STRETCH_PAGES];
};

struct cache {
	int fd; /* -1: the cache is not looked after */
	uint64_t size_bytes;
	bool begun;
	struct cache_stretch here, next;
};

/* Begin for a disk; a disk without a descriptor, or a pipe, is not looked after. */
void cache_init(struct cache *, struct disk *);
/* The reader continues at this byte of the source; it never goes back. */
void cache_reading(struct cache *, uint64_t at);
/* The reader is done: drop what it has added to the cache in the last stretches. */
void cache_done(struct cache *);

#endif /* IMAGEZIP_CAPTURE_CACHE_H */
