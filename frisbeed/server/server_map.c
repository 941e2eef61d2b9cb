/* server_map.c: draws a map of what has been sent of the image, for statistics (server.h).  The
 * shell calls it now and then, in the engine's only thread. */
#include "frisbeed/server/server_impl.h"

#include <assert.h>

/* A cell with no block is 0, one with all blocks SERVER_MAP_FULL, every other one in between. */
static uint8_t
shade(uint64_t sent, uint64_t all)
{
	if (sent == 0 || all == 0)
		return 0;
	if (sent >= all)
		return SERVER_MAP_FULL;
	return (uint8_t)(1 + (sent * (SERVER_MAP_FULL - 1) - 1) / all);
}

/* Empty ends of chunks are not sent, so they are not counted either. */
static uint8_t
cell_of(const struct server *s, uint32_t first, uint32_t end)
{
	uint64_t sent = 0, all = 0;

	for (uint32_t chunk = first; chunk < end; chunk++) {
		uint32_t content = server_mtu_content(&s->mtu, chunk);
		uint32_t n = server_sent_blocks(&s->sent, chunk);
		sent += n < content ? n : content;
		all += content;
	}
	return shade(sent, all);
}

void
server_map(const struct server *s, uint8_t *cells, uint32_t n)
{
	uint64_t chunks = s->image.chunks;

	assert(n > 0 && n <= chunks);
	for (uint64_t i = 0; i < n; i++)
		cells[i] = cell_of(
		    s, (uint32_t)(i * chunks / n), (uint32_t)((i + 1) * chunks / n));
}
