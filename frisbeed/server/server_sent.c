#include "frisbeed/server/server_sent.h"

void
server_sent_run(struct server_sent *t, uint32_t chunk, uint32_t first, uint32_t count,
    uint64_t before)
{
	uint32_t i = (uint32_t)(t->n++ % SERVER_SENT_RUNS);

	t->run[i].chunk = chunk;
	t->run[i].first = first;
	t->run[i].count = count;
	t->run[i].before = before;
}

bool
server_sent_upto(
    const struct server_sent *t, uint32_t chunk, uint32_t block, uint64_t *sent)
{
	uint64_t known = t->n < SERVER_SENT_RUNS ? t->n : SERVER_SENT_RUNS;

	for (uint64_t back = 1; back <= known; back++) {
		uint32_t i = (uint32_t)((t->n - back) % SERVER_SENT_RUNS);
		if (t->run[i].chunk != chunk || block < t->run[i].first ||
		    block - t->run[i].first >= t->run[i].count)
			continue;
		*sent = t->run[i].before + (block - t->run[i].first) + 1;
		return true;
	}
	return false;
}
