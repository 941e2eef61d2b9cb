/* server_sent.c: what has been sent.  The server's engine notes each block that it
 * sends, and asks when a client sends a message, in its only thread. */
#include "frisbeed/server/server_sent.h"

#include <stdlib.h>
#include <string.h>

int
server_sent_init(struct server_sent *t, const struct server_image *image)
{
	memset(t, 0, sizeof *t);
	t->image = *image;
	t->whole = blockmap_range(0, WIRE_CHUNK_BLOCKS);
	t->ever = calloc(image->chunks, sizeof *t->ever);
	t->ms = calloc(image->chunks, sizeof *t->ms);
	return t->ever != NULL && t->ms != NULL ? 0 : -1;
}

void
server_sent_fini(struct server_sent *t)
{
	for (uint32_t c = 0; t->ever != NULL && c < t->image.chunks; c++)
		if (t->ever[c] != &t->whole)
			free(t->ever[c]);
	free(t->ever);
	free(t->ms);
	t->ever = NULL;
	t->ms = NULL;
}

void
server_sent_run(struct server_sent *t, uint32_t chunk, uint32_t first, uint32_t count)
{
	uint32_t i = (uint32_t)(t->nruns++ % SERVER_SENT_RUNS);

	t->run[i].chunk = chunk;
	t->run[i].first = first;
	t->run[i].count = count;
	t->run[i].before = server_sent_all(t);
}

void
server_sent_block(
    struct server_sent *t, uint64_t now_us, uint32_t chunk, uint32_t block)
{
	struct blockmap *ever = t->ever[chunk];

	t->ms[chunk] = (uint32_t)(now_us / 1000);
	t->last_us = now_us;
	t->blocks++;
	if (ever == NULL)
		ever = t->ever[chunk] = calloc(1, sizeof *ever);
	if (ever == NULL)
		return; /* without memory, only `again` becomes too small */
	if (blockmap_test(ever, block)) {
		t->again++;
		return;
	}
	blockmap_set(ever, block);
	if (blockmap_begins_with(ever, server_image_chunk(&t->image, chunk))) {
		free(ever);
		t->ever[chunk] = &t->whole;
	}
}

void
server_sent_parity(struct server_sent *t, uint64_t now_us)
{
	t->parity++;
	t->last_us = now_us;
}

bool
server_sent_upto(
    const struct server_sent *t, uint32_t chunk, uint32_t block, uint64_t *sent)
{
	uint64_t known = t->nruns < SERVER_SENT_RUNS ? t->nruns : SERVER_SENT_RUNS;

	for (uint64_t back = 1; back <= known; back++) {
		uint32_t i = (uint32_t)((t->nruns - back) % SERVER_SENT_RUNS);
		if (t->run[i].chunk != chunk || block < t->run[i].first ||
		    block - t->run[i].first >= t->run[i].count)
			continue;
		*sent = t->run[i].before + (block - t->run[i].first) + 1;
		return true;
	}
	return false;
}

bool
server_sent_since(const struct server_sent *t, uint32_t chunk, uint32_t ms)
{
	return t->ever[chunk] != NULL && (int32_t)(t->ms[chunk] - ms) >= 0;
}

uint32_t
server_sent_blocks(const struct server_sent *t, uint32_t chunk)
{
	if (t->ever[chunk] == NULL)
		return 0;
	if (t->ever[chunk] == &t->whole)
		return server_image_chunk(&t->image, chunk);
	return blockmap_count(t->ever[chunk]);
}
