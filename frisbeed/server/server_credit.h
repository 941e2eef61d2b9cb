/* server_credit.h: how many blocks the clients can take.
 *
 * A client grants credit: the number of blocks that it can take (CREDIT and CREDIT_AT).
 * The server stays below the largest limit that any client has set, so a slow client
 * does not hold up the fastest one.  Parity is owed to clients that have sent a NACK:
 * they can take it in addition to their credit.
 *
 * Only server_credit.c writes struct server_credit.
 */
#ifndef FRISBEED_SERVER_SERVER_CREDIT_H
#define FRISBEED_SERVER_SERVER_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

struct server_credit {
	uint64_t limit; /* how many blocks and parity blocks may be sent in all */
	uint32_t owed;  /* how many parity blocks may be sent beyond the limit */
};

/* A client can take `blocks` more than it has received.  It has received all of the
 * `sent` blocks except the last `coming` ones, which are on their way to it. */
void server_credit_grant(
    struct server_credit *, uint64_t sent, uint64_t coming, uint32_t blocks);
/* Clients that have sent a NACK can take `blocks` parity blocks in addition. */
void server_credit_owe(struct server_credit *, uint32_t blocks);
/* Parity blocks are scheduled.  Those that are owed raise the limit, unless the server
 * is unpaced. */
void server_credit_pay(struct server_credit *, uint32_t blocks, bool unpaced);

/* How many blocks may follow when `scheduled` blocks have been sent or scheduled? */
static inline uint64_t
server_credit_room(const struct server_credit *c, uint64_t scheduled)
{
	return scheduled < c->limit ? c->limit - scheduled : 0;
}

#endif /* FRISBEED_SERVER_SERVER_CREDIT_H */
