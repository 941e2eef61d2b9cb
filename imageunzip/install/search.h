/* search.h: which chunks of an image hold some sectors, when a chunk tells what it
 * holds only once it has been fetched.
 *
 * Chunks follow one another on the disk as their numbers do.  So chunks in the middle
 * of what is not known are fetched, until it is known which is the first one with these
 * sectors and which the last; what lies between two that have some is fetched
 * meanwhile.
 */
#ifndef IMAGEUNZIP_INSTALL_SEARCH_H
#define IMAGEUNZIP_INSTALL_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/disk/range.h"

enum { SEARCH_PROBES = 2 };

/* Numbers of chunks, shifted by one: 0 is in front of the first. */
struct search {
	struct range want;
	uint64_t below, above; /* all up to here, from here on, have none of them */
	uint64_t low, high; /* the outermost that are known to have some; 0: none is */
	uint64_t from, to;  /* those that search_next() has given out */
};

/* Begin a search in an image of nchunks chunks. */
void search_begin(struct search *, uint32_t nchunks, struct range want);
/* This chunk answers for these sectors. */
void search_note(struct search *, uint32_t chunk, struct range sectors);
/* A chunk that has some of them: each is given out once.  false: no more are known. */
bool search_next(struct search *, uint32_t *chunk);
/* Chunks that would tell more; how many.  None: all that have some are known. */
unsigned search_probe(const struct search *, uint32_t chunks[SEARCH_PROBES]);
/* Is it known that no chunk has any? */
bool search_is_empty(const struct search *);

#endif /* IMAGEUNZIP_INSTALL_SEARCH_H */
