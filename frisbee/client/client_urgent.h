/* client_urgent.h: chunks and blocks that are needed now, because the image is read while
 * it is loaded; all others come as usual.  They are asked for by URGENT, which the server
 * answers before its carousel; a server that does not know URGENT is asked for one chunk
 * after the other, in the base protocol.  This is a policy of its own: a load of which
 * nothing is urgent does not change because of it.
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
	uint64_t asked_us;    /* when it was last asked for */
	uint64_t next_us;     /* it is not asked for again before this time */
	bool comes;           /* some of its blocks have come since asked_us */
	uint32_t tries;       /* how often it was asked for */
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
/* These blocks of a chunk are needed now.  Returns false if that was known. */
bool client_urgent_add_blocks(
    struct client_urgent *, uint32_t chunk, const struct blockmap *need);
/* Is this chunk needed now, whole?  Also when it is here meanwhile. */
bool client_urgent_is(const struct client_urgent *, uint32_t chunk);
/* Blocks [first, first + count) of a chunk have come; what is still lacking is lost when nothing
 * more has come at again_us.  True: one of them was lacking. */
bool client_urgent_came(struct client_urgent *, uint32_t chunk, uint32_t first,
    uint32_t count, uint64_t again_us);
/* URGENT_DATA comes now, so the server may not yet have reached those blocks that this
 * client has asked for and of which nothing has come: they are asked for again later. */
void client_urgent_flows(struct client_urgent *, uint64_t now_us);
/* Is there a chunk that is needed whole, and has no buffer? */
bool client_urgent_lacks_buffer(
    const struct client_urgent *, const struct client_chunks *);
/* Forget those that are complete, or that the image does not have. */
void client_urgent_forget_done(struct client_urgent *, const struct client_chunks *);
/* A message that asks for some of them, or 0. */
size_t client_urgent_say(struct client *, uint64_t now_us, void *pkt);
/* When there may be one, with a server that knows URGENT. */
uint64_t client_urgent_at_us(const struct client *, uint64_t now_us);

#endif /* FRISBEE_CLIENT_CLIENT_URGENT_H */
