/* How long a message is held back, so that of many clients one says it for all. */
#include "frisbee/client/client_ext_impl.h"

enum { HOLD_ALONE_US = 20000 }; /* one client alone only waits to say more at once */

/* The binary logarithm of x >= 1. */
static double
log2_of(uint64_t x)
{
	int e = 63 - __builtin_clzll(x);

	return e + (double)(x - (UINT64_C(1) << e)) / (double)(UINT64_C(1) << e);
}

/* Up to `most`, such that of n clients few draw a short time. */
uint64_t
client_ext_draw_us(struct client *c, uint64_t most)
{
	uint64_t draw = client_random(&c->rng) | 1;
	double u = 1 + (log2_of(draw) - 64) / log2_of((uint64_t)c->ext.clients + 1);

	return u > 0 ? (uint64_t)(u * (double)most) : 0;
}

/* How long to hold a message back.  Half of it is shorter for who lacks most, half is
 * exponential: of n clients, few speak before the first one is heard. */
uint64_t
client_ext_hold_us(struct client *c, uint32_t lack)
{
	uint64_t most = c->ext.idle ? EXT_HOLD_US / 4 : EXT_HOLD_US;

	if (c->ext.clients <= 1)
		return c->ext.idle || c->chunk_us < EXT_FAST_CHUNK_US
		           ? HOLD_ALONE_US / 10
		           : HOLD_ALONE_US;
	double need = c->ext.most_lack > lack ? 1 - (double)lack / c->ext.most_lack : 0;
	return (uint64_t)((double)most * need / 2) + client_ext_draw_us(c, most / 2) +
	       1;
}
