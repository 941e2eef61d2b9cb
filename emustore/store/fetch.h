/* fetch.h: chunks of a stored image in order, put together by several threads where
 * that is much work: where zlib streams are made again. */
#ifndef EMUSTORE_STORE_FETCH_H
#define EMUSTORE_STORE_FETCH_H

#include "emustore/store/stored.h"

struct fetch {
	struct store *s;      /* open for reading */
	struct stored *image; /* opened from it */
	uint32_t from, to;    /* chunks */
	uint64_t jobs;        /* 0: one a processor */
	bool prove;           /* each fragment by its SHA-256: stored_prove() */
	/* For each chunk in order, in the calling thread; -1 stops. */
	int (*fn)(void *arg, const void *chunk, struct err *);
	void *arg;
};

/* *equivalents: as stored_equivalents() has it. */
int fetch_chunks(const struct fetch *, uint64_t *equivalents, struct err *);

#endif /* EMUSTORE_STORE_FETCH_H */
