/* Chunks that are needed now, while the others come as ever: somebody reads what is being
 * loaded.  Each is asked for by itself, in the base protocol, which the server serves before
 * its carousel.  The shell calls client_urgent(); without it nothing here has any effect. */
#include <string.h>

#include "frisbee/client/client_impl.h"

static void
forget(struct client *c, uint32_t i)
{
	c->nurgent--;
	memmove(c->urgent + i, c->urgent + i + 1, (c->nurgent - i) * sizeof c->urgent[0]);
}

/* Those that are here now, or that the image has not got. */
static void
forget_done(struct client *c)
{
	for (uint32_t i = c->nurgent; i-- > 0;)
		if (c->urgent[i] >= c->chunks.n ||
		    client_chunks_is(&c->chunks, c->urgent[i], CHUNK_DONE))
			forget(c, i);
}

void
client_urgent(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (c->cfg.in_order || client_urgent_is(c, chunk))
		return;
	if (c->nurgent == CLIENT_URGENT_MAX)
		forget(c, 0);
	c->urgent[c->nurgent++] = chunk;
	if (chunk < c->chunks.n)
		c->chunks.flags[chunk] &= (uint8_t)~CHUNK_SKIPPED;
	c->scan_at_us = now_us;
}

bool
client_urgent_is(const struct client *c, uint32_t chunk)
{
	for (uint32_t i = 0; i < c->nurgent; i++)
		if (c->urgent[i] == chunk)
			return true;
	return false;
}

bool
client_urgent_lacks_buffer(const struct client *c)
{
	for (uint32_t i = 0; i < c->nurgent; i++)
		if (c->urgent[i] < c->chunks.n &&
		    client_chunks_is(&c->chunks, c->urgent[i], CHUNK_OPEN))
			return true;
	return false;
}

/* Not what comes just now, nor what was asked for and may still come. */
static bool
is_to_be_asked(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (client_in_pass(c, chunk) ||
	    client_chunks_waits(&c->chunks, chunk, now_us, client_redo_us(c)))
		return false;
	if (client_chunks_is(&c->chunks, chunk, CHUNK_OPEN))
		return c->nfree > 0;
	const struct buffer *b = client_filling(c, chunk);
	return b->state == BUFFER_FILLING && now_us >= b->settled_us &&
	       now_us >= b->damage.rest_us;
}

size_t
client_urgent_output(struct client *c, uint64_t now_us, void *pkt)
{
	forget_done(c);
	for (uint32_t i = 0; i < c->nurgent; i++) {
		uint32_t chunk = c->urgent[i];
		if (!is_to_be_asked(c, now_us, chunk))
			continue;
		struct buffer *b = client_filling(c, chunk);
		struct blockmap want = b != NULL ? client_lack(b)
		                                 : client_first_blocks(c, chunk);
		if (b != NULL)
			client_damage_asked(b);
		return client_ask(c, now_us, chunk, &want, pkt);
	}
	return 0;
}
