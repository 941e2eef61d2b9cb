/* drain.h: takes all blocks that a server's engine has to send now. */
#ifndef TESTS_UNIT_DRAIN_H
#define TESTS_UNIT_DRAIN_H

#include "frisbeed/server/server.h"

/* Tells the engine that all runs that it may read have been read. */
static inline void
read_all(struct server *s)
{
	struct server_run run;

	while (server_read_next(s, &run))
		server_read_done(s, run.buf);
}

/* Takes the blocks that the engine sends now, as chunk * 1024 + block.  Keeps the first `max`,
 * and returns the number of kept ones. */
static inline uint32_t
drain(struct server *s, uint64_t now, uint32_t *blocks, uint32_t max)
{
	struct server_out out;
	uint32_t n = 0;

	for (read_all(s); server_output(s, now, &out); read_all(s))
		if (out.kind == SERVER_OUT_BLOCK && n < max)
			blocks[n++] = out.chunk * WIRE_CHUNK_BLOCKS + out.block;
	return n;
}

#endif /* TESTS_UNIT_DRAIN_H */
