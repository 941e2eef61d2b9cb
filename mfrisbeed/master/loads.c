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
note(const struct slot *x, const struct client_row *r)
{
	uint64_t seen_us = r->heard_us - r->began_us, said_us = r->seconds * UINT64_C(1000000);
	uint64_t took_us = r->left && said_us > seen_us ? said_us : seen_us;
	enum client_doing doing = client_row_doing(r, 0);
	struct history_event v = { .kind = HISTORY_LOAD,
		.outcome = r->left ? outcomes[doing] : HISTORY_GONE,
		.began_us = r->heard_us > took_us ? r->heard_us - took_us : 0,
		.seconds = (double)took_us / 1e6,
		.bytes = r->bytes_written };

	strcpy(v.image, x->name);
	memcpy(v.host, r->ip, sizeof v.host);
	history_note(x->of->history, &v);
}

void
loads_note(struct slot *x, bool over)
{
	struct client_row *rows = x->of->rows;
	uint32_t n = serve_clients(x->of->serve, x->number, rows, SESSION_CLIENT_ROWS);
	uint32_t last = x->noted;

	for (uint32_t i = 0; i < n; i++) {
		const struct client_row *r = &rows[i];
		if (r->ending > x->noted || (over && r->joins > 0 && !r->left && !r->gone))
			note(x, r);
		if (r->ending > last)
			last = r->ending;
	}
	x->noted = last;
}
