/* client_mtu.h: how many blocks in one packet reach this client.
 *
 * The server sends MTU_PROBEs, packets of several lengths, and names clients that are
 * to say which is the longest that arrived.  When long packets seem not to arrive any
 * more, the client says so without being asked.  Source: docs/protocol-rules.md,
 * "Several blocks in a packet".
 */
#ifndef FRISBEE_CLIENT_CLIENT_MTU_H
#define FRISBEE_CLIENT_CLIENT_MTU_H

#include <stdbool.h>
#include <stdint.h>

#include "frisbee/client/client_backoff.h"

/* Only client_mtu.c writes it. */
struct client_mtu {
	uint32_t
	    round; /* number of the current round of MTU_PROBEs; 0: none, or a doubt */
	uint32_t blocks; /* in the longest packet of the round that arrived */
	uint64_t at_us;  /* when that is to be said; 0: it was said */
	uint32_t said;   /* what was said last */
	uint32_t doubts; /* since a packet of that length came last */
};

/* A MTU_PROBE came with this number of blocks, one of a round in which n clients are
 * asked, of which this client is one. */
void client_mtu_probed(struct client_mtu *, uint64_t now_us, struct client_backoff *,
    uint32_t round, uint32_t blocks, uint32_t n);
/* A packet with this number of blocks came. */
void client_mtu_came(struct client_mtu *, uint32_t blocks);
/* There was a silence, or hardly anything of a chunk came. */
void client_mtu_doubt(struct client_mtu *, uint64_t now_us);
/* When there is something to say; UINT64_MAX: nothing. */
uint64_t client_mtu_at_us(const struct client_mtu *);
/* Is it to be said now?  Then round and blocks are what to say, and count as said. */
bool client_mtu_says(struct client_mtu *, uint64_t now_us);
/* The server was started anew. */
void client_mtu_forget(struct client_mtu *);

#endif /* FRISBEE_CLIENT_CLIENT_MTU_H */
