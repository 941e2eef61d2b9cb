/* server_order.c: goes round a list of blocks for clients that start from the image.  The
 * server's engine begins and stops it when clients come and go, and takes blocks from it when
 * it may read some (server_read.c), in its only thread. */
#include "frisbeed/server/server_order.h"

#include <stdlib.h>

void
server_order_fini(struct server_order *o)
{
	free(o->runs);
	*o = (struct server_order){ .n = 0 };
}

void
server_order_set(struct server_order *o, struct wirext_run *runs, uint32_t n)
{
	server_order_fini(o);
	o->runs = runs;
	o->n = n;
}

/* The blocks of the current run that have gone already go once more at the end of the round. */
void
server_order_begin(struct server_order *o)
{
	o->left = o->n + (o->gone > 0);
}

void
server_order_stop(struct server_order *o)
{
	o->left = 0;
}

static void
next_run(struct server_order *o)
{
	o->next = (o->next + 1) % o->n;
	o->gone = 0;
	o->left--;
}

bool
server_order_next(struct server_order *o, uint32_t most, struct wirext_run *out)
{
	if (o->left == 0)
		return false;
	const struct wirext_run *run = &o->runs[o->next];
	uint32_t rest = run->count - o->gone;
	*out = (struct wirext_run){ run->chunk, (uint16_t)(run->first + o->gone),
		(uint16_t)(rest < most ? rest : most) };
	o->gone += out->count;
	if (o->gone == run->count)
		next_run(o);
	return true;
}
