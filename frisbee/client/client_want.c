/* Chunks that turn out to be needed while others are here already: of an image of which
 * only a part is wanted, the shell knows which chunks have it only by what came.  Until
 * then they were left out (client_config.has). */
#include "frisbee/client/client_impl.h"

void
client_want(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (chunk >= c->chunks.n || !client_chunks_is(&c->chunks, chunk, CHUNK_DONE))
		return;
	client_chunks_undone(&c->chunks, chunk);
	client_chunks_uncover(&c->chunks, chunk);
	client_chunks_unnote(&c->chunks, chunk, CHUNK_MINE | CHUNK_LACKED | CHUNK_SKIPPED);
	client_chunks_reopen(&c->chunks, chunk);
	c->ntaken--;
	c->ext.look = true;
	c->scan_at_us = now_us;
	if (c->state != CLIENT_COMPLETE)
		return;
	/* Nothing was asked for meanwhile, so nobody was silent. */
	c->state = CLIENT_LOADING;
	c->heard_us = c->idle_from_us = now_us;
}
