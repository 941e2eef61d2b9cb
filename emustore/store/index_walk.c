/* Fragments looked for one after the other, most often the next one. */
#include "emustore/store/index_impl.h"

/* To read so many rows takes about as long as to look for one. */
enum { WALK_ROWS = 8 };

struct index_walk
index_walk_of(struct index *x)
{
	return (struct index_walk){ .x = x };
}

void
index_walk_end(struct index_walk *w)
{
	if (w->x->stmt[Q_PLACES_FROM] != NULL)
		sqlite3_reset(w->x->stmt[Q_PLACES_FROM]);
	w->number = 0;
}

int
index_walk_to(
    struct index_walk *w, uint64_t number, struct index_place *p, struct err *e)
{
	sqlite3_stmt *s = w->x->stmt[Q_PLACES_FROM];
	int rc = 1;

	for (int i = 0; i < WALK_ROWS && w->number != 0 && w->number < number; i++) {
		if ((rc = index_step(w->x, s, e)) < 0)
			return -1;
		w->number = rc == 1 ? index_column(s, 0) : 0;
	}
	if (w->number != number) {
		s = index_ask(w->x, Q_PLACES_FROM, 1, &number, e);
		if ((rc = index_step(w->x, s, e)) < 0)
			return -1;
		w->number = rc == 1 ? index_column(s, 0) : 0;
	}
	if (w->number != number)
		return 0;
	*p = (struct index_place){ .pack = (uint32_t)index_column(s, 1),
		.at = index_column(s, 2),
		.bytes = (uint32_t)index_column(s, 3) };
	return 1;
}
