/* client_damage.c: chunks that arrived damaged.  The shell's digests find the
 * damage, and it calls client_again() then; the engine calls this, in its only
 * thread. */
#include "frisbee/client/client_damage.h"

#include <stdlib.h>

#include "common/base/crc32c.h"
#include "common/wire/wire.h"

enum {
	/* If a chunk was damaged this often in a row, over at least this time, the
	 * server's own copy is damaged.  The time is needed because a lucky forger
	 * may cause all of them within one moment. */
	TIMES_MAX = 4,
	LEAST_US = 1000000,
	/* It is asked for a third time after this rest, then after twice and four times
	 * as long, so that a forger that answers each request slows down this chunk
	 * alone. */
	REST_US = 500000,
	REST_DOUBLED = 2,
};

void
client_damage_compare(struct client_damage *d, uint32_t block, const uint8_t *data)
{
	if (d->sums == NULL)
		return;
	uint32_t sum = crc32c(data, WIRE_BLOCK_BYTES);
	sum += sum == 0;
	d->disputed |= d->sums[block] != 0 && d->sums[block] != sum;
	d->sums[block] = sum;
}

void
client_damage_asked(struct client_damage *d)
{
	d->closed = false;
}

bool
client_damage_count(struct client_damage *d, uint64_t now_us, bool one_sender)
{
	bool proper = !d->disputed && one_sender && (d->times == 0 || d->sums != NULL);

	d->times++;
	d->counted = proper ? d->counted + 1 : 0;
	if (d->counted <= 1)
		d->since_us = now_us;
	return proper;
}

bool
client_damage_is_servers(const struct client_damage *d, uint64_t now_us)
{
	return d->counted >= TIMES_MAX && now_us >= d->since_us + LEAST_US;
}

void
client_damage_begin_anew(struct client_damage *d, uint64_t now_us, bool plain)
{
	unsigned doubled = d->times > 2 ? d->times - 2 : 0;

	if (doubled > REST_DOUBLED)
		doubled = REST_DOUBLED;
	if (d->sums == NULL)
		d->sums = calloc(WIRE_CHUNK_BLOCKS, sizeof *d->sums);
	d->disputed = false;
	d->closed = d->times > 1;
	d->plain = d->closed || plain;
	if (d->closed)
		d->rest_us = now_us + ((uint64_t)REST_US << doubled);
}

void
client_damage_end(struct client_damage *d)
{
	free(d->sums);
	*d = (struct client_damage){ 0 };
}
