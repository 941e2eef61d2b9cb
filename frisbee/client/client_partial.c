/* client_partial.c: chunks of which perhaps not everything is needed.  Their first
 * blocks are requested, then those that the shell names, by requests of the base
 * protocol, which the server serves before its carousel.  Other blocks that arrive
 * are used, too.  The policies and the wiring call this, in the engine's only
 * thread. */
#include "frisbee/client/client_impl.h"

enum {
	/* How many chunks are requested at a time: a part of a chunk is short, and
	 * the link should be used fully. */
	WINDOW = 32,
	/* Fewer if there are clients of the base protocol, which believe that a
	 * whole chunk will come if another client has requested a part of it. */
	WINDOW_OLD = 4,
	/* After the last requested blocks no other chunk follows that would end
	 * their pass.  A silence of this length ends it. */
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
