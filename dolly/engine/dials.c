/* dials.c: when a node may dial an address (dials.h).  node_parent.c calls it, in the engine's
 * thread. */
#include "dolly/engine/dials.h"

#include <stddef.h>
#include <string.h>

enum {
	FIRST_US = 1000000,
	LONGEST_US = 30000000,
	MINUTE_US = 60000000,
};

uint64_t
dials_longer(uint64_t us)
{
	return us == 0 ? FIRST_US : 2 * us < LONGEST_US ? 2 * us : LONGEST_US;
}

static const struct dial *
find(const struct dials *d, const uint8_t address[4], uint16_t port)
{
	for (size_t i = 0; i < DIALS_ADDRESSES; i++)
		if (d->dials[i].last_us != 0 && d->dials[i].port == port &&
		    memcmp(d->dials[i].address, address, 4) == 0)
			return &d->dials[i];
	return NULL;
}

static const struct dial *
oldest(const struct dials *d)
{
	const struct dial *best = &d->dials[0];

	for (size_t i = 1; i < DIALS_ADDRESSES; i++)
		if (d->dials[i].last_us < best->last_us)
			best = &d->dials[i];
	return best;
}

uint64_t
dials_when(const struct dials *d, const uint8_t address[4], uint16_t port, uint64_t now_us)
{
	const struct dial *x = find(d, address, port);
	uint64_t when_us = x != NULL ? x->last_us + x->wait_us : 0;

	if (x == NULL && (x = oldest(d))->last_us != 0)
		when_us = x->last_us + MINUTE_US;
	return when_us > now_us ? when_us : now_us;
}

void
dials_made(struct dials *d, const uint8_t address[4], uint16_t port, uint64_t now_us)
{
	const struct dial *had = find(d, address, port);
	struct dial *x = &d->dials[(had != NULL ? had : oldest(d)) - d->dials];

	x->wait_us = dials_longer(had != NULL ? x->wait_us : 0);
	x->last_us = now_us | 1; /* 0 has a meaning */
	x->port = port;
	memcpy(x->address, address, 4);
}

void
dials_good(struct dials *d, const uint8_t address[4], uint16_t port)
{
	const struct dial *x = find(d, address, port);

	if (x != NULL)
		d->dials[x - d->dials].wait_us = 0;
}
