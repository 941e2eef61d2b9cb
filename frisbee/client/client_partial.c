/* Chunks of which perhaps not everything is needed: their first blocks are asked for, then what the
 * shell says, by requests of the base protocol, which the server serves before its carousel.
 * Whatever else passes is taken, too.  Policies and wiring ask here what such a client needs. */
#include "frisbee/client/client_impl.h"

enum {
	/* This many chunks are asked for at a time: a part of a chunk is little, and the link
	 * is to be full. */
	WINDOW = 32,
	/* Fewer among clients of the base protocol, which believe that a chunk comes when
	 * somebody else has asked for a part of it. */
	WINDOW_OLD = 4,
	/* No other chunk ends the pass of the last blocks that were asked for.  Silence for
	 * this time does. */
	QUIET_US = 10000,
};

struct blockmap
client_first_blocks(const struct client *c, uint32_t chunk)
{
	uint32_t n = client_chunk_blocks(c, chunk);

	if (client_partial(c) && c->cfg.first_blocks < n)
		n = c->cfg.first_blocks;
	return blockmap_range(0, n);
}

uint32_t
client_partial_room(const struct client *c, uint64_t now_us)
{
	uint32_t window = c->session.on && now_us >= c->requests.old_until_us
	                      ? WINDOW
	                      : WINDOW_OLD;

	return window > c->bufs.nfilling ? window - c->bufs.nfilling : 0;
}

uint64_t
client_partial_quiet_us(const struct client *c)
{
	return c->position.current != c->chunks.n ? c->position.block_us + QUIET_US
	                                          : CLIENT_NEVER;
}
