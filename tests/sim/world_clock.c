/* world_clock.c: whose turn it is: a heap of ports by their next event (world_impl.h).  The other
 * files of the world call it, in the program's only thread. */
#include "tests/sim/world_impl.h"

#include <assert.h>
#include <stdlib.h>

static bool
sooner(const struct world *w, uint32_t a, uint32_t b)
{
	return w->key[a] < w->key[b] || (w->key[a] == w->key[b] && a < b);
}

static void
place(struct world *w, uint32_t i, uint32_t port)
{
	w->heap[i] = port;
	w->where[port] = i;
}

void
world_clock_set(struct world *w, uint32_t port, uint64_t key)
{
	uint32_t i = w->where[port], n = w->net.nports;

	w->key[port] = key;
	while (i > 0 && sooner(w, port, w->heap[(i - 1) / 2])) {
		place(w, i, w->heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	for (uint32_t child; (child = 2 * i + 1) < n; i = child) {
		if (child + 1 < n && sooner(w, w->heap[child + 1], w->heap[child]))
			child++;
		if (!sooner(w, w->heap[child], port))
			break;
		place(w, i, w->heap[child]);
	}
	place(w, i, port);
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

static uint64_t
server_next_ns(const struct world *w, const struct host *h)
{
	if (h->engine == NULL)
		return h->restart_ns;
	uint64_t due = deadline_ns(server_deadline(h->engine, w->now_ns / US));
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
	const struct host *h = world_host_at(w, port);

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
	if (at < w->key[port] && !world_is_foe(w, port))
		world_clock_set(w, port, at);
}

void
world_clock_init(struct world *w, uint32_t ports)
{
	w->key = calloc(ports, sizeof *w->key);
	w->heap = calloc(ports, sizeof *w->heap);
	w->where = calloc(ports, sizeof *w->where);
	assert(w->key != NULL && w->heap != NULL && w->where != NULL);
	for (uint32_t i = 0; i < ports; i++) {
		w->key[i] = NEVER;
		place(w, i, i);
	}
}

void
world_clock_fini(struct world *w)
{
	free(w->key);
	free(w->heap);
	free(w->where);
}
