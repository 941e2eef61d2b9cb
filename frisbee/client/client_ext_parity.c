/* Blocks of parity: each takes the place of any block of its group that is missing. */
#include "frisbee/client/client_ext_impl.h"

/* A place for a parity block of the group, unless this very one is here. */
static bool
parity_place(const struct buffer *b, uint32_t group, uint32_t index, uint32_t *place)
{
	bool found = false;

	for (uint32_t p = group; p < WIRE_CHUNK_BLOCKS; p += WIREXT_GROUPS) {
		if (b->parity_at[p] == index + 1)
			return false;
		if (!found && blockmap_test(&b->missing, p) && b->parity_at[p] == 0) {
			*place = p;
			found = true;
		}
	}
	return found;
}

/* The server sends the parity of a group in turns: is this the next, and no packet that
 * came twice, or late? */
static bool
is_newer(struct buffer *b, uint32_t group, uint32_t index)
{
	uint32_t ahead = (index + 1 + WIREXT_PARITY_MAX - b->newest[group]) %
	                 WIREXT_PARITY_MAX;

	if (b->newest[group] != 0 && (ahead == 0 || ahead > WIREXT_PARITY_MAX / 2))
		return false;
	b->newest[group] = (uint8_t)(index + 1);
	return true;
}

bool
client_ext_hear_parity(struct client *c, uint64_t now_us, const struct wirext_msg *m,
    struct client_store *store)
{
	uint32_t chunk = m->u.parity.chunk, group = m->u.parity.group, place = 0;

	if (m->session != c->ext.session || chunk >= c->chunks.n)
		return false;
	client_pin_block(&c->pin, now_us);
	c->heard_us = now_us;
	client_ext_seen(c, now_us, 1);
	client_position_parity(&c->position);
	if (!c->ext.parity)
		return false;
	if (c->position.current != chunk) {
		client_follow_stream(c, now_us, chunk);
		client_ext_pass_begins(c, chunk, 0);
	}
	/* A chunk of which nothing else is here is better received in its turn. */
	struct buffer *b = client_filling(c, chunk);
	if (b != NULL && client_damage_suspects(b)) {
		client_counters_parity(&c->counters, false);
		return false;
	}
	*store = (struct client_store){ .chunk = chunk };
	bool ends = b != NULL &&
	            client_take_end(c, now_us, b, m->u.parity.content, store);
	bool newer = b != NULL && is_newer(b, group, m->u.parity.index);
	if (b == NULL || b->lack[group] == 0 ||
	    !parity_place(b, group, m->u.parity.index, &place)) {
		if (newer && b->lack[group] > 0)
			b->spent = true;
		client_counters_parity(&c->counters, false);
		return ends;
	}
	client_counters_parity(&c->counters, true);
	b->mixed |= b->pin != c->pin.number;
	b->parity_at[place] = (uint8_t)(m->u.parity.index + 1);
	store->buf = (uint32_t)(b - c->buffers);
	store->block = place;
	store->data = m->u.parity.data;
	store->which = 1;
	client_one_less(c, now_us, b, group);
	return true;
}
