/* client_backoff.c: randomness, and for how long messages are held back.  The files
 * of the engine that send messages call this, in the engine's only thread. */
#include "frisbee/client/client_backoff.h"

#include "frisbee/client/client_chunks.h"

void
client_backoff_begin(struct client_backoff *h, uint64_t seed)
{
	h->rng = ~seed; /* the order of the chunks is drawn from the seed itself */
}

uint64_t
client_backoff_random(struct client_backoff *h, uint64_t n)
{
	return client_random(&h->rng) % n;
}

/* The binary logarithm of x >= 1. */
static double
log2_of(uint64_t x)
{
	int e = 63 - __builtin_clzll(x);

	return e + (double)(x - (UINT64_C(1) << e)) / (double)(UINT64_C(1) << e);
}

uint64_t
client_backoff_draw_us(struct client_backoff *h, uint64_t most, uint32_t clients)
{
	uint64_t draw = client_random(&h->rng) | 1;
	double u = 1 + (log2_of(draw) - 64) / log2_of((uint64_t)clients + 1);

	return u > 0 ? (uint64_t)(u * (double)most) : 0;
}

uint64_t
client_backoff_lack_us(struct client_backoff *h, uint64_t most, uint32_t clients,
    uint32_t lack, uint32_t most_lack)
{
	double need = most_lack > lack ? 1 - (double)lack / most_lack : 0;

	return (uint64_t)((double)most * need / 2) +
	       client_backoff_draw_us(h, most / 2, clients) + 1;
}

uint64_t
client_backoff_voice_us(struct client_backoff *h, uint64_t most_us, uint32_t clients,
    uint32_t voices, uint32_t others, bool *voice)
{
	uint32_t few = clients < voices ? clients : voices;
	uint64_t held = clients > 1 ? client_backoff_draw_us(h, most_us, few) : 0;

	*voice = client_backoff_random(h, clients + UINT64_C(1)) < voices;
	return *voice ? held : client_backoff_draw_us(h, others * most_us, clients);
}
