/* session_view.c: copies the statistics of sessions for the reports and the table
 * (session_view.h).  daemon.c calls it, in the program's first thread. */
#include "frisbeed/session_view.h"

static void
look(const struct session_views *all, struct session_view *s)
{
	struct err ignored; /* there is none: sessions that are shown are never removed */

	(void)serve_stats(all->serve, s->number, &s->stats, &ignored);
}

void
session_view_renew_all(const struct session_views *all)
{
	for (unsigned i = 0; i < all->n; i++)
		look(all, &all->session[i]);
}

struct session_view *
session_view_renew(const struct session_views *all, uint32_t number)
{
	struct session_view *s = all->session;

	while (s->number != number)
		s++;
	look(all, s);
	return s;
}
