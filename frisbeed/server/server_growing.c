/* server_growing.c: what is here of an image that still arrives.  The server's engine
 * calls this for each requested chunk, and when its shell says that blocks have
 * arrived, in its only thread. */
#include "frisbeed/server/server_growing.h"

#include <stdlib.h>
#include <string.h>

int
growing_init(struct growing *g, uint32_t nchunks)
{
	*g = (struct growing){ .on = true, .nchunks = nchunks };
	g->here = calloc(nchunks, sizeof(struct blockmap *));
	g->whole = calloc(nchunks, sizeof *g->whole);
	g->asked = calloc(nchunks, sizeof *g->asked);
	return g->here != NULL && g->whole != NULL && g->asked != NULL ? 0 : -1;
}

void
growing_fini(struct growing *g)
{
	for (uint32_t i = 0; g->here != NULL && i < g->nchunks; i++)
		free(g->here[i]);
	free(g->here);
	free(g->whole);
	free(g->asked);
	*g = (struct growing){ .on = false };
}

bool
growing_has(const struct growing *g, uint32_t chunk)
{
	return !g->on || g->whole[chunk];
}

void
growing_want(struct growing *g, uint32_t chunk)
{
	g->wanted += !g->asked[chunk];
	g->asked[chunk] = true;
}

/* When more chunks are named than can be remembered, the oldest is forgotten: a client
 * may ask for it again. */
void
growing_ask(struct growing *g, uint32_t chunk)
{
	growing_want(g, chunk);
	for (uint32_t i = 0; i < g->nasks; i++)
		if (g->ask[i] == chunk)
			return;
	if (g->nasks == GROWING_ASKS)
		memmove(g->ask, g->ask + 1, --g->nasks * sizeof g->ask[0]);
	g->ask[g->nasks++] = chunk;
}

bool
growing_next_ask(struct growing *g, uint32_t *chunk)
{
	while (g->nasks > 0) {
		*chunk = g->ask[0];
		memmove(g->ask, g->ask + 1, --g->nasks * sizeof g->ask[0]);
		if (!growing_has(g, *chunk))
			return true;
	}
	return false;
}

bool
growing_awaits(const struct growing *g, uint32_t chunk)
{
	return g->on && g->asked[chunk];
}

/* Are all n blocks of the chunk here, including these? */
static bool
is_whole(struct growing *g, uint32_t chunk, const struct blockmap *blocks, uint32_t n)
{
	struct blockmap all = blockmap_range(0, n);

	if (g->here[chunk] == NULL)
		g->here[chunk] = calloc(1, sizeof(struct blockmap));
	if (g->here[chunk] != NULL) {
		blockmap_add(g->here[chunk], blocks);
		blocks = g->here[chunk];
	}
	all = blockmap_minus(all, blocks);
	return blockmap_empty(&all);
}

bool
growing_have(
    struct growing *g, uint32_t chunk, const struct blockmap *blocks, uint32_t n)
{
	if (growing_has(g, chunk) || !is_whole(g, chunk, blocks, n))
		return false;
	free(g->here[chunk]);
	g->here[chunk] = NULL;
	g->whole[chunk] = true;
	bool asked = g->asked[chunk];
	g->wanted -= asked;
	g->asked[chunk] = false;
	return asked;
}
