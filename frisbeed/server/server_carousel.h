/* server_carousel.h: which blocks somebody still wants: the union, nothing about
 * single clients.  They are sent in the order of their chunks, round and round. */
#ifndef FRISBEED_SERVER_SERVER_CAROUSEL_H
#define FRISBEED_SERVER_SERVER_CAROUSEL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"

struct carousel {
	uint32_t nchunks;
	uint32_t wanted;        /* chunks of which something is */
	uint32_t at;            /* the next one is this, or behind it */
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
/* The next wanted chunk and what of it; then nobody wants it any more. */
bool carousel_next(struct carousel *, uint32_t *chunk, struct blockmap *);

/* The chunk that would be the next one; nchunks: none. */
uint32_t carousel_peek(struct carousel *);
/* What of it cannot be sent yet: it is the next one again. */
void carousel_put_back(struct carousel *, uint32_t chunk, const struct blockmap *);

static inline bool
carousel_wants(const struct carousel *c, uint32_t chunk)
{
	return c->want[chunk] != NULL;
}

#endif /* FRISBEED_SERVER_SERVER_CAROUSEL_H */
