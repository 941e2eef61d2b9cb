/* server_urgent.c: blocks that somebody waits for.  The server's engine adds what clients ask
 * for by URGENT, and takes runs for its shell. */
#include "frisbeed/server/server_urgent.h"

#include <string.h>

#include "common/wire/blockmap.h"

void
server_urgent_init(struct server_urgent *u)
{
	*u = (struct server_urgent){ .allowed = SERVER_URGENT_BURST };
}

static void
take_away(struct blockmap *from, uint32_t chunk, const struct wirext_run *run)
{
	struct blockmap those = blockmap_range(run->first, run->count);

	if (run->chunk == chunk)
		*from = blockmap_minus(*from, &those);
}

/* Of the blocks, those that neither wait nor were given out just now. */
static struct blockmap
not_coming(const struct server_urgent *u, uint64_t now_us, const struct wirext_run *run)
{
	struct blockmap fresh = blockmap_range(run->first, run->count);
	uint64_t known = u->ngiven < SERVER_URGENT_GIVEN ? u->ngiven : SERVER_URGENT_GIVEN;

	for (uint32_t i = 0; i < u->n; i++)
		take_away(&fresh, run->chunk, &u->waiting[i].run);
	for (uint64_t i = 0; i < known; i++)
		if (u->given[i].sent_us == UINT64_MAX ||
		    now_us - u->given[i].sent_us < SERVER_URGENT_AGAIN_US)
			take_away(&fresh, run->chunk, &u->given[i].run);
	return fresh;
}

static uint32_t
runs_of(const struct server_urgent *u, const uint8_t ip[4])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->n; i++)
		n += memcmp(u->waiting[i].ip, ip, 4) == 0;
	return n;
}

uint32_t
server_urgent_ask(struct server_urgent *u, uint64_t now_us, const uint8_t ip[4],
    const struct wirext_run *run)
{
	struct blockmap fresh = not_coming(u, now_us, run);
	uint32_t own = runs_of(u, ip), added = 0;
	uint32_t b = blockmap_next(&fresh, 0);

	while (b < WIRE_CHUNK_BLOCKS && u->n < SERVER_URGENT_RUNS &&
	       own < SERVER_URGENT_OF_ADDRESS) {
		uint32_t n = blockmap_run(&fresh, b, WIRE_CHUNK_BLOCKS - b);
		struct server_urgent_run *to = &u->waiting[u->n++];
		to->run = (struct wirext_run){ run->chunk, (uint16_t)b, (uint16_t)n };
		memcpy(to->ip, ip, 4);
		own++;
		added += n;
		b = blockmap_next(&fresh, b + n);
	}
	return added;
}

bool
server_urgent_next(struct server_urgent *u, uint32_t most, struct wirext_run *out)
{
	struct wirext_run *first = &u->waiting[0].run;

	if (u->n == 0)
		return false;
	*out = *first;
	out->count = (uint16_t)(first->count < most ? first->count : most);
	first->first = (uint16_t)(first->first + out->count);
	first->count = (uint16_t)(first->count - out->count);
	if (first->count == 0)
		memmove(u->waiting, u->waiting + 1, --u->n * sizeof u->waiting[0]);
	uint64_t i = u->ngiven++ % SERVER_URGENT_GIVEN;
	u->given[i].run = *out;
	u->given[i].sent_us = UINT64_MAX;
	return true;
}

void
server_urgent_went(struct server_urgent *u, uint64_t now_us, const struct wirext_run *run)
{
	u->allowed -= run->count < u->allowed ? run->count : u->allowed;
	u->sent += run->count;
	for (uint32_t i = 0; i < SERVER_URGENT_GIVEN && i < u->ngiven; i++) {
		const struct wirext_run *g = &u->given[i].run;
		if (g->chunk == run->chunk && run->first >= g->first &&
		    run->first < g->first + g->count)
			u->given[i].sent_us = now_us;
	}
}

void
server_urgent_others_went(struct server_urgent *u, uint32_t blocks)
{
	uint32_t room = SERVER_URGENT_BURST - u->allowed;

	u->allowed += blocks < room ? blocks : room;
}
