/* server_shares.h: who goes before whom while several things wait to be sent.
 *
 * Old requests (of the base protocol), the carousel and parity share what is sent: after a
 * chunk for an old request the carousel has turns, and parity goes before blocks as
 * long as it is not more than they are.
 *
 * Only server_shares.c writes struct server_shares.
 */
#ifndef FRISBEED_SERVER_SERVER_SHARES_H
#define FRISBEED_SERVER_SERVER_SHARES_H

#include <stdbool.h>
#include <stdint.h>

struct server_shares {
	uint32_t carousel_turns; /* chunks that it may give out before old requests */
	uint32_t old_run;        /* blocks of old requests since its last chunk */
	uint32_t parity_ahead;   /* parity blocks that went before wanted blocks */
};

/* The carousel gives out a chunk. */
void server_shares_carousel(struct server_shares *);
/* A run of blocks is given out; old: requests asked for it.  True: old requests have had a
 * chunk's worth without a break, and the carousel is to have turns. */
bool server_shares_blocks(struct server_shares *, uint32_t blocks, bool old);
/* The carousel may give out `chunks` chunks now, before any old request. */
void server_shares_turns(struct server_shares *, uint32_t chunks);
/* Parity blocks are given out. */
void server_shares_parity(struct server_shares *, uint32_t blocks);
/* Nothing but parity is wanted: it goes before nothing. */
void server_shares_only_parity(struct server_shares *);
/* May parity go before blocks that are wanted? */
bool server_shares_parity_may(const struct server_shares *);

#endif /* FRISBEED_SERVER_SERVER_SHARES_H */
