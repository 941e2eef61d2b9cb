/* world_clock.c: whose turn it is: a heap of ports by their next turn (world_impl.h).  The
 * other files of the world call it, in the program's only thread. */
#include "tests/sim/world_impl.h"

#include <assert.h>
#include <stdlib.h>

enum { VERY_LATE_NS = 5000000 };

void
world_clock_set(struct world *w, uint32_t port, uint64_t ns)
{
	heap_move(&w->clock, &w->turns[port], ns);
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
deadline_ns(uint64_t us)
{
	return us == NEVER ? NEVER : us * US;
}

static uint64_t
client_next_ns(const struct world *w, const struct node *nd, uint32_t port)
{
	if (nd->gone || nd->absent)
		return NEVER;
	if (nd->engine == NULL)
		return nd->start_ns;
	uint64_t at = earlier(net_next(&w->net, port),
	    deadline_ns(nd->deadline_us));
	if (nd->nwriting > 0)
		at = earlier(at, nd->writing[nd->writing_head].done_ns);
	return earlier(at, world_reader_next_ns(w, nd));
}

/* How late a server wakes this time. */
static uint64_t
late_ns(struct host *h, uint32_t most_us)
{
	if (random_next(&h->rng) % 1000 == 0)
		return VERY_LATE_NS;
	return random_next(&h->rng) % (most_us * US);
}

/* When a server wakes that has to send at this time: late, unless it does not sleep before. */
static uint64_t
wakes_ns(const struct world *w, struct host *h, uint64_t due_ns)
{
	if (w->sc->late_us == 0 || due_ns == NEVER || due_ns <= w->now_ns) {
		h->due_ns = h->wakes_ns = due_ns;
		return due_ns;
	}
	if (due_ns < h->due_ns || h->due_ns <= w->now_ns) {
		h->due_ns = due_ns;
		h->wakes_ns = due_ns + late_ns(h, w->sc->late_us);
	}
	return h->wakes_ns > due_ns ? h->wakes_ns : due_ns;
}

static uint64_t
server_next_ns(const struct world *w, struct host *h)
{
	if (h->engine == NULL)
		return h->restart_ns;
	uint64_t due = wakes_ns(
	    w, h, deadline_ns(server_deadline(h->engine, w->now_ns / US)));
	uint64_t backlog = net_backlog_ns(&w->net, h->port, w->now_ns);

	if (due != NEVER && backlog > SENDER_BACKLOG_NS &&
	    due < w->now_ns + backlog / 2)
		due = w->now_ns + backlog / 2;
	uint64_t at = earlier(due, net_next(&w->net, h->port));
	at = earlier(at, world_next_arrival_ns(w, h));
	if (h->image_ns != 0 && w->sc->restart_us == 0)
		at = earlier(at, h->image_ns);
	if (h->nreading > 0)
		at = earlier(at, h->reading[h->reading_head].done_ns);
	if (h->restart_ns != 0)
		at = earlier(at, h->restart_ns);
	if (h->mute_ns != NEVER)
		at = earlier(at, h->mute_ns);
	return at;
}

void
world_reschedule(struct world *w, uint32_t port)
{
	struct host *h = world_host_at(w, port);

	if (h != NULL)
		world_clock_set(w, port, server_next_ns(w, h));
	else if (port <= w->sc->clients)
		world_clock_set(
		    w, port, client_next_ns(w, &w->nodes[port - 1], port));
	/* The machines at all other ports set their next turns themselves. */
}

void
world_touched(void *arg, unsigned port)
{
	struct world *w = arg;
	uint64_t at = net_next(&w->net, port);

	/* Strangers take what came at the turns when they send. */
	if (at < w->turns[port].time && !world_is_foe(w, port))
		world_clock_set(w, port, at);
}

void
world_clock_init(struct world *w, uint32_t ports)
{
	w->turns = calloc(ports, sizeof *w->turns);
	assert(w->turns != NULL);
	for (uint32_t i = 0; i < ports; i++)
		heap_add(&w->clock, &w->turns[i], NEVER);
}

void
world_clock_fini(struct world *w)
{
	free(w->turns);
	free(w->clock.items);
}
