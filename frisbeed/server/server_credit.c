/* server_credit.c: how many blocks the clients can take.  The server's engine passes
 * what clients grant, and asks before it schedules blocks, in its only thread. */
#include "frisbeed/server/server_credit.h"

#include "common/wire/wire.h"

enum {
	/* One message grants at most 64 MiB, half a second at 1 Gbit/s.  So a
	 * stranger's message causes no more than that to be sent. */
	GRANT_MOST = 64 * WIRE_CHUNK_BLOCKS,
	/* At most the blocks of two chunks are owed at a time, so a client that sends
	 * NACKs all the time without receiving anything cannot accumulate more. */
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
