/* client_urgent.c: chunks that are needed now.  The shell names them by
 * client_urgent(), and the engine requests them before anything else, in its only
 * thread. */
#include "frisbee/client/client_urgent.h"

#include <string.h>

#include "frisbee/client/client_impl.h"

static void
forget(struct client_urgent *u, uint32_t i)
{
	u->n--;
	memmove(u->chunk + i, u->chunk + i + 1, (u->n - i) * sizeof u->chunk[0]);
}

void
client_urgent_forget_done(struct client_urgent *u, const struct client_chunks *k)
{
	for (uint32_t i = u->n; i-- > 0;)
		if (u->chunk[i] >= k->n || client_chunks_is(k, u->chunk[i], CHUNK_DONE))
			forget(u, i);
}

bool
client_urgent_add(struct client_urgent *u, uint32_t chunk)
{
	if (client_urgent_is(u, chunk))
		return false;
	if (u->n == CLIENT_URGENT_MAX)
		forget(u, 0);
	u->chunk[u->n++] = chunk;
	return true;
}

bool
client_urgent_is(const struct client_urgent *u, uint32_t chunk)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->chunk[i] == chunk)
			return true;
	return false;
}

bool
client_urgent_lacks_buffer(const struct client_urgent *u, const struct client_chunks *k)
{
	for (uint32_t i = 0; i < u->n; i++)
		if (u->chunk[i] < k->n && client_chunks_is(k, u->chunk[i], CHUNK_OPEN))
			return true;
	return false;
}

void
client_urgent(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (c->cfg.in_order || !client_urgent_add(&c->urgent, chunk))
		return;
	if (chunk < c->chunks.n)
		client_chunks_unnote(&c->chunks, chunk, CHUNK_SKIPPED);
	client_schedule_now(&c->schedule, now_us);
}

/* Must the chunk be requested now?  Not if it is arriving, or was requested and may
 * still arrive. */
static bool
is_to_be_asked(struct client *c, uint64_t now_us, uint32_t chunk)
{
	if (client_position_in_pass(&c->position, chunk) ||
	    client_chunks_waits(
		&c->chunks, chunk, now_us, client_requests_redo_us(&c->requests)))
		return false;
	if (client_chunks_is(&c->chunks, chunk, CHUNK_OPEN))
		return c->bufs.nfree > 0;
	const struct client_buffer *b = client_filling(c, chunk);
	return b->state == BUFFER_FILLING && now_us >= b->settled_us &&
	       now_us >= b->damage.rest_us;
}

size_t
client_urgent_say(struct client *c, uint64_t now_us, void *pkt)
{
	client_urgent_forget_done(&c->urgent, &c->chunks);
	for (uint32_t i = 0; i < c->urgent.n; i++) {
		uint32_t chunk = c->urgent.chunk[i];
		if (!is_to_be_asked(c, now_us, chunk))
			continue;
		struct client_buffer *b = client_filling(c, chunk);
		struct blockmap want = b != NULL ? client_lack(b)
		                                 : client_first_blocks(c, chunk);
		if (b != NULL)
			client_damage_asked(&b->damage);
		return client_ask(c, now_us, chunk, &want, pkt);
	}
	return 0;
}
