/* server_stamps.h: when the time signal TIME is sent among the blocks, and what it
 * contains.
 *
 * A client compares a time signal with its own clock.  If it arrives later than others
 * did, packets are waiting in a queue, and losses at that time come from congestion.
 *
 * Only server_stamps.c writes struct server_stamps.
 */
#ifndef FRISBEED_SERVER_SERVER_STAMPS_H
#define FRISBEED_SERVER_SERVER_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

/* The last time signal. */
struct server_stamps {
	uint64_t at_us, sent; /* when it was sent, and after how many blocks */
	uint32_t epoch;       /* the epoch of the rate then */
};

/* Is a time signal due before the next block?  sent: the blocks sent so far; since: the
 * first epoch about which complaints still count, and for which a signal is therefore
 * needed at once. */
bool server_stamps_due(
    const struct server_stamps *, uint64_t now_us, uint64_t sent, uint32_t since);
/* Build TIME, without the sender's address and session. */
void server_stamps_say(struct server_stamps *, uint64_t now_us, uint64_t sent,
    uint32_t epoch, struct wirext_msg *);

#endif /* FRISBEED_SERVER_SERVER_STAMPS_H */
