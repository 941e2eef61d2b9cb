/* world_foes.c: the machines of strangers: each hears what passes, and speaks when it may.  The
 * other files of the world call it, in the program's only thread. */
#include "tests/sim/world_impl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { BEGIN_NS = 1000000 }; /* one after the other */

void
world_setup_foes(struct world *w, uint32_t first_port)
{
	const struct scenario *sc = w->sc;
	uint64_t bits = sc->net.client_bits != 0 ? sc->net.client_bits
	                                         : sc->net.port_bits;

	w->foes = calloc(sc->foes + 1, sizeof *w->foes);
	assert(w->foes != NULL);
	for (uint32_t i = 0; i < sc->foes; i++) {
		struct foe *f = &w->foes[i];
		uint64_t seed = random_next(&w->rng);
		memcpy(f->ip, (uint8_t[]){ 10, 2, 0, (uint8_t)(i + 1) }, 4);
		f->nchunks = w->nchunks;
		foe_init(f, (enum foe_does)sc->foe_does, seed, bits);
		if (sc->bad_absent)
			continue;
		w->net.ports[first_port + i].up = true;
		w->net.ports[first_port + i].second = true;
		world_clock_set(w, first_port + i, BEGIN_NS * (i + 1));
	}
}

bool
world_is_foe(const struct world *w, uint32_t port)
{
	return port > w->sc->clients + w->ngreedy &&
	       port <= w->sc->clients + w->ngreedy + w->sc->foes;
}

bool
world_from_foe(const struct world *w, const uint8_t ip[4])
{
	return w->sc->foes > 0 && ip[1] == 2;
}

void
world_step_foe(struct world *w, uint32_t port)
{
	struct foe *f = &w->foes[port - w->sc->clients - w->ngreedy - 1];
	uint8_t bytes[WIREXT_PACKET_MAX];

	while (net_next(&w->net, port) <= w->now_ns) {
		struct packet *pkt = net_receive(&w->net, port);
		if (!world_from_foe(w, pkt->from))
			foe_hears(f, pkt->bytes, pkt->len);
		net_drop(&w->net, pkt);
	}
	size_t len = foe_speaks(f, w->now_ns, bytes);
	if (len > 0)
		net_send(&w->net, port, foe_sends_as(f, bytes, len), bytes, len,
		    w->now_ns);
	world_clock_set(w, port, w->now_ns + foe_rests_ns(f, len));
}
