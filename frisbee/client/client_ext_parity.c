/* client_ext_parity.c: parity that arrives.  Each parity block replaces any missing
 * block of its group.  The engine calls this for packets of the pinned server, in
 * its only thread. */
#include "frisbee/client/client_ext_impl.h"

bool
client_ext_hear_parity(struct client *c, uint64_t now_us, const struct wirext_msg *m,
    struct client_store *store)
{
	uint32_t chunk = m->u.parity.chunk, group = m->u.parity.group, place = 0;

	if (m->session != c->session.session || chunk >= c->chunks.n)
		return false;
	client_pin_block(&c->pin, now_us);
	if (client_pin_has_rival(&c->pin))
		client_pin_needed(&c->pin, client_lacks_some(c, chunk));
	client_membership_heard(&c->membership, now_us);
	client_came(c, now_us, 1);
	client_position_parity(&c->position);
	if (!c->session.parity)
		return false;
	if (c->position.current != chunk) {
		client_follow_stream(c, now_us, chunk);
		client_ext_pass_begins(c, chunk, 0);
	}
	/* A chunk of which no block is here is better received when the server sends
	 * it. */
	struct client_buffer *b = client_filling(c, chunk);
	if (b != NULL && client_damage_suspects(&b->damage)) {
		client_counters_parity(&c->counters, false);
		return false;
	}
	*store = (struct client_store){ .chunk = chunk };
	bool ends = b != NULL &&
	            client_take_end(c, now_us, b, m->u.parity.content, store);
	if (b == NULL ||
	    !client_take_parity(c, now_us, b, group, m->u.parity.index, &place)) {
		client_counters_parity(&c->counters, false);
		return ends;
	}
	client_counters_parity(&c->counters, true);
	store->buf = (uint32_t)(b - c->bufs.at);
	store->block = place;
	store->data = m->u.parity.data;
	store->which = 1;
	return true;
}
