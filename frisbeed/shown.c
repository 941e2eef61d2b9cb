/* shown.c: copies the statistics of sessions for the reports and the table (shown.h).  daemon.c
 * calls it, in the program's first thread. */
#include "frisbeed/shown.h"

static void
look(const struct shown_all *all, struct shown *s)
{
	struct err ignored; /* there is none: sessions that are shown are never removed */

	(void)serve_stats(all->serve, s->number, &s->stats, &ignored);
}

void
shown_look(const struct shown_all *all)
{
	for (unsigned i = 0; i < all->n; i++)
		look(all, &all->session[i]);
}

struct shown *
shown_look_at(const struct shown_all *all, uint32_t number)
{
	struct shown *s = all->session;

	while (s->number != number)
		s++;
	look(all, s);
	return s;
}
