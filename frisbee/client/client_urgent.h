/* client_urgent.h: chunks and blocks that are needed now, while the others come as ever:
 * somebody reads what is being loaded.  They are asked for by URGENT, which the server answers
 * before its carousel; of a server that does not know that, each chunk by itself, in the base
 * protocol.  This is a policy of its own: whoever says nothing urgent never notices that it is
 * there.
 */
#ifndef FRISBEE_CLIENT_CLIENT_URGENT_H
#define FRISBEE_CLIENT_CLIENT_URGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/blockmap.h"
#include "frisbee/client/client.h"
#include "frisbee/client/client_chunks.h"

struct client_awaited {
	uint32_t chunk;
	bool whole;           /* all of the chunk, in a buffer */
	struct blockmap lack; /* blocks that somebody reads, and that have not come */
	uint64_t asked_us;    /* last; and it is not asked for again before: */
	uint64_t next_us;
	bool comes;           /* something of it has come since */
	uint32_t tries;
};

/* Only client_urgent.c writes it. */
struct client_urgent {
	struct client_awaited
	    at[CLIENT_URGENT_MAX]; /* oldest first; some may be here meanwhile */
	uint32_t n;
};

/* This chunk is needed now.  Returns false if that was known.  If there are too
 * many, the oldest one is forgotten. */
bool client_urgent_add(struct client_urgent *, uint32_t chunk);
/* These blocks of a chunk are.  False: that was known. */
bool client_urgent_add_blocks(
    struct client_urgent *, uint32_t chunk, const struct blockmap *need);
/* Is this chunk needed now, whole?  Also when it is here meanwhile. */
bool client_urgent_is(const struct client_urgent *, uint32_t chunk);
/* Blocks [first, first + count) of a chunk have come; what is still lacking is lost when nothing
 * more has come at again_us.  True: one of them was lacking. */
bool client_urgent_came(struct client_urgent *, uint32_t chunk, uint32_t first,
    uint32_t count, uint64_t again_us);
/* Blocks that somebody waits for come now: the server has not come to those yet that were asked
 * for, and of which nothing has come. */
void client_urgent_flows(struct client_urgent *, uint64_t now_us);
/* Is there one that could have a buffer, and has none? */
bool client_urgent_lacks_buffer(
    const struct client_urgent *, const struct client_chunks *);
/* Forget those that are complete, or that the image does not have. */
void client_urgent_forget_done(struct client_urgent *, const struct client_chunks *);
/* A message that asks for some of them, or 0. */
size_t client_urgent_say(struct client *, uint64_t now_us, void *pkt);
/* When there may be one, with a server that knows URGENT. */
uint64_t client_urgent_at_us(const struct client *, uint64_t now_us);

#endif /* FRISBEE_CLIENT_CLIENT_URGENT_H */
