/* serve_stats.c: the statistics of the sessions of one process (serve.h).  Programs that serve
 * images call it, in any thread; engines add to the tally of their session meanwhile. */
#include "frisbeed/serve/serve_impl.h"

#include <string.h>

#include "common/base/clock.h"

struct session **
serve_find(struct serve *s, uint32_t number, struct err *e)
{
	for (unsigned i = 0; i < s->cfg.sessions_max; i++)
		if (s->session[i] != NULL && s->session[i]->number == number)
			return &s->session[i];
	err_set(e, ERR_ABSENT, "there is no session %u", number);
	return NULL;
}

void
serve_sample(struct serve *s)
{
	uint64_t now = clock_us();

	pthread_mutex_lock(&s->lock);
	for (unsigned i = 0; i < s->cfg.sessions_max; i++)
		if (s->session[i] != NULL)
			tally_sample(&s->session[i]->tally, now);
	pthread_mutex_unlock(&s->lock);
}

static uint32_t
chunks_of(const struct session *x)
{
	const uint64_t chunk_bytes = WIRE_CHUNK_BLOCKS * WIRE_BLOCK_BYTES;

	return (uint32_t)((x->unicast.stream.server.image_bytes + chunk_bytes - 1) /
			  chunk_bytes);
}

static void
look(struct session *x, struct serve_stats *out)
{
	*out = (struct serve_stats){ .state = x->state,
		.err = x->err,
		.seconds = session_seconds(x),
		.chunks = chunks_of(x),
		.tally = tally_get(&x->tally),
		.from_store = x->place->store != NULL,
		.cache_hits = x->cache.hits,
		.cache_misses = x->cache.misses,
		.cache_bytes = x->cache.bytes };
	memcpy(out->where, x->where, sizeof out->where);
	sentmap_text(&x->sentmap, out->chunk_map);
	if (x->clients != NULL)
		clients_count(x->clients, &out->clients_known, &out->clients_done);
}

int
serve_stats(struct serve *s, uint32_t number, struct serve_stats *out, struct err *e)
{
	pthread_mutex_lock(&s->lock);
	struct session **at = serve_find(s, number, e);
	if (at != NULL)
		look(*at, out);
	pthread_mutex_unlock(&s->lock);
	return at != NULL ? 0 : -1;
}

uint32_t
serve_clients(
    struct serve *s, uint32_t number, struct client_row *rows, uint32_t max)
{
	struct err ignored;
	uint32_t n = 0, total;

	pthread_mutex_lock(&s->lock);
	struct session **at = serve_find(s, number, &ignored);
	if (at != NULL && (*at)->clients != NULL)
		n = clients_copy((*at)->clients, rows, max, &total);
	pthread_mutex_unlock(&s->lock);
	return n;
}
