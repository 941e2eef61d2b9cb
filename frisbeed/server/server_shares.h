/* server_shares.h: what is sent first while requests of the base protocol, the carousel
 * and parity wait.
 *
 * After a chunk's worth of blocks for requests, the carousel may send some chunks.
 * While it interleaves chunks, requests get a chunk's worth, and then as many blocks as
 * the carousel, or fewer where many clients send no such requests.
 * Parity goes before blocks as long as there is no more parity than blocks.
 *
 * Only server_shares.c writes struct server_shares.
 */
#ifndef FRISBEED_SERVER_SERVER_SHARES_H
#define FRISBEED_SERVER_SERVER_SHARES_H

#include <stdbool.h>
#include <stdint.h>

struct server_shares {
	uint32_t
	    carousel_turns; /* chunks that the carousel may send before requests */
	uint32_t old_run;   /* blocks for requests since the carousel's last chunk */
	double old_ahead;      /* blocks for requests beyond their part of what was sent */
	uint32_t parity_ahead; /* parity blocks that were sent before wanted blocks */
};

/* A chunk of the carousel is scheduled. */
void server_shares_carousel(struct server_shares *);
/* A run of blocks is scheduled; old: for a request of the base protocol; each: how many
 * blocks the carousel may send for each such block (> 0).  Returns true if requests have
 * had a chunk's worth of blocks without interruption, so that it is the carousel's turn. */
bool server_shares_blocks(
    struct server_shares *, uint32_t blocks, bool old, uint32_t each);
/* While chunks are interleaved: may blocks for requests go among those of the carousel? */
bool server_shares_old_may(const struct server_shares *);
/* The carousel may schedule `chunks` chunks now, before any request. */
void server_shares_turns(struct server_shares *, uint32_t chunks);
/* Parity blocks are scheduled. */
void server_shares_parity(struct server_shares *, uint32_t blocks);
/* Only parity is wanted, so it is sent before nothing else. */
void server_shares_only_parity(struct server_shares *);
/* May parity be sent before blocks that are wanted? */
bool server_shares_parity_may(const struct server_shares *);

#endif /* FRISBEED_SERVER_SERVER_SHARES_H */
