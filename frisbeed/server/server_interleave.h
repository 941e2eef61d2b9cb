/* server_interleave.h: whether the blocks of eight chunks are interleaved.
 *
 * Without interleaving, a long burst of loss hits one chunk, and the parity that
 * repairs it is sent for the one client that lost it.  With interleaving, the burst is
 * spread over eight chunks, and the client that lacks most of a chunk lacks hardly more
 * than the mean. A NACK shows whether its client loses packets in bursts: then all
 * groups of the chunk lack about the same number of blocks, while single losses differ
 * from group to group.
 *
 * Only server_interleave.c writes struct server_interleave.
 */
#ifndef FRISBEED_SERVER_SERVER_INTERLEAVE_H
#define FRISBEED_SERVER_SERVER_INTERLEAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

struct server_interleave {
	bool on;
	double bursts;    /* the share of recent NACKs that show bursts, 0..1 */
	uint8_t heard[4]; /* the address that sent the last NACK */
};

/* A NACK from this address says how many blocks of each group of a chunk its client
 * lacks.  several: clients have VOTERS_FEW addresses or more, so that two NACKs in a row
 * from one address count once.  Returns true if `on` has changed. */
bool server_interleave_hear(struct server_interleave *, const uint8_t ip[4],
    bool several, const uint8_t lack[WIREXT_GROUPS]);

#endif /* FRISBEED_SERVER_SERVER_INTERLEAVE_H */
