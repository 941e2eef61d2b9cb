/* server_growing.h: which chunks of an image that still arrives are here, and which of
 * the others clients have requested.
 *
 * A chunk is sent only when all of it is here, because clients take the end of a
 * chunk's pass as a sign that everything wanted of it was sent.  A request that arrives
 * earlier is remembered until then.
 *
 * Only server_growing.c writes struct growing.
 */
#ifndef FRISBEED_SERVER_SERVER_GROWING_H
#define FRISBEED_SERVER_SERVER_GROWING_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"

enum { GROWING_ASKS = 64 }; /* chunks that are remembered as asked for in particular */

struct growing {
	bool on; /* false: the image was complete from the beginning */
	uint32_t nchunks;
	uint32_t wanted;        /* how many chunks were requested and are not here */
	struct blockmap **here; /* by chunk; NULL: no block is here, or all are */
	bool *whole, *asked;    /* by chunk */
	uint32_t ask[GROWING_ASKS], nasks; /* in order */
};

/* Nothing is here at first.  Returns -1 without memory; growing_fini() is needed then,
 * too. */
int growing_init(struct growing *, uint32_t nchunks);
void growing_fini(struct growing *);
/* Is all of the chunk here? */
bool growing_has(const struct growing *, uint32_t chunk);
/* A chunk that is not here is requested. */
void growing_want(struct growing *, uint32_t chunk);
/* growing_want() for a request that names this chunk, and not all chunks. */
void growing_ask(struct growing *, uint32_t chunk);
/* The next chunk of growing_ask() that is not here; each is returned once.  False: none.
 */
bool growing_next_ask(struct growing *, uint32_t *chunk);
/* Was the chunk requested, and is it still not here? */
bool growing_awaits(const struct growing *, uint32_t chunk);
/* These blocks of a chunk of n blocks are here from now on.  Returns true if the chunk
 * is complete now and had been requested; the request is then forgotten.  Without
 * memory, only calls with all blocks of a chunk have an effect. */
bool growing_have(
    struct growing *, uint32_t chunk, const struct blockmap *blocks, uint32_t n);

#endif /* FRISBEED_SERVER_SERVER_GROWING_H */
