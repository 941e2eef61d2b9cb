/* drain.h: all that a server engine has to send now. */
#ifndef TESTS_UNIT_DRAIN_H
#define TESTS_UNIT_DRAIN_H

#include "frisbeed/server/server.h"

/* Read at once all that may be read. */
static inline void
read_all(struct server *s)
{
	struct server_run run;

	while (server_read_next(s, &run))
		server_read_done(s, run.buf);
}

/* The blocks that go out, as chunk * 1024 + block; the first `max` are kept. */
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
