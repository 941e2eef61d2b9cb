/* server_carousel.c: which blocks clients with the extension still want.  The server's
 * engine adds what clients want, and takes chunk after chunk, in its only thread. */
#include "frisbeed/server/server_carousel.h"

#include <stdlib.h>
#include <string.h>

int
carousel_init(struct carousel *c, uint32_t nchunks)
{
	memset(c, 0, sizeof *c);
	c->nchunks = c->split = nchunks;
	c->whole = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	c->want = calloc(nchunks, sizeof *c->want);
	return c->want != NULL ? 0 : -1;
}

static void
drop(struct carousel *c, uint32_t chunk)
{
	if (c->want[chunk] != &c->whole)
		free(c->want[chunk]);
	c->wanted -= c->want[chunk] != NULL;
	c->want[chunk] = NULL;
}

void
carousel_fini(struct carousel *c)
{
	for (uint32_t i = 0; c->want != NULL && i < c->nchunks; i++)
		drop(c, i);
	free(c->want);
	c->want = NULL;
}

/* Store the map as what is wanted of the chunk. */
static void
put(struct carousel *c, uint32_t chunk, const struct blockmap *map)
{
	struct blockmap *own = c->want[chunk] == &c->whole ? NULL : c->want[chunk];

	if (blockmap_count(map) == WIRE_CHUNK_BLOCKS ||
	    (own == NULL && (own = malloc(sizeof *own)) == NULL)) {
		drop(c, chunk);
		own = &c->whole;
	} else {
		*own = *map;
	}
	c->wanted += c->want[chunk] == NULL;
	c->want[chunk] = own;
}

void
carousel_add(struct carousel *c, uint32_t chunk, const struct blockmap *blocks)
{
	struct blockmap map = *blocks;

	if (c->want[chunk] != NULL)
		blockmap_add(&map, c->want[chunk]);
	if (!blockmap_empty(&map) && c->want[chunk] != &c->whole)
		put(c, chunk, &map);
}

void
carousel_remove(struct carousel *c, uint32_t chunk, const struct blockmap *blocks)
{
	if (c->want[chunk] == NULL)
		return;
	struct blockmap map = blockmap_minus(*c->want[chunk], blocks);
	if (blockmap_empty(&map))
		drop(c, chunk);
	else
		put(c, chunk, &map);
}

uint32_t
carousel_peek(struct carousel *c)
{
	if (c->wanted == 0)
		return c->nchunks;
	if (c->at >= c->nchunks)
		c->at = 0;
	while (c->want[c->at] == NULL)
		c->at = c->at + 1 < c->nchunks ? c->at + 1 : 0;
	return c->at;
}

bool
carousel_next(struct carousel *c, uint32_t *chunk, struct blockmap *blocks)
{
	if (carousel_peek(c) == c->nchunks)
		return false;
	*chunk = c->at++;
	c->split = c->nchunks;
	*blocks = *c->want[*chunk];
	drop(c, *chunk);
	return true;
}

void
carousel_put_back(struct carousel *c, uint32_t chunk, const struct blockmap *blocks)
{
	carousel_add(c, chunk, blocks);
	c->at = c->split = chunk;
}
