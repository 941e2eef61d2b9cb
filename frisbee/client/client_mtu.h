/* client_mtu.h: how many blocks in one packet reach this client.
 *
 * The server sends MTU_PROBEs, packets of several lengths, and names the clients that
 * are to report the longest one that arrived.  If long packets seem not to arrive any
 * more, the client reports this without being asked.  Source: docs/protocol-rules.md,
 * "DATA of several blocks".
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
	uint32_t blocks; /* the blocks of the longest probe of the round that arrived */
	uint64_t at_us;  /* when this is to be reported; 0: it was reported */
	uint32_t said;   /* what was last reported */
	uint32_t doubts; /* silences and lost chunks since a packet of that length last
	                    arrived */
};

/* An MTU_PROBE with this number of blocks arrived.  It belongs to a round in which
 * this client and others, n in all, are asked. */
void client_mtu_probed(struct client_mtu *, uint64_t now_us, struct client_backoff *,
    uint32_t round, uint32_t blocks, uint32_t n);
/* A packet with this number of blocks arrived. */
void client_mtu_came(struct client_mtu *, uint32_t blocks);
/* There was a silence, or more than half of a chunk was lost. */
void client_mtu_doubt(struct client_mtu *, uint64_t now_us);
/* When an MTU_ACK is to be sent; UINT64_MAX: there is none. */
uint64_t client_mtu_at_us(const struct client_mtu *);
/* Is an MTU_ACK to be sent now?  If so, `round` and `blocks` are its content, and
 * count as reported. */
bool client_mtu_says(struct client_mtu *, uint64_t now_us);
/* The server was restarted. */
void client_mtu_forget(struct client_mtu *);

#endif /* FRISBEE_CLIENT_CLIENT_MTU_H */
