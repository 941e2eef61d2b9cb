/* loads.c: finds the loads that have ended in a session's table of clients (loads.h).  sessions.c
 * calls it once a second and when a session ends, in the master's first thread. */
#include "mfrisbeed/master/loads.h"

#include <string.h>

static const enum history_outcome outcomes[] = { [CLIENT_DOING_DONE] = HISTORY_DONE,
	[CLIENT_DOING_FAILED] = HISTORY_FAILED,
	[CLIENT_DOING_LEFT] = HISTORY_LEFT,
	[CLIENT_DOING_GONE] = HISTORY_GONE };

/* Notes one load.  A client that leaves says in whole seconds how long it took.  When that
 * is longer than this server has seen the client, the server was restarted, and the client's
 * number counts. */
static void
note(const struct slot *x, const uint8_t ip[4], const struct client_ending *l)
{
	uint64_t seen_us = l->ended_us - l->began_us, said_us = l->seconds * UINT64_C(1000000);
	uint64_t took_us = said_us > seen_us ? said_us : seen_us;
	struct history_event v = { .kind = HISTORY_LOAD,
		.outcome = outcomes[l->how],
		.began_us = l->ended_us > took_us ? l->ended_us - took_us : 0,
		.seconds = (double)took_us / 1e6,
		.bytes = l->bytes_written };

	strcpy(v.image, x->name);
	memcpy(v.host, ip, sizeof v.host);
	history_note(x->of->history, &v);
}

/* Notes the load of a client that has not left when the session ends, if it has one. */
static void
note_running(const struct slot *x, const struct client_row *r)
{
	const struct client_ending cut = { .how = CLIENT_DOING_GONE,
		.began_us = r->began_us,
		.ended_us = r->heard_us };

	if (r->joins > 0 && !r->left && !r->gone)
		note(x, r->ip, &cut);
}

void
loads_note(struct slot *x, bool over)
{
	struct client_row *rows = x->of->rows;
	uint32_t n = serve_clients(x->of->serve, x->number, rows, SESSION_CLIENT_ROWS);
	uint32_t last = x->noted;

	for (uint32_t i = 0; i < n; i++) {
		const struct client_row *r = &rows[i];
		if (r->ending > x->noted)
			note(x, r->ip, &r->last);
		if (over)
			note_running(x, r);
		if (r->ending > last)
			last = r->ending;
	}
	x->noted = last;
}
