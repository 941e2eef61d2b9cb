/* world_relay.c: a relay: the machine of the first client serves what it loads to all other
 * clients, which are on a network of their own.
 *
 * Its server begins when its client knows the image, and is told of each chunk that the client
 * has written.  A chunk that is asked for by itself before it has come is urgent for the
 * client.  world.c calls this at the beginning of a run, world_client.c at the turns of the
 * first client, world_server.c when the relay's server has heard something; all in the
 * program's only thread. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/world_impl.h"

enum {
	RELAY_CLIENT = 1,     /* port of the relay's client */
	BEHIND_RELAY = 1,     /* number of the network behind the relay */
	RELAY_SESSION = 2000, /* far from the sessions of the other servers */
};

void
world_setup_relay(struct world *w, uint32_t port)
{
	struct host *h = &w->relay;

	if (!w->sc->relay)
		return;
	world_setup_host(w, h, port);
	h->image = OWN_IMAGE;
	memcpy(h->cfg.srcip, (uint8_t[]){ 10, 4, 0, 1 }, 4);
	h->cfg.ext.session = RELAY_SESSION;
	h->cfg.ext.identity[0] = OWN_IMAGE;
	h->cfg.growing = true;
	h->arrival = malloc(w->nchunks * sizeof *h->arrival);
	h->asked_ns = calloc(w->nchunks, sizeof *h->asked_ns);
	assert(h->arrival != NULL && h->asked_ns != NULL);
	h->restart_ns = NEVER;
	w->net.ports[port].network = BEHIND_RELAY;
	for (uint32_t i = RELAY_CLIENT + 1; i <= w->sc->clients; i++)
		w->net.ports[i].network = BEHIND_RELAY;
}

/* When the relay's client knows the image, or has all of it. */
static bool
may_begin(const struct world *w, const struct node *nd)
{
	return w->sc->relay_waits ? w->relay.arrived == w->nchunks
	                          : client_chunks(nd->engine) > 0;
}

void
world_relay_step(struct world *w, uint32_t port)
{
	if (!w->sc->relay || port != RELAY_CLIENT || w->relay.restart_ns != NEVER ||
	    !may_begin(w, &w->nodes[port - 1]))
		return;
	w->relay.restart_ns = w->now_ns;
	world_reschedule(w, w->relay.port);
}

/* A chunk has come that was asked for at this time (0: it was not): adds its waiting time. */
static void
note_wait(struct world *w, uint64_t asked_ns)
{
	struct outcome *out = w->out;
	double us = (double)(w->now_ns - asked_ns) / (double)US;

	if (asked_ns == 0)
		return;
	out->awaited++;
	out->mean_wait_us += (us - out->mean_wait_us) / out->awaited;
}

void
world_relay_has(struct world *w, const struct node *nd, uint32_t chunk)
{
	if (!w->sc->relay || nd != &w->nodes[RELAY_CLIENT - 1])
		return;
	world_has_come(w, &w->relay, chunk);
	note_wait(w, w->relay.asked_ns[chunk]);
	world_reschedule(w, w->relay.port);
}

void
world_relay_lacks(struct world *w, struct host *h)
{
	struct node *nd = &w->nodes[RELAY_CLIENT - 1];
	struct client *client = nd->engine;
	uint32_t chunk;

	while (h == &w->relay && client != NULL && server_lacks(h->engine, &chunk)) {
		world_trace(w, "relay: chunk %u is urgent", chunk);
		if (h->asked_ns[chunk] == 0)
			h->asked_ns[chunk] = w->now_ns;
		client_urgent(client, w->now_ns / US, chunk);
		nd->deadline_us = client_deadline(client, w->now_ns / US);
		world_reschedule(w, RELAY_CLIENT);
	}
}

struct host *
world_server_of(struct world *w, uint32_t port)
{
	return w->net.ports[port].network == BEHIND_RELAY ? &w->relay : &w->server;
}
