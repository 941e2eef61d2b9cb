/* world_rival.c: the second of two servers on one group: it begins later, at a port of its own
 * with an address, a session and an identity of its own, hears everything, and serves every
 * client that asks it.  The other files of the world call it, in the program's only thread. */
#include <string.h>

#include "tests/sim/world_impl.h"

/* The session is far from those of the first server's runs. */
enum { OTHER_IMAGE = OWN_IMAGE + 1, RIVAL_SESSION = 1000 };

void
world_setup_rival(struct world *w, uint32_t port)
{
	struct host *h = &w->rival;

	if (w->sc->rival_us == 0)
		return;
	world_setup_host(w, h, port);
	h->image = w->sc->rival_same ? OWN_IMAGE : OTHER_IMAGE;
	memcpy(h->cfg.srcip, (uint8_t[]){ 10, 3, 0, 1 }, 4);
	h->cfg.ext.session = RIVAL_SESSION;
	h->cfg.ext.identity[0] = h->image;
	h->restart_ns = w->sc->bad_absent ? NEVER : w->sc->rival_us * US;
}

struct host *
world_host_at(struct world *w, uint32_t port)
{
	if (port == SERVER)
		return &w->server;
	if (w->relay.port != 0 && port == w->relay.port)
		return &w->relay;
	return w->rival.port != 0 && port == w->rival.port ? &w->rival : NULL;
}

bool
world_from_server(const struct world *w, const uint8_t ip[4])
{
	return memcmp(ip, w->server.cfg.srcip, 4) == 0 ||
	       (w->relay.port != 0 && memcmp(ip, w->relay.cfg.srcip, 4) == 0) ||
	       (w->rival.port != 0 && memcmp(ip, w->rival.cfg.srcip, 4) == 0);
}
