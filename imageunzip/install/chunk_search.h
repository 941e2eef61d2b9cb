/* chunk_search.h: finds the chunks of an image that hold a range of sectors, when a chunk shows
 * what it holds only after it was fetched.
 *
 * Chunks follow one another on the disk as their numbers do. A bisection fetches chunks
 * until the first and the last chunk with these sectors are known; chunks between two
 * that have some of them are fetched meanwhile.
 */
#ifndef IMAGEUNZIP_INSTALL_CHUNK_SEARCH_H
#define IMAGEUNZIP_INSTALL_CHUNK_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/range.h"

enum { CHUNK_SEARCH_PROBES = 2 };

/* Chunk numbers in it are shifted by one: 0 is in front of the first chunk. */
struct chunk_search {
	struct range want;
	uint64_t below, above; /* chunks up to `below`, and from `above` on, have none */
	uint64_t low, high; /* the outermost chunks known to have some; 0: none is known */
	uint64_t from, to;  /* chunks [from, to) that chunk_search_next() has given out */
};

/* Begin a search in an image of nchunks chunks. */
void chunk_search_begin(struct chunk_search *, uint32_t nchunks, struct range want);
/* Note that this chunk answers for these sectors. */
void chunk_search_note(struct chunk_search *, uint32_t chunk, struct range sectors);
/* Get a chunk that has some of the sectors; each chunk is given out once. false: no more
 * are known. */
bool chunk_search_next(struct chunk_search *, uint32_t *chunk);
/* Get the chunks to fetch next, and return their number; 0: all chunks that have some of
 * the sectors are known. */
unsigned chunk_search_probe(const struct chunk_search *, uint32_t chunks[CHUNK_SEARCH_PROBES]);
/* Is it known that no chunk has any of the sectors? */
bool chunk_search_is_empty(const struct chunk_search *);

#endif /* IMAGEUNZIP_INSTALL_CHUNK_SEARCH_H */
