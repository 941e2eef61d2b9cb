/* loads.c: finds the loads that have ended among what a session's clients do
 * (loads.h).  slots.c calls it once a second and when a session ends, in the master's
 * first thread. */
#include "mfrisbeed/master/loads.h"

#include <string.h>

/* Notes one load.  A client that leaves says in whole seconds how long it took.  When
 * that is longer than its server has seen the client, the server was restarted, and
 * the client's number counts. */
static void
note(const struct loads *l, const struct session_stats_client *c, enum history_outcome how,
    uint64_t began_us, uint64_t ended_us)
{
	bool told = how != HISTORY_GONE;
	uint64_t seen_us = ended_us > began_us ? ended_us - began_us : 0;
	uint64_t said_us = told ? c->seconds * UINT64_C(1000000) : 0;
	uint64_t took_us = said_us > seen_us ? said_us : seen_us;
	struct history_event v = { .kind = HISTORY_LOAD,
		.outcome = how,
		.began_us = ended_us > took_us ? ended_us - took_us : 0,
		.seconds = (double)took_us / 1e6,
		.bytes = told ? c->bytes_written : 0 };

	strcpy(v.image, l->of->name);
	memcpy(v.host, c->ip, sizeof v.host);
	history_note(l->of->of->config.history, &v);
}

void
loads_note(void *arg, const struct session_stats_client *c)
{
	struct loads *l = arg;

	if (c->ending > l->of->noted)
		note(l, c, c->how, c->began_us, c->ended_us);
	if (l->over && c->loading)
		note(l, c, HISTORY_GONE, c->loading_since_us, c->heard_us);
	if (c->ending > l->last)
		l->last = c->ending;
}
