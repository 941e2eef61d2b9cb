/* server_carousel.h: which blocks clients with the extension still want.  It is the
 * union of what all of them want, and knows nothing about single clients.  Blocks are
 * sent in the order of their chunks, again and again from the first chunk to the last,
 * so that clients can join at any time.
 *
 * Only server_carousel.c writes struct carousel.
 */
#ifndef FRISBEED_SERVER_SERVER_CAROUSEL_H
#define FRISBEED_SERVER_SERVER_CAROUSEL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"

struct carousel {
	uint32_t nchunks;
	uint32_t wanted; /* how many chunks have wanted blocks */
	uint32_t at;     /* the next chunk is this one, or a later one */
	/* A part of this chunk was scheduled, and the rest waits; nchunks: there is
	 * none. */
	uint32_t split;
	struct blockmap **want; /* by chunk; NULL: no block is wanted */
	struct blockmap whole; /* shared by all chunks of which every block is wanted */
};

/* Returns -1 without memory. */
int carousel_init(struct carousel *, uint32_t nchunks);
void carousel_fini(struct carousel *);
/* Add blocks of a chunk.  Without memory, more blocks than these may be added. */
void carousel_add(struct carousel *, uint32_t chunk, const struct blockmap *);
/* Remove blocks that will be sent anyway. */
void carousel_remove(struct carousel *, uint32_t chunk, const struct blockmap *);
/* Take the next wanted chunk: its number and the wanted blocks, which are removed from
 * the set.  Returns false if nothing is wanted. */
bool carousel_next(struct carousel *, uint32_t *chunk, struct blockmap *);

/* The chunk that carousel_next() would return; nchunks: none. */
uint32_t carousel_peek(struct carousel *);
/* Put back blocks of the chunk that was taken last, because they cannot be sent yet.
 * The chunk is the next one again, and counts as split until it is taken. */
void carousel_put_back(struct carousel *, uint32_t chunk, const struct blockmap *);

/* Was a part of this chunk scheduled, while the rest waits? */
static inline bool
carousel_is_split(const struct carousel *c, uint32_t chunk)
{
	return chunk == c->split && c->split < c->nchunks;
}

/* Is there a split chunk, and is its rest still wanted? */
static inline bool
carousel_wants_rest(const struct carousel *c)
{
	return c->split < c->nchunks && c->want[c->split] != NULL;
}

static inline bool
carousel_wants(const struct carousel *c, uint32_t chunk)
{
	return c->want[chunk] != NULL;
}

#endif /* FRISBEED_SERVER_SERVER_CAROUSEL_H */
