/* fetch.h: the chunks of a stored image in order.  Several threads put them together where
 * that is much work: where zlib streams are redeflated. */
#ifndef EMUSTORE_STORE_FETCH_H
#define EMUSTORE_STORE_FETCH_H

#include "emustore/store/reopened.h"

struct fetch {
	struct reopened *image;
	uint32_t from, to; /* chunks from..to-1 */
	uint64_t jobs;     /* threads; 0: one for each processor */
	/* Called for each chunk in order, in the calling thread; the chunk is borrowed.
	 * 0, or -1 to stop. */
	int (*fn)(void *arg, const void *chunk, struct err *);
	void *arg;
};

/* Call fn for each chunk.  *equivalents: how many of them were equivalents, as
 * reopened_equivalents() counts them.  Returns 0, or -1 with the error of fn, of
 * reopened_chunk() or of reopened_more(). */
int fetch_chunks(const struct fetch *, uint64_t *equivalents, struct err *);

#endif /* EMUSTORE_STORE_FETCH_H */
