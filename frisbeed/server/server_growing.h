/* server_growing.h: which chunks of an image that still arrives are here, and which of
 * the others somebody has asked for.
 *
 * A chunk is given out when all of it is here: clients take the end of a chunk's pass
 * for all that was wanted of it.  What is asked for before that is remembered, and sent
 * then.
 *
 * Only server_growing.c writes struct growing.
 */
#ifndef FRISBEED_SERVER_SERVER_GROWING_H
#define FRISBEED_SERVER_SERVER_GROWING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"

struct growing {
	bool on; /* false: everything is here, and always was */
	uint32_t nchunks;
	uint32_t wanted;        /* chunks that are not here and were asked for */
	struct blockmap **here; /* by chunk; NULL: nothing, or all of it */
	bool *whole, *asked;    /* by chunk */
};

/* -1: no memory; growing_fini() also then.  Nothing is here at first. */
int growing_init(struct growing *, uint32_t nchunks);
void growing_fini(struct growing *);
/* Is all of the chunk here? */
bool growing_has(const struct growing *, uint32_t chunk);
/* A chunk that is not here is asked for. */
void growing_want(struct growing *, uint32_t chunk);
/* Was it asked for, and has not come since? */
bool growing_awaits(const struct growing *, uint32_t chunk);
/* These blocks of a chunk of n blocks are here from now on.  True: that makes it whole,
 * and it had been asked for, which is forgotten now.  Without memory only whole chunks
 * count. */
bool growing_have(
    struct growing *, uint32_t chunk, const struct blockmap *blocks, uint32_t n);

#endif /* FRISBEED_SERVER_SERVER_GROWING_H */
