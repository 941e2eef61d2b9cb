/* server_credit.h: how many blocks the clients can take.
 *
 * A client says how much more it can take (CREDIT and CREDIT_AT); what is sent stays below the
 * limit that the one with the most room sets, so the fastest client is not held up by a
 * slower one.  Parity is owed to clients that have reported a loss: they have room for
 * it that they have not told of otherwise.
 *
 * Only server_credit.c writes struct server_credit.
 */
#ifndef FRISBEED_SERVER_SERVER_CREDIT_H
#define FRISBEED_SERVER_SERVER_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

struct server_credit {
	uint64_t limit; /* blocks and parity blocks, of all that are ever sent */
	uint32_t owed;  /* parity blocks on top of it */
};

/* A client can take `blocks` more than the ones that it has received, which are all of
 * the `sent` ones but `coming`: these are on their way to it. */
void server_credit_grant(
    struct server_credit *, uint64_t sent, uint64_t coming, uint32_t blocks);
/* Clients that have reported can take `blocks` parity blocks besides. */
void server_credit_owe(struct server_credit *, uint32_t blocks);
/* Parity blocks are given out: what is owed of them goes on top of the limit, unless the
 * server is unpaced. */
void server_credit_pay(struct server_credit *, uint32_t blocks, bool unpaced);

/* How many may follow after `given` blocks? */
static inline uint64_t
server_credit_room(const struct server_credit *c, uint64_t given)
{
	return given < c->limit ? c->limit - given : 0;
}

#endif /* FRISBEED_SERVER_SERVER_CREDIT_H */
