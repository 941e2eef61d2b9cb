/* server_order.c: goes round a list of blocks for clients that start from the image.  The
 * server's engine begins and stops it when clients come and go, takes blocks from it when it may
 * read some (server_read.c), and tells it what was sent (server_output.c), in its only thread. */
#include "frisbeed/server/server_order.h"

#include <stdlib.h>

/* The most runs that one call passes over because all of their blocks have been sent. */
enum { PASSED_MOST = 1024 };

static void
forget_what_went(struct server_order *o)
{
	for (uint32_t i = 0; i < o->chunks; i++) {
		free(o->went[i]);
		o->went[i] = NULL;
	}
}

void
server_order_fini(struct server_order *o)
{
	forget_what_went(o);
	free(o->went);
	free(o->runs);
	*o = (struct server_order){ .n = 0 };
}

void
server_order_set(struct server_order *o, struct wirext_run *runs, uint32_t n)
{
	uint32_t chunks = 0;

	for (uint32_t i = 0; i < n; i++)
		if (runs[i].chunk >= chunks)
			chunks = runs[i].chunk + 1;
	server_order_fini(o);
	o->runs = runs;
	o->n = n;
	o->went = calloc(chunks, sizeof(struct blockmap *));
	/* Without memory it is not known what was sent, and all of the list goes. */
	o->chunks = o->went != NULL ? chunks : 0;
}

/* The blocks of the current run that have gone already go once more at the end of the round. */
void
server_order_begin(struct server_order *o)
{
	forget_what_went(o);
	o->left = o->n + (o->gone > 0);
}

void
server_order_stop(struct server_order *o)
{
	o->left = 0;
}

void
server_order_went(struct server_order *o, const struct wirext_run *run)
{
	struct blockmap those = blockmap_range(run->first, run->count);

	if (o->left == 0 || run->chunk >= o->chunks)
		return;
	struct blockmap **went = &o->went[run->chunk];
	if (*went == NULL)
		*went = calloc(1, sizeof **went);
	if (*went != NULL)
		blockmap_add(*went, &those);
}

static void
next_run(struct server_order *o)
{
	o->next = (o->next + 1) % o->n;
	o->gone = 0;
	o->left--;
}

/* The blocks of the current run that are still to go. */
static struct blockmap
rest_of_run(const struct server_order *o)
{
	const struct wirext_run *run = &o->runs[o->next];
	struct blockmap rest = blockmap_range(run->first + o->gone, run->count - o->gone);

	if (run->chunk < o->chunks && o->went[run->chunk] != NULL)
		rest = blockmap_minus(rest, o->went[run->chunk]);
	return rest;
}

bool
server_order_next(struct server_order *o, uint32_t most, struct wirext_run *out)
{
	for (uint32_t passed = 0; o->left > 0 && passed < PASSED_MOST; passed++) {
		const struct wirext_run *run = &o->runs[o->next];
		struct blockmap rest = rest_of_run(o);
		uint32_t b = blockmap_next(&rest, 0);
		if (b == WIRE_CHUNK_BLOCKS) {
			next_run(o);
			continue;
		}
		uint32_t n = blockmap_run(&rest, b, most);
		*out = (struct wirext_run){ run->chunk, (uint16_t)b, (uint16_t)n };
		o->gone = b + n - run->first;
		if (o->gone == run->count)
			next_run(o);
		return true;
	}
	return false;
}
