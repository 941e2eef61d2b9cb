/* node_asking.c: which chunks a node asks its parent for (node_impl.h).  Called by the other
 * parts of the node, in the engine's thread. */
#include "dolly/engine/node_impl.h"

bool
node_make_asking(struct node *n, uint32_t chunks)
{
	struct node_asking *a = &n->asking;

	return chunkmap_make(&a->ask, chunks) && chunkmap_make(&a->asked, chunks) &&
	       chunkmap_make(&a->again, chunks);
}

void
node_free_asking(struct node *n)
{
	chunkmap_free(&n->asking.ask);
	chunkmap_free(&n->asking.asked);
	chunkmap_free(&n->asking.again);
}

void
node_ask_for(void *arg, uint32_t chunk)
{
	struct node *n = arg;

	if (!chunkmap_has(&n->asking.asked, chunk) &&
	    spread_find(n->spread, chunk) == SPREAD_NONE)
		chunkmap_add(&n->asking.ask, chunk);
}

void
node_say_want(struct peer *p, const struct chunkmap *chunks)
{
	struct msg m = { .type = MSG_WANT };
	uint32_t c = 0;

	while ((c = chunkmap_next(chunks, c)) != CHUNKMAP_NONE) {
		struct msg_range *g = &m.ranges[m.nranges++];
		for (*g = (struct msg_range){ c, 0 }; chunkmap_has(chunks, c); c++)
			g->count++;
		if (m.nranges < MSG_RANGES_MAX)
			continue;
		peer_say(p, &m);
		m.nranges = 0;
	}
	if (m.nranges > 0)
		peer_say(p, &m);
}

void
node_flush_asks(struct node *n)
{
	struct node_asking *a = &n->asking;

	if (n->parent.peer == NULL)
		return;
	node_say_want(n->parent.peer, &a->ask);
	for (uint32_t c = 0; (c = chunkmap_next(&a->ask, c)) != CHUNKMAP_NONE;) {
		chunkmap_take(&a->ask, c);
		chunkmap_add(&a->asked, c);
	}
}

void
node_has_come(struct node *n, uint32_t chunk)
{
	chunkmap_take(&n->asking.asked, chunk);
}

void
node_ask_later(struct node *n, uint32_t chunk)
{
	chunkmap_add(&n->asking.again, chunk);
}

void
node_ask_again(struct node *n)
{
	struct node_asking *a = &n->asking;

	if (a->again.count == 0)
		return;
	chunkmap_clear(&a->again);
	spread_each_wanted(n->spread, node_ask_for, n);
	node_ask_own(n); /* perhaps it is in memory since: for children */
}

void
node_ask_anew(struct node *n)
{
	struct node_asking *a = &n->asking;
	uint32_t c = 0;

	while ((c = chunkmap_next(&a->asked, c)) != CHUNKMAP_NONE) {
		chunkmap_take(&a->asked, c);
		chunkmap_add(&a->ask, c);
	}
	spread_each_wanted(n->spread, node_ask_for, n);
	node_ask_own(n);
}
