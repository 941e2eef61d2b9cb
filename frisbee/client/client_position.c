/* client_position.c: where the server is in the image.  The engine notes what
 * arrives, and the policies read the position, all in the engine's only thread. */
#include "frisbee/client/client_position.h"

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"

enum {
	/* The shortest time to wait for stragglers: switches and interrupts reorder
	 * packets within it, and a repair that begins 3 ms later does not matter. */
	GUARD_US = 3000,
	/* The longest time: blocks that are later than this were lost. */
	MAX_GUARD_US = 1000000,
	/* With each pass, a time that stragglers have lengthened shrinks by one part
	 * in this many. */
	GUARD_DECAY = 64,
	/* The assumed time of a chunk before the first one has arrived: that at 200
	 * Mbit/s. */
	FIRST_CHUNK_US = 40000,
};

void
client_position_begin(struct client_position *p, uint32_t chunks)
{
	*p = (struct client_position){ .chunks = chunks,
		.current = chunks,
		.last = chunks,
		.guard_us = GUARD_US,
		.chunk_us = FIRST_CHUNK_US };
}

void
client_position_interleave(struct client_position *p, bool interleaved)
{
	p->interleaved = interleaved;
}

bool
client_position_came(struct client_position *p, uint64_t now_us, uint32_t blocks)
{
	p->received += blocks;
	if (p->received % WIRE_CHUNK_BLOCKS >= blocks)
		return false;
	p->chunk_us = now_us - p->mark_us;
	p->mark_us = now_us;
	return true;
}

void
client_position_at(struct client_position *p, uint64_t now_us, uint32_t chunk,
    uint32_t first, uint32_t count)
{
	p->gaps += chunk == p->at_chunk && first > p->at_block + 1;
	p->block_us = now_us;
	p->at_chunk = chunk;
	p->at_block = first + count - 1;
	p->since = 0;
}

void
client_position_parity(struct client_position *p)
{
	p->since += p->since < UINT16_MAX; /* it has 16 bits in messages */
}

void
client_position_complete(struct client_position *p, uint64_t now_us, uint32_t chunk)
{
	if (chunk == p->current && !p->interleaved)
		p->chunk_us = now_us - p->begun_us;
}

bool
client_position_in_pass(const struct client_position *p, uint32_t chunk)
{
	return p->current == chunk ||
	       (p->interleaved && p->current != p->chunks &&
		   p->current / WIREXT_INTERLEAVE == chunk / WIREXT_INTERLEAVE);
}

bool
client_position_goes_on(struct client_position *p, uint32_t chunk)
{
	if (!client_position_in_pass(p, chunk))
		return false;
	p->current = chunk;
	return true;
}

void
client_position_pass_begins(
    struct client_position *p, uint64_t now_us, uint32_t chunk, uint32_t stamp)
{
	p->guard_us -= (p->guard_us - GUARD_US) / GUARD_DECAY;
	p->current = chunk;
	p->begun_us = now_us;
	p->begun = stamp;
}

bool
client_position_pass_ends(
    struct client_position *p, uint64_t now_us, struct client_passed *passed)
{
	uint32_t chunk = p->current;

	if (chunk == p->chunks)
		return false;
	*passed = (struct client_passed){ .chunk = chunk, .first = chunk, .count = 1 };
	if (p->interleaved) {
		passed->first = chunk - chunk % WIREXT_INTERLEAVE;
		passed->count = WIREXT_INTERLEAVE;
	}
	p->last = chunk;
	p->last_us = now_us;
	p->current = p->chunks;
	return true;
}

bool
client_position_may_be_late(
    const struct client_position *p, uint64_t now_us, uint32_t chunk)
{
	return chunk == p->last && now_us < p->last_us + p->guard_us;
}

void
client_position_straggler(struct client_position *p, uint64_t late_us)
{
	if (p->guard_us < 2 * late_us)
		p->guard_us = 2 * late_us < MAX_GUARD_US ? 2 * late_us : MAX_GUARD_US;
}
