/* cache.h: leave the page cache as it was: of what a capture reads, pages that
 * were not cached before are let go again, behind the reader.
 *
 * The kernel reads ahead, so it is asked what was cached a whole stretch before the
 * reader gets there.
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

/* Bit 0 of a page: it was cached. */
struct cache_stretch {
	uint64_t number; /* it begins at number * CACHE_STRETCH_BYTES */
	unsigned char pages[CACHE_STRETCH_PAGES];
};

struct cache {
	int fd; /* -1: nothing is cached, or nobody knows */
	uint64_t size_bytes;
	bool begun;
	struct cache_stretch here, next;
};

void cache_init(struct cache *, struct disk *);
/* The reader goes on at this byte; it never goes back. */
void cache_reading(struct cache *, uint64_t at);
/* The reader is done. */
void cache_done(struct cache *);

#endif /* IMAGEZIP_CAPTURE_CACHE_H */
