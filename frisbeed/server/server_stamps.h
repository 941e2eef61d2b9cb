/* server_stamps.h: when TIME is sent among the blocks, and what it says.
 *
 * A client compares a time signal with its own clock: when it comes later than others
 * did, packets are waiting in a queue, and what is lost then is lost to congestion.
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
	uint32_t epoch;       /* of the rate */
};

/* Is one due before the next block?  After `sent` blocks; `since` is the first epoch of
 * which the rate still hears complaints: one of it is needed at once. */
bool server_stamps_due(
    const struct server_stamps *, uint64_t now_us, uint64_t sent, uint32_t since);
/* TIME, without the sender's address and session. */
void server_stamps_say(struct server_stamps *, uint64_t now_us, uint64_t sent,
    uint32_t epoch, struct wirext_msg *);

#endif /* FRISBEED_SERVER_SERVER_STAMPS_H */
