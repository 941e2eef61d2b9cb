/* server_scheduled.c: which chunks were given out since a client has joined.  The server's
 * engine tells it what it gives out, and asks it when clients join and report. */
#include "frisbeed/server/server_scheduled.h"

#include <stdlib.h>

int
server_given_init(struct server_given *g, uint32_t nchunks)
{
	*g = (struct server_given){ .nchunks = nchunks, .many = true };
	g->in_turn = calloc(nchunks, sizeof *g->in_turn);
	return g->in_turn != NULL ? 0 : -1;
}

void
server_given_fini(struct server_given *g)
{
	free(g->in_turn);
	g->in_turn = NULL;
}

uint32_t
server_given_join(struct server_given *g)
{
	g->turn += g->many || g->n > 0;
	return g->turn;
}

void
server_given_out(struct server_given *g, uint32_t chunk)
{
	g->in_turn[chunk] = g->turn;
}

bool
server_given_since(const struct server_given *g, uint32_t chunk, uint32_t turn)
{
	return g->in_turn[chunk] >= turn;
}

void
server_given_changed(struct server_given *g, uint32_t chunk)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->changed[i] == chunk)
			return;
	if (g->n < SERVER_GIVEN_CHANGED)
		g->changed[g->n++] = chunk;
	else
		g->many = true;
}

bool
server_given_each(const struct server_given *g, uint32_t i, uint32_t *chunk)
{
	if (i >= (g->many ? g->nchunks : g->n))
		return false;
	*chunk = g->many ? i : g->changed[i];
	return true;
}

void
server_given_settle(struct server_given *g)
{
	g->many = false;
	g->n = 0;
}
