/* server_shares.c: what is sent first.  The server's engine notes what it schedules,
 * and asks what to schedule next, in its only thread. */
#include "frisbeed/server/server_shares.h"

#include "common/wire/wire.h"

/* The most parity that may be ahead of blocks: two chunks, and then one parity block
 * for each block.  So a client that sends NACKs for everything all the time causes at
 * most half of the rate in parity. */
enum { PARITY_AHEAD = 2 * WIRE_CHUNK_BLOCKS };

void
server_shares_carousel(struct server_shares *t)
{
	t->carousel_turns -= t->carousel_turns > 0;
	t->old_run = 0;
}

bool
server_shares_blocks(struct server_shares *t, uint32_t blocks, bool old, uint32_t each)
{
	t->old_run += old ? blocks : 0;
	t->old_ahead += old ? blocks : -(double)blocks / each;
	t->old_ahead = t->old_ahead > 0 ? t->old_ahead : 0;
	t->parity_ahead -= blocks < t->parity_ahead ? blocks : t->parity_ahead;
	/* A client that requests what is being sent again and again never ends. */
	return t->old_run >= WIRE_CHUNK_BLOCKS;
}

bool
server_shares_old_may(const struct server_shares *t)
{
	return t->old_ahead < WIRE_CHUNK_BLOCKS;
}

void
server_shares_turns(struct server_shares *t, uint32_t chunks)
{
	t->carousel_turns = chunks;
	t->old_run = 0;
}

void
server_shares_parity(struct server_shares *t, uint32_t blocks)
{
	t->parity_ahead += blocks;
}

void
server_shares_only_parity(struct server_shares *t)
{
	t->parity_ahead = 0;
}

bool
server_shares_parity_may(const struct server_shares *t)
{
	return t->parity_ahead < PARITY_AHEAD;
}
