/* wishes.c: what an engine wants of its owner (wishes.h).  The parts of node and server call
 * it, in the engine's thread. */
#include "dolly/engine/wishes.h"

#include "common/base/grow.h"

int
wishes_add(struct wishes *w, const struct wish *wish, struct err *e)
{
	if (grow_array(&w->at, &w->cap, w->n, sizeof *w->at, "what is to be done", e) != 0)
		return -1;
	w->at[w->n++] = *wish;
	return 0;
}

bool
wishes_take(struct wishes *w, struct wish *wish)
{
	if (w->first == w->n) {
		w->first = w->n = 0;
		return false;
	}
	*wish = w->at[w->first++];
	return true;
}

void
wishes_free(struct wishes *w)
{
	for (size_t i = w->first; i < w->n; i++)
		if (w->at[i].kind == WISH_CLOSE)
			peer_free(w->at[i].peer);
	free(w->at);
	*w = (struct wishes){ 0 };
}
