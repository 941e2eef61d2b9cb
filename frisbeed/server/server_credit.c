/* server_credit.c: how many blocks the clients can take.  The server's engine tells it
 * what clients say, and asks it before it gives out blocks. */
#include "frisbeed/server/server_credit.h"

#include "common/wire/wire.h"

enum {
	/* One message may open the gate no further than 64 MiB, which is half a second
	 * of a gigabit: so much and no more is sent because a stranger claims to take
	 * it. */
	GRANT_MOST = 64 * WIRE_CHUNK_BLOCKS,
	/* No more is owed at a time than two chunks have blocks: a client that reports
	 * again and again without taking anything cannot pile it up. */
	OWED_MOST = 2 * WIRE_CHUNK_BLOCKS,
};

void
server_credit_grant(
    struct server_credit *c, uint64_t sent, uint64_t coming, uint32_t blocks)
{
	uint64_t limit = sent - coming + (blocks < GRANT_MOST ? blocks : GRANT_MOST);

	if (c->limit < limit)
		c->limit = limit;
}

void
server_credit_owe(struct server_credit *c, uint32_t blocks)
{
	c->owed += blocks;
	if (c->owed > OWED_MOST)
		c->owed = OWED_MOST;
}

void
server_credit_pay(struct server_credit *c, uint32_t blocks, bool unpaced)
{
	uint32_t owed = blocks < c->owed ? blocks : c->owed;

	c->owed -= owed;
	c->limit += unpaced ? 0 : owed;
}
