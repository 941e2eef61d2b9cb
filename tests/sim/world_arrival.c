/* world_arrival.c: an image that still comes to its server.  To the first server a chunk comes
 * each arrival_us, in an order that is drawn; to a relay's server each chunk comes when its
 * client has it. world_server.c calls this at each of the server's turns, world_relay.c for a
 * relay, in the program's only thread. */
#include <assert.h>
#include <stdlib.h>

#include "tests/sim/world_impl.h"

void
world_setup_arrival(struct world *w, struct host *h)
{
	uint32_t n = w->nchunks;

	if (w->sc->arrival_us == 0)
		return;
	h->cfg.growing = true;
	h->arrival = malloc(n * sizeof *h->arrival);
	assert(h->arrival != NULL);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = (uint32_t)(random_next(&w->rng) % (i + 1u));
		h->arrival[i] = h->arrival[j];
		h->arrival[j] = i;
	}
}

static void
tell(struct world *w, struct host *h, uint32_t chunk)
{
	const struct blockmap all = blockmap_range(0, WIRE_CHUNK_BLOCKS);

	world_trace(w, "%s: chunk %u has come", world_name(w, h), chunk);
	server_have(h->engine, w->now_ns / US, chunk, &all);
}

uint64_t
world_next_arrival_ns(const struct world *w, const struct host *h)
{
	return h->arrival == NULL || h == &w->relay || h->arrived == w->nchunks
	           ? NEVER
	           : (h->arrived + 1) * w->sc->arrival_us * US;
}

void
world_arrive(struct world *w, struct host *h)
{
	while (world_next_arrival_ns(w, h) <= w->now_ns)
		tell(w, h, h->arrival[h->arrived++]);
}

void
world_has_come(struct world *w, struct host *h, uint32_t chunk)
{
	h->arrival[h->arrived++] = chunk;
	if (h->engine != NULL)
		tell(w, h, chunk);
}

void
world_arrived_again(struct world *w, struct host *h)
{
	for (uint32_t i = 0; h->arrival != NULL && i < h->arrived; i++)
		tell(w, h, h->arrival[i]);
}

bool
world_has_arrived(const struct host *h, uint32_t chunk)
{
	uint32_t i = 0;

	while (h->arrival != NULL && i < h->arrived && h->arrival[i] != chunk)
		i++;
	return h->arrival == NULL || i < h->arrived;
}
