/* server_urgent.h: blocks that clients ask for by URGENT, which go before those of the
 * carousel.
 *
 * Addresses take turns, so one that asks for much delays others by a run at a time; the
 * runs of one address go in the order in which it asked.  Blocks that wait already, or
 * have just been sent to all, are not added again, so one answer serves all clients that
 * ask for them; but a block that waits behind more than SERVER_URGENT_BURST other blocks
 * of its address moves to an address that asks for it later.  While other blocks wait, at
 * most half of what is sent is urgent, after a first SERVER_URGENT_BURST blocks; so the
 * other blocks take no more than twice as long.  One address has a limited number of runs
 * in here, and when there is no room, the address with the most runs loses its last one.
 *
 * Only server_urgent.c writes struct server_urgent.
 */
#ifndef FRISBEED_SERVER_SERVER_URGENT_H
#define FRISBEED_SERVER_SERVER_URGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/wire/wirext.h"

enum {
	SERVER_URGENT_RUNS = 256,      /* that wait, of all addresses */
	SERVER_URGENT_OF_ADDRESS = 96, /* of one */
	/* Blocks that may go at once: a chunk's quarter, a few fragments. */
	SERVER_URGENT_BURST = WIRE_CHUNK_BLOCKS / 4,
	/* A block that was sent longer ago than this has arrived at all clients that
	 * asked while it was on its way.  So a client that asks now has lost it, and it
	 * is sent again. */
	SERVER_URGENT_AGAIN_US = 15000,
	SERVER_URGENT_GIVEN = 128, /* runs that are remembered */
};

struct server_urgent {
	struct server_urgent_run {
		struct wirext_run run;
		uint8_t ip[4];
		/* The number of the last turn of its address; for an address that had
		 * asked for nothing else, that of the last turn but one of all addresses.
		 */
		uint64_t turn;
		uint32_t runs; /* of its address, this one included */
	} waiting[SERVER_URGENT_RUNS]; /* in order */
	uint32_t n;
	uint64_t turns;
	struct {
		struct wirext_run run;
		uint64_t sent_us; /* UINT64_MAX: not yet */
	} given[SERVER_URGENT_GIVEN]; /* a ring */
	uint64_t ngiven;
	uint32_t allowed; /* blocks that may go before others */
	uint64_t sent;    /* blocks, ever */
};

void server_urgent_init(struct server_urgent *);
/* This address waits for these blocks.  How many blocks were added. */
uint32_t server_urgent_ask(struct server_urgent *, uint64_t now_us, const uint8_t ip[4],
    const struct wirext_run *);
/* This address waits for nothing any more, since its client has gone.  Another address
 * that has asked for the same blocks will ask for them again. */
void server_urgent_forget(struct server_urgent *, const uint8_t ip[4]);
/* The next blocks, at most `most` (> 0), of the address whose turn it is, are given out.  False:
 * none wait. */
bool server_urgent_next(struct server_urgent *, uint32_t most, struct wirext_run *);
/* Note that these blocks were sent, or `blocks` other blocks. */
void server_urgent_went(
    struct server_urgent *, uint64_t now_us, const struct wirext_run *);
void server_urgent_others_went(struct server_urgent *, uint32_t blocks);

/* How many may go before others that wait? */
static inline uint32_t
server_urgent_may(const struct server_urgent *u)
{
	return u->allowed;
}

#endif /* FRISBEED_SERVER_SERVER_URGENT_H */
