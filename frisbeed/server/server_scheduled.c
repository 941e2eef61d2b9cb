/* server_scheduled.c: which chunks were scheduled since a client joined.  The server's
 * engine says what it schedules, and asks when clients join and send NACKs, in its only
 * thread. */
#include "frisbeed/server/server_scheduled.h"

#include <stdlib.h>

int
server_scheduled_init(struct server_scheduled *g, uint32_t nchunks)
{
	*g = (struct server_scheduled){ .nchunks = nchunks, .many = true };
	g->cohort_of = calloc(nchunks, sizeof *g->cohort_of);
	return g->cohort_of != NULL ? 0 : -1;
}

void
server_scheduled_fini(struct server_scheduled *g)
{
	free(g->cohort_of);
	g->cohort_of = NULL;
}

uint32_t
server_scheduled_join(struct server_scheduled *g)
{
	g->cohort += g->many || g->n > 0;
	return g->cohort;
}

void
server_scheduled_add(struct server_scheduled *g, uint32_t chunk)
{
	g->cohort_of[chunk] = g->cohort;
}

bool
server_scheduled_since(
    const struct server_scheduled *g, uint32_t chunk, uint32_t cohort)
{
	return g->cohort_of[chunk] >= cohort;
}

void
server_scheduled_changed(struct server_scheduled *g, uint32_t chunk)
{
	for (uint32_t i = 0; i < g->n; i++)
		if (g->changed[i] == chunk)
			return;
	if (g->n < SERVER_SCHEDULED_CHANGED)
		g->changed[g->n++] = chunk;
	else
		g->many = true;
}

bool
server_scheduled_each(const struct server_scheduled *g, uint32_t i, uint32_t *chunk)
{
	if (i >= (g->many ? g->nchunks : g->n))
		return false;
	*chunk = g->many ? i : g->changed[i];
	return true;
}

void
server_scheduled_settle(struct server_scheduled *g)
{
	g->many = false;
	g->n = 0;
}
