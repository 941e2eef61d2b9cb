/* server_replies.c: replies to JOIN and JOIN2.  The server's engine notes who waits,
 * and asks for replies before anything else, in its only thread. */
#include "frisbeed/server/server_replies.h"

#include <string.h>

enum {
	/* In the long run, 200 replies to JOIN a second, and 1000 to JOIN2, each of
	 * which answers only one client: 0.2 and 1 Mbit/s, which any network carries.
	 */
	JOIN_GAP_US = 5000,
	JOIN2_GAP_US = 1000,
	/* After a pause, the replies of this time are sent at once: 256 to JOIN and
	 * 1280 to JOIN2, so that all machines of a room that are switched on together
	 * are answered without delay. */
	REST_US = 1280000,
};

void
server_replies_join(struct server_replies *r, bool probe)
{
	r->join = true;
	r->probed |= probe;
}

void
server_replies_join2(struct server_replies *r, uint32_t id)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (r->id[i] == id)
			return;
	if (r->n < SERVER_REPLIES_JOIN2)
		r->id[r->n++] = id;
}

uint64_t
server_replies_at(const struct server_replies *r)
{
	if (!r->join && r->n == 0)
		return UINT64_MAX;
	return r->paid_us > REST_US ? r->paid_us - REST_US : 0;
}

static void
pay(struct server_replies *r, uint64_t now_us, uint64_t gap_us)
{
	if (r->paid_us < now_us)
		r->paid_us = now_us;
	r->paid_us += gap_us;
}

static void
say_join2(struct server_replies *r, const struct server_image *image, struct wire_msg *m)
{
	m->subtype = WIRE_JOIN2;
	m->u.join2.clientid = r->id[0];
	m->u.join2.blocks = image->blocks;
	m->u.join2.chunk_blocks = WIRE_CHUNK_BLOCKS;
	m->u.join2.block_bytes = WIRE_BLOCK_BYTES;
	m->u.join2.image_bytes = image->bytes;
	r->n--;
	memmove(r->id, r->id + 1, r->n * sizeof r->id[0]);
}

bool
server_replies_say(struct server_replies *r, uint64_t now_us,
    const struct server_image *image, struct wire_msg *m)
{
	if (now_us < server_replies_at(r))
		return false;
	*m = (struct wire_msg){ .type = WIRE_REPLY, .subtype = WIRE_JOIN };
	pay(r, now_us, r->join ? JOIN_GAP_US : JOIN2_GAP_US);
	if (r->join)
		m->u.join.blocks = image->blocks;
	else
		say_join2(r, image, m);
	r->join = false;
	return true;
}
