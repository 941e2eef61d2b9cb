/* server_carousel.h: which blocks somebody still wants: the union, nothing about
 * single clients.  They are sent in the order of their chunks, round and round, so that
 * all clients can follow, whenever they came.
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
	uint32_t wanted;        /* chunks of which something is */
	uint32_t at;            /* the next one is this, or behind it */
	/* Part of this chunk was given out, and the rest waits; nchunks: there is none. */
	uint32_t split;
	struct blockmap **want; /* by chunk; NULL: nothing */
	struct blockmap whole;  /* shared by chunks that are wanted whole */
};

/* -1: no memory. */
int carousel_init(struct carousel *, uint32_t nchunks);
void carousel_fini(struct carousel *);
/* Blocks of a chunk are wanted, too.  Without memory, perhaps more than that. */
void carousel_add(struct carousel *, uint32_t chunk, const struct blockmap *);
/* They come anyway. */
void carousel_remove(struct carousel *, uint32_t chunk, const struct blockmap *);
/* Take the next wanted chunk: its number and the wanted blocks, which are removed from
 * the set.  False: there is none. */
bool carousel_next(struct carousel *, uint32_t *chunk, struct blockmap *);

/* The chunk that would be the next one; nchunks: none. */
uint32_t carousel_peek(struct carousel *);
/* These blocks of the chunk that was taken last cannot be sent yet: it is the next one
 * again, and split until it is taken. */
void carousel_put_back(struct carousel *, uint32_t chunk, const struct blockmap *);

/* Was part of this chunk given out, while the rest waits? */
static inline bool
carousel_is_split(const struct carousel *c, uint32_t chunk)
{
	return chunk == c->split && c->split < c->nchunks;
}

/* Is there such a chunk, and its rest still wanted? */
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
