/* server_order.h: the blocks that machines need which start from the image while it loads, in
 * the order in which such machines have read them before.  The shell knows the list.
 *
 * As soon as a client says that it waits for blocks, the list goes once round, a few blocks at
 * a time, from where it is.  A client that says so later gets what goes from then on, and the
 * list goes on until it has been round once for this client, too.  When all such clients have
 * left, the list stops where it is.  Blocks that are sent to all meanwhile because a client has
 * named them do not go once more, so that clients that know the order themselves cost nothing.
 *
 * Only server_order.c writes struct server_order.
 */
#ifndef FRISBEED_SERVER_SERVER_ORDER_H
#define FRISBEED_SERVER_SERVER_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/blockmap.h"
#include "common/wire/wirext.h"

struct server_order {
	struct wirext_run *runs; /* owned; NULL: there is no list */
	uint32_t n;
	uint32_t next; /* the run that goes next */
	uint32_t gone; /* how many of its blocks have gone */
	uint32_t left; /* how many runs are still to go, the one that has begun included */
	/* By chunk: the blocks that were sent since a client has last begun to wait (NULL: none),
	 * of the first `chunks` chunks, which the list names. */
	struct blockmap **went;
	uint32_t chunks;
};

/* Take over the list of n runs, which was allocated by malloc(); a list that was there before
 * is freed.  A struct that is all zeros has no list. */
void server_order_set(struct server_order *, struct wirext_run *runs, uint32_t n);
void server_order_fini(struct server_order *);
/* A client begins to wait for blocks: all of the list goes from now on. */
void server_order_begin(struct server_order *);
/* Nobody waits for blocks any more. */
void server_order_stop(struct server_order *);
/* These blocks were sent to all before others, in the list's turn or for a client. */
void server_order_went(struct server_order *, const struct wirext_run *);
/* Give out the next blocks, at most `most` (> 0).  False: there are none left, or very
 * many runs in a row had been sent already, and the caller should ask again later. */
bool server_order_next(struct server_order *, uint32_t most, struct wirext_run *);

#endif /* FRISBEED_SERVER_SERVER_ORDER_H */
