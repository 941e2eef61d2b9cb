/* server_shares.c: who goes before whom.  The server's engine tells it what is given out,
 * and asks it what to give out next. */
#include "frisbeed/server/server_shares.h"

#include "common/wire/wire.h"

/* A client that reports that everything is lacking, all the time, gets half of the rate in
 * parity and no more: two chunks of it are ahead at most, and then one block for each
 * other block. */
enum { PARITY_AHEAD = 2 * WIRE_CHUNK_BLOCKS };

void
server_shares_carousel(struct server_shares *t)
{
	t->carousel_turns -= t->carousel_turns > 0;
	t->old_run = 0;
}

bool
server_shares_blocks(struct server_shares *t, uint32_t blocks, bool old)
{
	t->old_run += old ? blocks : 0;
	t->parity_ahead -= blocks < t->parity_ahead ? blocks : t->parity_ahead;
	/* A client that asks again for what is being sent never comes to an end. */
	return t->old_run >= WIRE_CHUNK_BLOCKS;
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
